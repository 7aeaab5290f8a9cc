"""Robots as coloured surfaces: shapes of every link with sharp edges, and a whole hand in one mesh for its ghost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.objects import Mesh
from pliant.planner import Hypothesis
from pliant.robot import PALM_FRAME, Assembly, Link, Robot, link_mesh, link_surfaces
from pliant.viewer.scene.colours import GREY, Colour
from pliant.viewer.scene.drawables import Drawable

CREASE = float(np.cos(np.radians(35.0)))


class ColouredMesh(NamedTuple):
    """A surface of one colour."""

    mesh: Mesh
    colour: Colour


def coloured_surfaces(link: Link) -> list[ColouredMesh]:
    """What is seen of a link in its own frame, in the URDF's colours."""
    return [
        ColouredMesh(shape.mesh, shape.colour[:3] if shape.colour is not None else GREY)
        for shape in link_surfaces(link, "visual")
    ]


def robot_drawables(robot: Robot, q: Floats) -> list[Drawable]:
    """Every visual shape of a robot at joints ``q``, in the URDF's colours."""
    drawables = []
    for link in robot.urdf.links:
        T_world_link = robot.pose(link.name, q)
        for mesh, colour in coloured_surfaces(link):
            drawables.append(Drawable(mesh.transformed(T_world_link), colour, link.name))
    return drawables


def link_shapes(assembly: Assembly) -> dict[str, list[ColouredMesh]]:
    """Visual shapes of every link in its own frame, shapes of one colour joined, sharp edges kept sharp."""
    shapes: dict[str, list[ColouredMesh]] = {}
    for link in assembly.robot.urdf.links:
        groups: dict[Colour, list[Mesh]] = {}
        for mesh, colour in coloured_surfaces(link):
            groups.setdefault(colour, []).append(creased(mesh))
        if groups:
            shapes[link.name] = [ColouredMesh(_joined(meshes), colour) for colour, meshes in groups.items()]
    return shapes


def hand_links(assembly: Assembly) -> tuple[str, ...]:
    """The hand's links: its mount and everything that hangs on it."""
    if assembly.hand is None:
        return ()
    found = {assembly.hand.mount}
    links = [assembly.hand.mount]
    for name in links:
        for joint in assembly.robot.urdf.joints:
            if joint.parent == name and joint.child not in found:
                found.add(joint.child)
                links.append(joint.child)
    return tuple(links)


def ghost_mesh(assembly: Assembly, hypothesis: Hypothesis, T_world_object: pin.SE3, q: Floats | None = None) -> Mesh:
    """The hand alone where a hypothesis puts it, in world coordinates; as it arrives, or with the fingers of ``q``."""
    assert assembly.hand is not None
    robot = assembly.robot
    if q is None:
        preshape = next(p for p in assembly.hand.preshapes if p.name == hypothesis.preshape)
        q = assembly.preshaped(assembly.q_home, preshape, hypothesis.opening)
    shapes = {name: link_mesh(robot.urdf.link(name), "visual") for name in hand_links(assembly)}
    seen = {name: mesh for name, mesh in shapes.items() if mesh is not None}
    palm, *poses = robot.poses([PALM_FRAME, *seen], q)
    T_world_palm = T_world_object * hypothesis.T_object_palm
    return _joined(
        [mesh.transformed(T_world_palm * palm.actInv(T)) for mesh, T in zip(seen.values(), poses, strict=True)]
    )


def creased(mesh: Mesh) -> Mesh:
    """The same surface with vertices doubled along sharp edges, so that averaged normals leave them sharp.

    Faces around a vertex are grouped: two that share an edge there and bend by less than 35 degrees stay together.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    m = len(mesh.faces)
    if not m:
        return mesh
    edges = np.vstack([mesh.faces[:, [0, 1]], mesh.faces[:, [1, 2]], mesh.faces[:, [2, 0]]])
    owner = np.tile(np.arange(m), 3)
    low, high = edges.min(axis=1), edges.max(axis=1)
    key = low * len(mesh.vertices) + high
    order = np.argsort(key, kind="stable")
    pairs = np.flatnonzero(key[order][1:] == key[order][:-1])
    a, b = order[pairs], order[pairs + 1]
    flat = np.einsum("ij,ij->i", mesh.face_normals[owner[a]], mesh.face_normals[owner[b]]) > CREASE
    a, b = a[flat], b[flat]
    rows, columns = [], []
    for vertex in (low[a], high[a]):
        # The corners of both faces at the shared edge's end belong together.
        rows.append(3 * owner[a] + np.argmax(mesh.faces[owner[a]] == vertex[:, None], axis=1))
        columns.append(3 * owner[b] + np.argmax(mesh.faces[owner[b]] == vertex[:, None], axis=1))
    i, j = np.concatenate(rows), np.concatenate(columns)
    count, group = connected_components(coo_array((np.ones(len(i)), (i, j)), shape=(3 * m, 3 * m)), directed=False)
    vertices = np.zeros((count, 3))
    vertices[group] = mesh.vertices[mesh.faces.ravel()]
    return Mesh(vertices, group.reshape(m, 3), mesh.name)


def _joined(meshes: list[Mesh]) -> Mesh:
    offsets = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = [mesh.faces + offset for mesh, offset in zip(meshes, offsets, strict=False)]
    return Mesh(np.vstack([mesh.vertices for mesh in meshes]), np.vstack(faces), meshes[0].name)
