"""How good a grasp can be at best.   (theory 8.9)"""

from __future__ import annotations

import numpy as np

from pliant.planner.task import Task


def least_force(task: Task, contacts: int) -> float:
    """What the largest normal force of so many contacts cannot be below: W / (n sqrt(1 + mu^2)), with the reserves [N].

    A contact pushes with at most sqrt(1 + mu^2) of its normal force, and together they carry the weight.
    """
    mu = (1.0 - task.uncertainty.friction) * task.body.material.friction
    weight = (1.0 + task.uncertainty.mass) * task.body.mass * float(np.linalg.norm(task.goal.gravity))
    return weight / (max(contacts, 1) * float(np.sqrt(1.0 + mu**2)))
