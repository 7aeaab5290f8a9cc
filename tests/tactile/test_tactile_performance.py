"""Tactile processing leaves a control step of one millisecond room for everything else."""

from __future__ import annotations

import time

import numpy as np
import pytest

from pliant.robot import load_hand
from pliant.tactile import RegionFilter, TactileFrame, TactileProcessor


@pytest.mark.performance
def test_frames_of_a_whole_hand_take_less_than_half_a_control_step() -> None:
    hand = load_hand("schunk_sdh2").description
    processor = TactileProcessor.for_hand(hand)
    frames = {}
    for array in hand.tactile:
        i, j = np.indices((array.rows, array.columns))
        counts = (1500 * np.exp(-((i - 7) ** 2 + (j - 2.5) ** 2) / 4)).astype(np.int64)
        pressed = array.name.endswith("distal")
        frames[array.name] = TactileFrame(array.name, 0.0, np.where(counts > 20, counts, 0) * pressed)
    filters = {name: RegionFilter() for name in frames}

    def step() -> None:
        for name, frame in frames.items():
            reading = processor.process(frame)
            region = reading.regions[0] if reading.regions else None
            filters[name].update((region.force, region.centre) if region is not None else None)

    best = np.inf
    for _ in range(20):
        start = time.process_time()
        for _ in range(25):
            step()
        best = min(best, (time.process_time() - start) / 25)
    assert best < 0.5e-3
