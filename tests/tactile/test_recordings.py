"""Recordings of a real hand, and made-up ones whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pliant.control import Driver, ReplayDriver
from pliant.errors import RecordingError
from pliant.robot import Hand, cell_layout, load_hand
from pliant.tactile import (
    SDH2_RECORDING,
    GraspStatus,
    PadSensor,
    RecordedGrasp,
    Recording,
    analyse_recording,
    ball_between,
    find_onset,
    frame_lag,
    read_recording,
)


@pytest.fixture(scope="module")
def hand() -> Hand:
    return load_hand("schunk_sdh2")


@pytest.fixture(scope="module")
def recordings(shared_data: Path) -> Path:
    folder = shared_data / "sdh2_recordings"
    if not folder.is_dir():
        pytest.skip(f"RECORDINGS ABSENT ({folder})")
    return folder


# -- what was really recorded ------------------------------------------------------------------------------------------

SIZES = {"golf_ball": (42.7, 42.7), "tennis_ball": (65.4, 68.6), "hockey_ball": (71.3, 74.8)}


@pytest.mark.parametrize("name", SIZES)
def test_the_width_of_a_real_ball_follows_from_joints_and_pads(recordings: Path, hand: Hand, name: str) -> None:
    report = analyse_recording(read_recording(recordings / f"{name}.npz"), hand)
    low, high = SIZES[name]
    assert len(report.grasps) == 8
    for grasp in report.grasps:
        assert grasp.status is GraspStatus.HELD
        assert grasp.diameter is not None
        assert low - 3.0 <= 1e3 * grasp.diameter <= high + 3.0
        assert [pad.array for pad in sorted(grasp.pads, key=lambda p: p.array)] == [
            "finger_1_distal",
            "finger_2_distal",
        ]


def test_force_per_millimetre_ranks_foam_below_tennis_below_golf(recordings: Path, hand: Hand) -> None:
    k = {}
    for name in ("foam_ball", "tennis_ball", "golf_ball"):
        k[name] = analyse_recording(read_recording(recordings / f"{name}.npz"), hand).stiffness
    assert None not in k.values()
    assert 0 < k["foam_ball"] < k["tennis_ball"] < k["golf_ball"]


@pytest.mark.parametrize("name", SIZES)
def test_only_rows_counted_from_the_tip_give_one_ball_one_width(recordings: Path, hand: Hand, name: str) -> None:
    recording = read_recording(recordings / f"{name}.npz")
    turned = tuple(
        replace(grasp, frames={key: frames[:, ::-1].copy() for key, frames in grasp.frames.items()})
        for grasp in recording.grasps
    )
    tip = [g.diameter for g in analyse_recording(recording, hand).grasps]
    palm = [g.diameter for g in analyse_recording(replace(recording, grasps=turned), hand).grasps]
    assert np.std(tip) < 0.5e-3
    assert np.std(palm) > 4 * np.std(tip)


def test_facing_pads_see_a_ball_in_mirrored_columns(recordings: Path, hand: Hand) -> None:
    """Both pads count columns in the same sense of their own frame, so at antipodal points the indices add up to 5."""
    for name in SIZES:
        for grasp in analyse_recording(read_recording(recordings / f"{name}.npz"), hand).grasps:
            a, b = (pad.cell[pad.peak_frame, 1] for pad in grasp.pads)
            assert a + b == pytest.approx(5.0, abs=0.5)
            assert grasp.misfit is not None
            assert grasp.misfit < 2e-3


def test_dead_and_noisy_cells_hardly_change_the_answer(recordings: Path, hand: Hand) -> None:
    recording = read_recording(recordings / "tennis_ball.npz")
    rng = np.random.default_rng(5)
    broken = []
    for grasp in recording.grasps:
        frames = {name: counts.copy() for name, counts in grasp.frames.items()}
        frames["finger_1_distal"][:, 6, 3] = 0
        frames["finger_2_distal"][:, 10, 1] = rng.integers(0, 2000, len(grasp.frame_time))
        frames["thumb_proximal"][:, 4, 4] = 900
        broken.append(replace(grasp, frames=frames))
    sound = analyse_recording(recording, hand)
    report = analyse_recording(replace(recording, grasps=tuple(broken)), hand)
    assert report.health["finger_1_distal"].dead[6, 3]
    assert report.health["finger_2_distal"].noisy[10, 1]
    assert report.health["thumb_proximal"].stuck[4, 4]
    assert sum(int(health.bad.sum()) for health in report.health.values()) == 3
    for before, after in zip(sound.grasps, report.grasps, strict=True):
        assert after.diameter == pytest.approx(before.diameter, abs=0.7e-3)
        assert {pad.array for pad in after.pads} == {pad.array for pad in before.pads}


# -- made-up grasps: a ball of known width between the distal pads ---------------------------------------------------


def pinch(
    hand: Hand, *, diameter: float, row: float, lag: float, speed: float, closed: float, seed: int = 0
) -> Recording:
    """A hard ball pressed between soft pads by the Hertz law, seen through the pads' electronics with a lag."""
    rng = np.random.default_rng(seed)
    array = next(a for a in hand.description.tactile if a.name == "finger_1_distal")
    layout = cell_layout(array)
    time = np.arange(0.0, 2.0, 0.006)

    def joints(angle: float) -> np.ndarray:
        return np.array([np.pi / 2, -angle, angle, -1.5, 0.0, -angle, angle])

    def ball_at(angle: float) -> float:
        q = hand.robot.q(dict(zip(SDH2_RECORDING.joints, joints(angle), strict=True)))
        i = int(row)
        point = (1 - row + i) * layout.centres[i, 2:4].mean(0) + (row - i) * layout.centres[i + 1, 2:4].mean(0)
        normal = (1 - row + i) * layout.normals[i, 2] + (row - i) * layout.normals[i + 1, 2]
        normal /= np.linalg.norm(normal)
        poses = hand.robot.poses(["finger_1_distal", "finger_2_distal"], q)
        points = np.array([T.act(point) for T in poses])
        return 2 * ball_between(points, np.array([T.rotation @ normal for T in poses]))[0]

    angles = np.linspace(0.3, -0.05, 400)
    widths = np.array([ball_at(a) for a in angles])
    start = float(np.interp(-(diameter + 0.008), -widths, angles))
    end = float(np.interp(-(diameter - closed), -widths, angles))
    angle = np.maximum(start - speed * time, end)
    frame_time = np.arange(0.0, 1.95, 0.0316)
    sensor = PadSensor(noise=2.0)
    i, j = np.indices(layout.exists.shape)
    frames = []
    for t in frame_time:
        width = np.interp(np.interp(t - lag, time, angle), angles[::-1], widths[::-1])
        depth = max(diameter - width, 0.0) / 2
        force = 4 / 3 * 8e5 * np.sqrt(diameter / 2) * depth**1.5
        spread = np.exp(-0.5 * ((i - row) ** 2 + (j - 2.5) ** 2) / 1.0**2)
        forces = np.where(layout.exists, force * spread / spread.sum(), 0.0)
        counts = sensor.counts(forces, cell_area=layout.area, rng=rng)
        blank = np.zeros((14, 6), dtype=np.int64)
        none = np.zeros((13, 6), dtype=np.int64)
        frames.append(np.concatenate([a.ravel() for a in (blank, counts, blank, none, blank, counts)]))
    stack = np.array(frames)
    pieces, first = {}, 0
    for name, rows, columns in SDH2_RECORDING.arrays:
        pieces[name] = stack[:, first : first + rows * columns].reshape(-1, rows, columns)
        first += rows * columns
    grasp = RecordedGrasp(0, SDH2_RECORDING, frame_time, pieces, time, np.array([joints(a) for a in angle]))
    return Recording("made up", SDH2_RECORDING, (grasp,))


@pytest.mark.parametrize(("diameter", "row", "lag"), [(0.04, 8.0, 0.0), (0.06, 5.5, 0.06), (0.07, 9.4, 0.03)])
def test_a_known_ball_comes_out_as_wide_as_it_is(hand: Hand, diameter: float, row: float, lag: float) -> None:
    """One grasp tells the lag to a frame; the median of several, which stop at other phases of the frame, to half."""
    grasps = [
        pinch(hand, diameter=diameter, row=row, lag=lag, speed=0.1, closed=closed, seed=k).grasps[0]
        for k, closed in enumerate((0.0025, 0.0028, 0.0031, 0.0034, 0.0037))
    ]
    report = analyse_recording(Recording("made up", SDH2_RECORDING, tuple(grasps)), hand)
    assert report.lag_measured
    assert report.lag == pytest.approx(lag, abs=0.5 * 0.0316)
    for grasp in report.grasps:
        assert grasp.diameter == pytest.approx(diameter, abs=0.5e-3)
        for pad in grasp.pads:
            seen = pad.cell[pad.peak_frame]
            np.testing.assert_allclose(seen, [row, 2.5], atol=0.1)
        assert grasp.balance == pytest.approx(1.0, abs=0.02)


def test_facing_pads_of_unlike_gain_are_balanced(hand: Hand) -> None:
    """Counts of one pad are those of half its force: gains sqrt(2) and 1 / sqrt(2), and with them both agree."""
    recording = pinch(hand, diameter=0.05, row=7.0, lag=0.0, speed=0.1, closed=0.003)
    sensor, layout = PadSensor(noise=0.0), cell_layout(hand.description.tactile[1])
    frames = dict(recording.grasps[0].frames)
    weak = sensor.forces(frames["finger_2_distal"], cell_area=layout.area) / 2.0
    frames["finger_2_distal"] = sensor.counts(weak, cell_area=layout.area, rng=np.random.default_rng(0))
    recording = replace(recording, grasps=(replace(recording.grasps[0], frames=frames),))
    report = analyse_recording(recording, hand)
    assert report.gains["finger_2_distal"] == pytest.approx(np.sqrt(2.0), rel=0.02)
    assert report.gains["finger_1_distal"] == pytest.approx(np.sqrt(0.5), rel=0.02)
    (mended,) = analyse_recording(recording, hand, gains=report.gains).grasps
    assert mended.balance == pytest.approx(1.0, abs=0.03)
    assert mended.diameter == pytest.approx(report.diameter, abs=1e-4)


def test_ball_between_is_exact_for_two_inclined_and_three_centric_pads() -> None:
    centre, radius = np.array([0.01, -0.02, 0.03]), 0.025
    for angles in ((0.2, np.pi - 0.2), (0.0, 2 * np.pi / 3, 4 * np.pi / 3)):
        outward = np.array([[np.cos(a), np.sin(a), 0.0] for a in angles])  # from the ball's centre to the pads
        r, c, misfit = ball_between(centre + radius * outward, -outward)
        assert r == pytest.approx(radius, rel=1e-12)
        assert misfit < 1e-15
        if len(angles) == 3:
            np.testing.assert_allclose(c, centre, atol=1e-15)


def test_onset_is_where_hertz_starts_and_brushes_do_not_count() -> None:
    time = np.arange(0, 1, 0.03)
    force = np.maximum(time - 0.41, 0) ** 1.5
    force[3] = 0.001
    onset = find_onset(time, force)
    assert onset is not None
    assert onset.first == time[3]
    assert onset.time == pytest.approx(0.41, abs=1e-9)
    assert find_onset(time, np.zeros_like(time)) is None


def test_a_grasp_that_never_stops_cannot_tell_the_lag() -> None:
    time = np.arange(0, 1, 0.03)
    force = np.maximum(time - 0.41, 0) ** 1.5
    onset = find_onset(time, force)
    assert onset is not None
    assert frame_lag(time, force, time, 0.01 * time, onset, 0.03) is None


def test_a_contact_older_than_the_recording_has_no_known_width(hand: Hand) -> None:
    (grasp,) = pinch(hand, diameter=0.05, row=7.0, lag=0.0, speed=0.1, closed=0.002).grasps
    late = len(grasp.frame_time) // 2
    cut = replace(
        grasp,
        frame_time=grasp.frame_time[late:],
        frames={name: frames[late:] for name, frames in grasp.frames.items()},
    )
    report = analyse_recording(Recording("made up", SDH2_RECORDING, (cut,)), hand)
    assert report.grasps[0].status is GraspStatus.HELD
    assert report.grasps[0].pads[0].force[-1] > 0.5
    assert report.diameter is None


# -- the replay driver -----------------------------------------------------------------------------------------------


def test_replay_is_a_driver_and_shows_every_frame_once(hand: Hand) -> None:
    (grasp,) = pinch(hand, diameter=0.05, row=7.0, lag=0.0, speed=0.1, closed=0.002).grasps
    driver = ReplayDriver(grasp)
    assert isinstance(driver, Driver)
    seen = [driver.read().frames["finger_1_distal"].time]
    while not driver.finished:
        driver.step()
        sample = driver.read()
        seen.append(sample.frames["finger_1_distal"].time)
        assert sample.joints is not None
        assert sample.joints.time <= sample.time
    np.testing.assert_array_equal(seen, grasp.frame_time)


def test_replay_at_a_faster_rate_repeats_frames_with_their_old_time(hand: Hand) -> None:
    (grasp,) = pinch(hand, diameter=0.05, row=7.0, lag=0.0, speed=0.1, closed=0.002).grasps
    driver = ReplayDriver(grasp, period=0.01)
    times = []
    for _ in range(12):
        sample = driver.read()
        times.append((sample.time, sample.frames["thumb_distal"].time))
        driver.step()
    assert all(0 <= now - taken < 0.0317 for now, taken in times)
    assert len({taken for _, taken in times}) == 4
    driver.command_positions(np.zeros(7))
    assert len(driver.commands) == 1
    driver.emergency_stop("enough")
    assert driver.finished
    assert driver.read().stopped == "enough"


# -- broken files ----------------------------------------------------------------------------------------------------


def arrays(n: int = 10, m: int = 20) -> dict[str, np.ndarray]:
    return {
        "g0_frames": np.zeros((n, 486), dtype=np.uint16),
        "g0_frame_time_s": np.arange(n) * 0.03,
        "g0_joints_deg": np.zeros((m, 7)),
        "g0_joint_time_s": np.arange(m) * 0.01,
    }


def test_a_recording_without_contact_or_too_short_says_so(tmp_path: Path, hand: Hand) -> None:
    np.savez(tmp_path / "a.npz", **arrays())
    np.savez(tmp_path / "b.npz", **arrays(n=2, m=1))
    for name, status in (("a", GraspStatus.NO_CONTACT), ("b", GraspStatus.TOO_SHORT)):
        report = analyse_recording(read_recording(tmp_path / f"{name}.npz"), hand)
        assert report.grasps[0].status is status
        assert report.diameter is None
        assert not report.lag_measured


def test_missing_grasps_are_no_problem(tmp_path: Path) -> None:
    data = arrays()
    np.savez(tmp_path / "a.npz", **data, **{key.replace("g0", "g5"): value for key, value in data.items()})
    assert [grasp.index for grasp in read_recording(tmp_path / "a.npz").grasps] == [0, 5]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"g0_frames": np.zeros((10, 480))}, r"g0_frames: shape \(10, 480\); n x 486"),
        ({"g0_frames": np.full((10, 486), 5000)}, "0 to 4095"),
        ({"g0_joints_deg": np.zeros((20, 8))}, r"n x 7"),
        ({"g0_joints_deg": np.full((20, 7), np.nan)}, "not finite"),
        ({"g0_frame_time_s": np.zeros(9)}, "9 times for 10 samples"),
        ({"g0_frame_time_s": np.arange(10)[::-1]}, "go back"),
        ({"g0_frames": np.zeros((0, 486)), "g0_frame_time_s": np.zeros(0)}, "no sample"),
        ({"g0_joints_deg": np.array([["a"] * 7] * 20)}, "numbers"),
        ({"g3_frames": np.zeros((10, 486))}, "lacks g3_frame_time_s"),
    ],
)
def test_broken_recordings_name_the_place(tmp_path: Path, change: dict[str, np.ndarray], message: str) -> None:
    np.savez(tmp_path / "bad.npz", **{**arrays(), **change})
    with pytest.raises(RecordingError, match=message):
        read_recording(tmp_path / "bad.npz")


def test_files_that_are_no_recording_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.npz").write_text("hello")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    np.savez(tmp_path / "pickled.npz", g0_frames=np.array([{"a": 1}], dtype=object))
    (tmp_path / "cut.npz").write_bytes((tmp_path / "other.npz").read_bytes()[:60])
    for name, message in (
        ("text", "not a NumPy"),
        ("other", "no grasp; found: x"),
        ("pickled", "not a NumPy"),
        ("cut", "not a NumPy"),
        ("absent", "no such file"),
    ):
        with pytest.raises(RecordingError, match=message):
            read_recording(tmp_path / f"{name}.npz")
