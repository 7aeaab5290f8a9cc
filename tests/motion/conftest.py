"""The shipped arm with the shipped hand, and its three finger tips."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.motion import FrameTask
from pliant.robot import Assembly, Robot, load_assembly, tip_frame

TIPS = tuple(tip_frame(name) for name in ("finger_1", "finger_2", "thumb"))


@pytest.fixture(scope="session")
def assembly() -> Assembly:
    return load_assembly("kawasaki_fs020n", "schunk_sdh2")


@pytest.fixture
def robot(assembly: Assembly) -> Robot:
    return Robot(assembly.robot.urdf)


@pytest.fixture
def tips() -> list[FrameTask]:
    return [FrameTask(tip) for tip in TIPS]


@pytest.fixture
def q_work(assembly: Assembly) -> np.ndarray:
    """An ordinary working posture: elbow bent, wrist bent, hand half closed, every joint away from its limits."""
    q = assembly.q_home.copy()
    q[assembly.arm_joints] += [0.2, 0.15, -0.3, 0.3, 0.5, 0.4]
    q[assembly.hand_joints] = [0.6, -0.5, 0.8, -0.4, 0.7, -0.45, 0.75]
    return q
