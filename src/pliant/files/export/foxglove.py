"""A layout for Foxglove (or Lichtblick) that shows an exported MCAP file: the scene, the forces, the joints, what happens.

The topics are those of `pliant.files.export.plan_messages` and `pliant.files.export.run_messages`.
"""  # noqa: E501

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pliant.control import RunLog
from pliant.errors import PlanError
from pliant.file_bytes import write_bytes
from pliant.files.export.ros_builder import topic_name
from pliant.planner import Plan, PlannedGrasp, contact_names

SCENE, FORCES, JOINTS, EVENTS = "3D!scene", "Plot!forces", "Plot!joints", "RawMessages!events"


def write_plan_layout(plan: Plan, grasp: PlannedGrasp, path: Path) -> tuple[Path, ...]:
    """For the bag of a plan's grasp: the scene follows the object."""
    named = [contact_names([contact.link for contact in state.contacts]) for state in grasp.states]
    names = dict.fromkeys(topic_name(name) for state in named for name in state)
    robot, hand = plan.task.assembly.robot, plan.task.assembly.hand_joints.tolist()
    # Of the message's joints, followers included, in the model's order.
    order = list(robot.model.names)[1:]
    centre = plan.task.T_world_object.act(plan.task.body.mesh.bounds.mean(axis=0)).tolist()
    panels = {
        SCENE: _scene(centre, 8.0 * float(plan.task.body.mesh.extents.max())),
        FORCES: _plot("Normal forces [N]", _forces(names, ("wrench", "wanted"))),
        JOINTS: _plot("Hand joints", _positions([order.index(robot.joint_names[i]) for i in hand], ("/joint_states",))),
    }
    return _write(panels, _row(SCENE, _column(FORCES, JOINTS)), path)


def write_run_layout(log: RunLog, path: Path) -> tuple[Path, ...]:
    """For the bag of a run: measured beside planned."""
    names = [topic_name(name) for name in log.contacts]
    columns, topics = range(len(log.joints)), ("/joint_states", "/planned/joint_states")
    panels = {
        FORCES: _plot("Normal forces [N]", _forces(names, ("measured", "filtered", "planned", "wanted"))),
        JOINTS: _plot("Joints, measured and planned", _positions(columns, topics)),
        EVENTS: {"topicPath": "/events", "diffEnabled": False},
    }
    return _write(panels, _row(_column(FORCES, JOINTS), EVENTS), path)


def _forces(names: Iterable[str], kinds: tuple[str, ...]) -> list[str]:
    return [f"/contacts/{name}/{kind}.wrench.force.z" for name in names for kind in kinds]


def _positions(columns: Iterable[int], topics: tuple[str, ...]) -> list[str]:
    return [f"{topic}.position[{i}]" for i in columns for topic in topics]


def _plot(title: str, paths: list[str]) -> dict[str, Any]:
    """Over the messages' own time, which is that of the plan or of the run."""
    lines = [{"value": path, "enabled": True, "timestampMethod": "receiveTime"} for path in paths]
    return {"title": title, "paths": lines, "xAxisVal": "timestamp", "isSynced": True, "showLegend": True}


def _scene(centre: list[float], away: float) -> dict[str, Any]:
    camera = {
        "perspective": True, "distance": away, "phi": 65.0, "thetaOffset": 45.0, "targetOffset": centre,
        "target": [0.0, 0.0, 0.0], "targetOrientation": [0.0, 0.0, 0.0, 1.0], "fovy": 45.0, "near": 0.01, "far": 100.0,
    }  # fmt: skip
    return {
        "cameraState": camera,
        "followMode": "follow-none",
        "followTf": "world",
        "scene": {"transforms": {"showLabel": False, "axisScale": 0.2}},
        "topics": {"/markers": {"visible": True}},
        "layers": {"grid": {"layerId": "foxglove.Grid", "instanceId": "grid", "size": 2.0, "divisions": 20}},
    }


def _row(first: Any, second: Any) -> dict[str, Any]:
    return {"direction": "row", "first": first, "second": second, "splitPercentage": 55}


def _column(first: Any, second: Any) -> dict[str, Any]:
    return {"direction": "column", "first": first, "second": second, "splitPercentage": 50}


def _write(panels: dict[str, Any], layout: Any, path: Path) -> tuple[Path, ...]:
    fields = {
        "configById": panels,
        "globalVariables": {},
        "userNodes": {},
        "playbackConfig": {"speed": 1},
        "layout": layout,
    }
    write_bytes(path, json.dumps(fields, indent=1).encode(), error=PlanError)
    return (path,)
