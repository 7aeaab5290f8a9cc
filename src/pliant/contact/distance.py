"""Signed distance of a mesh, on a grid.   (theory 6.1, narrow phase)

Only for finding where bodies overlap; depths and forces come from the smooth surfaces themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Floats
from pliant.compiled import inner, kernel
from pliant.elastic import load_arrays, store_arrays
from pliant.errors import OptionError, Problem
from pliant.objects import Mesh

_CELLS = 40
_MARGIN = 3
_FORMAT = 1
_MOST_NODES = 3e7


class DistanceProbe(NamedTuple):
    """What answers signed distances in compiled code: the field of a mesh, or a sphere's or plane's own formula."""

    kind: int
    radius: float
    values: NDArray[np.float32]
    corner: Floats
    step: float
    low: Floats  # lower and upper corner of the box around the surface [m]
    high: Floats


@dataclass(frozen=True, eq=False)
class DistanceField:
    """Signed distance at the nodes of a regular grid, negative inside; trilinear between.

    Args:
        values: distances at the nodes [m].
        corner: first node [m].
        step: spacing of the nodes [m].
    """

    values: NDArray[np.float32]
    corner: Floats
    step: float

    @classmethod
    def of(cls, mesh: Mesh, resolution: float | None = None, *, cache: bool = True) -> DistanceField:
        """The field of a closed mesh with a node every ``resolution`` [m]; a fortieth of its longest side if left out.

        Raises:
            OptionError: a resolution that is not positive, or so fine that the field would have over 30 million nodes.
        """
        if resolution is None:
            return distance_field(mesh, cache=cache)
        span = np.ptp(mesh.vertices, axis=0)
        if not resolution > 0.0 or float((span / resolution + 2 * _MARGIN + 1).prod()) > _MOST_NODES:
            least = max(float((span.prod() / _MOST_NODES) ** (1.0 / 3.0)), float(span.max()) / 1000.0)
            raise OptionError(
                "resolution",
                Problem("", f"{resolution * 1e3:g} mm", f"above 0, and here at least {least * 1e3:.2g} mm"),
            )
        return distance_field(mesh, cells=max(int(np.ceil(float(span.max()) / resolution)), 1), cache=cache)

    def distance(self, points: Floats) -> Floats:
        """Never more than the signed distance of the points from the mesh, negative inside [m]; close by at most half a
        step less. Some microseconds for a hundred points.

        Distance changes no faster than one walks: with d_i at the corners x_i of the cell around p, d(p) is at least
        max_i (d_i - |p - x_i|);
        beyond the grid it is at least the distance from the mesh's box.
        """
        out = np.empty(len(points))
        _bound(np.ascontiguousarray(points, dtype=np.float64), self.values, self.corner, self.step, out)
        return out


def distance_field(mesh: Mesh, *, cells: int = _CELLS, cache: bool = True) -> DistanceField:
    """Build the field with ``cells`` cells along the longest side, or take it from the cache."""
    key = f"distance-{mesh.content_hash[:40]}-{cells}-{_FORMAT}"
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    step = float((high - low).max()) / cells
    corner = low - _MARGIN * step
    shape = np.ceil((high - low) / step).astype(np.int64) + 2 * _MARGIN + 1
    found = load_arrays(key) if cache else None
    values: Any = None if found is None else found.get("values")
    if values is not None and values.dtype == np.float32 and values.shape == tuple(shape) and np.isfinite(values).all():
        return DistanceField(values, corner, step)
    import igl

    nodes = np.stack(np.meshgrid(*(corner[k] + step * np.arange(shape[k]) for k in range(3)), indexing="ij"), axis=-1)
    distance = igl.signed_distance(
        nodes.reshape(-1, 3),
        mesh.vertices,
        mesh.faces,
        sign_type=igl.SignedDistanceType.SIGNED_DISTANCE_TYPE_PSEUDONORMAL,
    )[0]
    values = np.asarray(distance, dtype=np.float32).reshape(tuple(shape))
    values.setflags(write=False)  # as from the cache: compiled code is compiled anew for arrays that may be written
    if cache:
        store_arrays(key, {"values": values})
    return DistanceField(values, corner, step)


@kernel
def _bound(points: Floats, values: NDArray[np.float32], corner: Floats, step: float, out: Floats) -> None:
    n0, n1, n2 = values.shape
    for i in range(len(points)):
        x = (points[i, 0] - corner[0]) / step
        y = (points[i, 1] - corner[1]) / step
        z = (points[i, 2] - corner[2]) / step
        a = min(max(int(np.floor(x)), 0), n0 - 2)
        b = min(max(int(np.floor(y)), 0), n1 - 2)
        c = min(max(int(np.floor(z)), 0), n2 - 2)
        best = -np.inf
        for da in range(2):
            for db in range(2):
                for dc in range(2):
                    reach = np.sqrt((x - a - da) ** 2 + (y - b - db) ** 2 + (z - c - dc) ** 2) * step
                    best = max(best, values[a + da, b + db, c + dc] - reach)
        # the mesh lies well inside the grid: beyond it, the distance from the mesh's box is a bound as well
        away = 0.0
        for p, n in ((x, n0), (y, n1), (z, n2)):
            far = max(_MARGIN - p, p - (n - 1 - _MARGIN), 0.0)
            away += far * far
        best = max(best, np.sqrt(away) * step) if away > 0.0 else best
        # single precision
        out[i] = best - 1e-6 * step * max(n0, n1, n2)


@inner
def field_value(px: float, py: float, pz: float, values: NDArray[np.float32], corner: Floats, step: float) -> float:
    """Signed distance of one point; compiled code only."""
    n0, n1, n2 = values.shape
    x, y, z = (px - corner[0]) / step, (py - corner[1]) / step, (pz - corner[2]) / step
    cx, cy, cz = min(max(x, 0.0), n0 - 1.0), min(max(y, 0.0), n1 - 1.0), min(max(z, 0.0), n2 - 1.0)
    a, b, c = min(int(cx), n0 - 2), min(int(cy), n1 - 2), min(int(cz), n2 - 2)
    u, v, w = cx - a, cy - b, cz - c
    value = (
        (1 - u) * ((1 - v) * ((1 - w) * values[a, b, c] + w * values[a, b, c + 1])
                   + v * ((1 - w) * values[a, b + 1, c] + w * values[a, b + 1, c + 1]))
        + u * ((1 - v) * ((1 - w) * values[a + 1, b, c] + w * values[a + 1, b, c + 1])
               + v * ((1 - w) * values[a + 1, b + 1, c] + w * values[a + 1, b + 1, c + 1]))
    )  # fmt: skip
    outside = np.sqrt((x - cx) ** 2 + (y - cy) ** 2 + (z - cz) ** 2) * step
    # outside the grid the nearest grid value and the distance to it bound the distance from below
    return max(value, outside) if outside > 0.0 else value
