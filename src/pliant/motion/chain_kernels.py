"""Levenberg-Marquardt on a chain, compiled: forward kinematics, Jacobian, damped step, restarts.

Pinocchio through Python costs a few microseconds a call, most of it the call itself; a solve needs dozens. What comes
out of here is always verified by Pinocchio (`inverse`), and these kinematics are tested against it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from pliant.arrays import Bools, Floats, Records
from pliant.motion.kernels import jit, pose_error, squared_sizes, turn_back

jit_inside: Any = njit(cache=True, error_model="numpy", nogil=True, forceinline=True, no_cfunc_wrapper=True)
"""For functions that take a `Workspace`: a call would copy it and count its references."""

TWO_PI = 2.0 * math.pi


class Workspace(NamedTuple):
    """Memory of one search. c joints, n coordinates.

    Attributes:
        R, p, J, e: pose of the frame, its Jacobian (6 x n) and the pose error (6).
        axes, origins: c x 3, of the joints in the world.
        A, dx: n x n, the Cholesky factor of a step, and the step.
        frozen, turns: n, coordinates that stay in a step, and those that may take the same angle a turn away.
    """

    R: Floats
    p: Floats
    J: Floats
    e: Floats
    axes: Floats
    origins: Floats
    A: Floats
    dx: Floats
    frozen: Bools
    turns: Bools


@jit
def make_workspace(c: int, n: int) -> Workspace:
    """Memory for a search on c joints and n coordinates."""
    R, p, J, e = np.empty((3, 3)), np.empty(3), np.empty((6, n)), np.empty(6)
    A, dx, frozen, turns = np.empty((n, n)), np.empty(n), np.empty(n, np.bool_), np.empty(n, np.bool_)
    return Workspace(R, p, J, e, np.empty((c, 3)), np.empty((c, 3)), A, dx, frozen, turns)


@jit_inside
def chain_kinematics(joints: Records, x: Floats, work: Workspace) -> None:
    """Pose and Jacobian of the chain's end at the coordinates x, both in world axes, into ``work``."""
    R, J, axes, origins = work.R, work.J, work.axes, work.origins
    c = axes.shape[0]
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0
    px, py, pz = 0.0, 0.0, 0.0
    for i in range(c + 1):
        joint = joints[i]
        P, p = joint.rotation, joint.translation
        px += r00 * p[0] + r01 * p[1] + r02 * p[2]
        py += r10 * p[0] + r11 * p[1] + r12 * p[2]
        pz += r20 * p[0] + r21 * p[1] + r22 * p[2]
        a00 = r00 * P[0, 0] + r01 * P[1, 0] + r02 * P[2, 0]
        a01 = r00 * P[0, 1] + r01 * P[1, 1] + r02 * P[2, 1]
        a02 = r00 * P[0, 2] + r01 * P[1, 2] + r02 * P[2, 2]
        a10 = r10 * P[0, 0] + r11 * P[1, 0] + r12 * P[2, 0]
        a11 = r10 * P[0, 1] + r11 * P[1, 1] + r12 * P[2, 1]
        a12 = r10 * P[0, 2] + r11 * P[1, 2] + r12 * P[2, 2]
        a20 = r20 * P[0, 0] + r21 * P[1, 0] + r22 * P[2, 0]
        a21 = r20 * P[0, 1] + r21 * P[1, 1] + r22 * P[2, 1]
        a22 = r20 * P[0, 2] + r21 * P[1, 2] + r22 * P[2, 2]
        if i == c:
            r00, r01, r02, r10, r11, r12, r20, r21, r22 = a00, a01, a02, a10, a11, a12, a20, a21, a22
            break
        ux, uy, uz = joint.axis[0], joint.axis[1], joint.axis[2]
        zx, zy, zz = a00 * ux + a01 * uy + a02 * uz, a10 * ux + a11 * uy + a12 * uz, a20 * ux + a21 * uy + a22 * uz
        value = joint.multiplier * x[joint.column] + joint.offset
        axes[i, 0], axes[i, 1], axes[i, 2] = zx, zy, zz
        if joint.slides:
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
        origins[i, 0], origins[i, 1], origins[i, 2] = px, py, pz
    R[0, 0], R[0, 1], R[0, 2] = r00, r01, r02
    R[1, 0], R[1, 1], R[1, 2] = r10, r11, r12
    R[2, 0], R[2, 1], R[2, 2] = r20, r21, r22
    work.p[0], work.p[1], work.p[2] = px, py, pz
    for i in range(6):
        for j in range(J.shape[1]):
            J[i, j] = 0.0
    for i in range(c):
        joint = joints[i]
        j, m = joint.column, joint.multiplier
        zx, zy, zz = m * axes[i, 0], m * axes[i, 1], m * axes[i, 2]
        if joint.slides:
            J[0, j] += zx
            J[1, j] += zy
            J[2, j] += zz
        else:
            dx, dy, dz = px - origins[i, 0], py - origins[i, 1], pz - origins[i, 2]
            J[0, j] += zy * dz - zz * dy
            J[1, j] += zz * dx - zx * dz
            J[2, j] += zx * dy - zy * dx
            J[3, j] += zx
            J[4, j] += zy
            J[5, j] += zz


@jit_inside
def evaluate(joints: Records, goal: Any, x: Floats, work: Workspace) -> float:
    """Pose, Jacobian and error at x; the cost E = e^T W e / 2."""
    chain_kinematics(joints, x, work)
    R, J, e = work.R, work.J, work.e
    pose_error(R, work.p, goal.rotation, goal.translation, goal.axis, e)
    if goal.own_axes:
        turn_back(R, e)
        for part in (0, 3):
            for j in range(J.shape[1]):
                a, b, c = J[part, j], J[part + 1, j], J[part + 2, j]
                for i in range(3):
                    J[part + i, j] = R[0, i] * a + R[1, i] * b + R[2, i] * c
    cost = 0.0
    for i in range(6):
        cost += 0.5 * goal.weights[i] * e[i] * e[i]
    return cost


@jit_inside
def damped_step(J: Floats, e: Floats, weights: Floats, damping: float, frozen: Bools, A: Floats, dx: Floats) -> None:
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


@jit_inside
def step_within(coordinates: Records, x: Floats, weights: Floats, damping: float, work: Workspace) -> None:
    """A damped step in which coordinates at a limit that it would push further out stay."""
    dx, frozen, turns = work.dx, work.frozen, work.turns
    for i in range(x.shape[0]):
        frozen[i] = False
    for _ in range(2):
        damped_step(work.J, work.e, weights, damping, frozen, work.A, dx)
        stuck = False
        for i in range(x.shape[0]):
            lower, upper = coordinates[i].lower, coordinates[i].upper
            outwards = (x[i] >= upper and dx[i] > 0.0) or (x[i] <= lower and dx[i] < 0.0)
            if outwards and not (turns[i] and upper - lower >= TWO_PI):
                frozen[i] = stuck = True
        if not stuck:
            break


@jit
def polish(joints: Records, coordinates: Records, goals: Records, x: Floats, iterations: int) -> float:
    """Where there is no answer: from the closest found, down to the bottom, in place. Returns the cost.

    Plain Levenberg-Marquardt with a damping that follows success: here the cost does not vanish, so it cannot lead.
    """
    n, goal, trial = x.shape[0], goals[0], x.copy()
    work = make_workspace(joints.shape[0] - 1, n)
    for i in range(n):
        work.turns[i] = False
    cost, damping = np.inf, 1e-2
    for _ in range(iterations):
        now = evaluate(joints, goal, trial, work)
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
            evaluate(joints, goal, x, work)
        step_within(coordinates, x, goal.weights, damping, work)
        for i in range(n):
            trial[i] = min(max(x[i] + work.dx[i], coordinates[i].lower), coordinates[i].upper)
    return cost


@jit
def search(
    joints: Records,
    coordinates: Records,
    goals: Records,
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
    n, c, goal = x.shape[0], joints.shape[0] - 1, goals[0]
    work, ratio = make_workspace(c, n), np.empty(n)
    turns = work.turns
    for i in range(n):
        turns[i] = True
    for i in range(c):
        # Only a joint that turns as its coordinate does comes back to itself after a whole turn of it.
        if joints[i].slides or abs(joints[i].multiplier) != 1.0:
            turns[joints[i].column] = False
    golden = 2.0
    for _ in range(30):
        golden = (1.0 + golden) ** (1.0 / (n + 1.0))
    for i in range(n):
        ratio[i] = golden ** (-(i + 1.0))
    used = 0
    for start in range(first_start, first_start + starts):
        if start > 0:
            for i in range(n):
                low, high = coordinates[i].lower, coordinates[i].upper
                low = -math.pi if low == -np.inf else low
                high = math.pi if high == np.inf else high
                x[i] = low + (high - low) * ((0.5 + start * ratio[i]) % 1.0)
        past = np.inf
        for iteration in range(iterations):
            used += 1
            cost = evaluate(joints, goal, x, work)
            linear, angular = squared_sizes(work.e, goal.weights)
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
            step_within(coordinates, x, goal.weights, gain * cost + 1e-12, work)
            for i in range(n):
                x[i] = into_range(x[i] + work.dx[i], coordinates[i].lower, coordinates[i].upper, turns[i])
    return -1, used, best_cost
