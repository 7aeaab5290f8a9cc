"""`pliant ik`: inverse kinematics of one pose, or its benchmark on random reachable poses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def ik(
    robot: Annotated[str, typer.Argument(metavar="URDF", help="A URDF file, a shipped robot's name, or arm+hand.")],
    frame: Annotated[str, typer.Option("--frame", help="Link whose frame is to reach the pose.")],
    target: Annotated[
        str | None, typer.Option("--target", help='Pose in the world: "x,y,z,qw,qx,qy,qz" [m, unit quaternion].')
    ] = None,
    samples: Annotated[int | None, typer.Option("--samples", help="Solve this many random reachable poses.")] = None,
    tolerance: Annotated[float, typer.Option("--tolerance", help="Allowed error [m] and [rad].")] = 1e-5,
    rows: Annotated[
        str, typer.Option("--rows", help="What counts: pose, position, orientation, direction, ...")
    ] = "pose",
    starts: Annotated[int, typer.Option("--starts", help="At most so many starts per pose.")] = 400,
    seed: Annotated[int, typer.Option("--seed", help="Of the random poses.", min=0)] = 0,
    package_dir: Annotated[
        list[Path] | None, typer.Option("--package-dir", help="Folder for package:// mesh paths; repeatable.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Joint values that bring a frame to a pose, or how reliably and fast they are found.

    Exit code 1: the pose was not reached; the closest pose found is shown.

    Examples:

        pliant ik kawasaki_fs020n --frame flange --target "1.0,0.2,0.9,0,1,0,0"

        pliant ik arm.urdf --frame tool0 --samples 1000 --json
    """
    from pliant.cli.answers import emit, progress
    from pliant.cli.robot_argument import choose_robot
    from pliant.errors import OptionError, Problem

    if (target is None) == (samples is None):
        raise OptionError("ik", Problem("", "give either --target or --samples", '--target "x,y,z,qw,qx,qy,qz"'))
    chosen = choose_robot(robot, package_dir)
    chosen.robot.frame_id(frame)
    with progress("compiling the solver (first time only)"):
        from pliant.motion import FrameTask, InverseKinematics

        solver = InverseKinematics(chosen.robot, FrameTask(frame, rows=rows))
        solver.solve(chosen.robot.pose(frame, chosen.q_home), seed=chosen.q_home, starts=1, tolerance=tolerance)
    if target is not None:
        answer = _one(solver, target, tolerance, starts)
    else:
        assert samples is not None
        answer = _many(solver, samples, tolerance, starts, seed)
    emit(answer, json)
    if not json:
        _show(answer, {name: chosen.robot.urdf.joint(name).kind for name in chosen.robot.joint_names})
    if target is not None and answer["status"] != "found":
        raise typer.Exit(1)


def _one(solver: Any, text: str, tolerance: float, starts: int) -> dict[str, Any]:
    from pliant.errors import OptionError, Problem
    from pliant.motion import pose_from_numbers, pose_numbers

    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise OptionError("--target", Problem("", f"'{text}'", "seven numbers: x,y,z,qw,qx,qy,qz")) from None
    found = solver.solve(pose_from_numbers(numbers, where="--target"), tolerance=tolerance, starts=starts)
    return {
        "status": found.status.value,
        "q": found.q.tolist(),
        "error_m": found.error_m,
        "error_rad": found.error_rad,
        "joints": list(solver.robot.joint_names),
        "pose": pose_numbers(solver.robot.pose(solver.task.link, found.q)),
        "starts": found.starts,
        "tolerance": tolerance,
    }


def _many(solver: Any, samples: int, tolerance: float, starts: int, seed: int) -> dict[str, Any]:
    import time

    import numpy as np

    from pliant.cli.answers import progress
    from pliant.errors import OptionError, Problem

    if not 1 <= samples <= 10_000_000:
        raise OptionError("--samples", Problem("", f"{samples}", "from 1 to 10000000"))
    rng = np.random.default_rng(seed)
    milliseconds, solved = np.empty(samples), 0
    with progress("solving", samples) as show:
        for i in range(samples):
            pose = solver.random_pose(rng)
            began = time.perf_counter()
            solved += solver.solve(pose, tolerance=tolerance, starts=starts).found
            milliseconds[i] = 1e3 * (time.perf_counter() - began)
            if i % 100 == 0:
                show(i)
    return {
        "samples": samples,
        "solved": solved,
        "rate": solved / samples,
        "mean_ms": float(milliseconds.mean()),
        "p95_ms": float(np.percentile(milliseconds, 95)),
        "max_ms": float(milliseconds.max()),
        "tolerance": tolerance,
    }


def _show(answer: dict[str, Any], kinds: dict[str, str]) -> None:
    import math

    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, emoji=False)
    if "samples" in answer:
        table = Table("samples", "solved", "rate", "mean", "95 %", "max", title="inverse kinematics")
        table.add_row(
            f"{answer['samples']}",
            f"{answer['solved']}",
            f"{100 * answer['rate']:.3f} %",
            *(f"{answer[key]:.3f} ms" for key in ("mean_ms", "p95_ms", "max_ms")),
        )
        console.print(table)
        return
    found = answer["status"] == "found"
    error = f"{1e3 * answer['error_m']:.3g} mm, {1e3 * answer['error_rad']:.3g} mrad"
    console.print(f"found; error {error}" if found else f"not found; the closest pose is {error} away")
    table = Table("joint", "value", "degrees" if found else "degrees (closest)")
    for (name, kind), value in zip(kinds.items(), answer["q"], strict=True):
        turns = kind != "prismatic"
        table.add_row(name, f"{value:.6f}", f"{math.degrees(value):.3f}" if turns else f"{1e3 * value:.3f} mm")
    console.print(table)
