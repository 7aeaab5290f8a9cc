"""Path files: read, refused with file and field, tracked, written."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from pliant.errors import DocumentError
from pliant.motion import PathStatus, read_path_file, write_points

GOOD = """
duration: 0.4
start_deg: {joint2: 40, joint3: -70}
frames:
  - {link: palm_frame, path: {circle: {radius: 0.05, axis: [1, 0, 0], period: 3}}}
"""


@pytest.fixture
def read(tmp_path, robot, q_work):
    def reader(text):
        file = tmp_path / "path.yaml"
        file.write_text(text)
        return read_path_file(file, robot, q_home=q_work)

    return reader


def test_a_path_file_is_tracked_and_its_points_written(read, robot, q_work, tmp_path):
    job = read(GOOD)
    assert job.q_start[1] == pytest.approx(np.radians(40))
    assert job.q_start[0] == q_work[0]
    array = job.run()
    assert array.status is PathStatus.FOLLOWED
    write_points(array, robot, tmp_path / "points.csv")
    with (tmp_path / "points.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["time_s", *robot.joint_names]
    np.testing.assert_allclose(np.array(rows[1:], dtype=float), np.column_stack([array.times, array.q]), atol=1e-9)


@pytest.mark.parametrize(
    "path",
    [
        "{here: true}",
        "{eight: {along: [0.03, 0, 0], across: [0, 0.02, 0], tilt: [0.1, 0, 0], period: 4}}",
        "{circle: {centre: [0.9, 0.1, 0.9], period: 30, turning: true}}",
    ],
)
def test_every_generator_starts_where_the_frame_is(read, robot, path):
    job = read(f"duration: 0.2\nframes: [{{link: palm_frame, path: {path}}}]")
    T = robot.pose("palm_frame", job.q_start)
    np.testing.assert_allclose(job.targets[0][1].at(0.0)[0].homogeneous, T.homogeneous, atol=1e-12)
    assert job.run().tracking_m < 1e-4


def test_points_keep_the_starting_orientation_unless_they_give_one(read, robot):
    job = read(
        "frames: [{link: palm_frame, path: {points: [{time: 0, position: [1, 0, 1]},"
        " {time: 2, position: [1, 0.1, 1], rpy_deg: [180, 0, 0]}]}}]"
    )
    assert job.duration == 2.0
    start = robot.pose("palm_frame", job.q_start).rotation
    np.testing.assert_allclose(job.targets[0][1].at(0.0)[0].rotation, start, atol=1e-12)
    np.testing.assert_allclose(job.targets[0][1].at(2.0)[0].rotation, np.diag([1.0, -1.0, -1.0]), atol=1e-9)


def test_a_moving_basis_and_a_link_as_basis(read):
    job = read(
        "duration: 0.5\nbases: {belt: {constant: {start: {position: [1, 0, 0.8]}, velocity: [0, 0.05, 0]}}}\nframes:\n"
        "  - {link: palm_frame, relative_to: belt, path: {here: true}}\n"
        "  - {link: tip_of_thumb, rows: position, relative_to: palm, path: {here: true}}\n"
    )
    array = job.run(limits=None)
    assert array.status is PathStatus.FOLLOWED
    moved = job.robot.pose("palm_frame", array.q[-1]).translation - job.robot.pose("palm_frame", array.q[0]).translation
    np.testing.assert_allclose(moved, [0.0, 0.025, 0.0], atol=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("frames: []", "frames"),
        (
            "duration: 1\nframes: [{link: plam_frame, path: {here: true}}]",
            r"frames\[0\].link: no link.*closest: palm_frame",
        ),
        ("duration: 1\nframes: [{link: palm, path: {}}]", r"frames\[0\].path: .*nothing given; give one of hold, here"),
        (
            "duration: 1\nframes: [{link: palm, path: {here: true, circle: {radius: 1, period: 1}}}]",
            "here and circle given",
        ),
        ("frames: [{link: palm, path: {here: true}}]", "duration: is not given"),
        ("duration: 1e9\nframes: [{link: palm, path: {here: true}}]", "steps; at most"),
        ("duration: 1\nsolvr: qp\nframes: [{link: palm, path: {here: true}}]", "solvr.*solver"),
        (
            "duration: 1\nstart: {joint9: 0}\nframes: [{link: palm, path: {here: true}}]",
            "start: no independent joint 'joint9'",
        ),
        (
            "duration: 1\nframes: [{link: palm, relative_to: belt, path: {here: true}}]",
            "relative_to: no basis or link 'belt'",
        ),
        ("duration: 1\nframes: [{link: palm, basis: wrld, path: {here: true}}]", "basis: no basis 'wrld'.*world"),
        ("duration: 1\nframes: [{link: palm, rows: posture, path: {here: true}}]", r"frames\[0\].*posture"),
        (
            "duration: 1\nscales: {joint9: 2}\nframes: [{link: palm, path: {here: true}}]",
            "scales: no independent joint 'joint9'",
        ),
        ("duration: 1\nscales: {joint1: 0}\nframes: [{link: palm, path: {here: true}}]", "scales.joint1"),
        (
            "duration: 1\njoints: [joint9]\nframes: [{link: palm, path: {here: true}}]",
            "joints: no independent joint 'joint9'",
        ),
        ("duration: 1\nsplit: plam\nframes: [{link: palm, path: {here: true}}]", "split: no link 'plam'.*palm"),
        (
            "duration: 1\nsplit: palm\nframes: [{link: palm, path: {here: true}}]",
            "split: no frame belongs to the part beyond 'palm'",
        ),
        ("duration: .nan\nframes: [{link: palm, path: {here: true}}]", "duration"),
        (
            "frames: [{link: palm, path: {hold: {position: [1, 0, 1], quaternion: [1, 1, 0, 0]}}}]",
            "quaternion.*has length 1.414",
        ),
        (
            "frames: [{link: palm, path: {points:"
            " [{time: 0, position: [1, 0, 1]}, {time: 0.01, position: [1, 1, 1]}]}}]",
            r"frames\[0\].path.points\[1\]: jumps by 1 m in 0.01 s",
        ),
        (
            "duration: 1\nframes: [{link: palm, path: {circle: {radius: 0.1, centre: [0, 0, 0], period: 1}}}]",
            "either centre or radius",
        ),
    ],
)
def test_a_broken_file_says_file_field_and_what_is_allowed(read, text, message):
    with pytest.raises(DocumentError, match=message) as caught:
        read(text)
    assert "path.yaml" in str(caught.value)
