"""Phases of a run, what can go wrong in them, and what is then done.   (theory 9)"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class RunPhase(StrEnum):
    """What the controller is doing."""

    APPROACH = "approach"
    CLOSE = "close"
    SQUEEZE = "squeeze"
    LIFT = "lift"
    MOVE = "move"
    HOLD = "hold"
    RELEASE = "release"
    DONE = "done"
    """The operation is over as planned; the last command stands."""
    STOPPED = "stopped"
    """Safe: nothing moves any more, the last command stands."""
    OPENED = "opened"
    """Safe: the arm stands, the hand opens and stays open."""
    EASED = "eased"
    """Safe: the arm stands, the fingers give way until no force is over its limit, and stand then."""

    @property
    def safe(self) -> bool:
        """Whether it is the end of an abort."""
        return self in (RunPhase.STOPPED, RunPhase.OPENED, RunPhase.EASED)

    @property
    def carries(self) -> bool:
        """Whether the hand bears the object, so that opening would drop it."""
        return self in (RunPhase.LIFT, RunPhase.MOVE, RunPhase.HOLD)

    @property
    def grips(self) -> bool:
        """Whether the planned contacts press."""
        return self is RunPhase.SQUEEZE or self.carries

    @property
    def senses(self) -> bool:
        """Whether tactile frames are needed."""
        return self is RunPhase.CLOSE or self.grips


class Fault(StrEnum):
    """What can go wrong."""

    SENSOR_LOST = "sensor data lost"
    SENSOR_FROZEN = "sensor data frozen"
    SENSOR_WILD = "sensor data wild"
    JOINTS_LOST = "joint data lost"
    NOT_FINITE = "numbers that are not finite"
    OVERLOAD = "force over limit"
    CONTACT_LOST = "contact lost"
    SLID = "object has slid"
    NO_CONTACT = "no contact found"
    NO_GRIP = "grip force not reached"
    NOT_FOLLOWING = "joint not following"
    UNEXPECTED = "unexpected contact"
    TIME = "time limit"
    CLOCK = "clock stands still"
    DRIVER = "driver stopped"


class RunFault(NamedTuple):
    """What went wrong and the numbers to it."""

    fault: Fault
    detail: str

    @property
    def reason(self) -> str:
        """In words."""
        return f"{self.fault}: {self.detail}" if self.detail else str(self.fault)


class Reaction(StrEnum):
    """What is done about it."""

    STOP = "stop"
    OPEN = "open"
    EASE = "ease"

    @property
    def end(self) -> RunPhase:
        """The phase in which a run ends by it."""
        ends = {Reaction.STOP: RunPhase.STOPPED, Reaction.OPEN: RunPhase.OPENED, Reaction.EASE: RunPhase.EASED}
        return ends[self]


_STOPS = frozenset({Fault.NOT_FINITE, Fault.JOINTS_LOST, Fault.CLOCK, Fault.DRIVER})


def _reaction(fault: Fault, phase: RunPhase) -> Reaction:
    if fault in _STOPS or phase is RunPhase.APPROACH:
        return Reaction.STOP
    if fault is Fault.OVERLOAD and phase.carries:
        return Reaction.EASE
    return Reaction.STOP if phase.carries else Reaction.OPEN


REACTIONS: dict[tuple[Fault, RunPhase], Reaction] = {
    (fault, phase): _reaction(fault, phase) for fault in Fault for phase in RunPhase if not phase.safe
}
"""Before the object is lifted the hand opens; once it hangs, everything stands still, since opening would drop it."""


@dataclass(frozen=True)
class Event:
    """Something worth reporting.

    Args:
        time: on the driver's clock [s].
        phase: in which it happened.
        kind: ``phase``, ``abort``, ``touch``, ``slip``, ``spike``, ``note``.
        text: in words, with numbers.
    """

    time: float
    phase: RunPhase
    kind: str
    text: str
