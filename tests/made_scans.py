"""Scans with the faults that scans have, made from shapes whose surface is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.objects import Mesh, make_shape, write_mesh

NO_FACES = np.zeros((0, 3), dtype=np.int64)


def joined(*meshes: Mesh, name: str = "made.obj") -> Mesh:
    first, vertices, faces = 0, [], []
    for mesh in meshes:
        vertices.append(mesh.vertices)
        faces.append(mesh.faces + first)
        first += len(mesh.vertices)
    return Mesh(np.concatenate(vertices), np.concatenate(faces), name)


def ball(edge: float = 0.003) -> Mesh:
    return make_shape("sphere", radius=0.03, edge=edge)


def noisy(mesh: Mesh, deviation: float, seed: int = 0) -> Mesh:
    return Mesh(
        mesh.vertices + np.random.default_rng(seed).normal(scale=deviation, size=mesh.vertices.shape), mesh.faces
    )


def without_bottom(mesh: Mesh, height: float, uneven: float = 0.0) -> Mesh:
    """A body that stood on a table: what is lower than ``height`` above its lowest point is missing, raggedly."""
    centre = mesh.face_centres
    level = height + uneven * np.sin(7 * np.arctan2(centre[:, 1], centre[:, 0]))
    return Mesh(mesh.vertices, mesh.faces[centre[:, 2] > mesh.bounds[0, 2] + level])


def with_hole(mesh: Mesh, place: tuple[float, float, float], radius: float) -> Mesh:
    return Mesh(mesh.vertices, mesh.faces[np.linalg.norm(mesh.face_centres - place, axis=1) > radius])


def with_specks(mesh: Mesh, count: int, seed: int = 1) -> Mesh:
    """Crumbs of a millimetre around and inside, closed boxes and loose triangles."""
    crumb = make_shape("box", size=(1e-3, 1e-3, 1e-3), edge=1.0)
    loose = Mesh(crumb.vertices, crumb.faces[:1])
    places = np.random.default_rng(seed).uniform(mesh.bounds[0], mesh.bounds[1], size=(count, 3))
    return joined(mesh, *((crumb if k % 2 else loose).moved(place) for k, place in enumerate(places)))


def hammer() -> Mesh:
    """A head and a handle that stands in it, as two closed parts."""
    head = make_shape("box", size=(0.08, 0.03, 0.03), edge=0.03)
    return joined(head, make_shape("box", size=(0.015, 0.015, 0.12), edge=0.03).moved((0.003, 0.001, -0.05)))


def sampled(mesh: Mesh, count: int, noise: float = 0.0, seed: int = 0) -> Mesh:
    """Points all over a surface, without faces."""
    rng = np.random.default_rng(seed)
    face = rng.choice(len(mesh.faces), count, p=mesh.face_areas / mesh.area)
    r, s = np.sqrt(rng.random(count)), rng.random(count)
    weights = np.stack([1 - r, r * (1 - s), r * s], axis=1)
    points = np.einsum("ij,ijk->ik", weights, mesh.corners[face])
    return Mesh(points + rng.normal(scale=noise, size=points.shape) if noise else points, NO_FACES)


def written(mesh: Mesh, path: Path) -> Path:
    """As OBJ, triangles or points only; other formats by the writer."""
    if len(mesh.faces) and path.suffix != ".obj":
        return write_mesh(mesh, path)
    lines = [f"v {x:.9g} {y:.9g} {z:.9g}\n" for x, y, z in mesh.vertices]
    lines += [f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in mesh.faces]
    path.write_text("".join(lines))
    return path
