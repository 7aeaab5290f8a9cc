"""`pliant hand import`: a description of one's own hand, proposed from its URDF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pliant.robot import Hand, HandDescription, Proposal


def hand(
    action: Annotated[str, typer.Argument(help="import: propose a description; view: look at one and correct it.")],
    file: Annotated[Path, typer.Argument(help="The hand's URDF; for view its hand.yaml, or a shipped hand's name.")],
    out: Annotated[Path | None, typer.Option(help="Folder for the result; the hand's name by default.")] = None,
    package_dir: Annotated[
        list[Path], typer.Option(help="Folder in which package://name/... is looked for (may be repeated).")
    ] = [],  # noqa: B006 - typer copies it
    couple: Annotated[
        list[str], typer.Option(help="A joint that follows another: distal=0.33*medial (may be repeated).")
    ] = [],  # noqa: B006
    picture: Annotated[bool, typer.Option("--picture/--no-picture", help="Draw the proposal.")] = True,
    view: Annotated[bool, typer.Option("--view", help="Show the proposal in the browser, for correction.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="First port to try for the page; 0 takes any.")] = 8080,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Propose the description of a hand from its URDF: fingers, pads, open and closed, palm, preshapes.

    Writes a folder with hand.yaml (every guess as a comment, with its reason and how sure it is), the URDF, its meshes
    and a picture. Look at it, correct hand.yaml, and see with `pliant check` whether it still fits. With --view, and
    later with `pliant hand view hand.yaml`, that is done in a page on this machine; stop it with Ctrl-C.

    Examples:

        pliant hand import my_hand.urdf

        pliant hand import allegro.urdf --package-dir ~/catkin_ws/src --out hands/allegro --view

        pliant hand import bh8.urdf --couple "distal_1=0.33*medial_1" --couple "distal_2=0.33*medial_2"

        pliant hand view hands/allegro/hand.yaml
    """
    from pliant.cli.answers import EXIT_BROKEN, emit
    from pliant.cli.guesses import guess_answers
    from pliant.errors import OptionError, unknown_name
    from pliant.files import check_file
    from pliant.parts import need
    from pliant.robot import couple as follow
    from pliant.robot import load_hand, propose_hand, read_urdf, shipped_names, write_proposal

    if view:
        need("viewer")
    if action == "view":
        if str(file) in shipped_names("hand"):
            _view(load_hand(str(file)), None, None, port, browser, [])
        else:
            _view(load_hand(file, package_dirs=package_dir), file, None, port, browser, package_dir)
        return
    if action != "import":
        raise OptionError("pliant hand", unknown_name("action", action, ("import", "view")))
    proposal = propose_hand(follow(read_urdf(file, package_dirs=package_dir), couple))
    folder = out if out is not None else Path(proposal.description.name)
    if (folder / "hand.yaml").exists():
        raise OptionError(str(folder / "hand.yaml"), "is there already; name another folder with --out")
    path = write_proposal(proposal, folder)
    report = check_file(path)
    files = [path, folder / proposal.description.urdf]
    if picture and report.ok:
        files.append(_draw(load_hand(path), folder / "hand.png"))
    answer = {
        "out": folder,
        "hand": path,
        "ok": report.ok,
        "fingers": [finger.name for finger in proposal.description.fingers],
        "guesses": guess_answers(proposal.guesses),
        "largest_ball_m": proposal.largest_ball,
        "warnings": list(proposal.warnings),
        "notes": list(proposal.notes),
        "problems": [{"where": p.where, "what": p.what, "allowed": p.allowed} for p in report.problems],
        "files": files,
    }
    emit(answer, json)
    if not json:
        _print(proposal, files)
    if not report.ok:
        for problem in report.problems:
            typer.echo(f"problem: {problem}", err=True)
        raise typer.Exit(EXIT_BROKEN)
    if view:
        _view(load_hand(path), path, proposal, port, browser, [])


def _view(
    hand: Hand, path: Path | None, proposal: Proposal | None, port: int, browser: bool, package_dirs: list[Path]
) -> None:
    """Serve the page; without a path the hand is one of pliant's own, to be looked at only."""
    import webbrowser

    from pliant.cli import ctrl_c
    from pliant.errors import OptionError, Problem
    from pliant.robot import save_corrected
    from pliant.viewer import HandPage

    guesses = proposal.guesses if proposal is not None else ()
    before = proposal.description if proposal is not None else hand.description

    def save(corrected: HandDescription) -> tuple[Hand, Path]:
        if path is None:
            what = "ships with pliant and stays as it is"
            raise OptionError(hand.description.name, Problem("", what, "import its URDF, or copy its folder"))
        read = save_corrected(corrected, path, before=before, guesses=guesses, package_dirs=package_dirs)
        return read, path

    with HandPage(hand, save, guesses=guesses, port=port) as page:
        print(f"{page.address}  (Ctrl-C stops)", flush=True)
        if browser:
            webbrowser.open(page.address)
        page.wait(ctrl_c)


def _draw(hand: Hand, path: Path) -> Path:
    from pliant.cli.answers import progress
    from pliant.viewer import hand_picture, save_png

    with progress("drawing"):
        return save_png(hand_picture(hand), path)


def _print(proposal: Proposal, files: list[Path]) -> None:
    from rich.console import Console

    from pliant.cli.guesses import print_guesses
    from pliant.errors import MOST_LINES
    from pliant.viewer import finger_colour

    console = Console(soft_wrap=True, highlight=False, emoji=False, markup=False)
    print_guesses(proposal.description.title, proposal.guesses)
    colours = [f"{finger.name} {finger_colour(i).name}" for i, finger in enumerate(proposal.description.fingers)]
    console.print(
        f"in the picture: {', '.join(colours)}; red: where the palm looks; black: how the first finger closes"
    )
    for text in proposal.notes[:MOST_LINES]:
        console.print(f"note: {text}")
    if (more := len(proposal.notes) - MOST_LINES) > 0:
        console.print(f"and {more} more notes: pliant check {files[0]}")
    for text in proposal.warnings:
        console.print(f"WARNING: {text}", style="bold red")
    for path in files:
        console.print(str(path))
    console.print("Correct hand.yaml where it is wrong, then: pliant check", str(files[0]))
