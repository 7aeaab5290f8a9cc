"""Plots are valid SVG whose lines lie where the numbers say."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from pliant.viewer import Series, line_plot

SPACE = "{http://www.w3.org/2000/svg}"


def paths(svg: str) -> list[np.ndarray]:
    root = ElementTree.fromstring(svg)
    return [
        np.array([[float(a), float(b)] for a, b in re.findall(r"[ML]([-\d.]+) ([-\d.]+)", p.get("d", ""))])
        for p in root.iter(f"{SPACE}path")
    ]


def test_a_straight_line_is_drawn_straight_and_rises_to_the_right() -> None:
    svg = line_plot([Series("rise", [0, 1, 2], [0, 5, 10])], "A & B <c>", "time [s]", "force [N]")
    (points,) = paths(svg)
    assert np.all(np.diff(points[:, 0]) > 0)
    assert np.all(np.diff(points[:, 1]) < 0)  # upwards on the screen
    np.testing.assert_allclose(points[1], points[[0, 2]].mean(axis=0), atol=0.06)
    texts = [t.text for t in ElementTree.fromstring(svg).iter(f"{SPACE}text")]
    assert {"A & B <c>", "time [s]", "force [N]", "rise", "0", "10"} <= set(texts)


def test_gaps_stay_gaps_and_peaks_survive_thinning() -> None:
    (points,) = paths(line_plot([Series("", np.arange(5), [0, 1, np.nan, 3, 4])], "", "", ""))
    assert len(points) == 4
    svg = line_plot([Series("", np.arange(5), [0, 1, np.nan, 3, 4])], "", "", "")
    assert svg.count("M") >= 2
    y = np.zeros(100_000)
    y[54_321] = 7.0
    (thin,) = paths(line_plot([Series("", np.arange(100_000), y)], "", "", ""))
    assert len(thin) < 2500
    assert thin[:, 1].min() < thin[:, 1].max() - 200  # the one peak is still there


@pytest.mark.parametrize("values", [[], [np.nan, np.nan], [3.0, 3.0], [1e-300, 0.0]])
def test_nothing_to_draw_is_no_error(values: list[float]) -> None:
    svg = line_plot([Series("x", np.arange(len(values)), values)], "t", "x", "y", bands=[(0, 1, "a")], limit=2.0)
    ElementTree.fromstring(svg)
    assert "nan" not in svg
