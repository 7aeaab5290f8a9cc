"""Triangles into a depth image: the inner loops of a picture."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.arrays import Floats, Ints
from pliant.compiled import kernel


class RasterImage(NamedTuple):
    """What every pixel shows.

    Attributes:
        depth: h x w, of the nearest surface [m]; infinite where there is none.
        owner: h x w, the triangle that is seen; -1 where there is none.
        weights: h x w x 3, barycentric, of its corners.
    """

    depth: Floats
    owner: Ints
    weights: Floats


@kernel
def lit_share(texels: Floats, depths: Floats, nearest: Floats) -> Floats:
    """Share of the 5 x 5 texels around each point in which nothing lies nearer to the lamp.

    Args:
        texels: n x 2 positions in the depth image.
        depths: n depths of the points, already moved towards the lamp by the tolerance.
        nearest: the depth image; outside it everything is lit.
    """
    lit = np.zeros(len(depths))
    height, width = nearest.shape
    for k in range(len(depths)):
        for a in range(-2, 3):
            i = int(np.floor(texels[k, 1] + 1.5 * a))
            for b in range(-2, 3):
                j = int(np.floor(texels[k, 0] + 1.5 * b))
                if i < 0 or j < 0 or i >= height or j >= width or depths[k] <= nearest[i, j]:
                    lit[k] += 0.04
    return lit


@kernel
def rasterise(pixels: Floats, depths: Floats, width: int, height: int, flat: bool) -> RasterImage:
    """Draw triangles, the nearest one into every pixel.

    Args:
        pixels: m x 3 x 2 corner positions [pixels].
        depths: m x 3 corner depths, positive in front of the eye [m].
        flat: parallel projection: depth is linear in the picture; otherwise its inverse is.
    """
    depth, owner = np.empty((height, width)), np.empty((height, width), dtype=np.int64)
    weights = np.zeros((height, width, 3))
    for i in range(height):
        for j in range(width):
            depth[i, j], owner[i, j] = np.inf, -1
    for t in range(pixels.shape[0]):
        if min(depths[t, 0], depths[t, 1], depths[t, 2]) <= 1e-4:
            continue
        x0, y0 = pixels[t, 0]
        x1, y1 = pixels[t, 1]
        x2, y2 = pixels[t, 2]
        area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
        if abs(area) < 1e-12:
            continue
        left = max(0, int(np.floor(min(x0, x1, x2) - 0.5)))
        right = min(width - 1, int(np.ceil(max(x0, x1, x2) - 0.5)))
        top = max(0, int(np.floor(min(y0, y1, y2) - 0.5)))
        bottom = min(height - 1, int(np.ceil(max(y0, y1, y2) - 0.5)))
        for i in range(top, bottom + 1):
            y = i + 0.5
            for j in range(left, right + 1):
                x = j + 0.5
                a = ((x1 - x) * (y2 - y) - (x2 - x) * (y1 - y)) / area
                b = ((x2 - x) * (y0 - y) - (x0 - x) * (y2 - y)) / area
                c = 1.0 - a - b
                if a < 0.0 or b < 0.0 or c < 0.0:
                    continue
                if flat:
                    z = a * depths[t, 0] + b * depths[t, 1] + c * depths[t, 2]
                else:
                    a, b, c = a / depths[t, 0], b / depths[t, 1], c / depths[t, 2]
                    total = a + b + c
                    a, b, c, z = a / total, b / total, c / total, 1.0 / total
                if z < depth[i, j]:
                    depth[i, j] = z
                    owner[i, j] = t
                    weights[i, j, 0], weights[i, j, 1], weights[i, j, 2] = a, b, c
    return RasterImage(depth, owner, weights)
