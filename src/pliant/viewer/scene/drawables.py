"""Coloured surfaces in world coordinates, arrows and balls among them; no server and no window needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from pliant.arrays import Floats
from pliant.objects import Mesh
from pliant.viewer.scene.colours import GREY, Colour


@dataclass(frozen=True, eq=False)
class Drawable:
    """A surface in world coordinates with a colour.

    Attributes:
        mesh: the surface.
        colour: red, green, blue in 0..1, for all of it or one row per vertex.
        name: for legends and picking.
        gloss: how shiny, 0..1.
        opacity: 1 solid .. 0 not there.
    """

    mesh: Mesh
    colour: Colour | Floats = GREY
    name: str = ""
    gloss: float = 0.25
    opacity: float = 1.0


def arrow(start: ArrayLike, vector: ArrayLike, *, radius: float, colour: Colour, name: str = "") -> Drawable:
    """An arrow from ``start`` along ``vector``; the head takes at most two fifths of it."""
    v = np.asarray(vector, dtype=np.float64)
    length = float(np.linalg.norm(v))
    head = min(4.0 * radius, 0.4 * length)
    profile = [(0.0, 0.0), (radius, 0.0), (radius, length - head), (2.2 * radius, length - head), (0.0, length)]
    mesh = _turned(profile, 20)
    return Drawable(mesh.transformed(_pointing(np.asarray(start, dtype=np.float64), v / length)), colour, name)


def ball(centre: ArrayLike, *, radius: float, colour: Colour, name: str = "") -> Drawable:
    """A small ball, for points worth seeing."""
    angle = np.linspace(0.0, np.pi, 13)
    mesh = _turned([(radius * np.sin(a), -radius * np.cos(a)) for a in angle], 24)
    return Drawable(mesh.moved(centre), colour, name)


def _turned(profile: Sequence[tuple[float, float]], count: int) -> Mesh:
    """The surface of revolution of (radius, height) points about z."""
    angle = 2 * np.pi * np.arange(count) / count
    rings = [np.column_stack([r * np.cos(angle), r * np.sin(angle), np.full(count, z)]) for r, z in profile]
    k = np.arange(count)
    after = (k + 1) % count
    faces = []
    for i in range(len(profile) - 1):
        a, b, c, d = i * count + k, i * count + after, (i + 1) * count + after, (i + 1) * count + k
        faces += [np.column_stack([a, b, c]), np.column_stack([a, c, d])]
    return Mesh(np.vstack(rings), np.vstack(faces), "turned")


def _pointing(origin: Floats, z: Floats) -> pin.SE3:
    x = np.cross(z, (1.0, 0.0, 0.0) if abs(z[0]) < 0.9 else (0.0, 1.0, 0.0))
    x /= np.linalg.norm(x)
    return pin.SE3(np.column_stack([x, np.cross(z, x), z]), origin)
