"""Contacts as the grasp theory sees them: place, normal, friction, stiffness and force limit.

Frames follow theory 2: {B} is the world, {C_i} sits at contact point i with its *last* force axis along the normal that
points into the object. In space a contact force is (tangent, tangent, normal); in the plane (tangent, normal).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Bools, Floats
from pliant.errors import GraspError, Problem
from pliant.grasp.layout import ContactModel, Layout, layout_of, point_layout

# Radius over which a Hertz patch resists twisting: the moment of a fully sliding patch is mu f_n e.   (theory 7.1)
SPIN_ARM_PER_RADIUS = 3 * np.pi / 16
# What a stiffness is taken to be when none is given; only ratios between contacts matter then.
DEFAULT_STIFFNESS = 1000.0
MOST_NOTES = 20
"""On one grasp: of a thousand contacts at one point each two would have one."""
UNIT_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Contact:
    """One contact by its physical quantities.

    Args:
        point: contact point in {B} [m]; three coordinates in space, two in the plane.
        normal: direction into the object; made unit length.
        friction: Coulomb coefficient; 0 makes the contact frictionless.
        max_force: largest normal force the object may feel here [N].
        stiffness: tangential, tangential, normal (plane: tangential, normal), or a matrix in {C_i} [N/m].
        radius: radius of the contact patch [m]; given, the contact is a soft finger.
    """

    point: ArrayLike
    normal: ArrayLike
    friction: float
    max_force: float = np.inf
    stiffness: ArrayLike | None = None
    radius: float | None = None


@dataclass(frozen=True, eq=False)
class ContactSet:
    """All contacts of a grasp as arrays; build it with :meth:`of` or :meth:`from_arrays`, which check everything.

    Args:
        points: n x s contact points in {B} [m], s = 3 in space, 2 in the plane.
        rotations: n x s x s, columns are the axes of {C_i} in {B}, the last one into the object.
        friction: n Coulomb coefficients.
        max_force: n largest normal forces [N], infinite where there is no limit.
        stiffness: n x s x s contact stiffness in {C_i} [N/m].
        spin_arm: n lengths e of the soft-finger limit surface [m]; 0 where the contact is not soft.
        spin_stiffness: n stiffnesses against twisting about the normal [N m/rad].
        layout: places of the components in the stacked force f.
        normal_lengths: n lengths the normals had when they came in.
    """

    points: Floats
    rotations: Floats
    friction: Floats
    max_force: Floats
    stiffness: Floats
    spin_arm: Floats
    spin_stiffness: Floats
    layout: Layout
    normal_lengths: Floats

    @classmethod
    def of(cls, contacts: Sequence[Contact], *, source: str = "contacts") -> ContactSet:
        """The set of these contacts, in this order."""
        if len(contacts) == 0:
            raise GraspError(source, "there are no contacts; give at least one")
        try:
            points = np.array([c.point for c in contacts], dtype=float)
            normals = np.array([c.normal for c in contacts], dtype=float)
        except ValueError:
            raise GraspError(source, "points and normals must all have three numbers (or all two)") from None
        s = points.shape[-1]
        blocks = np.empty((len(contacts), s, s))
        for i, contact in enumerate(contacts):
            given = DEFAULT_STIFFNESS if contact.stiffness is None else np.asarray(contact.stiffness, dtype=float)
            if np.ndim(given) == 0:
                given = np.full(s, given)
            if np.shape(given) not in ((s,), (s, s)):
                what = f"stiffness of shape {np.shape(given)}"
                raise GraspError(source, Problem(f"[{i}].stiffness", what, f"give {s} numbers or a {s} x {s} matrix"))
            blocks[i] = np.diag(given) if np.ndim(given) == 1 else given
        return cls.from_arrays(
            points,
            normals,
            friction=np.array([c.friction for c in contacts], dtype=float),
            max_force=np.array([c.max_force for c in contacts], dtype=float),
            stiffness=blocks,
            radius=np.array([0.0 if c.radius is None else c.radius for c in contacts], dtype=float),
            soft=np.array([c.radius is not None for c in contacts]),
            source=source,
        )

    @classmethod
    def from_arrays(
        cls,
        points: ArrayLike,
        normals: ArrayLike,
        *,
        friction: ArrayLike,
        max_force: ArrayLike = np.inf,
        stiffness: ArrayLike | None = None,
        radius: ArrayLike | None = None,
        soft: ArrayLike | None = None,
        rotations: Floats | None = None,
        source: str = "contacts",
    ) -> ContactSet:
        """The set from one array per property, quick enough for loops; scalars apply to all contacts.

        Args:
            points, normals: n x s [m, -].
            friction, max_force: one for all or n values [-, N].
            stiffness: n x s diagonals or n x s x s matrices in {C_i} [N/m].
            radius: patch radii [m]; a contact with one is a soft finger.
            soft: which contacts are soft fingers; by default those with a positive radius.
            rotations: axes of the contact frames, when the caller wants his own tangents.
            source: named in errors.
        """
        p, nrm = np.array(points, dtype=float), np.asarray(normals, dtype=float)
        if p.size == 0:
            raise GraspError(source, "there are no contacts; give at least one")
        if p.ndim != 2 or p.shape[1] not in (2, 3) or nrm.shape != p.shape:
            raise GraspError(
                source, f"points {p.shape} and normals {nrm.shape}: both must be n x 3 (space) or n x 2 (plane)"
            )
        n, s = p.shape
        mu = _per_contact(friction, n, "friction", source)
        f_max = _per_contact(max_force, n, "max_force", source)
        k = _stiffness_blocks(stiffness, n, s, source)
        a = _zeros(n) if radius is None else _per_contact(radius, n, "radius", source)
        is_soft = a > 0 if soft is None else np.broadcast_to(np.asarray(soft, dtype=bool), (n,))
        lengths = np.sqrt(np.einsum("ij,ij->i", nrm, nrm))
        problems = _problems(p, lengths, mu, f_max, k, a, is_soft)
        if s == 2 and is_soft.any():
            problems.append(Problem("", "soft fingers do not exist in the plane", "leave out the radius"))
        if rotations is not None and np.shape(rotations) != (n, s, s):
            problems.append(Problem("", f"rotations of shape {np.shape(rotations)}", f"give {n} x {s} x {s}"))
        if problems:
            raise GraspError(source, problems)
        r = contact_rotations(nrm / lengths[:, None]) if rotations is None else np.asarray(rotations, dtype=float)
        if radius is None and mu.all():
            return cls(p, r, mu, f_max, k, a, a, point_layout(s, n), lengths)
        rough = [ContactModel.SOFT if flag else ContactModel.POINT for flag in is_soft.tolist()]
        models = tuple(
            model if m > 0 else ContactModel.FRICTIONLESS for m, model in zip(mu.tolist(), rough, strict=True)
        )
        e = SPIN_ARM_PER_RADIUS * a * is_soft
        # Twisting a bonded circular patch on an incompressible half-space: 16/3 G a^3 against 16/3 G a for sliding it.
        spin = k[:, 0, 0] * a**2
        return cls(p, r, mu, f_max, k, e, spin, layout_of(s, models), lengths)

    def __len__(self) -> int:
        return len(self.points)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What was changed in the input or looks odd, for the user to read."""
        odd = np.flatnonzero(np.abs(self.normal_lengths - 1) > UNIT_TOLERANCE)
        notes = [f"contact {i}: normal had length {self.normal_lengths[i]:.6g}, made unit length" for i in odd]
        notes += [f"contact {i}: friction 0, taken as frictionless" for i in np.flatnonzero(self.friction == 0)]
        gaps = np.abs(self.points[:, None, :] - self.points[None, :, :]).max(axis=2)
        twins = np.argwhere(np.triu(gaps <= 1e-9 * gaps.max(), 1))
        notes += [f"contacts {i} and {j} lie at the same point" for i, j in twins[: MOST_NOTES + 1]]
        more = ["and more of these"] if len(notes) > MOST_NOTES else []
        return (*notes[:MOST_NOTES], *more)

    @property
    def dimension(self) -> int:
        """3 in space, 2 in the plane."""
        return self.layout.dimension

    @property
    def models(self) -> tuple[ContactModel, ...]:
        """Contact model of every contact."""
        return self.layout.models

    @property
    def normals(self) -> Floats:
        """n x s unit normals into the object, in {B}."""
        return self.rotations[:, :, -1]

    def stacked(self, forces: ArrayLike, moments: ArrayLike | None = None) -> Floats:
        """The stacked vector f from an n x s table of forces in the contact frames and n moments about the normals."""
        layout = self.layout
        f = np.zeros(layout.size)
        f[layout.force_entries] = np.asarray(forces, dtype=float).reshape(-1)[layout.force_places]
        if moments is not None and layout.moment_entries.size:
            f[layout.moment_entries] = np.asarray(moments, dtype=float)[layout.moment_contacts]
        return f

    def table(self, f: Floats) -> tuple[Floats, Floats]:
        """The n x s forces and n moments in a stacked vector f; the opposite of :meth:`stacked`."""
        layout = self.layout
        forces = np.zeros(len(self) * self.dimension)
        forces[layout.force_places] = f[layout.force_entries]
        moments = np.zeros(len(self))
        moments[layout.moment_contacts] = f[layout.moment_entries]
        return forces.reshape(len(self), self.dimension), moments

    def to_world(self, forces: ArrayLike) -> Floats:
        """Forces in {C_i} turned into {B}."""
        return np.einsum("ijk,ik->ij", self.rotations, np.asarray(forces, dtype=float))


def contact_rotations(normals: ArrayLike) -> Floats:
    """Right-handed frames whose last axis is the unit normal; the tangents turn smoothly except across n_z = 0.

    Args:
        normals: n x 3 (or n x 2) unit vectors into the object, in {B}.
    """
    n = np.asarray(normals, dtype=float)
    r = np.empty((*n.shape, n.shape[1]))
    r[:, :, -1] = n
    if n.shape[1] == 2:
        r[:, 0, 0], r[:, 1, 0] = n[:, 1], -n[:, 0]
        return r
    x, y, z = n.T
    sign = np.copysign(1.0, z)
    a = x / (sign + z)
    c = y / (sign + z)
    b = -x * c
    r[:, 0, 0], r[:, 1, 0], r[:, 2, 0] = 1.0 - sign * x * a, sign * b, -sign * x
    r[:, 0, 1], r[:, 1, 1], r[:, 2, 1] = b, sign - y * c, -y
    return r


def _per_contact(values: ArrayLike, n: int, name: str, source: str) -> Floats:
    given = np.array(values, dtype=float)
    if given.shape == (n,):
        return given
    if given.shape != ():
        raise GraspError(source, f"{name} of shape {given.shape}; give one number or {n}")
    return np.full(n, given)


@lru_cache(maxsize=64)
def _zeros(n: int) -> Floats:
    zeros = np.zeros(n)
    zeros.setflags(write=False)
    return zeros


@lru_cache(maxsize=64)
def _default_stiffness(n: int, s: int) -> Floats:
    k = np.broadcast_to(DEFAULT_STIFFNESS * np.eye(s), (n, s, s))
    k.setflags(write=False)
    return k


def _stiffness_blocks(stiffness: ArrayLike | None, n: int, s: int, source: str) -> Floats:
    if stiffness is None:
        return _default_stiffness(n, s)
    k = np.asarray(stiffness, dtype=float)
    if k.shape == (n, s, s):
        return k
    if k.shape not in ((n, s), (s,), ()):
        raise GraspError(source, f"stiffness of shape {k.shape}; give n x {s} numbers or n x {s} x {s} matrices")
    return np.broadcast_to(k, (n, s))[:, :, None] * np.eye(s)


def _problems(
    p: Floats,
    lengths: Floats,
    mu: Floats,
    f_max: Floats,
    k: Floats,
    a: Floats,
    soft: Bools,
) -> list[Problem]:
    """Everything wrong with the arrays; one cheap check decides whether the slow search is needed."""
    n, s = p.shape
    # Python's own min and sum beat NumPy's on a handful of numbers, and a NaN fails every comparison.
    long, rough, wide, strong = lengths.tolist(), mu.tolist(), a.tolist(), f_max.tolist()
    fine = min(long) > 0 and min(rough) >= 0 and min(wide) >= 0 and min(strong) > 0
    fine = fine and math.isfinite(sum(long) + sum(rough) + sum(wide) + float(p.sum())) and sum(strong) > 0
    given = k is not _default_stiffness(n, s)
    if fine and not (given and not _positive_definite(k)) and (a is _zeros(n) or (a[soft] > 0).all()):
        return []
    found = []
    for i in range(n):
        here = f"[{i}]"
        if not np.isfinite(p[i]).all():
            found.append(Problem(f"{here}.point", f"{p[i].tolist()} is not finite", "give coordinates in metres"))
        if not np.isfinite(lengths[i]) or lengths[i] == 0:
            found.append(Problem(f"{here}.normal", f"has length {lengths[i]:g}", "give a direction into the object"))
        if not np.isfinite(mu[i]) or mu[i] < 0:
            found.append(Problem(f"{here}.friction", f"{mu[i]:g}", "allowed: 0 (frictionless) or more, finite"))
        if not f_max[i] > 0:
            found.append(Problem(f"{here}.max_force", f"{f_max[i]:g}", "allowed: above 0 N; leave it out for no limit"))
        if not np.isfinite(a[i]) or a[i] < 0 or (soft[i] and a[i] <= 0):
            found.append(Problem(f"{here}.radius", f"{a[i]:g}", "allowed: above 0 m; leave it out for a point contact"))
        if not _positive_definite(k[i][None]):
            found.append(
                Problem(
                    f"{here}.stiffness", f"{k[i].tolist()} is not positive definite", "all directions must push back"
                )
            )
    return found


def _positive_definite(k: Floats) -> bool:
    turned = k.transpose(0, 2, 1)
    if not np.isfinite(k).all() or not (np.array_equal(k, turned) or np.allclose(k, turned, rtol=1e-9, atol=0)):
        return False
    return bool(np.linalg.eigvalsh(k).min() > 0)
