"""A control step fits into half a millisecond of one core, log writing included, whatever the simulator takes."""

from __future__ import annotations

import time

import numpy as np
import pytest

from made_plans import made
from pliant.control import GraspController, RunPhase
from spring_hand import SpringHand

PHASES = (RunPhase.CLOSE, RunPhase.SQUEEZE, RunPhase.LIFT, RunPhase.HOLD)
LIMIT = 0.5e-3  # [s]


@pytest.mark.performance
def test_a_control_step_takes_less_than_half_a_millisecond() -> None:
    """19 of 20 steps of every phase; a step counts with its least time over runs that all take the same steps.

    Other work on the machine only adds time, so runs are repeated, within a bound, until enough of them were quiet.
    """
    there = made("ball")
    least: dict[RunPhase, list[float]] = {}
    slowest = np.inf
    for _ in range(48):
        hand = SpringHand(there.grasp, there.task.assembly)
        controller = GraspController(there.grasp, there.task.assembly, start=RunPhase.CLOSE)
        spent: dict[RunPhase, list[float]] = {phase: [] for phase in RunPhase}
        finished = False
        while not finished:
            sample = hand.read()
            began = time.process_time()
            command = controller.step(sample)
            spent[command.phase].append(time.process_time() - began)
            hand.command_positions(command.positions)
            hand.step()
            finished = command.finished
        assert controller.phase is RunPhase.DONE
        least = {p: np.minimum(least.get(p, np.inf), spent[p]).tolist() for p in PHASES}
        slowest = max(float(np.percentile(least[phase], 95)) for phase in PHASES)
        if slowest < LIMIT:
            break
    assert slowest < LIMIT, {str(p): f"{1e3 * np.percentile(least[p], 95):.2f} ms" for p in PHASES}
