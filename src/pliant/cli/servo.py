"""`pliant servo`: track a pose path and write the point array."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def servo(
    robot: Annotated[str, typer.Argument(help="A URDF file, a shipped robot's name, or arm+hand.")],
    path: Annotated[Path, typer.Argument(metavar="PATH.yaml", help="Path file: frames, paths, bases, duration.")],
    solver: Annotated[
        str | None, typer.Option("--solver", help="pinv, exclusion, descent or qp; the file's, else qp.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Point array (CSV); PATH.points.csv here by default.")
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option("--tolerance", help="Insert points until interpolation deviates by less [m].")
    ] = None,
    package_dir: Annotated[
        list[Path] | None, typer.Option("--package-dir", help="Folder for package:// mesh paths; repeatable.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Track paths with one or several frames, in fixed or moving bases, and write joint points for interpolation.

    Exit code 1: part of the path is out of reach; the answer says where and by how much.

    Examples:

        pliant servo kawasaki_fs020n+schunk_sdh2 examples/paths/circle.yaml

        pliant servo arm.urdf path.yaml --solver descent --out points.csv --json
    """
    from pliant.cli.answers import emit, progress
    from pliant.cli.robot_argument import choose_robot
    from pliant.documents import make_room
    from pliant.errors import OptionError, Problem, unknown_name

    chosen = choose_robot(robot, package_dir)
    with progress("compiling and reading (slow the first time only)"):
        from pliant.motion import SOLVERS, JointLimits, read_path_file, write_points

        if solver is not None and solver not in SOLVERS:
            raise OptionError("--solver", unknown_name("solver", solver, SOLVERS))
        if tolerance is not None and not tolerance > 0.0:
            raise OptionError("--tolerance", Problem("", f"{tolerance}", "above zero"))
        job = read_path_file(path, chosen.robot, q_home=chosen.q_home)
        file = make_room(out if out is not None else f"{path.stem}.points.csv", path)
    limits = JointLimits.of(chosen.robot, acceleration=chosen.accelerations)
    with progress(f"tracking {job.duration:g} s", 1.0) as show:
        array = job.run(solver=solver, limits=limits, tolerance=tolerance, progress=show)
    write_points(array, chosen.robot, file)
    short = array.shortfall
    answer: dict[str, Any] = {
        "status": array.status.value,
        "points": len(array.times),
        "max_error_m": array.tracking_m,
        "max_error_rad": array.tracking_rad,
        "max_interpolation_error_m": array.interpolation_m,
        "max_interpolation_error_rad": array.interpolation_rad,
        "max_point_error_m": array.point_m,
        "max_point_error_rad": array.point_rad,
        "inserted": array.inserted,
        "step_us": array.step_us,
        "solver": solver if solver is not None else job.document.solver,
        "duration_s": job.duration,
        "file": str(file),
        "shortfall": None
        if short is None
        else {
            "first_time_s": short.first_time,
            "worst_time_s": short.worst_time,
            "link": short.link,
            "error_m": short.error_m,
            "error_rad": short.error_rad,
            "joints_at_limits": list(short.joints),
        },
    }
    emit(answer, json)
    if not json:
        _show(answer, "" if short is None else str(short))
    if short is not None:
        raise typer.Exit(1)


def _show(answer: dict[str, Any], shortfall: str) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, emoji=False)
    table = Table("error", "position", "rotation", title=f"{answer['points']} points over {answer['duration_s']:g} s")
    for label, key in (
        ("of the servo", "error"),
        ("at the points", "point_error"),
        ("between points", "interpolation_error"),
    ):
        table.add_row(label, f"{1e3 * answer[f'max_{key}_m']:.4g} mm", f"{1e3 * answer[f'max_{key}_rad']:.4g} mrad")
    console.print(table)
    summary = f"solver {answer['solver']}, {answer['step_us']:.0f} us a step; points in {answer['file']}"
    console.print(summary, markup=False)
    if shortfall:
        console.print(f"out of reach: {shortfall}", style="bold red", markup=False)
