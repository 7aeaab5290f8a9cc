"""What position servos must be told: drives give way under the contact forces.   (theory 9)

A servo of stiffness k under the torque tau stands tau / k short of its command. Commands are the planned joints plus
that; what carries the links' own weight is the drives' own business.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.arrays import Floats
from pliant.planner.results import HeldState, Phase, Trajectory
from pliant.planner.timeline import force_share
from pliant.robot import Assembly


def servo_commands(
    assembly: Assembly, trajectory: Trajectory, states: Sequence[HeldState], torques: Sequence[Floats]
) -> tuple[Floats, tuple[str, ...]]:
    """n x joints commands q + tau / k for the points of a trajectory, and what has to be said about them.

    Args:
        states: the held states, in the order of time.
        torques: what the joints bear for the contact forces of each of them, tau = J^T f [N m, N].
    """
    touch = (trajectory.span(Phase.SQUEEZE) or (states[0].time, states[0].time))[0]
    known = np.isfinite(assembly.servo_stiffness)
    sag = np.array(torques) / np.where(known, assembly.servo_stiffness, np.inf)
    times, held_times = trajectory.times, np.array([state.time for state in states])
    between = np.column_stack([np.interp(times, held_times, column) for column in sag.T])
    depth = np.clip((times - touch) / max(states[0].time - touch, 1e-9), 0.0, 1.0)
    commands = trajectory.q + force_share(depth)[:, None] * between
    loaded = (np.abs(torques).max(axis=0) > 0.0) & ~known
    fingers = [name for i, name in enumerate(assembly.robot.joint_names) if loaded[i] and i in assembly.hand_joints]
    if not fingers:
        return commands, ()
    note = f"the servos' stiffness is not known ({', '.join(fingers)}): their commands are the planned joints"
    return commands, (note,)
