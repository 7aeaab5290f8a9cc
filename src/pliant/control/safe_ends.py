"""How a run ends safely: the hand opens, or gives way where a force is too large.   (theory 9)"""

from __future__ import annotations

import numpy as np

from pliant.arrays import Bools, Floats
from pliant.control.driver import Sample
from pliant.control.force_loop import ForceLoop, contact_kinematics
from pliant.planner import ContactTimeline, PlannedForces
from pliant.tactile import ContactEstimate, felt_forces

OPENING = 1.0  # of the planned way per second, when the hand opens [1/s]
SLOWEST = 0.04  # it opens no slower than this [rad/s, m/s]
EASED = 0.8  # of the permitted force


def opened(command: Floats, timeline: ContactTimeline, hand: Bools, dt: float) -> tuple[Floats, bool]:
    """The next command towards the open hand of the pre-grasp, and whether it is open."""
    goal = command.copy()
    goal[hand] = timeline.q_pregrasp[hand]
    way = np.abs(timeline.q_pregrasp - timeline.q_touch)[hand].max(initial=0.0)
    reach = max(OPENING * way, SLOWEST) * dt
    command = command + np.clip(goal - command, -reach, reach)
    return command, bool(np.abs(goal - command).max() < 1e-6)


def eased(
    command: Floats, sample: Sample, estimate: ContactEstimate, moment: PlannedForces, loop: ForceLoop, dt: float
) -> tuple[Floats, bool]:
    """The next command where a force is above ``EASED`` of what is permitted: give way there; and whether none is."""
    over = felt_forces(estimate.measured) > EASED * loop.timeline.max_force
    if not over.any() or sample.joints is None or not np.isfinite(sample.joints.positions).all():
        return command, not over.any()
    q = np.asarray(sample.joints.positions)
    now = contact_kinematics(loop.assembly, loop.timeline.links, q, estimate.places, moment.axes)
    # As fast as the loop may move a contact; the error that asks for just that.
    back = np.where(over, -loop.options.step / loop.options.gain, 0.0) * loop.series_stiffness(now)
    return command + loop.correct(back, now, loop.hand, dt), False
