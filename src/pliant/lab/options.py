"""How the lab computes: steps, contact and servo constants, with the reasons for them.   (theory 10)"""

from __future__ import annotations

from dataclasses import dataclass

from pliant.constants import GRAVITY
from pliant.errors import OptionError, Problem


@dataclass(frozen=True)
class LabOptions:
    """Numbers of the simulation; the defaults are those that were found to work.

    Args:
        step: simulation step [s]; at 4 ms soft bodies are still within 1 % of 2 ms.
        gravity: [m/s^2].
        friction_stiffness: how much stiffer friction is than normal contact (impratio); 20, 100 to stop creep.
        damping: of soft material [s]: viscous stress over elastic stress per strain rate.
        yielding: part of what they would have to push that contacts leave; the smaller, the less pads sink into the
            object beyond its own softness, and the more solver steps it takes.
        skin: radius of a soft body's surface [m]; contact starts that far outside the mesh.
        nodes: largest number of nodes of a soft body.
        servo_frequency: natural frequency given to a joint and its drive [rad/s]; sets the drive's own inertia.
        servo_ratio: damping ratio of the servos, above 1: they creep up and never swing.
        iterations: of the solvers of contact and soft bodies, at most; with 200 rubber rings were left unsolved.
    """

    step: float = 0.002
    gravity: tuple[float, float, float] = (0.0, 0.0, -GRAVITY)
    friction_stiffness: float = 20.0
    damping: float = 0.002
    yielding: float = 0.01
    skin: float = 0.0003
    nodes: int = 260
    servo_frequency: float = 100.0
    servo_ratio: float = 1.5
    iterations: int = 1000

    def __post_init__(self) -> None:
        ranges = {
            "step": (1e-5, 0.005, " [s]"),
            "nodes": (20, 2000, ""),
            "skin": (1e-5, 0.005, " [m]"),
            "yielding": (1e-4, 0.1, ""),
            "damping": (0.0, 1.0, " [s]"),
            "servo_frequency": (1.0, 1000.0, " [rad/s]"),
            "servo_ratio": (0.1, 10.0, ""),
            "friction_stiffness": (1.0, 1000.0, ""),
            "iterations": (1, 10_000, ""),
        }
        problems = [
            Problem(name, f"{getattr(self, name)!r}", f"{low:g} to {high:g}{unit}")
            for name, (low, high, unit) in ranges.items()
            if not low <= getattr(self, name) <= high
        ]
        if problems:
            raise OptionError("lab", problems)

    @property
    def solref(self) -> str:
        """Time constant and damping ratio of contacts: one step, critically damped."""
        return f"{max(self.step, 0.002):g} 1"

    @property
    def solimp(self) -> str:
        """Impedance of contacts at the surface and 0.1 mm deep."""
        return f"{1.0 - self.yielding:g} {1.0 - 0.1 * self.yielding:g} .0001"
