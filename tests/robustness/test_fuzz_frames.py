"""Tactile frames and joint readings that make no sense, from a driver that is being used: the run ends, in words.

Whatever a driver brings, no error reaches the caller, commands stay finite and within the joints' limits, the run ends
in the time its phases allow, and the true force stays below what is permitted but for the stated reaction time.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from fuzzing import fuzz
from hypothesis import strategies as st

from made_plans import MadeTask, made
from pliant.control import JointReading, RunOutcome, Sample, run_on_driver
from pliant.tactile import TactileFrame
from spring_hand import PERIOD, SpringHand

LONGEST = 60.0
"""No run of this plan may take longer on the driver's clock, whatever it is told [s]."""


@cache
def thing() -> MadeTask:
    return made("ball", hand="parallel_gripper", young=1.5e5)


def odd_counts(rng: random.Random, counts: np.ndarray) -> Any:
    rows, columns = counts.shape
    return rng.choice(
        [
            lambda: np.zeros((0, 0), dtype=np.int64),
            lambda: counts[:, :-1],
            lambda: counts.T,
            lambda: np.zeros((rows, columns, 3)),
            lambda: counts.astype(float) * np.nan,
            lambda: np.where(np.arange(columns) == 1, np.inf, counts),
            lambda: -counts - 5,
            lambda: counts * 10**12,
            lambda: np.full((rows, columns), 2**62),
            lambda: np.full((rows, columns), 4095),
            lambda: counts.astype(str),
            lambda: counts.tolist(),
            lambda: None,
            lambda: "frame",
            lambda: counts > 0,
            lambda: counts.astype(complex),
            lambda: np.random.default_rng(rng.randrange(99)).integers(0, 4096, (rows, columns)),
            lambda: counts.astype(np.uint16),
        ]
    )()


def odd_time(rng: random.Random, time: float) -> Any:
    return rng.choice([np.nan, -np.inf, np.inf, -1.0, 1e300, time - 10.0, time + 10.0, 0.0, np.float32(time)])


def odd_joints(rng: random.Random, joints: JointReading) -> JointReading | None:
    q = joints.positions
    return rng.choice(
        [
            lambda: None,
            lambda: replace(joints, positions=q * np.nan),
            lambda: replace(joints, positions=q[:-1]),
            lambda: replace(joints, positions=q + 1e6),
            lambda: replace(joints, positions=np.full(q.shape, np.inf)),
            lambda: replace(joints, time=float(odd_time(rng, joints.time))),
            lambda: replace(joints, torques=np.full(q.shape, np.nan)),
            lambda: replace(joints, torques=np.zeros(1)),
        ]
    )()


class Oddities(SpringHand):
    """A spring hand whose readings are spoilt now and then, or for good, from some moment on."""

    def __init__(self, made_task: MadeTask, seed: int) -> None:
        super().__init__(made_task.grasp, made_task.task.assembly, start=made_task.grasp.trajectory.q[0], seed=seed)
        self.chance = random.Random(seed)
        self.begin = self.chance.uniform(0.0, 12.0)
        self.share = self.chance.choice([0.02, 0.2, 1.0])
        self.what = self.chance.choice(["counts", "time", "joints", "names", "all"])
        self.told: list[np.ndarray] = []

    def command_positions(self, positions: np.ndarray) -> None:
        self.told.append(np.array(positions))
        super().command_positions(positions)

    def read(self) -> Sample:
        sample = super().read()
        if self.time > LONGEST:
            raise AssertionError(f"still running after {LONGEST} s on the driver's clock")
        if self.time < self.begin or self.chance.random() > self.share:
            return sample
        frames: dict[str, Any] = dict(sample.frames)
        joints = sample.joints
        for name, frame in sample.frames.items():
            if self.what in ("counts", "all"):
                frames[name] = replace(frame, counts=odd_counts(self.chance, frame.counts))
            if self.what in ("time", "all"):
                frames[name] = replace(frames[name], time=odd_time(self.chance, frame.time))
        if self.what in ("names", "all") and frames:
            name, frame = self.chance.choice(list(frames.items()))
            frames[self.chance.choice(["", "nobody's", "left_pad"])] = frame
            if self.chance.random() < 0.5:
                frames.pop(name, None)
        if self.what in ("joints", "all") and joints is not None:
            joints = odd_joints(self.chance, joints)
        return Sample(sample.time, joints, frames, sample.stopped)


@pytest.mark.slow
@fuzz(25, seed=st.integers(0, 10**6))
def test_whatever_the_sensors_say_the_run_ends_in_words_and_squeezes_nothing(seed: int) -> None:
    made_task = thing()
    hand = Oddities(made_task, seed)
    result = run_on_driver(hand, made_task.grasp, made_task.task.assembly)
    assert (result.outcome is RunOutcome.HELD) == (result.reason == "")
    assert "the driver failed" not in result.reason, result.reason  # an error was raised, on either side
    robot = made_task.task.assembly.robot
    for q in hand.told:
        assert np.isfinite(q).all()
        assert (q >= robot.lower - 1e-6).all() and (q <= robot.upper + 1e-6).all()
    permitted = min(contact.max_force for contact in made_task.grasp.grasp.contacts)
    above = [force > permitted for force in hand.true_force]
    assert PERIOD * sum(above) <= 0.3, f"{PERIOD * sum(above):.2f} s above {permitted:g} N"
    assert len(result.log) == 0 or result.log["time"][-1] <= LONGEST


@pytest.mark.parametrize("counts", [None, "frame", np.zeros((2, 2)), np.full((10, 5), np.nan)])
def test_a_frame_that_is_none_is_left_out_and_grows_old(counts: Any) -> None:
    made_task = thing()
    hand = SpringHand(made_task.grasp, made_task.task.assembly, start=made_task.grasp.trajectory.q[0])
    sound = hand.read

    def spoilt() -> Sample:
        sample = sound()
        return replace(sample, frames={n: TactileFrame(n, f.time, counts) for n, f in sample.frames.items()})

    hand.read = spoilt  # type: ignore[method-assign]
    result = run_on_driver(hand, made_task.grasp, made_task.task.assembly)
    assert result.outcome is RunOutcome.ABORTED
    assert result.reason and "failed" not in result.reason
