"""Planning from the page with the real planner: a result, an error that is shown, Stop, and a server that lives on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser_eye import Eye

from pliant.files import load_plan, read_task
from pliant.planner import Stopped, verify_plan
from pliant.viewer import Viewer

BALL = """\
robot: {hand: parallel_gripper}
object:
  shape: {sphere: {radius: 0.03, edge: 0.008}}
  pose: {position: [0.0, 0.0, 0.2]}
  material: {young: 8.0e+5, poisson: 0.45, density: 1000, friction: 0.7}
  limits: {force: 20}
task: {lift: 0.02}
planner: {faces: 6, rolls: 1, hypotheses: 6, keep: 1}
"""
LONG_SEARCH = BALL.replace(
    "planner: {faces: 6, rolls: 1, hypotheses: 6, keep: 1}", "planner: {effort: thorough, keep: 40}"
)
"""With so many to keep everything is worth pressing: it ends when it is stopped."""


@pytest.mark.slow
def test_planning_from_the_page_with_the_real_planner(browser: Any, tmp_path: Path) -> None:
    """The friction typed into the page is that of the plan: its forces carry the weight and keep within the cones."""
    file = tmp_path / "ball.yaml"
    file.write_text(BALL)
    with Viewer(port=0, jobs=1) as viewer:
        viewer.open_task(read_task(file), folder=tmp_path)
        eye = Eye.on(browser, 700, 420)
        page = eye.page
        page.goto(viewer.address)
        page.get_by_role("tab", name="Task").click()
        friction = page.get_by_label("Friction", exact=True).first
        friction.fill("0.5")
        friction.press("Enter")
        page.wait_for_timeout(300)  # a field is reported up to 50 ms after it changed: nobody clicks that fast
        page.get_by_role("button", name="Plan", exact=True).click()
        eye.wait("message", "found: 1 kept")
        (tab,) = viewer.tabs
        assert tab.plan is not None
        assert tab.plan.task.body.material.friction == 0.5
        (grasp,) = tab.plan.grasps
        eye.wait("largest_force", f"{grasp.grasp.largest_force:.2f} N")
        state = grasp.grasp
        forces = [(state.T_world_object * c.T_object_contact).rotation @ c.force for c in state.contacts]
        weight = 9.80665 * tab.plan.task.body.mass
        np.testing.assert_allclose(np.sum(forces, axis=0), [0.0, 0.0, weight], atol=0.02 * weight)
        for contact in state.contacts:
            assert np.hypot(*contact.force[:2]) < 1.001 * 0.5 * contact.normal_force
        page.get_by_role("slider").first.wait_for()

        # A turn about no axis is no task; the page explains that and everything goes on.
        tab.panels.task._inputs["task", "move", "rotate", "axis"].value = (0.0, 0.0, 0.0)
        angle = page.get_by_label("Turn [deg]", exact=True).first
        angle.fill("5")
        angle.press("Enter")
        page.wait_for_timeout(300)
        page.get_by_role("button", name="Plan", exact=True).click()
        eye.wait("message", "axis")
        assert page.locator(".pliant-error").count() == 1
        assert tab.plan.grasps == (grasp,)
        page.get_by_role("button", name="end").click()
        eye.wait("time", f"{grasp.trajectory.duration:.2f} s")
        other = Eye.on(browser, 400, 300)  # a new tab opens with the newest result
        other.page.goto(viewer.address)
        other.wait("largest_force", f"{grasp.grasp.largest_force:.2f} N")
        assert eye.complaints == other.complaints == []
        other.page.close()
        page.close()


@pytest.mark.slow
def test_stop_ends_a_search_with_the_grasp_that_the_page_shows(browser: Any, tmp_path: Path) -> None:
    """The hand alone: the page shows the free joints that planning gives it. What was typed meanwhile stays."""
    file = tmp_path / "ball.yaml"
    file.write_text(LONG_SEARCH)
    with Viewer(port=0, jobs=1) as viewer:
        viewer.open_task(read_task(file), folder=tmp_path)
        eye = Eye.on(browser, 800, 500)
        page = eye.page
        page.goto(viewer.address)
        page.get_by_role("alert").get_by_role("button").first.click()  # the note that there is no graphics card
        page.get_by_role("tab", name="Task").click()
        before = eye.picture()
        page.get_by_role("button", name="Plan", exact=True).click()
        eye.wait("message", "forces so far")
        eye.wait("summary", "Best grasp so far")
        # the hand has come, with arrows and labels
        eye.picture_unlike(before, 1000, box=(0, 0, 390, 360), at_rest=False)
        lift = page.get_by_label("Lift [mm]", exact=True).first
        lift.fill("33")
        lift.press("Enter")
        page.wait_for_timeout(300)  # a field is reported up to 50 ms after it changed: nobody clicks that fast
        page.get_by_role("button", name="Stop", exact=True).click()
        eye.wait("message", "The search was interrupted")
        eye.wait("message", "kept")
        (tab,) = viewer.tabs
        assert tab.plan is not None and tab.plan.stopped is Stopped.INTERRUPTED
        eye.wait("largest_force", f"{tab.plan.grasps[0].grasp.largest_force:.2f} N")
        assert tab.plan.task.goal.lift == 0.02
        assert lift.input_value() == "33"
        with page.expect_download() as download:
            page.get_by_role("button", name="Save plan").click()
        saved = tmp_path / "ball.plan"
        download.value.save_as(saved)
        plan = load_plan(saved)
        assert plan.stopped is Stopped.INTERRUPTED
        assert verify_plan(plan).problems == ()
        assert eye.complaints == []
        page.close()
