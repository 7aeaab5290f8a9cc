"""Coordinate solvers: from wanted twists to joint speeds, behind one interface, chosen by name."""

from pliant.errors import OptionError, unknown_name
from pliant.motion.solvers.descent import DescentSolver
from pliant.motion.solvers.pinv import ExclusionSolver, PinvSolver
from pliant.motion.solvers.problem import CoordinateSolver
from pliant.motion.solvers.qp import QpSolver

SOLVERS = {"pinv": PinvSolver, "exclusion": ExclusionSolver, "descent": DescentSolver, "qp": QpSolver}


def make_solver(name: str) -> CoordinateSolver:
    """A solver with its default settings: ``pinv``, ``exclusion``, ``descent`` or ``qp``."""
    if name not in SOLVERS:
        raise OptionError("solver", unknown_name("solver", name, SOLVERS))
    solver: CoordinateSolver = SOLVERS[name]()
    return solver
