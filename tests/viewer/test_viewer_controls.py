"""The page's controls without a browser: what they do when hands are quick, plans change, or nothing is open."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from viser import GuiEvent

from made_plans import ball_plan, without_grasp
from pliant.files import shipped_task
from pliant.planner import Plan, Timeline
from pliant.viewer import ColourBy, Tab, Viewer
from pliant.viewer.report.plan_text import length_text, moment_rows
from pliant.viewer.scene.view_options import floor_height
from pliant.viewer.scene.viewed_task import ViewedTask


@pytest.fixture
def tab() -> Iterator[Tab]:
    """A tab without a browser, with nothing open."""
    with Viewer(port=0) as viewer:
        yield Tab(viewer, viewer.server)


def by_hand(handle: Any, value: Any) -> None:
    """As viser does when the page reports a change: first the value, then whoever listens."""
    handle._impl.value = value
    for listener in handle._impl.update_cb:
        listener(GuiEvent(client=None, client_id=0, target=handle))


def drag_on_while_drawing(
    monkeypatch: pytest.MonkeyPatch, plan_scene: Any, method: str, slider: Any, to: float
) -> list[Any]:
    """While the method draws for the first time, the page's next message comes in; what the method was asked for."""
    draw, asked = getattr(plan_scene, method), []

    def slow(what: Any) -> None:
        asked.append(what)
        if len(asked) == 1:
            slider._impl.value = to
        draw(what)

    monkeypatch.setattr(plan_scene, method, slow)
    return asked


def test_a_slider_that_is_dragged_on_while_a_picture_is_made_does_not_jump_back(
    tab: Tab, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    tab.open(ViewedTask(plan.task, plan))
    slider, plan_scene = tab.panels.slider, tab.plan_scene
    assert plan_scene is not None
    shown = drag_on_while_drawing(monkeypatch, plan_scene, "show", slider, 0.5)
    by_hand(slider, 0.2)
    assert slider.value == 0.5
    for _ in range(2):  # two more messages; their listeners come late, when the slider stands where it stands
        by_hand(slider, slider.value)
    assert [moment.time for moment in shown] == [0.2, 0.5]
    assert slider.value == tab.player.time == 0.5


def test_a_grasp_that_is_chosen_while_playing_is_shown_just_held(tab: Tab, plan: Plan) -> None:
    """The clock had its next picture ready, and waited; it must not take the new grasp back to the old one's time."""
    tab.open(ViewedTask(plan.task, plan))
    tab.show_time(0.0)
    player, tick = tab.player, tab.player._show
    waits, went_on = threading.Event(), threading.Event()

    def watched(step: float) -> None:
        waits.set()
        tick(step)
        if not player.playing or player.time != 0.0:
            went_on.set()

    player._show = watched
    with tab.lock:
        player.play()
        assert waits.wait(20.0)
        tab.show_rank(1)
    assert went_on.wait(20.0)
    player.pause()
    held = plan.grasps[1].states[0].time
    assert held > 1.0
    assert held <= player.time < held + 1.0


def test_while_playing_numbers_follow_every_tenth_of_a_second_whatever_the_plots_do(
    tab: Tab, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pliant.viewer.page import panels

    tab.open(ViewedTask(plan.task, plan))
    begin = panels.clock.monotonic() + 10.0
    now = [begin]
    monkeypatch.setattr(panels.clock, "monotonic", lambda: now[0])
    written: list[float] = []
    plotted: list[float] = []
    for _ in range(60):  # three seconds of a clock that ticks twenty times a second
        numbers, plots = tab.panels.numbers.content, tab.panels.plots.content
        tab.player.time = now[0] - begin + 0.7
        tab.panels.show_moment(every=False)
        written += [now[0]] * (tab.panels.numbers.content != numbers)
        plotted += [now[0]] * (tab.panels.plots.content != plots)
        now[0] += 0.05
    assert max(np.diff(written)) <= panels.TEXT_INTERVAL + 0.05 + 1e-9
    assert max(np.diff(plotted)) <= panels.PLOT_INTERVAL + 0.1 + 1e-9
    assert min(np.diff(plotted)) >= panels.PLOT_INTERVAL - 1e-9  # and they are not made for nothing


def test_playing_past_the_end_starts_again(tab: Tab, plan: Plan) -> None:
    tab.open(ViewedTask(plan.task, plan))
    player = tab.player
    player.time = player.duration - 0.1
    assert player.after(0.1) == pytest.approx(player.duration)
    assert player.after(0.3) == pytest.approx(0.2)
    player.duration = 0.25  # a shorter operation has been opened meanwhile
    assert 0.0 <= player.after(0.1) <= 0.25


def test_the_picture_of_the_pads_goes_with_the_grasp(tab: Tab, plan: Plan) -> None:
    tab.open(ViewedTask(plan.task, plan))
    assert "<img" in tab.panels.pads.content
    tab.open(ViewedTask(plan.task, without_grasp(plan)))
    assert tab.panels.pads.content == ""
    tab.open(ViewedTask(plan.task, plan))
    hand = plan.task.assembly.hand
    assert hand is not None
    blind = replace(plan.task.assembly, hand=hand.model_copy(update={"tactile": ()}))
    task = replace(plan.task, assembly=blind)
    tab.open(ViewedTask(task, replace(plan, task=task)))
    assert "<img" not in tab.panels.pads.content


def test_another_grasp_takes_the_rejected_ghost_and_its_name_away(tab: Tab, plan: Plan) -> None:
    tab.open(ViewedTask(plan.task, plan))
    panels, plan_scene = tab.panels, tab.plan_scene
    assert plan_scene is not None
    by_hand(panels.hypotheses.rejected, panels.hypotheses.rejected.options[1])
    assert len(plan_scene._ghosts) == 1
    tab.show_rank(1)
    assert plan_scene._ghosts == []
    assert panels.hypotheses.rejected.value == panels.hypotheses.rejected.options[0] == "none"


def test_the_rank_slider_follows_the_buttons(tab: Tab, plan: Plan) -> None:
    many = replace(plan, grasps=plan.grasps * 7)
    tab.open(ViewedTask(many.task, many))
    slider = tab.panels.hypotheses.rank_slider
    tab.show_rank(3)
    assert slider.value == 4
    by_hand(slider, 14)
    assert tab.rank == 13


def test_a_rank_slider_that_is_dragged_on_while_a_grasp_is_drawn_does_not_jump_back(
    tab: Tab, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = replace(plan, grasps=plan.grasps * 7)
    tab.open(ViewedTask(many.task, many))
    slider, plan_scene = tab.panels.hypotheses.rank_slider, tab.plan_scene
    assert plan_scene is not None
    drawn = drag_on_while_drawing(monkeypatch, plan_scene, "show_rank", slider, 9)
    by_hand(slider, 5)
    assert slider.value == 9
    for _ in range(2):  # two more messages; their listeners come late
        by_hand(slider, slider.value)
    assert drawn == [4, 8]
    assert tab.rank == 8


def test_controls_do_nothing_but_remember_the_options_while_nothing_is_open(tab: Tab, plan: Plan) -> None:
    panels = tab.panels
    assert panels.task.plan_button.disabled and panels.task.save_task.disabled and panels.task.save_plan.disabled
    for button in ("play", "pause", "start", "end"):
        by_hand(panels.play, button)
    by_hand(panels.slider, 0.5)
    by_hand(panels.colour_by, "pressure")
    tab.show_rank(1)
    tab.show_hypotheses([1])
    panels.task.start()
    tab.open(ViewedTask(plan.task, plan))
    assert tab.plan_scene is not None
    assert tab.plan_scene.options.colour_by is ColourBy.PRESSURE
    assert not panels.task.plan_button.disabled
    tab.close()
    by_hand(panels.slider, 0.5)  # an event that comes after the tab was closed
    by_hand(panels.colour_by, "plain")


def test_fields_show_and_take_the_decimals_that_a_task_has(tab: Tab) -> None:
    """A limit of 0.4 N must not be shown as 0, which stands for none."""
    task = shipped_task("sponge_gripper")
    fields = tab.panels.task._inputs
    tab.open(ViewedTask(task))
    force = fields["object", "limits", "force"]
    assert all(
        handle.precision == (0 if isinstance(handle.value, int) else 3)
        for handle in fields.values()
        if hasattr(handle, "precision")
    )
    text = "object: {shape: {sphere: {}}, material: {young: 5.0e+4, poisson: 0.49875}, limits: {force: 0.0004}}\n"
    text += "robot: {hand: parallel_gripper}\ntask: {move: {translate: [0.00123456, 0, 0]}}\n"
    tab.open(ViewedTask(replace(task, source=text)))
    assert (force.value, force.precision) == (0.0004, 4)
    assert fields["object", "material", "poisson"].precision == 5
    assert fields["task", "move", "translate"].precision == 5


def test_a_plan_without_a_task_file_says_so_until_another_is_opened(tab: Tab, plan: Plan) -> None:
    panel = tab.panels.task
    tab.open(ViewedTask(replace(plan.task, source=""), plan))
    assert panel.plan_button.disabled and "no task file" in panel.message.content
    tab.open(ViewedTask(plan.task, plan))
    assert not panel.plan_button.disabled and panel.message.content == ""


def test_the_floor_lies_below_everything(tab: Tab, plan: Plan) -> None:
    task = plan.task
    assert floor_height(task) == 0.0
    deep = replace(task, scene=(task.scene[0].moved((0.0, 0.0, -0.3)), *task.scene[1:]))
    assert floor_height(deep) == pytest.approx(-0.3)
    sunk = pin.SE3(np.eye(3), np.array([0.9, 0.0, -0.4]))
    assert floor_height(replace(task, scene=(), T_world_object=sunk)) == pytest.approx(-0.415, abs=1e-3)
    tab.open(ViewedTask(deep))
    floor = tab.client.scene._handle_from_node_name["/floor"]
    assert floor.position[2] == pytest.approx(-0.301)


def test_a_link_with_a_slash_in_its_name_hangs_on_no_other(
    tab: Tab, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    tab.open(ViewedTask(plan.task, plan))
    plan_scene = tab.plan_scene
    assert plan_scene is not None
    plan_scene._links.clear()
    monkeypatch.setattr(plan_scene.viewed, "robot_shapes", lambda: {"arm": [], "arm/hand": []})
    monkeypatch.setattr(plan_scene, "_place_robot", lambda moment: None)
    plan_scene.add_robot(None)
    arm, hand = plan_scene._links["arm"].name, plan_scene._links["arm/hand"].name
    assert not hand.startswith(f"{arm}/")


def test_the_shown_level_of_the_liquid_rises_with_the_vessel_like_the_drawn_one() -> None:
    plan = ball_plan(liquid=True)
    timeline = Timeline(plan.grasps[0])
    early, late = timeline.grasp.states[0], timeline.grasp.states[-1]
    assert early.liquid_level is not None and late.T_world_object.translation[2] > early.T_world_object.translation[2]
    k = next(
        k
        for k in range(1, len(timeline.times))
        if timeline.grasp.states[k].T_world_object.translation[2] > early.T_world_object.translation[2] + 1e-3
    )
    moment = timeline.at(0.7 * timeline.times[k - 1] + 0.3 * timeline.times[k])
    before = timeline.grasp.states[k - 1]
    rise = moment.T_world_object.translation[2] - before.T_world_object.translation[2]
    assert rise > 1e-4
    shown = {row.key: row.value for row in moment_rows(moment)}
    assert before.liquid_level is not None
    assert shown["liquid_level"] == f"{1e3 * (before.liquid_level + rise):.1f} mm"


@pytest.mark.parametrize(
    ("metres", "text"),
    [(0.0, "0 µm"), (3.2e-6, "3.2 µm"), (9.94e-5, "99 µm"), (9.97e-5, "0.10 mm"), (0.0123, "12.30 mm")],
)
def test_small_lengths_are_written_in_plain_digits(metres: float, text: str) -> None:
    assert length_text(metres) == text
