"""`pliant recording`: what a recorded grasp of a real hand shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from pliant.robot import Hand
    from pliant.tactile import GraspReport, PadTrace, Recording, RecordingReport


def recording(
    file: Annotated[Path, typer.Argument(help="Recording of a hand (.npz): tactile frames and joint angles.")],
    out: Annotated[Path | None, typer.Option(help="Write pressure images (PNG) into this folder.")] = None,
    warmth: Annotated[
        float, typer.Option(help="Temperature of the pads: -1 cold, 0 operating, 1 hot.", min=-1.0, max=1.0)
    ] = 0.0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Play a recording of a Schunk SDH2 through the tactile processing.

    Per grasp: when each pad was touched, its force and centre of pressure, the diameter of what is between the pads,
    and the force gained per millimetre of closing. Exit code 1 if no grasp of the file holds anything.

    Examples:

        pliant recording tennis_ball.npz

        pliant recording tennis_ball.npz --out pictures

        pliant recording tennis_ball.npz --warmth -1 --json
    """
    from pliant.cli.answers import EXIT_NO, emit
    from pliant.robot import load_hand
    from pliant.tactile import PadSensor, analyse_recording, read_recording

    played = read_recording(file)
    hand = load_hand(played.layout.hand)
    report = analyse_recording(played, hand, sensor=PadSensor(warmth=warmth))
    files = _write_pictures(played, report, hand, out, warmth) if out is not None else []
    if json:
        emit(_answer(report, files), True)
    else:
        _print(report, files)
    if report.diameter is None:
        raise typer.Exit(EXIT_NO)


def _answer(report: RecordingReport, files: list[Path]) -> dict[str, Any]:
    return {
        "file": report.source,
        "diameter_m": report.diameter,
        "stiffness_n_per_m": report.stiffness,
        "gains": report.gains,
        "frame_lag_s": report.lag,
        "frame_lag_measured": report.lag_measured,
        "bad_cells": {
            name: {
                kind: [[int(i), int(j)] for i, j in zip(*getattr(health, kind).nonzero(), strict=True)]
                for kind in ("dead", "stuck", "noisy")
            }
            for name, health in report.health.items()
            if health.bad.any()
        },
        "grasps": [_grasp_answer(grasp) for grasp in report.grasps],
        "files": files,
    }


def _grasp_answer(grasp: GraspReport) -> dict[str, Any]:
    return {
        "grasp": grasp.index,
        "status": grasp.status,
        "touch_s": grasp.touch_time,
        "diameter_m": grasp.diameter,
        "diameter_without_lag_m": grasp.diameter_raw,
        "misfit_m": grasp.misfit,
        "stiffness_n_per_m": grasp.stiffness,
        "closed_m": grasp.closed,
        "balance": grasp.balance,
        "pads": [
            {
                "array": pad.array,
                "link": pad.link,
                "first_contact_s": pad.onset.first,
                "touch_s": pad.onset.time,
                "final_force_n": pad.force[-1],
                "peak_force_n": pad.force.max(),
                "saturated": pad.saturated,
                "time_s": pad.time,
                "force_n": pad.force,
                "centre_m": pad.centre,
                "cell": pad.cell,
            }
            for pad in grasp.pads
        ],
    }


def _print(report: RecordingReport, files: list[Path]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{Path(report.source).name}: times in s, forces in N, width in mm")
    for heading in ("#", "pad", "touch", "end", "peak", "row, col", "width", "N/mm"):
        table.add_column(heading, no_wrap=True)
    for grasp in report.grasps:
        if not grasp.pads:
            table.add_row(str(grasp.index), grasp.status.value.replace("_", " "), "", "", "", "", "", "")
        for i, pad in enumerate(grasp.pads):
            first = i == 0
            table.add_row(
                str(grasp.index) if first else "",
                pad.array,
                f"{pad.onset.time:.3f}",
                f"{pad.force[-1]:.2f}",
                f"{pad.force.max():.2f}{'+' if pad.saturated else ''}",
                _cell(pad),
                _number(grasp.diameter, 1e3, "", 1) if first else "",
                _number(grasp.stiffness, 1e-3, "", 2) if first else "",
            )
    console = Console(markup=False, emoji=False)
    console.print(table)
    measured = "measured" if report.lag_measured else "assumed: one frame"
    console.print(
        f"diameter {_number(report.diameter, 1e3, 'mm', 1)}, stiffness {_number(report.stiffness, 1e-3, 'N/mm', 2)} "
        f"(medians); frames lag joints by {1e3 * report.lag:.0f} ms ({measured}); + : a cell is saturated"
    )
    if gains := report.gains:
        told = ", ".join(f"{name} {gain:.2f}" for name, gain in gains.items())
        console.print(f"gains with which facing pads agree: {told}", highlight=False)
    for name, health in report.health.items():
        if health.bad.any():
            console.print(
                f"{name}: left out {int(health.dead.sum())} dead, {int(health.stuck.sum())} stuck, "
                f"{int(health.noisy.sum())} noisy cells"
            )
    for path in files:
        console.print(f"written: {path}", markup=False)


def _cell(pad: PadTrace) -> str:
    row, column = pad.cell[pad.peak_frame]
    return f"{row:.2f}, {column:.2f}"


def _number(value: float | None, factor: float, unit: str, digits: int) -> str:
    return "-" if value is None else f"{factor * value:.{digits}f} {unit}".strip()


def _write_pictures(played: Recording, report: RecordingReport, hand: Hand, folder: Path, warmth: float) -> list[Path]:
    """One picture per grasp that touched something: every touched array at the moment of the largest force."""
    import numpy as np

    from pliant.documents import make_folder
    from pliant.tactile import PadSensor, TactileFrame, TactileProcessor
    from pliant.viewer import readings_image, save_png

    target = make_folder(folder)
    processor = TactileProcessor.for_hand(
        hand.description, sensor=PadSensor(warmth=warmth), health=report.health, saturation=played.layout.saturation
    )
    files = []
    for recorded, grasp in zip(played.grasps, report.grasps, strict=True):
        if not grasp.pads:
            continue
        moment = int(np.argmax(sum(pad.force for pad in grasp.pads)))
        readings = {
            pad.array: processor.process(TactileFrame(pad.array, 0.0, recorded.frames[pad.array][moment]))
            for pad in grasp.pads
        }
        title = f"{Path(played.source).stem}, grasp {grasp.index}, {recorded.frame_time[moment]:.2f} s"
        image = readings_image(readings, processor, title=title)
        files.append(save_png(image, target / f"{Path(played.source).stem}_grasp_{grasp.index}.png"))
    return files
