"""Second opinion on a held state: statics, limits and geometry, from the task and the displaced vertices alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import lru_cache

import numpy as np

from pliant.arrays import Floats
from pliant.constants import GRAVITY
from pliant.errors import Problem, unknown_name
from pliant.objects import Mesh
from pliant.planner.results import HeldState, PlannedContact
from pliant.planner.task import Task
from pliant.planner.verify.tolerances import Tolerances
from pliant.robot import Robot, link_mesh


def state_problems(
    task: Task, state: HeldState, where: str, allowed: Tolerances, *, friction: float = 1.0
) -> list[Problem]:
    """Everything about one held state that does not hold.

    Args:
        friction: the part of the friction with which the wanted forces must do.
    """
    broken = list(_not_finite(state, where))
    if broken:
        return broken
    problems = [*_weight(task, state, where, allowed), *_joints(task, state, where, allowed)]
    known = task.assembly.robot.link_names
    if strangers := [contact.link for contact in state.contacts if contact.link not in known]:
        return [*problems, unknown_name("link", strangers[0], known, where=f"{where}.contacts")]
    if not state.contacts:
        return [*problems, Problem(f"{where}.contacts", "nothing holds the object")]
    for i, contact in enumerate(state.contacts):
        problems += _contact(task, state, contact, f"{where}.contacts[{i}] ({contact.link})", allowed, friction)
    problems += _balance(task, state, where, allowed)
    problems += _not_too_tight(state, where, allowed)
    problems += _torques(task, state, where)
    return problems


def _not_finite(state: HeldState, where: str) -> Iterator[Problem]:
    """Numbers of a state and its contacts that are none; only a permitted force may be infinite."""
    parts: dict[str, HeldState | PlannedContact] = {where: state}
    parts |= {f"{where}.contacts[{i}]": contact for i, contact in enumerate(state.contacts)}
    for place, part in parts.items():
        for field in fields(part):
            value = getattr(part, field.name)
            numbers = isinstance(value, float | np.ndarray) and field.name != "max_force"
            if numbers and not np.isfinite(value).all():
                yield Problem(f"{place}.{field.name}", "is not finite")


def _weight(task: Task, state: HeldState, where: str, allowed: Tolerances) -> Iterator[Problem]:
    """The load is the weight, and it acts at the centre of mass of the displaced surface and its liquid."""
    mesh, T = task.body.mesh, state.T_world_object
    if state.displacement.shape != mesh.vertices.shape:
        yield Problem(f"{where}.displacement", f"has the shape {state.displacement.shape}", f"{mesh.vertices.shape}")
        return
    gravity = np.array(task.goal.gravity)
    size = float(np.linalg.norm(gravity))
    against = -gravity / size if size > 0.0 else np.array([0.0, 0.0, 1.0])
    up = T.rotation.T @ against
    body = task.body.deformed(mesh.vertices + state.displacement)
    for name, claimed, found in (
        ("centre_of_mass", state.centre_of_mass, T.act(body.centre_of_mass(up))),
        ("centre_at_rest", state.centre_at_rest, T.act(task.body.centre_of_mass(up))),
    ):
        error = float(np.linalg.norm(claimed - found))
        if error > allowed.centre * mesh.diagonal:
            yield Problem(
                f"{where}.{name}", f"is {_mm(claimed)}", f"computed again: {_mm(found)}, {1e3 * error:.3g} mm off"
            )
    level = body.liquid_at(up)
    if level is not None:
        found_level = float(against @ T.translation + level.level)
        if state.liquid_level is None or abs(state.liquid_level - found_level) > allowed.centre * mesh.diagonal:
            claimed_level = "absent" if state.liquid_level is None else f"{1e3 * state.liquid_level:.4g} mm"
            yield Problem(f"{where}.liquid_level", f"is {claimed_level}", f"computed again: {1e3 * found_level:.4g} mm")
    weight = task.body.mass * gravity
    little = 1e-3 * max(float(np.linalg.norm(weight)), 1e-3 * task.body.mass * GRAVITY)
    if np.linalg.norm(state.load[:3] - weight) > little or np.abs(state.load[3:]).max() > little * mesh.diagonal:
        numbers = ", ".join(f"{value:.4g}" for value in state.load)
        along = ", ".join(f"{value:.3g}" for value in gravity)
        right = f"the weight is {np.linalg.norm(weight):.4g} N along gravity ({along}), without torque"
        yield Problem(f"{where}.load", f"is ({numbers})", right)


def _joints(task: Task, state: HeldState, where: str, allowed: Tolerances) -> Iterator[Problem]:
    robot = task.assembly.robot
    beyond = np.maximum(robot.lower - state.q, state.q - robot.upper)
    for i in np.flatnonzero(beyond > allowed.joints).tolist():
        limits = f"allowed: {robot.lower[i]:.4g} .. {robot.upper[i]:.4g}"
        yield Problem(f"{where}.q", f"joint '{robot.joint_names[i]}' is at {state.q[i]:.5g}", limits)


def _contact(
    task: Task, state: HeldState, contact: PlannedContact, where: str, allowed: Tolerances, friction: float
) -> Iterator[Problem]:
    n, t = contact.normal_force, float(np.hypot(*contact.force[:2]))
    mu = task.body.material.friction
    if contact.friction > mu * (1 + 1e-9):
        yield Problem(where, f"friction {contact.friction:.4g}", f"the object's is {mu:.4g}")
    if n <= 0.0:
        yield Problem(where, f"normal force {n:.4g} N", "a contact presses")
    if t > mu * n * (1 + 1e-6) + 1e-9:
        yield Problem(where, f"slips: {t:.4g} N along the surface", f"friction bears {mu * n:.4g} N")
    if float(np.hypot(*contact.wanted[:2])) > friction * mu * contact.wanted[2] * (1 + 1e-6) + 1e-9:
        yield Problem(where, "the wanted force lies outside its friction cone", f"friction {friction * mu:.4g}")
    # To a thousandth of the state's largest: forces are found with that precision, small ones beside it.
    largest = max(float(np.linalg.norm(other.wanted)) for other in state.contacts)
    if n < contact.wanted[2] - 1e-3 * largest - 1e-9:
        yield Problem(where, f"normal force {n:.4g} N is below the wanted one", f"at least {contact.wanted[2]:.4g} N")
    yield from _limits(task, contact, where, n)
    total = float(contact.pressures.sum() * contact.cell_area)
    if len(contact.pressures) and contact.pressures.min() < 0.0:
        yield Problem(where, f"a cell pulls: {contact.pressures.min():.4g} Pa", "pressures are never negative")
    if len(contact.pressures) and abs(total - n) > allowed.pressure_sum * n:
        yield Problem(where, f"its pressures add up to {total:.4g} N", f"the normal force is {n:.4g} N")
    yield from _geometry(task, state, contact, where, allowed)


def _limits(task: Task, contact: PlannedContact, where: str, n: float) -> Iterator[Problem]:
    hand = task.assembly.hand
    pads = [pad for finger in (hand.fingers if hand else ()) for pad in finger.pads if pad.link == contact.link]
    for owner, most in (
        ("the object", task.body.limits.largest_force),
        ("the pad", min((pad.max_force for pad in pads), default=np.inf)),
        ("the plan itself", contact.max_force),
    ):
        if n > most * (1 + 1e-6):
            yield Problem(where, f"too strong: normal force {n:.4g} N", f"{owner} permits {most:.4g} N")
    peak = max(contact.peak_pressure, float(contact.pressures.max(initial=0.0)))
    limit = task.body.limits.pressure
    if limit is not None and peak > limit * (1 + 1e-6):
        yield Problem(where, f"too strong: pressure {peak:.4g} Pa", f"the object permits {limit:.4g} Pa")


def _geometry(
    task: Task, state: HeldState, contact: PlannedContact, where: str, allowed: Tolerances
) -> Iterator[Problem]:
    """The contact frame lies on the object, the contact point on the link, and both at the same place."""
    import igl

    robot = task.assembly.robot
    p_object = contact.T_object_contact.translation
    apart = float(
        np.linalg.norm(robot.pose(contact.link, state.q).act(contact.p_link) - state.T_world_object.act(p_object))
    )
    slack = contact.depth + allowed.place
    if apart > slack:
        what = f"the point on the link is {1e3 * apart:.3g} mm away from the contact frame"
        yield Problem(where, what, f"at most {1e3 * slack:.3g} mm: the depth and a little")
    surface = _link_surface(robot, contact.link)
    mesh = task.body.mesh
    bodies = [("the object", mesh, p_object)] + ([("the link", surface, contact.p_link)] if surface is not None else [])
    inward = contact.T_object_contact.rotation[:, 2]
    for name, body, point in bodies:
        faces = body.faces
        if name == "the object":
            # At an edge the nearest face may be the one round the corner: only those that face the contact count.
            faces = faces[body.face_normals @ inward < -0.5]
            if not len(faces):
                yield Problem(where, "nowhere does the object's surface face its normal", "within 60 deg")
                continue
        squared, _, _ = igl.point_mesh_squared_distance(np.atleast_2d(point), body.vertices, faces)
        away = float(np.sqrt(np.ravel(squared)[0]))
        # The link's surface and the object's are the two sides of the depth; the centre lies between them. A curved
        # patch has its centre of pressure a little inside.
        if away > slack + 0.5 * contact.radius**2 / max(0.5 * body.diagonal, contact.radius):
            what = f"its centre is {1e3 * away:.3g} mm off the surface of {name}"
            yield Problem(where, f"{what} that faces it", f"{1e3 * slack:.3g} mm")


@lru_cache(maxsize=64)
def _link_surface(robot: Robot, link: str) -> Mesh | None:
    return link_mesh(robot.urdf.link(link), "collision")


def _balance(task: Task, state: HeldState, where: str, allowed: Tolerances) -> Iterator[Problem]:
    """Contact forces and load add up to nothing, the patches' own turning moments included.   (theory 7.1)

    A patch bears a moment m about its normal with sqrt(|f_t|^2 + (m / e)^2) <= mu f_n, e = 3 pi a / 16; the plan does
    not list it, so the best moments within these bounds are found here.
    """
    from scipy.optimize import lsq_linear

    T = state.T_world_object
    total, torque = state.load[:3].copy(), state.load[3:].copy()
    normals, bounds = [], []
    for contact in state.contacts:
        R = T.rotation @ contact.T_object_contact.rotation
        f = R @ contact.force
        total += f
        torque += np.cross(T.act(contact.T_object_contact.translation) - state.centre_of_mass, f)
        left = max((contact.friction * contact.force[2]) ** 2 - float(contact.force[:2] @ contact.force[:2]), 0.0)
        normals.append(R[:, 2])
        bounds.append(3.0 * np.pi / 16.0 * contact.radius * np.sqrt(left) + 1e-12)
    most = np.array(bounds)
    moments = lsq_linear(np.array(normals).T, -torque, bounds=(-most, most)).x
    torque += np.array(normals).T @ moments
    scale = allowed.balance * (float(np.linalg.norm(state.load[:3])) + state.largest_force)
    length = 0.5 * task.body.mesh.diagonal
    force = float(np.linalg.norm(total))
    if force > scale:
        yield Problem(f"{where}.contacts", f"leave a force of {force:.4g} N unbalanced", f"at most {scale:.3g} N")
    if np.linalg.norm(torque) > scale * length:
        what = f"leave a torque of {np.linalg.norm(torque):.4g} N m unbalanced"
        yield Problem(f"{where}.contacts", what, f"at most {scale * length:.3g} N m")
    if not 0.0 <= state.friction_usage <= 1.0 + 1e-6:
        yield Problem(f"{where}.friction_usage", f"is {state.friction_usage:.4g}", "0 to 1")


def _not_too_tight(state: HeldState, where: str, allowed: Tolerances) -> Iterator[Problem]:
    """Somewhere the force is as small as a correction step lets it be: else the whole grasp could be loosened."""
    excess = [
        (contact.normal_force - contact.wanted[2]) / max(float(contact.stiffness[2]), 1e-9)
        for contact in state.contacts
    ]
    if min(excess) > allowed.correction:
        tightest = state.contacts[int(np.argmin(excess))]
        what = f"every contact presses harder than wanted; '{tightest.link}' by "
        what += f"{tightest.normal_force - tightest.wanted[2]:.4g} N, {1e3 * min(excess):.3g} mm of its travel"
        yield Problem(f"{where}.contacts", what, f"at most {1e3 * allowed.correction:.3g} mm, one correction")


def _torques(task: Task, state: HeldState, where: str) -> Iterator[Problem]:
    """J^T f and the links' weight, again; within the limits."""
    robot = task.assembly.robot
    expected = robot.gravity_torques(state.q, gravity=task.goal.gravity)
    uncertainty = np.full(robot.dof, 1e-3)
    for contact in state.contacts:
        T_world_contact = state.T_world_object * contact.T_object_contact
        f = T_world_contact.rotation @ contact.force
        arm = T_world_contact.translation - robot.pose(contact.link, state.q).translation
        J = robot.jacobian(contact.link, state.q)
        J_point = J[:3] + np.cross(J[3:].T, arm).T
        expected += J_point.T @ f
        # The contact point is known to the depth, and the patch may bear a moment besides.
        lever = contact.depth + 3.0 * np.pi / 16.0 * contact.radius * contact.friction
        uncertainty += np.linalg.norm(J[3:], axis=0) * np.linalg.norm(f) * lever
    limits = task.assembly.torque_limits
    for i in np.flatnonzero(np.abs(expected - state.torques) > uncertainty + 0.01 * np.abs(expected)).tolist():
        what = f"joint '{robot.joint_names[i]}' bears {state.torques[i]:.4g}"
        yield Problem(f"{where}.torques", what, f"computed again: {expected[i]:.4g}")
    for i in np.flatnonzero(np.abs(expected) > limits * (1 + 1e-6)).tolist():
        what = f"joint '{robot.joint_names[i]}' must bear {expected[i]:.4g}"
        yield Problem(f"{where}.torques", what, f"at most {limits[i]:.4g}")


def _mm(p: Floats) -> str:
    return "(" + ", ".join(f"{1e3 * value:.2f}" for value in p) + ") mm"
