"""The hand-arm approach in plans: where it ends, how long it takes, what happens where it is not possible."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from pinched_ball import among, fingers_grasp, fingers_setting, gripper_grasp

from pliant.files import load_task
from pliant.motion import drive_hand_and_arm, time_path
from pliant.objects import make_shape
from pliant.planner import Goal, Hypothesis, Phase, Plan, PlannedGrasp, PlanStatus, verify_plan
from pliant.planner.approach import ApproachMethod, ApproachPath, approach_path, hand_arm_path, standoff_joints
from pliant.planner.completion import complete
from pliant.planner.context import PlanningContext
from pliant.planner.questions import try_hypothesis
from pliant.planner.stability import HeldGrasp


def with_options(context: PlanningContext, **options: object) -> PlanningContext:
    task = replace(context.task, options=replace(context.task.options, **options))
    return PlanningContext(task, context.prepared)


def contact_points(context: PlanningContext, grasp: HeldGrasp, q: np.ndarray) -> np.ndarray:
    """Where the material points of the planned contacts are at other joints."""
    names = [link.name for link in grasp.held.links]
    held = context.robot.poses(names, grasp.held.q)
    p = [T.actInv(region.centre) for T, region in zip(held, grasp.held.state.regions, strict=True)]
    return np.array([T.act(x) for T, x in zip(context.robot.poses(names, q), p, strict=True)])


def distances(context: PlanningContext, grasp: HeldGrasp, q: np.ndarray) -> np.ndarray:
    """How far the contact points are from their touches, along the object's outward normals [m]."""
    outward = -np.array([region.normal for region in grasp.held.state.regions])
    moved = contact_points(context, grasp, q) - contact_points(context, grasp, grasp.q_touch)
    return np.einsum("ij,ij->i", moved, outward)


def planned(context: PlanningContext, grasp: HeldGrasp) -> PlannedGrasp:
    answer = complete(context, grasp)
    assert isinstance(answer, PlannedGrasp), answer
    return answer


@cache
def with_three_fingers(standoff: float = 0.01) -> PlannedGrasp:
    return planned(with_options(fingers_setting(), standoff=standoff), fingers_grasp())


@pytest.mark.parametrize("distance", [0.004, 0.01, 0.02])
def test_at_the_standoff_every_finger_is_on_its_closing_path_and_that_far_from_its_touch(distance: float) -> None:
    context, grasp = fingers_setting(), fingers_grasp()
    q = standoff_joints(context, grasp, distance)
    np.testing.assert_allclose(distances(context, grasp, q), distance, atol=1e-6)
    for group in context.hand.groups(context.hand.preshape("spherical"), grasp.hypothesis.fingers):
        moved = (grasp.q_touch - grasp.q_open)[group.joints]
        shares = (q - grasp.q_open)[group.joints][moved != 0.0] / moved[moved != 0.0]
        np.testing.assert_allclose(shares, shares[0], atol=1e-12)
        assert 0.0 < shares[0] < 1.0
    still = np.ones(context.robot.dof, dtype=bool)
    still[context.assembly.hand_joints] = False
    np.testing.assert_array_equal(q[still], grasp.q_touch[still])


def test_a_finger_that_is_nearer_when_open_stays_open() -> None:
    context, grasp = fingers_setting(), fingers_grasp()
    np.testing.assert_array_equal(standoff_joints(context, grasp, 1.0), grasp.q_open)


@pytest.mark.parametrize(("tip_targets", "standoff"), [("position", 0.01), ("pose", 0.02)])
def test_the_servo_ends_on_the_closing_path_and_closing_goes_on_from_there(tip_targets: str, standoff: float) -> None:
    context, grasp = with_options(fingers_setting(), tip_targets=tip_targets, standoff=standoff), fingers_grasp()
    q_end = standoff_joints(context, grasp, standoff)
    servo = drive_hand_and_arm(
        context.assembly, context.task.q_start, q_end, limits=context.limits, tip_targets=tip_targets
    )
    assert servo.arrived
    np.testing.assert_allclose(servo.q[-1], q_end, atol=1e-4)
    path = approach_path(context, grasp)
    assert isinstance(path, ApproachPath)
    assert path.method is ApproachMethod.HAND_ARM
    assert path.description == "hand-arm"
    np.testing.assert_array_equal(path.points[-1], q_end)
    operation = planned(context, grasp)
    begin, end = operation.trajectory.span(Phase.CLOSE)
    np.testing.assert_allclose(operation.trajectory.at(begin), q_end, atol=1e-9)
    np.testing.assert_allclose(operation.trajectory.at(end), grasp.q_touch, atol=1e-9)
    np.testing.assert_array_equal(operation.q_pregrasp, grasp.q_open)


def test_the_approach_keeps_the_speed_limits_and_the_fingers_move_with_the_arm() -> None:
    context, operation = fingers_setting(), with_three_fingers()
    path = operation.trajectory
    coming = [i for i, phase in enumerate(path.phases) if phase is Phase.APPROACH]
    speeds = np.diff(path.q[coming], axis=0) / np.diff(path.times[coming])[:, None]
    assert (np.abs(speeds) <= context.limits.speed * (1.0 + 1e-6)).all()
    middle = np.abs(speeds[len(speeds) // 2])
    assert middle[context.assembly.arm_joints].max() > 0.0
    assert middle[context.assembly.hand_joints].max() > 0.0
    # no faster than the joints could be: a straight segment in joint space is the shortest there is
    quickest = time_path(path.q[[coming[0], coming[-1]]], context.limits)[0][-1]
    assert path.span(Phase.APPROACH)[1] >= quickest - 1e-9


def test_durations_are_those_of_the_trajectory_and_of_arm_then_fingers() -> None:
    context, operation = fingers_setting(), with_three_fingers()
    begin, touch = operation.trajectory.span(Phase.CLOSE)
    assert operation.approach_s == pytest.approx(touch)
    start, end = context.task.q_start, operation.trajectory.at(begin)
    between = end.copy()
    between[context.assembly.hand_joints] = start[context.assembly.hand_joints]
    arm = time_path(np.array([start, between]), context.limits)[0][-1]
    fingers = time_path(np.array([between, end]), context.limits)[0][-1]
    assert operation.sequential_s == pytest.approx(arm + fingers + touch - begin)
    assert operation.approach_s < operation.sequential_s


def test_a_wider_standoff_ends_further_away_and_closes_longer() -> None:
    context, grasp = fingers_setting(), fingers_grasp()
    near, far = with_three_fingers(0.01), with_three_fingers(0.02)
    for operation, distance in ((near, 0.01), (far, 0.02)):
        q = operation.trajectory.at(operation.trajectory.span(Phase.CLOSE)[0])
        np.testing.assert_allclose(distances(context, grasp, q), distance, atol=1e-6)
    assert far.trajectory.span(Phase.CLOSE)[1] - far.trajectory.span(Phase.CLOSE)[0] > (
        near.trajectory.span(Phase.CLOSE)[1] - near.trajectory.span(Phase.CLOSE)[0]
    )


def test_poses_take_another_path_to_the_same_end() -> None:
    context, grasp = fingers_setting(), fingers_grasp()
    q_end, world = standoff_joints(context, grasp, 0.02), context.clearance_with_object(context.task.T_world_object)
    paths = [hand_arm_path(with_options(context, tip_targets=t), grasp, q_end, world) for t in ("position", "pose")]
    middles = []
    for path in paths:
        assert isinstance(path, ApproachPath)
        np.testing.assert_array_equal(path.points[-1], q_end)
        middles.append(path.points[len(path.points) // 2])
    assert np.abs(middles[0] - middles[1]).max() > 0.02


def test_where_the_ball_itself_is_in_the_way_the_hand_comes_over_a_place_before_it() -> None:
    """The gripper comes from beside, open along x: a finger would have to pass through the ball."""
    grasp = gripper_grasp()
    q_start = grasp.q_open.copy()
    q_start[0] += 0.2
    context = among(q_start=q_start)
    path = approach_path(context, grasp)
    assert isinstance(path, ApproachPath)
    assert path.method is ApproachMethod.OVER_A_PLACE
    assert "no hand-arm approach: at 10 mm" in path.note
    assert "meets 'object'" in path.note


def test_a_wall_in_the_way_is_told_in_the_plan_and_gone_round() -> None:
    grasp = gripper_grasp()
    q_start = grasp.q_open.copy()
    q_start[2] = 1.0
    ceiling = make_shape("box", size=(0.3, 0.3, 0.01), edge=1.0).moved((0.5, 0.0, 0.6))
    context = among(ceiling, q_start=q_start)
    operation = planned(context, grasp)
    method, reason = operation.approach_way.split("; ", 1)
    assert method in (ApproachMethod.STRAIGHT, ApproachMethod.OVER_A_PLACE, ApproachMethod.SAMPLED)
    assert reason.startswith("no hand-arm approach: ")
    assert "box" in reason
    begin = operation.trajectory.span(Phase.CLOSE)[0]
    np.testing.assert_allclose(operation.trajectory.at(begin), grasp.q_open, atol=1e-9)
    assert operation.approach_s == pytest.approx(operation.trajectory.span(Phase.CLOSE)[1])
    assert operation.sequential_s >= operation.approach_s - 1e-9
    # verified by another computation
    plan = Plan(context.task, PlanStatus.FOUND, (operation,), (grasp.hypothesis,), ())
    assert verify_plan(plan).problems == ()
    # without the ceiling nothing is in the way
    free = planned(among(q_start=q_start), grasp)
    assert free.approach_way == "hand-arm"
    assert free.approach_s < operation.approach_s


@pytest.mark.slow
def test_on_the_ring_arm_and_fingers_together_are_sooner_than_one_after_the_other() -> None:
    """The shipped task with one hypothesis: three fingers from above, around the ring on its stand."""
    task = replace(load_task("ring"), goal=Goal(lift=0.05))
    context = PlanningContext(task)
    c = 0.5**0.5
    above = pin.SE3(np.array([[c, -c, 0.0], [-c, -c, 0.0], [0.0, 0.0, -1.0]]), np.array([0.0, 0.0, 0.13637926]))
    grasp = try_hypothesis(context, Hypothesis(0, above, "spherical", ("finger_1", "finger_2", "thumb"), "by hand"))
    assert isinstance(grasp, HeldGrasp), grasp
    operation = planned(context, grasp)
    assert operation.approach_way.startswith("hand-arm")
    assert operation.approach_s < 0.9 * operation.sequential_s
    plan = Plan(task, PlanStatus.FOUND, (operation,), (grasp.hypothesis,), ())
    assert verify_plan(plan).problems == ()
