"""Torques of the hand's joints from measured contact forces."""

from __future__ import annotations

import numpy as np
import pytest

from made_plans import ring_plan
from pliant.control import RunLog, RunPhase, RunRecorder, finger_torques
from pliant.planner import ContactTimeline, Plan, PlannedGrasp

PHASES = tuple(RunPhase)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return ring_plan()


def as_planned(plan: Plan, grasp: PlannedGrasp, factor: float = 1.0) -> tuple[RunLog, ContactTimeline]:
    """A run whose pads measure the planned forces (the first contact's times ``factor``) at the held states."""
    robot = plan.task.assembly.robot
    timeline = ContactTimeline(grasp, robot)
    recorder = RunRecorder(robot.joint_names, timeline.names)
    recorder.append({"time": 0.0, "plan_time": 0.0, "phase": 0, "q_measured": timeline.joints(0.0)})
    for state in grasp.states:
        moment = timeline.forces_at(state.time)
        recorder.append(
            {
                "time": 1.0 + state.time,
                "plan_time": state.time,
                "phase": PHASES.index(RunPhase.HOLD),
                "q_measured": state.q,
                "force_measured": moment.forces[:, 2] * np.where(np.arange(len(moment.forces)) == 0, factor, 1.0),
                "point_measured": moment.points,
            }
        )
    return recorder.log(), timeline


def test_forces_as_planned_give_the_torques_of_the_plan(plan: Plan) -> None:
    assembly, grasp = plan.task.assembly, plan.grasps[0]
    found = finger_torques(as_planned(plan, grasp)[0], grasp, assembly)
    names = [assembly.robot.joint_names[j] for j in found.joints]
    assert names == [assembly.robot.joint_names[j] for j in assembly.hand_joints]
    assert np.isnan(found.from_forces[0]).all(), "nothing is gripped yet"
    planned = np.array([state.torques[assembly.hand_joints] for state in grasp.states])
    assert np.abs(planned).max() > 0.01
    np.testing.assert_allclose(found.from_forces[1:], planned, rtol=1e-6, atol=1e-9)


def test_more_force_adds_the_work_of_its_normal_and_no_friction(plan: Plan) -> None:
    """Virtual work: d tau = d f * (normal displacement of the link's point per joint), by central differences."""
    assembly, grasp = plan.task.assembly, plan.grasps[0]
    log, timeline = as_planned(plan, grasp)
    more = finger_torques(as_planned(plan, grasp, factor=2.0)[0], grasp, assembly).from_forces[1]
    added = more - finger_torques(log, grasp, assembly).from_forces[1]
    state, moment, robot, step = grasp.grasp, timeline.forces_at(grasp.grasp.time), assembly.robot, 1e-5
    normal = robot.poses([timeline.links[0]], state.q)[0].rotation @ moment.axes[0, :, 2]
    for k, j in enumerate(assembly.hand_joints.tolist()):
        sides = []
        for sign in (1.0, -1.0):
            q = state.q.copy()
            q[j] += sign * step
            sides.append(robot.poses([timeline.links[0]], q)[0].act(moment.points[0]))
        work = moment.forces[0, 2] * normal @ (sides[0] - sides[1]) / (2.0 * step)
        assert added[k] == pytest.approx(work, abs=1e-6)
    assert np.abs(added).max() > 0.005


def test_a_contact_that_presses_half_has_half_the_friction(plan: Plan) -> None:
    """Half the force in the same direction: the contact's own part of the torque is halved."""
    assembly, grasp = plan.task.assembly, plan.grasps[0]
    whole, half, none = (
        finger_torques(as_planned(plan, grasp, factor=factor)[0], grasp, assembly).from_forces[1]
        for factor in (1.0, 0.5, 0.0)
    )
    np.testing.assert_allclose(half - none, 0.5 * (whole - none), atol=1e-12)
    assert np.abs(whole - none).max() > 0.005
