"""Planning from the page with the real planner: a new result, an error that is shown, and a server that lives on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser_eye import Eye

from pliant.files import read_task
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
