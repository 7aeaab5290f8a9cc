"""How the faces of a mesh are connected: edges, holes, winding, separate shells and how closed shells are nested."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Bools, Floats, Ints
from pliant.errors import Problem
from pliant.objects.mass import mesh_volume
from pliant.objects.mesh.mesh import Mesh, position_text, used_part

MOST_SHELLS = 100  # more shells than this are debris; how they nest is not computed


@dataclass(frozen=True, eq=False)
class Edges:
    """Undirected edges of a mesh. Half-edge ``3 f + k`` leaves corner k of face f towards corner k + 1.

    Args:
        ends: e x 2 vertices, the lower index first.
        count: faces at each edge: 2 everywhere on a closed surface.
        of_half_edge: 3 m, edge of each half-edge.
        forward: 3 m, true where the half-edge runs from the lower to the higher vertex.
    """

    ends: Ints
    count: Ints
    of_half_edge: Ints
    forward: Bools


@dataclass(frozen=True, eq=False)
class Hole:
    """A rim of edges with one face only; holes that meet in a vertex have one each.

    Args:
        vertices: the rim's vertices; where ``simple``, in the order that a face filling the hole would list them.
        edges: how many edges the rim has.
        simple: whether the rim is one closed ring; if not, faces along it disagree about their winding.
    """

    vertices: Ints
    edges: int
    simple: bool


@dataclass(frozen=True)
class ShellArrangement:
    """How the shells of a closed mesh lie in each other.

    Args:
        inside_out: every shell has the orientation opposite to the right one.
        cavities: shells that are the skin of a hollow.
        problems: separate bodies, or hollows whose skin is inside out.
    """

    inside_out: bool
    cavities: int
    problems: tuple[Problem, ...]


def edges_of(faces: Ints) -> Edges:
    """Every undirected edge with the number of faces at it."""
    start = faces.reshape(-1)
    end = np.roll(faces, -1, axis=1).reshape(-1)
    low, high = np.minimum(start, end), np.maximum(start, end)
    stride = int(faces.max()) + 1 if faces.size else 1
    keys, of_half_edge, count = np.unique(low * stride + high, return_inverse=True, return_counts=True)
    ends = np.stack([keys // stride, keys % stride], axis=1)
    return Edges(ends, count.astype(np.int64), of_half_edge.reshape(-1).astype(np.int64), start < end)


def shells_of(faces: Ints) -> Ints:
    """Number of the connected shell (faces that share an edge) of every face, counted from 0."""
    first, second = adjacent_half_edges(edges_of(faces))
    return connected(len(faces), first // 3, second // 3)


def separate_pieces(mesh: Mesh) -> list[Mesh]:
    """The pieces of a mesh that share no vertex, in the order of their first vertices."""
    label = connected(len(mesh.vertices), mesh.faces[:, [0, 1]].reshape(-1), mesh.faces[:, [1, 2]].reshape(-1))
    of_face = label[mesh.faces[:, 0]]
    return [used_part(mesh.vertices, mesh.faces[of_face == k], mesh.name) for k in np.unique(of_face)]


def disagreeing_faces(faces: Ints, edges: Edges) -> Bools | None:
    """Faces (m, true) to turn over so that neighbours agree, the minority of each shell; None if one-sided.

    Each face stands twice in a graph, as it is and turned over; neighbours that agree are joined like with like, others
    crosswise. A shell is one-sided (Moebius band, Klein bottle) if a face is connected to its own turned-over self.
    """
    m = len(faces)
    first, second = half_edge_pairs(edges)
    f, g = first // 3, second // 3
    agree = edges.forward[first] != edges.forward[second]
    g_same, g_other = np.where(agree, g, g + m), np.where(agree, g + m, g)
    label = connected(2 * m, np.concatenate([f, f + m]), np.concatenate([g_same, g_other]))
    if (label[:m] == label[m:]).any():
        return None
    shell = np.minimum(label[:m], label[m:])
    marked = label[:m] == shell
    _, shell = np.unique(shell, return_inverse=True)
    marked_count = np.bincount(shell, weights=marked)
    minority_is_marked = marked_count * 2 < np.bincount(shell)
    return np.asarray(marked == minority_is_marked[shell])


def holes_of(faces: Ints, edges: Edges) -> list[Hole]:
    """The rims of open edges, largest first."""
    rim = np.flatnonzero(edges.count[edges.of_half_edge] == 1)
    if not len(rim):
        return []
    # A face that fills the hole runs along the rim against the face that is there.
    end, start = faces.reshape(-1)[rim], np.roll(faces, -1, axis=1).reshape(-1)[rim]
    names, compact = np.unique(np.concatenate([start, end]), return_inverse=True)
    piece = connected(len(names), compact[: len(rim)], compact[len(rim) :])
    piece_of_edge = piece[compact[: len(rim)]]
    holes = []
    order = np.argsort(piece_of_edge, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(piece_of_edge[order])) + 1):
        rings = _rings(start[group].tolist(), end[group].tolist())
        holes += [Hole(np.array(ring), len(ring), simple=True) for ring in rings]
        if not rings:
            holes.append(Hole(np.unique(np.concatenate([start[group], end[group]])), len(group), simple=False))
    return sorted(holes, key=lambda hole: -hole.edges)


def open_edges(mesh: Mesh) -> Floats:
    """Ends of the edges with one face only, e x 2 x 3 [m]."""
    edges = edges_of(mesh.faces)
    return np.asarray(mesh.vertices[edges.ends[edges.count == 1]])


def pinched_vertices(faces: Ints, edges: Edges) -> Ints:
    """Vertices where two separate fans of faces meet in one point (two cones tip to tip).

    Corners of faces are joined around their vertex across shared edges; a sound vertex keeps all its corners together.
    """
    corner_vertex = faces.reshape(-1)
    label = connected_corners(edges, *half_edge_pairs(edges))
    stride = int(label.max()) + 1 if len(label) else 1
    fans = np.unique(corner_vertex * stride + label) // stride
    names, count = np.unique(fans, return_counts=True)
    return names[count > 1]


def connected_corners(edges: Edges, first: Ints, second: Ints) -> Ints:
    """Component number of every face corner, 3 m, joined to its neighbours round the vertex across shared edges.

    Args:
        first, second: half-edges on the two sides of each edge to be crossed.
    """
    first_next, second_next = (h - h % 3 + (h + 1) % 3 for h in (first, second))
    same_start = edges.forward[first] == edges.forward[second]
    at_start = np.where(same_start, second, second_next)
    at_end = np.where(same_start, second_next, second)
    return connected(len(edges.of_half_edge), np.concatenate([first, first_next]), np.concatenate([at_start, at_end]))


def adjacent_half_edges(edges: Edges) -> tuple[Ints, Ints]:
    """Pairs of half-edges of one edge; an edge of n faces has n - 1 of them."""
    order = np.argsort(edges.of_half_edge, kind="stable")
    same_edge = edges.of_half_edge[order][1:] == edges.of_half_edge[order][:-1]
    return order[:-1][same_edge], order[1:][same_edge]


def arrange_shells(mesh: Mesh) -> ShellArrangement:
    """Distinguish hollows from separate bodies.

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
    if number > MOST_SHELLS:
        largest = int(np.argmax(sizes))
        what = (
            f"{number} separate pieces, the largest {sizes[largest]:.3g} m across at {position_text(middles[largest])}"
        )
        return ShellArrangement(False, 0, (Problem("", what, "keep one closed surface; remove the debris"),))
    shells = [Mesh(mesh.vertices, mesh.faces[label == k]) for k in range(number)]
    volumes = np.array([mesh_volume(s) for s in shells])
    depth = np.array([sum(encloses(shells[j], shells[k]) for j in range(number) if j != k) for k in range(number)])
    outside = depth % 2 == 0
    right = outside == (volumes > 0)
    inside_out = not right.any()
    problems = []
    if outside.sum() > 1:
        bodies = [
            f"{1e6 * abs(volumes[k]):.3g} cm3 at {position_text(middles[k])}" for k in np.flatnonzero(outside)[:4]
        ]
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
                f"inner shell at {position_text(middles[k])}",
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


def encloses(outer: Mesh, inner: Mesh) -> bool:
    """Whether ``inner`` lies wholly within ``outer``, asked at its outermost vertices along each axis."""
    box, points = outer.corners.reshape(-1, 3), inner.corners.reshape(-1, 3)
    if (points.min(axis=0) < box.min(axis=0)).any() or (points.max(axis=0) > box.max(axis=0)).any():
        return False
    outermost = points[np.concatenate([points.argmin(axis=0), points.argmax(axis=0)])]
    return all(abs(winding_number(outer, point)) > 0.5 for point in outermost)


def half_edge_pairs(edges: Edges) -> tuple[Ints, Ints]:
    """The two half-edges of every edge that has exactly two faces."""
    halves = np.flatnonzero(edges.count[edges.of_half_edge] == 2)
    halves = halves[np.argsort(edges.of_half_edge[halves], kind="stable")]
    return halves[0::2], halves[1::2]


def _rings(start: list[int], end: list[int]) -> list[list[int]]:
    """The rings, none of which passes a vertex twice, that the directed edges make; none if one leads nowhere."""
    following: dict[int, list[int]] = {}
    for a, b in zip(start, end, strict=True):
        following.setdefault(a, []).append(b)
    if sorted(start) != sorted(end):
        return []
    rings = []
    for first in following:
        path, place = [first], {first: 0}
        while following[path[-1]]:
            vertex = following[path[-1]].pop()
            if vertex in place:  # a ring is closed; what led to it goes on
                back = place[vertex]
                rings.append(path[back:])
                for gone in path[back + 1 :]:
                    del place[gone]
                del path[back + 1 :]
            else:
                place[vertex] = len(path)
                path.append(vertex)
    return rings


def connected(count: int, first: Ints, second: Ints) -> Ints:
    """Component number of each of ``count`` nodes joined by the given pairs."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    graph = coo_matrix((np.ones(len(first), dtype=np.int32), (first, second)), shape=(count, count))
    return connected_components(graph, directed=False)[1].astype(np.int64)
