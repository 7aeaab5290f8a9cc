"""How a thin-walled vessel gives, with what is in it.   (theory 6.2, vessels)

The wall's middle surface carries flat shell triangles, finer than the corners that the compliance is reported at;
loads and observations are the same hat functions as those of a solid (``compliance``). The vessel floats: loads and
displacements are projected off the six rigid motions with the wall's mass.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix, hstack

from pliant.arrays import Floats, Ints
from pliant.elastic.compliance import Compliance, Report, Wall, check_poisson, load_or_compute
from pliant.elastic.fem import determinate_supports
from pliant.elastic.shell_elements import rigid_motions, shell_matrices
from pliant.elastic.substructuring import Elimination
from pliant.errors import LiquidError, MeshError, OptionError, Problem
from pliant.objects import FULL, Liquid, Mesh, SmoothSurface, mesh_volume, smooth_surface
from pliant.threads import one_thread

_FORMAT = 4
_CORNERS = 600
_DIVISIONS = 3
_THICK = 0.25
"""Wall over the vessel's smallest half width from which it is no thin shell."""
_COARSE = 1.5
"""Element edge over bending length beyond which the wall's own response is rough."""
ADIABATIC = 1.4
"""Ratio of specific heats of air."""
ATMOSPHERE = 101325.0
"""[Pa]."""


def gas_stiffness(mesh: Mesh, contents: Liquid | None) -> float:
    """Pressure per volume lost, gamma p / V_gas [Pa/m^3]; 0 for an open vessel, infinite for one brim-full and shut.

    Raises:
        LiquidError: more liquid than the vessel holds.
    """
    if contents is None:
        return 0.0
    capacity = mesh_volume(mesh)
    if contents.volume > capacity * (1.0 + FULL):
        raise LiquidError(
            mesh.name or "vessel",
            Problem("volume", f"{1e6 * contents.volume:.4f} cm3 of liquid", f"at most {1e6 * capacity:.4f} cm3"),
        )
    if not contents.sealed:
        return 0.0
    gas = capacity - contents.volume
    return np.inf if gas <= FULL * capacity else ADIABATIC * ATMOSPHERE / gas


def with_contents(empty: Compliance, young: float, stiffness: float) -> Compliance:
    """The compliance with contents that resist a change of volume:  C - C g g^T C / (1/kappa + g . C g).

    Args:
        empty: of the open vessel, from ``prepare_shell``.
        young: Young's modulus of the wall [Pa].
        stiffness: kappa [Pa/m^3], see ``gas_stiffness``.
    """
    wall = empty.wall
    if wall is None:
        raise OptionError("contents", "only a thin-walled vessel has contents; give a wall thickness")
    if stiffness == 0.0:
        return empty
    soft = 0.0 if np.isinf(stiffness) else young / stiffness
    v = wall.swelling
    matrix = empty.matrix - np.outer(v, v / (soft + wall.give))
    # written so that brim-full is exactly no change of volume, not a difference of equal numbers
    share = soft / (soft + wall.give)
    return replace(empty, matrix=matrix.astype(np.float32), wall=replace(wall, swelling=share * v))


def prepare_shell(
    mesh: Mesh,
    poisson: float,
    wall: float,
    *,
    smooth: SmoothSurface | None = None,
    edge: float | None = None,
    cache: bool = True,
    progress: Report | None = None,
) -> Compliance:
    """The compliance of an open, empty vessel whose outer surface is ``mesh``, from the cache or computed.

    Args:
        mesh: closed outer surface [m].
        poisson: Poisson's ratio of the wall, 0 < nu < 0.5.
        wall: thickness [m].
        smooth: the mesh's smooth surface if there is one already.
        edge: distance of the corners [m]; the shell elements are a third of it. Chosen from the area if left out.
        cache: read from and write to the user's cache folder.
        progress: called with what is being done and the fraction done.

    Raises:
        MaterialError: Poisson's ratio outside (0, 0.5).
        OptionError: a wall that is not positive, or too thick for a shell.
        MeshError: the surface cannot be divided into sound triangles.
    """
    check_poisson("poisson", poisson)
    width = 0.5 * float(np.ptp(mesh.vertices[np.unique(mesh.faces)], axis=0).min())
    if not 0.0 < wall < _THICK * width:
        raise OptionError(
            "wall",
            Problem(
                "",
                f"{wall * 1e3:.4g} mm",
                f"above 0 and below {_THICK * width * 1e3:.3g} mm, a quarter of the smallest half width; "
                "press thicker ones as a solid with a hollow",
            ),
        )
    facts = f"shell {mesh.content_hash} {poisson!r} {wall!r} {edge!r} {_FORMAT} {_CORNERS} {_DIVISIONS}"
    return load_or_compute(
        "shell",
        facts,
        lambda report: _compute(mesh, poisson, wall, smooth or smooth_surface(mesh), edge, report),
        progress,
        cache=cache,
    )


@one_thread
def _compute(
    mesh: Mesh,
    poisson: float,
    wall: float,
    smooth: SmoothSurface,
    edge: float | None,
    report: Report,
) -> Compliance:
    from pliant.elastic.tetrahedra.quadratic import fill

    report("dividing the surface", 0.0)
    if edge is None:
        edge = float(np.sqrt(mesh.area / (0.5 * np.sqrt(3.0) * _CORNERS)))
    tets = fill(smooth, edge)
    corner_nodes, faces = np.unique(tets.boundary[:, :3], return_inverse=True)
    faces = faces.reshape(-1, 3).astype(np.int64)
    corners = tets.nodes[corner_nodes]
    fine, fine_faces, hats = _divide(corners, faces, tets.nodes[tets.boundary], smooth)
    normals = _vertex_normals(fine, fine_faces)
    lever = 0.5 * wall * normals
    middle = fine - lever
    if (np.einsum("ij,ij->i", _area_vectors(middle, fine_faces), _area_vectors(fine, fine_faces)) <= 0.0).any():
        raise MeshError(mesh.name or "mesh", f"is too sharply bent for a wall of {wall * 1e3:.3g} mm")
    matrix, inverse_mass, swelling, give = _condense(middle, fine_faces, hats, lever, wall, poisson, report)
    curvature = _curvature(corners, faces, _vertex_normals(corners, faces))
    report("elastic response", 1.0)
    return Compliance(
        poisson,
        corners,
        faces,
        tets.nodes[tets.boundary],
        matrix.astype(np.float32),
        inverse_mass.astype(np.float32),
        np.full(len(corners), wall),
        tets.edge,
        _notes(tets.edge / _DIVISIONS, wall, curvature, poisson),
        Wall(wall, curvature, swelling, give),
    )


def _notes(edge: float, wall: float, curvature: Floats, poisson: float) -> tuple[str, ...]:
    bend = float(np.median(np.abs(np.linalg.eigvalsh(curvature)).max(axis=1)))
    length = np.sqrt(wall / max(bend, 1e-9)) / (12.0 * (1.0 - poisson**2)) ** 0.25
    if edge > _COARSE * length:
        return (f"shell elements of {edge * 1e3:.2g} mm over a bending length of {length * 1e3:.2g} mm: rough",)
    return ()


def _divide(corners: Floats, faces: Ints, patches: Floats, smooth: SmoothSurface) -> tuple[Floats, Ints, csr_matrix]:
    """Divide every triangle into equal parts on the smooth surface; nodes, faces and the corners' hats at the nodes."""
    k = _DIVISIONS
    shares = np.array([(k - i - j, i, j) for i in range(k + 1) for j in range(k + 1 - i)])
    place = {(int(s[1]), int(s[2])): n for n, s in enumerate(shares)}
    small = [(place[i, j], place[i + 1, j], place[i, j + 1]) for i in range(k) for j in range(k - i)]
    small += [(place[i + 1, j], place[i + 1, j + 1], place[i, j + 1]) for i in range(k) for j in range(k - 1 - i)]
    # a node is known by its corners and shares, the same from both sides of an edge
    who = np.where(shares[None] > 0, faces[:, None, :], -1).reshape(-1, 3)
    share = np.tile(shares, (len(faces), 1))
    order = np.argsort(who, axis=1, kind="stable")
    keys = np.concatenate([np.take_along_axis(who, order, 1), np.take_along_axis(share, order, 1)], axis=1)
    nodes, first, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    fine_faces = number.reshape(len(faces), len(shares))[:, np.array(small)].reshape(-1, 3).astype(np.int64)
    l0, l1, l2 = (shares / k).T
    shape = np.stack([l0 * (2 * l0 - 1), l1 * (2 * l1 - 1), l2 * (2 * l2 - 1), 4 * l0 * l1, 4 * l1 * l2, 4 * l2 * l0])
    points = np.einsum("as,fax->fsx", shape, patches).reshape(-1, 3)[first]
    is_corner = nodes[:, 5] == k
    projected = smooth.project(points).points
    projected[is_corner] = corners[nodes[is_corner, 2]]
    rows, columns = np.nonzero(nodes[:, :3] >= 0)
    hats = coo_matrix(
        (nodes[rows, 3 + columns] / k, (rows, nodes[rows, columns])), shape=(len(nodes), len(corners))
    ).tocsr()
    return projected, fine_faces, hats


def _area_vectors(points: Floats, faces: Ints) -> Floats:
    return np.cross(points[faces[:, 1]] - points[faces[:, 0]], points[faces[:, 2]] - points[faces[:, 0]]) / 2.0


def _to_vertices(values: Floats, faces: Ints, count: int) -> Floats:
    out = np.zeros((count, *values.shape[1:]))
    for k in range(3):
        np.add.at(out, faces[:, k], values)
    return out


def _vertex_normals(points: Floats, faces: Ints) -> Floats:
    out = _to_vertices(_area_vectors(points, faces), faces, len(points))
    return np.asarray(out / np.linalg.norm(out, axis=1)[:, None])


def _curvature(points: Floats, faces: Ints, normals: Floats) -> Floats:
    """Curvature tensors at the corners from how the normals turn along the edges around them (Rusinkiewicz 2004)."""
    p, n = points[faces], normals[faces]
    area = _area_vectors(points, faces)
    size = np.linalg.norm(area, axis=1)
    unit = area / size[:, None]
    e1 = p[:, 1] - p[:, 0]
    e1 = e1 / np.linalg.norm(e1, axis=1)[:, None]
    e2 = np.cross(unit, e1)
    axes = np.stack([e1, e2], axis=1)
    rows, right = [], []
    for i, j in ((0, 1), (1, 2), (2, 0)):
        x, y = np.einsum("fak,fk->af", axes, p[:, j] - p[:, i])
        du, dv = np.einsum("fak,fk->af", axes, n[:, j] - n[:, i])
        zero = np.zeros_like(x)
        rows += [np.stack([x, y, zero], axis=1), np.stack([zero, x, y], axis=1)]
        right += [du, dv]
    a, b = np.stack(rows, axis=1), np.stack(right, axis=1)
    kxx, kxy, kyy = np.linalg.solve(
        np.einsum("fri,frj->fij", a, a), np.einsum("fri,fr->fi", a, b)[..., None]
    )[..., 0].T  # fmt: skip
    local = np.stack([np.stack([kxx, kxy], axis=1), np.stack([kxy, kyy], axis=1)], axis=1)
    tensor = np.einsum("fai,fab,fbj->fij", axes, local, axes)
    total = _to_vertices(size[:, None, None] * tensor, faces, len(points))
    return np.asarray(total / _to_vertices(size, faces, len(points))[:, None, None])


def _condense(
    points: Floats,
    faces: Ints,
    hats: csr_matrix,
    lever: Floats,
    wall: float,
    poisson: float,
    report: Report,
) -> tuple[Floats, Floats, Floats, float]:
    """Compliance of the corners, inverse mass of their hats, C g and g . C g, all for Young's modulus 1."""
    matrices, areas = shell_matrices(points, faces, wall, poisson)
    count, n = len(points), hats.shape[1]
    rigid = rigid_motions(points)
    lumped = _to_vertices(areas / 3.0, faces, count)
    mass = np.zeros((count, 6))
    mass[:, :3] = lumped[:, None]
    weighted = mass.reshape(-1, 1) * rigid
    balance = np.linalg.inv(rigid.T @ weighted)
    on_translations = rigid.reshape(count, 6, 6)[:, :3].reshape(-1, 6)
    held = [6 * (row // 3) + row % 3 for row in determinate_supports(points, on_translations)]
    stiffness = float(np.einsum("eii->", matrices)) / (6 * count)
    factor = Elimination(
        matrices,
        faces,
        points[faces].mean(axis=1),
        6 * count,
        springs=dict.fromkeys(held, stiffness),
        progress=lambda fraction: report("elastic response", 0.4 * fraction),
    )
    # forces act on the outer surface, half a wall from the middle: they turn the wall too
    pair = (np.ones((3, 3)) + np.eye(3)) / 12.0
    i, j = np.repeat(faces, 3, axis=1).ravel(), np.tile(faces, (1, 3)).ravel()
    fine_mass = coo_matrix(((areas[:, None] * pair.ravel()).ravel(), (i, j)), shape=(count, count)).tocsr()
    psi = (fine_mass @ hats).tocsr()
    surface_mass = (hats.T @ psi).toarray()
    loads = _with_moments(psi, lever)
    growth = np.zeros((count, 6))
    growth[:, :3] = _to_vertices(_area_vectors(points, faces) / 3.0, faces, count)
    columns = hstack([loads, csr_matrix(growth.reshape(-1, 1)), csr_matrix(weighted)], format="csr")
    gram = factor.gram(columns, progress=lambda fraction: report("elastic response", 0.4 + 0.6 * fraction))
    m = 3 * n + 1
    relief = balance @ (columns[:, :m].T @ rigid).T
    cross = gram[:m, m:] @ relief
    free = gram[:m, :m] - cross - cross.T + relief.T @ gram[m:, m:] @ relief
    free = 0.5 * (free + free.T)
    inverse = np.asarray(np.linalg.inv(surface_mass))
    half = np.einsum("vw,wac->vac", inverse, free[:-1, :-1].reshape(n, 3, 3 * n), optimize=True).reshape(3 * n, n, 3)
    compliance = np.einsum("rwc,wv->rvc", half, inverse, optimize=True).reshape(3 * n, 3 * n)
    swelling = (inverse @ free[:-1, -1].reshape(n, 3)).ravel()
    return 0.5 * (compliance + compliance.T), inverse, swelling, float(free[-1, -1])


def _with_moments(psi: csr_matrix, lever: Floats) -> csr_matrix:
    """6 nodes x 3 corners: forces of the hats along the axes, and their moments lever x force."""
    entries = psi.tocoo()
    row, column, value = entries.row, entries.col, entries.data
    rows, columns, values = [], [], []
    for axis in range(3):
        moment = np.cross(lever[row], np.eye(3)[axis])
        rows.append(6 * row + axis)
        columns.append(3 * column + axis)
        values.append(value)
        for k in range(3):
            if k != axis:
                rows.append(6 * row + 3 + k)
                columns.append(3 * column + axis)
                values.append(value * moment[:, k])
    return coo_matrix(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
        shape=(6 * psi.shape[0], 3 * psi.shape[1]),
    ).tocsr()
