"""The links of a hand with their surfaces: pads, tactile cells, sample points for quick distances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Floats, Ints
from pliant.compiled import kernel
from pliant.contact import MeshSurface, PadSurface
from pliant.objects import Mesh
from pliant.robot import HandDescription, Pad, TactileArray, Urdf, cell_layout, link_mesh, pad_mesh

SAMPLES = 250
"""Points on a link's surface for the quick bound of its distance."""
SHARP_EDGE = np.radians(40.0)
"""Edges at which a pad's surface turns by more press harder than its faces."""
NEARBY = 8e-3
"""Places of a pad nearer to each other than this tell its curvature [m]."""
PAD_SAMPLES = 700
"""Points on a pad: where on it a flat thing presses depends on tenths of a degree."""


@dataclass(frozen=True, eq=False)
class HandLink:
    """One link of the hand with its surface.

    Args:
        name: the link.
        finger: the finger it belongs to; empty for the palm and other links that do not close.
        surface: prepared for contact.
        pad: what the description says of its pad; None if it has none (it may touch, but should not).
        points: surface points for a quick bound, in the link's frame [m].
        pad_points: of its pad, close to each other [m]; those of all its surface where it has none.
        cover: no place of the surface is further than this from one of them [m].
        reach: largest distance of its surface from its own origin [m].
        cells: k x 3 centres of its tactile cells in its frame [m]; none if it feels nothing.
        cell: diagonal of a cell [m].
        middle: of its cells, else of its pad, else its origin, in its frame [m].
        edges: k x 3 points along the sharp edges of a pad without cells, in its frame [m].
        curvature: of its pad, the median of its places [1/m].
        may_touch: whether it may hold the object though it has no pad.
        numb: whether it has a pad without tactile arrays on a hand that has arrays elsewhere.
    """

    name: str
    finger: str
    surface: PadSurface
    pad: Pad | None
    points: Floats
    pad_points: Floats
    cover: float
    reach: float
    cells: Floats
    cell: float
    middle: Floats
    edges: Floats
    curvature: float
    may_touch: bool = False
    numb: bool = False

    def near_edge(self, p_link: Floats, around: float) -> bool:
        """Whether a sharp edge of its pad is nearer than that to a point of its surface [m]."""
        return bool(len(self.edges)) and float(((self.edges - p_link) ** 2).sum(axis=1).min()) < around**2

    def feels(self, p_link: Floats, around: float) -> bool:
        """Whether tactile cells lie all around a point of its surface, so far away at least [m].

        A link without tactile arrays feels nothing anywhere. That counts as True where it is not expected to: on a hand
        without arrays, and where all links may hold. A hand that feels with some pads cannot control what the others
        press with.
        """
        if not len(self.cells):
            return self.may_touch or not self.numb
        away = self.cells - p_link
        square = (away**2).sum(axis=1)
        if float(square.min()) > self.cell**2:
            return False
        # directions to the cells beyond that distance leave no gap of more than half a turn, seen along the surface
        near = away[np.argsort(square)[:9]]
        _, _, axes = np.linalg.svd(near - near.mean(axis=0), full_matrices=False)
        flat = away[square > around**2] @ axes[:2].T
        angles = np.sort(np.arctan2(flat[:, 1], flat[:, 0]))
        if len(angles) < 3:
            return False
        return bool(np.diff(np.append(angles, angles[0] + 2.0 * np.pi)).max() < 0.9 * np.pi)


def hand_links(urdf: Urdf, description: HandDescription, friction: float) -> tuple[HandLink, ...]:
    """All links of a hand that have a surface, those of the palm included."""
    pads = {pad.link: pad for finger in description.fingers for pad in finger.pads}
    owners = {link: finger.name for finger in description.fingers for link in finger.links}
    below = _descendants(urdf, description.mount)
    arrays: dict[str, list[TactileArray]] = {}
    for array in description.tactile:
        arrays.setdefault(array.link, []).append(array)
    links = []
    for link in urdf.links:
        if link.name not in below:
            continue
        pad = pads.get(link.name)
        mesh: Mesh | None
        if pad is not None:
            sound = pad_mesh(urdf, pad)
            mesh = sound.mesh
            surface = PadSurface.of(
                mesh,
                name=link.name,
                young=pad.young if pad.young is not None else np.inf,
                poisson=pad.poisson,
                pad_faces=sound.faces,
                friction=friction,
            )
        else:
            mesh = link_mesh(link, "collision")
            if mesh is None:
                continue
            surface = PadSurface(link.name, MeshSurface.of(mesh), friction=friction)
        points, cover = _even_points(mesh.vertices, mesh.faces, SAMPLES)
        pad_points, curvature = points, 0.0
        if pad is not None:
            chosen = np.arange(len(mesh.faces)) if sound.faces is None else np.flatnonzero(sound.faces)
            pad_points, _ = _even_points(mesh.vertices, mesh.faces[chosen], PAD_SAMPLES)
            curvature = _curvature(mesh, chosen)
        reach = float(np.linalg.norm(mesh.vertices, axis=1).max())
        layouts = [cell_layout(array) for array in arrays.get(link.name, [])]
        cells = np.concatenate([np.zeros((0, 3)), *(layout.centres[layout.exists] for layout in layouts)])
        size = max((float(np.hypot(*array.cell)) for array in arrays.get(link.name, [])), default=0.0)
        owner = owners.get(link.name, "")
        middle = np.zeros(3)
        if len(cells):
            middle = cells.mean(axis=0)
        elif pad is not None:
            middle = np.mean(pad.region, axis=0) if pad.region is not None else mesh.bounds.mean(axis=0)
        edges = _sharp_edges(mesh) if pad is not None and not len(cells) else np.zeros((0, 3))
        links.append(
            HandLink(
                link.name,
                owner,
                surface,
                pad,
                points,
                pad_points,
                cover,
                reach,
                cells,
                size,
                middle,
                edges,
                curvature,
                numb=pad is not None and bool(description.tactile) and not len(cells),
            )
        )
    return tuple(links)


def _sharp_edges(mesh: Mesh) -> Floats:
    """Points along the edges at which a surface turns by more than `SHARP_EDGE`, a millimetre apart at most."""
    a, b = mesh.faces, np.roll(mesh.faces, -1, axis=1)
    ends = np.sort(np.stack([a, b], axis=-1).reshape(-1, 2), axis=1)
    owners = np.repeat(np.arange(len(mesh.faces)), 3)
    order = np.lexsort(ends.T)
    ends, faces = ends[order].reshape(-1, 2, 2)[:, 0], owners[order].reshape(-1, 2)  # closed: every edge has two faces
    turns = np.einsum("ij,ij->i", mesh.face_normals[faces[:, 0]], mesh.face_normals[faces[:, 1]])
    start, end = mesh.vertices[ends[turns < np.cos(SHARP_EDGE)]].transpose(1, 0, 2)
    count = max(2, int(np.ceil(np.linalg.norm(end - start, axis=1).max(initial=0.0) / 1e-3)) + 1)
    shares = np.linspace(0.0, 1.0, count)[:, None, None]
    return np.asarray(((1.0 - shares) * start + shares * end).reshape(-1, 3))


def _curvature(mesh: Mesh, faces: Ints) -> float:
    """Median over some triangles of how much the surface's normal turns to others nearby, per distance [1/m].

    Larger turns than `SHARP_EDGE` are edges, not curvature.
    """
    faces = faces[np.linspace(0, len(faces) - 1, min(len(faces), 400)).astype(int)]
    middles, normals = mesh.vertices[mesh.faces[faces]].mean(axis=1), mesh.face_normals[faces]
    away = np.linalg.norm(middles[:, None] - middles[None], axis=2)
    turned = np.arccos(np.clip(normals @ normals.T, -1.0, 1.0))
    near = (away > 0.0) & (away < NEARBY) & (turned < SHARP_EDGE)
    bent = np.divide(turned, away, out=np.zeros_like(away), where=near).max(axis=1)
    return float(np.median(bent))


def _even_points(v: Floats, f: Ints, count: int) -> tuple[Floats, float]:
    """About ``count`` points spread evenly over a surface, always the same, and how far any place is from the nearest.

    Farthest-point choice from a dense sample of the triangles.
    """
    n = 1
    while len(f) * (n + 1) * (n + 2) // 2 < 12 * count:
        n += 1
    i, j = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    keep = i + j <= n
    bary = np.column_stack([n - i[keep] - j[keep], i[keep], j[keep]]) / n
    dense = np.einsum("ka,fax->fkx", bary, v[f]).reshape(-1, 3)
    longest = float(np.linalg.norm(v[f] - v[np.roll(f, 1, axis=1)], axis=2).max())
    chosen, radius = _farthest(np.ascontiguousarray(dense), min(count, len(dense)))
    # a place inside a small triangle is no further from its nearest corner than two thirds of its longest height
    return dense[chosen], radius + 0.58 * longest / n


@kernel
def _farthest(points: Floats, count: int) -> tuple[Ints, float]:
    chosen = np.zeros(count, dtype=np.int64)
    distance, at = np.empty(len(points)), 0
    for k in range(count):
        chosen[k] = at
        farthest = 0
        for i in range(len(points)):
            d = 0.0
            for axis in range(3):
                d += (points[i, axis] - points[at, axis]) ** 2
            distance[i] = d if k == 0 else min(distance[i], d)
            if distance[i] > distance[farthest]:
                farthest = i
        at = farthest
    return chosen, float(np.sqrt(distance[at]))


def _descendants(urdf: Urdf, root: str) -> set[str]:
    children: dict[str, list[str]] = {}
    for joint in urdf.joints:
        children.setdefault(joint.parent, []).append(joint.child)
    found, queue = {root}, [root]
    while queue:
        for child in children.get(queue.pop(), ()):
            found.add(child)
            queue.append(child)
    return found
