"""Joint states and transforms of an exported plan: their times, followers, speeds and link poses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from rosbags.typesys import Stores, get_typestore

from made_plans import ball_plan
from pliant.files.export.plan_messages import plan_messages
from pliant.files.export.ros_builder import Stamped, to_ns
from pliant.planner import Plan, PlannedGrasp

STORE = get_typestore(Stores.ROS2_HUMBLE)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return ball_plan(move=True)


def sent(plan: Plan, grasp: PlannedGrasp, rate: float, topic: str) -> list[Stamped]:
    messages = plan_messages(plan, grasp, STORE, rate=rate, start=0.0)
    return [message for message in messages if message.topic == topic]


def pose(transform: object) -> pin.SE3:
    q, p = transform.rotation, transform.translation  # type: ignore[attr-defined]
    return pin.SE3(pin.Quaternion(q.w, q.x, q.y, q.z).matrix(), np.array([p.x, p.y, p.z]))


def test_joint_states_come_on_the_grid_at_the_points_and_at_the_held_states_in_order(plan: Plan) -> None:
    grasp = plan.grasps[0]
    first, second, *others = grasp.states
    # one of them between the points and beside the grid
    grasp = replace(grasp, states=(first, replace(second, time=second.time - 0.0123), *others))
    stamps = [message.stamp for message in sent(plan, grasp, 20.0, "/joint_states")]
    grid = np.arange(0.0, grasp.trajectory.duration, 0.05)
    wanted = {to_ns(t) for t in (*grid, *grasp.trajectory.times, *(state.time for state in grasp.states))}
    assert stamps == sorted(wanted)


def test_times_closer_than_a_nanosecond_are_one_instant(plan: Plan) -> None:
    grasp = plan.grasps[0]
    late = grasp.states[-1]
    close = replace(late, time=float(np.nextafter(late.time, 0.0)))
    twice = replace(grasp, states=(*grasp.states[:-1], close))
    assert len(sent(plan, twice, 20.0, "/joint_states")) == len(sent(plan, grasp, 20.0, "/joint_states"))


def test_positions_are_the_trajectorys_with_followers_and_speeds_the_slope_of_the_path_that_follows(plan: Plan) -> None:
    """Forward differences within a straight piece; stamps are rounded to a nanosecond, at speeds below 10 rad/s."""
    grasp, robot = plan.grasps[0], plan.task.assembly.robot
    path, e = grasp.trajectory, 1e-6
    for message in sent(plan, grasp, 20.0, "/joint_states"):
        time, state = 1e-9 * message.stamp, message.message
        assert len(state.position) == len(state.velocity) == robot.model.nv > robot.dof
        np.testing.assert_allclose(state.position, robot.full(path.at(time)), atol=1e-8)
        if message.stamp == to_ns(path.duration):
            assert not state.velocity.any()
        elif np.abs(path.times - time).min() > 2 * e:
            slope = (robot.full(path.at(time + e)) - robot.full(path.at(time))) / e
            np.testing.assert_allclose(state.velocity, slope, atol=1e-8)


def test_transforms_chained_from_the_root_give_the_poses_of_links_and_object(plan: Plan) -> None:
    """Quaternions are exact to rounding; stamps to a nanosecond."""
    grasp, robot = plan.grasps[0], plan.task.assembly.robot
    (fixed,) = sent(plan, grasp, 2.0, "/tf_static")
    still = {t.child_frame_id: (t.header.frame_id, pose(t.transform)) for t in fixed.message.transforms}
    for message in [m for m in sent(plan, grasp, 2.0, "/tf") if len(m.message.transforms) > 5][::3]:
        tree = still | {t.child_frame_id: (t.header.frame_id, pose(t.transform)) for t in message.message.transforms}

        def in_world(frame: str, tree: dict[str, tuple[str, pin.SE3]] = tree) -> pin.SE3:
            T = pin.SE3.Identity()
            while frame in tree:
                frame, T_parent_frame = tree[frame]
                T = T_parent_frame * T
            return T

        time = 1e-9 * message.stamp
        for link in robot.link_names:
            expected: pin.SE3 = robot.pose(link, grasp.trajectory.at(time))
            np.testing.assert_allclose(in_world(link).homogeneous, expected.homogeneous, atol=1e-8)
        expected = grasp.trajectory.object_at(time)
        np.testing.assert_allclose(in_world("object").homogeneous, expected.homogeneous, atol=1e-8)


def test_seconds_become_whole_nanoseconds() -> None:
    assert to_ns(1.5) == 1_500_000_000
    assert (to_ns(0.4e-9), to_ns(0.6e-9)) == (0, 1)
    assert to_ns(0.1 + 0.2) == to_ns(0.3)
