"""Why it holds: grasp matrices, the elastic share of the load, the smallest sufficient forces, and how good a grasp is.

Takes arrays, never robots. The door for most is :func:`solve_forces`; loops keep a :class:`ForceSolver`.
"""

from pliant.grasp.certificate import Certificate
from pliant.grasp.cones import Family, Objective
from pliant.grasp.contacts import Contact, ContactSet, contact_rotations
from pliant.grasp.forces import ForceSolver, SolverFailure, solve_forces
from pliant.grasp.friction import FrictionResult, balancing_friction
from pliant.grasp.hulls import edge_wrenches, epsilon_l1, epsilon_linf, epsilon_linf_bounds, wrench_volume
from pliant.grasp.inverse import (
    contact_compliance,
    contact_stiffness,
    elastic_energy,
    forces_for,
    hand_command,
    internal_basis,
    internal_projector,
    torques_for,
    total_compliance,
    weighted_right_inverse,
)
from pliant.grasp.layout import ContactModel
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
from pliant.grasp.quality import (
    MEASURES,
    Measure,
    force_closure_margin,
    grasp_quality,
    is_force_closure,
    joint_range,
)
from pliant.grasp.results import Blame, ForceResult, ForceStatus, Margins, Reaction

__all__ = [
    "MEASURES",
    "Blame",
    "Certificate",
    "Contact",
    "ContactModel",
    "ContactSet",
    "Family",
    "ForceResult",
    "ForceSolver",
    "ForceStatus",
    "FrictionResult",
    "Margins",
    "MatrixReport",
    "Measure",
    "Objective",
    "Reaction",
    "SolverFailure",
    "balancing_friction",
    "contact_compliance",
    "contact_rotations",
    "contact_stiffness",
    "contact_twists",
    "cross_matrix",
    "edge_wrenches",
    "elastic_energy",
    "epsilon_l1",
    "epsilon_linf",
    "epsilon_linf_bounds",
    "force_closure_margin",
    "forces_for",
    "full_grasp_matrix",
    "grasp_matrix",
    "grasp_quality",
    "hand_command",
    "hand_jacobian",
    "hand_report",
    "internal_basis",
    "internal_projector",
    "is_force_closure",
    "joint_jacobian",
    "joint_range",
    "object_report",
    "reference_length",
    "solve_forces",
    "torques_for",
    "total_compliance",
    "weighted_right_inverse",
    "wrench_about",
    "wrench_volume",
]
