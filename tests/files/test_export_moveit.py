"""Grasps for MoveIt 2 fit its message definitions, and say what the plan says; the Foxglove layout names topics of the bag."""  # noqa: E501

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from made_plans import ball_plan
from pliant.cli import run_command as run
from pliant.errors import PlanError
from pliant.files import export_plan, save_plan
from pliant.planner import Plan, Task
from pliant.robot import load_assembly

# Names, types and order of the fields of moveit_msgs for ROS 2 (Humble to Rolling), as far as the export reaches.
MOVEIT = {
    "object_recognition_msgs/msg/ObjectType": "string key\nstring db",
    "moveit_msgs/msg/GripperTranslation": "geometry_msgs/Vector3Stamped direction\nfloat32 desired_distance\n"
    "float32 min_distance",
    "moveit_msgs/msg/Grasp": "string id\ntrajectory_msgs/JointTrajectory pre_grasp_posture\n"
    "trajectory_msgs/JointTrajectory grasp_posture\ngeometry_msgs/PoseStamped grasp_pose\nfloat64 grasp_quality\n"
    "moveit_msgs/GripperTranslation pre_grasp_approach\nmoveit_msgs/GripperTranslation post_grasp_retreat\n"
    "moveit_msgs/GripperTranslation post_place_retreat\nfloat32 max_contact_force\nstring[] allowed_touch_objects",
    "moveit_msgs/msg/CollisionObject": "std_msgs/Header header\ngeometry_msgs/Pose pose\nstring id\n"
    "object_recognition_msgs/ObjectType type\nshape_msgs/SolidPrimitive[] primitives\n"
    "geometry_msgs/Pose[] primitive_poses\nshape_msgs/Mesh[] meshes\ngeometry_msgs/Pose[] mesh_poses\n"
    "shape_msgs/Plane[] planes\ngeometry_msgs/Pose[] plane_poses\nstring[] subframe_names\n"
    "geometry_msgs/Pose[] subframe_poses\nbyte operation",
    "moveit_msgs/msg/AttachedCollisionObject": "string link_name\nmoveit_msgs/CollisionObject object\n"
    "string[] touch_links\ntrajectory_msgs/JointTrajectory detach_posture\nfloat64 weight",
    "moveit_msgs/msg/RobotState": "sensor_msgs/JointState joint_state\n"
    "sensor_msgs/MultiDOFJointState multi_dof_joint_state\n"
    "moveit_msgs/AttachedCollisionObject[] attached_collision_objects\nbool is_diff",
}


@pytest.fixture(scope="module")
def store() -> Any:
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    made = get_typestore(Stores.ROS2_HUMBLE)
    types: dict[str, Any] = {}
    for name, text in MOVEIT.items():
        types.update(get_types_from_msg(text, name))
    made.register(types)
    return made


def filled(store: Any, kind: str, fields: Any) -> Any:
    """A message filled as ``set_message_fields`` of ROS 2 does it: unknown names are refused, left out ones empty."""
    _, described = store.fielddefs[kind]
    known = dict(described)
    assert not set(fields) - set(known), f"{kind} has no {set(fields) - set(known)}"
    return store.types[kind](**{name: value(store, node, fields.get(name)) for name, node in known.items()})


def value(store: Any, node: Any, given: Any) -> Any:
    from rosbags.interfaces import Nodetype

    shape, rest = node
    if shape is Nodetype.NAME:
        return filled(store, rest, given if given is not None else {})
    if shape is Nodetype.BASE:
        empty: dict[str, Any] = {"string": "", "bool": False}
        kind = rest[0]
        if given is None:
            return empty.get(kind, 0)
        wanted = {"string": str, "bool": bool, "float32": float, "float64": float}.get(kind, int)
        assert type(given) is wanted, (kind, given)
        return given
    (inner, _) = rest
    items = [value(store, inner, item) for item in given or []]
    if inner[0] is Nodetype.NAME or inner[1][0] == "string":
        return items
    return np.array(items, dtype=inner[1][0])


@pytest.fixture(scope="module")
def plan() -> Plan:
    return ball_plan()


@pytest.fixture(scope="module")
def document(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("moveit") / "ball.moveit.json"
    assert export_plan(plan, path, format="moveit") == (path,)
    return json.loads(path.read_text())


def parts(document: Any) -> Iterator[tuple[str, Any]]:
    """Every message of the file with its type."""
    for fields in (document["object"], *document["obstacles"]):
        yield "moveit_msgs/msg/CollisionObject", fields
    for entry in document["grasps"]:
        yield "moveit_msgs/msg/Grasp", entry["grasp"]
        yield "moveit_msgs/msg/RobotState", entry["pre_grasp"]
        yield "moveit_msgs/msg/RobotState", entry["squeeze"]


def test_every_part_fills_its_message_and_survives_the_wire(document: Any, store: Any) -> None:
    for kind, fields in parts(document):
        message = filled(store, kind, fields)
        sent = bytes(store.serialize_cdr(message, kind))
        assert len(sent) > 80
        assert bytes(store.serialize_cdr(store.deserialize_cdr(sent, kind), kind)) == sent


def test_a_field_that_the_messages_do_not_have_would_be_found(document: Any, store: Any) -> None:
    wrong = {**document["grasps"][0]["grasp"], "graspPose": {}}
    with pytest.raises(AssertionError, match="graspPose"):
        filled(store, "moveit_msgs/msg/Grasp", wrong)


def test_the_pose_is_that_of_the_arm_s_last_link_and_the_postures_are_the_plan_s(plan: Plan, document: Any) -> None:
    assembly, grasp, entry = plan.task.assembly, plan.grasps[0], document["grasps"][0]
    pose = entry["grasp"]["grasp_pose"]["pose"]
    turn = pin.Quaternion(*(pose["orientation"][axis] for axis in "wxyz")).matrix()
    T_world_flange = pin.SE3(turn, np.array([pose["position"][axis] for axis in "xyz"]))
    wanted = assembly.robot.pose(document["ik_frame"], grasp.grasp.q)
    np.testing.assert_allclose(T_world_flange.homogeneous, wanted.homogeneous, atol=1e-9)
    assert document["ik_frame"] == assembly.arm.flange
    joints = assembly.hand_joints
    for fields, q in ((entry["pre_grasp"], grasp.q_pregrasp), (entry["squeeze"], grasp.grasp.q)):
        assert fields["joint_state"]["name"] == [assembly.robot.joint_names[i] for i in joints]
        assert fields["joint_state"]["position"] == q[joints].tolist()
        assert fields["is_diff"] is True
    assert entry["squeeze"]["joint_state"]["effort"] == grasp.grasp.torques[joints].tolist()
    first, second = entry["grasp"]["grasp_posture"]["points"]
    assert first["positions"] == grasp.q_touch[joints].tolist()
    assert second["positions"] == grasp.grasp.q[joints].tolist()
    from pliant.planner import Phase, Timeline

    begin, end = Timeline(grasp).spans[Phase.SQUEEZE]
    lasts = second["time_from_start"]
    np.testing.assert_allclose(lasts["sec"] + 1e-9 * lasts["nanosec"], end - begin, atol=1e-9)
    assert entry["grasp"]["max_contact_force"] == grasp.largest_force


def test_what_may_touch_is_what_touches_in_the_plan_and_what_bears_the_object(plan: Plan, document: Any) -> None:
    allowed = document["grasps"][0]["allowed_collisions"]
    touching = {contact.link for state in plan.grasps[0].states for contact in state.contacts}
    assert allowed[0]["first"] == ["object"] and set(allowed[0]["second"]) == touching
    # The ball lies half a millimetre above the only obstacle, the table.
    assert allowed[1:] == [{"first": ["object"], "second": ["obstacle_0"], "from": "lift"}]
    assert [fields["id"] for fields in document["obstacles"]] == ["obstacle_0"]


def test_the_approach_ends_where_the_hand_goes_and_the_retreat_is_the_lift(plan: Plan, document: Any) -> None:
    grasp = document["grasps"][0]["grasp"]
    robot, path = plan.task.assembly.robot, plan.grasps[0].trajectory
    approach = grasp["pre_grasp_approach"]
    direction = np.array([approach["direction"]["vector"][axis] for axis in "xyz"])
    np.testing.assert_allclose(np.linalg.norm(direction), 1.0, atol=1e-12)
    begin, end = (robot.pose("flange", q).translation for q in (path.q[0], plan.grasps[0].q_touch))
    travelled = end - begin
    if np.linalg.norm(travelled) > 1e-3:  # the made plan comes straight from above
        np.testing.assert_allclose(direction, travelled / np.linalg.norm(travelled), atol=1e-6)
    assert 0.0 < approach["desired_distance"] <= 0.1 + 1e-12
    assert grasp["post_grasp_retreat"]["desired_distance"] == plan.task.goal.lift
    back = grasp["post_place_retreat"]["direction"]["vector"]
    np.testing.assert_allclose([back[axis] for axis in "xyz"], -direction, atol=1e-12)


def test_the_object_is_the_plan_s_mesh_in_its_place(plan: Plan, document: Any) -> None:
    mesh = document["object"]["meshes"][0]
    vertices = np.array([[v[axis] for axis in "xyz"] for v in mesh["vertices"]])
    np.testing.assert_array_equal(vertices, plan.task.body.mesh.vertices)
    faces = np.array([t["vertex_indices"] for t in mesh["triangles"]])
    np.testing.assert_array_equal(faces, plan.task.body.mesh.faces)
    place = document["object"]["pose"]["position"]
    np.testing.assert_allclose([place[axis] for axis in "xyz"], plan.task.T_world_object.translation, atol=1e-15)


def test_a_hand_without_an_arm_is_refused(plan: Plan, tmp_path: Path) -> None:
    from dataclasses import replace

    task: Task = replace(plan.task, assembly=load_assembly(None, "parallel_gripper"))
    with pytest.raises(PlanError, match="no arm with a hand"):
        export_plan(replace(plan, task=task), tmp_path / "a.json", format="moveit")


def test_the_command_writes_both_and_the_layout_names_topics_and_joints_of_the_bag(
    plan: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from rosbags.highlevel import AnyReader

    file = save_plan(plan, tmp_path / "ball.plan")
    for kind in ("moveit", "foxglove", "mcap"):
        out = tmp_path / f"ball.{kind}"
        assert run(["export", str(file), "--format", kind, "--out", str(out), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["files"] == [str(out)]
    layout = json.loads((tmp_path / "ball.foxglove").read_text())
    paths = [line["value"] for panel in layout["configById"].values() for line in panel.get("paths", [])]
    assert _panels(layout["layout"]) == set(layout["configById"])
    with AnyReader([tmp_path / "ball.mcap"]) as bag:
        first = {}
        for connection, _, data in bag.messages():
            if connection.topic not in first:
                first[connection.topic] = bag.deserialize(data, connection.msgtype)
    assert set(layout["configById"]["3D!scene"]["topics"]) <= set(first)
    joints = set()
    for path in paths:
        topic, _, field = path.partition(".")
        message = first[topic]
        if field == "wrench.force.z":
            assert isinstance(message.wrench.force.z, float)
        else:
            joints.add(message.name[int(field.removeprefix("position[").removesuffix("]"))])
    assert sum("/wanted" in path for path in paths) == 2
    assert joints == {plan.task.assembly.robot.joint_names[i] for i in plan.task.assembly.hand_joints}


def _panels(layout: Any) -> set[str]:
    return {layout} if isinstance(layout, str) else _panels(layout["first"]) | _panels(layout["second"])
