"""Why it holds: grasp matrices, the elastic share of the load, the smallest sufficient forces, and how good a grasp is.

Takes arrays, never robots. The door for most is :func:`solve_forces`; loops keep a :class:`ForceSolver`.
"""

from pliant.grasp.certificate import Certificate
from pliant.grasp.cones import Family, Objective
from pliant.grasp.contacts import Contact, ContactModel, ContactSet, contact_rotations
from pliant.grasp.forces import ForceSolver, solve_forces
from pliant.grasp.inverse import (
    contact_compliance,
    contact_stiffness,
    elastic_energy,
    forces_for,
    hand_command,
    internal_basis,
    internal_projector,
    torques_for,
    weighted_right_inverse,
)
from pliant.grasp.matrix import (
    MatrixReport,
    contact_twists,
    cross_matrix,
    full_grasp_matrix,
    grasp_matrix,
    hand_jacobian,
    hand_report,
    joint_jacobian,
    object_report,
    reference_length,
    wrench_about,
)
from pliant.grasp.results import Blame, ForceResult, ForceStatus, Margins, Reaction

__all__ = [
    "Blame",
    "Certificate",
    "Contact",
    "ContactModel",
    "ContactSet",
    "Family",
    "ForceResult",
    "ForceSolver",
    "ForceStatus",
    "Margins",
    "MatrixReport",
    "Objective",
    "Reaction",
    "contact_compliance",
    "contact_rotations",
    "contact_stiffness",
    "contact_twists",
    "cross_matrix",
    "elastic_energy",
    "forces_for",
    "full_grasp_matrix",
    "grasp_matrix",
    "hand_command",
    "hand_jacobian",
    "hand_report",
    "internal_basis",
    "internal_projector",
    "joint_jacobian",
    "object_report",
    "reference_length",
    "solve_forces",
    "torques_for",
    "weighted_right_inverse",
    "wrench_about",
]
