"""The planner: from a task to a grasp that holds with the smallest forces.

Tasks and results are plain data and load at once; the search and the checks, with the contact and force solvers that
they need, load when they are first used, so that reading a plan does not wait for them.
"""

from pliant.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
