"""Exports, read back by readers that share no code with the writers, and compared with the plan."""

from __future__ import annotations

import csv
import json
import sqlite3
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
import yaml

from made_plans import GRAVITY, ball_plan
from pliant.cli import run_command as run
from pliant.errors import InputError, OptionError, PlanError
from pliant.files import ExportOptions, export_file, export_plan, save_plan
from pliant.objects import read_mesh
from pliant.planner import Plan, PlanStatus
from pliant.robot import SHIPPED, load_robot

START, RATE = 1_700_000_000.0, 20.0
OPTIONS = ExportOptions(rate=RATE, start=START)
TYPES = {
    "/joint_trajectory": "trajectory_msgs/msg/JointTrajectory",
    "/arm/joint_trajectory": "trajectory_msgs/msg/JointTrajectory",
    "/hand/joint_trajectory": "trajectory_msgs/msg/JointTrajectory",
    "/joint_states": "sensor_msgs/msg/JointState",
    "/tf": "tf2_msgs/msg/TFMessage",
    "/tf_static": "tf2_msgs/msg/TFMessage",
    "/markers": "visualization_msgs/msg/MarkerArray",
    "/contacts/left_finger/wrench": "geometry_msgs/msg/WrenchStamped",
    "/contacts/left_finger/wanted": "geometry_msgs/msg/WrenchStamped",
    "/contacts/right_finger/wrench": "geometry_msgs/msg/WrenchStamped",
    "/contacts/right_finger/wanted": "geometry_msgs/msg/WrenchStamped",
}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return ball_plan()


@pytest.fixture(scope="module")
def bags(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("bags")
    names = {"mcap": "ball.mcap", "ros1": "ball.bag", "ros2": "ball"}
    for kind, name in names.items():
        assert export_plan(plan, folder / name, format=kind, options=OPTIONS) == (folder / name,)
    return {kind: folder / name for kind, name in names.items()}


def messages(bag: Path) -> list[tuple[str, str, int, Any]]:
    """Topic, type, time and message, by the reader of rosbags."""
    from rosbags.highlevel import AnyReader
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC if bag.suffix == ".bag" else Stores.ROS2_HUMBLE)
    with AnyReader([bag], default_typestore=store) as reader:
        return [(c.topic, c.msgtype, t, reader.deserialize(data, c.msgtype)) for c, t, data in reader.messages()]


def pose(transform: Any) -> pin.SE3:
    p, r = transform.translation, transform.rotation
    return pin.SE3(pin.Quaternion(r.w, r.x, r.y, r.z).matrix(), np.array([p.x, p.y, p.z]))


def ns(stamp: Any) -> int:
    return stamp.sec * 10**9 + stamp.nanosec


# -- bags --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["mcap", "ros1", "ros2"])
def test_a_bag_holds_the_plan(plan: Plan, bags: dict[str, Path], kind: str) -> None:
    """Types, times, frames and values of every topic."""
    found = messages(bags[kind])
    assert {topic: kind_of for topic, kind_of, _, _ in found} == TYPES
    times = [time for _, _, time, _ in found]
    assert times == sorted(times)
    begin, robot, best = int(START * 1e9), plan.task.assembly.robot, plan.best
    assert (times[0], times[-1]) == (begin, begin + round(best.trajectory.duration * 1e9))

    by_topic: dict[str, list[tuple[int, Any]]] = {}
    for topic, _, time, message in found:
        by_topic.setdefault(topic, []).append((time, message))

    ((time, trajectory),) = by_topic["/joint_trajectory"]
    assert tuple(trajectory.joint_names) == robot.joint_names
    assert ns(trajectory.header.stamp) == time == begin
    np.testing.assert_array_equal([point.positions for point in trajectory.points], best.trajectory.q)
    from_start = [ns(point.time_from_start) * 1e-9 for point in trajectory.points]
    np.testing.assert_allclose(from_start, best.trajectory.times, atol=1e-9)
    ((_, hand),) = by_topic["/hand/joint_trajectory"]
    assert list(hand.joint_names) == ["opening"]
    np.testing.assert_array_equal([point.positions for point in hand.points], best.trajectory.q[:, 6:])

    states = by_topic["/joint_states"]
    assert len(states) >= best.trajectory.duration * RATE
    for time, state in states:
        assert ns(state.header.stamp) == time
        values = dict(zip(state.name, state.position, strict=True))
        q = best.trajectory.at((time - begin) * 1e-9)
        # Stamps are whole nanoseconds and the fastest joint turns at 8.4 rad/s.
        np.testing.assert_allclose([values[name] for name in robot.joint_names], q, atol=1e-8)
        assert values["right_opening"] == pytest.approx(values["opening"], abs=1e-15)
    assert {round(t * 1e9) for t in best.trajectory.times} <= {time - begin for time, _ in states}

    wrenches = by_topic["/contacts/left_finger/wrench"]
    assert [time - begin for time, _ in wrenches] == [round(s.time * 1e9) for s in best.states]
    for (_, message), state in zip(wrenches, best.states, strict=True):
        assert message.header.frame_id == "contact_left_finger"
        f = message.wrench.force
        assert [f.x, f.y, f.z] == state.contacts[0].force.tolist()


@pytest.mark.parametrize("kind", ["mcap", "ros1", "ros2"])
def test_transforms_of_a_bag_lead_from_the_world_to_every_frame(plan: Plan, bags: dict[str, Path], kind: str) -> None:
    """Chained up from the bag alone, every link is where forward kinematics has it, and the forces hold the weight."""
    found = messages(bags[kind])
    last = max(time for _, _, time, _ in found)
    parents: dict[str, tuple[str, pin.SE3]] = {}
    for topic, _, _, message in found:
        if topic.startswith("/tf"):
            for t in message.transforms:
                parents[t.child_frame_id] = (t.header.frame_id, pose(t.transform))

    def in_world(frame: str) -> pin.SE3:
        T = pin.SE3.Identity()
        while frame != "world":
            frame, above = parents[frame]
            T = above * T
        return T

    robot, state = plan.task.assembly.robot, plan.best.states[-1]
    for link in robot.link_names:
        np.testing.assert_allclose(in_world(link).homogeneous, robot.pose(link, state.q).homogeneous, atol=1e-9)
    total = np.zeros(3)
    for topic, _, time, message in found:
        if topic.endswith("/wrench") and time == last:
            f = message.wrench.force
            total += in_world(message.header.frame_id).rotation @ [f.x, f.y, f.z]
    np.testing.assert_allclose(total, [0, 0, plan.task.body.mass * GRAVITY], atol=1e-6)


@pytest.mark.parametrize("kind", ["mcap", "ros1", "ros2"])
def test_markers_show_the_deformed_object_and_the_forces(plan: Plan, bags: dict[str, Path], kind: str) -> None:
    arrays = [message for topic, _, _, message in messages(bags[kind]) if topic == "/markers"]
    assert len(arrays) == 1 + len(plan.best.states)
    mesh, state = plan.task.body.mesh, plan.best.states[-1]
    groups = {(marker.ns, marker.id): marker for marker in arrays[-1].markers}
    surface = groups["object", 0]
    assert (surface.type, surface.header.frame_id) == (11, "object")
    corners = np.array([[p.x, p.y, p.z] for p in surface.points])
    np.testing.assert_allclose(corners, (mesh.vertices + state.displacement)[mesh.faces].reshape(-1, 3), atol=1e-12)
    for i, contact in enumerate(state.contacts):
        tail, tip = (np.array([p.x, p.y, p.z]) for p in groups["forces", i].points)
        np.testing.assert_allclose(tip, contact.T_object_contact.translation, atol=1e-12)
        assert np.linalg.norm(tip - tail) == pytest.approx(0.01 * np.linalg.norm(contact.force))
    centre = groups["centre_of_mass", 0].pose.position
    in_world = state.T_world_object.act(np.array([centre.x, centre.y, centre.z]))
    np.testing.assert_allclose(in_world, state.centre_of_mass, atol=1e-9)
    assert ("scene", 0) in {(marker.ns, marker.id) for marker in arrays[0].markers}


def test_the_mcap_library_reads_the_mcap_file(plan: Plan, bags: dict[str, Path]) -> None:
    """An independent reader: the MCAP project's own. The joint states are decoded by hand from CDR."""
    from mcap.reader import make_reader

    with bags["mcap"].open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        assert reader.get_header().profile == "ros2"
        summary = reader.get_summary()
        assert summary is not None
        assert {c.topic: summary.schemas[c.schema_id].name for c in summary.channels.values()} == TYPES
        assert {schema.encoding for schema in summary.schemas.values()} == {"ros2msg"}
        assert {channel.message_encoding for channel in summary.channels.values()} == {"cdr"}
        for schema, _, message in reader.iter_messages(topics=["/joint_states"]):
            assert b"float64[] position" in schema.data
            _check_joint_state(plan, message.data, message.log_time)
        latched = next(c for c in summary.channels.values() if c.topic == "/tf_static")
        assert "transient_local" in latched.metadata["offered_qos_profiles"]


def test_plain_sqlite_reads_the_ros2_bag(plan: Plan, bags: dict[str, Path]) -> None:
    """An independent reader: Python's sqlite3 on the tables that rosbag2 documents, and its metadata file."""
    metadata = yaml.safe_load((bags["ros2"] / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    assert metadata["storage_identifier"] == "sqlite3"
    assert metadata["starting_time"]["nanoseconds_since_epoch"] == int(START * 1e9)
    (name,) = metadata["relative_file_paths"]
    with sqlite3.connect(f"file:{bags['ros2'] / name}?mode=ro", uri=True) as database:
        topics = {row[1]: row for row in database.execute("select id, name, type, serialization_format from topics")}
        assert {topic: row[2] for topic, row in topics.items()} == TYPES
        assert {row[3] for row in topics.values()} == {"cdr"}
        query = "select timestamp, data from messages where topic_id = ? order by timestamp"
        rows = database.execute(query, (topics["/joint_states"][0],)).fetchall()
        counts = dict(database.execute("select topic_id, count(*) from messages group by topic_id"))
    database.close()
    for time, data in rows:
        _check_joint_state(plan, data, time)
    listed = {t["topic_metadata"]["name"]: t["message_count"] for t in metadata["topics_with_message_count"]}
    assert listed == {topic: counts[row[0]] for topic, row in topics.items()}


def _check_joint_state(plan: Plan, data: bytes, time: int) -> None:
    """Little-endian CDR of sensor_msgs/JointState: stamp, frame, names, positions, velocities, efforts."""
    assert data[:4] == b"\x00\x01\x00\x00"
    body, at = data[4:], 0

    def take(code: str, size: int) -> Any:
        nonlocal at
        at += -at % size
        (value,) = struct.unpack_from(f"<{code}", body, at)
        at += size
        return value

    def text() -> str:
        nonlocal at
        size = take("I", 4)
        value = body[at : at + size - 1].decode()
        at += size
        return value

    sec, nanosec = take("i", 4), take("I", 4)
    assert sec * 10**9 + nanosec == time
    assert text() == ""
    names = [text() for _ in range(take("I", 4))]
    positions = [take("d", 8) for _ in range(take("I", 4))]
    velocities = [take("d", 8) for _ in range(take("I", 4))]
    robot, path = plan.task.assembly.robot, plan.best.trajectory
    assert names == list(robot.model.names)[1:]
    seconds = (time - int(START * 1e9)) * 1e-9
    np.testing.assert_allclose(positions, robot.full(path.at(seconds)), atol=1e-8)
    if seconds < path.duration - 1e-6:
        after = (robot.full(path.at(seconds + 1e-6)) - robot.full(path.at(seconds))) / 1e-6
        np.testing.assert_allclose(velocities, after, atol=0.01)


def test_ros1_md5_sums_are_those_of_ros(bags: dict[str, Path]) -> None:
    """Sums of the message definitions as ROS Noetic prints them (rosmsg md5): a player refuses any other."""
    from rosbags.rosbag1 import Reader

    with Reader(bags["ros1"]) as reader:
        sums = {connection.msgtype: connection.digest for connection in reader.connections}
        latched = {c.topic for c in reader.connections if c.ext.latching}
    assert sums["sensor_msgs/msg/JointState"] == "3066dcd76a6cfaef579bd0f34173e9fd"
    assert sums["tf2_msgs/msg/TFMessage"] == "94810edda583a504dfda3829e70d7eec"
    assert sums["geometry_msgs/msg/WrenchStamped"] == "d78d3cb249ce23087ade7e7d0c40cfa7"
    assert sums["trajectory_msgs/msg/JointTrajectory"] == "65b4f94a94d1ed67169da35a02f33d3f"
    assert latched == {"/joint_trajectory", "/arm/joint_trajectory", "/hand/joint_trajectory", "/tf_static"}


# -- tables and arrays -------------------------------------------------------------------------------------------------


def test_tables_hold_the_trajectory_and_the_contacts(plan: Plan, tmp_path: Path) -> None:
    files = export_plan(plan, tmp_path / "ball.csv", format="csv")
    assert [file.name for file in files] == ["ball.csv", "ball_contacts.csv"]
    with files[0].open(newline="") as file:
        rows = list(csv.DictReader(file))
    path, names = plan.best.trajectory, plan.task.assembly.robot.joint_names
    np.testing.assert_array_equal([[float(row[name]) for name in names] for row in rows], path.q)
    np.testing.assert_array_equal([float(row["time"]) for row in rows], path.times)
    assert [row["phase"] for row in rows] == [phase.value for phase in path.phases]
    assert float(rows[0]["object_qw"]) == 1.0
    with files[1].open(newline="") as file:
        contacts = list(csv.DictReader(file))
    assert [row["contact"] for row in contacts] == ["left_finger", "right_finger"] * 2
    up = sum(float(row["force_z"]) for row in contacts[:2])
    assert up == pytest.approx(plan.task.body.mass * GRAVITY, abs=1e-6)
    assert float(contacts[0]["normal_force"]) == plan.best.grasp.contacts[0].normal_force


def test_json_holds_the_fields_and_the_trajectory(plan: Plan, tmp_path: Path) -> None:
    (file,) = export_plan(plan, tmp_path / "ball.json", format="json")
    fields = json.loads(file.read_text())
    assert fields["format"] == "pliant plan"
    assert fields["grasps"][0]["trajectory"]["joints"] == plan.best.trajectory.q.tolist()
    assert fields["grasps"][0]["states"][1]["contacts"][0]["force"] == plan.best.states[1].contacts[0].force.tolist()
    assert fields["rejections"][1]["margin"] == "inf"


def test_grasp_arrays_need_no_pickles_and_put_the_hand_where_it_is(plan: Plan, tmp_path: Path) -> None:
    files = export_plan(plan, tmp_path / "ball.npz", format="grasps")
    with np.load(files[0], allow_pickle=False) as arrays:
        data = dict(arrays)
    assert data["joint_names"].tolist() == ["opening"]
    assert data["obj_path"].tolist() == [files[1].name]
    assert read_mesh(files[1]).bounds == pytest.approx(plan.task.body.mesh.bounds, abs=1e-6)
    robot, best = plan.task.assembly.robot, plan.best
    for name, q in (("pregrasp_qpos", best.q_pregrasp), ("grasp_qpos", best.q_touch), ("squeeze_qpos", best.grasp.q)):
        row = data[name][0]
        T = robot.pose(str(data["hand_root"]), q)
        np.testing.assert_allclose(row[:3], T.translation, atol=1e-12)
        np.testing.assert_allclose(pin.Quaternion(*row[3:7]).matrix(), T.rotation, atol=1e-12)
        assert row[7:] == pytest.approx(q[6:])
    assert data["squeeze_qpos"][0, 7] < data["grasp_qpos"][0, 7] < data["pregrasp_qpos"][0, 7]


def test_srdf_names_groups_postures_and_harmless_pairs(plan: Plan, tmp_path: Path) -> None:
    """Read by an ordinary XML parser; every name exists in the URDF beside it, and the chains are chains."""
    import xml.etree.ElementTree as ET

    srdf, urdf = export_plan(plan, tmp_path / "robot.srdf", format="srdf")
    root, robot = ET.parse(srdf).getroot(), load_robot(urdf, package_dirs=[SHIPPED])
    assert root.get("name") == robot.name
    groups = {group.get("name"): group for group in root.findall("group")}
    assert set(groups) == {"arm", "hand", "left", "right"}
    chain = groups["arm"].find("chain")
    assert robot.joints_moving(chain.get("tip_link")).sum() == 6
    assert chain.get("base_link") == robot.urdf.root
    for element in root.iter():
        for key in ("base_link", "tip_link", "parent_link", "link1", "link2"):
            assert element.get(key) is None or element.get(key) in robot.link_names
    states = {state.get("name"): state for state in root.findall("group_state")}
    assert set(states) == {"home", "parallel_open", "parallel_closed"}
    values = {joint.get("name"): float(joint.get("value")) for joint in states["parallel_open"]}
    assert values == {"opening": 0.05}
    home = {joint.get("name"): float(joint.get("value")) for joint in states["home"]}
    assert home == dict(zip(robot.joint_names[:6], plan.task.assembly.q_home[:6].tolist(), strict=True))
    pairs = {(p.get("link1"), p.get("link2")): p.get("reason") for p in root.findall("disable_collisions")}
    assert pairs["link1", "link2"] == "Adjacent"
    assert ("left_finger", "right_finger") not in pairs
    assert root.find("end_effector").get("parent_link") == "flange"


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_what_cannot_be_exported_is_refused(plan: Plan, tmp_path: Path) -> None:
    from dataclasses import replace

    with pytest.raises(OptionError, match="no format 'rosbag'"):
        export_plan(plan, tmp_path / "x", format="rosbag")
    with pytest.raises(OptionError, match="the plan has 1, counted from 0"):
        export_plan(plan, tmp_path / "x", format="csv", options=ExportOptions(grasp=1))
    none = replace(plan, status=PlanStatus.NONE, grasps=())
    with pytest.raises(PlanError, match="no grasp to export"):
        export_plan(none, tmp_path / "x", format="csv")
    assert export_plan(none, tmp_path / "none.json", format="json")
    with pytest.raises(InputError, match="is a folder"):
        export_plan(plan, tmp_path, format="ros2")
    for wrong in ({"rate": 0.0}, {"rate": float("nan")}, {"start": 0.0}, {"start": -1.0}):
        with pytest.raises(OptionError, match=next(iter(wrong))):
            ExportOptions(**wrong)
    (tmp_path / "task.yaml").write_text("robot: {}")
    with pytest.raises(PlanError, match="plan it first"):
        export_file(tmp_path / "task.yaml", tmp_path / "x", format="csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["none.json", "task.yaml"]


def test_a_failed_bag_leaves_nothing_behind(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import rosbags.rosbag2

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(rosbags.rosbag2.Writer, "write", full)
    with pytest.raises(OptionError, match="No space left"):
        export_plan(plan, tmp_path / "ball.mcap", format="mcap")
    assert list(tmp_path.iterdir()) == []


def test_the_command_says_what_it_wrote(plan: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = save_plan(plan, tmp_path / "ball.plan")
    capsys.readouterr()
    assert run(["export", str(file), "--format", "mcap", "--out", str(tmp_path / "a" / "ball.mcap"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == [str(tmp_path / "a" / "ball.mcap")]
    assert run(["export", str(file), "--format", "xml", "--out", str(tmp_path / "x")]) == 2
    assert "no format 'xml'" in capsys.readouterr().err


def test_names_that_would_lose_something_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    file = save_plan(ball_plan(), tmp_path / "ball.plan")
    before = file.read_bytes()
    for out, format, why in (
        (file, "json", "itself, which is read"),
        (tmp_path / "sub" / ".." / "ball.plan", "csv", "itself, which is read"),
        (tmp_path / "robot.urdf", "srdf", r"name it robot\.srdf"),
        (tmp_path / ("x" * 300), "json", "name too long"),
        (tmp_path / "a\x1bb.json", "json", "control characters"),
    ):
        with pytest.raises(InputError, match=f"(?i){why}"):
            export_file(file, out, format=format)
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["ball.plan"]
