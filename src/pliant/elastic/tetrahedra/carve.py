"""Which of Delaunay's tetrahedra make up the body.

Where a tetrahedron's centre lies decides for nearly all. In the surface itself there are flat ones that are neither
in nor out, and choosing them one by one may leave a boundary that is pinched at a corner. So a cost is made smaller,
a tetrahedron or up to three neighbours at a time, until no change helps: of pinched corners first, then of flat
tetrahedra kept, then of strayed volume.
"""

from __future__ import annotations

import numpy as np

from pliant.arrays import Bools, Floats, Ints
from pliant.compiled import inner, kernel

Stars = tuple[Ints, Ints]

_PINCHED = 10.0
_LOST = 3.0
_BURIED = 1.0
_FLAT = 0.22
"""Shape below which a tetrahedron of surface points is better left out."""
_SWEEPS = 100


def stars_of(cells: Ints, size: int) -> Stars:
    """The tetrahedra around every node, as offsets and numbers."""
    order = np.argsort(cells.ravel(), kind="stable")
    return np.searchsorted(cells.ravel()[order], np.arange(size + 1)).astype(np.int64), order // 4


def carve(cells: Ints, neighbours: Ints, outer: int, depths: Floats, shapes: Floats, kept: Bools, stars: Stars) -> None:
    """Improve ``kept``, in place, which tetrahedra belong to the body.

    Args:
        cells: all of Delaunay's tetrahedra.
        neighbours: the tetrahedron opposite to every corner, -1 for none.
        outer: how many nodes, the first, lie on the surface; only tetrahedra of these alone are in question.
        depths: how deep the centres lie inside, in units in which one is a lot.
        shapes: of the tetrahedra, 1 for regular ones, 0 for flat ones.
        kept: first guess, changed.
        stars: from ``stars_of``.
    """
    question = np.flatnonzero((cells < outer).all(axis=1) & (np.abs(depths) < 4.0))
    # small ones first: what can be had cheaply is had before anything is sacrificed
    question = question[np.argsort(np.abs(depths[question]), kind="stable")]
    _descend(cells, neighbours, outer, depths, shapes, kept, *stars, question)


@inner
def _root(parent: Ints, i: int) -> int:
    while parent[i] != i:
        i = parent[i]
    return i


@inner
def _corner_cost(v: int, cells: Ints, neighbours: Ints, kept: Bools, offsets: Ints, stars: Ints, parent: Ints) -> float:
    """What a surface node costs: body and outside around it are each in one piece, or it is pinched."""
    lo = offsets[v]
    k = offsets[v + 1] - lo
    for i in range(k + 1):
        parent[i] = i
    outside = False  # beyond the hull of all points
    for i in range(k):
        t = stars[lo + i]
        for f in range(4):
            if cells[t, f] == v:
                continue
            other = neighbours[t, f]
            if other < 0:
                outside = True
                if not kept[t]:
                    parent[_root(parent, i)] = _root(parent, k)
            elif other < t and kept[other] == kept[t]:
                for j in range(k):
                    if stars[lo + j] == other:
                        parent[_root(parent, i)] = _root(parent, j)
                        break
    within = 0
    without = 0
    for i in range(k):
        if parent[i] == i:
            if kept[stars[lo + i]]:
                within += 1
            else:
                without += 1
    if outside and parent[k] == k:
        without += 1
    cost = _PINCHED * (max(within - 1, 0) + max(without - 1, 0))
    if within == 0:
        cost += _LOST
    if without == 0:
        cost += _BURIED
    return cost


@inner
def _cell_cost(t: int, depths: Floats, shapes: Floats, kept: Bools) -> float:
    if not kept[t]:
        return max(depths[t], 0.0)
    return max(-depths[t], 0.0) + 2.0 * max(1.0 - shapes[t] / _FLAT, 0.0)


@kernel
def _descend(
    cells: Ints, neighbours: Ints, outer: int, depths: Floats, shapes: Floats, kept: Bools, offsets: Ints, stars: Ints,
    question: Ints,
) -> None:  # fmt: skip
    parent = np.empty(len(cells) + 1, dtype=np.int64)
    costs = np.zeros(len(offsets) - 1)
    for v in range(outer):
        costs[v] = _corner_cost(v, cells, neighbours, kept, offsets, stars, parent)
    asked = np.zeros(len(cells), dtype=np.bool_)
    for t in question:
        asked[t] = True
    group = np.empty(3, dtype=np.int64)
    touched = np.empty(12, dtype=np.int64)
    new = np.empty(12)
    one, two, three = np.int64(1), np.int64(2), np.int64(3)  # numbers: for constants everything is compiled thrice
    size = 1  # of the groups changed together: single ones as long as that helps, then neighbours
    for _ in range(_SWEEPS):
        changed = False
        for t in question:
            group[0] = t
            if size == 1:
                changed |= _try(
                    group, one, touched, new, costs, cells, neighbours, depths, shapes, kept, offsets, stars, parent
                )
                continue
            trouble = kept[t] and _cell_cost(t, depths, shapes, kept) > 0.5
            for i in range(4):
                trouble |= costs[cells[t, i]] >= _PINCHED
            if not trouble:
                continue
            for f in range(4):
                group[1] = neighbours[t, f]
                if group[1] < 0 or not asked[group[1]]:
                    continue
                if _try(
                    group, two, touched, new, costs, cells, neighbours, depths, shapes, kept, offsets, stars, parent
                ):
                    changed = True
                    break
                if size == 2:
                    continue
                done = False
                for h in range(8):
                    group[2] = neighbours[group[1], h] if h < 4 else neighbours[t, h - 4]
                    if group[2] < 0 or group[2] == t or group[2] == group[1] or not asked[group[2]]:
                        continue
                    if _try(
                        group,
                        three,
                        touched,
                        new,
                        costs,
                        cells,
                        neighbours,
                        depths,
                        shapes,
                        kept,
                        offsets,
                        stars,
                        parent,
                    ):
                        done = True
                        break
                if done:
                    changed = True
                    break
        if changed:
            size = 1
        elif size == 3:
            break
        else:
            size += 1


@inner
def _try(
    group: Ints, size: int, touched: Ints, new: Floats, costs: Floats, cells: Ints, neighbours: Ints, depths: Floats,
    shapes: Floats, kept: Bools, offsets: Ints, stars: Ints, parent: Ints,
) -> bool:  # fmt: skip
    """Turn a group of tetrahedra in or out if that costs less."""
    n = 0
    before = 0.0
    for g in range(size):
        before += _cell_cost(group[g], depths, shapes, kept)
        for i in range(4):
            v = cells[group[g], i]
            known = False
            for j in range(n):
                known |= touched[j] == v
            if not known:
                touched[n] = v
                before += costs[v]
                n += 1
    after = 0.0
    for g in range(size):
        kept[group[g]] = not kept[group[g]]
        after += _cell_cost(group[g], depths, shapes, kept)
    for j in range(n):
        new[j] = _corner_cost(touched[j], cells, neighbours, kept, offsets, stars, parent)
        after += new[j]
    if after < before - 1e-9:
        for j in range(n):
            costs[touched[j]] = new[j]
        return True
    for g in range(size):
        kept[group[g]] = not kept[group[g]]
    return False
