"""A vessel for the simulator: rigid ends, thin elastic wall, liquid that partly sloshes.   (theory 10)

The wall between the ends is a shell of triangles with the wall's real modulus and thickness; both ends (base and
shoulder) are rigid and move with a core. The liquid is the classic mechanical picture of sloshing in an upright
cylinder of radius R filled to depth h (first mode, k = 1.841): a share
``m1 / m = 2 tanh(k h / R) / (k (k^2 - 1) h / R)`` hangs as a pendulum of length ``R / (k tanh(k h / R))``, the rest is
frozen to the core.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.constants import GRAVITY
from pliant.errors import MeshError, Problem
from pliant.lab.options import LabOptions
from pliant.lab.robot_xml import add_inertial, add_mesh, numbers, pose
from pliant.lab.soft_body import ObjectPart, add_flex, contact_attributes, filling
from pliant.objects import Body, MassProperties, Mesh, combine, shell_mass_properties

FIRST_MODE = 1.8412
SLOSH_DAMPING = 0.05
RIGID_BASE, RIGID_TOP = 0.06, 0.22  # shares of the height that are rigid: base plate; shoulder, neck and cap
WALL_THICKNESS = 0.0004
LEAST_WALL_MASS = 0.005


@dataclass(frozen=True)
class Slosh:
    """Mechanical picture of a sloshing liquid.

    Attributes:
        mass: of the pendulum [kg].
        length: of the pendulum [m].
        damping: about its pivot [N m s].
    """

    mass: float
    length: float
    damping: float


def slosh(mass: float, radius: float, depth: float, *, gravity: float = GRAVITY) -> Slosh:
    """First sloshing mode of a liquid in an upright cylinder; the pendulum's frequency is that of the free surface."""
    k = FIRST_MODE
    t = np.tanh(k * depth / radius)
    share = min(1.0, 2.0 * t / (k * (k**2 - 1.0) * depth / radius))
    length = radius / (k * t)
    moving = mass * share
    return Slosh(moving, float(length), float(2.0 * SLOSH_DAMPING * moving * length**2 * np.sqrt(gravity / length)))


def vessel_part(body: Body, T_world_object: pin.SE3, options: LabOptions, pressed: Floats | None = None) -> ObjectPart:
    """A vessel that stands along its own z axis; its wall has finer nodes where it will be ``pressed``."""
    assert body.liquid is not None
    # A shell of triangles: the skin of a filling. Decimation would leave long, stiff slivers.
    # Of a graded filling, four in ten nodes are inside and do not count.
    tets, notes = filling(body.mesh, pressed, nodes=options.nodes, graded_nodes=2 * options.nodes)
    wall = tets.skin
    z = wall.vertices[:, 2]
    low, high = float(z.min()), float(z.max())
    base, top = z <= low + RIGID_BASE * (high - low), z >= high - RIGID_TOP * (high - low)
    pinned = base | top
    if pinned.all():
        raise MeshError(body.mesh.name or "vessel", Problem("", "no wall between its ends", "a taller or finer mesh"))
    assets: list[Element] = []
    frame = Element("body", {"name": "vessel", **pose(T_world_object)})
    SubElement(frame, "freejoint", {"name": "vessel"})
    contact = contact_attributes(body.material.friction, options)
    # The ends are those of the real surface: on a base of few nodes it would stand askew.
    real = body.mesh.vertices
    foot, head = real[:, 2] <= low + RIGID_BASE * (high - low), real[:, 2] >= high - RIGID_TOP * (high - low)
    for name, points in (("vessel:base", real[foot]), ("vessel:top", real[head])):
        if len(points) >= 4 and np.linalg.matrix_rank(points - points.mean(axis=0), tol=1e-6) == 3:
            add_mesh(assets, name, _hull(points))
            SubElement(frame, "geom", {"name": name, "type": "mesh", "mesh": name, "rgba": ".5 .7 .85 1", **contact})
    shell_mass = max(body.dry_mass, LEAST_WALL_MASS)  # a wall whose weight is neglected still needs some to be moved
    masses = shell_mass * _area_shares(wall)
    _add_core(frame, body, wall, float(masses[pinned].sum()), options)
    flex = add_flex(
        frame,
        body,
        options,
        shell_mass,
        wall.vertices,
        wall.faces,
        attributes={"dim": "2", "rgba": ".6 .8 .9 .7"},
        elasticity={"thickness": f"{body.liquid.wall or WALL_THICKNESS:g}", "elastic2d": "both"},
    )
    SubElement(flex, "pin", {"id": numbers(np.flatnonzero(pinned))})
    sides = np.linalg.norm(wall.corners - np.roll(wall.corners, -1, axis=1), axis=2)
    free, spacing = ~pinned, float(np.median(sides))
    # Half by area, half evenly: the lightest of fine nodes would be beyond the solver.
    moved = 0.5 * masses[free] + 0.5 * masses[free].mean()
    return ObjectPart(frame, wall.vertices[free], moved, spacing, T_world_object, "vessel", assets, notes)


def _add_core(frame: Element, body: Body, wall: Mesh, ends: float, options: LabOptions) -> None:
    """Rigid ends of that mass [kg] and the still part of the liquid, and the pendulum that hangs in it."""
    assert body.liquid is not None
    parts: list[MassProperties] = [shell_mass_properties(wall, mass=max(ends, 1e-4))]
    state = body.liquid_at()
    if state is not None and state.volume > 0:
        liquid = state.mass_properties(body.liquid.density)
        bottom = float(wall.vertices[:, 2].min())
        depth = max(2.0 * (float(liquid.centre[2]) - bottom), 1e-3)
        radius = float(np.sqrt(state.volume / (np.pi * depth)))
        moving = slosh(liquid.mass, radius, depth, gravity=max(float(np.linalg.norm(options.gravity)), 1e-3))
        share = 1.0 - moving.mass / liquid.mass
        if share > 1e-6:
            still = MassProperties(share * liquid.mass, share * liquid.volume, liquid.centre, share * liquid.inertia)
            parts.append(still)
        pivot = np.asarray(liquid.centre) + np.array([0.0, 0.0, moving.length])
        pendulum = SubElement(frame, "body", {"name": "liquid", "pos": numbers(pivot)})
        for axis, name in (("1 0 0", "slosh_x"), ("0 1 0", "slosh_y")):
            joint = {"name": name, "type": "hinge", "axis": axis, "damping": f"{moving.damping:.6g}"}
            SubElement(pendulum, "joint", joint)
        small = moving.mass * (0.1 * radius) ** 2
        inertial = {"pos": numbers((0, 0, -moving.length)), "mass": f"{moving.mass:.9g}"}
        SubElement(pendulum, "inertial", {**inertial, "diaginertia": numbers((small, small, small))})
        geom = {"type": "sphere", "size": f"{0.3 * radius:.6g}", "pos": numbers((0, 0, -moving.length))}
        SubElement(pendulum, "geom", {**geom, "contype": "0", "conaffinity": "0", "rgba": ".2 .4 1 1"})
    core = combine(*parts)
    add_inertial(frame, f"{core.mass:.9g}", core.centre, core.inertia)


def _area_shares(mesh: Mesh) -> Floats:
    shares = np.zeros(len(mesh.vertices))
    np.add.at(shares, mesh.faces.ravel(), np.repeat(mesh.face_areas / 3.0, 3))
    return shares / shares.sum()


def _hull(points: Floats) -> Mesh:
    import trimesh

    hull = trimesh.convex.convex_hull(points)
    return Mesh(np.asarray(hull.vertices), np.asarray(hull.faces), "hull")
