"""Elastic constants, density, friction and the limits a thing may feel: validated once, then trusted."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
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
            *_above_zero("young", self.young, "Young's modulus [Pa]; rubber 1e6, foam 1e4 to 1e5"),
            *_poisson_problems(self.poisson),
            *_above_zero("density", self.density, "[kg/m^3]; water 1000"),
        ]
        if not is_finite(self.friction) or self.friction < 0:
            problems.append(
                Problem("friction", f"{self.friction!r}", "must be 0 or more; rubber on most things 0.5 to 1")
            )
        if problems:
            raise MaterialError("material", problems)
        _to_floats(self)

    @property
    def shear(self) -> float:
        """Shear modulus G = E / (2 (1 + nu)) [Pa]."""
        return self.young / (2.0 * (1.0 + self.poisson))

    @property
    def bulk(self) -> float:
        """Bulk modulus K = E / (3 (1 - 2 nu)) [Pa]."""
        return self.young / (3.0 * (1.0 - 2.0 * self.poisson))

    @property
    def plane_modulus(self) -> float:
        """Plane strain modulus E / (1 - nu^2) [Pa]; its inverse adds up over two bodies in contact."""
        return self.young / (1.0 - self.poisson**2)

    def notes(self) -> tuple[str, ...]:
        """What is legal but unusual, in words; empty for an everyday material."""
        said = []
        if self.young < 1e3:
            said.append(f"young {self.young:g} Pa is softer than any gel: is it in MPa or kPa?")
        if self.young > 1e11:
            said.append(f"young {self.young:g} Pa is stiffer than most metals: it hardly deforms in a hand")
        if self.poisson > 0.495:
            said.append(f"poisson {self.poisson:g} is almost incompressible: elastic models lock; 0.49 behaves alike")
        if self.density is not None and not 5.0 <= self.density <= 25_000.0:
            said.append(f"density {self.density:g} kg/m3 is unlike any solid: is it in g/cm3?")
        if self.friction == 0:
            said.append("friction 0: nothing can be held by friction")
        if self.friction > 2:
            said.append(f"friction {self.friction:g} is sticky beyond most rubbers")
        return tuple(said)


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
            *_above_zero("force", self.force, "largest contact force [N], or left out"),
            *_above_zero("pressure", self.pressure, "largest contact pressure [Pa], or left out"),
        ]
        if problems:
            raise MaterialError("limits", problems)
        _to_floats(self)

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


def _above_zero(name: str, value: Any, meaning: str) -> list[Problem]:
    if value is None and name != "young":
        return []
    if is_finite(value) and 0 < value <= MOST.get(name, math.inf):
        return []
    above = f" and at most {MOST[name]:g}" if name in MOST and is_finite(value) and value > 0 else ""
    return [Problem(name, f"{value!r}", f"must be a finite number above 0{above}: {meaning}")]


def is_finite(value: Any) -> bool:
    """A finite real number; numpy's scalars count, truth values and text do not."""
    try:
        return not isinstance(value, bool | str | bytes) and math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def _to_floats(item: Any) -> None:
    for entry in fields(item):
        value = getattr(item, entry.name)
        if value is not None:
            object.__setattr__(item, entry.name, float(value))
