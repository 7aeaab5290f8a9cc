"""What a hand on an arm offers to the controller: one interface for hardware, lab and recordings.   (theory 9)

A driver runs on its own clock. One control cycle is: ``read`` what was measured, send one command, ``step`` to the next
cycle. Measurements carry the time at which they were *taken* as far as the driver knows it, so a consumer can see that
a frame is old, repeated or missing; a driver never invents a measurement to fill a gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from pliant.arrays import Bools, Floats
from pliant.errors import OptionError, Problem, unknown_name
from pliant.robot import Assembly
from pliant.tactile import TactileFrame

MOST_AHEAD = 0.05
"""A measurement stamped further ahead of the driver's clock than this is none [s]: clocks of one network agree to
milliseconds."""
METHODS = ("read", "command_positions", "command_torques", "step", "emergency_stop", "close")
MEMBERS = ("joint_names", "array_names", "takes_torques", "period", "time", *METHODS)


@dataclass(frozen=True, eq=False)
class JointReading:
    """What the joints report, in the order of ``Driver.joint_names``.

    Args:
        time: when it was taken, on the driver's clock [s].
        positions: [rad, m].
        torques: what the drives apply [N m, N]; None where the hand does not report them.
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
    """A hand, with or without an arm, that takes joint positions and gives joint positions and tactile frames.

    One that takes torques may say more about them: ``torque_joints``, the names of joints that can take torques while
    the others take positions (without it all joints take torques at once), and ``carries_weight``, true where it bears
    the robot's own weight beside the commanded torques (without it the weight is commanded).
    """

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

    def command_torques(self, torques: Floats, *, joints: Bools | None = None, positions: Floats | None = None) -> None:
        """Joint torques until the next command [N m, N]; refused where ``takes_torques`` is false.

        Args:
            torques: one number per joint.
            joints: which joints take theirs; all if left out. Only given to drivers that have ``torque_joints``.
            positions: where the other joints shall go meanwhile [rad, m]; one number per joint.
        """
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


def check_driver(driver: object, assembly: Assembly, *, source: str = "driver") -> Driver:
    """The driver, if it can drive this robot: all members there, joints in the plan's order, arrays that exist.

    Raises:
        OptionError: naming every member that is missing or wrong.
    """
    has: dict[str, Any] = {}
    missing, wrong = [], []
    for name in MEMBERS:
        try:
            has[name] = getattr(driver, name)
        except AttributeError:
            missing.append(name)
        except Exception as bad:  # somebody's own property: what is wrong with it is for them to read
            wrong.append(Problem(name, f"fails: {type(bad).__name__}: {bad}"))
    if missing:
        what = f"'{type(driver).__name__}' has no {', '.join(missing)}"
        wrong.insert(0, Problem("", what, "a driver has the members of pliant.control.Driver"))
    wrong += [Problem(name, "cannot be called", "a method") for name in METHODS if not callable(has.get(name, len))]
    joints, arrays = assembly.robot.joint_names, assembly.hand.tactile if assembly.hand is not None else ()
    known = [array.name for array in arrays]
    if "joint_names" in has and _strings(has["joint_names"]) != joints:
        wrong.append(Problem("joint_names", _short(has["joint_names"]), f"the plan's, in this order: {joints}"))
    names = _strings(has.get("array_names", ()))
    if names is None:
        wrong.append(Problem("array_names", _short(has["array_names"]), f"some of: {', '.join(known)}"))
    unknown = [name for name in names or () if name not in known]
    wrong += [unknown_name("tactile array", name, known, where="array_names") for name in unknown]
    for name, low, high, allowed in (("period", 1e-4, 1.0, "0.0001 to 1 s"), ("time", -1e12, 1e12, "seconds")):
        value = has.get(name, low)
        if not low <= _number(value) <= high:
            wrong.append(Problem(name, _short(value), allowed))
    if wrong:
        raise OptionError(source, wrong)
    assert isinstance(driver, Driver)
    return driver


class TorqueDrive(NamedTuple):
    """How a driver takes torques: which joints do, and whether their own weight must be part of the torques."""

    joints: Bools
    weight: bool


def torque_drive(driver: Driver, assembly: Assembly) -> TorqueDrive:
    """How this driver takes torques: for the hand alone where it can take positions for the arm.

    Raises:
        OptionError: if it takes none, or none for some joint of the hand.
    """
    names, kind = assembly.robot.joint_names, type(driver).__name__
    if not driver.takes_torques:
        raise OptionError("torques", Problem("", f"'{kind}' takes joint positions only", "a driver with takes_torques"))
    some = getattr(driver, "torque_joints", None)
    weight = not getattr(driver, "carries_weight", False)
    if some is None:
        return TorqueDrive(np.ones(len(names), dtype=bool), weight)
    able = _strings(some) or ()
    unknown = [unknown_name("joint", name, names, where="torque_joints") for name in able if name not in names]
    hand = [names[i] for i in assembly.hand_joints]
    missing = [
        Problem("torque_joints", f"'{name}' is missing", "all joints of the hand") for name in hand if name not in able
    ]
    if unknown or missing:
        raise OptionError(kind, unknown + missing)
    return TorqueDrive(np.isin(names, hand), weight)


def _strings(value: object) -> tuple[str, ...] | None:
    """Names as a tuple; None if they are none."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        return None
    return tuple(str(name) for name in value)


def _number(value: Any) -> float:
    """NaN where it is none; a text is none, whatever is in it."""
    try:
        return float("nan") if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _short(value: object) -> str:
    return f"{value!r}"[:200]
