"""What touches and what is touched: surfaces prepared once, used for thousands of poses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.arrays import Bools, Floats, Ints
from pliant.contact.distance import DistanceField, DistanceProbe, distance_field
from pliant.contact.gap import MESH, PLANE, SPHERE, SurfaceArrays
from pliant.elastic import Compliance, check_poisson, prepare_compliance
from pliant.errors import MaterialError, OptionError
from pliant.objects import Liquid, Mesh, SmoothSurface, smooth_surface

Model = Literal["body", "halfspace"]


@dataclass(frozen=True, eq=False)
class MeshSurface:
    """A smooth surface through a mesh, with what detection needs. Build with ``MeshSurface.of``."""

    smooth: SmoothSurface
    centres: Floats
    reach: Floats
    points: Floats
    normals: Floats
    spacing: float

    @staticmethod
    def of(mesh: Mesh, *, samples: int = 1500) -> MeshSurface:
        """Prepare a mesh: quadrics, face bounds and about ``samples`` surface points in even spread."""
        smooth = smooth_surface(mesh)
        v, f = mesh.vertices, mesh.faces
        centres = v[f].mean(axis=1)
        reach = np.linalg.norm(v[f] - centres[:, None], axis=2).max(axis=1)
        points, normals, spacing = _samples(smooth, samples)
        return MeshSurface(smooth, centres, reach, points, normals, spacing)

    @cached_property
    def field(self) -> DistanceField:
        """Signed distance around the surface; kept in the cache folder."""
        return distance_field(self.smooth.mesh)

    @cached_property
    def box(self) -> tuple[Floats, Floats]:
        """Lower and upper corner of the box around it, in its own frame [m]."""
        v = self.smooth.mesh.vertices[np.unique(self.smooth.mesh.faces)]
        return v.min(axis=0), v.max(axis=0)

    @cached_property
    def arrays(self) -> SurfaceArrays:
        """The surface as compiled code takes it."""
        s = self.smooth
        return SurfaceArrays(
            MESH,
            0.0,
            _frozen(s.mesh.vertices),
            _frozen(s.mesh.faces, np.int64),
            _frozen(s.normals),
            _frozen(s.corners, np.int64),
            _frozen(s.quadrics),
            _frozen(s.sizes),
            _frozen(self.centres),
            _frozen(self.reach),
        )

    @cached_property
    def probe(self) -> DistanceProbe:
        """Its signed distance as compiled code takes it."""
        field, (low, high) = self.field, self.box
        return DistanceProbe(MESH, 0.0, _frozen(field.values, np.float32), _frozen(field.corner), field.step, low, high)

    @property
    def size(self) -> float:
        """Diagonal of the box around it [m]."""
        return float(np.linalg.norm(self.box[1] - self.box[0]))


@dataclass(frozen=True, eq=False)
class SphereSurface:
    """A ball of the given radius about the origin of its frame."""

    radius: float

    @property
    def size(self) -> float:
        """Diagonal of the box around it [m]."""
        return 2.0 * self.radius * np.sqrt(3.0)

    @cached_property
    def points(self) -> Floats:
        """Points of the surface, k x 3 [m]."""
        return self.normals * self.radius

    @cached_property
    def normals(self) -> Floats:
        """Outward, one per point: 400 in even spread."""
        i = np.arange(400) + 0.5
        polar, turn = np.arccos(1 - 2 * i / 400), np.pi * (1 + 5**0.5) * i
        return np.column_stack([np.cos(turn) * np.sin(polar), np.sin(turn) * np.sin(polar), np.cos(polar)])

    @property
    def spacing(self) -> float:
        """Distance between neighbouring points [m]."""
        return self.radius * float(np.sqrt(4 * np.pi / 400))

    @cached_property
    def arrays(self) -> SurfaceArrays:
        """The surface as compiled code takes it."""
        return _analytic_arrays(SPHERE, self.radius)

    @cached_property
    def probe(self) -> DistanceProbe:
        """Its signed distance as compiled code takes it."""
        return _analytic_probe(SPHERE, self.radius, np.full(3, -self.radius), np.full(3, self.radius))


@dataclass(frozen=True, eq=False)
class PlaneSurface:
    """The half-space z < 0 of its frame; its surface z = 0 faces +z."""

    @property
    def size(self) -> float:
        """Unbounded."""
        return np.inf

    @property
    def spacing(self) -> float:
        """No samples, no distance between them."""
        return 0.0

    @property
    def points(self) -> Floats:
        """None: whatever meets a plane is sampled instead."""
        return np.zeros((0, 3))

    @property
    def normals(self) -> Floats:
        """None, as there are no points."""
        return np.zeros((0, 3))

    @cached_property
    def arrays(self) -> SurfaceArrays:
        """The surface as compiled code takes it."""
        return _analytic_arrays(PLANE, 0.0)

    @cached_property
    def probe(self) -> DistanceProbe:
        """Its signed distance as compiled code takes it."""
        return _analytic_probe(PLANE, 0.0, np.full(3, -np.inf), np.array([np.inf, np.inf, 0.0]))


Surface = MeshSurface | SphereSurface | PlaneSurface


@dataclass(frozen=True, eq=False)
class PadSurface:
    """What a finger touches with.

    Args:
        name: identifies it in results.
        surface: its shape, in the pad's frame.
        young: Young's modulus [Pa]; infinite for a rigid pad.
        poisson: Poisson's ratio.
        pad_faces: which faces of a mesh surface are pad; None means all. Contact elsewhere counts but is reported.
        friction: Coulomb coefficient against the object.
    """

    name: str
    surface: Surface
    young: float = np.inf
    poisson: float = 0.3
    pad_faces: Bools | None = None
    friction: float = 0.0

    def __post_init__(self) -> None:
        _check_elastic(self.name, self.young, self.poisson)
        if not self.friction >= 0.0:
            raise MaterialError(self.name, f"friction {self.friction:g} must not be negative")

    @staticmethod
    def of(
        mesh: Mesh,
        *,
        name: str = "pad",
        young: float = np.inf,
        poisson: float = 0.3,
        pad_faces: ArrayLike | None = None,
        friction: float = 0.0,
    ) -> PadSurface:
        """A pad from a mesh [m]; ``pad_faces`` are face numbers or a mask."""
        mask = None
        if pad_faces is not None:
            mask = np.zeros(len(mesh.faces), dtype=np.bool_)
            mask[np.asarray(pad_faces)] = True
        return PadSurface(name, MeshSurface.of(mesh), young, poisson, mask, friction)

    @property
    def compliance(self) -> float:
        """(1 - nu^2) / E, zero if rigid [1/Pa]."""
        return 0.0 if np.isinf(self.young) else (1.0 - self.poisson**2) / self.young


@dataclass(frozen=True, eq=False)
class PreparedObject:
    """An elastic object ready to be touched. Build with ``PreparedObject.of``; reuse for every pose and every grasp.

    Args:
        surface: its shape, in the object's frame.
        young: Young's modulus [Pa].
        poisson: Poisson's ratio.
        body: compliance of the free body; None: it is a half-space under every contact.
    """

    surface: Surface
    young: float
    poisson: float
    body: Compliance | None

    def __post_init__(self) -> None:
        _check_elastic("object", self.young, self.poisson)

    @staticmethod
    def of(
        mesh: Mesh,
        *,
        young: float,
        poisson: float,
        model: Model = "body",
        edge: float | None = None,
        wall: float | None = None,
        contents: Liquid | None = None,
        cache: bool = True,
        progress: Callable[[str, float], None] | None = None,
    ) -> PreparedObject:
        """Prepare a closed mesh [m]; the ``body`` model takes seconds the first time and is then found in the cache.

        Args:
            mesh: the outer surface.
            young, poisson: elastic constants of the material; of a vessel, of its wall.
            model: the whole body gives, or only what is near the pads.
            edge: of the elements at the surface [m].
            wall: thickness [m] of a thin-walled vessel; a solid if left out.
            contents: what is in the vessel; open if left out. A sealed one is stiffened by its gas and liquid.

        Raises:
            MaterialError: elastic constants outside physics.
            MeshError: the surface cannot be filled with tetrahedra.
            OptionError: a wall that is no thin shell, or contents without a wall.
            LiquidError: more liquid than the vessel holds.
        """
        if model not in ("body", "halfspace"):
            raise OptionError("model", f"no model '{model}'; there are: body, halfspace")
        _check_elastic("object", young, poisson)
        if wall is None and contents is not None:
            wall = contents.wall
            if wall is None:
                raise OptionError("contents", "a vessel's contents need its wall thickness")
        if wall is not None and model != "body":
            raise OptionError("wall", "a thin wall is no half-space; use the model 'body'")
        if np.isinf(young):
            model, wall = "halfspace", None
        surface = MeshSurface.of(mesh)
        body = None
        if wall is not None:
            from pliant.elastic import gas_stiffness, prepare_shell, with_contents

            stiffness = gas_stiffness(mesh, contents)
            shell = prepare_shell(mesh, poisson, wall, smooth=surface.smooth, edge=edge, cache=cache, progress=progress)
            body = with_contents(shell, young, stiffness)
        elif model == "body":
            body = prepare_compliance(mesh, poisson, smooth=surface.smooth, edge=edge, cache=cache, progress=progress)
        return PreparedObject(surface, young, poisson, body)

    @property
    def compliance(self) -> float:
        """(1 - nu^2) / E [1/Pa]."""
        return 0.0 if np.isinf(self.young) else (1.0 - self.poisson**2) / self.young

    @property
    def mesh(self) -> Mesh | None:
        """The object's mesh, if it has one."""
        return self.surface.smooth.mesh if isinstance(self.surface, MeshSurface) else None

    @cached_property
    def vertex_areas(self) -> Floats:
        """Area vectors of the mesh's vertices: the derivative of the volume with respect to their positions [m^2]."""
        assert isinstance(self.surface, MeshSurface)
        mesh = self.surface.smooth.mesh
        v, f = mesh.vertices, mesh.faces
        third = np.cross(v[f[:, 1]] - v[f[:, 0]], v[f[:, 2]] - v[f[:, 0]]) / 6.0
        out = np.zeros_like(v)
        for k in range(3):
            np.add.at(out, f[:, k], third)
        return out

    @cached_property
    def vertex_normals(self) -> Floats:
        """Outward unit normals of the mesh's vertices."""
        size = np.linalg.norm(self.vertex_areas, axis=1)
        return np.asarray(self.vertex_areas / np.maximum(size, np.finfo(float).tiny)[:, None])

    @cached_property
    def volume(self) -> float:
        """Enclosed volume [m^3]."""
        assert isinstance(self.surface, MeshSurface)
        v = self.surface.smooth.mesh.vertices
        return float(np.einsum("ij,ij->", self.vertex_areas, v - v.mean(axis=0)) / 3.0)

    @cached_property
    def embedding(self) -> tuple[Ints, Floats]:
        """For every vertex of the mesh three corners of the finite-element surface and their weights."""
        import igl

        assert self.body is not None and isinstance(self.surface, MeshSurface)
        vertices = self.surface.smooth.mesh.vertices
        _, found, closest = igl.point_mesh_squared_distance(vertices, self.body.points, self.body.faces)
        corners = self.body.faces[np.asarray(found).reshape(-1)]
        a, b, c = (self.body.points[corners[:, k]] for k in range(3))
        normal = np.cross(b - a, c - a)
        area = np.einsum("ij,ij->i", normal, normal)
        first = np.einsum("ij,ij->i", np.cross(c - b, closest - b), normal) / area
        second = np.einsum("ij,ij->i", np.cross(a - c, closest - c), normal) / area
        return corners, np.column_stack([first, second, 1.0 - first - second])


def _frozen(array: NDArray[Any], dtype: type = np.float64) -> NDArray[Any]:
    """Read-only and contiguous: one type for all surfaces, so that code is compiled for one type only."""
    out: NDArray[Any] = np.ascontiguousarray(array, dtype=dtype).view()
    out.flags.writeable = False
    return out


def _analytic_arrays(kind: int, radius: float) -> SurfaceArrays:
    rows, line, three = _frozen(np.zeros((0, 3))), _frozen(np.zeros(0)), _frozen(np.zeros((0, 3)), np.int64)
    quadrics = _frozen(np.zeros((0, 13)))
    return SurfaceArrays(kind, float(radius), rows, three, rows, three, quadrics, line, rows, line)


def _analytic_probe(kind: int, radius: float, low: Floats, high: Floats) -> DistanceProbe:
    values = _frozen(np.zeros((0, 0, 0)), np.float32)
    return DistanceProbe(kind, float(radius), values, _frozen(np.zeros(3)), 1.0, low, high)


def _check_elastic(name: str, young: float, poisson: float) -> None:
    if not young > 0.0:
        raise MaterialError(name, f"Young's modulus {young:g} Pa must be positive")
    check_poisson(name, poisson)


def _samples(smooth: SmoothSurface, count: int) -> tuple[Floats, Floats, float]:
    """Vertices, and points inside the faces that are larger than the wanted spacing; with normals and the spacing."""
    v, f = smooth.mesh.vertices, smooth.mesh.faces
    area = 0.5 * np.linalg.norm(np.cross(v[f[:, 1]] - v[f[:, 0]], v[f[:, 2]] - v[f[:, 0]]), axis=1)
    spacing = float(np.sqrt(area.sum() / count))
    used = np.unique(f)
    normals = np.zeros_like(v)
    for k in range(3):
        np.add.at(normals, f[:, k], smooth.normals * area[:, None])
    norm = np.linalg.norm(normals, axis=1)
    normals = normals / np.maximum(norm, np.finfo(float).tiny)[:, None]
    points, directions = [v[used]], [normals[used]]
    steps = np.maximum(1, np.ceil(smooth.sizes / (1.5 * spacing)).astype(np.int64))
    for n in np.unique(steps[steps > 1]):
        faces = np.flatnonzero(steps == n)
        i, j = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
        keep = (i + j <= n) & ~((i == n) | (j == n) | (i + j == 0))
        bary = np.column_stack([n - i[keep] - j[keep], i[keep], j[keep]]) / n
        points.append(np.einsum("ka,fax->fkx", bary, v[f[faces]]).reshape(-1, 3))
        directions.append(np.repeat(smooth.normals[faces], len(bary), axis=0))
    return np.concatenate(points), np.concatenate(directions), spacing
