"""Grasp wrench spaces: convex hulls of what the contacts can do with unit normal forces.   (theory 7.4)

Torques are divided by a length, so that wrenches have one unit; friction cones are replaced by inscribed pyramids, so
every number here is a lower bound of the one with round cones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, QhullError

from pliant.arrays import Floats
from pliant.grasp.contacts import ContactSet
from pliant.grasp.layout import ContactModel
from pliant.grasp.matrix import RANK_TOLERANCE, component_scale, grasp_matrix, reference_length

# Qhull joggles the points to get rid of degenerate facets; answers this small are that noise.
JOGGLE_NOISE = 1e-7
# Facets that are pushed out in one round of refining the Minkowski sum.
NEAREST = 24


def edge_wrenches(
    contacts: ContactSet, centre: ArrayLike | None = None, *, edges: int = 8, length: float | None = None
) -> list[Floats]:
    """Per contact, the wrenches of the edges of its friction pyramid at a normal force of 1.

    Soft fingers get the edges of the point contact, the same at 45 degrees towards spinning, and pure spinning.

    Args:
        contacts: n contacts.
        centre: centre of mass in {B} [m].
        edges: of the pyramid in the tangent plane (a contact in the plane has two).
        length: what torques are divided by [m]; the farthest contact's distance by default.

    Returns:
        n arrays, edges x d.
    """
    s, layout = contacts.dimension, contacts.layout
    g = grasp_matrix(contacts, centre) * component_scale(contacts)
    g[s:] /= length or reference_length(contacts, centre)
    angles = np.arange(edges) * (2 * np.pi / edges)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1) if s == 3 else np.array([[1.0], [-1.0]])
    wrenches = []
    for i, part in enumerate(layout.slices):
        mu = contacts.friction[i]
        if layout.models[i] is ContactModel.FRICTIONLESS:
            local = np.ones((1, 1))
        elif layout.models[i] is ContactModel.POINT:
            local = np.column_stack([mu * ring, np.ones(len(ring))])
        else:
            level, tilt = np.zeros((edges, 1)), np.full((edges, 1), np.sqrt(0.5))
            pole = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
            ball = np.vstack(
                [np.hstack([ring, level]), np.hstack([ring * tilt, tilt]), np.hstack([ring * tilt, -tilt]), pole]
            )
            local = np.column_stack([mu * ball[:, :2], np.ones(len(ball)), mu * ball[:, 2]])
        wrenches.append(local @ g[:, part].T)
    return wrenches


def epsilon_l1(wrenches: list[Floats]) -> float:
    """Ferrari-Canny quality, sum of normal forces at most 1: radius of the ball around 0 in the hull of all edges.

    0 when the origin is not inside or the hull is flat (two point contacts in space).
    """
    hull = _hull(np.vstack(wrenches))
    if hull is None:
        return 0.0
    radius = float(-hull.equations[:, -1].max())
    return radius if radius > JOGGLE_NOISE else 0.0


def wrench_volume(wrenches: list[Floats]) -> float:
    """Volume of the hull of all edges and the origin; 0 when it is flat."""
    points = np.vstack(wrenches)
    hull = _hull(np.vstack([points, np.zeros(points.shape[1])]))
    return 0.0 if hull is None else float(hull.volume)


def epsilon_linf(wrenches: list[Floats]) -> float:
    """Ferrari-Canny quality, every normal force at most 1: the ball in the Minkowski sum of the contacts' pyramids.

    The upper bound of :func:`epsilon_linf_bounds`: the distance of a real facet of the sum. The bounds meet for all but
    very regular grasps with many contacts, where the nearest facet found may, in principle, not be the nearest of all.
    """
    return epsilon_linf_bounds(wrenches)[1]


def epsilon_linf_bounds(
    wrenches: list[Floats], *, tolerance: float = 1e-3, most_points: int = 240
) -> tuple[float, float]:
    """Lower and upper bound of the Ferrari-Canny quality with every normal force at most 1.

    The Minkowski sum has edges^n candidate corners, so it is never formed. A hull of some of its points grows where it
    is thinnest: its nearest facet is a lower bound, the support function of the sum in that direction an upper one, and
    the support point is added until the two agree. If the hull gets too large first, the upper bound slides downhill
    to the facets nearby.

    Args:
        wrenches: of :func:`edge_wrenches`.
        tolerance: relative gap at which to stop.
        most_points: of the growing hull; its cost rises with their third power in space.
    """
    # The origin is inside the sum exactly when it is inside the hull of the edges.
    if epsilon_l1(wrenches) == 0.0:
        return 0.0, 0.0
    d = wrenches[0].shape[1]
    axes = np.eye(d)
    between = [a + sign * b for i, a in enumerate(axes) for b in axes[:i] for sign in (1.0, -1.0)]
    start = np.vstack([axes, *between])
    start /= np.linalg.norm(start, axis=1, keepdims=True)
    upper, points = _support(wrenches, np.vstack([start, -start]))
    lowest, highest = 0.0, float(upper.min())
    nearest = np.zeros((0, d))
    while (hull := _hull(points)) is not None:
        offsets = -hull.equations[:, -1]
        lowest = max(lowest, float(offsets.min()))
        order = np.argsort(offsets, kind="stable")[:NEAREST]
        nearest = hull.equations[order, :-1]
        heights, corners = _support(wrenches, nearest)
        highest = min(highest, float(heights.min()))
        fresh = heights - offsets[order] > JOGGLE_NOISE * highest
        if highest - lowest <= tolerance * highest or not fresh.any():
            return min(lowest, highest), highest
        if len(points) > most_points:
            break
        points = np.vstack([hull.points[hull.vertices], np.unique(corners[fresh], axis=0)])
    for direction in nearest[:: max(len(nearest) // 8, 1)]:
        highest = min(highest, _downhill(wrenches, direction))
    return lowest, highest


def _downhill(wrenches: list[Floats], direction: Floats) -> float:
    """A local least of the support function h over unit directions: the best v on v . u = 1 is the next u."""
    n, d = len(wrenches), len(direction)
    # h(v) = sum_i max(0, max_e w_ie . v), as a linear program over (v, h_1 .. h_n).
    rows = np.vstack(
        [np.hstack([edges, -np.repeat(np.eye(n)[[i]], len(edges), axis=0)]) for i, edges in enumerate(wrenches)]
    )
    cost = np.concatenate([np.zeros(d), np.ones(n)])
    bounds = [(None, None)] * d + [(0.0, None)] * n
    u, height = direction / np.linalg.norm(direction), np.inf
    for _ in range(20):
        on_plane = np.concatenate([u, np.zeros(n)])[None]
        answer = linprog(cost, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=on_plane, b_eq=[1.0], bounds=bounds)
        if answer.x is None:
            break
        v = np.asarray(answer.x[:d])
        lower = float(_support(wrenches, v[None])[0][0] / np.linalg.norm(v))
        if lower > height * (1 - 1e-6):
            break
        u, height = v / np.linalg.norm(v), lower
    return height


def _support(wrenches: list[Floats], directions: Floats) -> tuple[Floats, Floats]:
    """Height and corner of the Minkowski sum in each direction; a contact that would only hinder is let go."""
    heights = np.zeros(len(directions))
    corners = np.zeros_like(directions)
    for edges in wrenches:
        reach = directions @ edges.T
        best = reach.argmax(axis=1)
        height = reach[np.arange(len(directions)), best]
        helps = height > 0
        heights += np.where(helps, height, 0.0)
        corners += edges[best] * helps[:, None]
    return heights, corners


def _hull(points: Floats) -> ConvexHull | None:
    """The hull, or None when the points lie in a flat piece of space."""
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    if len(points) <= points.shape[1] or spread[-1] <= RANK_TOLERANCE * spread[0]:
        return None
    try:
        return ConvexHull(points, qhull_options="QJ")
    except QhullError:
        return None
