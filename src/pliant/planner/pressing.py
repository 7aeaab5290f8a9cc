"""Pressing until the object is held, with forces no larger than needed.   (theory 8.2-8.4)

Every finger has its own depth beyond the first touch. After each contact simulation the depths move so that the
simulated normal forces come down (or up) to the smallest sufficient ones; the object settles anew each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.constants import GRAVITY
from pliant.contact import ContactRegion, ContactState, ContactStatus, PreparedObject, deformed_vertices, settle
from pliant.grasp import ContactSet, Family, ForceResult, ForceSolver, FrictionResult, balancing_friction
from pliant.objects import Body
from pliant.planner.closing_hand import ClosingHand, HandLink
from pliant.planner.depth_search import CORRECTION, DepthSearch, Failure

CLOSE_ENOUGH = 1.10
"""Simulated over wanted largest force at which a grasp needs no more correction."""
AIM = 1.04
"""Each correction aims at this multiple of the wanted force: close from above."""
UNBALANCED = 0.02
"""What a simulation may leave unbalanced, as part of weight and largest force; torques over half the object's size."""
NEAR = 2e-3
"""Links nearer than this take part in the contact simulation [m]."""


@dataclass(frozen=True, eq=False)
class Held:
    """A held object.

    Args:
        q: joints (the arm's do not count).
        depths: of every finger group beyond its touch [m].
        state: the contact simulation's answer, in the world.
        links: the hand's link of every region.
        contacts: the regions as contacts in the world.
        wanted: the smallest sufficient forces.
        friction: friction that balances the load beside the simulated normal forces.
        centre: centre of mass of the deformed object, world [m].
        centre_at_rest: of the undeformed one in the same pose, world [m].
        load: weight about ``centre``, world.
        vertices: deformed surface in the object's frame [m].
        level: height of the liquid's surface in the world [m].
    """

    q: Floats
    depths: Floats
    state: ContactState
    links: tuple[HandLink, ...]
    contacts: ContactSet
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


@dataclass(frozen=True, eq=False)
class _Mass:
    """Where the weight acts, in the object's frame."""

    centre: Floats
    at_rest: Floats
    level: float | None


class Presser:
    """Presses and judges; one for a task.

    Args:
        thing: the prepared object.
        body: its mass, limits and contents.
        hand: the hand.
        margin: distance of every contact from slipping and from its force limit, as part of the weight.
        cells: grid cells along a side of each contact region.
    """

    def __init__(
        self, prepared: PreparedObject, body: Body, hand: ClosingHand, *, margin: float = 0.05, cells: int = 10
    ) -> None:
        self.prepared, self.body, self.hand, self.cells = prepared, body, hand, cells
        self.weight = GRAVITY * body.mass
        self.solver = ForceSolver(margin=margin * self.weight, explain=False)
        self._explain = ForceSolver(margin=margin * self.weight, explain=True)
        limits = body.limits
        self.largest_force = limits.largest_force
        self.largest_pressure = np.inf if limits.pressure is None else limits.pressure
        self._size = 0.5 * body.mesh.diagonal

    def first_depth(self, count: int) -> float:
        """A depth to begin with: three times that at which a round pad of 10 mm carries its share  (Hertz) [m].

        Solids give more than their contacts alone; and coming down to the wanted force is as quick as going up.
        """
        mu = max(self.body.material.friction, 0.05)
        force = self.weight / (count * mu)
        young = self.prepared.young / (1.0 - self.prepared.poisson**2)
        wall = self.prepared.body.wall if self.prepared.body is not None else None
        if wall is not None:
            # Reissner's shallow cap in place of the half-space
            radius = 0.25 * self.prepared.surface.size
            return float(force * radius * np.sqrt(3.0) / (4.0 * self.prepared.young * wall.thickness**2))
        depth = 3.0 * (0.75 * force / (young * np.sqrt(0.01))) ** (2.0 / 3.0)
        return float(np.clip(depth, 1e-6, 0.1 * self.prepared.surface.size))

    def hold(
        self,
        pose: Callable[[Floats], tuple[Floats, pin.SE3]],
        depths: Floats,
        deepest: Floats,
        T_world_object: pin.SE3,
        owners: Callable[[HandLink], int],
        *,
        tries: int = 14,
    ) -> Held | Failure:
        """Find depths at which the object is held with forces close to the smallest sufficient ones.

        Args:
            pose: joints and T_world_palm for given depths.
            depths: to begin with, one for each finger group [m].
            deepest: how far each may go [m].
            T_world_object: where the object is before it gives way.
            owners: the finger group a link belongs to; -1 for none.
            tries: contact simulations at most.
        """
        search = DepthSearch(np.array(depths, dtype=np.float64), deepest)
        best: Held | None = None
        mass = self._mass(None, T_world_object)
        for _ in range(tries):
            answer = self.simulate(*pose(search.depths), T_world_object, search.depths, mass)
            if isinstance(answer, Failure):
                if not search.failed(answer):
                    break
                continue
            mass = self._mass(answer.vertices, answer.state.T_world_object)
            forces, wanted = self._by_group(answer, owners, len(depths))
            short = self.shortfall(answer)
            if short is None and (best is None or answer.largest_force < best.largest_force):
                best = answer
            assert answer.wanted.forces is not None
            largest = float(answer.wanted.forces[:, 2].max())
            if short is None and answer.largest_force <= CLOSE_ENOUGH * largest:
                break
            scale = np.where(forces > 0, AIM * wanted / np.maximum(forces, 1e-12), 2.0)
            if short is not None:
                # whatever the distribution, the largest must not fall while the object is not held
                scale = np.maximum(scale, min(1.1, AIM * largest / max(answer.largest_force, 1e-12)))
                if short.reason == "friction does not balance":
                    scale = np.maximum(scale, 1.15)
            if not search.simulated(forces, scale, short):
                break
        if best is None:
            return search.failure
        excess = self.excess(best)
        if excess > CORRECTION:
            detail = f"{best.largest_force:.3g} N; with less the contact simulation finds no rest"
            return Failure("steady only when pressed harder than wanted", excess, "m", detail)
        return best

    def excess(self, held: Held) -> float:
        """How much every finger could give way before one presses less than wanted [m]."""
        assert held.wanted.forces is not None
        stiffness = np.array([region.stiffness[2, 2] for region in held.state.regions])
        return float(((held.normal_forces - held.wanted.forces[:, 2]) / np.maximum(stiffness, 1e-9)).min())

    def simulate(
        self, q: Floats, T_world_palm: pin.SE3, T_world_object: pin.SE3, depths: Floats, mass: _Mass | None = None
    ) -> Held | Failure:
        """One contact simulation with settling, judged against limits and the smallest sufficient forces."""
        mass = mass if mass is not None else self._mass(None, T_world_object)
        poses = self.hand.poses(q, T_world_palm)
        near = self.near(poses, T_world_object)
        if len(near) < 2:
            return Failure("fewer than two fingers touch", float(len(near)), "links")
        load = self._load(T_world_object, mass.centre)
        state = settle(
            self.prepared,
            [self.hand.links[i].surface for i in near],
            [poses[i] for i in near],
            T_world_object,
            load=load,
            cells=self.cells,
        )
        if state.status is not ContactStatus.SETTLED:
            words = {
                ContactStatus.PUSHED_AWAY: "pushed away",
                ContactStatus.SLIPS: "slips",
                ContactStatus.NO_CONTACT: "fewer than two fingers touch",
            }
            return Failure(words[state.status], float(np.linalg.norm(state.residual[:3])), "N")
        if len(state.regions) < 2:
            return Failure("fewer than two regions", float(len(state.regions)), "regions")
        left = float(np.linalg.norm(state.residual[:3]) + np.linalg.norm(state.residual[3:]) / self._size)
        if left > UNBALANCED * (self.weight + state.largest_force):
            return Failure("does not come to rest", left, "N", "the contact simulation leaves this unbalanced")
        softest = min(float(np.diag(region.stiffness).min()) for region in state.regions)
        if not softest > 0.0:
            # a thin wall at an edge or a corner: the dent's own model does not push back
            return Failure(
                "a contact does not push back", softest, "N/m", "the contact simulation cannot tell its stiffness"
            )
        by_name = {link.name: link for link in self.hand.links}
        links = tuple(by_name[region.pad] for region in state.regions)
        broken = self._too_strong(state.regions, links)
        if broken is not None:
            return broken
        mass = self._mass_after(state)
        contacts = self._contacts(state.regions, links)
        centre = state.T_world_object.act(mass.centre)
        weight = np.array([0.0, 0.0, -self.weight, 0.0, 0.0, 0.0])
        wanted = self.solver.solve(contacts, weight, centre=centre)
        if not wanted.feasible:
            return self._infeasible(contacts, weight, centre)
        normal = np.array([region.normal_force for region in state.regions])
        friction = balancing_friction(contacts, weight, normal, centre=centre, tolerance=0.02)
        return Held(
            q,
            depths.copy(),
            state,
            links,
            contacts,
            wanted,
            friction,
            centre,
            state.T_world_object.act(mass.at_rest),
            weight,
            self._vertices,
            mass.level,
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
            return Failure("force too small", float(missing[worst]), "N", f"at {held.links[worst].name}")
        if not held.friction.holds:
            return Failure("friction does not balance", float(held.friction.usage), "of the friction there is")
        return None

    # -- parts -------------------------------------------------------------------------------------------------

    def _too_strong(self, regions: Sequence[ContactRegion], links: Sequence[HandLink]) -> Failure | None:
        for region, link in zip(regions, links, strict=True):
            allowed = min(self.largest_force, link.pad.max_force if link.pad is not None else np.inf)
            if region.normal_force > allowed:
                detail = f"{region.normal_force:.3g} N at {link.name}, {allowed:.3g} N allowed"
                return Failure("force above the limit", region.normal_force / allowed, "of the limit", detail)
            if region.peak_pressure > self.largest_pressure:
                detail = f"{region.peak_pressure:.3g} Pa at {link.name}, {self.largest_pressure:.3g} Pa allowed"
                share = region.peak_pressure / self.largest_pressure
                return Failure("pressure above the limit", share, "of the limit", detail)
        return None

    def _infeasible(self, contacts: ContactSet, weight: Floats, centre: Floats) -> Failure:
        result = self._explain.solve(contacts, weight, centre=centre)
        blame = str(result.blame[0]) if result.blame else "geometry"
        if result.blame and Family.FORCE_LIMIT in result.blame[0].families:
            needed = result.blame[0].largest_force
            if needed is not None:
                return Failure("needs more force than allowed", needed, "N", f"{needed:.3g} N would hold it")
        return Failure("no forces hold the weight", 1.0, "", f"to blame: {blame}")

    def _contacts(self, regions: Sequence[ContactRegion], links: Sequence[HandLink]) -> ContactSet:
        return ContactSet.from_arrays(
            np.array([region.centre for region in regions]),
            np.array([region.normal for region in regions]),
            friction=np.full(len(regions), self.body.material.friction),
            max_force=np.array(
                [min(self.largest_force, link.pad.max_force if link.pad is not None else np.inf) for link in links]
            ),
            stiffness=np.array([region.stiffness for region in regions]),
            radius=np.array([max(region.radius, 1e-5) for region in regions]),
            rotations=np.array([region.T_world_contact.rotation for region in regions]),
        )

    def _mass_after(self, state: ContactState) -> _Mass:
        self._vertices = deformed_vertices(self.prepared, state)
        return self._mass(self._vertices, state.T_world_object)

    def _mass(self, vertices: Floats | None, T_world_object: pin.SE3) -> _Mass:
        up = T_world_object.rotation[2]
        rest = self.body.centre_of_mass(up)
        if vertices is None:
            return _Mass(rest, rest, None)
        body = self.body.deformed(vertices)
        level = None
        if body.liquid is not None:
            liquid = body.liquid_at(up)
            assert liquid is not None
            level = float(T_world_object.translation[2] + liquid.level)
        return _Mass(body.centre_of_mass(up), rest, level)

    def _load(self, T_world_object: pin.SE3, centre: Floats) -> Floats:
        force = np.array([0.0, 0.0, -self.weight])
        return np.concatenate([force, np.cross(T_world_object.rotation @ centre, force)])

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
