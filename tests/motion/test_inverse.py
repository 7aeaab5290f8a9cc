"""Inverse kinematics: every answer verified, failures honest, the compiled chain equal to Pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from pliant.errors import OptionError
from pliant.motion import FrameTask, IkStatus, InverseKinematics, solve_pose
from pliant.motion.chain import chain_to
from pliant.motion.chain_kernels import chain_kinematics, into_range, make_workspace
from pliant.robot import Robot, load_arm, load_hand, parse_urdf, tip_frame

MIXED = """<robot name="mixed">
  <link name="base"/><link name="a"/><link name="b"/><link name="c"/><link name="d"/><link name="tool"/>
  <joint name="lift" type="prismatic"><parent link="base"/><child link="a"/><origin xyz="0.1 0 0.2" rpy="0.3 0 0"/>
    <axis xyz="0 0 1"/><limit lower="0" upper="0.5" velocity="1" effort="1"/></joint>
  <joint name="turn" type="continuous"><parent link="a"/><child link="b"/><origin xyz="0 0.2 0"/><axis xyz="0.6 0 0.8"/>
    <limit velocity="1" effort="1"/></joint>
  <joint name="bend" type="revolute"><parent link="b"/><child link="c"/><origin xyz="0.3 0 0" rpy="0 0.4 0.1"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="1" effort="1"/></joint>
  <joint name="follow" type="revolute"><parent link="c"/><child link="d"/><origin xyz="0.25 0 0"/><axis xyz="0 -1 0"/>
    <limit lower="-2" upper="2" velocity="1" effort="1"/><mimic joint="bend" multiplier="-0.7" offset="0.2"/></joint>
  <joint name="tip" type="fixed"><parent link="d"/><child link="tool"/><origin xyz="0.1 0.02 0" rpy="0 0 1"/></joint>
</robot>"""


def kinematics(chain, q):
    work = make_workspace(len(chain.joints) - 1, len(chain.positions))
    chain_kinematics(chain.joints, q[chain.positions], work)
    return pin.SE3(work.R, work.p), work.J


def robots():
    yield load_arm("kawasaki_fs020n").robot, "flange"
    yield load_hand("schunk_sdh2").robot, tip_frame("finger_2")
    yield load_hand("allegro_like").robot, load_hand("allegro_like").robot.link_names[-1]
    yield Robot(parse_urdf(MIXED), T_world_base=pin.SE3(pin.exp3(np.array([0.1, 0.7, -0.4])), np.ones(3))), "tool"


def test_the_compiled_chain_equals_pinocchio():
    """Sliding, unaligned, continuous, coupled joints and a base elsewhere; poses and Jacobians to rounding."""
    T_link_frame = pin.SE3(pin.exp3(np.array([0.5, 0.1, -0.9])), np.array([0.02, -0.05, 0.1]))
    for robot, link in robots():
        chain = chain_to(robot, link, T_link_frame)
        for seed in range(10):
            q = robot.random_q(np.random.default_rng(seed))
            T, J = kinematics(chain, q)
            expected = robot.pose(link, q) * T_link_frame
            np.testing.assert_allclose(T.homogeneous, expected.homogeneous, atol=1e-13)
            J_link = robot.jacobian(link, q)
            r = robot.pose(link, q).rotation @ T_link_frame.translation
            J_link[:3] += np.cross(J_link[3:], r, axis=0)
            np.testing.assert_allclose(J, J_link[:, chain.positions], atol=1e-13)


@pytest.mark.parametrize("count", [1000])
def test_every_random_reachable_pose_is_found_within_limits(count):
    """Protocol of the TRAC-IK paper (benchmarks/ik.py) on the shipped arm: 1e-5, seed at mid-range; verified again."""
    robot = load_arm("kawasaki_fs020n").robot
    solver, rng = InverseKinematics(robot, "flange"), np.random.default_rng(0)
    for _ in range(count):
        T = robot.pose("flange", robot.random_q(rng))
        answer = solver.solve(T)
        assert answer.status is IkStatus.FOUND
        error = pin.log6(robot.pose("flange", answer.q).actInv(T)).vector
        assert np.linalg.norm(error[:3]) < 2e-5
        assert np.linalg.norm(error[3:]) <= 1e-5
        assert robot.within_limits(answer.q)


def test_the_same_question_has_the_same_answer_whatever_was_asked_before():
    robot = load_arm("kawasaki_fs020n").robot
    rng = np.random.default_rng(3)
    poses = [robot.pose("flange", robot.random_q(rng)) for _ in range(20)]
    first = [InverseKinematics(robot, "flange").solve(T).q for T in poses]
    solver = InverseKinematics(robot, "flange")
    again = [solver.solve(T).q for T in reversed(poses)][::-1]
    np.testing.assert_array_equal(first, again)


def test_the_answer_is_near_the_seed_when_the_seed_is_near():
    robot = load_arm("kawasaki_fs020n").robot
    rng = np.random.default_rng(4)
    for _ in range(50):
        q = 0.7 * robot.random_q(rng)
        answer = solve_pose(robot, "flange", robot.pose("flange", q), seed=q + 1e-3 * rng.normal(size=robot.dof))
        np.testing.assert_allclose(answer.q, q, atol=0.05)


def test_a_pose_out_of_reach_is_answered_with_the_closest():
    """Straight out along the horizontal: short by what the published lengths add up to."""
    robot = load_arm("kawasaki_fs020n").robot
    solver = InverseKinematics(robot, FrameTask("flange", rows="position"))
    shoulder = np.array([0.0, 0.0, 0.56])
    answer = solver.solve(pin.SE3(np.eye(3), shoulder + np.array([5.0, 0.0, 0.0])))
    assert answer.status is IkStatus.NOT_FOUND
    # Shoulder, upper arm, elbow to wrist, wrist to flange, all in one line.
    reach = 0.15 + 0.8 + np.hypot(0.06, 0.7) + 0.1165
    assert answer.error_m == pytest.approx(5.0 - reach, abs=1e-4)
    assert robot.within_limits(answer.q)
    assert answer.starts == 400


def test_position_only_and_direction_rows():
    robot = load_arm("kawasaki_fs020n").robot
    T = robot.pose("flange", robot.q({"joint2": 0.6, "joint3": -0.9, "joint5": 0.8}))
    turned = pin.SE3(T.rotation @ pin.exp3(np.array([0.0, 0.0, 2.5])), T.translation)
    seed = robot.q({"joint2": 0.6, "joint3": -0.9, "joint5": 0.8})
    pointing = InverseKinematics(robot, FrameTask("flange", rows="position+direction")).solve(turned, seed=seed)
    assert pointing.found
    np.testing.assert_allclose(pointing.q, seed, atol=1e-4)
    end = robot.pose("flange", InverseKinematics(robot, FrameTask("flange", rows="position")).solve(turned).q)
    np.testing.assert_allclose(end.translation, T.translation, atol=1e-5)


def test_joints_that_do_not_carry_the_frame_keep_their_seed(robot, q_work):
    target = robot.pose("palm_frame", q_work)
    answer = solve_pose(robot, "palm_frame", target, seed=q_work + 0.1 * (np.arange(13) > 5))
    assert answer.found
    np.testing.assert_array_equal(answer.q[6:], q_work[6:] + 0.1)


def test_a_coupled_finger_is_solved_through_its_one_coordinate():
    hand = load_hand("schunk_sdh2").robot
    link = tip_frame("finger_2")
    rng = np.random.default_rng(5)
    solver = InverseKinematics(hand, FrameTask(link, rows="position"))
    for _ in range(50):
        q = hand.random_q(rng)
        answer = solver.solve(hand.pose(link, q))
        assert answer.found
        assert hand.within_limits(answer.q)


def test_continuous_joints_are_solved_too():
    robot = Robot(parse_urdf(MIXED))
    rng = np.random.default_rng(6)
    solver = InverseKinematics(robot, "tool")
    for _ in range(100):
        assert solver.solve(robot.pose("tool", robot.random_q(rng))).found


@pytest.mark.parametrize(
    ("value", "lower", "upper", "turns", "expected"),
    [
        (1.0, -2.0, 2.0, True, 1.0),
        (2.5, -2.0, 2.0, True, 2.0),  # a turn away lies outside as well
        (3.5, -3.0, 3.0, True, 3.5 - 2 * np.pi),
        (3.5, -3.0, 3.0, False, 3.0),
        (-7.0, -6.0, 6.0, True, -7.0 + 2 * np.pi),
        (20.0, -6.0, 6.0, True, 20.0 - 6 * np.pi),
        (-2.5, -2.0, 2.0, True, -2.0),
        (1e3, -np.inf, np.inf, True, 1e3),
    ],
)
def test_angles_come_back_by_whole_turns_or_stop_at_the_limit(value, lower, upper, turns, expected):
    assert into_range(value, lower, upper, turns) == pytest.approx(expected, abs=1e-12)


def test_searching_by_the_clock_goes_on_until_time_is_up():
    robot = load_arm("kawasaki_fs020n").robot
    answer = solve_pose(robot, "flange", pin.SE3(np.eye(3), np.array([4.0, 0, 0])), time_limit=1.0)
    assert not answer.found
    assert answer.starts > 50


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: InverseKinematics(r, "flnge"), "closest: flange"),
        (lambda r: InverseKinematics(r, "base"), "no joint moves"),
        (lambda r: InverseKinematics(r, FrameTask("flange", basis="world")), "own axes"),
        (lambda r: solve_pose(r, "flange", pin.SE3(np.eye(3), np.full(3, np.nan))), "NaN"),
        (lambda r: solve_pose(r, "flange", pin.SE3.Identity(), tolerance=0.0), "above zero"),
        (lambda r: solve_pose(r, "flange", pin.SE3.Identity(), seed=np.zeros(3)), "expected 6 values"),
    ],
)
def test_broken_questions_are_refused(call, message):
    with pytest.raises(OptionError, match=message):
        call(load_arm("kawasaki_fs020n").robot)
