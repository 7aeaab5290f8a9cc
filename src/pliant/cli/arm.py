"""`pliant arm import`: a description of one's own arm, proposed from its URDF."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def arm(
    action: Annotated[str, typer.Argument(help="import: propose a description.")],
    file: Annotated[Path, typer.Argument(help="The arm's URDF, without a hand.")],
    out: Annotated[Path | None, typer.Option(help="Folder for the result; the arm's name by default.")] = None,
    flange: Annotated[str | None, typer.Option(help="Link a hand is bolted to; guessed by default.")] = None,
    package_dir: Annotated[
        list[Path], typer.Option(help="Folder in which package://name/... is looked for (may be repeated).")
    ] = [],  # noqa: B006 - typer copies it
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Propose the description of an arm from its URDF: flange, home, limits.

    Writes a folder with arm.yaml (every guess as a comment, with its reason and how sure it is), the URDF and its
    meshes. A flange that looks sideways, or lies inside the wrist, gets a link of its own that does not.

    Examples:

        pliant arm import xarm7.urdf --out xarm7

        pliant arm import ur5.urdf --flange tool0 --package-dir ~/catkin_ws/src
    """
    from pliant.cli.answers import EXIT_BROKEN, emit
    from pliant.cli.guesses import guess_answers, print_guesses
    from pliant.errors import OptionError, unknown_name
    from pliant.files import check_file
    from pliant.robot import propose_arm, read_urdf, write_arm_proposal

    if action != "import":
        raise OptionError("pliant arm", unknown_name("action", action, ("import",)))
    proposal = propose_arm(read_urdf(file, package_dirs=package_dir), flange=flange)
    folder = out if out is not None else Path(proposal.description.name)
    if (folder / "arm.yaml").exists():
        raise OptionError(str(folder / "arm.yaml"), "is there already; name another folder with --out")
    path = write_arm_proposal(proposal, folder)
    report = check_file(path)
    files = [path, folder / proposal.description.urdf]
    answer = {
        "out": folder,
        "arm": path,
        "ok": report.ok,
        "flange": proposal.description.flange,
        "home": proposal.description.home,
        "guesses": guess_answers(proposal.guesses),
        "warnings": list(proposal.warnings),
        "notes": list(proposal.urdf.notes),
        "problems": [{"where": p.where, "what": p.what, "allowed": p.allowed} for p in report.problems],
        "files": files,
    }
    emit(answer, json)
    if not json:
        print_guesses(proposal.description.title, proposal.guesses)
        for text in proposal.warnings:
            typer.echo(f"WARNING: {text}")
        for name in files:
            typer.echo(str(name))
        typer.echo(f"Correct arm.yaml where it is wrong, then: pliant check {path}")
    if not report.ok:
        for problem in report.problems:
            typer.echo(f"problem: {problem}", err=True)
        raise typer.Exit(EXIT_BROKEN)
