"""The report: one file that needs no other, with the numbers of the plan."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser_eye import Eye
from PIL import Image

from made_plans import without_grasp
from pliant.cli import run_command as run
from pliant.control import RunPhase, RunRecorder
from pliant.files import save_plan, save_run
from pliant.planner import ContactTimeline, Plan
from pliant.viewer import RunMeasurements, grasp_figures, measured_run, report_html
from pliant.viewer.report.plan_text import duration_text, ranking_rows, summary, table


@pytest.mark.slow
def test_the_report_opens_from_disk_without_any_request(
    browser: Any, plan: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_plan(plan, tmp_path / "ring.plan")
    out = tmp_path / "deep" / "ring.html"
    assert run(["report", str(tmp_path / "ring.plan"), "--out", str(out), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["files"][0]["bytes"] == out.stat().st_size < 8e6
    eye = Eye.on(browser, 900, 700)
    eye.page.context.set_offline(True)
    eye.page.goto(out.as_uri())
    scene = eye.page.frame_locator("iframe").locator("canvas").first
    scene.wait_for()
    strangers = [url for url in eye.requests if not url.startswith((out.as_uri(), "data:", "blob:", "about:"))]
    assert strangers == []
    assert eye.complaints == []
    assert eye.page.locator("table").count() >= 5
    assert eye.page.locator("figure img").count() == 6  # stills, and pads at three moments
    assert eye.page.locator("svg.plot").count() == 4
    assert f"{plan.grasps[0].largest_force:.2f} N" in eye.page.locator("body").inner_text()
    # The film stops on a press of the space bar; then it can be looked at.
    eye.page.frames[1].evaluate("window.dispatchEvent(new KeyboardEvent('keydown', {code: 'Space'}))")
    picture = np.asarray(Image.open(io.BytesIO(eye.page.locator("iframe").screenshot(timeout=60_000))).convert("RGB"))
    assert len(np.unique(picture.reshape(-1, 3) // 16, axis=0)) > 40
    eye.page.close()


def test_a_search_without_result_is_reported_with_its_reasons(plan: Plan) -> None:
    nothing = without_grasp(plan)
    text = report_html(nothing)
    assert "No grasp was found" in text
    assert "no grasp holds: raise the force limit" in text
    assert "contact forces on the object" not in text and "pictures below" not in text  # there are none
    for reason, count in nothing.counts.items():
        assert f'{reason}</td><td class="n">{count}<' in text
    assert not re.search(r'(?:src|href)="https?:', text)


def test_what_comes_from_files_is_escaped(plan: Plan) -> None:
    assert "<script>" not in table([{"a": "<script>alert(1)</script>"}])
    from dataclasses import replace

    evil = replace(without_grasp(plan), advice="<img src=x onerror=alert(1)>")
    assert "<img src=x" not in report_html(evil)


def test_the_summary_has_the_numbers_of_the_plan(plan: Plan) -> None:
    text = " ".join(summary(plan))
    best = plan.grasps[0]
    assert f"{best.largest_force:.2f} N" in text
    assert f"{100 * best.largest_force / 15:.0f} % of the permitted 15 N" in text
    assert f"{len(plan.hypotheses)} hypotheses" in text


def test_the_durations_of_the_approach_are_shown_where_they_are_known(plan: Plan) -> None:
    from dataclasses import replace

    best = replace(plan.grasps[0], approach_s=2.25, sequential_s=3.456, approach_way="straight; no hand-arm approach")
    known = replace(plan, grasps=(best, *plan.grasps[1:]))
    text = " ".join(summary(known))
    assert "2.25 s of them to the first touch (straight; no hand-arm approach)" in text
    assert "the arm first and then the fingers would take 3.46 s" in text
    row = ranking_rows(known)[0]
    assert (row["approach [s]"], row["arm, then fingers [s]"]) == ("2.25", "3.46")
    unknown = replace(plan, grasps=(replace(best, approach_s=np.nan, sequential_s=np.nan), *plan.grasps[1:]))
    assert "first touch" not in " ".join(summary(unknown))
    assert ranking_rows(unknown)[0]["approach [s]"] == "–"
    assert "nan" not in duration_text(unknown.grasps[0])


def test_a_run_log_becomes_curves_on_the_plans_clock(plan: Plan, tmp_path: Path) -> None:
    joints = plan.task.assembly.robot.joint_names
    recorder = RunRecorder(joints, ("finger_1_distal", "thumb_distal", "thumb_distal:2"))
    for k in range(11):
        recorder.append(
            {
                "time": 10.0 + k,
                "plan_time": 0.5 * k,
                "phase": 0,
                "force_measured": [0.1 * k, 0.2 * k, 0.3 * k],
                "q_measured": np.full(len(joints), 0.01 * k),
            }
        )
    save_run(recorder.log(), tmp_path / "ring.run")
    measured = measured_run(tmp_path / "ring.run", plan)
    np.testing.assert_allclose(measured.times, 0.5 * np.arange(11))
    np.testing.assert_allclose(measured.forces["finger_1"], 0.1 * np.arange(11))
    np.testing.assert_allclose(measured.forces["thumb"], 0.5 * np.arange(11))  # both regions of the thumb
    np.testing.assert_allclose(measured.joints[joints[0]], 0.01 * np.arange(11))
    assert measured.torques == {}  # nothing was measured
    assert "(dotted: measured)" in grasp_figures(plan.task, plan.grasps[0], measured)["forces"]


def test_hands_that_report_no_torques_get_those_of_the_measured_forces(plan: Plan) -> None:
    """A run in which everything is as planned: the dashed torques are the plan's."""
    robot, grasp = plan.task.assembly.robot, plan.grasps[0]
    timeline = ContactTimeline(grasp, robot)
    recorder = RunRecorder(robot.joint_names, timeline.names)
    for state in grasp.states:
        moment = timeline.forces_at(state.time)
        values = {"q_planned": state.q, "q_measured": state.q, "force_measured": moment.forces[:, 2]}
        phase = list(RunPhase).index(RunPhase.HOLD)
        recorder.append(values | {"time": state.time, "plan_time": state.time, "phase": phase})
    measured = measured_run(recorder.log(), plan)
    assert measured.rank == 0 and measured.torques == {}
    for j in plan.task.assembly.hand_joints.tolist():
        planned = [state.torques[j] for state in grasp.states]
        np.testing.assert_allclose(measured.contact_torques[robot.joint_names[j]], planned, rtol=1e-6, atol=1e-9)
    alone, drawn = (grasp_figures(plan.task, grasp, known)["torques"] for known in (None, measured))
    assert "(dashed: from measured forces)" in drawn and "(dashed" not in alone
    assert drawn.count("<polyline") == 2 * alone.count("<polyline")


def test_measured_curves_are_drawn_beside_the_planned_ones(plan: Plan) -> None:
    times = np.linspace(0.0, 8.0, 50)
    joint = plan.task.assembly.robot.joint_names[-1]
    measured = RunMeasurements(times, {"thumb": np.full(50, 1.5)}, {joint: np.zeros(50)}, {joint: np.full(50, 0.02)})
    alone = grasp_figures(plan.task, plan.grasps[0])
    figures = grasp_figures(plan.task, plan.grasps[0], measured)
    for name, more in (("hand joints", 1), ("torques", 1), ("arm joints", 0)):
        assert figures[name].count("<polyline") == alone[name].count("<polyline") + more
    assert "(dotted: needed)" in alone["forces"] and "(dotted: measured)" in figures["forces"]
    assert figures["forces"].count("<polyline") == len(plan.grasps[0].hypothesis.fingers) + 1
    assert "(dotted" not in alone["torques"]
