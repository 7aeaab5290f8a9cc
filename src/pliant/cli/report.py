"""`pliant report`: a plan as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    plan: Annotated[Path, typer.Argument(help="A plan file.")],
    out: Annotated[Path, typer.Option(help="The HTML file to write.")],
    run: Annotated[Path | None, typer.Option(help="A run log of this plan, shown beside it in plots and pads.")] = None,
    stills: Annotated[Path | None, typer.Option(help="Also write PNG pictures into this folder.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write a plan as one HTML file that opens anywhere, without network: text, pictures, a 3-D film, plots, tables.

    Examples:

        pliant report ring.plan --out ring.html

        pliant report ring.plan --run ring.run --out ring.html --stills pictures/
    """
    from pliant.cli.answers import emit, progress
    from pliant.documents import make_folder, make_room
    from pliant.files import load_plan
    from pliant.viewer import measured_run, save_stills, write_report

    make_room(out, plan, run)
    if stills is not None:
        make_folder(stills)
    found = load_plan(plan)
    measured = measured_run(run, found) if run is not None else None
    with progress("reading", 100) as show:
        path = write_report(
            found, out, measured=measured, progress=lambda what, share: show(100 * share, description=what)
        )
        files = [path, *(save_stills(found, stills) if stills is not None else [])]
    answer = {
        "status": found.status,
        "files": [{"file": str(file), "bytes": file.stat().st_size} for file in files],
    }
    emit(answer, json)
    if not json:
        for file in files:
            print(f"{file}  {file.stat().st_size / 1e6:.2f} MB")
