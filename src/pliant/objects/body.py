"""The object to be held: surface, material, mass, and what is inside."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from numpy.typing import ArrayLike

from pliant.arrays import Floats
from pliant.errors import LiquidError, MaterialError, Problem
from pliant.objects.liquid import Liquid, LiquidState, fill
from pliant.objects.mass import MassProperties, combine, mass_properties, mesh_volume, shell_mass_properties
from pliant.objects.material import ContactLimits, Material, above_zero
from pliant.objects.mesh.mesh import Mesh


@dataclass(frozen=True, eq=False)
class Body:
    """One object. Make it with ``Body.from_mesh``.   (theory 4)

    Args:
        mesh: closed surface in the object's own axes [m]; of a vessel: its thin wall, which also holds the liquid.
        material: elastic constants and friction; of a vessel: the wall's.
        dry_mass: mass without the liquid [kg]; 0 for a vessel whose wall's weight is neglected.
        liquid: what is inside; None for a solid.
        limits: the most that a contact may do to it.
        rest_volume: enclosed volume when nothing touches it [m^3].
    """

    mesh: Mesh
    material: Material
    dry_mass: float
    liquid: Liquid | None
    limits: ContactLimits = field(default_factory=ContactLimits)
    rest_volume: float = 0.0

    @classmethod
    def from_mesh(
        cls,
        mesh: Mesh,
        material: Material,
        *,
        mass: float | None = None,
        liquid: Liquid | None = None,
        limits: ContactLimits | None = None,
    ) -> Body:
        """A body from its surface; mass or density, exactly one of them.

        A solid weighs ``mass``, or the material's density times the volume. A vessel's wall weighs ``mass``, or density
        times wall thickness times surface, or nothing if neither is given.

        Args:
            mesh: closed, faces outwards.
            material: its ``density`` stays empty where ``mass`` is given.
            mass: of the solid or of the empty vessel [kg].
            liquid: makes it a vessel.
            limits: none where absent.
        """
        name = mesh.name or "body"
        volume = mesh_volume(mesh)
        if problems := above_zero("mass", mass, "[kg]", optional=True):
            raise MaterialError(name, problems)
        if mass is not None and material.density is not None:
            both = f"both mass {mass:g} kg and density {material.density:g} kg/m3 are given"
            raise MaterialError(name, Problem("mass", both, "give one"))
        if liquid is None:
            if mass is None and material.density is None:
                raise MaterialError(name, Problem("mass", "neither mass nor density is given", "give one of them"))
            dry = float(mass) if mass is not None else float(material.density or 0.0) * volume
        else:
            dry = _wall_mass(name, mesh, material, mass, liquid)
            if dry == 0.0 and liquid.mass == 0.0:
                empty = Problem("liquid.volume", "an empty vessel without weight", "give a wall or a mass")
                raise LiquidError(name, empty)
            fill(mesh, liquid.volume)  # an overflow is found now, not in the middle of a plan
        return cls(mesh, material, dry, liquid, limits or ContactLimits(), volume)

    @property
    def kind(self) -> Literal["solid", "vessel"]:
        """``solid`` or ``vessel``."""
        return "solid" if self.liquid is None else "vessel"

    @property
    def mass(self) -> float:
        """Total mass, liquid included [kg]."""
        return self.dry_mass + (self.liquid.mass if self.liquid is not None else 0.0)

    @cached_property
    def dry(self) -> MassProperties | None:
        """Mass properties without the liquid; None where the wall's weight is neglected."""
        if self.liquid is None:
            return mass_properties(self.mesh, mass=self.dry_mass)
        return shell_mass_properties(self.mesh, mass=self.dry_mass) if self.dry_mass > 0 else None

    def liquid_at(self, up: ArrayLike = (0.0, 0.0, 1.0)) -> LiquidState | None:
        """The liquid at rest for an orientation; None for a solid. ``up`` is against gravity, in the object's axes."""
        if self.liquid is None:
            return None
        return fill(self.mesh, self.liquid.volume, up, rest_capacity=self.rest_volume)

    def mass_properties(self, up: ArrayLike = (0.0, 0.0, 1.0)) -> MassProperties:
        """Mass, centre of mass and inertia for an orientation; only a vessel's depend on it.

        The liquid's inertia is that of the liquid frozen in place: right for slow motion.

        Args:
            up: direction against gravity in the object's axes.
        """
        state = self.liquid_at(up)
        parts = [self.dry] if self.dry is not None else []
        if state is not None and self.liquid is not None and state.volume > 0:
            parts.append(state.mass_properties(self.liquid.density))
        return combine(*parts)

    def centre_of_mass(self, up: ArrayLike = (0.0, 0.0, 1.0)) -> Floats:
        """Centre of mass in the object's axes, from the origin of the mesh [m]; ``up`` as in ``mass_properties``."""
        return self.mass_properties(up).centre

    def deformed(self, vertices: ArrayLike) -> Body:
        """The same body with its surface elsewhere: mass is kept, so a squeezed solid is denser.   (theory 6.3, 6.4)

        Args:
            vertices: n x 3, displaced positions of the same vertices [m].
        """
        return replace(self, mesh=Mesh(vertices, self.mesh.faces, self.mesh.name))


def _wall_mass(name: str, mesh: Mesh, material: Material, mass: float | None, liquid: Liquid) -> float:
    if mass is not None:
        return float(mass)
    if material.density is None:
        return 0.0
    if liquid.wall is None:
        what = f"absent, but the wall's density is {material.density:g} kg/m3"
        remedy = "give the wall's thickness [m], or the empty vessel's mass, or leave the density out to neglect it"
        raise LiquidError(name, Problem("liquid.wall", what, remedy))
    return material.density * liquid.wall * mesh.area
