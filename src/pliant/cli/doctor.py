"""`pliant doctor`: what works on this machine, and what to do about the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pliant.cli.machine import Finding


def doctor(
    compile: Annotated[bool, typer.Option("--compile", help="Compile the inner loops of planning, then look.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Look at this machine: versions, cache, compiled loops, threads, off-screen drawing, browser, ROS, optional parts.

    Nothing is changed, but for a file written into the cache folder and removed again, and what --compile compiles.
    Exit code 1 if something that every command needs does not work.

    Examples:

        pliant doctor

        pliant doctor --compile

        pliant doctor --json | jq '.findings[] | select(.state != "good")'
    """
    from pliant.cli.answers import EXIT_NO, emit, progress
    from pliant.cli.machine import State, examine

    if compile:
        with progress("compiling the inner loops"):
            from pliant.compiling import compile_loops

            compile_loops()
    findings = examine()
    broken = any(finding.state is State.BROKEN for finding in findings)
    emit({"works": not broken, "findings": [finding._asdict() for finding in findings]}, json)
    if not json:
        _print(findings)
    if broken:
        raise typer.Exit(EXIT_NO)


def _print(findings: list[Finding]) -> None:
    from rich.console import Console
    from rich.table import Table

    from pliant.cli.machine import State

    console = Console(highlight=False, emoji=False, markup=False)
    table = Table("", "", "found", box=None, pad_edge=False, show_header=False)
    for finding in findings:
        table.add_row(finding.state.value, finding.what, finding.found)
    console.print(table)
    todo = [finding for finding in findings if finding.remedy]
    if todo:
        console.print("\nwhat to do:")
    for finding in todo:
        console.print(f"  {finding.what}: {finding.remedy}", soft_wrap=True)
    if not any(finding.state is State.BROKEN for finding in findings):
        console.print("\nplanning works here")
