"""`pliant export`: plans and runs for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export(
    source: Annotated[Path, typer.Argument(help="A plan file, or the log of a run.")],
    format: Annotated[
        str, typer.Option("--format", help="mcap, ros1, ros2, csv, json, grasps, srdf, moveit or foxglove.")
    ],
    out: Annotated[Path, typer.Option(help="The file to write; for ros2 a new folder.")],
    grasp: Annotated[int, typer.Option(help="Which of the plan's grasps; 0 is the best.")] = 0,
    rate: Annotated[float, typer.Option(help="Joint states and transforms per second in bags.")] = 50.0,
    start: Annotated[float, typer.Option(help="Time stamp of the beginning in bags [s].")] = 1.0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write trajectory, forces and shapes of a plan, or what a run measured, for other tools. No ROS is needed.

    Examples:

        pliant export ring.plan --format mcap --out ring.mcap

        pliant export ring.plan --format ros2 --out ring_bag

        pliant export ring.plan --format csv --out ring.csv --grasp 1

        pliant export ring.plan --format grasps --out ring.npz

        pliant export ring.plan --format moveit --out ring.moveit.json

        pliant export ring.plan --format foxglove --out ring.foxglove.json

        pliant export ring.run --format mcap --out ring_run.mcap
    """
    from pliant.cli.answers import emit
    from pliant.files import ExportOptions, export_file

    options = ExportOptions(grasp=grasp, rate=rate, start=start)
    files = export_file(source, out, format=format, options=options)
    if not json:
        for file in files:
            print(f"wrote {file}")
    emit({"files": [str(file) for file in files], "format": format}, json)
