"""A surface before and after it was mended, in one picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Bools, Floats
from pliant.objects import Mesh, open_edges
from pliant.viewer.scene.colours import ARROW, CATEGORIES
from pliant.viewer.scene.drawables import Drawable
from pliant.viewer.scene.object_surface import PLAIN
from pliant.viewer.still.render import look_at, render

NEW = CATEGORIES[0]
MOST_POINTS = 6000
"""Points of a cloud that are drawn."""
NEW_FROM = 0.004
"""What lies farther than this fraction of the diagonal from everything that was given is new."""
THICK = 0.004
"""Half width of drawn points and rims over the diagonal."""


def mended_picture(before: Mesh, after: Mesh, *, size: int = 520) -> NDArray[np.uint8]:
    """Left before, right after; seen from above in the first row, in the second where most is new, or from below.

    Rims of holes are red; what is new on the right is blue.

    Args:
        before: triangles, or points only, in the same coordinates as ``after`` [m].
        size: of each of the four parts [pixels].
    """
    from PIL import Image, ImageDraw, ImageFont

    new = _new_faces(before, after)
    parts = (_before(before, after.diagonal), _after(after, new))
    middle, far = after.bounds.mean(axis=0), 2.35 * after.diagonal
    rows = []
    usual, below = np.array([0.55, -0.72, 0.42]), np.array([0.55, -0.60, -0.58])
    outwards = after.face_vectors[new].sum(axis=0)
    if np.linalg.norm(outwards) > 0.01 * after.area:
        below = outwards / np.linalg.norm(outwards) + 0.4 * usual  # a little aside
    for direction in (usual, below):
        eye = middle + far * direction / np.linalg.norm(direction)
        camera = look_at(eye, middle, field_of_view_deg=25.0)
        rows.append(np.hstack([render(part, camera, width=size, height=size) for part in parts]))
    image = Image.fromarray(np.vstack(rows))
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(size=size // 26)
    words = ("before (red: rims of holes)" if len(before.faces) else "before: points", "after (blue: new)")
    for column, text in enumerate(words):
        draw.text((size * column + size // 40, size // 40), text, fill=(40, 40, 40), font=font)
    return np.asarray(image)


def _before(mesh: Mesh, diagonal: float) -> list[Drawable]:
    if not len(mesh.faces):
        step = max(1, len(mesh.vertices) // MOST_POINTS)
        return [Drawable(_beads(mesh.vertices[::step], 0.6 * THICK * diagonal), PLAIN)]
    drawn = [Drawable(mesh, PLAIN)]
    ends = open_edges(mesh)
    if len(ends):
        count = np.maximum(np.ceil(np.linalg.norm(np.diff(ends, axis=1)[:, 0], axis=1) / (THICK * diagonal)), 1)
        which = np.repeat(np.arange(len(ends)), count.astype(int))
        t = (np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count.astype(int))) / count[which]
        rim = ends[which, 0] + t[:, None] * (ends[which, 1] - ends[which, 0])
        drawn.append(Drawable(_beads(rim, THICK * diagonal), ARROW, gloss=0.0))
    return drawn


def _beads(points: Floats, radius: float) -> Mesh:
    """A small octahedron at every point."""
    corners = radius * np.concatenate([np.eye(3), -np.eye(3)])
    faces = np.array([[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]])
    n = len(points)
    vertices = (points[:, None] + corners).reshape(-1, 3)
    return Mesh(vertices, (faces + 6 * np.arange(n)[:, None, None]).reshape(-1, 3))


def _after(mesh: Mesh, new: Bools) -> list[Drawable]:
    """The surface in two colours."""
    parts = ((mesh.faces[~new], PLAIN), (mesh.faces[new], NEW))
    return [Drawable(Mesh(mesh.vertices, faces), colour) for faces, colour in parts if len(faces)]


def _new_faces(before: Mesh, after: Mesh) -> Bools:
    """Faces near which nothing was given."""
    import igl
    from scipy.spatial import cKDTree

    if len(before.faces):
        distance = np.sqrt(igl.point_mesh_squared_distance(after.face_centres, before.vertices, before.faces)[0])
    else:
        tree = cKDTree(before.vertices)
        usual = 2.0 * float(np.median(np.asarray(tree.query(before.vertices, k=5)[0])[:, 4]))
        distance = np.maximum(tree.query(after.face_centres)[0] - usual, 0.0)
    # Where noise was taken off all of the surface has moved a little; that is not new.
    return np.asarray(distance > max(NEW_FROM * after.diagonal, 4.0 * float(np.median(distance))))
