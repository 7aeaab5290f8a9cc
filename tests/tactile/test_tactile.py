"""Regions, forces and centres of pressure from frames of counts."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.errors import OptionError
from pliant.robot import TactileArray, cell_layout, load_hand
from pliant.tactile import PadSensor, TactileFrame, TactileProcessor, find_regions, judge_cells, mend_forces


@pytest.fixture(scope="module")
def processor() -> TactileProcessor:
    return TactileProcessor.for_hand(load_hand("schunk_sdh2").description, sensor=PadSensor(noise=0.0, threshold=0))


def blob(shape: tuple[int, int], row: float, column: float, total: float, width: float = 1.2) -> np.ndarray:
    i, j = np.indices(shape)
    values = np.exp(-0.5 * ((i - row) ** 2 + (j - column) ** 2) / width**2)
    values[values < 1e-3] = 0.0
    return total * values / values.sum()


def test_the_regions_together_carry_all_of_the_force(processor: TactileProcessor) -> None:
    array, layout = processor.arrays["thumb_proximal"], processor.layout("thumb_proximal")
    forces = blob((14, 6), 2.5, 2.0, 3.0, 0.8) + blob((14, 6), 10.4, 3.2, 5.0, 0.9)
    regions = find_regions(array, layout, forces)
    assert len(regions) == 2
    assert regions[0].force == pytest.approx(5.0, rel=1e-3)
    assert sum(region.force for region in regions) == pytest.approx(forces.sum(), rel=1e-12)
    assert not (regions[0].cells & regions[1].cells).any()


def test_the_centre_of_pressure_is_the_exact_centroid_on_a_flat_array(processor: TactileProcessor) -> None:
    array, layout = processor.arrays["finger_1_proximal"], processor.layout("finger_1_proximal")
    forces = np.zeros((14, 6))
    forces[3:6, 1:4] = np.random.default_rng(3).uniform(0.1, 1.0, (3, 3))
    (region,) = find_regions(array, layout, forces)
    exact = np.tensordot(forces, layout.centres, axes=2) / forces.sum()
    np.testing.assert_allclose(region.centre, exact, atol=1e-15)
    np.testing.assert_allclose(region.normal, [1.0, 0.0, 0.0], atol=1e-12)


def test_the_centre_of_pressure_lies_on_the_bent_surface(processor: TactileProcessor) -> None:
    array, layout = processor.arrays["thumb_distal"], processor.layout("thumb_distal")
    assert array.bend is not None
    forces = np.where(layout.exists, blob((13, 6), 5.3, 2.5, 4.0), 0.0)
    (region,) = find_regions(array, layout, forces)
    # Axis of the arc: from the point where the flat part ends, one radius inwards.
    axis = np.array([0.01485 - array.bend.radius, 0.03326])
    distance = np.hypot(*(region.centre[[0, 2]] - axis))
    chord = 0.0034**2 / (8 * array.bend.radius)
    assert distance == pytest.approx(array.bend.radius, abs=1.1 * chord + 2e-6)
    outward = (region.centre[[0, 2]] - axis) / distance
    np.testing.assert_allclose(region.normal[[0, 2]], outward, atol=2e-3)


def test_a_frame_gives_back_the_force_it_was_made_from(processor: TactileProcessor) -> None:
    layout = processor.layout("finger_2_distal")
    forces = np.where(layout.exists, blob((13, 6), 8.0, 2.4, 3.0, 1.0), 0.0)
    counts = processor.sensor.counts(forces, cell_area=layout.area)
    reading = processor.process(TactileFrame("finger_2_distal", 1.5, counts))
    # Half a count in each of some thirty cells, at most 1.96 N / 5600 counts each.
    assert reading.force == pytest.approx(forces.sum(), abs=30 * 0.5 * 1.96 / 5600)
    assert reading.time == 1.5
    assert reading.regions[0].peak_pressure == pytest.approx(forces.max() / layout.area, rel=0.01)
    assert not reading.regions[0].saturated


def test_a_whisper_below_the_smallest_force_is_no_contact(processor: TactileProcessor) -> None:
    counts = np.zeros((13, 6), dtype=np.int64)
    counts[6, 2] = 10  # 3.5 mN
    assert processor.process(TactileFrame("thumb_distal", 0.0, counts)).regions == ()


def test_a_soft_thing_that_lies_flat_is_felt_though_no_cell_is_pressed_hard(processor: TactileProcessor) -> None:
    """A sponge on a whole pad: no cell reaches the smallest force, all of them together are several times that."""
    name = next(iter(processor.arrays))
    array, layout = processor.arrays[name], processor.layout(name)
    flat = np.where(layout.exists, 0.5 * array.min_force, 0.0)
    (region,) = find_regions(array, layout, flat)
    assert region.force == pytest.approx(0.5 * array.min_force * layout.exists.sum())
    few = np.zeros_like(flat)
    few[3, 2:5] = 0.5 * array.min_force
    assert find_regions(array, layout, few) == ()


def test_saturated_cells_are_said(processor: TactileProcessor) -> None:
    counts = np.zeros((13, 6), dtype=np.int64)
    counts[6, 2] = 4095
    assert processor.process(TactileFrame("thumb_distal", 0.0, counts)).regions[0].saturated


def test_frames_of_another_array_or_shape_are_refused(processor: TactileProcessor) -> None:
    with pytest.raises(OptionError, match="closest: thumb_distal"):
        processor.process(TactileFrame("thumb_dstal", 0.0, np.zeros((13, 6), dtype=np.int64)))
    with pytest.raises(OptionError, match="13 x 6"):
        processor.process(TactileFrame("thumb_distal", 0.0, np.zeros((6, 13), dtype=np.int64)))


def pressing(frames: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A growing contact on a 14 x 6 array with 3 counts of noise on pressed cells."""
    exists = np.ones((14, 6), dtype=bool)
    shape = blob((14, 6), 6.0, 2.5, 1.0, 1.5)
    stack = np.array([np.minimum(k, 10) * 1200 * shape / shape.max() / 10 for k in range(frames)])
    stack = np.where(stack > 20, stack + rng.normal(0, 3, stack.shape), 0.0)
    return np.rint(np.maximum(stack, 0)).astype(np.int64), exists


def test_sound_cells_are_not_blamed_and_a_dead_stuck_and_noisy_one_are_found() -> None:
    rng = np.random.default_rng(0)
    frames, exists = pressing(40, rng)
    assert not judge_cells(frames, exists).bad.any()
    frames[:, 6, 2] = 0
    frames[:, 12, 5] = 777
    frames[:, 0, 0] = rng.integers(0, 1500, 40)
    health = judge_cells(frames, exists)
    assert np.argwhere(health.dead).tolist() == [[6, 2]]
    assert np.argwhere(health.stuck).tolist() == [[12, 5]]
    assert np.argwhere(health.noisy).tolist() == [[0, 0]]


def test_too_few_frames_blame_nobody() -> None:
    frames, exists = pressing(5, np.random.default_rng(0))
    frames[:, 12, 5] = 777
    assert not judge_cells(frames, exists).bad.any()


def test_a_mended_dead_cell_costs_little_force_and_shifts_the_centre_little(processor: TactileProcessor) -> None:
    array, layout = processor.arrays["thumb_proximal"], processor.layout("thumb_proximal")
    forces = blob((14, 6), 7.2, 2.6, 4.0, 1.3)
    broken = forces.copy()
    broken[7, 3] = 0.0
    bad = np.zeros((14, 6), dtype=bool)
    bad[7, 3] = True
    mended = mend_forces(broken, bad, layout.exists)
    lost, left = forces.sum() - broken.sum(), abs(forces.sum() - mended.sum())
    assert lost > 0.08 * forces.sum()
    assert left < 0.35 * lost
    (whole,), (healed,) = (find_regions(array, layout, f) for f in (forces, mended))
    assert np.linalg.norm(whole.centre - healed.centre) < 0.2e-3


def test_one_row_and_one_column_are_arrays_too() -> None:
    array = TactileArray.model_validate(
        {"name": "line", "link": "l", "pose": {}, "rows": 1, "columns": 5, "cell": [0.002, 0.002]}
    )
    forces = np.array([[0.0, 1.0, 2.0, 1.0, 0.0]])
    (region,) = find_regions(array, cell_layout(array), forces)
    np.testing.assert_allclose(region.centre, [0.0, 0.001, 0.0], atol=1e-15)
