"""What tactile arrays measured in a run, on the plan's clock, beside what is planned."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from pliant.cli import run_command
from pliant.control import RunRecorder
from pliant.errors import DocumentError, InputError
from pliant.files import save_plan, save_run
from pliant.planner import Plan, Timeline
from pliant.robot import cell_layout
from pliant.tactile import PadResponse, PadSensor, TactileFrame
from pliant.viewer import RunMeasurements, Tab, Viewer, measured_run
from pliant.viewer.report.pad_pressures import pad_image, planned_pressures
from pliant.viewer.report.plan_report import _made, _pads
from pliant.viewer.scene.viewed_task import ViewedTask

ARRAY = "thumb_distal"
START = 10.0
"""The run's clock when the plan's is at zero [s]."""


@pytest.fixture(scope="module")
def measured(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> RunMeasurements:
    """A run whose thumb measures k tenths of a newton on cell (3, 2) in frame k; it waits for a second at 6 s."""
    assert plan.task.assembly.hand is not None
    area = cell_layout(next(a for a in plan.task.assembly.hand.tactile if a.name == ARRAY)).area
    joints = plan.task.assembly.robot.joint_names
    recorder = RunRecorder(joints, (ARRAY,))
    for k in range(9):
        recorder.append({"time": START + 3.0 + k, "plan_time": min(3.0 + k, 6.0) if k < 5 else 2.0 + k, "phase": 0})
        recorder.frame(TactileFrame(ARRAY, START + 3.0 + k, counts(0.1 * k, area)))
    path = tmp_path_factory.mktemp("run") / "ring.run"
    save_run(recorder.log(), path)
    return measured_run(path, plan)


def counts(newtons: float, area: float) -> np.ndarray:
    """A frame with one loaded cell, as the pad's electronics send it."""
    forces = np.zeros((13, 6))
    forces[3, 2] = newtons
    return PadSensor().counts(forces, cell_area=area)


def test_frames_come_back_as_pressures_at_the_times_of_the_plan(plan: Plan, measured: RunMeasurements) -> None:
    """Counts have 12 bits, so a force comes back to within half a count's worth, here below 2 %."""
    pad = measured.pads[ARRAY]
    assert pad.pressures(2.9) is None
    assert measured.pressures(2.9) == {}
    for time, frame in ((3.0, 0), (4.5, 1), (5.0, 2), (6.0, 4), (6.9, 4), (7.0, 5), (99.0, 8)):
        pressures = measured.pressures(time)[ARRAY]
        assert pressures[3, 2] * pad.cell_area == pytest.approx(0.1 * frame, rel=0.02)
        assert np.count_nonzero(pressures) == (1 if frame else 0)


def test_counts_mean_what_the_sensor_of_the_run_says_also_from_a_file(plan: Plan, tmp_path: Path) -> None:
    """A pad of one straight line, 100 Pa per count: neither the SDH2's curve nor its temperature."""
    straight = PadSensor(PadResponse((1e5,), ((1000.0,),), (0.5,), full_scale=2000), warmth=0.5)
    joints = plan.task.assembly.robot.joint_names
    recorder = RunRecorder(joints, (ARRAY,))
    recorder.append({"time": 0.0, "plan_time": 0.0, "phase": 0})
    frame = np.zeros((13, 6), dtype=np.int64)
    frame[3, 2] = 250
    recorder.frame(TactileFrame(ARRAY, 0.0, frame))
    with_sensor = save_run(recorder.log({"pad_sensor": asdict(straight)}), tmp_path / "with_sensor.run")
    assert measured_run(with_sensor, plan).pressures(0.0)[ARRAY][3, 2] == pytest.approx(250 * 100.0, rel=1e-12)
    without_sensor = save_run(recorder.log(), tmp_path / "without_sensor.run")
    standard = float(PadSensor().response.pressures_of(250))
    assert measured_run(without_sensor, plan).pressures(0.0)[ARRAY][3, 2] == pytest.approx(standard, rel=1e-12)
    for broken in ({"response": 3}, {**asdict(straight), "warmth": 2.0}, "cold", {**asdict(straight), "noise": None}):
        path = save_run(recorder.log({"pad_sensor": broken}), tmp_path / "broken.run")
        with pytest.raises(InputError):
            measured_run(path, plan)


def test_measured_pads_lie_below_the_planned_ones_in_the_same_colours(plan: Plan, measured: RunMeasurements) -> None:
    timeline = Timeline(plan.grasps[0])
    moment = timeline.at(float(timeline.times[0]))
    alone = np.asarray(pad_image(plan.task, moment, largest=1e5))
    both = np.asarray(pad_image(plan.task, moment, measured, largest=1e5))
    assert ARRAY in planned_pressures(plan.task, moment)
    assert both.shape == (2 * alone.shape[0], *alone.shape[1:])
    np.testing.assert_array_equal(both[: len(alone)], alone)
    assert not np.array_equal(both[len(alone) :], alone)
    # A run that measured exactly what was planned gives the same blocks twice; only the title differs.
    planned = planned_pressures(plan.task, moment)

    class Perfect(RunMeasurements):
        def pressures(self, time: float) -> dict[str, np.ndarray]:
            return planned

    same = np.asarray(pad_image(plan.task, moment, Perfect(measured.times, pads=measured.pads), largest=1e5))
    np.testing.assert_array_equal(same[26 : len(alone)], same[len(alone) + 26 :])


def test_page_and_report_show_measured_pads_along_the_timeline(plan: Plan, measured: RunMeasurements) -> None:
    with Viewer(port=0) as viewer:
        tab = Tab(viewer, viewer.server)
        tab.open(ViewedTask(plan.task, plan))
        planned = tab.panels.pads.content
        tab.open(ViewedTask(plan.task, plan, measured))
        first = tab.panels.pads.content
        tab.show_time(7.0)
        later = tab.panels.pads.content
    assert all("data:image/png;base64," in content for content in (planned, first, later))
    assert len({planned, first, later}) == 3
    text = _pads(plan.task, Timeline(plan.grasps[0]), measured)
    assert "Planned and measured pressures" in text
    assert text.count("<img") == 3
    assert "measured pressures" not in _pads(plan.task, Timeline(plan.grasps[0]), None)


def test_a_run_is_shown_with_the_grasp_that_was_run_and_with_no_other(plan: Plan, tmp_path: Path) -> None:
    joints = plan.task.assembly.robot.joint_names
    found = {}
    for rank, grasp in enumerate(plan.grasps):
        recorder = RunRecorder(joints[::-1], (ARRAY,))  # in whatever order
        for time in np.linspace(0.0, grasp.trajectory.duration, 20):
            q = grasp.trajectory.at(time - 0.01)[::-1]  # in logs of earlier versions times were a cycle ahead
            recorder.append({"time": time, "plan_time": time, "phase": 0, "q_planned": q, "q_measured": q})
        found[rank] = measured_run(save_run(recorder.log(), tmp_path / f"{rank}.run"), plan)
        assert found[rank].rank == rank
    recorder = RunRecorder(joints, (ARRAY,))
    recorder.append({"time": 0.0, "plan_time": 0.0, "phase": 0, "q_planned": plan.grasps[0].trajectory.at(0.0)})
    assert measured_run(save_run(recorder.log(), tmp_path / "short.run"), plan).rank is None  # it may be of any
    with Viewer(port=0) as viewer:
        tab = Tab(viewer, viewer.server)
        tab.open(ViewedTask(plan.task, plan, found[1]))
        assert tab.rank == 1
        assert "Hand joints (dotted: measured)" in tab.panels.plots.content
        tab.show_rank(0)
        assert "Hand joints (dotted: measured)" not in tab.panels.plots.content
    assert "rank 2 was run" in _made(plan, found[1])
    assert "was run" not in _made(plan, found[0])


def test_a_run_of_another_robot_is_refused(plan: Plan, tmp_path: Path) -> None:
    recorder = RunRecorder(("opening",), ())
    recorder.append({"time": 0.0, "plan_time": 0.0, "phase": 0})
    path = save_run(recorder.log(), tmp_path / "gripper.run")
    with pytest.raises(DocumentError, match="of another robot than the plan: it moves 'opening'"):
        measured_run(path, plan)


def test_a_run_of_another_plan_of_the_same_robot_is_refused_in_words(plan: Plan, tmp_path: Path) -> None:
    robot, path = plan.task.assembly.robot, plan.grasps[0].trajectory
    recorder = RunRecorder(robot.joint_names, ())
    for time in np.linspace(0.0, path.duration, 20):
        q = path.at(time) + np.where(np.arange(robot.dof) == 0, 0.5, 0.0)  # the arm stands elsewhere
        recorder.append({"time": time, "plan_time": time, "phase": 0, "q_planned": q, "q_measured": q})
    run_file = save_run(recorder.log(), tmp_path / "other.run")
    with pytest.raises(DocumentError, match=r"other\.run: is of another plan: its planned joints are 0\.5 rad"):
        measured_run(run_file, plan)
    plan_file = save_plan(plan, tmp_path / "ring.plan")
    for command in (["view", "--run", str(run_file), "--no-browser"], ["report", "--run", str(run_file), "--out", "x"]):
        assert run_command([command[0], str(plan_file), *command[1:]]) == 2
