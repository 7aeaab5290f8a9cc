"""Any robot and any object of ours as one MuJoCo model.   (theory 10)

Links collide as convex hulls of their collision shapes and do not collide with each other; obstacles collide as the
hulls of their separate pieces. The drives carry the robot's own weight, as real position servos do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element, SubElement, tostring

import mujoco
import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from pliant.arrays import Floats
from pliant.errors import OptionError, Problem
from pliant.lab.options import LabOptions
from pliant.lab.robot_xml import RobotPart, add_mesh, numbers, robot_part
from pliant.lab.soft_body import ObjectPart, set_node_masses, solid_part
from pliant.lab.vessel import vessel_part
from pliant.objects import Body, Mesh, mesh_volume, separate_pieces
from pliant.robot import Assembly

VESSEL_ITERATIONS = 600
SCENE_BITS = {"contype": "4", "conaffinity": "3"}
FLOOR_BITS = {
    "contype": "0",
    "conaffinity": "1",
}  # carries the object; nobody planned with it, so nothing else meets it
_WARNINGS: deque[str] = deque(maxlen=100)


@dataclass(frozen=True, eq=False)
class Scene:
    """A compiled scene.

    Attributes:
        model: MuJoCo's.
        assembly: the robot in it; None for a scene without.
        object: what is in it to be held; None for a scene without.
        q_start: where the joints begin.
        link_of_geom: link by number of a geom.
        options: how it computes.
        notes: what was simplified.
    """

    model: mujoco.MjModel
    assembly: Assembly | None
    object: ObjectPart | None
    q_start: Floats
    link_of_geom: dict[int, str]
    options: LabOptions
    notes: tuple[str, ...] = ()

    def start(self) -> mujoco.MjData:
        """Fresh state: joints at ``q_start``, everything at rest."""
        data = mujoco.MjData(self.model)
        if self.assembly is not None:
            robot = self.assembly.robot
            for name, value in zip(list(robot.model.names)[1:], robot.full(self.q_start), strict=True):
                data.qpos[self.model.joint(name).qposadr[0]] = value
            for name, value in zip(robot.joint_names, self.q_start, strict=True):
                data.ctrl[self.model.actuator(name).id] = value
        mujoco.mj_forward(self.model, data)
        return data

    @property
    def has_stand(self) -> bool:
        """Whether the hand stands on drives that carry it about (no arm)."""
        return self.assembly is not None and self.assembly.arm is None


def build_scene(
    assembly: Assembly | None,
    body: Body | None,
    *,
    T_world_object: pin.SE3 | None = None,
    obstacles: Sequence[Mesh] = (),
    q_start: ArrayLike | None = None,
    floor: float | None = None,
    options: LabOptions | None = None,
    pressed: Floats | None = None,
    stands: bool = False,
) -> Scene:
    """Put robot, object and surroundings into one simulated world.

    Args:
        assembly: the robot, standing where it stands; a hand without an arm is carried by a stand.
        body: the object: a solid becomes a soft body, a vessel a core with a thin wall and sloshing liquid.
        T_world_object: the object's pose at the beginning.
        obstacles: closed meshes in world coordinates.
        q_start: joints at the beginning; the assembly's home if left out.
        floor: height of an endless floor for the object alone [m]; none if left out.
        pressed: k x 3 places in the object's frame where it gets finer nodes [m]; even ones if left out.
        stands: the object stands on something, where it is: a round solid gets feet, so that it does not roll.
    """
    options = options or LabOptions()
    if body is not None and body.kind == "vessel":  # a thin wall is stiff along itself and soft across: hard to solve
        options = replace(options, iterations=max(options.iterations, VESSEL_ITERATIONS))
    root = scene_root(options)
    asset, world = SubElement(root, "asset"), SubElement(root, "worldbody")
    SubElement(world, "light", {"pos": "0.5 -0.8 1.6", "dir": "-0.3 0.5 -0.8"})
    part: RobotPart | None = None
    q = np.zeros(0)
    if assembly is not None:
        q = assembly.robot.q(assembly.q_home if q_start is None else q_start)
        part = robot_part(assembly, options, q)
        asset.extend(part.assets)
        world.append(part.body)
        SubElement(root, "equality").extend(part.equalities)
        SubElement(root, "actuator").extend(part.actuators)
    held: ObjectPart | None = None
    if body is not None:
        T = T_world_object or pin.SE3.Identity()
        if body.kind == "vessel":
            held = vessel_part(body, T, options, pressed)
        else:
            held = solid_part(body, T, options, pressed, stands=stands)
        asset.extend(held.assets)
        world.append(held.body)
    notes = (held.notes if held is not None else ()) + _add_surroundings(world, asset, obstacles, floor)
    return compile_scene(root, options, assembly=assembly, part=part, held=held, q_start=q, notes=notes)


def compile_scene(
    root: Element,
    options: LabOptions,
    *,
    assembly: Assembly | None = None,
    part: RobotPart | None = None,
    held: ObjectPart | None = None,
    q_start: Floats | None = None,
    notes: tuple[str, ...] = (),
) -> Scene:
    """Compile the XML; an error quotes the simulator's own message."""
    # Without it the simulator writes MUJOCO_LOG.TXT into the working directory.
    mujoco.set_mju_user_warning(_keep_warning)
    try:
        model = mujoco.MjModel.from_xml_string(tostring(root, encoding="unicode"))
    except ValueError as bad:
        raise OptionError("lab", Problem("scene", f"the simulator refuses it: {bad}")) from None
    if held is not None:
        set_node_masses(model, held)
    links = {model.geom(name).id: link for name, link in part.link_of_geom.items()} if part is not None else {}
    q = np.zeros(0) if q_start is None else q_start
    return Scene(model, assembly, held, q, links, options, notes)


def scene_root(options: LabOptions) -> Element:
    """An empty scene with the lab's constants, to be filled and compiled."""
    root = Element("mujoco", {"model": "pliant_lab"})
    compiler = {"angle": "radian", "autolimits": "true", "balanceinertia": "true", "inertiafromgeom": "false"}
    SubElement(root, "compiler", compiler)
    SubElement(
        root,
        "option",
        {
            "timestep": f"{options.step:g}",
            "integrator": "discrete",
            "solver": "Newton",
            "cone": "elliptic",
            "impratio": f"{options.friction_stiffness:g}",
            "iterations": str(options.iterations),
            "gravity": numbers(options.gravity),
        },
    )
    SubElement(root, "size", {"memory": "300M"})
    visual = SubElement(root, "visual")
    SubElement(visual, "global", {"offwidth": "1280", "offheight": "960"})
    SubElement(visual, "headlight", {"ambient": ".4 .4 .4"})
    default = SubElement(root, "default")
    # A pair rubs with the larger coefficient of the two; only the object brings one, so it decides.
    geom = {"friction": "0.01 .005 .0001", "solref": options.solref, "solimp": options.solimp, "condim": "3"}
    SubElement(default, "geom", geom)
    return root


def latest_warnings() -> tuple[str, ...]:
    """The latest warnings of the simulator, oldest first."""
    return tuple(_WARNINGS)


def _keep_warning(message: str | bytes) -> None:
    _WARNINGS.append(message.decode(errors="replace") if isinstance(message, bytes) else str(message))


def _add_surroundings(
    world: Element, asset: Element, obstacles: Sequence[Mesh], floor: float | None
) -> tuple[str, ...]:
    notes = []
    if floor is not None:
        plane = {"name": "floor", "type": "plane", "size": "5 5 .1", "pos": numbers((0, 0, floor))}
        SubElement(world, "geom", {**plane, **FLOOR_BITS, "rgba": ".75 .75 .78 1"})
    for i, mesh in enumerate(obstacles):
        for j, piece in enumerate(separate_pieces(mesh)):
            name = f"obstacle:{i}:{j}"
            add_mesh(asset, name, piece)
            SubElement(world, "geom", {"name": name, "type": "mesh", "mesh": name, **SCENE_BITS})
            if (share := _convexity(piece)) < 0.95:
                title = mesh.name or f"obstacle {i}"
                notes.append(f"{title}: a hollow piece (fills {share:.0%} of its hull) collides as its convex hull")
    return tuple(notes)


def _convexity(mesh: Mesh) -> float:
    from scipy.spatial import ConvexHull

    return float(mesh_volume(mesh) / ConvexHull(mesh.vertices).volume)
