"""How it moves: velocity Jacobians, coordinate solvers, tracking servo, point arrays, approach, inverse kinematics."""

from pliant.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
