"""Pressing until the object is held, with forces no larger than needed.   (theory 8.2-8.4)

Every finger has its own depth beyond the first touch. After each contact simulation the depths move so that the
simulated normal forces come down (or up) to the smallest sufficient ones; the object settles anew each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.contact import (
    ContactRegion,
    ContactState,
    ContactStatus,
    PreparedObject,
    deformed_vertices,
    settle,
)
from pliant.grasp import ContactSet, ForceResult, FrictionResult
from pliant.objects import Body
from pliant.planner.closing_hand import ClosingHand
from pliant.planner.depth_search import CORRECTION, DepthSearch
from pliant.planner.drives import Drives, Ranks, drives_at, ranks_at
from pliant.planner.hand_links import HandLink
from pliant.planner.reasons import Failure, Reason, Stage
from pliant.planner.wanted import WantedForces

CLOSE_ENOUGH = 1.10
"""Simulated over wanted largest force at which a grasp needs no more correction."""
AIM = 1.04
"""Each correction aims at this multiple of the wanted force: close from above."""
DISTRIBUTED = 0.1
"""Forces this near to the wanted ones are distributed as they should be; if friction does not balance then, .."""
MORE = 1.15
""".. all fingers press harder by this factor."""
STEP = 0.3
"""Where a simulation of a grasp that held just before has no answer, fingers press on by so much of their force."""
UNBALANCED = 0.02
"""What a simulation may leave unbalanced, as part of weight and largest force; torques over half the object's size."""
DEEPEST = 0.35
"""No finger presses deeper than this part of the object's size."""
SHARP = 0.4
"""Largest pressure where the task gives none, as part of E / (1 - nu^2): edges press harder.   (theory 8.13)"""
WALL_PATCH = 5e-3
"""Radius of a patch on a thin wall that is not known yet [m]."""
NEAR = 2e-3
"""Links nearer than this take part in the contact simulation [m]."""
NOT_SETTLED = {
    ContactStatus.PUSHED_AWAY: Reason.PUSHED_AWAY,
    ContactStatus.SLIPS: Reason.SLIPS,
    ContactStatus.NO_CONTACT: Reason.TOO_FEW_FINGERS,
}


class HandPose(NamedTuple):
    """Joints of the hand (the arm's do not count) and T_world_palm."""

    q: Floats
    T_world_palm: pin.SE3


@dataclass(frozen=True, eq=False)
class Held:
    """A held object.

    Args:
        q: joints (the arm's do not count).
        depths: of every finger group beyond its touch [m].
        state: the contact simulation's answer, in the world.
        links: the hand's link of every region.
        contacts: the regions as contacts in the world, with nominal friction.
        drives: what the hand's joints can do to the contacts.
        ranks: of grasp matrix and hand Jacobian.
        wanted: the smallest sufficient forces, with the task's reserves.
        friction: friction that balances the load beside the simulated normal forces, in the reserves' worst world.
        centre: centre of mass of the deformed object, world [m].
        centre_at_rest: of the undeformed one in the same pose, world [m].
        load: nominal weight about ``centre``, world.
        vertices: deformed surface in the object's frame [m].
        level: height of the liquid's surface in the world [m].
    """

    q: Floats
    depths: Floats
    state: ContactState
    links: tuple[HandLink, ...]
    contacts: ContactSet
    drives: Drives
    ranks: Ranks
    wanted: ForceResult
    friction: FrictionResult
    centre: Floats
    centre_at_rest: Floats
    load: Floats
    vertices: Floats
    level: float | None

    @property
    def normal_forces(self) -> Floats:
        """Simulated [N]."""
        return np.array([region.normal_force for region in self.state.regions])

    @property
    def largest_force(self) -> float:
        """Largest simulated normal force [N]."""
        return float(self.normal_forces.max())

    def shifted(self, q: Floats, shift: Floats, up: Floats) -> Held:
        """The same held object carried elsewhere by a pure translation: nothing else changes.

        Args:
            q: joints there.
            shift: [m].
            up: unit vector against gravity, along which the liquid's level is measured.
        """
        T = pin.SE3(np.eye(3), shift)
        regions = tuple(
            replace(region, T_world_contact=T * region.T_world_contact, p_world_cells=region.p_world_cells + shift)
            for region in self.state.regions
        )
        return replace(
            self,
            q=q,
            state=replace(self.state, regions=regions, T_world_object=T * self.state.T_world_object),
            contacts=replace(self.contacts, points=self.contacts.points + shift),
            centre=self.centre + shift,
            centre_at_rest=self.centre_at_rest + shift,
            level=None if self.level is None else self.level + float(shift @ up),
        )


class Presser:
    """Presses and judges; one for a task. What is simulated is the nominal world; it is judged with the reserves.

    Args:
        prepared: the object.
        body: its mass, limits and contents.
        hand: the hand.
        wanted: the forces that it needs; those under its weight on the earth, without reserves, by default.
        cells: grid cells along a side of each contact region.
    """

    def __init__(
        self,
        prepared: PreparedObject,
        body: Body,
        hand: ClosingHand,
        wanted: WantedForces | None = None,
        *,
        cells: int = 10,
    ) -> None:
        self.prepared, self.body, self.hand, self.cells = prepared, body, hand, cells
        self.wanted = wanted if wanted is not None else WantedForces.of(body)
        self.weight = self.wanted.weight
        limits = body.limits
        self.largest_force = limits.largest_force
        stiffness = prepared.young / (1.0 - prepared.poisson**2)
        self.largest_pressure = SHARP * stiffness if limits.pressure is None else limits.pressure
        self._size = 0.5 * body.mesh.diagonal

    def share(self, count: int) -> float:
        """What a contact must press with where so many share the load by friction alone [N]."""
        mu = max(self.wanted.reserve.friction * self.body.material.friction, 0.05)
        return float(self.wanted.largest_load / (count * mu))

    def patch_radius(self, link: int, sharpness: float, count: int) -> float:
        """About the radius of a patch where so many contacts share the load [m].

        Args:
            link: of the hand, by number.
            sharpness: of the object where it touches (`ClosingHand.sharpness`) [rad].
            count: of the contacts.
        """
        if self.prepared.body is not None and self.prepared.body.wall is not None:
            return WALL_PATCH
        return self.hand.patch_radius(self.prepared, link, sharpness, self.share(count))

    def first_depth(self, count: int, force: float | None = None) -> float:
        """A depth to begin with: that at which a round pad of 10 mm carries a force  (Hertz) [m].

        Three times that where the force is a guess: solids give more than their contacts alone, and coming down to the
        wanted force is as quick as going up.

        Args:
            count: of the contacts.
            force: of one of them [N]; its share of the load by default.
        """
        guessed = force is None
        force = self.share(count) if force is None else force
        young = self.prepared.young / (1.0 - self.prepared.poisson**2)
        wall = self.prepared.body.wall if self.prepared.body is not None else None
        if wall is not None:
            # Reissner's shallow cap in place of the half-space
            radius = 0.25 * self.prepared.surface.size
            return float(force * radius * np.sqrt(3.0) / (4.0 * self.prepared.young * wall.thickness**2))
        depth = (3.0 if guessed else 1.0) * (0.75 * force / (young * np.sqrt(0.01))) ** (2.0 / 3.0)
        return float(np.clip(depth, 1e-6, 0.1 * self.prepared.surface.size))

    def hold(
        self,
        pose: Callable[[Floats], HandPose],
        depths: Floats,
        deepest: Floats,
        T_world_object: pin.SE3,
        owners: Callable[[HandLink], int],
        *,
        tries: int = 9,
        bound: float = np.inf,
        before: Held | None = None,
    ) -> Held | Failure:
        """Find depths at which the object is held with forces close to the smallest sufficient ones.

        Args:
            pose: of the hand for given depths.
            depths: to begin with, one for each finger group [m].
            deepest: how far each may go [m].
            T_world_object: where the object is before it settles.
            owners: the finger group a link belongs to; -1 for none.
            tries: contact simulations at most.
            bound: no grasp that needs more force is wanted [N].
            before: nearly the same grasp, whose forces and stiffness tell how far to press on where nothing holds.
        """
        groups = len(depths)
        increment = None
        if before is not None and (stiffness := self._stiffness_of(before, owners, groups)) is not None:
            increment = STEP * self._by_group(before, owners, groups)[0] / stiffness
        search = DepthSearch(np.array(depths, dtype=np.float64), deepest, increment)
        best: Held | None = None
        squeeze = AIM
        centre = self.weight.acting(T_world_object).centre
        for _ in range(tries):
            answer = self.simulate(*pose(search.depths), T_world_object, search.depths, centre)
            if isinstance(answer, Failure):
                if not search.failed(answer):
                    break
                continue
            centre = answer.state.T_world_object.actInv(answer.centre)
            forces, wanted = self._by_group(answer, owners, groups)
            short = self.shortfall(answer)
            if short is None and (best is None or answer.largest_force < best.largest_force):
                best = answer
            assert answer.wanted.forces is not None
            largest = float(answer.wanted.forces[:, 2].max())
            if largest > bound:
                return Failure(Reason.LESS_FORCE, largest)
            if short is None and answer.largest_force <= CLOSE_ENOUGH * largest:
                break
            scale = np.where(forces > 0, squeeze * wanted / np.maximum(forces, 1e-12), 2.0)
            if short is not None and short.reason is Reason.FRICTION_UNBALANCED:
                # with the wanted forces friction balances; with the same distribution and more squeeze as well
                if np.abs(scale - 1.0).max() < DISTRIBUTED:
                    squeeze *= MORE
                    scale = scale * MORE
            elif short is not None:
                # whatever the distribution, the largest must not decrease while the object is not held, nor a finger
                # one of whose contacts lacks force
                scale = np.maximum(scale, min(1.1, AIM * largest / max(answer.largest_force, 1e-12)))
                scale = np.maximum(scale, 1.0 + self._missing(answer, owners, groups) / np.maximum(forces, 1e-12))
            if not search.simulated(forces, scale, short, self._stiffness_of(answer, owners, groups)):
                break
        if best is None:
            return search.failure
        excess = self.excess(best)
        if excess > CORRECTION:
            detail = f"{best.largest_force:.3g} N; with less the contact simulation finds no rest"
            return Failure(Reason.PRESSED_TOO_HARD, excess, detail=detail)
        return best

    def excess(self, held: Held) -> float:
        """How much every finger could retreat before one presses less than wanted [m]."""
        assert held.wanted.forces is not None
        stiffness = np.array([region.stiffness[2, 2] for region in held.state.regions])
        return float(((held.normal_forces - held.wanted.forces[:, 2]) / np.maximum(stiffness, 1e-9)).min())

    def nominal_force(self, held: Held) -> float:
        """The largest normal force that would hold without any reserve [N]."""
        return self.wanted.nominal_force(held.contacts, held.centre, held.drives)

    def simulate(
        self,
        q: Floats,
        T_world_palm: pin.SE3,
        T_world_object: pin.SE3,
        depths: Floats,
        centre: Floats | None = None,
    ) -> Held | Failure:
        """One contact simulation with settling, judged against limits and the smallest sufficient forces.

        Args:
            q, T_world_palm: the hand.
            T_world_object: where the object is before it settles.
            depths: of the finger groups, for the record [m].
            centre: where its weight acts, in its frame [m]; as on the undeformed object when left out.
        """
        centre = centre if centre is not None else self.weight.acting(T_world_object).centre
        poses = self.hand.poses(q, T_world_palm)
        near = self.near(poses, T_world_object)
        if len(near) < 2:
            return Failure(Reason.TOO_FEW_FINGERS, float(len(near)), "links", found_in=Stage.CONTACT)
        load = self.weight.wrench(T_world_object, centre)
        state = settle(
            self.prepared,
            [self.hand.links[i].surface for i in near],
            [poses[i] for i in near],
            T_world_object,
            load=load,
            cells=self.cells,
        )
        if state.status is not ContactStatus.SETTLED:
            left = float(np.linalg.norm(state.residual[:3]))
            return Failure(NOT_SETTLED[state.status], left, "N", found_in=Stage.CONTACT)
        if len(state.regions) < 2:
            return Failure(Reason.TOO_FEW_REGIONS, float(len(state.regions)))
        left = float(np.linalg.norm(state.residual[:3]) + np.linalg.norm(state.residual[3:]) / self._size)
        if left > UNBALANCED * (self.weight.size + state.largest_force):
            return Failure(Reason.NO_REST, left, detail="the contact simulation leaves this unbalanced")
        softest = min(float(np.diag(region.stiffness).min()) for region in state.regions)
        if not softest > 0.0:
            # a thin wall at an edge or a corner: the dent's own model does not push back
            return Failure(Reason.NO_STIFFNESS, softest, detail="the contact simulation has no stiffness for it")
        by_name = {link.name: link for link in self.hand.links}
        links = tuple(by_name[region.pad] for region in state.regions)
        broken = self._too_strong(state.regions, links)
        if broken is not None:
            return broken
        vertices = deformed_vertices(self.prepared, state)
        acting = self.weight.acting(state.T_world_object, vertices)
        contacts = self._contacts(state.regions, links)
        centre = state.T_world_object.act(acting.centre)
        drives = drives_at(self.hand, q, T_world_palm, links, contacts, self.weight.gravity)
        ranks = ranks_at(contacts, centre, drives)
        if isinstance(ranks, Failure):
            return ranks
        wanted = self.wanted.solve(contacts, centre, drives)
        if not wanted.feasible:
            return self.wanted.failure(contacts, centre, drives)
        normal = np.array([region.normal_force for region in state.regions])
        friction = self.wanted.friction(contacts, centre, drives, normal)
        return Held(
            q,
            depths.copy(),
            state,
            links,
            contacts,
            drives,
            ranks,
            wanted,
            friction,
            centre,
            state.T_world_object.act(acting.at_rest),
            self.wanted.load,
            vertices,
            acting.level,
        )

    def near(self, Ts_world_link: Sequence[pin.SE3], T_world_object: pin.SE3) -> list[int]:
        """Links that may touch the object."""
        poses = [T_world_object.actInv(T) for T in Ts_world_link]
        bounds = self.hand.bounds(self.prepared, poses, tuple(range(len(poses))))
        return [i for i in range(len(poses)) if bounds[i] < NEAR]

    def shortfall(self, held: Held) -> Failure | None:
        """Condition (8): every normal force at least the wanted one, and friction that balances the weight."""
        assert held.wanted.forces is not None
        missing = held.wanted.forces[:, 2] - held.normal_forces
        worst = int(np.argmax(missing))
        if missing[worst] > 1e-3 * held.wanted.largest_force:
            return Failure(Reason.FORCE_TOO_SMALL, float(missing[worst]), detail=f"at {held.links[worst].name}")
        if not held.friction.holds:
            return Failure(Reason.FRICTION_UNBALANCED, float(held.friction.usage))
        return None

    def _too_strong(self, regions: Sequence[ContactRegion], links: Sequence[HandLink]) -> Failure | None:
        for region, link in zip(regions, links, strict=True):
            allowed = self.permitted(link)
            if region.normal_force > allowed:
                detail = f"{region.normal_force:.3g} N at {link.name}, {allowed:.3g} N allowed"
                return Failure(Reason.FORCE_LIMIT, region.normal_force / allowed, detail=detail)
            if region.peak_pressure > self.largest_pressure:
                detail = f"{region.peak_pressure:.3g} Pa at {link.name}, {self.largest_pressure:.3g} Pa allowed"
                if self.body.limits.pressure is None:
                    detail += f" ({SHARP:g} E / (1 - nu^2), since the task gives no limit)"
                return Failure(Reason.PRESSURE_LIMIT, region.peak_pressure / self.largest_pressure, detail=detail)
        return None

    def permitted(self, link: HandLink) -> float:
        """The largest force that object and pad permit [N]."""
        return min(self.largest_force, link.pad.max_force if link.pad is not None else np.inf)

    def too_sharp(self, link: HandLink) -> bool:
        """Whether an edge of a pad presses harder than the object bears, however little force it has.

        A wedge of half angle alpha presses with (E*/2) cot(alpha) on average, whatever its force (Johnson, Contact
        Mechanics, 5.2), and with more at its tip; about E* for a right angle.
        """
        return self.largest_pressure < 1.0 / (self.prepared.compliance + link.surface.compliance)

    def _contacts(self, regions: Sequence[ContactRegion], links: Sequence[HandLink]) -> ContactSet:
        return ContactSet.from_arrays(
            np.array([region.centre for region in regions]),
            np.array([region.normal for region in regions]),
            friction=np.full(len(regions), self.body.material.friction),
            max_force=np.array([self.permitted(link) for link in links]),
            stiffness=np.array([region.stiffness for region in regions]),
            radius=np.array([max(region.radius, 1e-5) for region in regions]),
            rotations=np.array([region.T_world_contact.rotation for region in regions]),
        )

    def _stiffness_of(self, held: Held, owners: Callable[[HandLink], int], groups: int) -> Floats | None:
        """Normal force per depth of each finger group [N/m]; None where one does not touch."""
        total = np.zeros(groups)
        for link, region in zip(held.links, held.state.regions, strict=True):
            if owners(link) >= 0:
                total[owners(link)] += region.stiffness[2, 2]
        return total if total.min() > 0.0 else None

    def _missing(self, held: Held, owners: Callable[[HandLink], int], groups: int) -> Floats:
        """What each finger group must press more so that none of its contacts lacks force, if they share it [N]."""
        assert held.wanted.forces is not None
        worst, count = np.zeros(groups), np.zeros(groups)
        for link, lacks in zip(held.links, held.wanted.forces[:, 2] - held.normal_forces, strict=True):
            if owners(link) >= 0:
                worst[owners(link)] = max(worst[owners(link)], lacks)
                count[owners(link)] += 1
        return worst * count

    def _by_group(self, held: Held, owners: Callable[[HandLink], int], groups: int) -> tuple[Floats, Floats]:
        """Simulated and wanted normal force of each finger group [N]; a group has what its regions have together."""
        assert held.wanted.forces is not None
        forces, wanted = np.zeros(groups), np.zeros(groups)
        for link, have, want in zip(held.links, held.normal_forces, held.wanted.forces[:, 2], strict=True):
            group = owners(link)
            if group >= 0:
                forces[group] += have
                wanted[group] += want
        return forces, np.maximum(wanted, 0.02 * wanted.max())
