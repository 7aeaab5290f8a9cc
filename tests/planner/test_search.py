"""The search, best first: on small questions, with the real contact simulation."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from small_tasks import ball_task

from pliant.planner import Plan, PlanStatus, Reason, Stage, Stopped, plan, verify_plan
from pliant.planner.aim import aim, better_aim
from pliant.planner.candidates import AimCandidate, AimFamily
from pliant.planner.context import PlanningContext
from pliant.planner.flying_hand import with_arm
from pliant.planner.hypotheses import make_hypotheses
from pliant.planner.promise import Promise, promise
from pliant.planner.questions import REPAIRS, STEPS, Improve, Press, Pressed, try_hypothesis
from pliant.planner.reasons import Rejection
from pliant.planner.search import COSTS, SHARES, Search
from pliant.planner.stability import HeldGrasp
from pliant.planner.task import PlannerOptions

pytestmark = pytest.mark.slow


def searched(hypotheses: int = 60, effort: str = "normal"):
    task = ball_task(hypotheses)
    return replace(task, options=replace(task.options, effort=effort))


@cache
def found() -> Plan:
    return plan(searched(), jobs=1)


@cache
def context() -> PlanningContext:
    return PlanningContext(with_arm(ball_task(move=False)))


def drawn(count: int):
    here = context()
    return make_hypotheses(here.body.mesh, here.assembly, count=20, rolls=4, limit=count)


def test_a_ball_is_found_a_grasp_and_every_hypothesis_is_accounted_for() -> None:
    answer = found()
    assert answer.status is PlanStatus.FOUND
    numbers = [g.hypothesis.number for g in answer.grasps] + [r.number for r in answer.rejections]
    assert sorted(numbers) == [h.number for h in answer.hypotheses]
    improved = [h for h in answer.hypotheses if h.number >= 60]
    assert improved
    assert all(h.source.startswith("improved ") or " for " in h.source for h in improved)
    tried = answer.tried
    assert tried.promised >= tried.pressed >= tried.stable >= tried.completed >= len(answer.grasps)
    assert 0.0 < answer.first_s <= answer.improved_s <= answer.wall_s
    assert answer.stopped is Stopped.DONE
    assert not verify_plan(answer).problems


def test_time_is_shared_between_looking_improving_and_pressing_by_what_they_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Deficits stay below the dearest question, however long the search is."""
    asked: list[str] = []
    original = Search._question

    def spied(search: Search) -> Any:
        question = original(search)
        if question is not None:
            asked.append(type(question).__name__)
        return question

    monkeypatch.setattr(Search, "_question", spied)
    plan(searched(240, "thorough"), jobs=1, stop=lambda: len(asked) > 220)
    work = {"Look": "explore", "Mend": "explore", "Improve": "improve", "Press": "press"}
    costs = {kind.__name__: cost for kind, cost in COSTS.items()}
    pressed = [k for k, name in enumerate(asked) if name == "Press"]
    assert len(pressed) >= 3
    spent = dict.fromkeys(SHARES, 0.0)
    for name in asked[pressed[0] : pressed[-1]]:
        spent[work[name]] += costs[name]
    pressing = spent["press"] / (SHARES["press"] + SHARES["fill"])
    assert abs(spent["improve"] / SHARES["improve"] - pressing) < 2.0 * max(COSTS.values()) / min(SHARES.values())


def test_a_press_that_comes_to_nothing_is_charged_less_to_what_asked_for_it() -> None:
    found = aim(context(), drawn(1)[0])
    number = found.hypothesis.number
    search = Search(drawn(1), PlannerOptions(), least=lambda fingers: 1.0)
    search._candidates[number] = AimCandidate(found, AimFamily(found), pressed=True, work="fill")
    before = dict(search._spent)
    failed = Rejection(number, Stage.MANIPULATION, Reason.SLIPS, 1.0)
    search._take_pressed(Press(found.hypothesis, np.inf), Pressed(found.hypothesis, True, None, 1.0, failed))
    assert search._spent["fill"] < before["fill"]
    assert search._spent["press"] == before["press"]


def test_a_family_learns_what_its_operations_need_and_is_doubted_where_they_fail() -> None:
    family = AimFamily(aim(context(), drawn(1)[0]))
    for _ in range(20):
        family.learn(2.0)
    assert family.ratio == pytest.approx(2.0, abs=1e-4)
    assert family.doubt == 1.0
    family.failed = 3
    assert family.doubt > 2.0
    family.done = 2
    assert family.doubt == 1.0


def test_stable_grasps_that_are_not_kept_were_outdone() -> None:
    rejected = {r.number: r for r in found().rejections}
    for grasp in found().stable:
        if grasp.number in rejected:
            assert rejected[grasp.number].stage is Stage.CHOICE, rejected[grasp.number]


def test_two_workers_find_what_one_finds() -> None:
    alone, together = found(), plan(searched(), jobs=2)
    assert alone.counts == together.counts
    assert alone.tried == together.tried
    assert [g.hypothesis.number for g in alone.grasps] == [g.hypothesis.number for g in together.grasps]
    for a, b in zip(alone.grasps, together.grasps, strict=True):
        np.testing.assert_array_equal(a.trajectory.q, b.trajectory.q)


def test_the_first_operation_ends_the_search_where_it_is_asked_for() -> None:
    best: list[float] = []
    answer = plan(searched(), jobs=1, first=True, improved=lambda grasp: best.append(grasp.largest_force))
    assert answer.stopped is Stopped.FIRST
    assert best == [answer.grasps[0].largest_force]
    assert answer.tried.completed == 1


def test_a_search_that_is_asked_to_stop_keeps_the_best_so_far_as_a_sound_plan() -> None:
    grasps: list[float] = []
    answer = plan(searched(), jobs=2, improved=lambda g: grasps.append(g.largest_force), stop=lambda: bool(grasps))
    assert answer.stopped is Stopped.INTERRUPTED
    assert answer.status is PlanStatus.FOUND
    assert not verify_plan(answer).problems


def test_time_that_is_up_ends_the_search() -> None:
    answer = plan(searched(), jobs=1, seconds=1e-3)
    assert answer.stopped is Stopped.SECONDS
    assert answer.status is PlanStatus.NONE


def test_the_sampled_touches_promise_about_the_force_of_the_exact_ones() -> None:
    """Sample points lie some millimetres apart; on a ball of 30 mm that turns normals by about a tenth."""
    pairs = []
    for hypothesis in drawn(60):
        rough, exact = aim(context(), hypothesis), promise(context(), hypothesis)
        if rough.sound and isinstance(exact, Promise):
            pairs.append((rough.grade.value, exact.force))
    assert len(pairs) >= 5
    assert 0.8 < np.median([a / b for a, b in pairs]) < 1.25


def test_moving_the_hand_as_a_bad_aim_suggests_makes_many_sound() -> None:
    bad = [found for h in drawn(60) if not (found := aim(context(), h)).sound and found.move is not None]
    rng = np.random.default_rng(0)
    mended = [better_aim(context(), start, rng, tries=20)[0] for start in bad[:20]]
    assert sum(found.sound for found in mended) >= 5
    assert all(found.grade <= start.grade for found, start in zip(mended, bad, strict=False))


def test_an_improved_aim_is_sound_and_promises_less_and_is_found_again() -> None:
    start = max((found for h in drawn(120) if (found := aim(context(), h)).sound), key=lambda found: found.grade)
    question = Improve(start, 0.7, 0, 1)
    improved = question(context())
    assert improved.aim.sound
    assert improved.aim.grade < start.grade
    assert STEPS <= improved.looked <= STEPS + REPAIRS
    assert aim(context(), improved.aim.hypothesis).grade == improved.aim.grade == question(context()).aim.grade


def test_an_aim_that_promises_no_less_than_its_bound_is_of_no_use() -> None:
    start = next(found for h in drawn(60) if (found := aim(context(), h)).sound)
    outdone = aim(context(), start.hypothesis, bound=start.grade.value)
    assert outdone.failure is not None
    assert outdone.failure.reason is Reason.LESS_PROMISING
    assert aim(context(), start.hypothesis, bound=1.01 * start.grade.value).grade == start.grade


def test_a_good_palm_pose_is_tried_once_with_every_kind_that_has_no_fewer_fingers() -> None:
    start = next(found for h in drawn(60) if (found := aim(context(), h)).sound)
    own = start.hypothesis
    three, one = (*own.fingers, "third"), own.fingers[:1]
    kinds = (own.preshape, own.fingers), ("wide", own.fingers), ("all", three), ("single", one)
    some = [replace(own, number=i, preshape=p, fingers=f) for i, (p, f) in enumerate(kinds)]
    search = Search(some, context().task.options, lambda fingers: 1.0 / fingers)
    search._take_aim(replace(start, hypothesis=some[0]))
    assert search._lend() is None
    search._candidates[0].family.turns = 1
    lent = search._lend()
    assert lent is not None
    assert [(h.number, h.preshape, h.fingers) for h in lent.hypotheses] == [(4, "wide", own.fingers), (5, "all", three)]
    assert all(h.T_object_palm is own.T_object_palm for h in lent.hypotheses)
    assert search._lend() is None


def test_most_sound_hypotheses_hold() -> None:
    sound = [h for h in drawn(60) if isinstance(promise(context(), h), Promise)]
    stable = [isinstance(try_hypothesis(context(), h), HeldGrasp) for h in sound]
    assert np.mean(stable) >= 0.3


def test_links_without_pads_hold_only_where_the_task_lets_the_whole_hand() -> None:
    """A gripper with a pad on one of its two fingers."""
    task = ball_task(60, move=False)
    hand = task.assembly.hand
    assert hand is not None
    first, second = hand.fingers
    bare = hand.model_copy(update={"fingers": (first.model_copy(update={"pads": ()}), second)})
    task = replace(task, assembly=replace(task.assembly, hand=bare))
    answer = plan(task, jobs=1)
    assert answer.status is PlanStatus.NONE
    assert Reason.NO_PAD in {rejection.reason for rejection in answer.rejections}
    assert "planner.whole_hand" in Reason.NO_PAD.remedy
    answer = plan(replace(task, options=replace(task.options, whole_hand=True, effort="quick")), jobs=1)
    assert answer.best is not None
    assert first.links[-1] in {contact.link for contact in answer.best.grasp.contacts}
    assert not verify_plan(answer).problems
