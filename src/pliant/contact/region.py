"""The one contact type, and the answer of a contact problem."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats, Ints


class ContactStatus(StrEnum):
    """What became of the object."""

    SETTLED = "settled"
    """Contact forces, friction and load balance."""
    NO_CONTACT = "no_contact"
    """Nothing touches."""
    PUSHED_AWAY = "pushed_away"
    """The pads push the object out; no balance was found."""
    SLIPS = "slips"
    """Normal forces balance, but friction cannot carry the rest."""


@dataclass(frozen=True, eq=False)
class ContactRegion:
    """What one patch of one pad touches. Everything in the world frame unless the name says otherwise.

    Args:
        pad: name of the pad.
        patch: number of the patch on that pad, deepest first.
        T_world_contact: contact frame: origin at the centre of pressure, z along the object's *inward* normal.
        normal_force: resultant along z, >= 0 [N].
        tangential_force: friction on the object along the frame's x and y [N].
        radius: contact radius sqrt(2.5 <r^2>) of the pressure [m].
        half_axes: the same along the frame's x and y, sqrt(5 <x^2>) [m].
        peak_pressure: largest pressure [Pa].
        area: area of the cells in contact [m^2].
        depth: penetration of the undeformed surfaces at the deepest place [m].
        stiffness: derivative of the contact force with respect to the pad's displacement, other contacts and the
            object's rigid motion held: 3 x 3 diagonal matrix, tangential, tangential, normal [N/m].
        p_world_cells: k x 3 centres of the loaded cells [m].
        pressures: k pressures there [Pa].
        depths: k penetrations of the undeformed surfaces there [m].
        cell_area: area of a cell in the tangent plane [m^2].
        on_pad: share of the force that lies on the pad's own faces, 0 to 1.
        warnings: what is rough about this region.
    """

    pad: str
    patch: int
    T_world_contact: pin.SE3
    normal_force: float
    tangential_force: Floats
    radius: float
    half_axes: Floats
    peak_pressure: float
    area: float
    depth: float
    stiffness: Floats
    p_world_cells: Floats
    pressures: Floats
    depths: Floats
    cell_area: float
    on_pad: float = 1.0
    warnings: tuple[str, ...] = ()

    @property
    def centre(self) -> Floats:
        """Centre of pressure [m]."""
        return np.asarray(self.T_world_contact.translation)

    @property
    def normal(self) -> Floats:
        """Inward normal of the object."""
        return np.asarray(self.T_world_contact.rotation[:, 2])

    @property
    def force(self) -> Floats:
        """Force on the object [N]."""
        return np.asarray(
            self.T_world_contact.rotation
            @ np.array([self.tangential_force[0], self.tangential_force[1], self.normal_force])
        )


@dataclass(frozen=True, eq=False)
class SurfaceLoad:
    """The force of a region as the finite elements carry it, in the object's frame.

    Args:
        corners: k corners of the finite-element surface.
        forces: k x 3 forces on them [N].
        radii: half axes over which they are spread; zero where every cell was placed by itself [m].
    """

    corners: Ints
    forces: Floats
    radii: Floats


@dataclass(frozen=True, eq=False)
class ContactState:
    """The answer of ``solve_contacts`` and ``settle``.

    Args:
        status: what became of the object.
        regions: every region that carries force.
        T_world_object: the object's pose, rigid motion included.
        motion: rigid motion from the pose asked for: translation [m], rotation vector [rad], world frame.
        residual: force and torque about the object's origin left unbalanced, world frame [N, N m].
        loads: the regions' forces on the finite-element surface, one for each region; empty for a half-space.
        warnings: what is rough or remarkable about the whole.
    """

    status: ContactStatus
    regions: tuple[ContactRegion, ...]
    T_world_object: pin.SE3
    motion: Floats
    residual: Floats
    loads: tuple[SurfaceLoad, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def largest_force(self) -> float:
        """Largest normal force of a region [N]."""
        return max((region.normal_force for region in self.regions), default=0.0)
