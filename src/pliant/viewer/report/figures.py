"""Line plots as SVG text, sharp at any size: axes with round numbers, bands for phases, a cursor, a legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Floats
from pliant.viewer.scene.colours import CATEGORIES, css, scale_colours

DASHES = ("", "6 3", "2 3", "9 3 2 3")
STYLES = {"dashed": "7 4", "dotted": "1 3"}
MOST_POINTS = 1200


class Band(NamedTuple):
    """A stretch along x with a name."""

    name: str
    start: float
    end: float


@dataclass(frozen=True, eq=False)
class Line:
    """One curve.

    Attributes:
        label: in the legend; a line without one is not in it.
        x, y: equally many numbers; a gap where y is not finite.
        style: solid for what matters most; dashed and dotted lines are thinner, as companions of the same colour.
        colour: position in the list of colours; that of the line itself if None.
    """

    label: str
    x: ArrayLike
    y: ArrayLike
    style: Literal["solid", "dashed", "dotted"] = "solid"
    colour: int | None = None


def line_figure(
    lines: Sequence[Line],
    *,
    title: str,
    x_label: str,
    y_label: str,
    bands: Sequence[Band] = (),
    limit: float | None = None,
    cursor: float | None = None,
    width: int = 640,
    height: int = 300,
    alone: bool = False,
) -> str:
    """The picture of some curves, as one `<svg>` element.

    Args:
        bands: shaded in turn.
        limit: y of a horizontal line that must not be crossed; left out where it is far above.
        cursor: x of a vertical line.
        alone: for a file of its own, with a size and white behind it; else it is as wide as its place in a page.
    """
    data = [_points(line) for line in lines]
    xs = np.concatenate([*(x for x, _ in data), *(np.array([band.start, band.end]) for band in bands), np.zeros(1)])
    ys = np.concatenate([*(y[np.isfinite(y)] for _, y in data), np.zeros(1)])
    low, high = float(ys.min()), float(ys.max())
    if limit is not None and high < limit < 3.0 * max(high, 1e-9):
        high = limit
    high = high if high - low > 1e-12 else low + 1.0
    high += 0.12 * (high - low)  # room for the names of the bands
    low -= 0.04 * (high - low) if low < 0.0 else 0.0
    x0, x1 = float(xs.min()), max(float(xs.max()), float(xs.min()) + 1e-9)
    x_ticks = round_steps(x0, x1, 8)
    y_ticks = round_steps(low, high, 5)
    rows = (sum(bool(line.label) for line in lines) + 2) // 3
    left, right, top, bottom = 58, width - 14, 34, height - 44 - 17 * rows
    y0, y1 = min(low, y_ticks[0]), max(high, y_ticks[-1])

    def px(x: Floats | float) -> Floats:
        return np.asarray(left + (np.asarray(x) - x0) / (x1 - x0) * (right - left))

    def py(y: Floats | float) -> Floats:
        return np.asarray(bottom - (np.asarray(y) - y0) / (y1 - y0) * (bottom - top))

    size = f'width="{width}" height="{height}" color="#1b2330"' if alone else 'width="100%"'
    out = [_open(width, height, title, size=size)]
    out += [_tag("rect", width=width, height=height, fill="white")] if alone else []
    out.append(_text(left, 18, title, size=14, weight=600))
    for k, (name, start, end) in enumerate(bands):
        a, b = float(px(start)), float(px(end))
        shade = {"fill": "#5b6b80", "fill-opacity": 0.10 if k % 2 else 0.04}
        out.append(_tag("rect", x=a, y=top, width=b - a, height=bottom - top, **shade))
        if b - a > 7.0 * len(name):
            out.append(_text((a + b) / 2, top + 13, name, anchor="middle", size=11, fill="#8a94a3"))
    for y in y_ticks:
        v = float(py(y))
        out.append(_rule(left, v, right, v, stroke="#9aa4b2", **{"stroke-opacity": 0.35}))
        out.append(_text(left - 6, v + 4, _number(y), anchor="end"))
    out += [_text(float(px(x)), bottom + 15, _number(x), anchor="middle") for x in x_ticks]
    out.append(_text(right, bottom + 31, x_label, anchor="end"))
    out.append(_text(right, 18, y_label, anchor="end"))
    if limit is not None and y0 <= limit <= y1:
        v = float(py(limit))
        out.append(_rule(left, v, right, v, stroke="#b3261e", **{"stroke-dasharray": "5 4"}))
        out.append(_text(right - 4, v - 4, "limit", anchor="end", fill="#b3261e"))
    places = iter((left + (k % 3) * (right - left) / 3, bottom + 44 + 17 * (k // 3)) for k in range(len(lines)))
    for k, (line, (curve_x, curve_y)) in enumerate(zip(lines, data, strict=True)):
        style = _stroke(line, k if line.colour is None else line.colour)
        out += [_tag("polyline", points=points, **style) for points in _runs(px(curve_x), py(curve_y))]
        if line.label:
            u, v = next(places)
            out += [_rule(u, v - 4, u + 24, v - 4, **style), _text(u + 30, v, line.label)]
    if cursor is not None and x0 <= cursor <= x1:
        u = float(px(cursor))
        out.append(_rule(u, top, u, bottom, stroke="#111", **{"class": "cursor", "stroke-opacity": 0.65}))
    out.append("</svg>")
    return "".join(out)


def colour_bar(top: float, *, title: str, unit: str, width: int = 260) -> str:
    """The colour scale from zero to ``top`` with round numbers below it."""
    left, right = 14, width - 26
    shares = np.linspace(0.0, 1.0, 24)
    stops = "".join(
        _tag("stop", offset=f"{share:.3f}", **{"stop-color": css((c[0], c[1], c[2]))})
        for share, c in zip(shares, scale_colours(shares).tolist(), strict=True)
    )
    out = [
        _open(width, 58, title, css_class="colour-bar"),
        f'<defs><linearGradient id="pliant-scale">{stops}</linearGradient></defs>',
        _text(left, 13, f"{title} [{unit}]", weight=600),
        _tag("rect", x=left, y=20, width=right - left, height=16, fill="url(#pliant-scale)", stroke="#667"),
    ]
    for value in round_steps(0.0, top, 4) if top > 0.0 else [0.0]:
        u = left + (value / top if top > 0.0 else 0.0) * (right - left)
        out += [_rule(u, 36, u, 41, stroke="currentColor"), _text(u, 53, _number(value), anchor="middle", size=11)]
    return "".join([*out, "</svg>"])


def round_steps(low: float, high: float, count: int) -> list[float]:
    """About ``count`` round numbers (1, 2 or 5 times a power of ten) that cover ``low`` .. ``high`` from inside."""
    span = max(high - low, 1e-12)
    rough = span / max(count, 1)
    power = 10.0 ** np.floor(np.log10(rough))
    step = float(min(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= rough * 0.999))
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [round(k * step, 12) for k in range(first, last + 1)]


def _points(line: Line) -> tuple[Floats, Floats]:
    """A curve's points; of a long one the lowest and highest of every stretch, so that peaks stay."""
    x, y = np.asarray(line.x, dtype=np.float64).ravel(), np.asarray(line.y, dtype=np.float64).ravel()
    n = min(len(x), len(y))
    if n <= MOST_POINTS:
        return x[:n], y[:n]
    edges = np.linspace(0, n, MOST_POINTS // 2 + 1).astype(int)
    keep: list[int] = []
    for a, b in pairwise(edges.tolist()):
        part = y[a:b]
        if np.isfinite(part).any():
            keep += sorted({a + int(np.nanargmin(part)), a + int(np.nanargmax(part))})
        else:
            keep.append(a)
    return x[keep], y[keep]


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


def _open(width: int, height: int, title: str, css_class: str = "plot", size: str = 'width="100%"') -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {size} class="{css_class}" '
        f'font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="{escape(title)}">'
    )


def _tag(tag: str, **attributes: Any) -> str:
    text = " ".join(
        f'{name}="{f"{value:.1f}" if isinstance(value, float) and "opacity" not in name else value}"'
        for name, value in attributes.items()
    )
    return f"<{tag} {text}/>"


def _rule(x1: float, y1: float, x2: float, y2: float, **style: Any) -> str:
    return _tag("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), **style)


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    size: int = 12,
    weight: int = 400,
    fill: str = "currentColor",
) -> str:
    style = f'text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" fill="{fill}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'


def _stroke(line: Line, index: int) -> dict[str, Any]:
    return {
        "fill": "none",
        "stroke": css(CATEGORIES[index % len(CATEGORIES)]),
        "stroke-width": 2.2 if line.style == "solid" else 1.6,
        "stroke-dasharray": STYLES.get(line.style, DASHES[index // len(CATEGORIES) % len(DASHES)]),
        "stroke-linecap": "round",
        "stroke-linejoin": "round",
    }


def _number(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")
