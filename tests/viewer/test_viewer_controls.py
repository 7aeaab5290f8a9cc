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
from pliant.viewer import ColourBy, Session, Viewer
from pliant.viewer.page.view_options import floor_height
from pliant.viewer.report.text import in_length, number_rows
from pliant.viewer.scene.shown import Opened


@pytest.fixture
def session() -> Iterator[Session]:
    """A tab that nobody looks at, with nothing open."""
    with Viewer(port=0) as viewer:
        yield Session(viewer, viewer.server)


def by_hand(handle: Any, value: Any) -> None:
    """As viser does when the page tells of a change: first the value, then whoever listens."""
    handle._impl.value = value
    for listener in handle._impl.update_cb:
        listener(GuiEvent(client=None, client_id=0, target=handle))


def drag_on_while_drawing(
    monkeypatch: pytest.MonkeyPatch, stage: Any, method: str, slider: Any, to: float
) -> list[Any]:
    """While the method draws for the first time, the page's next message comes in; what the method was asked for."""
    draw, asked = getattr(stage, method), []

    def slow(what: Any) -> None:
        asked.append(what)
        if len(asked) == 1:
            slider._impl.value = to
        draw(what)

    monkeypatch.setattr(stage, method, slow)
    return asked


def test_a_slider_that_is_dragged_on_while_a_picture_is_made_does_not_jump_back(
    session: Session, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.open(Opened(plan.task, plan))
    slider, stage = session.panels.slider, session.stage
    assert stage is not None
    shown = drag_on_while_drawing(monkeypatch, stage, "show", slider, 0.5)
    by_hand(slider, 0.2)
    assert slider.value == 0.5
    for _ in range(2):  # two more messages; their listeners come late, when the slider stands where it stands
        by_hand(slider, slider.value)
    assert [moment.time for moment in shown] == [0.2, 0.5]
    assert slider.value == session.player.time == 0.5


def test_a_grasp_that_is_chosen_while_playing_is_shown_just_held(session: Session, plan: Plan) -> None:
    """The clock had its next picture ready, and waited; it must not take the new grasp back to the old one's time."""
    session.open(Opened(plan.task, plan))
    session.show_time(0.0)
    player, tick = session.player, session.player._show
    waits, went_on = threading.Event(), threading.Event()

    def watched(step: float) -> None:
        waits.set()
        tick(step)
        if not player.playing or player.time != 0.0:
            went_on.set()

    player._show = watched
    with session.lock:
        player.play()
        assert waits.wait(20.0)
        session.show_rank(1)
    assert went_on.wait(20.0)
    player.pause()
    held = plan.grasps[1].states[0].time
    assert held > 1.0
    assert held <= player.time < held + 1.0


def test_playing_past_the_end_starts_again(session: Session, plan: Plan) -> None:
    session.open(Opened(plan.task, plan))
    player = session.player
    player.time = player.duration - 0.1
    assert player.after(0.1) == pytest.approx(player.duration)
    assert player.after(0.3) == pytest.approx(0.2)
    player.duration = 0.25  # a shorter operation has been opened meanwhile
    assert 0.0 <= player.after(0.1) <= 0.25


def test_what_the_pads_feel_goes_with_the_grasp(session: Session, plan: Plan) -> None:
    session.open(Opened(plan.task, plan))
    assert "<img" in session.panels.pads.content
    session.open(Opened(plan.task, without_grasp(plan)))
    assert session.panels.pads.content == ""
    session.open(Opened(plan.task, plan))
    hand = plan.task.assembly.hand
    assert hand is not None
    blind = replace(plan.task.assembly, hand=hand.model_copy(update={"tactile": ()}))
    task = replace(plan.task, assembly=blind)
    session.open(Opened(task, replace(plan, task=task)))
    assert "<img" not in session.panels.pads.content


def test_another_grasp_takes_the_rejected_ghost_and_its_name_away(session: Session, plan: Plan) -> None:
    session.open(Opened(plan.task, plan))
    panels, stage = session.panels, session.stage
    assert stage is not None
    by_hand(panels._rejected, panels._rejected.options[1])
    assert len(stage._ghosts) == 1
    session.show_rank(1)
    assert stage._ghosts == []
    assert panels._rejected.value == panels._rejected.options[0] == "none"


def test_the_rank_slider_follows_the_buttons(session: Session, plan: Plan) -> None:
    many = replace(plan, grasps=plan.grasps * 7)
    session.open(Opened(many.task, many))
    slider = session.panels._further
    session.show_rank(3)
    assert slider.value == 4
    by_hand(slider, 14)
    assert session.rank == 13


def test_a_rank_slider_that_is_dragged_on_while_a_grasp_is_drawn_does_not_jump_back(
    session: Session, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = replace(plan, grasps=plan.grasps * 7)
    session.open(Opened(many.task, many))
    slider, stage = session.panels._further, session.stage
    assert stage is not None
    drawn = drag_on_while_drawing(monkeypatch, stage, "show_rank", slider, 9)
    by_hand(slider, 5)
    assert slider.value == 9
    for _ in range(2):  # two more messages; their listeners come late
        by_hand(slider, slider.value)
    assert drawn == [4, 8]
    assert session.rank == 8


def test_controls_do_nothing_but_remember_the_look_while_nothing_is_open(session: Session, plan: Plan) -> None:
    panels = session.panels
    assert panels.task.plan_button.disabled and panels.task.save_task.disabled and panels.task.save_plan.disabled
    for word in ("play", "pause", "start", "end"):
        by_hand(panels.play, word)
    by_hand(panels.slider, 0.5)
    by_hand(panels.colour_by, "pressure")
    session.show_rank(1)
    session.show_hypotheses([1])
    panels.task.start()
    session.open(Opened(plan.task, plan))
    assert session.stage is not None
    assert session.stage.look.colour_by is ColourBy.PRESSURE
    assert not panels.task.plan_button.disabled
    session.close()
    by_hand(panels.slider, 0.5)  # on its way when the tab was closed
    by_hand(panels.colour_by, "plain")


def test_fields_show_and_take_the_decimals_that_a_task_has(session: Session) -> None:
    """A limit of 0.4 N must not look like 0, which stands for none."""
    task = shipped_task("sponge_gripper")
    fields = session.panels.task._inputs
    session.open(Opened(task))
    force = fields["object", "limits", "force"]
    assert all(
        handle.precision == (0 if isinstance(handle.value, int) else 3)
        for handle in fields.values()
        if hasattr(handle, "precision")
    )
    text = "object: {shape: {sphere: {}}, material: {young: 5.0e+4, poisson: 0.49875}, limits: {force: 0.0004}}\n"
    text += "robot: {hand: parallel_gripper}\ntask: {move: {translate: [0.00123456, 0, 0]}}\n"
    session.open(Opened(replace(task, source=text)))
    assert (force.value, force.precision) == (0.0004, 4)
    assert fields["object", "material", "poisson"].precision == 5
    assert fields["task", "move", "translate"].precision == 5


def test_a_plan_without_a_task_file_says_so_until_another_is_opened(session: Session, plan: Plan) -> None:
    panel = session.panels.task
    session.open(Opened(replace(plan.task, source=""), plan))
    assert panel.plan_button.disabled and "no task file" in panel.message.content
    session.open(Opened(plan.task, plan))
    assert not panel.plan_button.disabled and panel.message.content == ""


def test_the_floor_lies_below_everything(session: Session, plan: Plan) -> None:
    task = plan.task
    assert floor_height(task) == 0.0
    deep = replace(task, scene=(task.scene[0].moved((0.0, 0.0, -0.3)), *task.scene[1:]))
    assert floor_height(deep) == pytest.approx(-0.3)
    sunk = pin.SE3(np.eye(3), np.array([0.9, 0.0, -0.4]))
    assert floor_height(replace(task, scene=(), T_world_object=sunk)) == pytest.approx(-0.415, abs=1e-3)
    session.open(Opened(deep))
    floor = session.tab.scene._handle_from_node_name["/floor"]
    assert floor.position[2] == pytest.approx(-0.301)


def test_a_link_with_a_slash_in_its_name_hangs_on_no_other(
    session: Session, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.open(Opened(plan.task, plan))
    stage = session.stage
    assert stage is not None
    stage._links.clear()
    monkeypatch.setattr(stage.opened, "robot_shapes", lambda: {"arm": [], "arm/hand": []})
    monkeypatch.setattr(stage, "_place_robot", lambda moment: None)
    stage.add_robot(None)
    arm, hand = stage._links["arm"].name, stage._links["arm/hand"].name
    assert not hand.startswith(f"{arm}/")


def test_the_told_level_of_the_liquid_rises_with_the_vessel_like_the_drawn_one() -> None:
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
    told = {key: value for key, _, value in number_rows(moment, plan.task.body.mass)}
    assert before.liquid_level is not None
    assert told["liquid_level"] == f"{1e3 * (before.liquid_level + rise):.1f} mm"


@pytest.mark.parametrize(
    ("metres", "text"),
    [(0.0, "0 µm"), (3.2e-6, "3.2 µm"), (9.94e-5, "99 µm"), (9.97e-5, "0.10 mm"), (0.0123, "12.30 mm")],
)
def test_small_lengths_are_told_in_plain_digits(metres: float, text: str) -> None:
    assert in_length(metres) == text
