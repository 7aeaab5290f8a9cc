"""A run beside its plan: forces and centres of pressure, contact by contact."""

from __future__ import annotations

import numpy as np
import pytest
from comparison import compare_contacts

from pliant.control import RunPhase, RunRecorder

PHASES = tuple(RunPhase)


def recorded(rows: list[tuple[RunPhase, list[float], list[float], float]]) -> RunRecorder:
    """Steps of two contacts: phase, planned and measured forces [N], how far the first one's centre is off [m]."""
    recorder = RunRecorder(("joint",), ("left", "right"))
    for k, (phase, planned, measured, off) in enumerate(rows):
        points = np.zeros((2, 3))
        felt = np.array([[0.0, off, 0.0], [np.nan] * 3])
        recorder.append(
            {
                "time": 0.01 * k,
                "phase": PHASES.index(phase),
                "force_planned": planned,
                "force_measured": measured,
                "point_planned": points,
                "point_measured": felt,
            }
        )
    return recorder


def test_means_of_the_phase_asked_for_alone_are_compared() -> None:
    log = recorded(
        [
            (RunPhase.LIFT, [9.0, 9.0], [9.0, 9.0], 0.5),
            (RunPhase.HOLD, [2.0, 1.0], [1.0, np.nan], 0.001),
            (RunPhase.HOLD, [2.0, 1.0], [2.0, 0.5], 0.002),
            (RunPhase.HOLD, [2.0, 1.0], [1.5, 0.5], 0.009),
        ]
    ).log()
    left, right = compare_contacts(log)
    assert (left.name, left.planned_force, left.measured_force) == ("left", 2.0, pytest.approx(1.5))
    assert left.force_error == pytest.approx(-0.25)
    assert left.point_error == pytest.approx(0.002), "the median: a single frame that hops does not count"
    assert right.measured_force == pytest.approx(1.0 / 3.0), "what is not felt counts as nothing"
    assert np.isnan(right.point_error)


def test_a_phase_that_never_came_has_nothing_to_compare() -> None:
    log = recorded([(RunPhase.LIFT, [1.0, 0.0], [1.0, 0.2], 0.0)]).log()
    assert compare_contacts(log, RunPhase.HOLD) == ()
    assert np.isnan(compare_contacts(log, RunPhase.LIFT)[1].force_error)
