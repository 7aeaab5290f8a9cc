"""From a planned grasp to the judge's question: geometry, poses and loads, nothing of the planner's contact model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
import pinocchio as pin

from pliant.arrays import Bools, Floats
from pliant.elastic import sharp_edges, spread
from pliant.errors import OptionError, PlanError, Problem
from pliant.judge.condensed_body import CondensedBody
from pliant.judge.partners import MeshTouch, Partner
from pliant.judge.programme import PlayedOperation
from pliant.objects import Mesh, SmoothSurface, smooth_surface
from pliant.planner import Phase, PlannedGrasp, Push, Task
from pliant.robot import Pad, Robot, link_mesh, pad_mesh

_KNOTS = 11
"""Instants of the squeeze at which links are placed; between them they move straight."""
_NEAR = 3e-4
"""What comes nearer than this may touch [m]."""
_BEYOND = 1.6
"""Candidates reach so far, in half axes of the planned contact .. """
_SLIDE = 1e-3
""".. and so much farther, for an object that slides [m]."""
_IDLE = 1e-3
"""Links and obstacles that come as near as this at all take part [m]."""
_STANDS = 2e-3
"""What is nearer than this below or beside the object at the start supports it [m]."""
_ACROSS = 2.5
"""Elements over the radius of the smallest planned contact .. """
_MOST_ACROSS = 4.5
""".. but no more than this over that of the largest."""
_SAMPLES = 1500
_LEAST = 6
"""At least so many faces may touch a support."""


@dataclass(frozen=True, eq=False)
class Question:
    """A grasp to be judged.

    Args:
        smooth: the object's surface, in its frame.
        partners: links of the hand that are near, and supports.
        planned: planned normal force of each, summed over its contacts [N]; 0 for idle links and supports.
        places: k x 3 where elements are to be small, in the object's frame [m].
        fine, reach, coarse: their edge there, how far around, and far away [m].
        operation: what is played; its body's centre is still the object's origin.
        T_world_object: at the start.
        T_world_object_planned: where the plan says that it settles.
        contacts: for every partner its planned contacts: place and longer half axis [m].
        friction: nominal Coulomb coefficient.
        notes: what is rough about the question.
    """

    smooth: SmoothSurface
    partners: tuple[Partner, ...]
    planned: tuple[float, ...]
    places: Floats
    fine: float
    reach: float
    coarse: float
    operation: PlayedOperation
    T_world_object: pin.SE3
    T_world_object_planned: pin.SE3
    contacts: tuple[tuple[tuple[Floats, float], ...], ...]
    friction: float
    notes: tuple[str, ...]

    def near(self, number: int, points: Floats) -> Bools:
        """Which points of the object, in its frame, partner ``number`` may touch."""
        partner, contacts = self.partners[number], self.contacts[number]
        within = np.ones(len(points), dtype=bool)
        if contacts:
            within = np.zeros(len(points), dtype=bool)
            for place, half in contacts:
                within |= np.linalg.norm(points - place, axis=1) < _BEYOND * half + _SLIDE
        out = np.zeros(len(points), dtype=bool)
        at = np.flatnonzero(within)
        for T_world_partner, T_world_object in self._meetings(number):
            if T_world_partner is None:
                continue
            seen = T_world_partner.actInv(T_world_object)
            heights = partner.surface.gaps(points[at] @ seen.rotation.T + seen.translation).heights
            # elements are large at a support; where none is that near, the nearest carry
            least = np.partition(heights, _LEAST)[_LEAST] if partner.support and len(at) > _LEAST else 0.0
            out[at] |= heights < max(_NEAR, least)
        return out

    def _meetings(self, number: int) -> list[tuple[pin.SE3 | None, pin.SE3]]:
        """Poses of the partner and the object at which they may meet."""
        weight = np.linalg.norm(self.operation.weight)
        down = self.operation.weight / weight if weight > 0.0 else np.zeros(3)
        first, last = self.operation.closing[0][number], self.operation.closing[-1][number]
        start, planned = self.T_world_object, self.T_world_object_planned
        if self.partners[number].support:
            return [(first, start), (first, _moved(start, _NEAR * down)), (first, planned)]
        return [(last, start), (last, planned), (last, _moved(planned, _SLIDE * down))]

    def soft(self, body: CondensedBody) -> Bools:
        """Which of the hats' points meet pad rather than the rigid rest of a link."""
        hats = body.hats
        out = np.ones(len(hats.points), dtype=bool)
        for number, partner in enumerate(self.partners):
            if partner.pad_faces is None or not isinstance(partner.surface, MeshTouch):
                continue
            own, T_world_partner = hats.owner == number, self.operation.closing[-1][number]
            if T_world_partner is None:
                continue
            seen = T_world_partner.actInv(self.T_world_object_planned)
            points = (hats.points[own] + body.centre) @ seen.rotation.T + seen.translation
            out[own] = partner.pad_faces[partner.surface.faces_at(points)]
        return out


def _moved(T: pin.SE3, by: Floats) -> pin.SE3:
    return pin.SE3(T.rotation, T.translation + by)


def pose_question(
    task: Task, grasp: PlannedGrasp, *, edge: float | None = None, pad_thickness: float = math.inf
) -> Question:
    """What the judge is asked about one grasp of a plan.

    Args:
        task: of the plan.
        grasp: one of its grasps.
        edge: of the elements where links press [m]; from the contacts' radii if left out.
        pad_thickness: of every elastic pad, on a rigid core [m]; a half-space if left out.

    Raises:
        PlanError: the grasp is of a vessel, or has no contacts.
        OptionError: an edge or thickness that is not positive.
    """
    if task.body.liquid is not None:
        what = "holds a vessel with liquid; the judge knows solid bodies only"
        raise PlanError(task.name, Problem("object.liquid", what, "a task with a solid object"))
    for name, value in (("edge", edge), ("pad thickness", pad_thickness)):
        if value is not None and not value > 0.0:
            raise OptionError(name, f"{value:g} m must be above 0")
    state = grasp.grasp
    if not state.contacts:
        raise PlanError(task.name, Problem("grasp", "has no contacts", "a grasp that was planned with forces"))
    smooth = smooth_surface(task.body.mesh)
    samples = _samples(smooth)
    path = _closing_joints(grasp)
    T_start, T_planned = task.T_world_object, state.T_world_object
    robot = task.assembly.robot
    partners: list[Partner] = []
    poses: list[list[pin.SE3]] = []
    contacts: list[tuple[tuple[Floats, float], ...]] = []
    planned, places = [], [contact.T_object_contact.translation for contact in state.contacts]
    notes: list[str] = []
    for name, partner in _links(task, [contact.link for contact in state.contacts], pad_thickness):
        own = tuple(
            (contact.T_object_contact.translation, float(contact.half_axes.max()))
            for contact in state.contacts
            if contact.link == name
        )
        placed = [robot.pose(name, q) for q in path]
        if not own:
            seen = placed[-1].actInv(T_planned)
            heights = partner.surface.gaps(samples @ seen.rotation.T + seen.translation).heights
            if heights.min() > _IDLE:
                continue
            places.append(samples[int(np.argmin(heights))])
            notes.append(f"{name} is {1e3 * heights.min():.2f} mm from the object and takes part")
        partners.append(partner)
        poses.append(placed)
        contacts.append(own)
        planned.append(sum(c.normal_force for c in state.contacts if c.link == name))
    radii = [float(np.sqrt(np.prod(contact.half_axes))) for contact in state.contacts]
    largest = max(float(contact.half_axes.max()) for contact in state.contacts)
    fine = edge if edge is not None else max(min(radii) / _ACROSS, max(radii) / _MOST_ACROSS)
    for number, mesh in enumerate(task.scene):
        surface = MeshTouch.of(mesh)
        T = T_start
        heights = surface.gaps(samples @ T.rotation.T + T.translation).heights
        if heights.min() > _STANDS:
            continue
        partners.append(Partner(mesh.name or f"scene {number}", surface, support=True))
        poses.append([pin.SE3.Identity()] * len(path))
        contacts.append(())
        planned.append(0.0)
    if not any(partner.support for partner in partners):
        notes.append("nothing supports the object at the start: the hand closes before its weight acts")
    weight = task.body.mass * np.array(task.goal.gravity)
    operation = PlayedOperation(
        T_start,
        tuple(zip(*poses, strict=True)),
        weight,
        tuple(push for given in task.goal.disturbances for push in _pushes(given)),
        0.1 * max(contact.normal_force for contact in state.contacts),
    )
    coarse = max(2.5 * fine, float(task.body.mesh.extents.min()) / 7.0)
    return Question(
        smooth,
        tuple(partners),
        tuple(planned),
        smooth.project(np.array(places)).points,
        fine,
        1.3 * largest,
        coarse,
        operation,
        T_start,
        T_planned,
        tuple(contacts),
        task.body.material.friction,
        tuple(notes),
    )


def _closing_joints(grasp: PlannedGrasp) -> list[Floats]:
    """Joints from the first touches to the grasp."""
    span = grasp.trajectory.span(Phase.SQUEEZE)
    shares = np.linspace(0.0, 1.0, _KNOTS)
    if span is None:
        return [grasp.q_touch + share * (grasp.grasp.q - grasp.q_touch) for share in shares]
    return [grasp.trajectory.at(span[0] + share * (span[1] - span[0])) for share in shares]


def _links(task: Task, touching: list[str], pad_thickness: float) -> list[tuple[str, Partner]]:
    """Every link with a shape, those that touch first; with its pad where it has one."""
    robot: Robot = task.assembly.robot
    hand = task.assembly.hand
    pads: dict[str, Pad] = {pad.link: pad for finger in (hand.fingers if hand else ()) for pad in finger.pads}
    out = []
    names = list(dict.fromkeys(touching)) + [link.name for link in robot.urdf.links if link.name not in touching]
    for name in names:
        pad = pads.get(name)
        if pad is None:
            mesh: Mesh | None = link_mesh(robot.urdf.link(name), "collision")
            if mesh is not None:
                out.append((name, Partner(name, MeshTouch.of(mesh))))
            continue
        found = pad_mesh(robot.urdf, pad)
        young = math.inf if pad.young is None else pad.young
        surface = MeshTouch.of(found.mesh)
        out.append((name, Partner(name, surface, young, pad.poisson, pad_thickness, found.faces)))
    return out


def _samples(smooth: SmoothSurface) -> Floats:
    """Points spread over the object."""
    spacing = float(np.sqrt(smooth.mesh.area / _SAMPLES))
    return spread(smooth, sharp_edges(smooth, spacing), spacing)[0]


def _pushes(push: Push) -> list[Floats]:
    """Force and torque of a push; of one from anywhere, along the axes and the diagonals between them."""
    if not push.any_force > 0.0:
        return [np.array([*push.force, *push.torque])]
    ways = [np.array(way, dtype=np.float64) for way in product((-1, 0, 1), repeat=3) if np.abs(way).sum() in (1, 3)]
    return [push.any_force * np.append(way / np.linalg.norm(way), np.zeros(3)) for way in ways]
