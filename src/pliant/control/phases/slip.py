"""The reaction to slip: grip harder, and stop the arm where the object slides.   (theory 9)

`pliant.tactile.SlipSense` measures how far the contacts have moved; the limits are `ControlOptions.slip` and
``watch.slid``; `ForceLoop.tighten` says how much stronger the grip becomes.
"""

from __future__ import annotations

from pliant.control.events import RunPhase
from pliant.control.grip import ControlStep
from pliant.control.phases.context import RunContext

WANDERS = 0.2  # of a patch's radius: how far its centre of pressure may move while nothing slips


def react_to_slip(run: RunContext, step: ControlStep) -> bool:
    """Grip harder where contacts wander beyond the plan; whether the object has just slid too far to be carried on."""
    slip = run.grip.slip(step)
    if slip is None:
        return False
    options, now = run.options, step.sample.time
    allowed = options.slip + WANDERS * float(run.timeline.radius.mean())
    if run.loop.tighten(slip.common_shift - allowed):
        text = f"contacts have wandered {1e3 * slip.common_shift:.1f} mm together"
        run.note(now, "slip", f"{text}: grip {run.loop.grip:.2f} times as strong")
    if slip.slide <= max(run.slid, options.watch.slid):
        return False
    first, run.slid = run.slid == 0.0, slip.slide
    if not first or run.phase is RunPhase.HOLD:
        return False
    run.note(now, "slip", f"the object has slid {1e3 * slip.slide:.1f} mm along its load: the arm stops")
    return True
