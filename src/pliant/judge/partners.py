"""What the object touches: links of the hand and what it stands on, as surfaces with a gap.   (theory 10.1)"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from pliant.arrays import Bools, Floats, Ints
from pliant.objects import Mesh, Projection, SmoothSurface, smooth_surface

_ASIDE = 5e-4
"""Points farther than this beside the surface's rim are as far away as they are, not as their height says [m]."""


class Gaps(NamedTuple):
    """Points seen from a surface, in its frame.

    Attributes:
        heights: n, above the surface; negative inside [m].
        normals: n x 3, outward there.
    """

    heights: Floats
    normals: Floats


class TouchSurface(Protocol):
    """A rigid shape, at rest in its own frame."""

    def gaps(self, points: Floats) -> Gaps:
        """Heights of points (n x 3, in its frame) above it, and its normals there."""
        ...


class FlatTouch:
    """The plane z = 0 of its frame, solid below."""

    def gaps(self, points: Floats) -> Gaps:
        """Heights above the plane."""
        return Gaps(points[:, 2].copy(), np.tile([0.0, 0.0, 1.0], (len(points), 1)))


@dataclass(frozen=True)
class RoundTouch:
    """A ball about the origin of its frame.

    Args:
        radius: [m].
    """

    radius: float

    def gaps(self, points: Floats) -> Gaps:
        """Heights above the ball."""
        distance = np.linalg.norm(points, axis=1)
        return Gaps(distance - self.radius, points / np.maximum(distance, np.finfo(float).tiny)[:, None])


@dataclass(frozen=True, eq=False)
class MeshTouch:
    """The smooth surface through a closed mesh."""

    smooth: SmoothSurface

    @classmethod
    def of(cls, mesh: Mesh) -> MeshTouch:
        """The surface of a link or an obstacle."""
        return cls(smooth_surface(mesh))

    @cached_property
    def _tree(self) -> Any:
        """Boxes around the facets; building them takes longer than asking them."""
        import igl

        tree = igl.AABB()
        tree.init(np.array(self.smooth.mesh.vertices), np.array(self.smooth.mesh.faces))
        return tree

    def _nearest(self, points: Floats) -> Projection:
        mesh = self.smooth.mesh
        _, faces, closest = self._tree.squared_distance(mesh.vertices, mesh.faces, np.ascontiguousarray(points))
        return self.smooth.project_on(np.asarray(closest).reshape(-1, 3), np.asarray(faces, dtype=np.int64).reshape(-1))

    def gaps(self, points: Floats) -> Gaps:
        """Heights above the smooth surface."""
        nearest, normals, _ = self._nearest(points)
        off = points - nearest
        heights = np.einsum("ij,ij->i", off, normals)
        aside = np.linalg.norm(off - heights[:, None] * normals, axis=1) > _ASIDE
        heights[aside] = np.maximum(heights[aside], np.linalg.norm(off[aside], axis=1))
        return Gaps(heights, normals)

    def faces_at(self, points: Floats) -> Ints:
        """Numbers of the mesh's faces nearest to points."""
        return self._nearest(points).faces


@dataclass(frozen=True, eq=False)
class Partner:
    """One body that the object may touch.

    Args:
        name: the link, or the obstacle.
        surface: its shape.
        young, poisson: elastic constants of its pad; an infinite modulus: rigid [Pa].
        thickness: of the pad on its rigid core; infinite: a half-space [m].
        pad_faces: faces of a mesh surface that are pad, the others are rigid; None: all of them.
        support: what the object stands on or leans against, and is lifted from.
    """

    name: str
    surface: TouchSurface
    young: float = np.inf
    poisson: float = 0.45
    thickness: float = np.inf
    pad_faces: Bools | None = None
    support: bool = False
