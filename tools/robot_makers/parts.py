"""From surfaces to URDF parts: links with mass and inertia of a uniform body, joints, files on disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin

from pliant.objects import Mesh
from pliant.robot import Inertial, Joint, Link, LinkShape, Mimic, Urdf

GREY = (0.72, 0.73, 0.75, 1.0)
DARK = (0.22, 0.23, 0.25, 1.0)


def transform(xyz: tuple[float, float, float] = (0, 0, 0), rpy: tuple[float, float, float] = (0, 0, 0)) -> pin.SE3:
    return pin.SE3(pin.rpy.rpyToMatrix(*rpy), np.array(xyz, dtype=float))


def mesh_shape(name: str, colour: tuple[float, float, float, float], T: pin.SE3 | None = None) -> LinkShape:
    return LinkShape("mesh", (1.0, 1.0, 1.0), T or transform(), Path("meshes") / f"{name}.obj", colour)


def uniform_inertial(meshes: list[Mesh], mass: float) -> Inertial:
    """Inertial of ``mass`` spread evenly over the bodies (one tetrahedron per face and origin)."""
    volume, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for mesh in meshes:
        a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
        six = np.einsum("ij,ij->i", a, np.cross(b, c))
        total = a + b + c
        volume += six.sum() / 6
        first += (six[:, None] * total).sum(axis=0) / 24
        outer = sum(np.einsum("i,ij,ik->jk", six, p, p) for p in (a, b, c))
        second += (outer + np.einsum("i,ij,ik->jk", six, total, total)) / 120
    centre = first / volume
    moment = (second - volume * np.outer(centre, centre)) * mass / volume
    inertia = np.trace(moment) * np.eye(3) - moment
    xx, xy, xz, yy, yz, zz = inertia[0, 0], inertia[0, 1], inertia[0, 2], inertia[1, 1], inertia[1, 2], inertia[2, 2]
    return Inertial(mass, transform(tuple(centre)), (xx, xy, xz, yy, yz, zz))


def link(name: str, parts: list[tuple[str, Mesh, tuple[float, float, float, float]]], mass: float) -> Link:
    """A link of one or more closed surfaces (file name, surface in the link's frame, colour)."""
    shapes = tuple(mesh_shape(file, colour) for file, _, colour in parts)
    bare = tuple(replace(shape, colour=None) for shape in shapes)
    return Link(name, shapes, bare, uniform_inertial([mesh for _, mesh, _ in parts], mass))


def fixed(name: str, parent: str, child: str, T: pin.SE3) -> Joint:
    return Joint(name, "fixed", parent, child, T)


def moving(
    name: str,
    parent: str,
    child: str,
    T: pin.SE3,
    axis: tuple[float, float, float],
    limits: tuple[float, float],
    velocity: float,
    effort: float,
    *,
    kind: str = "revolute",
    mimic: Mimic | None = None,
) -> Joint:
    return Joint(name, kind, parent, child, T, axis, limits[0], limits[1], velocity, effort, mimic=mimic)


def write(folder: Path, urdf: Urdf, meshes: dict[str, Mesh], comment: str) -> None:
    """Write ``<name>.urdf`` and its meshes (OBJ, micrometre resolution) below ``folder``."""
    (folder / "meshes").mkdir(parents=True, exist_ok=True)
    for name, mesh in meshes.items():
        lines = [f"# {urdf.name} {name}: {len(mesh.faces)} faces, metres; made by tools/make_robots.py"]
        lines += ["v " + " ".join(f"{value:.6f}" for value in vertex) for vertex in mesh.vertices + 0.0]
        lines += ["f " + " ".join(str(i + 1) for i in face) for face in mesh.faces]
        (folder / "meshes" / f"{name}.obj").write_text("\n".join(lines).replace(" -0.000000", " 0.000000") + "\n")
    text = urdf.to_xml().replace("<robot ", f"<!-- {comment} -->\n<robot ", 1)
    (folder / f"{urdf.name}.urdf").write_text(text)
