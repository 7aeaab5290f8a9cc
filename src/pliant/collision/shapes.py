"""Coal geometries of link shapes, meshes and simple solids."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import coal
import numpy as np
import pinocchio as pin

from pliant.arrays import Floats, Ints
from pliant.errors import MeshError
from pliant.objects import Mesh, read_mesh
from pliant.robot import LinkShape


def box(x: float, y: float, z: float) -> Any:
    """Edges [m]."""
    return coal.Box(x, y, z)


def sphere(radius: float) -> Any:
    """Centred."""
    return coal.Sphere(radius)


def cylinder(radius: float, length: float) -> Any:
    """Along z, centred."""
    return coal.Cylinder(radius, length)


def triangles(mesh: Mesh) -> Any:
    """A surface mesh as it is, concave parts included."""
    return _surface(np.asarray(mesh.vertices), np.asarray(mesh.faces))


def convex_hull(vertices: Floats, *, name: str = "mesh") -> Any:
    """The convex hull of points."""
    import trimesh  # takes a second to load, and only meshes need it

    try:
        hull = trimesh.convex.convex_hull(np.asarray(vertices))
    except Exception as bad:
        raise MeshError(name, f"has no convex hull: {bad}") from None
    model = _surface(np.asarray(hull.vertices), np.asarray(hull.faces))
    model.buildConvexHull(True, "Qt")
    return model.convex


def link_geometry(shape: LinkShape) -> Any:
    """The Coal geometry of a collision shape; of a mesh, its convex hull."""
    if shape.kind == "box":
        return box(*shape.size)
    if shape.kind == "cylinder":
        return cylinder(*shape.size)
    if shape.kind == "sphere":
        return sphere(*shape.size)
    assert shape.path is not None
    return _mesh_hull(shape.path, tuple(shape.size))


@lru_cache(maxsize=256)
def _mesh_hull(path: Path, scale: tuple[float, ...]) -> Any:
    return convex_hull(np.asarray(read_mesh(path).vertices) * np.array(scale), name=str(path))


def _surface(vertices: Floats, faces: Ints) -> Any:
    model = coal.BVHModelOBBRSS()
    model.beginModel(len(faces), len(vertices))
    model.addVertices(np.ascontiguousarray(vertices, dtype=np.float64))
    model.addTriangles(np.ascontiguousarray(faces, dtype=np.int64))
    model.endModel()
    return model


def overlap(first: Any, T_first: pin.SE3, second: Any, T_second: pin.SE3) -> bool:
    """Whether two geometries share a point."""
    result = coal.CollisionResult()
    return bool(coal.collide(first, _pose(T_first), second, _pose(T_second), coal.CollisionRequest(), result))


def distance(first: Any, T_first: pin.SE3, second: Any, T_second: pin.SE3) -> float:
    """Distance of two geometries [m]; zero or less where they overlap."""
    result = coal.DistanceResult()
    coal.distance(first, _pose(T_first), second, _pose(T_second), coal.DistanceRequest(), result)
    return float(result.min_distance)


class Nearest(NamedTuple):
    """Distance of two bodies, their nearest points and the unit normal from the second to the first, in the world."""

    distance: float
    p_first: Floats
    p_second: Floats
    normal: Floats


def nearest(first: Any, T_first: pin.SE3, second: Any, T_second: pin.SE3) -> Nearest:
    """Where two geometries are nearest; solids that overlap have a negative distance, surfaces none that means much."""
    result = coal.DistanceResult()
    coal.distance(first, _pose(T_first), second, _pose(T_second), coal.DistanceRequest(), result)
    return nearest_of(result)


def nearest_of(result: Any) -> Nearest:
    """A result of Coal."""
    d = float(result.min_distance)
    p, s = result.getNearestPoint1().copy(), result.getNearestPoint2().copy()
    # Where two bodies touch or overlap, their nearest points give no direction; Coal's normal does.
    n = (p - s) / d if d > 1e-9 else -np.asarray(result.normal)
    return Nearest(d, p, s, n)


def _pose(T: pin.SE3) -> Any:
    return coal.Transform3s(T.rotation, T.translation)
