"""A held ball is moved: by a gripper on an arm, where everything is known in closed form, and by three fingers."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pinocchio as pin
import pytest
from pinched_ball import asked, fingers_grasp, fingers_setting, gripper_grasp, gripper_setting, start

from pliant.objects import make_shape
from pliant.planner import Carrier, Goal, MoveFrame, Reason, Stage
from pliant.planner.context import PlanningContext
from pliant.planner.depth_search import Failure
from pliant.planner.finger_reach import object_path
from pliant.planner.manipulation import HEADROOM, LARGEST_TREND, Step, manipulate
from pliant.planner.pressing import Held
from pliant.planner.stability import HeldGrasp
from pliant.robot import PALM_FRAME

CLOSE_ENOUGH = 1.1
"""Simulated over wanted force that needs no more correction: that is close from above."""
WEIGHT = 9.80665 * 0.12
FRICTION = 0.6
MARGIN = 0.05 * WEIGHT


def goal(
    translation: tuple[float, float, float] = (0.0, 0.0, 0.0),
    rotation: tuple[float, float, float] = (0.0, 0.0, 0.0),
    *,
    by: Carrier = Carrier.ARM,
    frame: MoveFrame = MoveFrame.WORLD,
    steps: int = 3,
) -> Goal:
    return Goal(0.0, translation, rotation, frame, steps, by)


def moved(context: PlanningContext, grasp: HeldGrasp, wanted: Goal, **options: float) -> list[Step]:
    steps = manipulate(asked(context, wanted, **options), grasp, start(grasp))
    assert isinstance(steps, list), steps
    assert len(steps) == wanted.steps
    return steps


def refused(context: PlanningContext, grasp: HeldGrasp, wanted: Goal, **options: float) -> tuple[Stage, Failure]:
    answer = manipulate(asked(context, wanted, **options), grasp, start(grasp))
    assert isinstance(answer, Failure), "the move was possible"
    return answer.stage, answer


def by_gripper(wanted: Goal, **options: float) -> list[Step]:
    return moved(gripper_setting(), gripper_grasp(), wanted, **options)


def on_links(context: PlanningContext, q: np.ndarray, held: Held) -> np.ndarray:
    """Centres of pressure in the frames of their links."""
    poses = context.robot.poses([link.name for link in held.links], q)
    return np.array([T.actInv(region.centre) for T, region in zip(poses, held.state.regions, strict=True)])


def assert_forces_close_from_above(steps: list[Step]) -> None:
    for step in steps:
        assert step.held.wanted.forces is not None
        wanted = step.held.wanted.forces[:, 2]
        # condition (8) is judged to a thousandth of the largest
        assert (step.held.normal_forces >= wanted - 1.1e-3 * step.held.wanted.largest_force).all()
        assert step.held.largest_force <= CLOSE_ENOUGH * wanted.max()


# -- the path --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", list(MoveFrame))
def test_the_path_is_linear_in_position_and_a_constant_turn_about_the_centre_of_mass(frame: MoveFrame) -> None:
    rng = np.random.default_rng(5)
    T_object = pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3))
    T_palm = pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3))
    centre = T_object.act(np.array([0.01, -0.02, 0.03]))
    shift, turn = (0.02, -0.01, 0.03), (0.3, 0.1, -0.4)
    path = object_path(asked(gripper_setting(), goal(shift, turn, frame=frame, steps=4)), T_object, T_palm, centre)
    axes = {
        MoveFrame.WORLD: np.eye(3),
        MoveFrame.OBJECT: T_object.rotation,
        MoveFrame.PALM: T_palm.rotation,
    }[frame]
    assert len(path) == 4
    for k, T in enumerate(path, start=1):
        p_centre = T.act(T_object.actInv(centre))
        np.testing.assert_allclose(p_centre, centre + k / 4 * axes @ np.array(shift), atol=1e-12)
        turned = pin.log3(T.rotation @ T_object.rotation.T)
        np.testing.assert_allclose(turned, k / 4 * axes @ np.array(turn), atol=1e-12)


def test_nothing_asked_is_nothing_done() -> None:
    assert manipulate(asked(gripper_setting(), goal()), gripper_grasp(), start(gripper_grasp())) == []


# -- the arm ---------------------------------------------------------------------------------------------------


def test_carried_by_the_arm_the_object_is_shifted_exactly_and_nothing_else_changes() -> None:
    grasp, context, shift = gripper_grasp(), gripper_setting(), np.array([0.02, 0.01, 0.03])
    first = grasp.held
    steps = by_gripper(goal(tuple(shift)))
    for k, step in enumerate(steps, start=1):
        # the palm is met to 1e-5 by inverse kinematics; the contacts do not know where in the world they are
        gone = step.held.state.T_world_object.translation - first.state.T_world_object.translation
        np.testing.assert_allclose(gone, k / 3 * shift, atol=1e-9)
        np.testing.assert_allclose(
            step.T_world_palm.translation, grasp.T_world_palm.translation + k / 3 * shift, atol=1e-12
        )
        palm = context.robot.pose(PALM_FRAME, step.q)
        np.testing.assert_allclose(palm.translation, step.T_world_palm.translation, atol=1e-5)
        np.testing.assert_allclose(step.held.normal_forces, first.normal_forces, rtol=1e-6)
        np.testing.assert_allclose(on_links(context, step.q, step.held), on_links(context, first.q, first), atol=1e-5)
        np.testing.assert_array_equal(step.q, step.held.q)
    assert_forces_close_from_above(steps)


def test_turned_by_the_arm_about_the_vertical_nothing_changes_and_about_the_pinch_only_the_friction_turns() -> None:
    grasp, context = gripper_grasp(), gripper_setting()
    first = grasp.held
    for turn, atol, rtol in (((0.0, 0.0, 0.5), 1e-6, 1e-6), ((0.5, 0.0, 0.0), 3e-4, 1e-3)):
        # about the pinch the ball sags to another side of the pads: contacts move by that much, a few tenths of 1 mm
        steps = by_gripper(goal(rotation=turn))
        for k, step in enumerate(steps, start=1):
            turned = pin.log3(step.held.state.T_world_object.rotation @ first.state.T_world_object.rotation.T)
            np.testing.assert_allclose(turned, k / 3 * np.array(turn), atol=1e-4)
            np.testing.assert_allclose(step.held.normal_forces, first.normal_forces, rtol=rtol)
            places = on_links(context, step.q, step.held)
            np.testing.assert_allclose(places, on_links(context, first.q, first), atol=atol)
            friction = np.sum([region.force for region in step.held.state.regions], axis=0)
            np.testing.assert_allclose(friction, [0.0, 0.0, WEIGHT], atol=2e-3 * WEIGHT)
        assert_forces_close_from_above(steps)


def test_a_tilted_pinch_presses_its_lower_pad_by_the_weights_part_along_it_more() -> None:
    """Tilted by a, both pads carry t = W cos(a) / 2 along their surfaces (torques balance); the upper pad needs
    n = (t + delta) / mu, and the lower one n + W sin(a)."""
    steps = by_gripper(goal(rotation=(0.0, 0.6, 0.0), steps=6))
    for k, step in enumerate(steps, start=1):
        a = 0.1 * k
        upper = (0.5 * WEIGHT * np.cos(a) + MARGIN) / FRICTION
        assert step.held.wanted.forces is not None
        # the ball sags by up to 0.3 mm over its radius of 30 mm: normals turn by less than 1 % of a radian
        np.testing.assert_allclose(
            np.sort(step.held.wanted.forces[:, 2]), [upper, upper + WEIGHT * np.sin(a)], rtol=0.01 / FRICTION
        )
        low = int(np.argmin([region.centre[2] for region in step.held.state.regions]))
        assert step.held.normal_forces[low] == step.held.largest_force
    assert_forces_close_from_above(steps)


@pytest.mark.parametrize("move", [goal((0.02, 0.01, 0.03)), goal(rotation=(0.0, 0.3, 0.0))])
def test_where_the_fingers_can_do_nothing_hand_and_arm_together_do_what_the_arm_does(move: Goal) -> None:
    """.. but for what the object has sagged in the pads, which the arm takes back as well."""
    context, first = gripper_setting(), gripper_grasp()
    path = object_path(asked(context, move), first.held.state.T_world_object, first.T_world_palm, first.held.centre)
    sagged = 0.0
    for T_wanted, alone, both in zip(path, by_gripper(move), by_gripper(replace(move, by=Carrier.BOTH)), strict=True):
        beside = [T_wanted.actInv(step.held.state.T_world_object).homogeneous - np.eye(4) for step in (alone, both)]
        sagged = max(sagged, float(np.abs(beside[0]).max()))
        assert sagged < 5e-4
        assert np.abs(beside[1]).max() <= np.abs(beside[0]).max() + 1e-5
        np.testing.assert_allclose(both.T_world_palm.homogeneous, alone.T_world_palm.homogeneous, atol=sagged + 1e-5)
        wanted = [step.held.wanted.forces for step in (both, alone)]
        np.testing.assert_allclose(wanted[0][:, 2], wanted[1][:, 2], rtol=2.0 * sagged + 1e-4)
        assert_forces_close_from_above([both, alone])


# -- the fingers -----------------------------------------------------------------------------------------------


def test_carried_by_the_fingers_the_object_follows_while_palm_and_arm_stay() -> None:
    context, grasp = fingers_setting(), fingers_grasp()
    assert len(grasp.held.links) == 3
    move = goal((0.0, 0.0, 0.005), by=Carrier.FINGERS)
    steps = moved(context, grasp, move)
    arm = context.assembly.arm_joints
    for k, step in enumerate(steps, start=1):
        np.testing.assert_array_equal(step.T_world_palm.homogeneous, grasp.T_world_palm.homogeneous)
        np.testing.assert_array_equal(step.q[arm], grasp.held.q[arm])
        gone = step.held.state.T_world_object.translation - grasp.held.state.T_world_object.translation
        # what is left beside the path is elastic: less than a tenth of how deep the pads are
        np.testing.assert_allclose(gone, [0.0, 0.0, k / 3 * 0.005], atol=0.1 * float(grasp.held.depths.max()))
    assert_forces_close_from_above(steps)


@pytest.mark.parametrize("steps", [1, 3])
def test_from_step_to_step_the_contacts_stay_where_they_are_on_links_and_object_but_for_the_depth(steps: int) -> None:
    """p_world = T_link p_link = T_object (p_object + (depth - depth before) n), with the contacts of the step before:
    over the whole move the object rolls on the links."""
    context, grasp = fingers_setting(), fingers_grasp()
    fingers = sorted({link.finger for link in grasp.held.links})
    move = goal((0.0, 0.0, 0.005), by=Carrier.FINGERS, steps=steps)
    path = object_path(asked(context, move), grasp.held.state.T_world_object, grasp.T_world_palm, grasp.held.centre)
    before, depths = grasp.held, np.full(3, grasp.held.depths.max())
    for T_wanted, step in zip(path, moved(context, grasp, move), strict=True):
        links, T = on_links(context, before.q, before), before.state.T_world_object
        deeper = step.held.depths - depths
        for link, p_link, region in zip(before.links, links, before.state.regions, strict=True):
            on_link = context.robot.pose(link.name, step.q).act(p_link)
            p, n = T.actInv(region.centre), T.rotation.T @ region.normal
            on_object = T_wanted.act(p + deeper[fingers.index(link.finger)] * n)
            # damping of 2 mm/m and 25 iterations leave micrometres
            np.testing.assert_allclose(on_link, on_object, atol=5e-6)
        before, depths = step.held, step.held.depths


def test_rolling_contacts_keep_their_forces_without_corrections() -> None:
    """Links that turn while they carry the object roll on it. Held at the contacts of the start they would be deeper by
    the sagitta of the way rolled; held at those of the step before, a step needs one or two simulations."""
    context, grasp = fingers_setting(), fingers_grasp()
    spied, simulated = asked(context, goal((0.0, 0.0, 0.006), by=Carrier.FINGERS, steps=6)), []
    presser = copy(context.presser)
    spied.presser = presser

    def simulate(*given: Any, **options: Any) -> Held | Failure:
        simulated.append(1)
        return type(presser).simulate(presser, *given, **options)

    object.__setattr__(presser, "simulate", simulate)
    steps = manipulate(spied, grasp, start(grasp))
    assert isinstance(steps, list)
    assert len(simulated) <= 10
    rolled = np.linalg.norm(
        on_links(context, steps[-1].q, steps[-1].held) - on_links(context, grasp.held.q, grasp.held), axis=1
    )
    assert rolled.max() > 1e-3
    assert_forces_close_from_above(steps)


def test_every_step_begins_to_press_where_the_one_before_ended_and_its_trend_goes_on() -> None:
    context, grasp = fingers_setting(), fingers_grasp()
    spied = asked(context, goal((0.0, 0.0, 0.005), by=Carrier.FINGERS))
    begun: list[np.ndarray] = []

    def hold(pose: Any, depths: np.ndarray, *others: Any, **options: Any) -> Held | Failure:
        begun.append(depths.copy())
        return context.presser.hold(pose, depths, *others, **options)

    spied.presser = cast(Any, SimpleNamespace(hold=hold, wanted=context.presser.wanted))
    steps = manipulate(spied, grasp, start(grasp))
    assert isinstance(steps, list)
    ended = np.array([np.full(3, grasp.held.depths.max()), *(step.held.depths for step in steps)])
    trend = np.clip(np.diff(ended, axis=0), -LARGEST_TREND, LARGEST_TREND)
    expected = ended[:-1] + np.vstack([np.zeros(3), trend[:-1]])
    np.testing.assert_allclose(np.array(begun) - HEADROOM, expected, rtol=1e-9)
    assert np.abs(np.diff(ended, axis=0)).max() > 1e-6  # they do differ


def test_fingers_that_cannot_do_the_move_are_told_with_what_is_missing_of_it() -> None:
    """The gripper cannot lift at all: of 3 steps of 1 mm those that stay behind by no more than the tolerance pass."""
    for tolerance, missing in ((0.5e-3, 1.0), (1.5e-3, 2.0 / 3.0), (2.5e-3, 1.0 / 3.0)):
        move = goal((0.0, 0.0, 0.003), by=Carrier.FINGERS)
        stage, failure = refused(gripper_setting(), gripper_grasp(), move, move_tolerance=tolerance)
        assert stage is Stage.REACH
        assert failure.reason == "fingers cannot carry out the move"
        assert failure.margin == pytest.approx(missing)
        assert failure.unit == "of the move"
        assert f"{1.0 - missing:.0%} of it" in failure.detail


def test_a_turn_that_fingers_cannot_follow_is_refused_by_the_angle_tolerance() -> None:
    move = goal(rotation=(0.0, 0.0, 0.3), by=Carrier.FINGERS, steps=4)
    for tolerance, missing in ((0.05, 1.0), (0.15, 3.0 / 4.0)):
        _, failure = refused(gripper_setting(), gripper_grasp(), move, turn_tolerance=tolerance)
        assert failure.reason == "fingers cannot carry out the move"
        assert failure.margin == pytest.approx(missing)


# -- reasons ---------------------------------------------------------------------------------------------------


def test_about_the_line_of_a_pinch_the_object_turns_only_with_the_links() -> None:
    """The contact points stay where they are in such a turn; pads that do not turn leave the object as it is."""
    line = np.diff([region.centre for region in gripper_grasp().held.state.regions], axis=0)[0]
    for degrees in (2.0, 20.0):
        turn = tuple(np.radians(degrees) * line / np.linalg.norm(line))
        stage, failure = refused(gripper_setting(), gripper_grasp(), goal(rotation=turn, by=Carrier.FINGERS, steps=4))
        assert (stage, failure.reason) == (Stage.REACH, Reason.FINGERS_FALL_SHORT)
        assert len(by_gripper(goal(rotation=turn, by=Carrier.BOTH, steps=4))) == 4, "the arm turns the pads along"


def test_the_arm_does_not_jump_between_two_steps() -> None:
    stage, failure = refused(gripper_setting(), gripper_grasp(), goal((0.6, 0.0, 0.0), steps=1))
    assert (stage, failure.reason, failure.margin) == (Stage.REACH, "arm cannot follow the move", 1.0)
    by_gripper(goal((0.6, 0.0, 0.0), steps=2))


def test_a_wall_in_the_way_of_the_hand_ends_the_move_at_the_step_that_hits_it() -> None:
    """Every step carries the hand 20 mm further; the wall stands 50 mm before it: the third of four steps hits."""
    context, grasp = gripper_setting(), gripper_grasp()
    ys = np.concatenate(
        [
            link.surface.surface.points @ T.rotation[1] + T.translation[1]
            for link, T in zip(context.hand.links, context.hand.poses(grasp.held.q, grasp.T_world_palm), strict=True)
        ]
    )
    wall = make_shape("box", size=(1.0, 0.02, 1.0), edge=1.0).moved((0.5, float(ys.max()) + 0.05 + 0.01, 0.3))
    walled = PlanningContext(replace(context.task, scene=(wall,)), context.prepared)
    stage, failure = refused(walled, grasp, goal((0.0, 0.08, 0.0), steps=4))
    assert (stage, failure.reason) == (Stage.MANIPULATION, "hits something")
    assert failure.margin == pytest.approx(0.5)
    assert "box" in failure.detail
    moved(walled, grasp, goal((0.0, 0.04, 0.0), steps=2))


def test_an_object_that_settles_beside_its_path_is_told() -> None:
    """Turned about the pinch it sags another way than the pads turn, by some hundredths of a millimetre."""
    stage, failure = refused(gripper_setting(), gripper_grasp(), goal(rotation=(0.5, 0.0, 0.0)), move_tolerance=2e-5)
    assert (stage, failure.reason, failure.margin) == (Stage.MANIPULATION, "object leaves its path", 1.0)


def test_a_force_limit_met_on_the_way_ends_the_move_there() -> None:
    """The lower pad of a tilted pinch needs n + W sin(a): a limit above the level pinch's force is met on the way."""
    context, grasp = gripper_setting(), gripper_grasp()
    level = grasp.held.largest_force
    needed = [(0.5 * WEIGHT * np.cos(a) + MARGIN) / FRICTION + WEIGHT * np.sin(a) for a in (0.2, 0.4, 0.6)]
    assert level < needed[0] < needed[1]
    body = replace(context.body, limits=replace(context.body.limits, force=1.1 * needed[0]))
    limited = PlanningContext(replace(context.task, body=body), context.prepared)
    stage, failure = refused(limited, grasp, goal(rotation=(0.0, 0.6, 0.0)))
    assert stage is Stage.MANIPULATION
    assert failure.margin == pytest.approx(2.0 / 3.0)
    # the limit is found too low or what it allows too little, whichever was simulated last
    assert failure.reason in ("force above the limit", "force too small")
    by_gripper(goal(rotation=(0.0, 0.6, 0.0)))


def test_torques_above_what_the_joints_bear_end_the_move(monkeypatch: pytest.MonkeyPatch) -> None:
    context = gripper_setting()
    closing = context.robot.joint_index("opening")
    limits = context.assembly.torque_limits.copy()
    limits[closing] = 0.5 * gripper_grasp().held.largest_force
    monkeypatch.setattr(type(context.assembly), "torque_limits", property(lambda assembly: limits))
    stage, failure = refused(context, gripper_grasp(), goal((0.02, 0.0, 0.0)))
    assert (stage, failure.reason) == (Stage.MANIPULATION, "joint torque above the limit")
    assert " at opening," in failure.detail
