"""Exports of runs, read back by other readers and compared with the log."""

from __future__ import annotations

import csv
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pliant.control import Event, RunLog, RunPhase, RunRecorder
from pliant.errors import InputError, OptionError, PlanError
from pliant.files import ExportOptions, export_file, save_run
from pliant.files.export.exporting import export_run
from pliant.tactile import TactileFrame

START = 1000.0


@pytest.fixture(scope="module")
def log() -> RunLog:
    """Twenty steps of a pinch, the clock of which does not begin at zero; the right pad knows nothing at first."""
    rng = np.random.default_rng(1)
    recorder = RunRecorder(("lift", "opening"), ("left_finger", "right_finger:1"))
    for i in range(20):
        recorder.append(
            {
                "time": 5.0 + 0.01 * i,
                "plan_time": 0.01 * i,
                "phase": 2 if i < 10 else 3,
                "q_measured": rng.normal(size=2),
                "q_commanded": rng.normal(size=2),
                "torque_measured": rng.normal(size=2) if i % 2 else None,
                "force_measured": [1.0 + 0.1 * i, np.nan if i < 5 else 2.0],
                "force_wanted": [1.0, 1.5],
                "point_measured": rng.normal(size=(2, 3)) if i else None,
            }
        )
        counts = rng.integers(0, 4096, (4, 3)).astype(float)
        counts[0, 0] = np.nan if i == 0 else 7.0
        recorder.frame(TactileFrame("left pad", 4.995 + 0.01 * i, counts))
    recorder.event(Event(5.15, RunPhase.LIFT, "abort", "force over limit"))
    return recorder.log({"seed": 3, "worst": float("inf")})


def by_topic(bag: Path) -> dict[str, list[tuple[int, str, Any]]]:
    from rosbags.highlevel import AnyReader
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC if bag.suffix == ".bag" else Stores.ROS2_HUMBLE)
    found: dict[str, list[tuple[int, str, Any]]] = {}
    with AnyReader([bag], default_typestore=store) as reader:
        for connection, time, data in reader.messages():
            message = reader.deserialize(data, connection.msgtype)
            found.setdefault(connection.topic, []).append((time, connection.msgtype, message))
    return found


@pytest.mark.parametrize(("kind", "name"), [("mcap", "run.mcap"), ("ros1", "run.bag"), ("ros2", "run")])
def test_a_bag_holds_the_run(log: RunLog, tmp_path: Path, kind: str, name: str) -> None:
    (bag,) = export_run(log, tmp_path / name, format=kind, options=ExportOptions(start=START))
    found = by_topic(bag)
    assert set(found) == {
        "/joint_states", "/commanded/joint_states", "/phase", "/events", "/tactile/left_pad",
        "/contacts/left_finger/measured", "/contacts/left_finger/wanted", "/contacts/left_finger/point_measured",
        "/contacts/right_finger_1/measured", "/contacts/right_finger_1/wanted",
        "/contacts/right_finger_1/point_measured",
    }  # fmt: skip
    states = found["/joint_states"]
    assert [time for time, _, _ in states] == [int(1e9 * START) + 10_000_000 * i for i in range(20)]
    np.testing.assert_array_equal([message.position for _, _, message in states], log["q_measured"])
    assert [len(message.effort) for _, _, message in states] == [0, 2] * 10
    np.testing.assert_array_equal(states[3][2].effort, log["torque_measured"][3])
    assert list(states[0][2].name) == ["lift", "opening"]
    forces = found["/contacts/right_finger_1/measured"]
    assert [message.wrench.force.z for _, _, message in forces] == [2.0] * 15  # unknown before the sixth step
    point = found["/contacts/right_finger_1/point_measured"][0][2]
    assert point.header.frame_id == "right_finger"
    assert [point.point.x, point.point.y, point.point.z] == log["point_measured"][1, 1].tolist()
    assert [message.data for _, _, message in found["/phase"]] == ["squeeze", "lift"]
    ((time, _, event),) = found["/events"]
    assert time == int(1e9 * START) + 150_000_000
    assert json.loads(event.data) == {"phase": "lift", "kind": "abort", "text": "force over limit"}


def test_tactile_images_are_the_frames(log: RunLog, tmp_path: Path) -> None:
    """Bytes unpacked by hand: 16-bit numbers row by row, signed where a cell gave none."""
    (bag,) = export_run(log, tmp_path / "run.mcap", format="mcap", options=ExportOptions(start=START))
    images = by_topic(bag)["/tactile/left_pad"]
    assert images[0][0] == int(1e9 * START) - 5_000_000
    for (_, kind, image), counts in zip(images, log.frames["left pad"].counts, strict=True):
        assert kind == "sensor_msgs/msg/Image"
        assert (image.height, image.width, image.step) == (4, 3, 6)
        signed = image.encoding == "16SC1"
        values = struct.unpack(f"<12{'h' if signed else 'H'}", bytes(image.data))
        assert list(values) == counts.ravel().tolist()
        assert signed == (counts[0, 0] == -1)
    assert images[0][2].encoding == "16SC1"


def test_tables_hold_every_quantity(log: RunLog, tmp_path: Path) -> None:
    table, events = export_run(log, tmp_path / "run.csv", format="csv")
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["phase"] for row in rows] == ["squeeze"] * 10 + ["lift"] * 10
    assert [float(row["time"]) for row in rows] == log["time"].tolist()
    assert [float(row["q_measured.opening"]) for row in rows] == log["q_measured"][:, 1].tolist()
    assert rows[0]["force_measured.right_finger:1"] == ""
    assert float(rows[5]["force_measured.right_finger:1"]) == 2.0
    assert float(rows[7]["point_measured.left_finger.z"]) == log["point_measured"][7, 0, 2]
    assert events.read_text().splitlines()[1] == "5.15,lift,abort,force over limit"


def test_json_holds_the_table(log: RunLog, tmp_path: Path) -> None:
    (file,) = export_run(log, tmp_path / "run.json", format="json")
    fields = json.loads(file.read_text())
    assert fields["table"]["force_measured"][0] == [1.0, None]
    assert fields["table"]["q_measured"] == log["q_measured"].tolist()
    assert fields["facts"] == {"seed": 3, "worst": None}


def test_a_run_file_is_told_from_a_plan(log: RunLog, tmp_path: Path) -> None:
    for name in ("one.run", "one.plan"):
        run = save_run(log, tmp_path / name)
        assert export_file(run, tmp_path / f"{name}.csv", format="csv")[0].stat().st_size > 1000
    with pytest.raises(OptionError, match="no format of runs 'grasps'"):
        export_file(run, tmp_path / "x.npz", format="grasps")
    with pytest.raises(OptionError, match="no format 'xml'"):
        export_run(log, tmp_path / "x", format="xml")
    with pytest.raises(PlanError, match="no steps"):
        export_run(RunRecorder(("a",), ()).log(), tmp_path / "x", format="csv")
    (tmp_path / "broken.run").write_bytes(run.read_bytes()[:500])
    with pytest.raises(InputError, match="is not a run log"):
        export_file(tmp_path / "broken.run", tmp_path / "x.csv", format="csv")
