"""A slip that is seen late is dated back to its beginning."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.calibration.slip_onset import SlipSeen, forces_at, see_slip

FRAME, TIME_CONSTANT, LIGHTEST = 0.032, 1.2, 0.6  # [s], [s], the force that just holds [N]


def loosened(rng: np.random.Generator, *, noise: float = 3e-4, edge: float | None = None) -> tuple:
    """Frames of a weight between two pads that are loosened: times, slides, forces, and when friction gave way.

    The fall is integrated step by step. With an edge the pads see nothing of it, until it has come by.
    """
    step, gravity = 1e-4, 9.81
    start = TIME_CONSTANT * np.log(2.0)  # twice the lightest force to begin with
    times = np.arange(0.0, start + 0.5, step)
    normal = LIGHTEST * np.exp((start - times) / TIME_CONSTANT)
    speed = np.cumsum(np.where(normal < LIGHTEST, gravity * (1.0 - normal / LIGHTEST), 0.0)) * step
    way = np.cumsum(speed) * step
    frames = np.arange(0.0, times[-1], FRAME)
    at = np.searchsorted(times, frames)
    seen = np.repeat(way[at][:, None], 2, axis=1) + rng.normal(0.0, noise, (len(at), 2))
    forces = np.repeat(normal[at][:, None], 2, axis=1) * rng.normal(1.0, 0.01, (len(at), 2))
    if edge is not None:
        gone = way[at] > edge
        seen = rng.normal(0.0, noise, (len(at), 2))
        seen[gone], forces[gone] = np.nan, 0.0
    return frames, seen, forces, start


def first_seen(frames: np.ndarray, slides: np.ndarray, forces: np.ndarray) -> tuple[float, SlipSeen] | None:
    for k in range(2, len(frames) + 1):
        if (seen := see_slip(frames[:k], slides[:k], forces[:k])) is not None:
            return float(frames[k - 1]), seen
    return None


@pytest.mark.parametrize("seed", range(8))
def test_a_contact_that_runs_over_its_pad_began_where_friction_gave_way(seed: int) -> None:
    frames, slides, forces, start = loosened(np.random.default_rng(seed))
    found = first_seen(frames, slides, forces)
    assert found is not None
    seen_at, seen = found
    assert not seen.broken
    assert 0.05 < seen_at - start < 0.25  # later than it began: nobody sees a slip at once
    assert seen.began == pytest.approx(start, abs=0.06)
    assert forces_at(frames, forces, seen.began) == pytest.approx(LIGHTEST, rel=0.06)


@pytest.mark.parametrize("edge", [0.001, 0.004, 0.02])
def test_a_face_larger_than_its_pad_slips_unseen_and_is_dated_back_when_its_edge_has_come_by(edge: float) -> None:
    frames, slides, forces, _ = loosened(np.random.default_rng(0), edge=edge)
    found = first_seen(frames, slides, forces)
    assert found is not None
    _, seen = found
    assert seen.broken
    assert forces_at(frames, forces, seen.began) == pytest.approx(LIGHTEST, rel=0.1)


@pytest.mark.parametrize("noise", [1e-4, 5e-4, 1e-3])
def test_centres_that_only_rustle_have_not_slipped(noise: float) -> None:
    rng = np.random.default_rng(1)
    frames = np.arange(0.0, 20.0, FRAME)
    drift = 5e-4 * frames[:, None]  # as patches shrink
    slides = drift + rng.normal(0.0, noise, (len(frames), 2))
    forces = np.repeat(2.0 * np.exp(-frames / 5.0)[:, None], 2, axis=1) * rng.normal(1.0, 0.01, (len(frames), 2))
    assert first_seen(frames, slides, forces) is None


def test_one_wrong_frame_is_no_slip() -> None:
    frames, slides, forces, start = loosened(np.random.default_rng(2))
    before = frames < start - 0.1
    frames, slides, forces = frames[before], slides[before].copy(), forces[before].copy()
    forces[-3], slides[-3] = 0.0, np.nan
    assert first_seen(frames, slides, forces) is None
    forces[-2:] = 0.0
    assert first_seen(frames, slides, forces) is not None


def test_pads_that_do_not_look_see_nothing() -> None:
    frames, slides, forces, _ = loosened(np.random.default_rng(3))
    slides[:, 1], forces[:, 1] = np.nan, np.nan
    assert first_seen(frames, slides, forces) is None
