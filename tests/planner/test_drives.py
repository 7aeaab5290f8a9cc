"""What joints can do to contacts: Jacobian, own weight, ranks, and forces that no drive can command."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from pinched_ball import fingers_grasp, fingers_setting
from small_tasks import ball

from pliant.constants import GRAVITY
from pliant.grasp import ContactSet, contact_twists, hand_jacobian, joint_jacobian
from pliant.planner.drives import Drives, Ranks, drives_at, ranks_at
from pliant.planner.reasons import Failure, Reason, Stage
from pliant.planner.results import Reserve
from pliant.planner.wanted import WantedForces
from pliant.planner.weight import Weight

WEIGHT, FRICTION, RADIUS, PATCH = 2.0, 0.6, 0.03, 0.003
DOWN = np.array([0.0, 0.0, -GRAVITY])


def pinch(radius: float | None = PATCH, max_force: float = np.inf) -> ContactSet:
    """Two opposed contacts along x."""
    points = RADIUS * np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    return ContactSet.from_arrays(points, -points / RADIUS, friction=FRICTION, radius=radius, max_force=max_force)


def driven(contacts: ContactSet, axes: list, origins: list, carries: list, torque: float = np.inf, **kind) -> Drives:
    """Joints by their axes, without weight of their own, stiff."""
    J = hand_jacobian(contacts, joint_jacobian(contacts, axes, origins, carries, **kind))
    return Drives(J, np.full(J.shape[1], torque), np.zeros(J.shape[1]), np.zeros(J.shape[1]))


def gripper(contacts: ContactSet, torque: float = np.inf) -> Drives:
    """One slide for each contact, along the line between them."""
    return driven(contacts, [[1, 0, 0]] * 2, [[0, 0, 0]] * 2, np.eye(2), torque, prismatic=True)


def wanted() -> WantedForces:
    return WantedForces(Weight(ball(mass=WEIGHT / GRAVITY), DOWN), margin=0.0, reserve=Reserve())


def two_jointed(contacts: ContactSet, knee: tuple[float, float, float]) -> Drives:
    """A finger from (0.1, 0, 0.1) over a knee to the contact at +x, hinges along y; a fixed finger at -x."""
    return driven(contacts, [[0, 1, 0]] * 2, [[0.1, 0, 0.1], knee], [[True, True], [False, False]])


@pytest.fixture(scope="module")
def held():
    return fingers_grasp().held


def test_the_jacobian_is_the_motion_of_the_links_points_per_joint(held) -> None:
    """Against finite differences, the palm turned and elsewhere than where the arm's joints would put it."""
    context = fingers_setting()
    hand, robot, joints = context.hand, context.robot, context.assembly.hand_joints
    T = pin.SE3(pin.rpy.rpyToMatrix(0.4, -0.7, 1.1), np.array([0.2, -0.5, 0.9]))
    T_palm = T * fingers_grasp().T_world_palm
    contacts = ContactSet.from_arrays(
        np.array([T.act(p) for p in held.contacts.points]),
        held.contacts.rotations[:, :, 2] @ T.rotation.T,
        friction=FRICTION,
        radius=PATCH,
        rotations=np.array([T.rotation @ R for R in held.contacts.rotations]),
    )
    drives = drives_at(hand, held.q, T_palm, held.links, contacts, DOWN)
    places = [next(i for i, link in enumerate(hand.links) if link.name == used.name) for used in held.links]
    h = 1e-6
    for j, joint in enumerate(joints):
        step = np.zeros(robot.dof)
        step[joint] = h
        before, after = (hand.poses(held.q + sign * step, T_palm) for sign in (-1.0, 1.0))
        for i, place in enumerate(places):
            here = hand.poses(held.q, T_palm)[place].actInv(contacts.points[i])
            speed = (after[place].act(here) - before[place].act(here)) / (2.0 * h)
            spin = pin.log3(after[place].rotation @ before[place].rotation.T) / (2.0 * h)
            R = contacts.rotations[i]
            expected = [*(R.T @ speed), R[:, 2] @ spin]
            np.testing.assert_allclose(drives.jacobian[4 * i : 4 * i + 4, j], expected, atol=1e-7)


def test_the_own_weight_is_that_of_the_hand_where_the_palm_is(held) -> None:
    context = fingers_setting()
    joints = context.assembly.hand_joints
    drives = drives_at(context.hand, held.q, fingers_grasp().T_world_palm, held.links, held.contacts, DOWN)
    np.testing.assert_allclose(drives.gravity_torques, context.robot.gravity_torques(held.q)[joints], atol=1e-9)
    assert np.abs(drives.gravity_torques).max() > 1e-3
    # turned about by half a turn everything weighs the other way
    over = pin.SE3(pin.rpy.rpyToMatrix(np.pi, 0.0, 0.0), np.zeros(3)) * fingers_grasp().T_world_palm
    turned = drives_at(context.hand, held.q, over, held.links, held.contacts, DOWN)
    np.testing.assert_allclose(turned.gravity_torques, -drives.gravity_torques, atol=1e-9)


def test_a_pinch_has_full_rank_with_patches_and_turns_about_its_line_without() -> None:
    """The weakest wrench is the torque about the line, borne by two patches: sqrt(2) e over the length."""
    answer = ranks_at(pinch(), np.zeros(3), gripper(pinch()))
    assert isinstance(answer, Ranks)
    assert answer.grasp[-1] == pytest.approx(np.sqrt(2.0) * 3.0 * np.pi / 16.0 * PATCH / RADIUS)
    np.testing.assert_allclose(answer.hand, [1.0, 1.0])
    failure = ranks_at(pinch(None), np.zeros(3), gripper(pinch(None)))
    assert isinstance(failure, Failure)
    assert (failure.reason, failure.stage, failure.margin) == (Reason.FREE_MOTION, Stage.RANK, 1.0)
    assert failure.detail.replace("-", "") == "turning about (1.00, 0.00, 0.00)"


def test_joints_that_move_both_contacts_alike_or_none_cannot_squeeze() -> None:
    contacts = pinch()
    both = driven(contacts, [[1, 0, 0]], [[0, 0, 0]], [[True], [True]], prismatic=True)
    none = driven(contacts, [[1, 0, 0]], [[0, 0, 0]], [[False], [False]], prismatic=True)
    for drives, words in ((both, "together"), (none, "no joint")):
        failure = ranks_at(contacts, np.zeros(3), drives)
        assert isinstance(failure, Failure)
        assert failure.reason is Reason.NO_SQUEEZE
        assert words in failure.detail


def test_idle_joints_are_not_held_against_a_grasp() -> None:
    """One more joint that carries nothing: the singular values are those of the others."""
    contacts = pinch()
    more = driven(contacts, [[1, 0, 0]] * 3, [[0, 0, 0]] * 3, [[1, 0, 0], [0, 1, 0]], prismatic=True)
    answer = ranks_at(contacts, np.zeros(3), more)
    assert isinstance(answer, Ranks)
    np.testing.assert_allclose(answer.hand, [1.0, 1.0])


def test_a_finger_stretched_along_the_squeeze_cannot_command_it_and_a_bent_one_can() -> None:
    """Hinges on the line through the contacts move it across only; bent, along as well."""
    contacts = pinch()
    hinges = [[0, 1, 0]] * 2, [[0.1, 0, 0], [0.06, 0, 0]]
    stretched = ranks_at(contacts, np.zeros(3), driven(contacts, *hinges, [[1, 1], [0, 0]]))
    assert isinstance(stretched, Failure)
    assert (stretched.reason, stretched.margin) == (Reason.NO_SQUEEZE, 1.0)  # one of two singular values is left
    # with a swivel besides it can twist the object between the contacts, but still not squeeze it
    swivel = driven(contacts, [*hinges[0], [1, 0, 0]], [*hinges[1], [0.1, 0, 0]], [[1, 1, 1], [0, 0, 0]])
    answer = ranks_at(contacts, np.zeros(3), swivel)
    assert isinstance(answer, Ranks)
    assert answer.hand[-1] < 1e-9
    assert not wanted().solve(contacts, np.zeros(3), swivel).feasible
    failure = wanted().failure(contacts, np.zeros(3), swivel)
    assert (failure.reason, failure.stage) == (Reason.CANNOT_COMMAND, Stage.RANK)
    # what would hold it: W / 2 along the surface, W / (2 mu) across
    assert failure.margin == pytest.approx(np.hypot(WEIGHT / 2, WEIGHT / (2 * FRICTION)), rel=1e-3)
    bent = two_jointed(contacts, (0.06, 0.0, 0.04))
    ranks = ranks_at(contacts, np.zeros(3), bent)
    assert isinstance(ranks, Ranks)
    assert ranks.hand[-1] > 1e-3
    forces = wanted().solve(contacts, np.zeros(3), bent).forces
    assert forces is not None
    np.testing.assert_allclose(forces[:, 2], WEIGHT / (2 * FRICTION), rtol=1e-3)


def test_torques_beyond_the_limits_are_told_with_the_joint_and_its_share() -> None:
    """Either slide pushes with W / (2 mu)."""
    contacts, needed = pinch(), WEIGHT / (2 * FRICTION)
    assert wanted().solve(contacts, np.zeros(3), gripper(contacts, 1.01 * needed)).feasible
    weak = gripper(contacts, 0.99 * needed)
    assert not wanted().solve(contacts, np.zeros(3), weak).feasible
    failure = wanted().failure(contacts, np.zeros(3), weak)
    assert (failure.reason, failure.unit) == (Reason.TORQUE_LIMIT, "of the limit")
    assert failure.margin == pytest.approx(1.0 / 0.99, rel=1e-3)
    assert f"{needed:.3g} at joint" in failure.detail


def test_servos_that_give_share_a_heavier_load_as_springs_in_series_do() -> None:
    """A stiff slide and one that gives, upright pinch: the stiffer side takes the larger part of what is heavier.

    Contacts of stiffness k, the lower slide with compliance c: K = k and k / (1 + k c); of a load dW they bear
    dW K / sum K.
    """
    points = RADIUS * np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
    k, c = 1000.0, 3e-3
    contacts = ContactSet.from_arrays(
        points, -points / RADIUS, friction=FRICTION, radius=PATCH, stiffness=np.array([np.eye(3) * k] * 2)
    )
    J = hand_jacobian(
        contacts,
        contact_twists(contacts, np.array([[[0], [0], [1], [0], [0], [0]], np.zeros((6, 1))], dtype=float), points),
    )
    J = np.hstack([J, np.zeros_like(J)])
    J[6, 1] = 1.0
    drives = Drives(J, np.full(2, np.inf), np.zeros(2), np.array([c, 0.0]))
    forces = WantedForces(Weight(ball(mass=WEIGHT / GRAVITY), DOWN), margin=0.0, reserve=Reserve(1.0, 1.2))
    answer = forces.solve(contacts, np.zeros(3), drives)
    assert answer.forces is not None
    soft = k / (1.0 + k * c)
    upper_share = k / (k + soft)
    # the upper contact must not be lost when the object is heavier: it loses its share of 0.2 W
    np.testing.assert_allclose(answer.forces[1, 2], upper_share * 0.2 * WEIGHT, rtol=0.01)
    np.testing.assert_allclose(answer.forces[0, 2], WEIGHT + upper_share * 0.2 * WEIGHT, rtol=0.01)
