"""Elastic constants, density, friction and the limits of a contact: validated once, then trusted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from pliant.errors import MaterialError, Problem

# Well beyond anything there is: diamond has 1.2e12 Pa, osmium 2.3e4 kg/m3.
MOST = {"young": 1e14, "density": 1e6}


@dataclass(frozen=True)
class Material:
    """A linear elastic, isotropic material and its friction with the pads.   (theory 4)

    Args:
        young: Young's modulus E [Pa], above 0.
        poisson: Poisson's ratio nu, between 0 and 0.5, both excluded.
        density: [kg/m^3], above 0; absent where a body's mass is given instead.
        friction: Coulomb coefficient against the pads, 0 or more.
    """

    # Read by pydantic where a document holds a material; a plain dict, so nothing is imported for it.
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "allow_inf_nan": False}

    young: float
    poisson: float
    density: float | None = None
    friction: float = 0.5

    def __post_init__(self) -> None:
        problems = [
            *above_zero("young", self.young, "Young's modulus [Pa]; rubber 1e6, foam 1e4 to 1e5"),
            *_poisson_problems(self.poisson),
            *above_zero("density", self.density, "[kg/m^3]; water 1000", optional=True),
            *zero_or_more("friction", self.friction, "rubber on most materials 0.5 to 1"),
        ]
        if problems:
            raise MaterialError("material", problems)
        set_floats(self, "young", "poisson", "density", "friction")

    def notes(self) -> tuple[str, ...]:
        """What is legal but unusual, in words; empty for an everyday material."""
        notes = []
        if self.young < 1e3:
            notes.append(f"young {self.young:g} Pa is softer than any gel: is it in MPa or kPa?")
        if self.young > 1e11:
            notes.append(f"young {self.young:g} Pa is stiffer than most metals: it hardly deforms in a hand")
        if self.poisson > 0.495:
            notes.append(f"poisson {self.poisson:g} is almost incompressible: elastic models lock; 0.49 behaves alike")
        if self.density is not None and not 5.0 <= self.density <= 25_000.0:
            notes.append(f"density {self.density:g} kg/m3 is unlike any solid: is it in g/cm3?")
        if self.friction == 0:
            notes.append("friction 0: nothing can be held by friction")
        if self.friction > 2:
            notes.append(f"friction {self.friction:g} is sticky beyond most rubbers")
        return tuple(notes)


@dataclass(frozen=True)
class ContactLimits:
    """The most that one contact region may do to the object; None is no limit.

    Args:
        force: largest resultant [N], above 0.
        pressure: largest local pressure [Pa], above 0.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "allow_inf_nan": False}

    force: float | None = None
    pressure: float | None = None

    def __post_init__(self) -> None:
        problems = [
            *above_zero("force", self.force, "largest contact force [N]", optional=True),
            *above_zero("pressure", self.pressure, "largest contact pressure [Pa]", optional=True),
        ]
        if problems:
            raise MaterialError("limits", problems)
        set_floats(self, "force", "pressure")

    @property
    def largest_force(self) -> float:
        """The force limit, infinite where none is given [N]."""
        return math.inf if self.force is None else self.force


def _poisson_problems(value: Any) -> list[Problem]:
    if is_finite(value) and 0.0 < value < 0.5:
        return []
    allowed = "must lie between 0 and 0.5, both excluded"
    if is_finite(value) and value >= 0.5:
        allowed += "; 0.5 is incompressible, which a finite stiffness cannot express: use 0.49"
    elif is_finite(value) and value <= 0.0:
        allowed += "; cork is close to 0: use 0.01"
    return [Problem("poisson", repr(value), allowed)]


def above_zero(name: str, value: Any, meaning: str, *, optional: bool = False) -> list[Problem]:
    """The problem with a number that must be above 0 (and below what any material has), if there is one."""
    most = MOST.get(name, math.inf)
    if (value is None and optional) or (is_finite(value) and 0 < value <= most):
        return []
    above = f" and at most {most:g}" if most < math.inf and is_finite(value) and value > 0 else ""
    absent = ", or left out" if optional else ""
    return [Problem(name, f"{value!r}", f"must be a finite number above 0{above}: {meaning}{absent}")]


def zero_or_more(name: str, value: Any, meaning: str) -> list[Problem]:
    """The problem with a number that must be 0 or more, if there is one."""
    if is_finite(value) and value >= 0:
        return []
    return [Problem(name, f"{value!r}", f"must be a finite number, 0 or more: {meaning}")]


def is_finite(value: Any) -> bool:
    """A finite real number; numpy's scalars count, truth values and text do not."""
    try:
        return not isinstance(value, bool | str | bytes) and math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def set_floats(item: Any, *names: str) -> None:
    """Replace the named fields of a frozen dataclass by Python's floats; None stays."""
    for name in names:
        value = getattr(item, name)
        if value is not None:
            object.__setattr__(item, name, float(value))
