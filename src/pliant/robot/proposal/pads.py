"""Pads: the side of every bending link that leads when the finger closes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.errors import InputError
from pliant.objects import Mesh
from pliant.robot.description import Pad
from pliant.robot.proposal.closing import Bending, room
from pliant.robot.proposal.fingers import HandTree, vector3
from pliant.robot.surfaces import link_mesh, pad_mesh

MAX_FORCE = 20.0
YOUNG = 2e6
"""Of rubber as it is on most finger tips [Pa]."""
LEAN = 0.4
"""How far the pad of the last link leans towards the tip."""


@dataclass(frozen=True, eq=False)
class FingerPads:
    """The pads of a finger.

    Args:
        pads: palm side first.
        point: middle of the last pad's outer part, in ``link`` [m].
        normal: outward there.
        link: that carries the last pad.
        left_out: links that got none, with the reason.
        notes: link and what had to be done to its collision shapes.
    """

    pads: tuple[Pad, ...]
    point: Floats
    normal: Floats
    link: str
    left_out: tuple[str, ...]
    notes: tuple[tuple[str, str], ...] = ()


def find_pads(tree: HandTree, bending: Bending) -> FingerPads:
    """Pads of one finger: on links beyond the first bending joint, facing where closing takes them."""
    robot, chain = tree.robot, bending.chain
    bent = robot.neutral
    for k, sign in bending.closing.sign.items():
        bent[k] += sign * 0.3 * room(robot, k, sign)
    last = chain.joints[-1]
    axis_world = robot.pose(last.child, bent).rotation @ np.array(last.axis)
    pads: list[Pad] = []
    left_out: list[str] = []
    notes: list[tuple[str, str]] = []
    for name in chain.links:
        is_last = name in chain.last
        if not is_last and not any(robot.joints_moving(name)[k] for k in bending.bends):
            left_out.append(f"{name}: comes before the first bending joint")
            continue
        mesh = link_mesh(robot.urdf.link(name))
        if mesh is None:
            left_out.append(f"{name}: has no collision shape")
            continue
        T = robot.pose(name, bent)
        middle = mesh.bounds.mean(axis=0)
        facing = _facing(tree, bending, name, middle, bent, axis_world)
        if facing is None:
            left_out.append(f"{name}: closing does not move it sideways")
            continue
        n = T.rotation.T @ facing
        wanted = n
        if is_last and not bending.linear:
            along = T.rotation.T @ (robot.pose(chain.tip_link, bent).rotation @ chain.along)
            wanted = n + LEAN * along
            wanted /= np.linalg.norm(wanted)
        pad = _pad(mesh.vertices[mesh.faces], mesh.face_normals, n, wanted, name)
        if pad is None:
            left_out.append(f"{name}: no surface faces inward")
            continue
        try:
            sound = pad_mesh(robot.urdf, pad)
        except InputError as bad:
            first = bad.problems[0]
            left_out.append(f"{name}: {first.what}" + (f"; {first.allowed}" if first.allowed else ""))
            continue
        area = float(sound.mesh.face_areas[sound.faces].sum())
        if area < 1e-5:
            left_out.append(f"{name}: only {1e6 * area:.0f} mm2 of it faces inward")
            continue
        pads.append(pad)
        notes += [(name, note) for note in sound.notes]
    point, normal, link = _contact_point(tree, bending, pads, bent, axis_world)
    return FingerPads(tuple(pads), point, normal, link, tuple(left_out), tuple(notes))


def _facing(tree: HandTree, bending: Bending, link: str, middle: Floats, q: Floats, axis: Floats) -> Floats | None:
    """Unit direction, in the world, square to the link's length and bending axis, in which closing moves the link."""
    robot = tree.robot
    J = robot.jacobian(link, q)
    rates = np.zeros(robot.dof)
    for k, sign in bending.closing.sign.items():
        rates[k] = sign
    twist = J @ rates
    arm = robot.pose(link, q).rotation @ middle
    velocity = twist[:3] + np.cross(twist[3:], arm)
    if bending.linear:
        size = float(np.linalg.norm(velocity))
        return velocity / size if size > 1e-12 else None
    along = _length(tree, bending, link, q)
    normal = np.cross(axis, along)
    normal /= max(float(np.linalg.norm(normal)), 1e-12)
    # Beyond its own joint a link turns ahead; of one that only translates (a linkage) the velocity decides.
    turning = float(np.cross(twist[3:], along) @ normal)
    ahead = turning if abs(turning) > 1e-6 else float(velocity @ normal)
    return normal * np.sign(ahead) if abs(ahead) > 1e-9 else None


def _length(tree: HandTree, bending: Bending, link: str, q: Floats) -> Floats:
    """Direction of a link's length in the world: from its joint to the next, or to the tip."""
    robot, chain = tree.robot, bending.chain
    if link in chain.last:
        return np.asarray(robot.pose(chain.tip_link, q).rotation @ chain.along)
    places = [robot.pose(joint.child, q).translation for joint in chain.joints]
    moved = [i for i, joint in enumerate(chain.joints) if _carries(tree, joint.child, link)]
    i = max(moved)
    length = places[i + 1] - places[i] if i + 1 < len(places) else bending.tip(robot, q) - places[i]
    size = float(np.linalg.norm(length))
    return np.asarray(length / size) if size > 1e-6 else np.asarray(bending.tip(robot, q) - places[i])


def _carries(tree: HandTree, before: str, link: str) -> bool:
    parents = {joint.child: joint.parent for joint in tree.robot.urdf.joints}
    while link != before and link in parents:
        link = parents[link]
    return link == before


def _pad(corners: Floats, normals: Floats, inward: Floats, wanted: Floats, link: str) -> Pad | None:
    """The faces on the inner half of a link that face the wanted direction, as a box around them."""
    centres = corners.mean(axis=1)
    heights = corners.reshape(-1, 3) @ inward
    half = 0.5 * (heights.min() + heights.max())
    chosen = (normals @ wanted > np.cos(np.radians(70.0))) & (centres @ inward > half)
    if not chosen.any():
        return None
    box = corners[chosen].reshape(-1, 3)
    low, high = (np.round(v, 4) for v in (box.min(axis=0) - 1e-4, box.max(axis=0) + 1e-4))
    return Pad(
        link=link,
        facing=vector3(np.round(wanted, 3)),
        region=(vector3(low), vector3(high)),
        young=YOUNG,
        max_force=MAX_FORCE,
    )


def _contact_point(
    tree: HandTree, bending: Bending, pads: list[Pad], q: Floats, axis: Floats
) -> tuple[Floats, Floats, str]:
    """The place on the last pad that should meet the other fingers: its middle, drawn towards the tip."""
    robot, chain = tree.robot, bending.chain
    T_tip: pin.SE3 = robot.pose(chain.tip_link, q)
    for pad in reversed(pads):
        if pad.link not in chain.last or pad.region is None:
            continue
        T = robot.pose(pad.link, q)
        mesh = link_mesh(robot.urdf.link(pad.link))
        assert mesh is not None
        normal = _facing(tree, bending, pad.link, mesh.bounds.mean(axis=0), q, axis)
        assert normal is not None
        n = T.rotation.T @ normal
        along = T.rotation.T @ (T_tip.rotation @ chain.along)
        of_pad = pad_mesh(robot.urdf, pad)
        areas = of_pad.mesh.face_areas[of_pad.faces]
        surface = of_pad.mesh.vertices[of_pad.mesh.faces[of_pad.faces]].reshape(-1, 3)
        middle = areas @ of_pad.mesh.face_centres[of_pad.faces] / areas.sum()
        reach = float((surface @ along).max() - middle @ along)
        height = float((surface @ n).max() - middle @ n)
        leaning = n if bending.linear else np.array(pad.facing)
        return np.asarray(middle + 0.4 * reach * along + height * n), leaning, pad.link
    return chain.tip, np.asarray(chain.along), chain.tip_link


def spread_over(mesh: Mesh, count: int, rng: np.random.Generator) -> Floats:
    """Points evenly at random on a surface."""
    chosen = rng.choice(len(mesh.faces), count, p=mesh.face_areas / mesh.face_areas.sum())
    mix = rng.dirichlet((1.0, 1.0, 1.0), count)
    return np.asarray(np.einsum("nk,nkd->nd", mix, mesh.vertices[mesh.faces[chosen]]))
