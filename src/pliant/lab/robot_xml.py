"""A robot description as MuJoCo's XML: bodies, joints, followers, hulls of the links, position servos.   (theory 10)"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element, SubElement

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.lab.options import LabOptions
from pliant.objects import Mesh, mass_properties
from pliant.robot import Assembly, Inertial, Joint, Link, Urdf, link_surfaces

BASE_JOINTS = ("base_x", "base_y", "base_z", "base_roll", "base_pitch", "base_yaw")
# What collides: object 1, robot 2, scene 4. Links of the robot do not collide with each other.
ROBOT_BITS = {"contype": "2", "conaffinity": "5"}
PLAIN_DENSITY = 1500.0  # of links without <inertial> [kg/m^3]
SMALLEST_MASS = 1e-4
BASE_INERTIA = 10.0  # of the stand that carries a hand without an arm [kg, kg m^2]
COUPLED = ".999 .9999 .0001"  # impedance of joints that follow others


@dataclass
class RobotPart:
    """What the robot adds to a scene."""

    assets: list[Element] = field(default_factory=list)
    body: Element = field(default_factory=lambda: Element("body"))
    equalities: list[Element] = field(default_factory=list)
    actuators: list[Element] = field(default_factory=list)
    link_of_geom: dict[str, str] = field(default_factory=dict)


def numbers(values: Iterable[float]) -> str:
    """Numbers as the text of an attribute, to nine digits."""
    return " ".join(f"{float(value):.9g}" for value in values)


def pose(T: pin.SE3) -> dict[str, str]:
    """Attributes ``pos`` [m] and ``quat`` (w x y z) of a body that stands at T in its parent's frame."""
    q = pin.Quaternion(T.rotation)
    return {"pos": numbers(T.translation), "quat": numbers((q.w, q.x, q.y, q.z))}


def add_mesh(assets: Element | list[Element], name: str, mesh: Mesh) -> None:
    """A mesh asset; the simulator collides with its convex hull."""
    attributes = {"name": name, "vertex": numbers(mesh.vertices.ravel()), "face": numbers(mesh.faces.ravel())}
    # The inertia of links is given; a thin or open mesh must not be refused for its own.
    assets.append(Element("mesh", {**attributes, "inertia": "shell"}))


def add_inertial(body: Element, mass: str, centre: Floats, inertia: Floats) -> None:
    """Mass (as text) [kg], centre of mass [m] and 3 x 3 inertia about it [kg m^2] of a body, in the body's axes."""
    I = inertia
    full = numbers((I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]))
    SubElement(body, "inertial", {"pos": numbers(centre), "mass": mass, "fullinertia": full})


def robot_part(assembly: Assembly, options: LabOptions, q: Floats) -> RobotPart:
    """Bodies, joints and drives of an assembly, placed where its robot stands.

    A hand without an arm stands on six stiff drives, so that it can be carried about as an arm would.
    """
    robot, part = assembly.robot, RobotPart()
    part.body = Element("body", {"name": "base", **pose(robot.T_world_base)})
    if assembly.arm is None:
        _add_stand(part, options)
    _add_link_inertia(part.body, None)
    _add_link(part, part.body, robot.urdf, robot.urdf.root, None)
    _add_drives(part, assembly, options, q)
    return part


def _add_stand(part: RobotPart, options: LabOptions) -> None:
    for i, name in enumerate(BASE_JOINTS):
        kind, axis = ("slide" if i < 3 else "hinge"), np.eye(3)[i % 3]
        # Slides move along the axes in which the base stands; gravity is carried by the stand.
        attributes = {"name": name, "type": kind, "axis": numbers(axis), "armature": f"{BASE_INERTIA:g}"}
        SubElement(part.body, "joint", attributes)
        stiffness = BASE_INERTIA * options.servo_frequency**2
        damping = 2.0 * options.servo_ratio * stiffness / options.servo_frequency
        part.actuators.append(
            Element("position", {"name": name, "joint": name, "kp": f"{stiffness:g}", "kv": f"{damping:g}"})
        )


def _add_link(part: RobotPart, parent: Element, urdf: Urdf, name: str, joint: Joint | None) -> None:
    """A link and all that hangs on it; ``joint`` carries it, None for the root."""
    link = urdf.link(name)
    T = joint.T_parent_joint if joint is not None else pin.SE3.Identity()
    body = SubElement(parent, "body", {"name": f"link:{name}", "gravcomp": "1", **pose(T)})
    if joint is not None and joint.moves:
        attributes = {
            "name": joint.name,
            "type": "slide" if joint.kind == "prismatic" else "hinge",
            "axis": numbers(joint.axis),
            "damping": f"{joint.damping:g}",
            "frictionloss": f"{joint.friction:g}",
        }
        if np.isfinite(joint.lower) and np.isfinite(joint.upper):
            attributes |= {"limited": "true", "range": numbers((joint.lower, joint.upper))}
        SubElement(body, "joint", attributes)
    _add_link_inertia(body, link)
    for i, surface in enumerate(link_surfaces(link, "collision")):
        geom = f"{name}:{i}"
        add_mesh(part.assets, geom, surface.mesh)
        part.link_of_geom[geom] = name
        colour = numbers(surface.colour) if surface.colour is not None else "0.4 0.42 0.46 1"
        SubElement(body, "geom", {"name": geom, "type": "mesh", "mesh": geom, **ROBOT_BITS, "rgba": colour})
    for below in urdf.joints:
        if below.parent == name:
            _add_link(part, body, urdf, below.child, below)


def _add_link_inertia(body: Element, link: Link | None) -> None:
    inertial = link.inertial if link is not None else None
    if inertial is None or inertial.mass < SMALLEST_MASS:
        inertial = _guessed_inertia(link)
    R = inertial.T_link_centre.rotation
    xx, xy, xz, yy, yz, zz = inertial.inertia
    tensor = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    least = 1e-5 * inertial.mass * 0.01  # a point is no body for the simulator: at least that of a body of 1 cm
    tensor += max(0.0, least - float(np.linalg.eigvalsh(tensor).min())) * np.eye(3)
    add_inertial(body, f"{inertial.mass:g}", inertial.T_link_centre.translation, tensor)


def _guessed_inertia(link: Link | None) -> Inertial:
    """Of a link without <inertial>: its collision shapes filled with material as dense as a drive; else very little."""
    surfaces = link_surfaces(link, "collision") if link is not None else []
    for surface in surfaces:
        found = mass_properties(surface.mesh, density=PLAIN_DENSITY)
        if found.mass > SMALLEST_MASS:
            I = found.inertia
            T = pin.SE3(np.eye(3), np.asarray(found.centre))
            return Inertial(found.mass, T, (I[0, 0], I[0, 1], I[0, 2], I[1, 1], I[1, 2], I[2, 2]))
    small = SMALLEST_MASS * 1e-4
    return Inertial(SMALLEST_MASS, pin.SE3.Identity(), (small, 0.0, 0.0, small, 0.0, small))


def _add_drives(part: RobotPart, assembly: Assembly, options: LabOptions, q: Floats) -> None:
    """Position servos on the independent joints; followers are tied to their masters.

    The drive's own inertia (armature) is k / w^2, so joint and drive together swing no faster than w: what a gear
    with a small motor behind it does, and what keeps the step stable. A servo of unknown stiffness is made stiff
    for the inertia it moves.
    """
    robot = assembly.robot
    stiffness, torque = assembly.servo_stiffness, assembly.torque_limits
    carried = np.diag(robot.mass_matrix(q))
    w = options.servo_frequency
    armatures: dict[str, float] = {}
    for i, name in enumerate(robot.joint_names):
        k = float(stiffness[i]) if np.isfinite(stiffness[i]) else max(float(carried[i]), 0.01) * w**2
        armatures[name] = k / w**2
        damping = 2.0 * options.servo_ratio * np.sqrt(k * (armatures[name] + float(carried[i])))
        attributes = {"name": name, "joint": name, "kp": f"{k:.9g}", "kv": f"{damping:.9g}"}
        if np.isfinite(torque[i]):
            attributes |= {"forcelimited": "true", "forcerange": numbers((-torque[i], torque[i]))}
        part.actuators.append(Element("position", attributes))
    for joint in part.body.iter("joint"):
        name = joint.get("name", "")
        if name in armatures:
            joint.set("armature", f"{armatures[name]:.9g}")
    column = {name: i for i, name in enumerate(robot.joint_names)}
    rows = {name: row for row, name in enumerate(list(robot.model.names)[1:])}
    for follower in robot.urdf.joints:
        if follower.mimic is None or not follower.moves:
            continue
        row = rows[follower.name]
        # A follower with factor zero is a joint that stays at its offset: any master will do.
        master = next((n for n in robot.joint_names if robot.fold[row, column[n]] != 0.0), robot.joint_names[0])
        factor, offset = robot.fold[row, column[master]], robot.fold_offset[row]
        for joint in part.body.iter("joint"):
            if joint.get("name") == follower.name:
                joint.set("armature", f"{armatures[master] * factor**2:.9g}")
        # As stiff as steps allow: MuJoCo's own choice lets a gripper's second finger yield by 0.4 mm at 16 N.
        attributes = {"joint1": follower.name, "joint2": master, "solref": options.solref, "solimp": COUPLED}
        attributes["polycoef"] = numbers((offset, factor, 0.0, 0.0, 0.0))
        part.equalities.append(Element("joint", attributes))
