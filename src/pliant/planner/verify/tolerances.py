"""How exactly a finished plan must agree with its second opinion."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tolerances:
    """Where each comes from is stated with it; all are upper bounds of what an honest plan can differ by.

    Args:
        balance: unbalanced force, as a part of weight plus largest normal force; torque: times the object's half
            diagonal. The object settles until it moves less than half a percent of the deepest contact.
        centre: of mass [parts of the object's diagonal]; displacements are kept in single precision.
        place: how far the contact point on the link may be from the contact frame, beyond the depth [m]; the smooth
            surfaces of the contact model leave the flat faces of the meshes by less.
        correction: one correction of the joints moves a pad by this much [m]: the tightest contact's normal force
            exceeds the wanted one by no more than this times its stiffness.
        nominal: the force that would do without reserve, relative: the same problem solved again, but for the stiffness
            of contacts, of which a plan keeps the diagonal.
        reserve: what the planned normal forces may leave unbalanced in the reserve's worst world, as a part of weight
            plus largest normal force; they are judged to a thousandth, and share what is heavier as springs do.
        pressure_sum: cell pressures times areas against the normal force, relative.
        joints: joint limits, and joints of held states against the trajectory [rad, m].
        object_place, object_turn: pose of the object in the trajectory against the held states, and in the end against
            the goal, where the task tolerates less [m, rad]; the object gives way a little under its weight.
        resolution: distances are measured at least this finely along the trajectory where bodies are close [m].
        resting: obstacles nearer to the object than this at the beginning carry it [m].
    """

    balance: float = 0.02
    centre: float = 1e-4
    place: float = 5e-4
    correction: float = 2e-4
    nominal: float = 1e-2
    reserve: float = 5e-3
    pressure_sum: float = 0.02
    joints: float = 1e-6
    object_place: float = 2e-3
    object_turn: float = 0.035
    resolution: float = 4e-3
    resting: float = 2e-3
