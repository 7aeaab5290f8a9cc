"""The object's surface as it is drawn: finer where pads press, displaced, and coloured by a number at every vertex."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pliant.arrays import Floats, Ints
from pliant.objects import Mesh
from pliant.planner import Moment, PlannedContact, PlannedGrasp, Timeline
from pliant.viewer.scene.colours import scale_colours

PLAIN = (0.88, 0.52, 0.26)
VESSEL_OPACITY = 0.6
"""Of an object with liquid in it."""
MOST_FACES = 60_000
MOST_SHAPES = 24
_EDGES_PER_RADIUS = 4.0
"""Edges under a pad end up shorter than its patch's radius over this number."""


class ColourBy(StrEnum):
    """What the object's colour stands for."""

    DISPLACEMENT = "displacement"
    PRESSURE = "pressure"
    PLAIN = "plain"

    @property
    def unit(self) -> str:
        """Of the colour bar."""
        return {"displacement": "mm", "pressure": "kPa"}.get(self.value, "")

    @property
    def quantity(self) -> str:
        """What the colour bar measures."""
        return "contact pressure" if self is ColourBy.PRESSURE else self.value


class ObjectSurface:
    """The displayed surface of one planned grasp.

    Args:
        mesh: the object at rest, in its own frame.
        grasp: where it is touched and how it deforms.
    """

    def __init__(self, mesh: Mesh, grasp: PlannedGrasp) -> None:
        self.timeline = Timeline(grasp)
        places, radii = _patches(grasp)
        self.faces, self._weights = refine_near(mesh, places, radii)
        self.rest = self._spread(mesh.vertices)
        self._moves = [self._spread(state.displacement) for state in grasp.states]
        self._pressures = [
            sum((_pressure(contact, self.rest) for contact in state.contacts), start=np.zeros(len(self.rest)))
            for state in grasp.states
        ]
        self._tops = {
            ColourBy.DISPLACEMENT: 1e3 * max(float(np.linalg.norm(u, axis=1).max()) for u in self._moves),
            ColourBy.PRESSURE: 1e-3 * max(float(p.max()) for p in self._pressures),
        }

    def top(self, colour_by: ColourBy) -> float:
        """The number that the brightest colour stands for, in the colour bar's unit: the operation's largest."""
        return self._tops.get(colour_by, 1.0)

    def vertices(self, moment: Moment, *, exaggerate: float = 1.0) -> Floats:
        """Displaced vertices in the object's frame [m]."""
        return np.asarray(self.rest + exaggerate * self._blend(self._moves, moment, moment.depth_share))

    def values(self, moment: Moment, colour_by: ColourBy) -> Floats:
        """The number at every vertex, in the colour bar's unit."""
        if colour_by is ColourBy.DISPLACEMENT:
            return np.asarray(1e3 * np.linalg.norm(self._blend(self._moves, moment, moment.depth_share), axis=1))
        if colour_by is ColourBy.PRESSURE:
            # The depth grows linearly during the squeeze, so the pressure grows with its square root (Hertz).
            return np.asarray(1e-3 * self._blend(self._pressures, moment, moment.pressure_share))
        return np.zeros(len(self.rest))

    def colours(self, moment: Moment, colour_by: ColourBy) -> Floats:
        """sRGB at every vertex."""
        if colour_by is ColourBy.PLAIN:
            return np.tile(PLAIN, (len(self.rest), 1))
        top = self.top(colour_by)
        return scale_colours(self.values(moment, colour_by) / top if top > 0.0 else np.zeros(len(self.rest)))

    @cached_property
    def key_times(self) -> list[float]:
        """Instants at which the shape is worth showing anew: the squeeze in even steps, then states that differ."""
        times = self.timeline.times
        squeeze = (
            np.linspace(self.timeline.touch_time, times[0], 7)[:-1].tolist()
            if times[0] > self.timeline.touch_time
            else []
        )
        largest = max(1e-3 * self.top(ColourBy.DISPLACEMENT), 1e-12)
        kept, last = [float(times[0])], 0
        for k in range(1, len(times)):
            if np.abs(self._moves[k] - self._moves[last]).max() > 0.01 * largest:
                kept.append(float(times[k]))
                last = k
        room = max(MOST_SHAPES - len(squeeze), 2)
        if len(kept) > room:
            kept = [kept[i] for i in np.unique(np.linspace(0, len(kept) - 1, room).round().astype(int))]
        return [*squeeze, *kept]

    def _spread(self, values: NDArray[np.floating]) -> Floats:
        """Values of the mesh's vertices at those of the displayed surface."""
        return np.asarray(self._weights @ np.asarray(values, dtype=np.float64))

    def _blend(self, values: list[Floats], moment: Moment, factor: float) -> Floats:
        if moment.shape is None:
            return np.zeros_like(values[0])
        early, late, part = moment.shape
        if early == late or part == 0.0:
            return factor * values[early]
        return factor * ((1.0 - part) * values[early] + part * values[late])


def refine_near(mesh: Mesh, places: Floats, radii: Floats) -> tuple[Ints, sparse.csr_array]:
    """Split triangles near the places until their edges are short against the radii there; neighbours stay joined.

    Returns:
        Faces of the finer surface, and the matrix that takes values at the mesh's vertices to those of the surface.
    """
    faces, points = np.array(mesh.faces), np.array(mesh.vertices)
    weights = sparse.csr_array(sparse.identity(len(points), format="csr"))
    for _ in range(4):
        edges = np.sort(np.vstack([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
        keys, inverse = np.unique(edges[:, 0] * len(points) + edges[:, 1], return_inverse=True)
        unique = np.column_stack([keys // len(points), keys % len(points)])
        middle = 0.5 * (points[unique[:, 0]] + points[unique[:, 1]])
        length = np.linalg.norm(points[unique[:, 0]] - points[unique[:, 1]], axis=1)
        split = np.zeros(len(unique), dtype=bool)
        for place, radius in zip(places, radii, strict=True):
            near = np.linalg.norm(middle - place, axis=1) < 1.2 * radius + length
            split |= near & (length > radius / _EDGES_PER_RADIUS)
        if not split.any() or len(faces) + 2 * int(split.sum()) > MOST_FACES:
            break
        number = np.full(len(unique), -1)
        number[split] = len(points) + np.arange(int(split.sum()))
        ends = unique[split]
        weights = sparse.csr_array(sparse.vstack([weights, 0.5 * (weights[ends[:, 0]] + weights[ends[:, 1]])]))
        points = np.vstack([points, middle[split]])
        faces = _split(faces, number[inverse.reshape(3, -1).T])
    return faces, weights


def _split(faces: Ints, middles: Ints) -> Ints:
    """Faces cut at the given midpoints of their edges ab, bc, ca (-1: whole edge), without cracks."""
    count = (middles >= 0).sum(axis=1)
    out = [faces[count == 0]]
    for n in (1, 2, 3):
        rows = np.flatnonzero(count == n)
        if not len(rows):
            continue
        f, m = faces[rows], middles[rows]
        # Turn each triangle so that the first midpoint is on ab (one), or the whole edge is ca (two).
        turn = np.argmax(m >= 0, axis=1) if n == 1 else (np.argmin(m >= 0, axis=1) + 1) % 3 if n == 2 else 0 * rows
        index = (np.arange(3) + turn[:, None]) % 3
        a, b, c = np.take_along_axis(f, index, axis=1).T
        ab, bc, ca = np.take_along_axis(m, index, axis=1).T
        if n == 1:
            pieces = [(a, ab, c), (ab, b, c)]
        elif n == 2:
            pieces = [(ab, b, bc), (a, ab, bc), (a, bc, c)]
        else:
            pieces = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        out += [np.column_stack(piece) for piece in pieces]
    return np.vstack(out)


def _patches(grasp: PlannedGrasp) -> tuple[Floats, Floats]:
    """Centres and radii of all contact patches of a grasp, near ones once."""
    places: list[Floats] = []
    radii: list[float] = []
    for state in grasp.states:
        for contact in state.contacts:
            at, radius = contact.T_object_contact.translation, max(contact.radius, 1e-4)
            if all(np.linalg.norm(at - p) > 0.3 * r for p, r in zip(places, radii, strict=True)):
                places.append(np.array(at))
                radii.append(radius)
    return np.array(places).reshape(-1, 3), np.array(radii)


def _pressure(contact: PlannedContact, points: Floats) -> Floats:
    """Pressure of a contact at surface points [Pa]: cell values, smoothed over a cell, zero outside the patch."""
    out = np.zeros(len(points))
    if not len(contact.pressures):
        return out
    T = contact.T_object_contact
    local = (points - T.translation) @ T.rotation
    cells = (contact.p_object_cells - T.translation) @ T.rotation
    size = float(np.sqrt(contact.cell_area))
    reach = np.linalg.norm(cells[:, :2], axis=1).max() + 2.0 * size
    near = (np.linalg.norm(local[:, :2], axis=1) < reach) & (np.abs(local[:, 2]) < reach)
    across = local[near, None, :2] - cells[None, :, :2]
    w = np.exp(-0.5 * (across**2).sum(axis=2) / (0.6 * size) ** 2)
    total = w.sum(axis=1)
    # Inside the patch the kernel adds up to 2 pi 0.6^2; where it is less, part of the kernel lies outside: fade.
    full = np.clip(1.4 * total / (2.0 * np.pi * 0.36), 0.0, 1.0)
    out[near] = full * (w @ contact.pressures) / np.maximum(total, 1e-12)
    return out
