"""The object as MuJoCo's XML: a soft solid of tetrahedra, and what it shares with a vessel.   (theory 10)"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.etree.ElementTree import Element, SubElement

import mujoco
import numpy as np
import pinocchio as pin

from pliant.arrays import Floats, Ints
from pliant.errors import MeshError
from pliant.lab.options import LabOptions
from pliant.lab.robot_xml import numbers, pose
from pliant.lab.tet_mesh import TetMesh, graded_tetrahedra, tetrahedra, with_feet
from pliant.objects import Body, Mesh

LEAST_VOLUME, LEAST_GRADED = 0.92, 0.85  # of the body's volume; a graded filling is coarse where nothing presses
OBJECT_BITS = {"contype": "1", "conaffinity": "6"}


@dataclass(frozen=True, eq=False)
class ObjectPart:
    """What the object adds to a scene.

    Attributes:
        body, assets: XML.
        nodes: n x 3, nodes of the soft part in the object's frame at rest [m].
        node_masses: n [kg].
        spacing: typical distance of neighbouring nodes [m].
        core: name of the rigid body that carries the soft part; empty for a solid.
        T_world_object: pose at the beginning.
        notes: what was simplified.
    """

    body: Element
    nodes: Floats
    node_masses: Floats
    spacing: float
    T_world_object: pin.SE3
    core: str = ""
    assets: list[Element] = field(default_factory=list)
    notes: tuple[str, ...] = ()


def contact_attributes(friction: float, options: LabOptions) -> dict[str, str]:
    """How the object touches: friction of its material against anything, the lab's contact constants."""
    return {
        "condim": "3",
        "friction": f"{max(friction, 1e-5):g} .005 .0001",
        "solref": options.solref,
        "solimp": options.solimp,
        **OBJECT_BITS,
    }


def add_flex(
    frame: Element,
    body: Body,
    options: LabOptions,
    mass: float,
    nodes: Floats,
    elements: Ints,
    *,
    attributes: dict[str, str],
    elasticity: dict[str, str] | None = None,
) -> Element:
    """A soft part with the body's elastic constants and friction; ``attributes`` and ``elasticity`` come on top."""
    common = {"name": "object", "type": "direct", "mass": f"{mass:.9g}", "radius": f"{options.skin:g}"}
    mesh = {"point": numbers(nodes.ravel()), "element": numbers(elements.ravel())}
    flex = SubElement(frame, "flexcomp", {**common, **mesh, **attributes})
    material = body.material
    constants = {"young": f"{material.young:.9g}", "poisson": f"{material.poisson:g}"}
    SubElement(flex, "elasticity", {**constants, "damping": f"{options.damping:g}", **(elasticity or {})})
    SubElement(flex, "contact", {"selfcollide": "none", **contact_attributes(material.friction, options)})
    return flex


def filling(mesh: Mesh, pressed: Floats | None, *, nodes: int, graded_nodes: int) -> tuple[TetMesh, tuple[str, ...]]:
    """Tetrahedra, fine where the body will be ``pressed`` as far as that can be done, and a note where it cannot."""
    if pressed is not None:
        try:
            return graded_tetrahedra(mesh, pressed, nodes=graded_nodes), ()
        except MeshError:
            note = f"{mesh.name or 'object'}: its nodes are no finer where it is pressed; forces are rough"
            return tetrahedra(mesh, nodes=nodes), (note,)
    return tetrahedra(mesh, nodes=nodes), ()


def solid_part(
    body: Body, T_world_object: pin.SE3, options: LabOptions, pressed: Floats | None = None, *, stands: bool = False
) -> ObjectPart:
    """A solid: a flex of tetrahedra with the body's elastic constants and mass, finer where it will be ``pressed``.

    One that ``stands`` has feet: its lowest nodes lie at the height of its lowest point.
    """
    tets, notes = filling(body.mesh, pressed, nodes=options.nodes, graded_nodes=options.nodes)
    if stands:
        up = T_world_object.rotation[2]
        gravity = T_world_object.rotation.T @ np.asarray(options.gravity)
        tets = with_feet(tets, up, float((body.mesh.vertices @ up).min()), gravity)
    frame = Element("body", {"name": "object_frame", **pose(T_world_object)})
    solid = {"dim": "3", "dof": "full", "rgba": ".9 .55 .2 1"}
    add_flex(frame, body, options, body.mass, tets.nodes, tets.elements, attributes=solid)
    masses = body.mass * tets.node_shares
    share = float(tets.volumes.sum()) / body.rest_volume
    if share < (LEAST_VOLUME if pressed is None else LEAST_GRADED):
        name = body.mesh.name or "object"
        notes += (f"{name}: {len(tets.nodes)} nodes fill only {share:.0%} of its volume; thin parts are lost",)
    return ObjectPart(frame, tets.nodes, masses, tets.spacing, T_world_object, notes=notes)


def set_node_masses(model: mujoco.MjModel, held: ObjectPart) -> None:
    """Give every node its share of the volume: evenly spread mass would put the centre where nodes are dense."""
    bodies = np.asarray(model.flex_vertbodyid)
    if held.core:  # the nodes of its ends are the core's
        bodies = bodies[bodies != model.body(held.core).id]
    model.body_mass[bodies] = np.maximum(held.node_masses, 1e-9)
    mujoco.mj_setConst(model, mujoco.MjData(model))
