"""Several closed shells in one mesh: hollows of one body, or bodies of their own?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Floats
from pliant.errors import Problem
from pliant.objects.mass import mesh_volume
from pliant.objects.mesh.mesh import Mesh
from pliant.objects.mesh.repair import at
from pliant.objects.mesh.topology import shells_of

MANY = 100  # more shells than this are debris; how they nest is not asked


@dataclass(frozen=True)
class ShellArrangement:
    """How the shells of a closed mesh lie in each other.

    Args:
        inside_out: every shell has the orientation opposite to the right one.
        cavities: shells that are the skin of a hollow.
        problems: separate bodies, or hollows whose skin faces the wrong way.
    """

    inside_out: bool
    cavities: int
    problems: tuple[Problem, ...]


def arrange_shells(mesh: Mesh) -> ShellArrangement:
    """Tell hollows from separate bodies.

    A shell at even depth of nesting is the outside of a body and must enclose positive volume; one at odd depth is the
    skin of a hollow and must enclose negative volume. More than one shell at even depth is more than one body.
    """
    label = shells_of(mesh.faces)
    number = int(label.max()) + 1
    if number == 1:
        return ShellArrangement(mesh_volume(mesh) < 0, 0, ())
    low, high = np.full((number, 3), np.inf), np.full((number, 3), -np.inf)
    for k in range(3):
        np.minimum.at(low, label, mesh.corners[:, k])
        np.maximum.at(high, label, mesh.corners[:, k])
    middles, sizes = 0.5 * (low + high), (high - low).max(axis=1)
    if number > MANY:
        largest = int(np.argmax(sizes))
        what = f"{number} separate pieces, the largest {sizes[largest]:.3g} m across at {at(middles[largest])}"
        return ShellArrangement(False, 0, (Problem("", what, "keep one closed surface; remove the debris"),))
    shells = [Mesh(mesh.vertices, mesh.faces[label == k]) for k in range(number)]
    volumes = np.array([mesh_volume(s) for s in shells])
    depth = np.array([sum(_encloses(shells[j], shells[k]) for j in range(number) if j != k) for k in range(number)])
    outside = depth % 2 == 0
    right = outside == (volumes > 0)
    inside_out = not right.any()
    problems = []
    if outside.sum() > 1:
        bodies = [f"{1e6 * abs(volumes[k]):.3g} cm3 at {at(middles[k])}" for k in np.flatnonzero(outside)[:4]]
        more = f", and {outside.sum() - len(bodies)} more" if outside.sum() > len(bodies) else ""
        problems.append(
            Problem(
                "",
                f"holds {outside.sum()} separate bodies: {', '.join(bodies)}{more}",
                "one object is one body: split them into files, or join them",
            )
        )
    elif not inside_out:
        problems += [
            Problem(
                f"inner shell at {at(middles[k])}",
                f"of {1e6 * abs(volumes[k]):.3g} cm3 faces outwards inside another shell: hollow or a second body?",
                "turn its faces if it is a hollow, remove it if it is not",
            )
            for k in np.flatnonzero(~right)[:4]
        ]
    return ShellArrangement(inside_out, int((~outside).sum()), tuple(problems))


def winding_number(mesh: Mesh, point: Floats) -> float:
    """How often the surface goes round a point: 1 inside, 0 outside a closed mesh, -1 inside one that is inside out.

    Sum of the signed solid angles of the faces over 4 pi (van Oosterom and Strackee 1983).
    """
    a, b, c = (mesh.corners - point).transpose(1, 0, 2)
    la, lb, lc = (np.linalg.norm(x, axis=1) for x in (a, b, c))
    numerator = np.einsum("ij,ij->i", a, np.cross(b, c))
    ab, bc, ca = (np.einsum("ij,ij->i", x, y) for x, y in ((a, b), (b, c), (c, a)))
    return float(np.arctan2(numerator, la * lb * lc + ab * lc + bc * la + ca * lb).sum() / (2 * np.pi))


def _encloses(outer: Mesh, inner: Mesh) -> bool:
    """Whether ``inner`` lies wholly within ``outer``, asked at its outermost vertices along each axis."""
    box, points = outer.corners.reshape(-1, 3), inner.corners.reshape(-1, 3)
    if (points.min(axis=0) < box.min(axis=0)).any() or (points.max(axis=0) > box.max(axis=0)).any():
        return False
    outermost = points[np.concatenate([points.argmin(axis=0), points.argmax(axis=0)])]
    return all(abs(winding_number(outer, point)) > 0.5 for point in outermost)
