"""What a trial squeeze shows about an object: k, D, Young's modulus and friction.   (theory 9)

The hand presses in steps; at each step joints and forces are known. Young's modulus is the one with which the contact
model gives these forces at these joints. How far the pads were from the object to begin with is not known well enough,
so it is found along with it: the curvature of force over depth distinguishes the two. Friction follows from the normal
forces at which the lifted object just begins to slip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
from scipy.optimize import minimize_scalar

from pliant.arrays import Floats
from pliant.calibration.notes import CalibrationNote, NoteKind
from pliant.contact import ContactRegion, ContactStatus, PadSurface, PreparedObject, clearance, settle
from pliant.control import ContactKinematics
from pliant.errors import OptionError
from pliant.grasp import ContactSet, balancing_friction
from pliant.objects import Body
from pliant.robot import Assembly, pad_mesh

HERTZ = 1.5
WIDEST = 0.002  # how far off the planned touch the real one may be [m]
TOUCH_SIGMA, FORCE_SIGMA = 0.0003, 0.03  # how well the touch is known [m], and the model's forces (relative)
SCAN = 0.0002  # steps in which offsets of the touch are tried first [m]
SCANNED = 5  # as many steps of the squeeze do for that
STRONG = 0.25  # steps with less than this part of the largest force are left out
# Mean pressure over E*, up to which small strains describe a squeeze; a ball between plates has 0.424 sqrt(depth / R).
# Steps beyond are left out where at least so many are within.
SMALL_STRAIN, LEAST_SMALL = 0.08, 4
MISFIT, VAGUE = 0.15, 0.15  # a model that misses by more, and an E that is known worse, are noted
RANGE_STEP = 2.5e-5  # for that, offsets are tried in such steps [m]
MOST_SHIFTS, EVEN = 8, 2e-5  # of the object between the pads; depths that differ by less are equal [m]
MOST_SCALINGS = 4  # of E for one offset, where covers are soft
YOUNG_RANGE = 30.0  # times up or down from the start value


@dataclass(frozen=True, eq=False)
class SqueezePoint:
    """One step of a trial squeeze, at rest.

    Attributes:
        q: measured joints.
        forces: n measured normal forces [N].
        places: n x 3 measured centres of pressure in the links' frames [m].
    """

    q: Floats
    forces: Floats
    places: Floats


@dataclass(frozen=True, eq=False)
class SlipOnset:
    """The moment at which the lifted object began to slip.

    Attributes:
        forces: n measured normal forces [N].
        contacts: where they acted.
        load, centre: weight [N, N m] and the centre of mass in the world [m].
    """

    forces: Floats
    contacts: ContactKinematics
    load: Floats
    centre: Floats


@dataclass(frozen=True, eq=False)
class SqueezeSamples:
    """All that a trial squeeze has brought in.

    Attributes:
        links: n, of the contacts.
        normals: n x 3, into the object, in the links' frames.
        points: the steps, lightest first.
        slip: None where no slip was provoked or none was seen.
        held: the lightest grip that held where none was seen because pads measure no less.
    """

    links: tuple[str, ...]
    normals: Floats
    points: tuple[SqueezePoint, ...]
    slip: SlipOnset | None = None
    held: SlipOnset | None = None


@dataclass(frozen=True)
class Calibration:
    """What was found.

    Attributes:
        k: measured over planned force at the same joints, the planned one with the start value of E.
        stiffness: D, force per depth of a contact at the planned force [N/m].
        stiffness_factor: D over the plan's.
        young: [Pa].
        friction: None where no slip was seen.
        touch_offset: by how much the object was met earlier than by the model [m].
        misfit: what is left between model and measurement, relative, root mean square.
        points: how many steps were used.
        notes: what is rough about it.
    """

    k: float
    stiffness: float
    stiffness_factor: float
    young: float
    friction: float | None
    touch_offset: float
    misfit: float
    points: int
    notes: tuple[CalibrationNote, ...] = ()


def pad_surfaces(assembly: Assembly, links: Sequence[str], friction: float, *, rigid: bool = False) -> list[PadSurface]:
    """Contact models of the pads on these links; ``rigid`` leaves the softness of their covers out."""
    assert assembly.hand is not None
    pads = {pad.link: pad for finger in assembly.hand.fingers for pad in finger.pads}
    missing = [link for link in links if link not in pads]
    if missing:
        raise OptionError("calibration", f"no pad on link '{missing[0]}'; pads are on: {', '.join(pads)}")
    out = []
    for link in links:
        pad = pads[link]
        found = pad_mesh(assembly.robot.urdf, pad)
        young = np.inf if pad.young is None or rigid else pad.young
        out.append(
            PadSurface.of(
                found.mesh, name=link, young=young, poisson=pad.poisson, pad_faces=found.faces, friction=friction
            )
        )
    return out


class _Model:
    """Mean normal force of the contacts at given joints, for any E and any offset of the touch."""

    def __init__(
        self,
        samples: SqueezeSamples,
        assembly: Assembly,
        body: Body,
        T_world_object: pin.SE3,
        prepared: PreparedObject,
        rigid: bool,
    ) -> None:
        self.samples, self.robot, self.prepared, self.T = samples, assembly.robot, prepared, T_world_object
        self.links = tuple(dict.fromkeys(samples.links))
        self.pads = pad_surfaces(assembly, self.links, max(body.material.friction, 0.1), rigid=rigid)
        self.poses = [self.robot.poses(self.links, point.q) for point in samples.points]
        by_link = dict(zip(samples.links, samples.normals, strict=True))
        self.normals = np.array([by_link[link] for link in self.links])
        self.Ts_world_object = [self._between(poses) for poses in self.poses]
        self.measured = np.array([float(np.mean(point.forces)) for point in samples.points])
        self._one_minus = 1.0 - prepared.poisson**2
        # 1/E* of the covers; the softest counts
        self._covers = max((1.0 - pad.poisson**2) / pad.young for pad in self.pads)

    def _between(self, poses: Sequence[pin.SE3]) -> pin.SE3:
        """Where the object is about equally deep in all pads: from there on friction holds what it has held.

        Fingers push the object along while they find it. Seen from where it lay, friction would pin it there.
        """
        T = pin.SE3(self.T)
        normals = np.array([pose.rotation @ n for pose, n in zip(poses, self.normals, strict=True)])
        for _ in range(MOST_SHIFTS):
            gaps = np.array(
                [clearance(self.prepared, p, T.actInv(pose)) for p, pose in zip(self.pads, poses, strict=True)]
            )
            if np.ptp(gaps) < EVEN:
                break
            # Shifting by d adds n.d to a gap: all are to become one and the same, with the shortest d.
            rows = np.hstack([normals, -np.ones((len(gaps), 1))])
            T = pin.SE3(T.rotation, T.translation + np.linalg.lstsq(rows, -gaps, rcond=None)[0][:3])
        return T

    def force(self, k: int, young: float, offset: float) -> float:
        """[N]; 0 where nothing touches."""
        return float(sum(region.normal_force for region in self._regions(k, young, offset))) / len(self.samples.links)

    def strain(self, k: int, young: float, offset: float) -> float:
        """Mean pressure of the hardest pressed contact over E*."""
        regions = self._regions(k, young, offset)
        return max((r.normal_force / r.area for r in regions), default=0.0) * (self._one_minus / young + self._covers)

    def _regions(self, k: int, young: float, offset: float) -> Sequence[ContactRegion]:
        Ts = [
            pin.SE3(T.rotation, T.translation + offset * (T.rotation @ n))
            for T, n in zip(self.poses[k], self.normals, strict=True)
        ]
        state = settle(replace(self.prepared, young=young), self.pads, Ts, self.Ts_world_object[k])
        return state.regions if state.status is ContactStatus.SETTLED else ()

    def fit(self, offset: float, young: float, some: Sequence[int]) -> tuple[float, float]:
        """Young's modulus that goes best with an offset, and how badly both go with what is known (1 is one sigma).

        Forces go with E times a power of the depth: their 2/3 powers are nearly linear in the offset. A touch is known
        to some tenths of a millimetre: without that, E and offset can be traded for one another.
        """
        measured = self.measured[list(some)]
        wanted = (measured / measured[-1]) ** (1 / HERTZ)
        apart = np.full(len(measured), np.inf)
        for _ in range(MOST_SCALINGS):
            modelled = (np.array([self.force(k, young, offset) for k in some]) / measured[-1]) ** (1 / HERTZ)
            if not modelled.any():
                return young, np.inf
            scale = float((modelled @ wanted) / (modelled @ modelled)) ** HERTZ
            apart = scale ** (1 / HERTZ) * modelled - wanted
            young = self._scaled(young, scale)
            if self._covers == 0.0 or abs(scale - 1.0) < 0.005:
                break  # with rigid pads forces are proportional to E
        return young, float(np.sum(apart**2) / FORCE_SIGMA**2 + (offset / TOUCH_SIGMA) ** 2)

    def _scaled(self, young: float, scale: float) -> float:
        """E with which forces are ``scale`` times as large: they go with E*, 1/E* = (1 - nu^2) / E + the cover's."""
        compliance = (self._one_minus / young + self._covers) / scale - self._covers
        most = YOUNG_RANGE * self.prepared.young
        return float(np.clip(self._one_minus / max(compliance, self._one_minus / most), most / YOUNG_RANGE**2, most))


def fit_squeeze(
    samples: SqueezeSamples,
    assembly: Assembly,
    body: Body,
    T_world_object: pin.SE3,
    prepared: PreparedObject,
    *,
    planned_force: float,
    planned_stiffness: float,
    rigid_pads: bool = False,
) -> Calibration:
    """k, D, E and friction from a trial squeeze.

    Args:
        samples: from the squeeze; at least three steps.
        body: with the start values of E and friction.
        T_world_object: about where it lay.
        prepared: its contact model, with the start value of E.
        planned_force: normal force of the plan, at which D is given [N].
        planned_stiffness: the plan's D along the normal [N/m].
        rigid_pads: the hand that squeezed has rigid pads (the lab's), whatever its description says.
    """
    if len(samples.points) < 3:
        raise OptionError("calibration", f"{len(samples.points)} steps of the squeeze were reached; three are needed")
    start = body.material.young
    steps = samples.points
    model = _Model(replace(samples, points=_strong(steps)), assembly, body, T_world_object, prepared, rigid_pads)
    young, offset = _best(model, start)
    small = [k for k in range(len(model.measured)) if model.strain(k, young, offset) <= SMALL_STRAIN]
    if len(small) < len(model.measured):
        most = max((model.measured[k] for k in small), default=0.0)
        steps = tuple(point for point in steps if float(np.mean(point.forces)) <= most)
        if len(steps) >= LEAST_SMALL:
            model = _Model(
                replace(samples, points=_strong(steps)), assembly, body, T_world_object, prepared, rigid_pads
            )
            young, offset = _best(model, start)
    measured, count = model.measured, len(model.measured)
    modelled = np.array([model.force(k, young, offset) for k in range(count)])
    planned = np.array([model.force(k, start, offset) for k in range(count)])
    misfit = float(np.sqrt(np.mean((modelled / measured - 1.0) ** 2)))
    k = float(np.exp(np.mean(np.log(measured[planned > 0] / planned[planned > 0])))) if (planned > 0).any() else np.nan
    stiffness = _stiffness(model.samples, model, measured, planned_force)
    friction = None if samples.slip is None else friction_at_slip(samples.slip)
    notes = []
    if misfit > MISFIT:
        text = f"the model leaves {misfit:.0%} between itself and the measurement"
        notes.append(CalibrationNote(NoteKind.MISFIT, text))
    least, most = _range(model, young, offset)
    if most > (1.0 + VAGUE) * young or least < (1.0 - VAGUE) * young:
        span = f"the measured forces span a factor of {measured.max() / measured.min():.1f}"
        text = f"Young's modulus may be {least:.2g} to {most:.2g} Pa: {span}, which leaves open where the touch was"
        notes.append(CalibrationNote(NoteKind.VAGUE_YOUNG, text))
    if abs(np.log(young / start)) > 0.99 * np.log(YOUNG_RANGE) or abs(offset) > 0.99 * WIDEST:
        notes.append(CalibrationNote(NoteKind.AT_BOUNDS, "the fit ran into its bounds: do not trust it"))
    if friction is None:
        notes.append(CalibrationNote(NoteKind.NO_SLIP, _without_slip(samples.held)))
    return Calibration(
        k, stiffness, stiffness / planned_stiffness, young, friction, offset, misfit, count, tuple(notes)
    )


def _strong(steps: tuple[SqueezePoint, ...]) -> tuple[SqueezePoint, ...]:
    """Without the lightest ones: they show single bumps of the surface rather than about the body."""
    means = [float(np.mean(point.forces)) for point in steps]
    strong = tuple(point for point, mean in zip(steps, means, strict=True) if mean >= STRONG * max(means))
    return strong if len(strong) >= 3 else steps[-3:]


def _best(model: _Model, start: float) -> tuple[float, float]:
    """Young's modulus and offset of the touch that go best with what was measured.

    Flat faces have more than one minimum: offsets are tried with a few steps, nearest first; then all steps count.
    """
    count = len(model.measured)
    few = sorted({round(k) for k in np.linspace(0, count - 1, SCANNED)})
    least, near = np.inf, 0.0
    for i in range(2 * round(WIDEST / SCAN) + 1):
        tried = SCAN * (i // 2 + i % 2) * (1.0 if i % 2 else -1.0)
        if (tried / TOUCH_SIGMA) ** 2 > least:
            break
        cost = model.fit(tried, start, few)[1]
        least, near = (cost, tried) if cost < least else (least, near)
    best = minimize_scalar(
        lambda offset: model.fit(float(offset), start, range(count))[1],
        bounds=(near - SCAN, near + SCAN),
        method="bounded",
        options={"xatol": 1e-6, "maxiter": 15},
    )
    offset = float(best.x)
    return model.fit(offset, start, range(count))[0], offset


def _range(model: _Model, young: float, offset: float) -> tuple[float, float]:
    """Least and largest modulus that go with what was measured and known nearly as well (one sigma) as the best.

    Where even the best leaves more than the model is believed to, a sigma is as much more.
    """
    count = range(len(model.measured))
    cost = model.fit(offset, young, count)[1]
    worst = cost + max(1.0, cost / max(len(count) - 2, 1))
    found = [young]
    for direction in (-RANGE_STEP, RANGE_STEP):
        for i in range(1, round(WIDEST / RANGE_STEP) + 1):
            other, worse = model.fit(offset + i * direction, young, count)
            if worse > worst:
                break
            found.append(other)
    return min(found), max(found)


def _without_slip(held: SlipOnset | None) -> str:
    least = None if held is None or not np.isfinite(held.forces).all() else friction_at_slip(held)
    if held is None or least is None:
        return "no slip was seen: friction is not known"
    grip = f"{np.mean(held.forces):.2f} N on each pad, about the least that pads measure"
    return f"no slip was seen down to {grip}: friction is not known, but {least:.2f} or more"


def _stiffness(samples: SqueezeSamples, model: _Model, measured: Floats, at: float) -> float:
    """D at a force: F = (b (x - x0))^1.5 through the steps, so dF/dx = 1.5 b F^(1/3)   [N/m]."""
    robot = model.robot
    places = []
    for point in samples.points:
        Ts = robot.poses(samples.links, point.q)
        p0 = samples.points[0].places
        places.append([T.act(p) for T, p in zip(Ts, p0, strict=True)])
    Ts = robot.poses(samples.links, samples.points[0].q)
    normals = np.array([T.rotation @ n for T, n in zip(Ts, samples.normals, strict=True)])
    depth = np.einsum("kij,ij->ki", np.array(places) - np.array(places[0]), normals).mean(axis=1)
    if np.ptp(depth) <= 0:
        return float("nan")
    b = float(np.polyfit(depth, measured ** (1 / HERTZ), 1)[0])
    return HERTZ * b * at ** (1.0 / 3.0)


def friction_at_slip(slip: SlipOnset) -> float | None:
    """The friction coefficient at which these normal forces just hold the load: the usage of friction is 1.

    None where no friction at all balances it: then it was not friction that gave way.
    """
    contacts = ContactSet.from_arrays(
        slip.contacts.points, slip.contacts.axes[:, :, 2], friction=1.0, rotations=slip.contacts.axes
    )
    # Pads measure forces to some percent; the balance of the normal forces among themselves is no better than that.
    even = np.full(len(slip.forces), float(np.mean(slip.forces))) if len(slip.forces) == 2 else slip.forces
    force = np.array([*slip.load[:3], 0.0, 0.0, 0.0])
    answer = balancing_friction(contacts, force, even, centre=slip.contacts.points.mean(axis=0), tolerance=0.01)
    return float(answer.usage) if np.isfinite(answer.usage) else None
