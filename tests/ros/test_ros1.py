"""ROS 1 for real: a ROS master, a rospy node that knows nothing of pliant, and pliant, each a process on loopback."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_planning_node import request

from pliant.files import load_plan

SYSTEM_PYTHON = "/usr/bin/python3"
HERE = Path(__file__).parent
PLIANT = [sys.executable, "-c", "from pliant.cli import main; main()"]


def rospy_is_missing() -> str:
    if shutil.which("rosmaster") is None or not Path(SYSTEM_PYTHON).exists():
        return "there is no rosmaster"
    tried = subprocess.run([SYSTEM_PYTHON, "-c", "import rospy, sensor_msgs.msg, trajectory_msgs.msg"], check=False)
    return "" if tried.returncode == 0 else "rospy cannot be imported"


MISSING = rospy_is_missing()
PACKAGES = "python3-rospy python3-rosmaster python3-sensor-msgs python3-trajectory-msgs"
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"NO ROS 1: {MISSING}; apt install {PACKAGES}")


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a node beside a ROS master of this test's own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("ros_home")
    environment = os.environ | {
        "ROS_MASTER_URI": f"http://127.0.0.1:{port}",
        "ROS_IP": "127.0.0.1",
        "ROS_HOME": str(folder),
    }
    with (folder / "master.txt").open("w") as said:
        master = subprocess.Popen(["rosmaster", "--core", "-p", str(port)], env=environment, stdout=said, stderr=said)
    online = (
        "import time, rosgraph\nend = time.time() + 30\n"
        "while not rosgraph.is_master_online() and time.time() < end: time.sleep(0.05)"
    )
    subprocess.run([SYSTEM_PYTHON, "-c", online], env=environment, check=True)
    yield environment
    master.terminate()
    master.wait(timeout=30)


def peer(role: str, network: dict[str, str]) -> subprocess.Popen[str]:
    command = [SYSTEM_PYTHON, str(HERE / "ros1_peer.py"), role]
    return subprocess.Popen(command, env=network, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


@pytest.mark.slow
def test_a_rospy_node_is_refused_a_bad_request_and_gets_a_plan_for_a_good_one(
    network: dict[str, str], tmp_path: Path
) -> None:
    """`pliant ros --ros 1` as a user starts it; the plan it keeps is the plan it sent, to the last bit."""
    options = ["ros", "--ros", "1", "--out", str(tmp_path), "--jobs", "1", "--once"]
    node = subprocess.Popen([*PLIANT, *options], env=network, stderr=subprocess.PIPE, text=True)
    client = peer("ask", network)
    try:
        bad = json.dumps({"id": 6, "shipped": "rign"})
        answers, _ = client.communicate(f"{bad}\n{request(name='ball/1')}\n", timeout=240)
        _, said = node.communicate(timeout=60)
        assert node.returncode == 0, said
    finally:
        for process in (node, client):
            process.kill()
            process.wait()
    *states, path = lines(answers)
    told = [state["status"] for state in states]
    assert [(state["id"], state["state"]) for state in told] == [
        ("6", "refused"),
        ("ball/1", "planning"),
        ("ball/1", "found"),
    ]
    assert "closest: ring" in told[0]["problems"][0]
    plan = load_plan(tmp_path / "ball_1.plan")
    assert told[-1]["max_force_n"] == plan.best.largest_force
    assert tuple(path["joint_names"]) == plan.task.assembly.robot.joint_names
    np.testing.assert_array_equal(path["positions"], plan.best.trajectory.commands)
    np.testing.assert_array_equal(path["times_ns"], np.round(plan.best.trajectory.times * 1e9))


def test_the_driver_reads_and_moves_a_robot_played_by_rospy(network: dict[str, str]) -> None:
    robot = peer("robot", network)
    try:
        command = [sys.executable, str(HERE / "ros1_driver_side.py")]
        ours = subprocess.run(command, env=network, capture_output=True, text=True, timeout=120, check=False)
        assert ours.returncode == 0, ours.stdout + ours.stderr
        heard, _ = robot.communicate("", timeout=30)
    finally:
        robot.kill()
        robot.wait()
    seen = lines(ours.stdout)[-1]
    assert seen["is_driver"]
    np.testing.assert_allclose(seen["first"], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.04])
    np.testing.assert_allclose(seen["last"], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.02])
    assert seen["torques"] is None  # the arm gave none
    assert 0.0 <= seen["age"] < 5.0
    assert 0.0 <= seen["frame_age"] < 5.0
    counts = (20 * np.arange(50)).reshape(10, 5)
    np.testing.assert_array_equal(seen["frames"]["left_pad"], counts)
    np.testing.assert_array_equal(seen["frames"]["right_pad"], counts)
    assert "enough" in seen["refused"]
    assert "another process" in seen["again"]
    commands = lines(heard)
    names = [*(f"joint{i}" for i in range(1, 7)), "opening"]
    assert commands[0] == {"command": [0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.02], "names": names, "after_ns": 5_000_000}
    # The stop holds the robot where it was last seen, not where it was sent.
    np.testing.assert_allclose(commands[-1]["command"], seen["last"])


def test_a_master_that_is_not_there_is_said_at_once(network: dict[str, str]) -> None:
    command = [*PLIANT, "ros", "--ros", "1", "--master", "http://127.0.0.1:9"]
    tried = subprocess.run(command, env=network, capture_output=True, text=True, timeout=60, check=False)
    assert tried.returncode == 2
    assert "no ROS master answers at http://127.0.0.1:9" in tried.stderr
