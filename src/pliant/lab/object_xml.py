"""The object as MuJoCo's XML: a soft solid of tetrahedra.   (theory 10)"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.etree.ElementTree import Element, SubElement

import mujoco
import numpy as np
import pinocchio as pin

from pliant.arrays import Floats, Ints
from pliant.lab.graded_body import graded_tetrahedra
from pliant.lab.options import LabOptions
from pliant.lab.robot_xml import numbers, pose
from pliant.lab.soft_body import tetrahedra
from pliant.lab.standing import standing
from pliant.objects import Body

FLEX = "object"
LEAST_VOLUME = 0.92
OBJECT_BITS = {"contype": "1", "conaffinity": "6"}


@dataclass(frozen=True, eq=False)
class ObjectPart:
    """What the object adds to a scene.

    Attributes:
        assets, body: XML.
        nodes: n x 3, nodes of the soft part in the object's frame at rest [m].
        node_masses: n [kg]; 0 for nodes that belong to a rigid core.
        spacing: typical distance of neighbouring nodes [m].
        core: name of the rigid body that carries the soft part; empty for a solid.
        mass: of everything [kg].
        T_world_object: pose at the beginning.
        pinned: numbers of the nodes that move with the core.
        notes: what was simplified.
    """

    body: Element
    nodes: Floats
    node_masses: Floats
    spacing: float
    mass: float
    T_world_object: pin.SE3
    core: str = ""
    assets: list[Element] = field(default_factory=list)
    pinned: Ints = field(default_factory=lambda: np.arange(0))
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


def solid_part(
    body: Body, T_world_object: pin.SE3, options: LabOptions, pressed: Floats | None = None, *, stands: bool = False
) -> ObjectPart:
    """A solid: a flex of tetrahedra with the body's elastic constants and mass, finer where it will be ``pressed``.

    One that ``stands`` has feet: its lowest nodes lie at the height of its lowest point.
    """
    if pressed is None:
        tets = tetrahedra(body.mesh, nodes=options.nodes)
    else:
        tets = graded_tetrahedra(body.mesh, pressed, nodes=options.nodes)
    if stands:
        up = T_world_object.rotation[2]
        tets = standing(tets, up, float((body.mesh.vertices @ up).min()))
    frame = Element("body", {"name": "object_frame", **pose(T_world_object)})
    flex = SubElement(
        frame,
        "flexcomp",
        {
            "name": FLEX,
            "type": "direct",
            "dim": "3",
            "dof": "full",
            "mass": f"{body.mass:.9g}",
            "radius": f"{options.skin:g}",
            "point": numbers(tets.nodes.ravel()),
            "element": " ".join(str(int(i)) for i in tets.elements.ravel()),
            "rgba": ".9 .55 .2 1",
        },
    )
    material = body.material
    elasticity = {
        "young": f"{material.young:.9g}",
        "poisson": f"{material.poisson:g}",
        "damping": f"{options.damping:g}",
    }
    SubElement(flex, "elasticity", elasticity)
    contact = contact_attributes(material.friction, options)
    SubElement(flex, "contact", {"selfcollide": "none", **contact})
    masses = body.mass * tets.node_shares
    share = float(tets.volumes.sum()) / body.rest_volume
    notes: tuple[str, ...] = ()
    if share < LEAST_VOLUME:
        name = body.mesh.name or "object"
        notes = (f"{name}: {len(tets.nodes)} nodes fill only {share:.0%} of its volume; thin parts are lost",)
    return ObjectPart(frame, tets.nodes, masses, tets.spacing, body.mass, T_world_object, notes=notes)


def settle_masses(model: mujoco.MjModel, held: ObjectPart) -> None:
    """Give every node its share of the volume: evenly spread mass would put the centre where nodes are dense."""
    if model.nflex == 0:
        return
    bodies = np.asarray(model.flex_vertbodyid)
    if len(bodies) != len(held.node_masses):
        return
    free = np.setdiff1d(np.arange(len(bodies)), held.pinned)
    model.body_mass[bodies[free]] = np.maximum(held.node_masses[free], 1e-9)
    mujoco.mj_setConst(model, mujoco.MjData(model))
