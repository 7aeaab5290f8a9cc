"""The page in a real browser: what is seen, what answers to the hand, and that the server lives on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from browser_eye import Eye, differing

from pliant.errors import InputError
from pliant.files import shipped_task
from pliant.planner import Plan, Task
from pliant.viewer import Tab, Viewer
from pliant.viewer.scene.view_options import default_viewpoint
from pliant.viewer.scene.viewed_task import ViewedTask

pytestmark = pytest.mark.slow
WIDTH, HEIGHT = 1060, 560


class QuickPlanning:
    """Answers at once with the made plan's grasps in reverse order; fails when the object has no friction."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.tasks: list[Task] = []

    def __call__(self, task: Task, *, jobs: int | None, seed: int, progress: Any, improved: Any, stop: Any) -> Plan:
        for done in range(3):
            progress("closing", done, 3, {"closing: never touched": done})
        self.tasks.append(task)
        if task.body.material.friction < 0.1:
            raise RuntimeError("no friction, no grasp")
        return replace(self.plan, task=task, grasps=self.plan.grasps[::-1], seed=seed, wall_s=1.0)


@pytest.fixture(scope="module")
def viewer(plan: Plan) -> Iterator[Viewer]:
    with Viewer(port=0, planning=QuickPlanning(plan)) as viewer:
        viewer.open_plan(plan)
        yield viewer


@pytest.fixture(scope="module")
def eye(browser: Any, viewer: Viewer) -> Iterator[Eye]:
    eye = Eye.on(browser, WIDTH, HEIGHT)
    eye.page.goto(viewer.address)
    eye.page.locator("canvas").first.wait_for()
    eye.wait("largest_force", "N")
    close = eye.page.get_by_role("alert").get_by_role("button")
    close.first.click()  # the browser's note that there is no graphics card
    yield eye
    eye.page.close()


@pytest.fixture
def tab(viewer: Viewer, eye: Eye) -> Tab:
    """The server's side of the page."""
    (tab,) = viewer.tabs
    return tab


@pytest.fixture
def fresh(viewer: Viewer, tab: Tab, eye: Eye, plan: Plan) -> Eye:
    """The page as it opens, whatever the test before did."""
    viewer.open_plan(plan)
    eye.wait("largest_force", f"{plan.grasps[0].grasp.largest_force:.2f}")
    return eye


def canvas(eye: Eye) -> tuple[int, int, int, int]:
    """The part of the window that shows only the scene: above the colour bar, left of the docked panel."""
    return 0, 0, WIDTH - 410, HEIGHT - 140


def test_the_object_is_drawn_where_it_is_and_nothing_is_asked_of_other_machines(
    fresh: Eye, viewer: Viewer, tab: Tab, plan: Plan
) -> None:
    eye = fresh
    shown = eye.picture()
    with tab.changing() as plan_scene:
        plan_scene.object.visible = False
    hidden = eye.picture_unlike(shown, 60, box=canvas(eye))
    with tab.changing() as plan_scene:
        plan_scene.object.visible = True
    again = eye.picture_unlike(hidden, 60, box=canvas(eye))
    # A point of the ring that faces the camera, on the ring's outer equator.
    camera = default_viewpoint(plan.task)
    T = plan.grasps[0].grasp.T_world_object
    towards = camera.eye - T.translation
    towards[2] = 0.0
    u, v = eye.place(camera, T.translation + 0.048 * towards / np.linalg.norm(towards))
    assert differing(again, hidden, box=(u - 5, v - 5, u + 6, v + 6)) > 60
    # Elsewhere nothing changes but the fineness of lines: where drawing is slow, viser lowers the resolution at times.
    assert differing(again, hidden, box=(0, 0, 200, 40)) < 40
    ours = (viewer.address, "blob:", "data:")
    assert [url for url in eye.requests if not url.startswith(ours)] == []
    assert eye.complaints == []
    # The still that the document begins with was asked for, and has gone with the scene's first picture.
    assert f"{viewer.address}/pliant-still.png" in eye.requests
    assert eye.page.locator("#pliant-still").count() == 0


def test_scrubbing_changes_the_picture_and_the_numbers(fresh: Eye, plan: Plan) -> None:
    eye = fresh
    before, force = eye.picture(), eye.value("largest_force")
    thumb = eye.page.get_by_role("slider").first
    thumb.focus()
    thumb.press("Home")
    eye.wait("time", "0.00 s")
    eye.wait("largest_force", "0.00 N")
    eye.wait("phase", "approach")
    assert force != "0.00 N"
    eye.picture_unlike(before, 2000, box=canvas(eye))
    thumb.press("End")
    eye.wait("time", f"{plan.grasps[0].trajectory.duration:.2f} s")
    assert float(eye.value("height").split()[0]) > 450.0  # lifted by 50 mm from 415


def test_playing_goes_on_by_itself_and_pausing_stops_it(fresh: Eye, tab: Tab) -> None:
    eye = fresh
    start = tab.player.time
    eye.page.get_by_role("button", name="play").click()
    eye.page.wait_for_function(
        "start => parseFloat(document.querySelector('[data-pliant=time]').innerText) > start + 0.3", arg=start
    )
    eye.page.get_by_role("button", name="pause").click()
    for _ in range(100):  # the click takes time to arrive, more where the machine is busy
        if not tab.player.playing:
            break
        eye.page.wait_for_timeout(100)
    assert not tab.player.playing


def test_clicking_a_hypothesis_changes_the_hand(fresh: Eye, tab: Tab, plan: Plan) -> None:
    eye = fresh
    eye.page.get_by_role("tab", name="Hypotheses").click()
    before = eye.picture()
    eye.page.get_by_role("button", name="2: ").click()
    eye.wait("largest_force", f"{plan.grasps[1].grasp.largest_force:.2f}")
    after = eye.picture_unlike(before, 500, box=canvas(eye))
    assert tab.rank == 1
    eye.page.get_by_role("button", name="kept").click()
    eye.picture_unlike(after, 300, box=canvas(eye))


def test_rejected_hypotheses_are_listed_by_stage_with_their_reasons(fresh: Eye, plan: Plan) -> None:
    eye = fresh
    eye.page.get_by_role("tab", name="Hypotheses").click()
    page = eye.page
    page.get_by_label("Stage").first.click()
    page.get_by_role("option", name="stability").click()
    expected = [r for r in plan.rejections if r.stage.value == "stability"]
    page.get_by_text(f"{len(expected)} rejected").wait_for()
    assert page.locator("td", has_text="never touched").count() == 0
    assert page.locator("td", has_text="slips").count() == sum(r.reason == "slips" for r in expected)


def test_colouring_by_pressure_shows_the_patch_at_the_contact(fresh: Eye, tab: Tab, plan: Plan) -> None:
    eye = fresh
    eye.page.get_by_role("tab", name="View").click()
    eye.page.get_by_label("Colour by").first.click()
    eye.page.get_by_role("option", name="pressure").click()
    eye.page.get_by_text("contact pressure [kPa]").wait_for()
    before = eye.picture()
    tab.restyle(forces=False, cones=False, centres=False)
    with tab.changing() as plan_scene:
        for handle in (*plan_scene._hand, *plan_scene._arm):
            handle.visible = False
    picture = eye.picture_unlike(before, 2000, box=canvas(eye))
    with tab.changing() as plan_scene:
        for handle in (*plan_scene._hand, *plan_scene._arm):
            handle.visible = True
    tab.restyle(forces=True, cones=True, centres=True)
    camera = default_viewpoint(plan.task)
    state = plan.grasps[0].grasp
    facing = [
        T
        for T in (state.T_world_object * c.T_object_contact for c in state.contacts)
        if T.rotation[:, 2] @ (camera.eye - T.translation) < -0.2 * np.linalg.norm(camera.eye - T.translation)
    ]
    assert facing
    for T in facing:
        u, v = eye.place(camera, T.translation)
        patch = picture[v - 1 : v + 2, u - 1 : u + 2].reshape(-1, 3).mean(axis=0)
        assert patch[1] > 120, patch  # green to yellow: high on the scale
        # Along the ring, 20 mm from the patch: no pressure, dark blue.
        a, b = eye.place(camera, T.act(np.array([0.0, 0.020, 0.004])))
        c, d = eye.place(camera, T.act(np.array([0.020, 0.0, 0.004])))
        away = min(picture[b, a, 1], picture[d, c, 1])
        assert away < 80


def test_planning_from_the_page_ends_in_a_new_result_and_a_failure_is_shown(
    fresh: Eye, viewer: Viewer, plan: Plan
) -> None:
    eye, page = fresh, fresh.page
    page.get_by_role("tab", name="Task").click()
    friction = page.get_by_label("Friction", exact=True).first
    friction.fill("0.05")
    friction.press("Enter")
    page.wait_for_timeout(300)  # a field is reported up to 50 ms after it changed: nobody clicks that fast
    page.get_by_role("button", name="Plan", exact=True).click()
    eye.wait("message", "planning failed: RuntimeError: no friction, no grasp")
    friction.fill("0.6")
    friction.press("Enter")
    page.wait_for_timeout(300)
    page.get_by_role("button", name="Plan", exact=True).click()
    eye.wait("message", "found: 2 kept")
    planning = viewer.planning
    assert isinstance(planning, QuickPlanning)
    assert planning.tasks[-1].body.material.friction == 0.6
    assert planning.tasks[-1].body.material.young == plan.task.body.material.young
    eye.wait("largest_force", f"{plan.grasps[1].grasp.largest_force:.2f}")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save task").click()
    text = download.value.path().read_text()
    assert "friction: 0.6" in text
    with page.expect_download() as download:
        page.get_by_role("button", name="Save plan").click()
    assert download.value.path().read_bytes()[:2] == b"PK"


def test_a_task_without_a_plan_opens_and_shows_its_values(plan: Plan) -> None:
    """Without a browser: a vessel with liquid, no timeline, and the page's fields have the file's values."""
    task = shipped_task("bottle")
    with Viewer(port=0) as viewer:
        tab = Tab(viewer, viewer.server)
        tab.open(ViewedTask(task))
        panel = tab.panels.task
        assert not tab.panels.slider.visible
        again = panel.read()
        assert again.body.material == task.body.material
        assert again.body.limits == task.body.limits
        assert again.goal == task.goal
        assert again.options == replace(task.options, effort="normal")
        assert again.body.mass == pytest.approx(task.body.mass)
        for other in ("cup", "sponge_gripper"):  # what a file leaves out is its default, not the last task's value
            task = shipped_task(other)
            tab.open(ViewedTask(task))
            again = panel.read()
            assert (again.body.material, again.body.limits, again.goal, again.options) == (
                task.body.material,
                task.body.limits,
                task.goal,
                replace(task.options, effort="normal"),
            )
            assert again.assembly.name == task.assembly.name
        tab.open(ViewedTask(plan.task, plan))
        assert tab.panels.slider.visible


def test_a_broken_task_is_explained(plan: Plan) -> None:
    """Without a browser: the panel's task is checked like any task file."""
    with Viewer(port=0) as viewer:
        tab = Tab(viewer, viewer.server)
        tab.open(ViewedTask(plan.task, plan))
        tab.panels.task._inputs["object", "material", "poisson"].value = 0.7
        with pytest.raises(InputError, match="poisson"):
            tab.panels.task.read()
