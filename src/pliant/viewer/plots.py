"""Line plots as SVG text: no plotting library, sharp at any size, readable in a report or a browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Series", "line_plot"]

Floats = NDArray[np.float64]

# Okabe and Ito's colours: told apart by everybody.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933")
DASHES = {"solid": "", "dashed": "7 4", "dotted": "2 3"}
MOST_POINTS = 1200
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 34, 46


@dataclass(frozen=True, eq=False)
class Series:
    """One line.

    Args:
        label: in the legend; lines without one are not in it.
        x, y: of its points; gaps where y is not finite.
        style: solid, dashed or dotted.
        colour: a number picks from the palette (lines of equal number have equal colour); the next free one if None.
    """

    label: str
    x: ArrayLike
    y: ArrayLike
    style: Literal["solid", "dashed", "dotted"] = "solid"
    colour: int | str | None = None


def line_plot(
    series: Sequence[Series],
    title: str,
    x_label: str,
    y_label: str,
    *,
    size: tuple[int, int] = (720, 320),
    bands: Sequence[tuple[float, float, str]] = (),
    limit: float | None = None,
) -> str:
    """The plot as one `<svg>` element.

    Args:
        series: the lines.
        title, x_label, y_label: in words, with units.
        size: width and height [px].
        bands: (start, end, name) of stretches along x, shaded in turn: phases of a run.
        limit: a horizontal line that must not be crossed.
    """
    width, height = size
    lines = [(s, *_points(s)) for s in series]
    xs = np.concatenate([x for _, x, _ in lines]) if lines else np.zeros(0)
    ys = np.concatenate([y for _, _, y in lines]) if lines else np.zeros(0)
    if limit is not None and np.isfinite(limit):
        ys = np.append(ys, limit)
    x_low, x_high = _range(xs, margin=0.0)
    y_low, y_high = _range(ys, margin=0.06)
    wide, high = width - LEFT - RIGHT, height - TOP - BOTTOM

    def px(x: ArrayLike) -> Floats:
        return np.asarray(LEFT + wide * (np.asarray(x, dtype=float) - x_low) / (x_high - x_low))

    def py(y: ArrayLike) -> Floats:
        return np.asarray(TOP + high * (1.0 - (np.asarray(y, dtype=float) - y_low) / (y_high - y_low)))

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="11" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for i, (start, end, name) in enumerate(bands):
        a, b = float(px(max(start, x_low))), float(px(min(end, x_high)))
        if b <= a:
            continue
        if i % 2 == 0:
            out.append(f'<rect x="{a:.1f}" y="{TOP}" width="{b - a:.1f}" height="{high}" fill="#f1f3f6"/>')
        if b - a > 6 * len(name):
            out.append(
                f'<text x="{(a + b) / 2:.1f}" y="{TOP + 12}" text-anchor="middle" fill="#777">{escape(name)}</text>'
            )
    for value in _ticks(y_low, y_high):
        y = float(py(value))
        out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + wide}" y2="{y:.1f}" stroke="#dddddd"/>')
        out.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_number(value)}</text>')
    for value in _ticks(x_low, x_high):
        x = float(px(value))
        out.append(f'<line x1="{x:.1f}" y1="{TOP + high}" x2="{x:.1f}" y2="{TOP + high + 4}" stroke="#444444"/>')
        out.append(f'<text x="{x:.1f}" y="{TOP + high + 16}" text-anchor="middle">{_number(value)}</text>')
    out.append(f'<rect x="{LEFT}" y="{TOP}" width="{wide}" height="{high}" fill="none" stroke="#444444"/>')
    if limit is not None and np.isfinite(limit):
        y = float(py(limit))
        line = f'x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + wide}" y2="{y:.1f}"'
        out.append(f'<line {line} stroke="#c00000" stroke-dasharray="10 4"/>')
    legend, free = [], 0
    for s, across, up in lines:
        if s.colour is None:
            colour, free = COLOURS[free % len(COLOURS)], free + 1
        else:
            colour = COLOURS[s.colour % len(COLOURS)] if isinstance(s.colour, int) else s.colour
        dash = f' stroke-dasharray="{DASHES[s.style]}"' if DASHES[s.style] else ""
        path = _path(px(across), py(up))
        if path:
            out.append(f'<path d="{path}" fill="none" stroke="{escape(colour)}" stroke-width="1.6"{dash}/>')
        if s.label:
            legend.append((s.label, colour, dash))
    out += _legend(legend, width)
    out.append(f'<text x="{LEFT}" y="16" font-size="13" font-weight="bold">{escape(title)}</text>')
    out.append(f'<text x="{LEFT + wide / 2}" y="{height - 10}" text-anchor="middle">{escape(x_label)}</text>')
    middle = TOP + high / 2
    turn = f'transform="rotate(-90 14 {middle})"'
    out.append(f'<text x="14" y="{middle}" text-anchor="middle" {turn}>{escape(y_label)}</text>')
    out.append("</svg>")
    return "\n".join(out)


def _points(series: Series) -> tuple[Floats, Floats]:
    x, y = np.asarray(series.x, dtype=float).ravel(), np.asarray(series.y, dtype=float).ravel()
    n = min(len(x), len(y))
    x, y = x[:n], y[:n]
    if n > MOST_POINTS:
        # Lowest and highest value of every stretch, so that peaks stay.
        edges = np.linspace(0, n, MOST_POINTS // 2 + 1).astype(int)
        keep: list[int] = []
        for a, b in pairwise(edges.tolist()):
            part = y[a:b]
            if not np.isfinite(part).any():
                keep.append(int(a))
                continue
            keep += sorted({int(a + np.nanargmin(part)), int(a + np.nanargmax(part))})
        x, y = x[keep], y[keep]
    return x, y


def _range(values: Floats, *, margin: float) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if high - low < 1e-12 * max(abs(low), abs(high), 1e-9):
        low, high = low - max(0.5 * abs(low), 0.5), high + max(0.5 * abs(high), 0.5)
    return low - margin * (high - low), high + margin * (high - low)


def _ticks(low: float, high: float, about: int = 6) -> list[float]:
    step = 10.0 ** np.floor(np.log10((high - low) / about))
    step *= next((m for m in (1, 2, 5, 10) if (high - low) / (m * step) <= about), 10)
    return [float(value) for value in np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step]


def _number(value: float) -> str:
    return f"{value:.6g}" if abs(value) > 1e-12 else "0"


def _path(x: Floats, y: Floats) -> str:
    parts, pen = [], False
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        if not (np.isfinite(a) and np.isfinite(b)):
            pen = False
            continue
        parts.append(f"{'L' if pen else 'M'}{a:.1f} {b:.1f}")
        pen = True
    return "".join(parts)


def _legend(entries: list[tuple[str, str, str]], width: int) -> list[str]:
    out = []
    x = float(width - RIGHT)
    for label, colour, dash in reversed(entries):
        x -= 6.2 * len(label) + 30
        out.append(
            f'<line x1="{x:.0f}" y1="25" x2="{x + 20:.0f}" y2="25" stroke="{escape(colour)}" stroke-width="2"{dash}/>'
        )
        out.append(f'<text x="{x + 24:.0f}" y="29">{escape(label)}</text>')
    return out
