"""Plots of a run as in [D] fig. 7-8: forces, joints and torques, planned against measured; what the pads felt."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

import numpy as np

from pliant.control import RunLog, RunPhase
from pliant.documents import make_folder
from pliant.errors import OptionError
from pliant.file_bytes import write_bytes
from pliant.robot import HandDescription
from pliant.tactile import PadSensor, TactileFrame, TactileProcessor
from pliant.viewer.report.figures import Line, line_figure
from pliant.viewer.report.pad_image import readings_image
from pliant.viewer.still.png import save_png


def run_figures(log: RunLog, *, limit: float | None = None, largest_joints: int = 7) -> Mapping[str, str]:
    """SVG texts by name: ``forces``, ``joints``, ``torques``, ``points``.

    Args:
        limit: the permitted force [N], drawn as a line where forces come anywhere near it.
        largest_joints: only the joints that bear or move most are drawn; as many as there are colours.
    """
    t = log["time"] - (log["time"][0] if len(log) else 0.0)
    bands = _bands(log, t)
    forces = []
    for i, name in enumerate(log.contacts):
        forces += [
            Line(name, t, log["force_measured"][:, i], colour=i),
            Line("", t, log["force_filtered"][:, i], "dotted", i),
            Line("", t, log["force_planned"][:, i], "dashed", i),
        ]
    joints, torques = [], []
    q = log["q_measured"]
    moved = np.nan_to_num(np.fmax.reduce(q, axis=0) - np.fmin.reduce(q, axis=0)) if len(log) else np.zeros(0)
    for k, j in enumerate(np.argsort(-moved)[:largest_joints]):
        joints += [
            Line(log.joints[j], t, log["q_measured"][:, j], colour=k),
            Line("", t, log["q_planned"][:, j], "dashed", k),
        ]
    bearing = np.nan_to_num(np.abs(log["torque_planned"])).max(axis=0, initial=0.0)
    rating = bearing / max(float(bearing.max(initial=0.0)), 1e-9)
    for k, j in enumerate(np.argsort(-rating)[:largest_joints]):
        torques += [
            Line(log.joints[j], t, log["torque_measured"][:, j], colour=k),
            Line("", t, log["torque_planned"][:, j], "dashed", k),
        ]
    away = 1e3 * np.linalg.norm(log["point_measured"] - log["point_planned"], axis=2)
    points = [Line(name, t, away[:, i], colour=i) for i, name in enumerate(log.contacts)]
    drawn = {
        "forces": (forces, "Contact forces: solid measured, dotted filtered, dashed planned", "N"),
        "joints": (joints, "Joints: solid measured, dashed planned", "rad, m"),
        "torques": (torques, "Joint torques: solid measured, dashed planned", "N m, N"),
        "points": (points, "Centre of pressure: distance from the planned one", "mm"),
    }
    return {
        name: line_figure(
            lines,
            title=title,
            x_label="time [s]",
            y_label=unit,
            bands=bands,
            limit=("limit", limit) if limit is not None and name == "forces" else None,
            width=720,
            height=340,
            alone=True,
        )
        for name, (lines, title, unit) in drawn.items()
    }


def write_run_plots(
    log: RunLog,
    folder: str | Path,
    hand: HandDescription,
    *,
    sensor: PadSensor | None = None,
    limit: float | None = None,
) -> list[Path]:
    """Write the figures (SVG) and pressure images (PNG) at the end of the squeeze and of the hold into a folder.

    Args:
        hand: whose pads they are.
        sensor: what counts mean; as the log tells by default.
        limit: the permitted force [N].
    """
    target = make_folder(folder)
    files = []
    for name, text in run_figures(log, limit=limit).items():
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


def _bands(log: RunLog, t: np.ndarray) -> list[tuple[str, float, float]]:
    bands, start = [], 0
    for phase, group in groupby(log.phases):
        end = start + len(list(group))
        bands.append((str(phase), float(t[start]), float(t[min(end, len(t) - 1)])))
        start = end
    return bands
