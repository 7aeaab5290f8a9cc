"""Force loops of made plans, and contacts that oppose each other exactly, for the tests of control."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from made_plans import MadeTask, made
from pliant.control import ContactKinematics, ControlOptions, ForceLoop, contact_kinematics
from pliant.grasp import contact_rotations
from pliant.planner import ContactTimeline, PlannedGrasp, Reserve
from pliant.robot import Assembly

GRIPPER, SDH2 = "parallel_gripper", "schunk_sdh2"


@lru_cache
def ball_in(hand: str) -> MadeTask:
    """The ball of made_plans between two fingers of a hand on an arm."""
    return made("ball", hand=hand)


def assembly_of(hand: str) -> Assembly:
    return ball_in(hand).task.assembly


def timeline_of(hand: str, stiffness: tuple[float, float] | None = None) -> ContactTimeline:
    """The plan in time; with ``stiffness`` the normal stiffnesses of its two contacts are these [N/m]."""
    grasp: PlannedGrasp = ball_in(hand).grasp
    if stiffness is not None:
        first = grasp.states[0]
        contacts = tuple(
            replace(contact, stiffness=np.diag([0.7 * k, 0.7 * k, k]))
            for contact, k in zip(first.contacts, stiffness, strict=True)
        )
        grasp = replace(grasp, states=(replace(first, contacts=contacts), *grasp.states[1:]))
    return ContactTimeline(grasp, assembly_of(hand).robot)


def loop_of(
    hand: str, *, stiffness: tuple[float, float] | None = None, reserve: Reserve | None = None, **options: object
) -> ForceLoop:
    timeline = timeline_of(hand, stiffness)
    timeline.reserve = reserve or Reserve()
    return ForceLoop(timeline, assembly_of(hand), ControlOptions(**options))  # type: ignore[arg-type]


def planned_contacts(loop: ForceLoop) -> ContactKinematics:
    """The plan's contacts at its touch."""
    timeline = loop.timeline
    at = timeline.forces_at(timeline.touch_time)
    return contact_kinematics(loop.assembly, timeline.links, timeline.q_touch, at.points, at.axes)


def pinch(loop: ForceLoop) -> ContactKinematics:
    """The gripper's pads at the planned touch, with points and normals on one line along which both close."""
    timeline, robot = loop.timeline, loop.assembly.robot
    Ts = robot.poses(timeline.links, timeline.q_touch)
    opening = robot.joint_index("opening")
    inward = -np.array([robot.jacobian(link, timeline.q_touch)[:3, opening] for link in timeline.links])
    np.testing.assert_allclose(inward[0], -inward[1], atol=1e-12)
    middle = planned_contacts(loop).points.mean(axis=0)
    axes = contact_rotations(inward)
    places = np.array([T.actInv(middle - 0.03 * n) for T, n in zip(Ts, inward, strict=True)])
    return contact_kinematics(
        loop.assembly,
        timeline.links,
        timeline.q_touch,
        places,
        np.array([T.rotation.T @ a for T, a in zip(Ts, axes, strict=True)]),
    )
