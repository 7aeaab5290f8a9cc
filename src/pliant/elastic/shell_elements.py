"""Flat triangle shell element: bending after Batoz (DKT), membrane with drilling rotations after Felippa (OPT).

Three corners with six unknowns each, displacement and rotation vector. Bending is the discrete Kirchhoff triangle
(Batoz, Bathe and Ho 1980): no shear strain, so walls may be as thin as they like. The membrane part is the optimal
member of the free-formulation family (Felippa 2003): it bends exactly in its own plane and its rotations about the
normal carry stiffness of their own, so that no artificial spring is needed where the facets lie in one plane.
"""

from __future__ import annotations

import numpy as np

from pliant.arrays import Floats, Ints

_HIGHER = np.array([[1.0, 2.0, 1.0], [0.0, 1.0, -1.0], [-1.0, -1.0, -2.0]])
"""Felippa's beta_1 .. beta_9 of the optimal element."""
_ALPHA = 1.5
_MIDDLES = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]])


def shell_matrices(points: Floats, faces: Ints, thickness: float, poisson: float) -> tuple[Floats, Floats]:
    """Element stiffness for Young's modulus 1, and the elements' areas.

    Args:
        points: n x 3 middle surface [m].
        faces: m x 3 corners.
        thickness: of the wall [m].
        poisson: Poisson's ratio.

    Returns:
        matrices: m x 18 x 18; per corner displacement (3) [m], then rotation vector (3), global axes.
        areas: m [m^2].
    """
    frames, xy = _local(points, faces)
    plane = np.array([[1.0, poisson, 0.0], [poisson, 1.0, 0.0], [0.0, 0.0, 0.5 * (1.0 - poisson)]]) / (1.0 - poisson**2)
    d1, d2 = xy[:, 1] - xy[:, 0], xy[:, 2] - xy[:, 0]
    areas = 0.5 * (d1[:, 0] * d2[:, 1] - d1[:, 1] * d2[:, 0])
    local = np.zeros((len(faces), 3, 6, 3, 6))
    membrane = _membrane(xy, areas, plane * thickness, poisson).reshape(-1, 3, 3, 3, 3)
    bending = _bending(xy, areas, plane * thickness**3 / 12.0).reshape(-1, 3, 3, 3, 3)
    for part, rows in ((membrane, [0, 1, 5]), (bending, [2, 3, 4])):
        for i, r in enumerate(rows):
            for j, c in enumerate(rows):
                local[:, :, r, :, c] = part[:, :, i, :, j]
    turn = np.zeros((len(faces), 6, 6))
    turn[:, :3, :3] = turn[:, 3:, 3:] = frames
    out = np.einsum("mri,marbs,msj->maibj", turn, local, turn, optimize=True).reshape(-1, 18, 18)
    return 0.5 * (out + out.transpose(0, 2, 1)), areas


def rigid_motions(points: Floats) -> Floats:
    """6n x 6: three translations, three rotations about the mean of the points, scaled by the size."""
    x = points - points.mean(axis=0)
    scale = float(np.abs(x).max())
    out = np.zeros((len(points), 6, 6))
    for axis in range(3):
        unit = np.eye(3)[axis]
        out[:, axis, axis] = 1.0
        out[:, :3, 3 + axis] = np.cross(unit, x) / scale
        out[:, 3:, 3 + axis] = unit / scale
    return out.reshape(-1, 6)


def _local(points: Floats, faces: Ints) -> tuple[Floats, Floats]:
    """Rows of the elements' frames (third: normal) and the corners in them, from the centroid."""
    p = points[faces]
    e1 = p[:, 1] - p[:, 0]
    e1 = e1 / np.linalg.norm(e1, axis=1)[:, None]
    e3 = np.cross(e1, p[:, 2] - p[:, 0])
    e3 = e3 / np.linalg.norm(e3, axis=1)[:, None]
    frames = np.stack([e1, np.cross(e3, e1), e3], axis=1)
    return frames, np.einsum("mik,mck->mci", frames[:, :2], p - p.mean(axis=1)[:, None])


def _membrane(xy: Floats, area: Floats, plane: Floats, poisson: float) -> Floats:
    """m x 9 x 9 over (u, v, rotation) per corner; Felippa 2003, A study of optimal membrane triangles, eqs. 17-32."""
    m = len(xy)
    x, y = xy[..., 0], xy[..., 1]

    def dx(i: int, j: int) -> Floats:
        return np.asarray(x[:, i - 1] - x[:, j - 1])

    def dy(i: int, j: int) -> Floats:
        return np.asarray(y[:, i - 1] - y[:, j - 1])

    def square(i: int, j: int) -> Floats:
        return np.asarray(dx(i, j) ** 2 + dy(i, j) ** 2)

    lump = np.zeros((m, 9, 3))
    for a, (i, j, k) in enumerate(((1, 2, 3), (2, 3, 1), (3, 1, 2))):
        lump[:, 3 * a, 0] = dy(j, k)
        lump[:, 3 * a, 2] = dx(k, j)
        lump[:, 3 * a + 1, 1] = dx(k, j)
        lump[:, 3 * a + 1, 2] = dy(j, k)
        lump[:, 3 * a + 2, 0] = _ALPHA / 6.0 * dy(j, k) * (dy(i, k) - dy(j, i))
        lump[:, 3 * a + 2, 1] = _ALPHA / 6.0 * dx(k, j) * (dx(k, i) - dx(i, j))
        lump[:, 3 * a + 2, 2] = _ALPHA / 3.0 * (dx(k, i) * dy(i, k) - dx(i, j) * dy(j, i))
    lump *= 0.5
    basic = np.einsum("mai,ij,mbj->mab", lump, plane, lump) / area[:, None, None]

    hierarchical = np.zeros((m, 3, 9))
    for a, (j, k) in enumerate(((3, 2), (1, 3), (2, 1))):
        hierarchical[:, :, 3 * a] = (dx(j, k) / (4.0 * area))[:, None]
        hierarchical[:, :, 3 * a + 1] = (dy(j, k) / (4.0 * area))[:, None]
        hierarchical[:, a, 3 * a + 2] = 1.0
    lengths = np.stack([square(2, 1), square(3, 2), square(1, 3)], axis=1)
    (b1, b2, b3), (b4, b5, b6), (b7, b8, b9) = _HIGHER
    corners = [
        np.array([[b1, b2, b3], [b4, b5, b6], [b7, b8, b9]]),
        np.array([[b9, b7, b8], [b3, b1, b2], [b6, b4, b5]]),
        np.array([[b5, b6, b4], [b8, b9, b7], [b2, b3, b1]]),
    ]
    natural = np.empty((m, 3, 3))
    for a, (i, j, k) in enumerate(((2, 3, 1), (3, 1, 2), (1, 2, 3))):
        # side from corner k to corner i = k + 1; j is the corner opposite
        natural[:, 0, a] = dy(i, j) * dy(k, j) * lengths[:, a]
        natural[:, 1, a] = dx(i, j) * dx(k, j) * lengths[:, a]
        natural[:, 2, a] = (dy(i, j) * dx(j, k) + dx(j, i) * dy(k, j)) * lengths[:, a]
    natural /= (4.0 * area**2)[:, None, None]
    stress = np.einsum("mia,ij,mjb->mab", natural, plane, natural)
    scaled = [(2.0 * area / 3.0)[:, None, None] * q / lengths[:, :, None] for q in corners]
    rotations = np.zeros((m, 3, 3))
    for i, j in ((0, 1), (1, 2), (2, 0)):
        q = 0.5 * (scaled[i] + scaled[j])
        rotations += np.einsum("mai,mab,mbj->mij", q, stress, q)
    rotations *= area[:, None, None]
    share = 0.75 * max(0.5 * (1.0 - 4.0 * poisson**2), 0.01)
    return np.asarray(basic + share * np.einsum("mai,mab,mbj->mij", hierarchical, rotations, hierarchical))


def _bending(xy: Floats, area: Floats, plane: Floats) -> Floats:
    """m x 9 x 9 over (w, dw/dy, -dw/dx) per corner; Batoz, Bathe and Ho 1980."""
    m = len(xy)
    a, b, c, d, e = (np.empty((m, 3)) for _ in range(5))
    for k, (i, j) in enumerate(((1, 2), (2, 0), (0, 1))):  # the sides opposite to the corners 1, 2, 3
        x, y = (xy[:, i] - xy[:, j]).T
        square = x**2 + y**2
        a[:, k], d[:, k] = -x / square, -y / square
        b[:, k] = 0.75 * x * y / square
        c[:, k] = (0.25 * x**2 - 0.5 * y**2) / square
        e[:, k] = (0.25 * y**2 - 0.5 * x**2) / square
    gradient = np.empty((m, 3, 2))  # of the barycentric coordinates
    for k in range(3):
        side = xy[:, (k + 2) % 3] - xy[:, (k + 1) % 3]
        gradient[:, k, 0], gradient[:, k, 1] = -side[:, 1], side[:, 0]
    gradient /= (2.0 * area)[:, None, None]
    out = np.zeros((m, 9, 9))
    for bary in _MIDDLES:
        corner = (4.0 * bary[None, :, None] - 1.0) * gradient
        # quadratic functions of the sides opposite to the corners
        side = np.stack(
            [
                4.0 * (bary[(k + 1) % 3] * gradient[:, (k + 2) % 3] + bary[(k + 2) % 3] * gradient[:, (k + 1) % 3])
                for k in range(3)
            ],
            axis=1,
        )
        along_x, along_y = np.empty((m, 9, 2)), np.empty((m, 9, 2))
        for k in range(3):
            before, after = (k + 1) % 3, (k + 2) % 3  # sides arriving at and leaving corner k
            s5, s6 = side[:, before], side[:, after]

            def mix(f: Floats, p: int = before, q: int = after, u: Floats = s5, v: Floats = s6) -> Floats:
                return np.asarray(f[:, p, None] * u + f[:, q, None] * v)

            along_x[:, 3 * k] = 1.5 * (a[:, after, None] * s6 - a[:, before, None] * s5)
            along_x[:, 3 * k + 1] = mix(b)
            along_x[:, 3 * k + 2] = corner[:, k] - mix(c)
            along_y[:, 3 * k] = 1.5 * (d[:, after, None] * s6 - d[:, before, None] * s5)
            along_y[:, 3 * k + 1] = -corner[:, k] + mix(e)
            along_y[:, 3 * k + 2] = -mix(b)
        curvature = np.stack([along_x[..., 0], along_y[..., 1], along_x[..., 1] + along_y[..., 0]], axis=1)
        out += np.einsum("mia,ij,mjb->mab", curvature, plane, curvature) * (area / 3.0)[:, None, None]
    return out
