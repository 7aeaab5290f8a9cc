"""An even grid around a cloud of points: the indicator function of the body, and its level sets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.arrays import Bools, Floats, Ints
from pliant.objects.mesh.mesh import Mesh

FINEST = 80  # cells along the longest side


class Grid(NamedTuple):
    """An even grid around a cloud, with room to be periodic in."""

    low: Floats
    step: float
    shape: tuple[int, int, int]

    @classmethod
    def around(cls, points: Floats, spacing: float) -> Grid:
        """A grid with room on all sides of some points, as fine as they are."""
        from scipy.fft import next_fast_len

        low, size = points.min(axis=0), np.ptp(points, axis=0)
        step = max(spacing, float(size.max()) / FINEST)
        room = 0.3 * size.max() + 6 * step
        nx, ny, nz = (next_fast_len(int(np.ceil((s + 2 * room) / step))) for s in size)
        return cls(low - room, step, (nx, ny, nz))

    def _corners(self, points: Floats) -> tuple[Ints, Floats]:
        """The eight grid points around each point, and their weights."""
        place = (points - self.low) / self.step
        cell = np.floor(place).astype(np.int64)
        part = place - cell
        index, weight = [], []
        for corner in np.ndindex(2, 2, 2):
            at = cell + np.array(corner)
            index.append((at[:, 0] * self.shape[1] + at[:, 1]) * self.shape[2] + at[:, 2])
            weight.append(np.where(np.array(corner) == 1, part, 1.0 - part).prod(axis=1))
        return np.stack(index), np.stack(weight)

    def at(self, points: Floats, field: Floats) -> Floats:
        """A field between its grid points."""
        index, weight = self._corners(points)
        return np.asarray((field.reshape(-1)[index] * weight).sum(axis=0))

    def slope(self, points: Floats, field: Floats) -> Floats:
        """The gradient of a field at points."""
        return np.stack([self.at(points, np.asarray(d)) for d in np.gradient(field, self.step)], axis=1)

    def indicator(self, points: Floats, vectors: Floats) -> Floats:
        """chi with gradient -vectors on the points, blurred by one and a half cells."""
        from scipy.fft import irfftn, rfftn

        index, weight = self._corners(points)
        waves = [2 * np.pi * np.fft.fftfreq(n, self.step) for n in self.shape[:2]]
        waves.append(2 * np.pi * np.fft.rfftfreq(self.shape[2], self.step))
        k = np.meshgrid(*waves, indexing="ij", sparse=True)
        square = k[0] ** 2 + k[1] ** 2 + k[2] ** 2
        total = np.zeros(square.shape, dtype=np.complex128)
        for axis in range(3):
            spread = np.bincount(
                index.reshape(-1), weights=(weight * vectors[:, axis]).reshape(-1), minlength=int(np.prod(self.shape))
            )
            total += 1j * k[axis] * rfftn(spread.reshape(self.shape) / self.step**3)
        square[0, 0, 0] = 1.0
        total *= np.exp(-0.5 * square * (1.5 * self.step) ** 2) / square
        total[0, 0, 0] = 0.0
        return np.asarray(irfftn(total, s=self.shape))

    def outside(self, points: Floats, wall: float) -> Bools:
        """Grid points that are reached from outside, where every point is a ball of radius ``wall``."""
        from scipy.ndimage import distance_transform_edt, label

        free = np.ones(self.shape, dtype=bool)
        free[tuple(np.rint((points - self.low) / self.step).astype(np.int64).T)] = False
        room = label(distance_transform_edt(free, sampling=self.step) > wall)[0]
        return np.asarray(room == room[0, 0, 0])

    def level_set(self, field: Floats, level: float, name: str) -> Mesh:
        """The closed surface on which the field has a value, higher inside."""
        import igl

        nx, ny, nz = self.shape
        z, y, x = np.meshgrid(np.arange(nz), np.arange(ny), np.arange(nx), indexing="ij")
        places = self.low + self.step * np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
        values = np.ascontiguousarray(field.transpose(2, 1, 0)).reshape(-1)
        vertices, faces, _ = igl.marching_cubes(level - values, places, nx, ny, nz, 0.0)
        return Mesh(vertices, faces, name)
