"""The force loop against springs, statics and least squares written down by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from force_loops import GRIPPER, SDH2, assembly_of, loop_of, pinch, planned_contacts

from pliant.control import CalibrationFactors, ContactKinematics, ForceLoop, contact_kinematics
from pliant.control.force_loop import DAMPING, TANGENTIAL
from pliant.planner import Reserve
from pliant.planner.timeline import PlannedForces

# N = A^T A of one joint, damped by DAMPING^2 of its own trace: the answer is smaller by so much
SHARE = 1.0 / (1.0 + DAMPING**2)
# what the grain of damping in the balance of two contacts takes, relative: 1e-9 of the trace of a 6 x 6 matrix
GRAIN = 1e-7


def moved(now: ContactKinematics, T: pin.SE3) -> ContactKinematics:
    """The same contacts seen from elsewhere."""
    return ContactKinematics(now.points @ T.rotation.T + T.translation, T.rotation @ now.axes, now.jacobian)


def loaded(loop: ForceLoop, now: ContactKinematics, weight: float) -> PlannedForces:
    """The plan's moment with a weight that hangs in the middle of these contacts."""
    middle = now.points.mean(axis=0)
    load = np.array([0.0, 0.0, -weight, 0.0, 0.0, 0.0])
    return replace(loop.timeline.forces_at(loop.timeline.grasp_time), load=load, centre=middle, centroid=middle)


@pytest.mark.parametrize("hand", [GRIPPER, SDH2])
def test_contact_jacobians_are_the_derivatives_of_the_contact_points(hand: str) -> None:
    """Central differences: rounding 1e-16 m / 1e-6, and the third derivative times 1e-12."""
    loop = loop_of(hand)
    timeline, e = loop.timeline, 1e-6
    at = timeline.forces_at(timeline.touch_time)

    def contacts(q: np.ndarray) -> ContactKinematics:
        return contact_kinematics(loop.assembly, timeline.links, q, at.points, at.axes)

    now = contacts(timeline.q_touch)
    for joint, step in enumerate(e * np.eye(loop.assembly.robot.dof)):
        moves = (contacts(timeline.q_touch + step).points - contacts(timeline.q_touch - step).points) / (2 * e)
        along = np.einsum("nij,ni->nj", now.axes, moves)
        np.testing.assert_allclose(now.jacobian[:, :, joint], along, atol=1e-8)


def test_contact_jacobians_do_not_change_when_the_robot_stands_elsewhere() -> None:
    loop = loop_of(SDH2)
    timeline = loop.timeline
    at = timeline.forces_at(timeline.touch_time)
    T = pin.SE3(pin.exp3(np.array([0.3, -0.8, 1.2])), np.array([0.5, -0.3, 0.2]))
    elsewhere = loop.assembly.at(T * loop.assembly.robot.T_world_base)
    there = contact_kinematics(elsewhere, timeline.links, timeline.q_touch, at.points, at.axes)
    expected = moved(planned_contacts(loop), T)
    np.testing.assert_allclose(there.points, expected.points, atol=1e-12)
    np.testing.assert_allclose(there.axes, expected.axes, atol=1e-12)
    np.testing.assert_allclose(there.jacobian, expected.jacobian, atol=1e-12)


def test_contact_and_servo_are_springs_one_behind_the_other() -> None:
    """Pads that move as far as the one drive does: 1 / D = 1 / k + 1 / k_servo, whatever the arm's servos are."""
    loop = loop_of(GRIPPER, stiffness=(3000.0, 5000.0), calibration=CalibrationFactors(stiffness=1.5))
    servo = float(assembly_of(GRIPPER).servo_stiffness[loop.hand][0])
    assert np.isfinite(servo)
    expected = 1.0 / (1.0 / (1.5 * np.array([3000.0, 5000.0])) + 1.0 / servo)
    np.testing.assert_allclose(loop.series_stiffness(pinch(loop)), expected, rtol=1e-12)


def test_a_finger_gives_way_in_all_its_joints() -> None:
    """A unit force turns every joint by J_n / k_servo, which moves the contact by J_n^2 / k_servo."""
    loop = loop_of(SDH2)
    now = planned_contacts(loop)
    for contact, D in enumerate(loop.series_stiffness(now)):
        gives = 1.0 / loop.timeline.stiffness[contact, 2]
        for joint in loop.assembly.hand_joints:
            gives += now.jacobian[contact, 2, joint] ** 2 / loop.assembly.servo_stiffness[joint]
        assert 1.0 / gives == pytest.approx(D, rel=1e-12)


@pytest.mark.parametrize("error", [0.8, -0.8])
def test_a_pinch_is_corrected_by_the_missing_force_over_the_stiffness(error: float) -> None:
    """J dq = D^-1 (f_wanted - f) along both normals when the gain leaves a whole correction to one step."""
    loop = loop_of(GRIPPER, gain=10.0, step=1.0)
    now = pinch(loop)
    D = loop.series_stiffness(now)
    dq = loop.correct(np.array([error, error]), now, loop.hand, 0.1)
    push = now.jacobian[:, 2] @ dq
    np.testing.assert_allclose(push, SHARE * error / D.mean(), rtol=1e-5)  # the planned contacts differ by as much
    assert D[0] == pytest.approx(D[1], rel=1e-5)
    np.testing.assert_allclose(now.jacobian[:, :2] @ dq, 0.0, atol=1e-12)
    assert not dq[loop.assembly.arm_joints].any()


def test_the_force_error_of_a_spring_decays_with_the_gain() -> None:
    """f grows by D J dq: e_k = e_0 (1 - gain dt / (1 + DAMPING^2))^k."""
    gain, dt = 5.0, 0.01
    loop = loop_of(GRIPPER, gain=gain, stiffness=(3000.0, 3000.0))
    now = pinch(loop)
    D = loop.series_stiffness(now)
    wanted, force = np.array([2.0, 2.0]), np.array([1.9, 1.9])
    for step in range(1, 21):
        force = force + D * (now.jacobian[:, 2] @ loop.correct(wanted - force, now, loop.hand, dt))
        expected = 0.1 * (1.0 - SHARE * gain * dt) ** step
        np.testing.assert_allclose(wanted - force, expected, rtol=step * GRAIN)


@pytest.mark.parametrize("hand", [GRIPPER, SDH2])
def test_nothing_is_corrected_when_forces_are_as_wanted(hand: str) -> None:
    loop = loop_of(hand)
    assert not loop.correct(np.zeros(2), planned_contacts(loop), loop.hand, 0.01).any()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_large_error_moves_contacts_no_faster_than_the_step_allows(sign: float) -> None:
    for step, dt in ((0.02, 0.01), (0.005, 0.01), (0.02, 1.0)):
        loop = loop_of(GRIPPER, step=step)
        now = pinch(loop)
        push = now.jacobian[:, 2] @ loop.correct(sign * np.array([500.0, 500.0]), now, loop.hand, dt)
        np.testing.assert_allclose(push, sign * SHARE * step * dt, rtol=1e-12)


def test_fingers_with_several_joints_keep_the_limit_too() -> None:
    """A damped least-squares answer is never longer than what is asked for: |J_n dq| <= |push| <= sqrt(n) step dt."""
    loop = loop_of(SDH2, step=0.01)
    now = planned_contacts(loop)
    rng = np.random.default_rng(3)
    for error in rng.normal(scale=100.0, size=(20, 2)):
        push = now.jacobian[:, 2] @ loop.correct(error, now, loop.hand, 0.02)
        assert np.linalg.norm(push) <= np.sqrt(2) * 0.01 * 0.02


@pytest.mark.parametrize("scale", [0.1, 100.0])
def test_the_joints_answer_is_the_damped_least_squares_one(scale: float) -> None:
    """min |W (J dq - b)|^2 + DAMPING^2 |W J|^2 |dq|^2 as one stacked system, b along the normals and clipped."""
    loop = loop_of(SDH2)
    now = planned_contacts(loop)
    dt, options = 0.01, loop.options
    rng = np.random.default_rng(4)
    jacobian = now.jacobian + 0.02 * rng.normal(size=now.jacobian.shape)
    now = ContactKinematics(now.points, now.axes, jacobian)
    error = scale * rng.normal(size=2)
    b = np.zeros((2, 3))
    most = options.step * dt
    b[:, 2] = np.clip(options.gain * dt * loop.internal(error, now) / loop.series_stiffness(now), -most, most)
    WJ = (now.jacobian * np.array([TANGENTIAL, TANGENTIAL, 1.0])[:, None])[:, :, loop.hand].reshape(6, -1)
    damping = DAMPING * np.linalg.norm(WJ) * np.eye(WJ.shape[1])
    expected = np.linalg.lstsq(np.vstack([WJ, damping]), np.concatenate([b.ravel(), np.zeros(len(damping))]))[0]
    dq = loop.correct(error, now, loop.hand, dt)
    # the normal equations lose the square of 1 / DAMPING
    np.testing.assert_allclose(dq[loop.hand], expected, atol=1e-9 * np.abs(expected).max())
    assert not dq[~loop.hand].any()
    known = loop.correct(error, now, loop.hand, dt, loop.series_stiffness(now))
    np.testing.assert_array_equal(known, dq)


def test_joints_that_may_not_take_part_stay() -> None:
    loop = loop_of(SDH2)
    now = planned_contacts(loop)
    error = np.array([1.0, 1.0])
    free = loop.hand.copy()
    free[loop.assembly.hand_joints[1]] = False
    dq = loop.correct(error, now, free, 0.01)
    assert dq[loop.assembly.hand_joints[1]] == 0.0 and dq[loop.assembly.hand_joints[2]] != 0.0
    everywhere = np.ones(len(free), dtype=bool)
    np.testing.assert_array_equal(loop.correct(error, now, everywhere, 0.01), loop.correct(error, now, loop.hand, 0.01))
    assert not loop.correct(error, now, ~loop.hand, 0.01).any()


def test_pads_that_disagree_about_one_force_do_not_push_the_object_along() -> None:
    """Of errors on opposed contacts a squeeze can mend (k_2 e_1 + k_1 e_2) / (k_1 + k_2), the same on both."""
    k = np.array([3000.0, 5000.0])
    loop = loop_of(GRIPPER, stiffness=(3000.0, 5000.0))
    now = pinch(loop)
    for error in ([1.0, 1.0], [1.0, 0.0], [0.3, -0.5], [3.0, -5.0]):
        internal = loop.internal(np.array(error), now)
        np.testing.assert_allclose(internal, (k[::-1] @ error) / k.sum(), rtol=GRAIN, atol=1e-6)
    push = loop.correct(np.array([3.0, -5.0]), now, loop.hand, 0.01)
    assert np.abs(now.jacobian[:, 2] @ push).max() < 1e-9


def test_two_contacts_squeeze_only_along_the_line_between_them() -> None:
    """Internal forces of two points are t u, u = (R_1^T d, -R_2^T d): t = (u . K^-1 e) / (u . K^-1 u)."""
    loop = loop_of(SDH2, stiffness=(2000.0, 4000.0))
    rng = np.random.default_rng(5)
    K = loop.timeline.stiffness.ravel()
    for _ in range(10):
        axes = np.array([pin.exp3(rng.normal(size=3)) for _ in range(2)])
        points = 0.03 * rng.normal(size=(2, 3))
        now = ContactKinematics(points, axes, np.zeros((2, 3, loop.assembly.robot.dof)))
        error = rng.normal(size=2)
        e = np.zeros(6)
        e[2::3] = error
        d = points[1] - points[0]
        u = np.concatenate([axes[0].T @ d, -axes[1].T @ d])
        expected = u * (u @ (e / K)) / (u @ (u / K))
        np.testing.assert_allclose(loop.internal(error, now), expected[2::3], atol=1e-6)
        T = pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3))
        np.testing.assert_allclose(loop.internal(error, moved(now, T)), expected[2::3], atol=1e-6)


def test_a_pinch_wants_what_friction_needs_with_the_plans_reserve() -> None:
    """Two pads bear W / 2 each by friction: f = (load W / 2) / (friction mu), where that is more than planned."""
    for weight, reserve in ((4.0, Reserve(0.625, 1.25)), (6.0, Reserve()), (4.0, Reserve(0.5, 1.5))):
        loop = loop_of(GRIPPER, reserve=reserve)
        now = pinch(loop)
        moment = loaded(loop, now, weight)
        wanted = loop.want(now, moment)
        expected = 0.5 * reserve.load * weight / (reserve.friction * loop.timeline.friction)
        assert (expected > moment.forces[:, 2]).all()
        np.testing.assert_allclose(wanted, expected, rtol=1e-4)  # the solver's own precision
        assert loop.feasible and wanted is loop.wanted


def test_the_planned_forces_are_wanted_where_less_would_do() -> None:
    loop = loop_of(GRIPPER)
    now = pinch(loop)
    moment = loaded(loop, now, 0.01)
    np.testing.assert_array_equal(loop.want(now, moment), moment.forces[:, 2])


@pytest.mark.parametrize("cost", ["largest", "loading"])
def test_the_loop_asks_for_forces_by_the_cost_it_is_given(cost: str) -> None:
    assert loop_of(GRIPPER, cost=cost).solver.objective == cost


def test_wanted_forces_stay_the_same_when_the_object_lies_elsewhere_than_planned() -> None:
    loop = loop_of(GRIPPER)
    now = pinch(loop)
    moment = loaded(loop, now, 2.0)
    wanted = loop.want(now, moment).copy()
    shifted = replace(now, points=now.points + np.array([0.01, -0.02, 0.005]))
    np.testing.assert_allclose(loop.want(shifted, moment), wanted, rtol=1e-6)
    T = pin.SE3(pin.exp3(np.array([0.7, 0.4, -0.2])), np.zeros(3))
    turned = replace(moment, load=T.toActionMatrix() @ moment.load, centre=T.act(moment.centre))
    turned = replace(turned, centroid=T.act(moment.centroid))
    np.testing.assert_allclose(loop.want(moved(now, T), turned), wanted, rtol=1e-4)


def test_wanted_forces_stay_below_what_is_permitted() -> None:
    loop = loop_of(GRIPPER, limit_share=0.8)
    now = pinch(loop)
    most = loop.timeline.max_force
    heavy = float((0.9 * most / (0.5 / loop.timeline.friction))[0])
    np.testing.assert_allclose(loop.want(now, loaded(loop, now, heavy)), 0.8 * most, rtol=1e-12)
    assert loop.feasible


def test_the_planned_forces_stand_where_no_permitted_ones_hold() -> None:
    loop = loop_of(GRIPPER)
    now = pinch(loop)
    moment = loaded(loop, now, 100.0)
    wanted = loop.want(now, moment)
    assert not loop.feasible
    np.testing.assert_allclose(wanted, moment.forces[:, 2], rtol=1e-12)
    loop.want(now, loaded(loop, now, 1.0))
    assert loop.feasible


def test_forces_beyond_the_drives_are_not_wanted() -> None:
    """The pads' friction could bear the weight, but the gripper's drive is just too weak, or just strong enough."""
    loop = loop_of(GRIPPER)
    now = pinch(loop)
    joint = int(np.flatnonzero(loop.hand)[0])
    squeeze = float(np.abs(now.jacobian[:, 2, joint]).sum())  # what the drive bears per newton on both pads
    needed = 0.5 * 6.0 / loop.timeline.friction[0]
    loop.torque_limits = np.full(int(loop.hand.sum()), 0.9 * needed * squeeze)
    loop.want(now, loaded(loop, now, 6.0))
    assert not loop.feasible
    loop.torque_limits = np.full(int(loop.hand.sum()), 1.1 * needed * squeeze)
    loop.want(now, loaded(loop, now, 6.0))
    assert loop.feasible


def test_a_harder_grip_counts_at_once_and_for_all_that_is_wanted_later() -> None:
    loop = loop_of(GRIPPER)
    now = pinch(loop)
    moment = loaded(loop, now, 2.0)
    first = loop.want(now, moment).copy()
    for grip in (1.2, 2.0, 1.5):
        loop.scale(grip)
        np.testing.assert_allclose(loop.wanted, grip * first, rtol=1e-12)
        np.testing.assert_allclose(loop.want(now, moment), grip * first, rtol=1e-6)


def test_a_harder_grip_stays_within_what_is_permitted() -> None:
    loop = loop_of(GRIPPER)
    now = pinch(loop)
    loop.want(now, loaded(loop, now, 6.0))
    loop.scale(10.0)
    np.testing.assert_allclose(loop.wanted, loop.options.limit_share * loop.timeline.max_force, rtol=1e-12)
