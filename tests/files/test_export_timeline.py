"""The instants that exporters go through: their times, joints with followers, speeds and link transforms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from pliant.files.export.timeline import instants, to_ns

from made_plans import ball_plan
from pliant.planner import Plan


@pytest.fixture(scope="module")
def plan() -> Plan:
    return ball_plan(move=True)


def test_instants_are_the_grid_the_points_and_the_held_states_in_order(plan: Plan) -> None:
    grasp = plan.grasps[0]
    first, second, *others = grasp.states
    # one of them between the points and beside the grid
    grasp = replace(grasp, states=(first, replace(second, time=second.time - 0.0123), *others))
    times = [instant.time for instant in instants(plan, grasp, 20.0)]
    grid = np.arange(0.0, grasp.trajectory.duration, 0.05)
    wanted = {to_ns(t) for t in (*grid, *grasp.trajectory.times, *(state.time for state in grasp.states))}
    assert [to_ns(t) for t in times] == sorted(wanted)
    assert times[0] == 0.0 and times[-1] == grasp.trajectory.duration


def test_times_closer_than_a_nanosecond_are_one_instant(plan: Plan) -> None:
    grasp = plan.grasps[0]
    late = grasp.states[-1]
    close = replace(late, time=float(np.nextafter(late.time, 0.0)))
    twice = replace(grasp, states=(*grasp.states[:-1], close))
    assert len(list(instants(plan, twice, 20.0))) == len(list(instants(plan, grasp, 20.0)))


def test_joints_and_object_are_the_trajectorys_and_followers_move_along(plan: Plan) -> None:
    grasp, robot = plan.grasps[0], plan.task.assembly.robot
    path = grasp.trajectory
    for instant in instants(plan, grasp, 5.0):
        np.testing.assert_array_equal(instant.q, path.at(instant.time))
        np.testing.assert_array_equal(instant.positions, robot.full(instant.q))
        assert len(instant.positions) == len(instant.velocities) == robot.model.nv > robot.dof
        expected = path.object_at(instant.time)
        np.testing.assert_array_equal(instant.T_world_object.homogeneous, expected.homogeneous)


def test_velocities_are_the_slopes_of_the_path_that_follows_and_zero_at_its_end(plan: Plan) -> None:
    """Forward differences within a straight piece: rounding only."""
    grasp, robot = plan.grasps[0], plan.task.assembly.robot
    path, e = grasp.trajectory, 1e-6
    for instant in instants(plan, grasp, 20.0):
        if instant.time == path.duration:
            assert not instant.velocities.any()
        elif path.times[np.searchsorted(path.times, instant.time, side="right")] - instant.time > e:
            slope = (robot.full(path.at(instant.time + e)) - robot.full(path.at(instant.time))) / e
            np.testing.assert_allclose(instant.velocities, slope, atol=1e-8)


def test_a_point_belongs_to_the_phase_that_it_closes(plan: Plan) -> None:
    grasp = plan.grasps[0]
    path = grasp.trajectory
    for instant in instants(plan, grasp, 20.0):
        at = np.flatnonzero(path.times >= instant.time)[0]
        assert instant.phase is path.phases[at]


def test_link_transforms_chained_from_the_root_give_the_poses_of_the_links(plan: Plan) -> None:
    grasp, robot = plan.grasps[0], plan.task.assembly.robot
    for instant in list(instants(plan, grasp, 2.0))[::3]:
        poses = {robot.urdf.root: robot.T_world_base}
        waiting = list(robot.urdf.joints)
        while waiting:
            joint = next(j for j in waiting if j.parent in poses)
            poses[joint.child] = poses[joint.parent] * instant.links[joint.name]
            waiting.remove(joint)
        for link in robot.link_names:
            expected: pin.SE3 = robot.pose(link, instant.q)
            np.testing.assert_allclose(poses[link].homogeneous, expected.homogeneous, atol=1e-12)


def test_seconds_become_whole_nanoseconds() -> None:
    assert to_ns(1.5) == 1_500_000_000
    assert (to_ns(0.4e-9), to_ns(0.6e-9)) == (0, 1)
    assert to_ns(0.1 + 0.2) == to_ns(0.3)
