"""Slip as the pads measure it: centres of pressure that wander over their pads beyond the plan.   (theory 9)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Bools, Floats
from pliant.planner import PlannedForces
from pliant.tactile.tracking import ContactEstimate


def measured_forces(forces: Floats) -> Floats:
    """Forces, 0 where no array measures."""
    return np.where(forces > 0.0, forces, 0.0)


@dataclass(frozen=True)
class Slip:
    """How far things have gone since the grasp was made.

    Attributes:
        common_shift: what every contact has gone beyond the plan in the direction of their mean, but for what was
            forgiven [m]. A single centre of pressure wanders by millimetres when a pad rolls, above all along a
            straight wall: that is no slip.
        slide: what every contact has gone along the load, all told [m].
        jump: what every contact has gone since the frame before in the direction of their mean [m].
    """

    common_shift: float
    slide: float
    jump: float = 0.0


class SlipSense:
    """Remembers where the contacts were when the grasp was made.

    Args:
        sensed: which contacts have a tactile array.
        touch: force from which on a centre of pressure is believed [N].
    """

    def __init__(self, sensed: Bools, touch: float) -> None:
        self.sensed, self.touch = sensed, touch
        self._at_grasp: tuple[Floats, Floats] | None = None
        self._moved = self._forgiven = np.zeros((len(sensed), 3))
        self._before: Floats | None = None

    def forgive(self) -> None:
        """What the contacts have gone by the last frame counts no more as a common shift."""
        self._forgiven = self._moved

    def update(self, estimate: ContactEstimate, moment: PlannedForces, axes: Floats | None) -> Slip | None:
        """What a new frame shows; None where there is none.

        Args:
            axes: n x 3 x 3, contact axes in the world; None where the joints are not known.
        """
        if self._at_grasp is None:
            if np.isfinite(estimate.points[self.sensed]).all():
                self._at_grasp = estimate.places.copy(), moment.points.copy()
            return None
        if not estimate.fresh:
            return None
        # As measured: the filter shows a slip some frames late, and together all contacts hardly err.
        places = np.where(np.isfinite(estimate.points), estimate.points, estimate.places)
        moved = (places - self._at_grasp[0]) - (moment.points - self._at_grasp[1])
        sure = self.sensed & (measured_forces(estimate.measured) > self.touch)
        before, self._before = self._before, None
        if axes is None or not sure.any() or not sure[self.sensed].all():
            return Slip(0.0, 0.0)
        self._moved = self._before = moved
        # Directions come from the plan: world axes times the plan's axes in the links is how the links stand.
        links = np.einsum("nij,nkj->nik", axes, moment.axes)[sure]
        all_told = np.einsum("nij,nj->ni", links, moved[sure])
        lately = np.einsum("nij,nj->ni", links, (moved - self._forgiven)[sure])
        now = np.einsum("nij,nj->ni", links, (moved - (moved if before is None else before))[sure])
        shift, jump = (_together(way, way.mean(axis=0)) for way in (lately, now))
        return Slip(shift, _together(all_told, moment.load[:3]), jump)


def _together(moved: Floats, direction: Floats) -> float:
    """How far all of them have gone in a direction [m]; 0 where one has not, or where there is no direction."""
    size = float(np.linalg.norm(direction))
    return max(float((moved @ direction).min()) / size, 0.0) if size > 0.0 else 0.0
