"""How long every phase may last: none can hang.   (theory 9)"""

from __future__ import annotations

from pliant.control.options import ControlOptions
from pliant.control.phases import RunPhase
from pliant.planner import ContactTimeline, Phase

SAFE_TIME = 3.0  # opening and easing end after so long, whatever happens [s]
PLANNED = {
    RunPhase.APPROACH: Phase.APPROACH,
    RunPhase.CLOSE: Phase.CLOSE,
    RunPhase.SQUEEZE: Phase.SQUEEZE,
    RunPhase.LIFT: Phase.LIFT,
    RunPhase.MOVE: Phase.MOVE,
}


def time_limit(phase: RunPhase, timeline: ContactTimeline, options: ControlOptions, guarded: float) -> float:
    """The planned time at the chosen speed, what the phase may need beyond it, and some patience [s].

    Args:
        guarded: how long the slow part of the closing may take [s].
    """
    needed = 0.0
    if phase in PLANNED:
        start, end = timeline.span(PLANNED[phase])
        needed = (end - start) / options.speed
    extra = {
        RunPhase.CLOSE: guarded,
        RunPhase.SQUEEZE: options.settle,
        RunPhase.HOLD: options.hold,
        RunPhase.RELEASE: SAFE_TIME,
    }
    return needed + extra.get(phase, 0.0) + options.patience
