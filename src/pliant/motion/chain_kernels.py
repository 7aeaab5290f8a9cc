"""Levenberg-Marquardt on a chain, compiled: forward kinematics, Jacobian, damped step, restarts.

Pinocchio through Python costs a few microseconds a call, most of it the call itself; a solve needs dozens. What comes
out of here is always verified by Pinocchio (`inverse`), and these kinematics are tested against it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from pliant.arrays import Floats
from pliant.motion.kernels import pose_error

jit: Any = njit(cache=True, error_model="numpy", nogil=True)

TWO_PI = 2.0 * math.pi


@jit
def chain_kinematics(
    placements: Floats,
    axes: Floats,
    slides: Any,
    column: Any,
    multiplier: Floats,
    offset: Floats,
    x: Floats,
    work: Floats,
    T: Floats,
    J: Floats,
) -> None:
    """Pose T (12) of the chain's end and its Jacobian J (6 x n), both in world axes. ``work`` is c x 6."""
    c = axes.shape[0]
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0
    px, py, pz = 0.0, 0.0, 0.0
    for i in range(c + 1):
        P = placements[i]
        px += r00 * P[9] + r01 * P[10] + r02 * P[11]
        py += r10 * P[9] + r11 * P[10] + r12 * P[11]
        pz += r20 * P[9] + r21 * P[10] + r22 * P[11]
        a00 = r00 * P[0] + r01 * P[3] + r02 * P[6]
        a01 = r00 * P[1] + r01 * P[4] + r02 * P[7]
        a02 = r00 * P[2] + r01 * P[5] + r02 * P[8]
        a10 = r10 * P[0] + r11 * P[3] + r12 * P[6]
        a11 = r10 * P[1] + r11 * P[4] + r12 * P[7]
        a12 = r10 * P[2] + r11 * P[5] + r12 * P[8]
        a20 = r20 * P[0] + r21 * P[3] + r22 * P[6]
        a21 = r20 * P[1] + r21 * P[4] + r22 * P[7]
        a22 = r20 * P[2] + r21 * P[5] + r22 * P[8]
        if i == c:
            r00, r01, r02, r10, r11, r12, r20, r21, r22 = a00, a01, a02, a10, a11, a12, a20, a21, a22
            break
        ux, uy, uz = axes[i, 0], axes[i, 1], axes[i, 2]
        zx, zy, zz = a00 * ux + a01 * uy + a02 * uz, a10 * ux + a11 * uy + a12 * uz, a20 * ux + a21 * uy + a22 * uz
        value = multiplier[i] * x[column[i]] + offset[i]
        work[i, 0], work[i, 1], work[i, 2] = zx, zy, zz
        if slides[i]:
            px, py, pz = px + value * zx, py + value * zy, pz + value * zz
            r00, r01, r02, r10, r11, r12, r20, r21, r22 = a00, a01, a02, a10, a11, a12, a20, a21, a22
        else:
            s, k = math.sin(value), math.cos(value)
            v = 1.0 - k
            b00, b01, b02 = k + ux * ux * v, ux * uy * v - uz * s, ux * uz * v + uy * s
            b10, b11, b12 = uy * ux * v + uz * s, k + uy * uy * v, uy * uz * v - ux * s
            b20, b21, b22 = uz * ux * v - uy * s, uz * uy * v + ux * s, k + uz * uz * v
            r00, r01, r02 = (
                a00 * b00 + a01 * b10 + a02 * b20,
                a00 * b01 + a01 * b11 + a02 * b21,
                a00 * b02 + a01 * b12 + a02 * b22,
            )
            r10, r11, r12 = (
                a10 * b00 + a11 * b10 + a12 * b20,
                a10 * b01 + a11 * b11 + a12 * b21,
                a10 * b02 + a11 * b12 + a12 * b22,
            )
            r20, r21, r22 = (
                a20 * b00 + a21 * b10 + a22 * b20,
                a20 * b01 + a21 * b11 + a22 * b21,
                a20 * b02 + a21 * b12 + a22 * b22,
            )
        work[i, 3], work[i, 4], work[i, 5] = px, py, pz
    T[0], T[1], T[2], T[3], T[4], T[5], T[6], T[7], T[8] = r00, r01, r02, r10, r11, r12, r20, r21, r22
    T[9], T[10], T[11] = px, py, pz
    for i in range(6):
        for j in range(J.shape[1]):
            J[i, j] = 0.0
    for i in range(c):
        j, m = column[i], multiplier[i]
        zx, zy, zz = m * work[i, 0], m * work[i, 1], m * work[i, 2]
        if slides[i]:
            J[0, j] += zx
            J[1, j] += zy
            J[2, j] += zz
        else:
            dx, dy, dz = px - work[i, 3], py - work[i, 4], pz - work[i, 5]
            J[0, j] += zy * dz - zz * dy
            J[1, j] += zz * dx - zx * dz
            J[2, j] += zx * dy - zy * dx
            J[3, j] += zx
            J[4, j] += zy
            J[5, j] += zz


@jit
def to_own_axes(T: Floats, J: Floats, e: Floats) -> None:
    """Turn error and Jacobian from world axes into the frame's own."""
    for part in (0, 3):
        a, b, c = e[part], e[part + 1], e[part + 2]
        for i in range(3):
            e[part + i] = T[i] * a + T[3 + i] * b + T[6 + i] * c
        for j in range(J.shape[1]):
            a, b, c = J[part, j], J[part + 1, j], J[part + 2, j]
            for i in range(3):
                J[part + i, j] = T[i] * a + T[3 + i] * b + T[6 + i] * c


@jit
def damped_step(J: Floats, e: Floats, weights: Floats, damping: float, frozen: Any, A: Floats, dx: Floats) -> None:
    """dx = (J^T W J + damping)^-1 J^T W e by Cholesky; frozen coordinates stay."""
    n = J.shape[1]
    for i in range(n):
        dx[i] = 0.0
        for r in range(6):
            dx[i] += J[r, i] * weights[r] * e[r]
    for i in range(n):
        if frozen[i]:
            dx[i] = 0.0
        for j in range(i + 1):
            s = 0.0
            if frozen[i] or frozen[j]:
                s = 1.0 if i == j else 0.0
            else:
                for r in range(6):
                    s += J[r, i] * weights[r] * J[r, j]
                if i == j:
                    s += damping
            for k in range(j):
                s -= A[i, k] * A[j, k]
            A[i, j] = math.sqrt(s) if i == j else s / A[j, j]
    for i in range(n):
        for k in range(i):
            dx[i] -= A[i, k] * dx[k]
        dx[i] /= A[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            dx[i] -= A[k, i] * dx[k]
        dx[i] /= A[i, i]


@jit
def into_range(value: float, lower: float, upper: float, turns: bool) -> float:
    """The same angle a turn away if that lies in the range, else the nearest limit."""
    if value > upper:
        lesser = value - TWO_PI * math.ceil((value - upper) / TWO_PI)
        return lesser if turns and lesser >= lower else upper
    if value < lower:
        greater = value + TWO_PI * math.ceil((lower - value) / TWO_PI)
        return greater if turns and greater <= upper else lower
    return value


@jit
def copy_into(source: Floats, out: Floats) -> None:
    """out[:] = source, which numba compiles ten times as quickly this way."""
    for i in range(out.shape[0]):
        out[i] = source[i]


@jit
def evaluate(
    placements: Floats,
    axes: Floats,
    slides: Any,
    column: Any,
    multiplier: Floats,
    offset: Floats,
    x: Floats,
    target: Floats,
    weights: Floats,
    axis: int,
    own_axes: bool,
    work: Floats,
    T: Floats,
    J: Floats,
    e: Floats,
) -> float:
    """Pose, Jacobian and error at x; the cost E = e^T W e / 2."""
    chain_kinematics(placements, axes, slides, column, multiplier, offset, x, work, T, J)
    pose_error(T, target, axis, e)
    if own_axes:
        to_own_axes(T, J, e)
    cost = 0.0
    for i in range(6):
        cost += 0.5 * weights[i] * e[i] * e[i]
    return cost


@jit
def step_within(
    J: Floats,
    e: Floats,
    weights: Floats,
    damping: float,
    lower: Floats,
    upper: Floats,
    turns: Any,
    x: Floats,
    frozen: Any,
    A: Floats,
    dx: Floats,
) -> None:
    """A damped step in which coordinates at a limit that it would push further out stay."""
    for i in range(x.shape[0]):
        frozen[i] = False
    damped_step(J, e, weights, damping, frozen, A, dx)
    stuck = False
    for i in range(x.shape[0]):
        outwards = (x[i] >= upper[i] and dx[i] > 0.0) or (x[i] <= lower[i] and dx[i] < 0.0)
        if outwards and not (turns[i] and upper[i] - lower[i] >= TWO_PI):
            frozen[i] = stuck = True
    if stuck:
        damped_step(J, e, weights, damping, frozen, A, dx)


@jit
def polish(
    placements: Floats,
    axes: Floats,
    slides: Any,
    column: Any,
    multiplier: Floats,
    offset: Floats,
    lower: Floats,
    upper: Floats,
    target: Floats,
    weights: Floats,
    axis: int,
    own_axes: bool,
    x: Floats,
    iterations: int,
) -> float:
    """Where there is no answer: from the closest found, down to the bottom, in place. Returns the cost.

    Plain Levenberg-Marquardt with a damping that follows success: here the cost does not vanish, so it cannot lead.
    """
    n, c = x.shape[0], axes.shape[0]
    T, J, e, work = np.empty(12), np.empty((6, n)), np.empty(6), np.empty((c, 6))
    A, dx, trial, frozen = np.zeros((n, n)), np.empty(n), x.copy(), np.zeros(n, dtype=np.bool_)
    turns = np.zeros(n, dtype=np.bool_)
    cost, damping = np.inf, 1e-2
    for _ in range(iterations):
        now = evaluate(
            placements, axes, slides, column, multiplier, offset, trial, target, weights, axis, own_axes, work, T, J, e
        )
        if now < cost:
            done = cost - now < 1e-14 * cost
            cost = now
            copy_into(trial, x)
            damping = max(0.2 * damping, 1e-9)
            if done:
                break
        else:
            damping *= 5.0
            if damping > 1e9:
                break
            evaluate(
                placements, axes, slides, column, multiplier, offset, x, target, weights, axis, own_axes, work, T, J, e
            )
        step_within(J, e, weights, damping, lower, upper, turns, x, frozen, A, dx)
        for i in range(n):
            trial[i] = min(max(x[i] + dx[i], lower[i]), upper[i])
    return cost


@jit
def search(
    placements: Floats,
    axes: Floats,
    slides: Any,
    column: Any,
    multiplier: Floats,
    offset: Floats,
    lower: Floats,
    upper: Floats,
    target: Floats,
    weights: Floats,
    axis: int,
    own_axes: bool,
    tolerance: float,
    first_start: int,
    starts: int,
    iterations: int,
    gain: float,
    x: Floats,
    best: Floats,
    best_cost: float,
) -> tuple[int, int, float]:
    """Levenberg-Marquardt from one start after another until one arrives.   (theory 5.7)

    Start 0 is ``x``; the others fill the joint ranges evenly (an additive sequence on the generalised golden ratio),
    the same ones every time. The damping is ``gain`` times the cost E = e^T W e / 2 (Chan and Lawrence 1988; Sugihara
    2011): strong far away and at dead ends, gone at the answer. Coordinates at a limit that the step would push
    further out stay.

    Returns:
        (start that arrived or -1, iterations used, cost of ``best``). ``best`` holds the answer, or the closest found.
    """
    n, c = x.shape[0], axes.shape[0]
    T, J, e, work = np.empty(12), np.empty((6, n)), np.empty(6), np.empty((c, 6))
    A, dx, ratio = np.zeros((n, n)), np.empty(n), np.empty(n)
    frozen, turns = np.zeros(n, dtype=np.bool_), np.ones(n, dtype=np.bool_)
    for i in range(c):
        # Only a joint that turns as its coordinate does comes back to itself after a whole turn of it.
        if slides[i] or abs(multiplier[i]) != 1.0:
            turns[column[i]] = False
    golden = 2.0
    for _ in range(30):
        golden = (1.0 + golden) ** (1.0 / (n + 1.0))
    for i in range(n):
        ratio[i] = golden ** (-(i + 1.0))
    used = 0
    for start in range(first_start, first_start + starts):
        if start > 0:
            for i in range(n):
                low = -math.pi if lower[i] == -np.inf else lower[i]
                high = math.pi if upper[i] == np.inf else upper[i]
                x[i] = low + (high - low) * ((0.5 + start * ratio[i]) % 1.0)
        past = np.inf
        for iteration in range(iterations):
            used += 1
            cost = evaluate(
                placements, axes, slides, column, multiplier, offset, x, target, weights, axis, own_axes, work, T, J, e
            )
            linear, angular = 0.0, 0.0
            for i in range(3):
                if weights[i] != 0.0:
                    linear += e[i] * e[i]
                if weights[3 + i] != 0.0:
                    angular += e[3 + i] * e[3 + i]
            if cost < best_cost:
                best_cost = cost
                copy_into(x, best)
            if linear <= tolerance * tolerance and angular <= tolerance * tolerance:
                copy_into(x, best)
                return start, used, cost
            # A start that does not get anywhere is given up for the next one.
            if iteration % 8 == 7:
                if cost > 0.5 * past:
                    break
                past = cost
            step_within(J, e, weights, gain * cost + 1e-12, lower, upper, turns, x, frozen, A, dx)
            for i in range(n):
                x[i] = into_range(x[i] + dx[i], lower[i], upper[i], turns[i])
    return -1, used, best_cost
