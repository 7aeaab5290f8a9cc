"""`pliant check`: is this file usable, and if not, why and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def check(
    files: Annotated[
        list[Path], typer.Argument(help="Robots (URDF), hand or arm descriptions, meshes, tasks, grasps, plans, runs.")
    ],
    package_dir: Annotated[
        list[Path], typer.Option(help="Folder in which package://name/... is looked for (may be repeated).")
    ] = [],  # noqa: B006 - typer copies it
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check files and explain every problem found.

    Examples:

        pliant check my_hand.yaml my_hand.urdf

        pliant check banana.stl task.yaml --json

        pliant check arm.urdf --package-dir ~/catkin_ws/src

        pliant check ring.plan

    Of a plan everything is computed again: weight, balance, friction, limits, speeds, contact points, collisions.
    """
    from rich.console import Console
    from rich.markup import escape

    from pliant.cli.answers import EXIT_BROKEN, emit
    from pliant.errors import MOST_LINES, more_than_shown
    from pliant.files import check_file

    reports = [check_file(path, package_dirs=package_dir) for path in files]
    if not json:
        console = Console(soft_wrap=True, highlight=False, emoji=False)
        for report in reports:
            verdict = "[green]ok[/]" if report.ok else "[red]not usable[/]"
            console.print(f"{verdict}  [bold]{escape(str(report.file))}[/]  {report.kind}")
            for fact in report.facts:
                console.print(f"    {escape(fact)}")
            for note in report.notes:
                console.print(f"    [yellow]note[/] {escape(note)}")
            for problem in report.problems[:MOST_LINES]:
                console.print(f"    [red]problem[/] {escape(str(problem))}")
            if more := more_than_shown(report.problems):
                console.print(f"    and {more}")
    emit(
        {
            "files": [
                {
                    "file": str(report.file),
                    "kind": report.kind,
                    "ok": report.ok,
                    "problems": [{"where": p.where, "what": p.what, "allowed": p.allowed} for p in report.problems],
                    "notes": list(report.notes),
                    "facts": list(report.facts),
                }
                for report in reports
            ]
        },
        json,
    )
    if not all(report.ok for report in reports):
        raise typer.Exit(EXIT_BROKEN)
