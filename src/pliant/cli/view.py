"""`pliant view`: a plan or a task in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pliant.cli.completion import tasks_and_plans


def view(
    file: Annotated[
        str,
        typer.Argument(help="A plan file, a task file, or the name of a shipped task.", autocompletion=tasks_and_plans),
    ],
    run: Annotated[Path | None, typer.Option(help="A run log of this plan, shown beside it in plots and pads.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="First port to try; 0 takes any.")] = 8080,
    host: Annotated[str, typer.Option(help="Where to listen; only this machine by default.")] = "127.0.0.1",
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes for planning from the page.")] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
) -> None:
    """Look at a plan, or change a task and plan it, in a page on this machine.

    Nothing leaves the machine. Stop with Ctrl-C.

    Examples:

        pliant view ring.plan

        pliant view ring

        pliant view my_task.yaml --port 9000 --no-browser
    """
    import contextlib
    import webbrowser

    from pliant.cli import ctrl_c
    from pliant.errors import OptionError, Problem
    from pliant.files import find_task, load_plan, read_task
    from pliant.viewer import Viewer, measured_run

    path = find_task(file, others=(".plan",))
    is_plan = path.suffix.lower() not in (".yaml", ".yml", ".json")
    plan = load_plan(path) if is_plan else None
    task = None if is_plan else read_task(path)
    if run is not None and plan is None:
        raise OptionError("--run", Problem("", f"{file} is a task", "a run belongs to a plan: name the plan file"))
    measured = measured_run(run, plan) if run is not None and plan is not None else None
    with Viewer(host=host, port=port, jobs=jobs) as viewer, contextlib.suppress(KeyboardInterrupt):
        print(f"{viewer.address}  (Ctrl-C stops)", flush=True)
        if browser:
            webbrowser.open(viewer.address)
        # While the browser loads the page, the geometry is prepared.
        folder = path.resolve().parent
        if plan is not None:
            viewer.open_plan(plan, measured, folder=folder)
        elif task is not None:
            viewer.open_task(task, folder=folder)
        viewer.wait(ctrl_c)
