"""What a hand on an arm offers to the controller: one interface for hardware, lab and recordings.   (theory 9)

A driver runs on its own clock. One control cycle is: ``read`` what was measured, send one command, ``step`` to the next
cycle. Measurements carry the time at which they were *taken* as far as the driver knows it, so a consumer can see that
a frame is old, repeated or missing; a driver never invents a measurement to fill a gap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from pliant.arrays import Floats
from pliant.tactile import TactileFrame

MOST_AHEAD = 0.05
"""A measurement stamped further ahead of the driver's clock than this is none [s]: clocks of one network agree to
milliseconds."""


@dataclass(frozen=True, eq=False)
class JointReading:
    """What the joints say, in the order of ``Driver.joint_names``.

    Args:
        time: when it was taken, on the driver's clock [s].
        positions: [rad, m].
        torques: what the drives apply [N m, N]; None where the hand does not tell.
    """

    time: float
    positions: Floats
    torques: Floats | None = None


@dataclass(frozen=True, eq=False)
class Sample:
    """All that is known at one moment.

    Args:
        time: the driver's clock now [s].
        joints: the latest joint reading; None if none has arrived yet.
        frames: the latest frame of every array that has sent one, by name.
        stopped: why the driver has stopped moving; empty while it runs.
    """

    time: float
    joints: JointReading | None
    frames: Mapping[str, TactileFrame] = field(default_factory=dict)
    stopped: str = ""


@runtime_checkable
class Driver(Protocol):
    """A hand, with or without an arm, that takes joint positions and gives joint positions and tactile frames."""

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Independent joints, in the order of all joint vectors."""
        ...

    @property
    def array_names(self) -> tuple[str, ...]:
        """Tactile arrays that may send frames."""
        ...

    @property
    def takes_torques(self) -> bool:
        """Whether ``command_torques`` works."""
        ...

    @property
    def period(self) -> float:
        """Time from one control cycle to the next [s]."""
        ...

    @property
    def time(self) -> float:
        """The driver's clock [s]."""
        ...

    def read(self) -> Sample:
        """The latest measurements; cheap, and may be called any number of times per cycle."""
        ...

    def command_positions(self, positions: Floats) -> None:
        """Where the joints shall go until the next command [rad, m]."""
        ...

    def command_torques(self, torques: Floats) -> None:
        """Joint torques until the next command [N m, N]; refused where ``takes_torques`` is false."""
        ...

    def step(self) -> None:
        """Go to the next cycle: hardware waits, a simulation computes, a recording moves on."""
        ...

    def emergency_stop(self, reason: str) -> None:
        """Stop where it is, at once, and refuse every later command. Never raises."""
        ...

    def close(self) -> None:
        """Give back what the driver holds. May be called twice."""
        ...
