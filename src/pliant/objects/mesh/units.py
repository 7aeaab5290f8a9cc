"""The unit of a mesh file: files do not say it, so sizes are compared with what hands hold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.arrays import Floats
from pliant.errors import Problem
from pliant.objects.mesh.mesh import Mesh

LARGEST = 3.0  # [m] beyond this an object that a hand should hold is in other units
SMALLEST = 5e-4  # [m]
THICKEST = 0.5  # [m] no hand goes round an object that is nowhere thinner
WIDE, TINY = 0.2, 0.005  # [m] thinnest beyond the one, or largest below the other: legal but worth a note
HELD = (0.01, 0.8)  # [m] largest extent of what hands usually hold ..
HELD_THICKNESS = 0.25  # [m] .. and how thick it is at its thinnest, at most
USUAL = 0.1  # [m] a candidate is the likelier, the closer it comes to this
IN_A_TASK = "in a task file with 'scale: {0:g}'"


class LengthUnit(NamedTuple):
    """A unit of length by its short name.

    Attributes:
        name: in words, plural.
        factor: from it to metres.
    """

    name: str
    factor: float


UNITS = {
    "m": LengthUnit("metres", 1.0),
    "cm": LengthUnit("centimetres", 0.01),
    "mm": LengthUnit("millimetres", 0.001),
    "in": LengthUnit("inches", 0.0254),
}


def extents_of(mesh: Mesh) -> Floats:
    """Size of the box around what the faces use (of a cloud: around all points), largest side first."""
    points = mesh.corners.reshape(-1, 3) if len(mesh.faces) else mesh.vertices
    return np.sort(np.ptp(points, axis=0))[::-1]


def likely_units(extents: Floats) -> list[str]:
    """Units other than metres in which something of these extents is what hands hold, the likeliest first."""
    found = []
    for key, unit in UNITS.items():
        large, thin = unit.factor * extents[0], unit.factor * extents[2]
        if key != "m" and HELD[0] <= large < HELD[1] and thin <= HELD_THICKNESS:
            found.append((abs(np.log(large / USUAL)), key))
    return [key for _, key in sorted(found)]


def size_text(extents: Floats) -> str:
    """Extents [m] for a message."""
    return " x ".join(f"{1e3 * extent:.3g}" for extent in extents) + " mm"


def wrong_size(extents: Floats, smallest: float, largest: float, remedy: str) -> Problem | None:
    """The problem of a size that cannot be meant in metres, with every unit in which it could be.

    Args:
        extents: largest first [m].
        smallest, largest: limits of the largest extent [m].
        remedy: where and how a mesh is scaled, with {0:g} for the factor.
    """
    large, thin = float(extents[0]), float(extents[2])
    if 0.0 < large < smallest:
        scale = f"1000, {remedy.format(1000.0)} ({1e3 * large:.3g} m then)"
        allowed = f"at least {smallest:g} m: its coordinates are almost surely in a larger unit; scale by {scale}"
        return Problem("size", f"{large:.4g} m across", allowed)
    if large > largest:
        what, limit = f"{large:.4g} m across", f"at most {largest:g} m"
    elif thin > THICKEST and largest <= LARGEST:  # not so of obstacles and links of robots
        what, limit = f"{thin:.4g} m across at its thinnest", f"no hand holds more than {THICKEST:g} m"
    else:
        return None
    units = likely_units(extents)
    if not units:
        return Problem("size", what, f"{limit}; in no usual unit is it what hands hold")
    if len(units) == 1:
        unit = UNITS[units[0]]
        words = (
            f"{unit.name}; scale by {unit.factor:g}, {remedy.format(unit.factor)} ({unit.factor * large:.3g} m then)"
        )
        return Problem("size", what, f"{limit}: its coordinates are almost surely {words}")
    choices = [
        f"{UNITS[key].name} ({size_text(UNITS[key].factor * extents)} then, {remedy.format(UNITS[key].factor)})"
        for key in units
    ]
    return Problem("size", what, f"{limit}: its coordinates may be {', or '.join(choices)}")


def size_notes(extents: Floats) -> list[str]:
    """What is worth a second look of a size that can be meant."""
    if extents[0] < TINY:
        return [f"is only {1e3 * extents[0]:.3g} mm across: check the units"]
    if extents[2] <= WIDE:
        return []
    sizes = [f"{size_text(UNITS[key].factor * extents)} if it is in {UNITS[key].name}" for key in likely_units(extents)]
    note = f"is {extents[2]:.3g} m across at its thinnest, more than most hands span: check the units"
    return [f"{note} ({', '.join(sizes)})" if sizes else note]
