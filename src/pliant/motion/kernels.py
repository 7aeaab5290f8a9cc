"""The inner loops of the servo, compiled: from joint Jacobians and link poses to a stacked problem.

Importing this module loads numba; the rest of the package does so only when a servo is built. Twists are six numbers,
linear first. Rows with named fields (`TASK`, `LIMITS`, `LINK_POSE`, `GOAL`) are structured arrays, which
numba reads in place: a tuple of arrays would be unpacked at every call, which takes as long as a servo's step.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from pliant.arrays import Floats, Ints, Records
from pliant.motion.frame_task import OWN, WORLD

jit: Any = njit(cache=True, error_model="numpy", nogil=True, no_cfunc_wrapper=True)


@jit
def rotation_vector(R: Floats) -> tuple[float, float, float]:
    """log(R); accurate from 0 through pi, where the quaternion's sign is chosen."""
    t = R[0, 0] + R[1, 1] + R[2, 2]
    if t >= max(R[0, 0], max(R[1, 1], R[2, 2])):
        w, x, y, z = 1.0 + t, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    elif R[0, 0] >= R[1, 1] and R[0, 0] >= R[2, 2]:
        w, x, y, z = R[2, 1] - R[1, 2], 1.0 + R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]
    elif R[1, 1] >= R[2, 2]:
        w, x, y, z = R[0, 2] - R[2, 0], R[0, 1] + R[1, 0], 1.0 + R[1, 1] - R[0, 0] - R[2, 2], R[1, 2] + R[2, 1]
    else:
        w, x, y, z = R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], 1.0 + R[2, 2] - R[0, 0] - R[1, 1]
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    length = math.sqrt(x * x + y * y + z * z)
    scale = 2.0 * math.atan2(length, w) / length if length > 1e-12 * w else 2.0 / w
    return scale * x, scale * y, scale * z


@jit
def compose(link: Any, R: Floats, p: Floats, R_out: Floats, p_out: Floats) -> None:
    """T_world_link * (R, p); ``link`` is a row of `LINK_POSE`."""
    C = link.columns
    for i in range(3):
        for j in range(3):
            R_out[i, j] = C[0, i] * R[0, j] + C[1, i] * R[1, j] + C[2, i] * R[2, j]
        p_out[i] = link.translation[i] + C[0, i] * p[0] + C[1, i] * p[1] + C[2, i] * p[2]


@jit
def turn_back(R: Floats, twist: Floats) -> None:
    """Both halves of a twist from outside into the axes of R, in place."""
    for part in (0, 3):
        x, y, z = twist[part], twist[part + 1], twist[part + 2]
        for i in range(3):
            twist[part + i] = R[0, i] * x + R[1, i] * y + R[2, i] * z


@jit
def pose_error(R: Floats, p: Floats, R_wanted: Floats, p_wanted: Floats, axis: int, e: Floats) -> None:
    """e = (p* - p, log(R* R^T)) in world axes; with a pointing axis, the shortest turn that brings it home.  (theory
    5.3)
    """
    for i in range(3):
        e[i] = p_wanted[i] - p[i]
    if axis < 0:
        E = np.empty((3, 3))
        for i in range(3):
            for j in range(3):
                E[i, j] = R_wanted[i, 0] * R[j, 0] + R_wanted[i, 1] * R[j, 1] + R_wanted[i, 2] * R[j, 2]
        e[3], e[4], e[5] = rotation_vector(E)
        return
    ax, ay, az = R[0, axis], R[1, axis], R[2, axis]
    bx, by, bz = R_wanted[0, axis], R_wanted[1, axis], R_wanted[2, axis]
    cx, cy, cz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    sine = math.sqrt(cx * cx + cy * cy + cz * cz)
    angle = math.atan2(sine, ax * bx + ay * by + az * bz)
    if sine > 1e-9:
        scale = angle / sine
        e[3], e[4], e[5] = scale * cx, scale * cy, scale * cz
    else:  # aligned, or exactly opposed: then any perpendicular axis will do
        other = (axis + 1) % 3
        e[3], e[4], e[5] = angle * R[0, other], angle * R[1, other], angle * R[2, other]


@jit
def squared_sizes(e: Floats, weights: Floats) -> tuple[float, float]:
    """Squares of the linear and of the angular part of an error, rows that do not count left out."""
    linear, angular = 0.0, 0.0
    for i in range(3):
        if weights[i] != 0.0:
            linear += e[i] * e[i]
        if weights[3 + i] != 0.0:
            angular += e[3 + i] * e[3 + i]
    return linear, angular


@jit
def frame_error(links: Records, tasks: Records, goals: Records) -> tuple[float, float]:
    """Distance and angle of the first task's frame from its goal, in rows (of its own axes) that count."""
    task, goal = tasks[0], goals[0]
    R, p, e = np.empty((3, 3)), np.empty(3), np.empty(6)
    compose(links[task.frame], task.rotation, task.translation, R, p)
    pose_error(R, p, goal.rotation, goal.translation, goal.axis, e)
    turn_back(R, e)
    linear, angular = squared_sizes(e, goal.weights)
    return math.sqrt(linear), math.sqrt(angular)


@jit
def jacobian_rows(
    J_joints: Floats,
    links: Records,
    task: Any,
    support: Floats,
    column: Ints,
    R: Floats,
    p: Floats,
    B: Floats,
    J: Floats,
    row: int,
) -> None:
    """Six rows of the stack: sum over carrying joints of H R W, folded onto their masters.   (theory 5.1)

    ``J_joints`` holds each joint's unit twist at the world's origin in world axes; R moves it to the frame's origin,
    H = B^T turns it into the wanted axes. The frame's pose (R, p) and R_world_basis B are written on the way.
    """
    compose(links[task.frame], task.rotation, task.translation, R, p)
    for i in range(3):
        for j in range(3):
            if task.basis == OWN:
                B[i, j] = R[i, j]
            elif task.basis == WORLD:
                B[i, j] = 1.0 if i == j else 0.0
            else:
                B[i, j] = links[task.basis].columns[j, i]
    for i in range(row, row + 6):
        for c in range(J.shape[1]):
            J[i, c] = 0.0
    x, y, z = p[0], p[1], p[2]
    for j in range(J_joints.shape[1]):
        s = support[j]
        if s == 0.0:
            continue
        wx, wy, wz = s * J_joints[3, j], s * J_joints[4, j], s * J_joints[5, j]
        vx = s * J_joints[0, j] + wy * z - wz * y
        vy = s * J_joints[1, j] + wz * x - wx * z
        vz = s * J_joints[2, j] + wx * y - wy * x
        c = column[j]
        for i in range(3):
            J[row + i, c] += B[0, i] * vx + B[1, i] * vy + B[2, i] * vz
            J[row + 3 + i, c] += B[0, i] * wx + B[1, i] * wy + B[2, i] * wz


@jit
def stack_jacobian(J_joints: Floats, links: Records, tasks: Records, support: Floats, column: Ints, J: Floats) -> None:
    """The stacked velocity Jacobian of all tasks, 6k x n.   (theory 5.1)"""
    R, p, B = np.empty((3, 3)), np.empty(3), np.empty((3, 3))
    for k in range(tasks.shape[0]):
        jacobian_rows(J_joints, links, tasks[k], support[k], column, R, p, B, J, 6 * k)


@jit
def linearise(
    J_joints: Floats,
    links: Records,
    tasks: Records,
    support: Floats,
    column: Ints,
    J: Floats,
    V: Floats,
    e: Floats,
) -> int:
    """Stacked Jacobian, command V = Udot + K e and error e (k x 6) of all tasks, in each task's basis.

    (theory 5.1, 5.3)

    Returns:
        The first task whose command is not finite, or -1.
    """
    R, p, B = np.empty((3, 3)), np.empty(3), np.empty((3, 3))
    R_wanted, p_wanted, twist = np.empty((3, 3)), np.empty(3), np.empty(6)
    bad = -1
    for k in range(tasks.shape[0]):
        task = tasks[k]
        jacobian_rows(J_joints, links, task, support[k], column, R, p, B, J, 6 * k)
        U = task.wanted_twist
        if task.reference == WORLD:
            pose_error(R, p, task.wanted_rotation, task.wanted_translation, task.axis, e[k])
            for i in range(6):
                twist[i] = U[i]
        else:
            reference = links[task.reference]
            C = reference.columns
            compose(reference, task.wanted_rotation, task.wanted_translation, R_wanted, p_wanted)
            pose_error(R, p, R_wanted, p_wanted, task.axis, e[k])
            for i in range(3):
                twist[i] = C[0, i] * U[0] + C[1, i] * U[1] + C[2, i] * U[2]
                twist[3 + i] = C[0, i] * U[3] + C[1, i] * U[4] + C[2, i] * U[5]
        for i in range(3):
            twist[i] = task.feed_forward * twist[i] + task.gain_linear * e[k, i]
            twist[3 + i] = task.feed_forward * twist[3 + i] + task.gain_angular * e[k, 3 + i]
        if bad < 0 and not math.isfinite(twist[0] + twist[1] + twist[2] + twist[3] + twist[4] + twist[5]):
            bad = k
        turn_back(B, twist)
        turn_back(B, e[k])
        for i in range(6):
            V[6 * k + i] = twist[i]
    return bad


@jit
def stopping_speed(distance: float, acceleration: float, dt: float) -> float:
    """Largest speed from which one can still stop within ``distance``, losing at most acceleration * dt a step.

    With m = speed / (acceleration dt), the steps m, m-1, ... cover D = (n+1) m - n (n+1) / 2 units of
    acceleration dt^2, n = floor(m); this is its inverse. For dt -> 0 it is sqrt(2 a d).
    """
    if acceleration == np.inf:
        return distance / dt
    D = distance / (acceleration * dt * dt)
    n = math.floor(0.5 * (math.sqrt(1.0 + 8.0 * D) - 1.0))
    return (D + 0.5 * n * (n + 1.0)) / (n + 1.0) * acceleration * dt


@jit
def velocity_window(q: Floats, qdot: Floats, limits: Records, dt: float, lo: Floats, hi: Floats) -> None:
    """Joint speeds that keep position, velocity and acceleration limits now and for ever after.   (theory 5.2)

    A joint inside may move as fast as it can still brake; the window is never empty. A joint outside must come back
    along the same braking curve. Where a limit could only be kept by breaking the acceleration limit, the latter
    wins.
    """
    for i in range(q.shape[0]):
        limit = limits[i]
        speed, a = limit.speed, limit.acceleration
        above, below = limit.upper - q[i], q[i] - limit.lower
        top = min(speed, stopping_speed(abs(above), a, dt)) if above != np.inf else speed
        bottom = min(speed, stopping_speed(abs(below), a, dt)) if below != np.inf else speed
        first, last = qdot[i] - a * dt, qdot[i] + a * dt
        hi[i] = min(max(top if above >= 0.0 else -top, first), last)
        lo[i] = min(max(-bottom if below >= 0.0 else bottom, first), last)


@jit
def box_problem(
    J: Floats,
    V: Floats,
    row_weights: Floats,
    joint_weights: Floats,
    damping: float,
    free: Any,
    q: Floats,
    qdot: Floats,
    limits: Records,
    dt: float,
    lo: Floats,
    hi: Floats,
    H: Floats,
    f: Floats,
) -> None:
    """The quadratic program of one step: min x H x / 2 + f x within lo <= x <= hi.

    H = J^T W^2 J + damping^2 diag(joint weights), f = -J^T W^2 V. Joints that are not free stand still at once: they
    are somebody else's to brake.
    """
    m, n = J.shape
    velocity_window(q, qdot, limits, dt, lo, hi)
    for i in range(n):
        if not free[i]:
            lo[i] = hi[i] = 0.0
        f[i] = 0.0
        for j in range(i + 1):
            H[i, j] = 0.0
    for r in range(m):
        w = row_weights[r] * row_weights[r]
        if w == 0.0:
            continue
        for i in range(n):
            s = w * J[r, i]
            if s == 0.0:
                continue
            f[i] -= s * V[r]
            for j in range(i + 1):
                H[i, j] += s * J[r, j]
    for i in range(n):
        H[i, i] += damping * damping * joint_weights[i]
        for j in range(i):
            H[j, i] = H[i, j]


@jit
def conclude(
    x: Floats, lo: Floats, hi: Floats, J: Floats, V: Floats, row_weights: Floats, residual: Floats, limited: Any
) -> None:
    """Put x exactly inside its window (DAQP keeps bounds to 1e-6 only), and say what it does not achieve."""
    for i in range(x.shape[0]):
        x[i] = min(max(x[i], lo[i]), hi[i])
        limited[i] = x[i] - lo[i] < 1e-9 or hi[i] - x[i] < 1e-9
    for r in range(V.shape[0]):
        residual[r] = 0.0
        if row_weights[r] != 0.0:
            residual[r] = V[r]
            for i in range(x.shape[0]):
                residual[r] -= J[r, i] * x[i]


@jit
def descend(
    J: Floats,
    row_weights: Floats,
    multipliers: Floats,
    q: Floats,
    limits: Records,
    dt: float,
    sweeps: int,
    tolerance: float,
    qdot: Floats,
    residual: Floats,
    limited: Any,
) -> int:
    """Reduce ``residual`` = V - J qdot in place; returns the number of rounds."""
    m, n = J.shape
    lo, hi, norms = np.empty(n), np.empty(n), np.zeros(n)
    for i in range(n):
        # A stop that was overrun only forbids going further out; the way back stays open.
        hi[i] = min(limits[i].speed, max(0.0, (limits[i].upper - q[i]) / dt))
        lo[i] = max(-limits[i].speed, min(0.0, (limits[i].lower - q[i]) / dt))
        for r in range(m):
            if row_weights[r] != 0.0:
                norms[i] += (row_weights[r] * J[r, i]) ** 2
    for sweep in range(sweeps):
        largest = 0.0
        for i in range(n):
            if norms[i] < 1e-18 or multipliers[i] == 0.0:
                continue
            projection = 0.0
            for r in range(m):
                projection += row_weights[r] * row_weights[r] * J[r, i] * residual[r]
            wanted = qdot[i] + multipliers[i] * projection / norms[i]
            allowed = min(max(wanted, lo[i]), hi[i])
            limited[i] = allowed != wanted
            step = allowed - qdot[i]
            qdot[i] = allowed
            for r in range(m):
                if row_weights[r] != 0.0:
                    residual[r] -= J[r, i] * step
            largest = max(largest, abs(step))
        if largest < tolerance:
            return sweep + 1
    return sweeps
