"""From settled contacts to what a plan says of them: the one maker of contacts and held states for all made plans."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from pliant.contact import ContactRegion, ContactState, PadSurface, PreparedObject, displacement, pad_dent
from pliant.objects import Body, Mesh
from pliant.planner import HeldState, Phase, PlannedContact, Task
from pliant.robot import Assembly, Finger, Pad, pad_mesh

Floats = NDArray[np.float64]
GRAVITY = 9.80665


def pads_of(assembly: Assembly, fingers: Sequence[Finger] | None = None) -> dict[str, tuple[str, Pad]]:
    """Finger and description of every pad, by its link."""
    assert assembly.hand is not None
    chosen = assembly.hand.fingers if fingers is None else fingers
    return {pad.link: (finger.name, pad) for finger in chosen for pad in finger.pads}


def pad_surface(assembly: Assembly, pad: Pad, body: Body) -> PadSurface:
    """The contact model of a pad."""
    found = pad_mesh(assembly.robot.urdf, pad)
    return PadSurface.of(
        found.mesh,
        name=pad.link,
        young=np.inf if pad.young is None else pad.young,
        poisson=pad.poisson,
        pad_faces=found.faces,
        friction=body.material.friction,
    )


def weight_load(body: Body, T_world_object: pin.SE3) -> Floats:
    """The weight as a wrench about the object's origin, world axes [N, N m]."""
    weight = np.array([0.0, 0.0, -GRAVITY * body.mass])
    up = T_world_object.rotation.T @ [0.0, 0.0, 1.0]
    arm = T_world_object.rotation @ body.deformed(body.mesh.vertices).centre_of_mass(up)
    return np.concatenate([weight, np.cross(arm, weight)])


def planned_contact(
    task: Task, region: ContactRegion, q: Floats, T_world_object: pin.SE3, wanted: Floats, shift: pin.SE3 | None = None
) -> PlannedContact:
    """A region of a settled state as a plan holds it.

    Args:
        q: joints at which the pad lies there.
        T_world_object: the object's pose, moved by ``shift`` already.
        wanted: the smallest sufficient force, in the contact's frame [N].
        shift: motion of everything since it settled.
    """
    moved = shift if shift is not None else pin.SE3.Identity()
    finger, pad = pads_of(task.assembly)[region.pad]
    T_world_contact = moved * region.T_world_contact
    return PlannedContact(
        link=region.pad,
        finger=finger,
        patch=region.patch,
        T_object_contact=T_world_object.actInv(T_world_contact),
        p_link=task.assembly.robot.pose(region.pad, q).actInv(T_world_contact.translation),
        force=np.array([*region.tangential_force, region.normal_force]),
        wanted=np.asarray(wanted, dtype=np.float64),
        radius=region.radius,
        half_axes=np.asarray(region.half_axes),
        peak_pressure=region.peak_pressure,
        area=region.area,
        depth=region.depth,
        stiffness=np.diag(region.stiffness).copy(),
        friction=task.body.material.friction,
        max_force=min(pad.max_force, task.body.limits.largest_force),
        p_object_cells=np.array([T_world_object.actInv(moved.act(p)) for p in region.p_world_cells]).reshape(-1, 3),
        pressures=region.pressures,
        cell_area=region.cell_area,
        pad_depth=_pad_depth(task, pad, region),
    )


def _pad_depth(task: Task, pad: Pad, region: ContactRegion) -> float:
    T = region.T_world_contact
    xy = ((region.p_world_cells - T.translation) @ T.rotation)[:, :2]
    compliance = pad_surface(task.assembly, pad, task.body).compliance
    return float(pad_dent(xy, region.pressures, region.cell_area, compliance).depths.max())


def contact_torques(task: Task, q: Floats, T_world_object: pin.SE3, contacts: Sequence[PlannedContact]) -> Floats:
    """Joint torques that press the contacts' forces on the object: sum of J^T f   [N m, N]."""
    robot = task.assembly.robot
    torques = np.zeros(robot.dof)
    for contact in contacts:
        force = (T_world_object * contact.T_object_contact).rotation @ contact.force
        arm = robot.pose(contact.link, q).rotation @ contact.p_link
        torques += robot.jacobian(contact.link, q).T @ np.concatenate([force, np.cross(arm, force)])
    return torques


def friction_usage(contacts: Sequence[PlannedContact]) -> float:
    """Largest share of the friction cone that a contact uses."""
    return max(float(np.hypot(*c.force[:2]) / (c.friction * c.force[2])) for c in contacts)


def held_state(
    task: Task,
    prepared: PreparedObject,
    settled: ContactState,
    contacts: Sequence[PlannedContact],
    q: Floats,
    time: float,
    phase: Phase,
    *,
    volume_change: float = 0.0,
) -> HeldState:
    """A settled object as a plan holds it: deformed, with its centre of mass and liquid where they then are."""
    body, T = task.body, settled.T_world_object
    moved = displacement(prepared, settled).astype(np.float32)
    deformed = Mesh(body.mesh.vertices + moved, body.mesh.faces)
    up = T.rotation.T @ [0.0, 0.0, 1.0]
    liquid = body.deformed(deformed.vertices).liquid_at(up)
    return HeldState(
        time=time,
        phase=phase,
        q=q,
        T_world_object=T,
        contacts=tuple(contacts),
        centre_of_mass=T.act(body.deformed(deformed.vertices).centre_of_mass(up)),
        centre_at_rest=T.act(body.deformed(body.mesh.vertices).centre_of_mass(up)),
        load=np.array([0.0, 0.0, -body.mass * GRAVITY, 0.0, 0.0, 0.0]),
        torques=task.assembly.robot.gravity_torques(q) + contact_torques(task, q, T, contacts),
        friction_usage=min(friction_usage(contacts), 1.0),
        displacement=moved,
        volume_change=volume_change,
        liquid_level=None if liquid is None else float(T.translation[2] + liquid.level),
    )
