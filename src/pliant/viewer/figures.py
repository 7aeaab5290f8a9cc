"""Line plots as SVG, small enough to sit in a page: axes with round numbers, bands for phases, a cursor, a legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.viewer.colours import CATEGORIES, css, scale_colours

__all__ = ["Line", "colour_bar", "line_figure", "round_steps"]

Floats = NDArray[np.float64]
DASHES = ("", "6 3", "2 3", "9 3 2 3")


@dataclass(frozen=True, eq=False)
class Line:
    """One curve.

    Args:
        x, y: equally many numbers; a gap where y is not finite.
        measured: drawn thin and dotted beside the planned curve of the same colour.
        colour: position in the list of colours.
    """

    x: ArrayLike
    y: ArrayLike
    measured: bool = False
    colour: int | None = None


def line_figure(
    lines: Mapping[str, Line],
    *,
    title: str,
    x_label: str,
    y_label: str,
    bands: Sequence[tuple[str, float, float]] = (),
    limit: tuple[str, float] | None = None,
    cursor: float | None = None,
    width: int = 640,
    height: int = 300,
) -> str:
    """The picture of some curves.

    Args:
        bands: (name, from, to) along x, shaded in turn.
        limit: name and value of a horizontal line that must not be crossed.
        cursor: x of a vertical line.
    """
    data = {
        name: (np.asarray(line.x, dtype=np.float64), np.asarray(line.y, dtype=np.float64))
        for name, line in lines.items()
    }
    xs = np.concatenate([x for x, _ in data.values()] + [[b[1], b[2]] for b in bands] or [[0.0, 1.0]])
    ys = np.concatenate([y[np.isfinite(y)] for _, y in data.values()] or [[0.0]])
    low, high = (float(ys.min()), float(ys.max())) if len(ys) else (0.0, 1.0)
    low, high = min(low, 0.0), max(high, 0.0)
    if limit is not None and high < limit[1] < 3.0 * max(high, 1e-9):
        high = limit[1]
    high = high if high > low else low + 1.0
    high += 0.12 * (high - low)  # room for the names of the bands
    low -= 0.04 * (high - low) if low < 0.0 else 0.0
    x_ticks = round_steps(float(xs.min()), max(float(xs.max()), float(xs.min()) + 1e-9), 8)
    y_ticks = round_steps(low, high, 5)
    rows = (len(lines) + 2) // 3
    left, right, top, bottom = 58, width - 14, 34, height - 44 - 17 * rows
    x0, x1 = float(xs.min()), max(float(xs.max()), float(xs.min()) + 1e-9)
    y0, y1 = min(low, y_ticks[0]), max(high, y_ticks[-1])

    def px(x: Floats | float) -> Floats:
        return np.asarray(left + (np.asarray(x) - x0) / (x1 - x0) * (right - left))

    def py(y: Floats | float) -> Floats:
        return np.asarray(bottom - (np.asarray(y) - y0) / (y1 - y0) * (bottom - top))

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="100%" '
        f'font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="{escape(title)}">',
        f'<text x="{left}" y="18" font-size="14" font-weight="600" fill="currentColor">{escape(title)}</text>',
    ]
    for k, (name, start, end) in enumerate(bands):
        a, b = float(px(start)), float(px(end))
        shade = "0.10" if k % 2 else "0.04"
        out.append(f'<rect x="{a:.1f}" y="{top}" width="{b - a:.1f}" height="{bottom - top}" fill="#5b6b80" fill-opacity="{shade}"/>')
        if b - a > 7.0 * len(name):
            out.append(f'<text x="{(a + b) / 2:.1f}" y="{top + 13}" text-anchor="middle" font-size="11" fill="#8a94a3">{escape(name)}</text>')
    for y in y_ticks:
        v = float(py(y))
        out.append(f'<line x1="{left}" x2="{right}" y1="{v:.1f}" y2="{v:.1f}" stroke="#9aa4b2" stroke-opacity="0.35"/>')
        out.append(f'<text x="{left - 6}" y="{v + 4:.1f}" text-anchor="end" fill="currentColor">{_number(y)}</text>')
    for x in x_ticks:
        u = float(px(x))
        out.append(f'<text x="{u:.1f}" y="{bottom + 15}" text-anchor="middle" fill="currentColor">{_number(x)}</text>')
    out.append(f'<text x="{right}" y="{bottom + 31}" text-anchor="end" fill="currentColor">{escape(x_label)}</text>')
    out.append(f'<text x="{right}" y="18" text-anchor="end" fill="currentColor">{escape(y_label)}</text>')
    if limit is not None and y0 <= limit[1] <= y1:
        v = float(py(limit[1]))
        out.append(f'<line x1="{left}" x2="{right}" y1="{v:.1f}" y2="{v:.1f}" stroke="#b3261e" stroke-dasharray="5 4"/>')
        out.append(f'<text x="{right - 4}" y="{v - 4:.1f}" text-anchor="end" fill="#b3261e">{escape(limit[0])}</text>')
    for k, (name, line) in enumerate(lines.items()):
        index = k if line.colour is None else line.colour
        colour = css(CATEGORIES[index % len(CATEGORIES)])
        dash = "1 3" if line.measured else DASHES[index // len(CATEGORIES) % len(DASHES)]
        style = f'stroke="{colour}" stroke-width="{1.6 if line.measured else 2.2}" stroke-dasharray="{dash}" fill="none" stroke-linecap="round" stroke-linejoin="round"'
        x, y = data[name]
        out += [f'<polyline points="{points}" {style}/>' for points in _runs(px(x), py(y))]
        u, v = left + (k % 3) * (right - left) / 3, bottom + 44 + 17 * (k // 3)
        out.append(f'<line x1="{u:.1f}" x2="{u + 24:.1f}" y1="{v - 4:.1f}" y2="{v - 4:.1f}" {style}/>')
        out.append(f'<text x="{u + 30:.1f}" y="{v:.1f}" fill="currentColor">{escape(name)}</text>')
    if cursor is not None and x0 <= cursor <= x1:
        u = float(px(cursor))
        out.append(f'<line class="cursor" x1="{u:.1f}" x2="{u:.1f}" y1="{top}" y2="{bottom}" stroke="#111" stroke-opacity="0.65" stroke-width="1.2"/>')
    out.append("</svg>")
    return "".join(out)


def colour_bar(top: float, *, title: str, unit: str, width: int = 260) -> str:
    """The colour scale from zero to ``top`` with round numbers below it."""
    left, right = 14, width - 26
    stops = "".join(
        f'<stop offset="{share:.3f}" stop-color="{css((c[0], c[1], c[2]))}"/>'
        for share, c in zip(np.linspace(0, 1, 24), scale_colours(np.linspace(0, 1, 24)), strict=True)
    )
    ticks = "".join(
        f'<line x1="{u:.1f}" x2="{u:.1f}" y1="36" y2="41" stroke="currentColor"/>'
        f'<text x="{u:.1f}" y="53" text-anchor="middle" fill="currentColor">{_number(v)}</text>'
        for v in (round_steps(0.0, top, 4) if top > 0 else [0.0])
        if v <= top * 1.0001 or top <= 0
        for u in [left + (v / top if top > 0 else 0.0) * (right - left)]
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 58" width="100%" class="colour-bar" '
        f'font-family="system-ui, sans-serif" font-size="11" role="img" aria-label="{escape(title)}">'
        f'<defs><linearGradient id="pliant-scale">{stops}</linearGradient></defs>'
        f'<text x="{left}" y="13" font-size="12" font-weight="600" fill="currentColor">{escape(title)} [{escape(unit)}]</text>'
        f'<rect x="{left}" y="20" width="{right - left}" height="16" fill="url(#pliant-scale)" stroke="#667" stroke-width="0.5"/>'
        f"{ticks}</svg>"
    )


def round_steps(low: float, high: float, count: int) -> list[float]:
    """About ``count`` round numbers (1, 2 or 5 times a power of ten) that cover ``low`` .. ``high`` from inside."""
    span = max(high - low, 1e-12)
    rough = span / max(count, 1)
    power = 10.0 ** np.floor(np.log10(rough))
    step = float(min((m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= rough * 0.999)))
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [round(k * step, 12) for k in range(first, last + 1)]


def _runs(x: Floats, y: Floats) -> list[str]:
    """Point lists of the stretches without gaps."""
    out, run = [], []
    for u, v in zip(x.tolist(), y.tolist(), strict=True):
        if np.isfinite(v):
            run.append(f"{u:.1f},{v:.1f}")
        elif run:
            out.append(" ".join(run))
            run = []
    return [*out, " ".join(run)] if run else out


def _number(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")
