"""`pliant demo`: the main job once, on the shipped ring task: plan, execute in the virtual lab, report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pliant.cli.plan import Effort


def demo(
    out: Annotated[Path, typer.Option(help="Folder for what is written.")] = Path("pliant-demo"),
    no_view: Annotated[bool, typer.Option("--no-view", help="Do not open the viewer at the end.")] = False,
    effort: Annotated[Effort, typer.Option(help="How hard to search.")] = Effort.QUICK,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; all cores by default.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Plan how to pick up a rubber ring and turn it in the fingers, do it in the virtual lab, and write a report.

    Writes ring.plan, ring.run, ring.html and pictures. In a terminal the viewer opens at the end; Ctrl-C stops it.
    Exit code 1: no plan, or the ring was not held.

    Examples:

        pliant demo

        pliant demo --out out/demo --no-view --json
    """
    import sys
    from dataclasses import replace

    from pliant.cli.answers import emit, progress
    from pliant.cli.plan import plan_answer, planning_progress
    from pliant.documents import make_folder
    from pliant.files import save_plan, shipped_task
    from pliant.parts import need
    from pliant.planner import plan

    need("lab", "viewer")
    make_folder(out)
    task = shipped_task("ring")
    task = replace(task, options=replace(task.options, effort=effort.value))
    with planning_progress() as tell:
        found = plan(task, jobs=jobs, progress=tell)
    plan_file = out / "ring.plan"
    save_plan(found, plan_file)
    answer: dict[str, Any] = {"plan": plan_answer(found), "run": None, "files": [str(plan_file)]}
    held = False
    if found.best is not None:
        with progress("executing in the virtual lab", 3) as show:
            held, answer["run"], run_file = _run(found, out / "ring.run")
            show(1, description="drawing")
            answer["files"] += [str(run_file), *map(str, _draw(found, out / "pictures"))]
            show(2, description="writing the report")
            answer["files"].append(str(_report(found, run_file, out / "ring.html")))
            show(3)
    emit(answer, json)
    if not json:
        _print(answer, found.advice)
        if found.best is not None and not no_view and sys.stdout.isatty():
            from pliant.cli.view import view

            view(str(plan_file), run=Path(answer["files"][1]))
    if not held:
        raise typer.Exit(1)


def _run(found: Any, path: Path) -> tuple[bool, dict[str, Any], Path]:
    from dataclasses import replace

    from pliant.cli.run_answers import run_answer
    from pliant.files import save_run
    from pliant.lab import TrialSettings, run_trial

    settings = TrialSettings()
    result = run_trial(found.task, found.best, settings=settings)
    answer = run_answer(result, settings.control, found.best)
    facts = {**result.log.facts, "trial": {key: value for key, value in answer.items() if key != "events"}}
    return result.held, answer, save_run(replace(result.log, facts=facts), path)


def _report(found: Any, run_file: Path, path: Path) -> Path:
    from pliant.viewer import measured_run, write_report

    return write_report(found, path, measured=measured_run(run_file, found))


def _draw(found: Any, folder: Path) -> list[Path]:
    from pliant.documents import make_folder
    from pliant.viewer import save_stills

    return list(save_stills(found, make_folder(folder)))


def _print(answer: dict[str, Any], advice: str) -> None:
    planned, run = answer["plan"], answer["run"]
    print(f"plan     {advice}")
    print(
        f"         {planned['hypotheses']} hypotheses, {planned['stable']} hold the weight; {planned['wall_s']:.0f} s"
    )
    if run is not None:
        reason = f" ({run['reason']})" if run["reason"] else ""
        print(f"run      {run['outcome']}{reason}; largest force {run['max_force_n']:.3g} N")
    for file in answer["files"]:
        print(f"wrote    {file}")
