"""The slip reflex: stronger at once, back to the plan when the cause is over, and no weaker than what slipped again."""

from __future__ import annotations

import numpy as np
import pytest

from made_plans import made
from pliant.control import ControlOptions, GraspController, RunLog, RunPhase, execute
from pliant.control.slip_reflex import SlipReflex
from spring_hand import SpringHand

FRAME = 0.032
OPTIONS = ControlOptions(slip_gain=400.0, grip_most=2.0, slip_calm=0.3, slip_fade=0.5)
MM = 1e-3
ALLOWED = 1.0 * MM


def test_the_grip_grows_with_the_slip_up_to_the_most_and_not_for_less_than_a_twentieth() -> None:
    """factor = min(1 + slip_gain (s - allowed), grip_most)."""
    reflex = SlipReflex(OPTIONS, ALLOWED)
    steps = ((0.0, 1.0), (1.1, 1.0), (1.5, 1.2), (1.4, 1.2), (2.0, 1.4), (9.0, 2.0), (10.0, 2.0))
    for k, (shift, factor) in enumerate(steps):
        before = reflex.factor
        assert reflex.slips(shift * MM, FRAME * k) is (factor > before)
        assert reflex.factor == pytest.approx(factor, rel=1e-12)


def test_things_wander_slowly_and_fall_fast() -> None:
    """0.8 mm is within what may wander; gone from one frame to the next it is 0.4 mm too much."""
    reflex = SlipReflex(OPTIONS, ALLOWED)
    for k in range(9):
        assert not reflex.slips(0.1 * k * MM, FRAME * k, 0.1 * MM)
    assert reflex.slips(0.8 * MM, FRAME * 9, 0.8 * MM)
    assert reflex.factor == pytest.approx(1.0 + 400.0 * 0.4 * MM)


def let_go(reflex: SlipReflex, shift: float, start: float, until: float) -> tuple[np.ndarray, np.ndarray]:
    """Times and factors while nothing moves; ``shift`` counts until it is forgiven."""
    times, factors = np.arange(start, until, FRAME), []
    for now in times:
        assert not reflex.slips(shift, float(now))
        shift = 0.0 if reflex.lets_go(float(now)) else shift
        factors.append(reflex.factor)
    assert shift == 0.0
    return times, np.array(factors)


def test_the_grip_lets_go_when_nothing_slips_any_more() -> None:
    """factor - 1 falls as exp(-t / slip_fade) from slip_calm on, and ends at 1."""
    reflex = SlipReflex(OPTIONS, ALLOWED)
    assert reflex.slips(2.5 * MM, 0.0)
    times, factors = let_go(reflex, 2.5 * MM, FRAME, 4.0)
    began = int(np.argmax(times >= OPTIONS.slip_calm))
    left = 0.6 * np.exp(-np.maximum(times - times[began], 0.0) / OPTIONS.slip_fade)
    left[left < 0.02] = 0.0
    np.testing.assert_allclose(factors, 1.0 + left, rtol=1e-9)
    assert factors[-1] == 1.0


def test_an_object_that_goes_on_slipping_slowly_is_not_let_go() -> None:
    reflex = SlipReflex(OPTIONS, ALLOWED)
    assert reflex.slips(1.5 * MM, 0.0)
    for k in range(1, 100):
        reflex.slips((1.5 + 0.5 * FRAME * k) * MM, FRAME * k)  # half a millimetre a second
        assert not reflex.lets_go(FRAME * k)


def test_what_slips_again_while_the_grip_lets_go_is_never_gripped_less() -> None:
    """Half of what may wander else is enough then; the floor is the factor that has stopped it."""
    reflex = SlipReflex(OPTIONS, ALLOWED)
    assert reflex.slips(2.5 * MM, 0.0)
    _, factors = let_go(reflex, 2.5 * MM, FRAME, 1.0)
    assert reflex.slips(1.0 * MM, 1.0)
    again = reflex.factor
    assert again == pytest.approx(factors[-1] + 400.0 * 0.5 * MM)
    _, factors = let_go(reflex, 1.0 * MM, 1.0 + FRAME, 6.0)
    assert (factors == again).all()
    assert reflex.floor == again
    assert not reflex.slips(0.9 * MM, 6.0), "all of it may wander again"


def run(lasts: float, share: float, **options: float) -> tuple[RunLog, SpringHand, GraspController]:
    """Friction does for twice the load, but for a time in the hold, when it needs so many times the planned forces."""
    there = made("ball")
    hand = SpringHand(there.grasp, there.task.assembly)
    planned = float(hand.planned.mean())
    own = GraspController(
        there.grasp, there.task.assembly, options=ControlOptions(hold=5.0, **options), start=RunPhase.CLOSE
    )

    def world(sample: object, command: object) -> None:
        slippery = own.phase is RunPhase.HOLD and 0.5 < own.elapsed(hand.time) < 0.5 + lasts
        hand.slips_at = (share if slippery else 0.5) * planned

    log = execute(hand, own, observe=world)
    assert log.end is RunPhase.DONE, log.reason
    return log, hand, own


def test_a_grip_that_was_made_stronger_comes_back_to_the_plan_when_the_cause_is_over() -> None:
    log, hand, _ = run(0.08, 1.1)
    held = log.during(RunPhase.HOLD)
    slips = [event.time for event in log.events if event.kind == "slip"]
    assert slips[0] - (log["time"][held][0] + 0.5) < 0.08, "two frames and a step; filtered centres take 0.1 s"
    grip = (log["force_wanted"][held] / hand.planned).max(axis=1)
    assert grip.max() > 1.3
    assert grip[-1] < 1.03
    np.testing.assert_allclose(log["force_measured"][held][-1], hand.planned, rtol=0.1)
    kept, hand, _ = run(0.08, 1.1, slip_calm=np.inf)
    grip = (kept["force_wanted"][kept.during(RunPhase.HOLD)] / hand.planned).max(axis=1)
    assert grip[-1] == pytest.approx(grip.max(), rel=0.02), "without letting go it would have stayed"


def test_an_object_that_became_smoother_is_held_by_what_it_has_shown_to_need() -> None:
    """It needs 1.05 times the planned forces from then on: slips again as the grip lets go, and then no more."""
    log, hand, own = run(np.inf, 1.05)
    slips = [event.time for event in log.events if event.kind == "slip"]
    assert slips[-1] < hand.time - 2.0
    assert 1.05 < own.run.reflex.floor < own.options.grip_most
    assert hand.fallen < 6.0 * MM, "each time what may wander, and two frames"
    assert hand.forces().mean() > 1.05 * hand.planned.mean()
