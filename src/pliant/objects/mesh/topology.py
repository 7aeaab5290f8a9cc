"""How the faces of a mesh hang together: edges, holes, winding, separate shells. No coordinates are needed here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Bools, Ints


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
    """A connected rim of edges with one face only.

    Args:
        vertices: the rim's vertices; where ``simple``, in the order that a face filling the hole would list them.
        edges: how many edges the rim has.
        simple: whether the rim is one closed ring that passes no vertex twice.
    """

    vertices: Ints
    edges: int
    simple: bool


@dataclass(frozen=True, eq=False)
class Winding:
    """Which faces must be turned over so that neighbours agree.

    Args:
        flip: m, true where a face disagrees with the majority of its shell.
        orientable: false for a one-sided surface (Moebius band, Klein bottle).
    """

    flip: Bools
    orientable: bool


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
    edges = edges_of(faces)
    order = np.argsort(edges.of_half_edge, kind="stable")
    same_edge = edges.of_half_edge[order][1:] == edges.of_half_edge[order][:-1]
    face = order // 3
    return _connected(len(faces), face[:-1][same_edge], face[1:][same_edge])


def winding_of(faces: Ints, edges: Edges) -> Winding:
    """Faces to turn over so that every edge is run through once in each direction.

    Each face stands twice in a graph, as it is and turned over; neighbours that agree are joined like with like, others
    crosswise. A shell is two-sided exactly when no face is connected to its own turned-over self.
    """
    m = len(faces)
    first, second = _half_edge_pairs(edges)
    f, g = first // 3, second // 3
    agree = edges.forward[first] != edges.forward[second]
    g_same, g_other = np.where(agree, g, g + m), np.where(agree, g + m, g)
    label = _connected(2 * m, np.concatenate([f, f + m]), np.concatenate([g_same, g_other]))
    if (label[:m] == label[m:]).any():
        return Winding(np.zeros(m, dtype=bool), orientable=False)
    shell = np.minimum(label[:m], label[m:])
    marked = label[:m] == shell
    _, shell = np.unique(shell, return_inverse=True)
    marked_count = np.bincount(shell, weights=marked)
    minority_is_marked = marked_count * 2 < np.bincount(shell)
    return Winding(marked == minority_is_marked[shell], orientable=True)


def holes_of(faces: Ints, edges: Edges) -> list[Hole]:
    """The rims of open edges, largest first."""
    rim = np.flatnonzero(edges.count[edges.of_half_edge] == 1)
    if not len(rim):
        return []
    # A face that fills the hole runs along the rim against the face that is there.
    end, start = faces.reshape(-1)[rim], np.roll(faces, -1, axis=1).reshape(-1)[rim]
    names, compact = np.unique(np.concatenate([start, end]), return_inverse=True)
    piece = _connected(len(names), compact[: len(rim)], compact[len(rim) :])
    piece_of_edge = piece[compact[: len(rim)]]
    holes = []
    order = np.argsort(piece_of_edge, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(piece_of_edge[order])) + 1):
        ring = _ring(start[group].tolist(), end[group].tolist())
        vertices = np.array(ring) if ring else np.unique(np.concatenate([start[group], end[group]]))
        holes.append(Hole(vertices, len(group), simple=bool(ring)))
    return sorted(holes, key=lambda hole: -hole.edges)


def pinched_vertices(faces: Ints, edges: Edges) -> Ints:
    """Vertices where two separate fans of faces meet in one point (two cones tip to tip).

    Corners of faces are joined around their vertex across shared edges; a sound vertex keeps all its corners together.
    """
    corner_vertex = faces.reshape(-1)
    first, second = _half_edge_pairs(edges)
    first_next, second_next = (h - h % 3 + (h + 1) % 3 for h in (first, second))
    same_start = corner_vertex[first] == corner_vertex[second]
    at_start = np.where(same_start, second, second_next)
    at_end = np.where(same_start, second_next, second)
    label = _connected(len(corner_vertex), np.concatenate([first, first_next]), np.concatenate([at_start, at_end]))
    stride = int(label.max()) + 1 if len(label) else 1
    fans = np.unique(corner_vertex * stride + label) // stride
    names, count = np.unique(fans, return_counts=True)
    return names[count > 1]


def _half_edge_pairs(edges: Edges) -> tuple[Ints, Ints]:
    """The two half-edges of every edge that has exactly two faces."""
    halves = np.flatnonzero(edges.count[edges.of_half_edge] == 2)
    halves = halves[np.argsort(edges.of_half_edge[halves], kind="stable")]
    return halves[0::2], halves[1::2]


def _ring(start: list[int], end: list[int]) -> list[int]:
    """The vertices in order if the directed edges make one simple ring, else an empty list."""
    following = dict(zip(start, end, strict=True))
    if len(following) != len(start) or set(start) != set(end):
        return []
    ring = [start[0]]
    while (vertex := following[ring[-1]]) != start[0]:
        ring.append(vertex)
    return ring if len(ring) == len(start) else []


def _connected(count: int, first: Ints, second: Ints) -> Ints:
    """Component number of each of ``count`` nodes joined by the given pairs."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    graph = coo_matrix((np.ones(len(first), dtype=np.int32), (first, second)), shape=(count, count))
    return connected_components(graph, directed=False)[1].astype(np.int64)
