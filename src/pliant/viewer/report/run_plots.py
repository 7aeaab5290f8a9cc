"""Plots of a run as in [D] fig. 7-8: forces, joints and torques, planned against measured; pad pressures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

import numpy as np

from pliant.arrays import Floats
from pliant.control import FingerTorques, RunLog, RunPhase
from pliant.documents import make_folder
from pliant.errors import OptionError
from pliant.file_bytes import write_bytes
from pliant.robot import HandDescription
from pliant.tactile import PadSensor, TactileFrame, TactileProcessor
from pliant.viewer.report.figures import Band, Line, line_figure
from pliant.viewer.report.pad_pressures import readings_image
from pliant.viewer.still.render import save_png


def run_figures(
    log: RunLog,
    *,
    limit: float | None = None,
    fingers: FingerTorques | None = None,
    cell: float | None = None,
    largest_joints: int = 7,
) -> Mapping[str, str]:
    """SVG texts by name: ``forces``, ``joints``, ``torques``, ``points``, and with ``fingers`` two more.

    Args:
        limit: the permitted force [N], drawn as a line where forces come anywhere near it.
        fingers: torques of the hand's joints from measured contact forces: ``finger_joints`` and ``finger_torques``
            are drawn as well, of the hand alone, on axes of their own.
        cell: size of a tactile cell [m]: centres of pressure are compared in cells.
        largest_joints: only the joints that bear or move most are drawn; as many as there are colours.
    """
    t = log["time"] - (log["time"][0] if len(log) else 0.0)
    contacts = range(len(log.contacts))
    q = log["q_measured"]
    moved = np.nan_to_num(np.fmax.reduce(q, axis=0) - np.fmin.reduce(q, axis=0)) if len(log) else np.zeros(0)
    loads = np.nan_to_num(np.abs(log["torque_planned"])).max(axis=0, initial=0.0)
    most_moved, most_loaded = (np.argsort(-values)[:largest_joints].tolist() for values in (moved, loads))
    distance = np.linalg.norm(log["point_measured"] - log["point_planned"], axis=2) / (cell or 1e-3)
    forces = _compared(log, t, "force", log.contacts, contacts, filtered=True)
    points = [Line(log.contacts[i], t, distance[:, i], colour=i) for i in contacts]
    figure = partial(line_figure, x_label="time [s]", bands=_bands(log, t), width=720, height=340, alone=True)
    figures = {
        "forces": figure(
            forces, title="Contact forces: solid measured, dotted filtered, dashed planned", y_label="N", limit=limit
        ),
        "joints": figure(
            _compared(log, t, "q", log.joints, most_moved),
            title="Joints: solid measured, dashed planned",
            y_label="rad, m",
        ),
        "torques": figure(
            _compared(log, t, "torque", log.joints, most_loaded),
            title="Joint torques: solid measured, dashed planned",
            y_label="N m, N",
        ),
        "points": figure(
            points, title="Centre of pressure: distance from the planned one", y_label="cells" if cell else "mm"
        ),
    }
    if fingers is not None:
        figures["finger_joints"] = figure(
            _compared(log, t, "q", log.joints, fingers.joints[:largest_joints]),
            title="Joints of the hand: solid measured, dashed planned",
            y_label="rad, m",
        )
        figures["finger_torques"] = figure(
            _finger_torques(log, t, fingers, largest_joints),
            title="Hand torques: solid from measured forces, dotted drives, dashed planned",
            y_label="N m, N",
        )
    return figures


def _finger_torques(log: RunLog, t: Floats, fingers: FingerTorques, most: int) -> list[Line]:
    """Of every joint of the hand, the most loaded first, what it bore and what was planned."""
    loads = np.nan_to_num(np.abs(log["torque_planned"]))[:, list(fingers.joints)].max(axis=0, initial=0.0)
    lines: list[Line] = []
    for colour, k in enumerate(np.argsort(-loads, kind="stable")[:most].tolist()):
        joint, held = fingers.joints[k], np.isfinite(fingers.from_forces[:, k])
        lines.append(Line(log.joints[joint], t, fingers.from_forces[:, k], colour=colour))
        measured, planned = (
            np.where(held, log[f"torque_{what}"][:, joint], np.nan) for what in ("measured", "planned")
        )
        lines += [Line("", t, measured, "dotted", colour), Line("", t, planned, "dashed", colour)]
    return lines


def _compared(
    log: RunLog, t: Floats, what: str, names: Sequence[str], columns: Iterable[int], *, filtered: bool = False
) -> list[Line]:
    """Of every column what was measured, what was filtered from it if asked for, and what was planned."""
    lines: list[Line] = []
    for colour, i in enumerate(columns):
        lines.append(Line(names[i], t, log[f"{what}_measured"][:, i], colour=colour))
        if filtered:
            lines.append(Line("", t, log[f"{what}_filtered"][:, i], "dotted", colour))
        lines.append(Line("", t, log[f"{what}_planned"][:, i], "dashed", colour))
    return lines


def write_run_plots(
    log: RunLog,
    folder: str | Path,
    hand: HandDescription,
    *,
    sensor: PadSensor | None = None,
    limit: float | None = None,
    fingers: FingerTorques | None = None,
) -> list[Path]:
    """Write the figures (SVG) and pressure images (PNG) at the end of the squeeze and of the hold into a folder.

    Args:
        hand: whose pads they are.
        sensor: what counts mean; that of the log by default.
        limit: the permitted force [N].
        fingers: torques of the hand's joints from measured contact forces.
    """
    target = make_folder(folder)
    files = []
    for name, text in run_figures(log, limit=limit, fingers=fingers).items():
        path = target / f"{name}.svg"
        write_bytes(path, text.encode(), error=OptionError)
        files.append(path)
    processor = TactileProcessor.for_hand(hand, sensor=sensor or log.pad_sensor)
    for phase in (RunPhase.SQUEEZE, RunPhase.HOLD):
        rows = np.flatnonzero(log.during(phase))
        if not len(rows):
            continue
        moment = float(log["time"][rows[-1]])
        readings = {}
        for name, frames in log.frames.items():
            at = int(np.searchsorted(frames.times, moment, side="right")) - 1
            if at >= 0 and frames.counts[at].max(initial=0) > 0:
                counts = np.maximum(frames.counts[at], 0).astype(np.int64)
                readings[name] = processor.process(TactileFrame(name, moment, counts))
        if not readings:
            continue
        image = readings_image(readings, processor, title=f"end of {phase}, {moment:.2f} s")
        files.append(save_png(image, target / f"pads_{phase}.png"))
    return files


def _bands(log: RunLog, t: Floats) -> list[Band]:
    bands, start = [], 0
    for phase, group in groupby(log.phases):
        end = start + len(list(group))
        bands.append(Band(str(phase), float(t[start]), float(t[min(end, len(t) - 1)])))
        start = end
    return bands
