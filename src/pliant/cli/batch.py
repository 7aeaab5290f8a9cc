"""`pliant batch`: many plans, resumable."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pliant.batch import BatchResult, Engine, Item, Limits, Progress

UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


def batch(
    task: Annotated[list[Path], typer.Option(help="Task file (may be repeated).")],
    out: Annotated[Path, typer.Option(help="Folder for results; finished items in it are not done again.")],
    objects: Annotated[
        list[str], typer.Option(help='Mesh files that take the place of the task\'s object: a quoted pattern, "*.stl".')
    ] = [],  # noqa: B006 - typer copies it
    hands: Annotated[
        list[str], typer.Option(help="Hands: shipped names or description files, with commas or repeated.")
    ] = [],  # noqa: B006 - typer copies it
    engine: Annotated[str, typer.Option(help="local: processes on this machine; ray: a Ray cluster.")] = "local",
    address: Annotated[
        str | None, typer.Option(help="Of the Ray cluster; RAY_ADDRESS by default, else one is started here.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Items at once; all processors by default.")] = None,
    time_limit: Annotated[float | None, typer.Option(min=0.001, help="Wall time of one item [s].")] = None,
    memory_limit: Annotated[str | None, typer.Option(help="Memory of one item: bytes, or 800M, 4G.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of every search.", min=0)] = 0,
    resume: Annotated[
        bool, typer.Option("--resume/--afresh", help="Keep finished items of an earlier run, or do all again.")
    ] = True,
    package_dir: Annotated[
        list[Path], typer.Option(help="Folder in which package://name/... is looked for (may be repeated).")
    ] = [],  # noqa: B006 - typer copies it
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Plan every object with every hand in every task; results in Parquet, plans in files, a summary on top.

    Run it again to go on where it stopped. Ctrl-C finishes the running items, a second one stops at once.

    Examples:

        pliant batch --task lift.yaml --objects "meshes/*.stl" --hands schunk_sdh2,allegro_like --out out/lift

        pliant batch --task ring.yaml --out out/ring --jobs 4 --time-limit 600 --memory-limit 4G

        pliant batch --task lift.yaml --objects "meshes/*.stl" --out out/lift --engine ray --address 10.0.0.1:6379
    """
    from pliant.batch import Limits, plan_items
    from pliant.cli.answers import EXIT_NO, emit
    from pliant.parts import need

    need("batch", *(["ray"] if engine == "ray" else []))
    named = [name.strip() for text in hands for name in text.split(",") if name.strip()]
    chosen = _engine(engine, address, jobs)
    limits = Limits(time_limit, _bytes(memory_limit))
    items = plan_items(task, objects=objects, hands=named, seed=seed, package_dirs=package_dir)
    result = _run(items, out, chosen, limits, resume)
    answer = {"done": result.done, "failed": result.failed, "skipped": result.skipped, "out": out, "left": result.left}
    emit(answer, json)
    if not json:
        _print(result)
    if result.left:
        raise typer.Exit(130)
    if result.failed:
        raise typer.Exit(EXIT_NO)


def _engine(name: str, address: str | None, jobs: int | None) -> Engine:
    from pliant.batch import LocalEngine, RayEngine
    from pliant.errors import OptionError, unknown_name

    if name == "ray":
        return RayEngine(address, jobs)
    if name != "local":
        raise OptionError("--engine", unknown_name("engine", name, ("local", "ray")))
    if address is not None:
        raise OptionError("--address", "is the address of a Ray cluster; it needs --engine ray")
    return LocalEngine(jobs)


def _bytes(text: str | None) -> float | None:
    from pliant.errors import OptionError, Problem

    if text is None:
        return None
    plain = text.strip().lower().removesuffix("b")
    unit = plain[-1:] if plain[-1:] in UNITS else ""
    try:
        return float(plain.removesuffix(unit)) * UNITS[unit]
    except ValueError:
        raise OptionError("--memory-limit", Problem("", f"'{text}' is no size", "bytes, or 800M, 4G")) from None


def _run(items: list[Item], out: Path, engine: Engine, limits: Limits, resume: bool) -> BatchResult:
    from pliant.batch import run_batch
    from pliant.cli.answers import progress

    with progress(f"{len(items)} items", float(len(items))) as show:

        def tell(now: Progress) -> None:
            words = f"{now.done + now.skipped} of {now.total} done"
            words += f", {now.failed} failed" if now.failed else ""
            words += f", {now.running} running"
            words += "; finishing these (Ctrl-C again stops at once)" if now.stopping else ""
            show(now.done + now.failed + now.skipped, float(now.total), words)

        # Ray prints what happens to its nodes; the answer alone goes to stdout.
        with contextlib.redirect_stdout(sys.stderr):
            return run_batch(items, "plan", out, engine=engine, limits=limits, resume=resume, progress=tell)


def _print(result: BatchResult) -> None:
    typer.echo(f"{result.done} done, {result.failed} failed, {result.skipped} finished before, {result.left} left")
    typer.echo(f"{result.out / 'summary.md'}, {result.out / 'results.parquet'}")
    if result.failed:
        typer.echo(f"reasons of failures: {result.out / 'failed'}", err=True)
    if result.left:
        typer.echo("interrupted; run it again to go on", err=True)
