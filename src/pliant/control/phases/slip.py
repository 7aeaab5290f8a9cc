"""The reaction to slip: grip harder, and stop the arm where the object slides.   (theory 9)

`pliant.tactile.SlipSense` measures how far the contacts have moved; the limits are `ControlOptions.slip` and
``watch.slid``; `SlipReflex` says how much stronger the grip becomes, and when it lets go again.
"""

from __future__ import annotations

from pliant.control.estimates import needed_friction
from pliant.control.events import RunPhase
from pliant.control.grip import ControlStep
from pliant.control.phases.context import RunContext
from pliant.tactile import measured_forces


def react_to_slip(run: RunContext, step: ControlStep) -> bool:
    """Grip harder where contacts wander beyond the plan; whether the object has just slid too far to be carried on."""
    slip = run.grip.slip(step)
    if slip is None:
        return False
    options, now, reflex = run.options, step.sample.time, run.reflex
    contacts, moment = run.grip.contacts, step.moment
    if reflex.slips(slip.common_shift, now, slip.jump):
        run.estimates.slipped()
        run.loop.believe(run.estimates.friction)
        before = run.loop.wanted
        run.loop.scale(reflex.factor)
        run.offset = run.grip.press(step, run.planned(), run.offset, run.loop.wanted - before)
        text = f"contacts have wandered {1e3 * slip.common_shift:.1f} mm together"
        run.note(now, "slip", f"{text}: grip {reflex.factor:.2f} times as strong")
    else:
        if reflex.lets_go(now):
            run.grip.forgive()
        if run.phase is not RunPhase.LIFT and contacts is not None:  # until then the support may bear a part
            forces = measured_forces(step.estimate.forces)
            run.estimates.held(needed_friction(contacts, forces, moment.load[:3]), now)
    run.loop.scale(reflex.factor)
    if slip.slide <= max(run.slid, options.watch.slid):
        return False
    first, run.slid = run.slid == 0.0, slip.slide
    if not first or run.phase is RunPhase.HOLD:
        return False
    run.note(now, "slip", f"the object has slid {1e3 * slip.slide:.1f} mm along its load: the arm stops")
    return True
