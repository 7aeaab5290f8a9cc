"""Compiles the inner loops of planning ahead, by using each once: ``python -m pliant.compiling touch carry``.

Used, and not told which types to expect, they are compiled for just what planning gives them. The first plan on a
machine does this in processes of their own while it prepares its object (`planner.compiled_aside`).
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterable
from typing import Literal

import numpy as np
import pinocchio as pin


def compile_loops(parts: Iterable[str] = ("touch", "carry")) -> None:
    """Touch and carry something small; what is compiled already is only loaded."""
    gc.disable()  # the compiler makes so many objects that looking for garbage takes a tenth of its time
    try:
        for part in parts:
            {"touch": _touch, "carry": _carry}[part]()
    finally:
        gc.enable()


def _touch() -> None:
    """Without the whole body first: whoever waits for us compiles the elements meanwhile."""
    _press("halfspace")
    _press("body")


def _press(model: Literal["body", "halfspace"]) -> None:
    """Press a small box between two others, as the search does."""
    from pliant.contact import PadSurface, PreparedObject, displacement, gap_near, nearest_place, settle
    from pliant.objects import make_shape

    held, pad = (make_shape("box", size=(size, size, size), edge=size / 4) for size in (0.02, 0.01))
    prepared = PreparedObject.of(held, young=1e5, poisson=0.4, model=model, edge=0.01, cache=False)
    pads = [PadSurface.of(pad, name=name, young=1e6, friction=0.8) for name in ("left", "right")]
    poses = [pin.SE3(np.eye(3), np.array([side * 0.01475, 0.0, 0.0])) for side in (-1.0, 1.0)]
    away = pin.SE3(np.eye(3), np.array([0.016, 0.0, 0.0]))
    place = nearest_place(prepared, pads[1], away).place
    if place is not None:
        gap_near(prepared, pads[1], away, place, 1e-3)
    state = settle(prepared, pads, poses, load=[0.0, 0.0, -0.01, 0.0, 0.0, 0.0])
    displacement(prepared, state)


def _carry() -> None:
    """Bring an arm's flange to a pose, at once and step by step."""
    from pliant.motion import FrameTask, InverseKinematics, Servo
    from pliant.robot import load_assembly, shipped_names

    assembly = load_assembly(arm=shipped_names("arm")[0])
    robot, q = assembly.robot, assembly.q_home
    assert assembly.arm is not None
    link = assembly.arm.flange
    InverseKinematics(robot, link).solve(robot.pose(link, q), seed=q)
    Servo(robot, {FrameTask(link): robot.pose(link, q)}).step(q, 0.0)


def _end_with_parent() -> None:
    """The process that started this one holds the other end of its input: when that closes, nobody waits any more."""
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    compile_loops(sys.argv[1:])
    os._exit(0)
