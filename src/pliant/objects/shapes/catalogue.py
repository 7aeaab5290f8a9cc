"""The shapes that ship, by name: what they are, their parameters, their exact volumes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import gamma, pi, sqrt
from types import MappingProxyType
from typing import Any

from pliant.errors import OptionError, Problem, unknown_name
from pliant.objects.material import is_finite
from pliant.objects.mesh.mesh import Mesh
from pliant.objects.shapes import primitives as shapes


@dataclass(frozen=True)
class Shape:
    """A shape that ships.

    Args:
        name: as in a task file.
        make: function that makes the mesh.
        summary: one line.
        parameters: what each parameter means.
        volume: exact volume from the same parameters (without ``edge``) [m^3].
    """

    name: str
    make: Callable[..., Mesh]
    summary: str
    parameters: Mapping[str, str]
    volume: Callable[..., float]

    @property
    def defaults(self) -> dict[str, Any]:
        """Default value of every parameter."""
        return {name: entry.default for name, entry in inspect.signature(self.make).parameters.items()}

    def exact_volume(self, **parameters: Any) -> float:
        """Volume of the true shape, which the mesh approaches with the square of its edge length [m^3]."""
        known = {**self.defaults, **parameters}
        known.pop("edge", None)
        return float(self.volume(**known))


def make_shape(name: str, **parameters: Any) -> Mesh:
    """The mesh of a shape that ships, by name; parameters left out have their defaults.

    Raises ``OptionError`` naming the nearest shape or parameter where one is mistyped.
    """
    shape = _shape_named(name)
    problems = [
        unknown_name("parameter", wrong, shape.defaults, where=wrong)
        for wrong in parameters
        if wrong not in shape.defaults
    ]
    for key, value in parameters.items():
        if key in shape.defaults and not _fits(value, shape.defaults[key]):
            count = len(shape.defaults[key]) if isinstance(shape.defaults[key], tuple) else 1
            allowed = f"must be {'a number' if count == 1 else f'{count} numbers'}: {shape.parameters[key]}"
            problems.append(Problem(key, f"{value!r}"[:60], allowed))
    if problems:
        raise OptionError(f"shape {name}", problems)
    return shape.make(**parameters)


def parse_shape(text: str) -> Mesh:
    """A shape in one word: ``torus``, ``sphere:0.03``, ``torus:major=0.035,minor=0.015``, ``box:size=0.1x0.05x0.02``.

    A value without a name belongs to the shape's first parameter; ``x`` separates the lengths of a size [m].
    """
    name, _, rest = text.partition(":")
    first = next(iter(_shape_named(name).defaults))
    parameters: dict[str, Any] = {}
    for i, part in enumerate(filter(None, rest.split(","))):
        key, equals, value = part.partition("=")
        if not equals and i > 0:
            raise OptionError(f"shape {text}", Problem(part, "a value without a name", "write parameter=value"))
        key, value = (key, value) if equals else (first, part)
        try:
            numbers = [float(x) for x in value.split("x")]
        except ValueError:
            raise OptionError(f"shape {text}", Problem(key, f"'{value}' is not a number", "metres, as 0.035")) from None
        parameters[key.strip()] = numbers if len(numbers) > 1 else numbers[0]
    return make_shape(name, **parameters)


def _shape_named(name: str) -> Shape:
    if name not in SHAPES:
        raise OptionError("shape", unknown_name("shape", str(name), SHAPES))
    return SHAPES[name]


def _fits(value: Any, default: Any) -> bool:
    """Whether a value has the form of a parameter's default: one number, or as many as it has."""
    if isinstance(default, tuple):
        return isinstance(value, list | tuple) and len(value) == len(default) and all(_fits(x, 0.0) for x in value)
    if value is None:
        return default is None
    return is_finite(value) and abs(float(value)) < 1e300


def _rod_volume(radius: float, height: float, rounding: float) -> float:
    # The two rims: a straight core of radius - rounding, and what the quarter circles add around it (Pappus).
    c, q = radius - rounding, rounding
    return pi * radius**2 * (height - 2 * q) + 2 * _quarter_rim(c, q)


def _quarter_rim(core: float, q: float) -> float:
    """Volume under a quarter circle of radius q that begins at radius ``core``, turned about the axis."""
    return pi * (core**2 * q + core * pi * q**2 / 2 + 2 * q**3 / 3)


def _bottle_volume(
    radius: float, height: float, neck_radius: float, neck_height: float, shoulder_height: float, rounding: float
) -> float:
    mean, half = 0.5 * (radius + neck_radius), 0.5 * (radius - neck_radius)
    straight = height - neck_height - shoulder_height - rounding
    return (
        _quarter_rim(radius - rounding, rounding)
        + pi * radius**2 * straight
        + pi * shoulder_height * (mean**2 + half**2 / 2)
        + pi * neck_radius**2 * neck_height
    )


def _cup_volume(radius: float, height: float, wall: float, base_radius: float | None, base: float | None) -> float:
    foot = radius if base_radius is None else base_radius
    floor = wall if base is None else base
    at_floor = foot + (radius - foot) * floor / height
    return _cone(foot, radius, height) - _cone(at_floor - wall, radius - wall, height - floor)


def _cone(low: float, high: float, height: float) -> float:
    return pi * height * (low**2 + low * high + high**2) / 3


def _banana_volume(length: float, radius: float, bend: float, taper: float) -> float:
    # Pappus: the cross-sections' centroids lie on the centre line, so the bend does not change the volume.
    power = 2 * taper + 1
    return pi * radius**2 * length / 2 * sqrt(pi) * gamma((power + 1) / 2) / gamma(power / 2 + 1)


def _shape(make: Callable[..., Mesh], summary: str, volume: Callable[..., float], **parameters: str) -> Shape:
    edge = "edge length of the triangles aimed at [m]; a fortieth of the size where absent"
    return Shape(make.__name__, make, summary, {**parameters, "edge": edge}, volume)


_ROUNDING = "radius of the two edges [m], 0 for sharp ones"
_SHAPES = (
    _shape(
        shapes.torus,
        "a ring about z, centred",
        lambda major, minor: 2 * pi**2 * major * minor**2,
        major="radius of the ring's centre line [m]",
        minor="radius of its cross-section [m]",
    ),
    _shape(shapes.sphere, "a ball, centred", lambda radius: 4 / 3 * pi * radius**3, radius="[m]"),
    _shape(shapes.box, "a cuboid, centred", lambda size: size[0] * size[1] * size[2], size="lengths along x, y, z [m]"),
    _shape(
        shapes.cylinder,
        "a round rod along z, centred",
        _rod_volume,
        radius="[m]",
        height="along z [m]",
        rounding=_ROUNDING,
    ),
    _shape(
        shapes.disc,
        "a round plate across z, centred",
        lambda radius, thickness, rounding: _rod_volume(radius, thickness, rounding),
        radius="[m]",
        thickness="along z [m]",
        rounding=_ROUNDING,
    ),
    _shape(
        shapes.tube,
        "a pipe along z, open at both ends, centred",
        lambda outer, inner, height: pi * (outer**2 - inner**2) * height,
        outer="radius [m]",
        inner="radius [m]",
        height="along z [m]",
    ),
    _shape(
        shapes.bottle,
        "a closed bottle about z, standing on z = 0",
        _bottle_volume,
        radius="of the body [m]",
        height="[m]",
        neck_radius="[m]",
        neck_height="of the straight neck [m]",
        shoulder_height="between body and neck [m]",
        rounding="of the heel [m]",
    ),
    _shape(
        shapes.cup,
        "an open cup about z, standing on z = 0: the wall is the solid",
        _cup_volume,
        radius="outside at the rim [m]",
        height="[m]",
        wall="thickness along r [m]",
        base_radius="outside at the foot; the rim's where absent [m]",
        base="thickness of the bottom; the wall's where absent [m]",
    ),
    _shape(
        shapes.banana,
        "a bent fruit in the x-z plane, thin towards both ends, centred",
        _banana_volume,
        length="of the centre line [m]",
        radius="of the thickest cross-section [m]",
        bend="radius of the centre line [m]",
        taper="1 blunt to 2 pointed",
    ),
)
SHAPES: Mapping[str, Shape] = MappingProxyType({shape.name: shape for shape in _SHAPES})
