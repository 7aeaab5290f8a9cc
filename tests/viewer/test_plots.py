"""Plots are valid SVG whose lines lie where the numbers say."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from pliant.control import RunRecorder
from pliant.viewer import Line, line_figure, run_figures
from pliant.viewer.report.figures import Band

SPACE = "{http://www.w3.org/2000/svg}"


def curves(svg: str) -> list[np.ndarray]:
    """Points of every stretch of a curve on the screen."""
    root = ElementTree.fromstring(svg)
    return [
        np.array([[float(v) for v in point.split(",")] for point in line.get("points", "").split()])
        for line in root.iter(f"{SPACE}polyline")
    ]


def figure(*lines: Line, **options: Any) -> str:
    return line_figure(lines, **{"title": "t", "x_label": "x", "y_label": "y", **options})


def test_a_straight_line_is_drawn_straight_and_rises_to_the_right() -> None:
    svg = figure(Line("rise", [0, 1, 2], [0, 5, 10]), title="A & B <c>", x_label="time [s]", y_label="force [N]")
    (points,) = curves(svg)
    assert np.all(np.diff(points[:, 0]) > 0)
    assert np.all(np.diff(points[:, 1]) < 0)  # upwards on the screen
    np.testing.assert_allclose(points[1], points[[0, 2]].mean(axis=0), atol=0.06)
    texts = [t.text for t in ElementTree.fromstring(svg).iter(f"{SPACE}text")]
    assert {"A & B <c>", "time [s]", "force [N]", "rise", "0", "10"} <= set(texts)


def test_gaps_stay_gaps_and_peaks_survive_thinning() -> None:
    svg = figure(Line("a & b", np.arange(5), [0, 1, np.nan, 3, 4]), cursor=2.0)
    assert [len(points) for points in curves(svg)] == [2, 2]
    assert "a &amp; b" in svg
    assert 'class="cursor"' in svg
    y = np.zeros(100_000)
    y[54_321] = 7.0
    (thin,) = curves(figure(Line("", np.arange(100_000), y)))
    assert len(thin) < 2500
    assert thin[:, 1].min() < thin[:, 1].max() - 180  # the one peak is still there


def test_only_labelled_lines_are_in_the_legend_and_companions_share_the_colour() -> None:
    root = ElementTree.fromstring(
        figure(Line("force", [0, 1], [1, 2], colour=3), Line("", [0, 1], [1, 3], "dashed", 3), alone=True)
    )
    solid, dashed = root.iter(f"{SPACE}polyline")
    assert solid.get("stroke") == dashed.get("stroke")
    assert (solid.get("stroke-dasharray"), dashed.get("stroke-dasharray")) == ("", "7 4")
    assert [t.text for t in root.iter(f"{SPACE}text")].count("force") == 1
    assert root.get("width") == "640"


@pytest.mark.parametrize("values", [[], [np.nan, np.nan], [3.0, 3.0], [1e-300, 0.0]])
def test_nothing_to_draw_is_no_error(values: list[float]) -> None:
    svg = figure(Line("x", np.arange(len(values)), values), bands=[Band("a", 0, 1)], limit=2.0)
    ElementTree.fromstring(svg)
    assert "nan" not in svg


def test_a_run_in_which_nothing_was_measured_is_plotted_without_complaint() -> None:
    recorder = RunRecorder(("a", "b"), ("left",))
    for i in range(3):
        recorder.append({"time": 0.1 * i, "phase": 0})
    assert set(run_figures(recorder.log())) == {"forces", "joints", "torques", "points"}
