"""Scans that nothing can be made of: refused in words, before they take the memory or the day."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from pliant.arrays import Floats
from pliant.cli import run_command

MEMORY = 1_000_000_000
RANDOM = np.random.default_rng(0)


@pytest.fixture
def bounded() -> Iterator[None]:
    """A gigabyte more than the process has."""
    if sys.platform != "linux":
        pytest.skip("addresses are limited on Linux only")
    here = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (here + MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def _crowd() -> Floats:
    """Half of the points on a ball, half of them on a spot of it: the latter are neighbours, each of each."""
    ball = RANDOM.normal(size=(15_200, 3))
    ball *= 0.1 / np.linalg.norm(ball, axis=1, keepdims=True)
    return np.concatenate([ball, RANDOM.uniform(-1e-5, 1e-5, (14_700, 3)) + np.array([0.1, 0, 0])])


CLOUDS: dict[str, tuple[Callable[[], Floats], str]] = {
    "crowded": (_crowd, "others within"),
    "flat": (lambda: RANDOM.uniform(0, 0.1, (3000, 3)) * [1, 1, 0], "in one plane"),
    "tilted": (lambda: RANDOM.uniform(0, 0.1, (3000, 2)) @ [[1, 0, 0.5], [0, 1, 0.3]], "in one plane"),
    "straight": (lambda: np.linspace(0, 0.1, 3000)[:, None] * [1, 2, 3], "in one plane"),
}


def _written(path: Path, vertices: Floats, faces: list[tuple[int, int, int]] = []) -> str:  # noqa: B006 - read only
    lines = ["v {:.9g} {:.9g} {:.9g}".format(*vertex) for vertex in vertices.tolist()]
    path.write_text("\n".join([*lines, *("f {} {} {}".format(*face) for face in faces), ""]))
    return str(path)


@pytest.mark.parametrize("kind", CLOUDS)
@pytest.mark.parametrize("command", [("check",), ("objects", "repair", "--out", "o.obj")], ids=["check", "repair"])
def test_points_that_show_no_body_are_refused(
    kind: str, command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], bounded: None
) -> None:
    make, words = CLOUDS[kind]
    file = _written(tmp_path / "m.obj", make())
    assert run_command([*command, file]) == 2
    if command[0] == "objects":
        assert words in capsys.readouterr().err


def _strip(n: int, turns: int) -> tuple[Floats, list[tuple[int, int, int]]]:
    """A strip whose two rims are waves, or cover themselves as a knot does."""
    t = np.linspace(0.0, 2 * turns * np.pi, n, endpoint=False)
    wave = (3.0 if turns == 1 else 1.5) * t
    radius = 0.1 + 0.03 * np.cos(wave)
    ring = np.stack([radius * np.cos(t), radius * np.sin(t), 0.03 * np.sin(wave)], axis=1)
    faces = []
    for i in range(1, n + 1):
        after = i % n + 1
        faces += [(i, after, n + after), (i, n + after, n + i)]
    return np.concatenate([ring, ring + np.array([0, 0, 0.005])]), faces


@pytest.mark.parametrize(("edges", "turns"), [(10_500, 1), (2_000, 2)], ids=["long", "knotted"])
def test_a_hole_whose_rim_is_too_long_to_be_closed_is_refused(
    edges: int, turns: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], bounded: None
) -> None:
    file = _written(tmp_path / "m.obj", *_strip(edges, turns))
    assert run_command(["objects", "repair", file, "--cap", "--out", str(tmp_path / "o.obj")]) == 2
    assert f"a rim of {edges} edges" in capsys.readouterr().err
    assert not (tmp_path / "o.obj").exists()


def test_so_many_holes_that_closing_them_takes_hours_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    n = 3000
    corners = np.array([[0, 0, 0], [0.2, 0, 0], [0, 0.2, 0]])
    sheets = (corners + np.linspace(0, 0.2, n)[:, None, None] * [0, 0, 1]).reshape(-1, 3)
    file = _written(tmp_path / "m.obj", sheets, [(3 * i + 1, 3 * i + 2, 3 * i + 3) for i in range(n)])
    assert run_command(["objects", "repair", file, "--cap", "--out", str(tmp_path / "o.obj")]) == 2
    assert "3000 of a mesh of 3000 faces" in capsys.readouterr().err
