"""Coordinate solvers: from wanted twists to joint speeds, behind one interface, chosen by name."""

from pliant.errors import OptionError, unknown_name
from pliant.servo.solvers.descent import DescentSolver
from pliant.servo.solvers.exclusion import ExclusionSolver
from pliant.servo.solvers.pinv import PinvSolver
from pliant.servo.solvers.problem import CoordinateSolver, VelocityAnswer, VelocityProblem
from pliant.servo.solvers.qp import QpSolver

__all__ = [
    "SOLVERS",
    "CoordinateSolver",
    "DescentSolver",
    "ExclusionSolver",
    "PinvSolver",
    "QpSolver",
    "VelocityAnswer",
    "VelocityProblem",
    "make_solver",
]

SOLVERS = {"pinv": PinvSolver, "exclusion": ExclusionSolver, "descent": DescentSolver, "qp": QpSolver}


def make_solver(name: str) -> CoordinateSolver:
    """A solver with its default settings: ``pinv``, ``exclusion``, ``descent`` or ``qp``."""
    if name not in SOLVERS:
        raise OptionError("solver", unknown_name("solver", name, SOLVERS))
    solver: CoordinateSolver = SOLVERS[name]()
    return solver
