"""The inner loops of the servo, compiled: from joint Jacobians and link poses to a stacked problem.

Importing this module loads numba; the rest of the package does so only when a servo is built. Poses are twelve numbers:
the rotation row by row, then the translation. Setpoints are eighteen: a pose, then its twist (linear first).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from pliant.arrays import Floats

jit: Any = njit(cache=True, error_model="numpy", nogil=True)

WORLD, OWN = -1, -2


@jit
def rotation_vector(R: Floats, out: Floats, at: int) -> None:
    """out[at:at+3] = log(R); accurate from 0 through pi, where the quaternion's sign is chosen."""
    t = R[0] + R[4] + R[8]
    if t >= max(R[0], max(R[4], R[8])):
        w, x, y, z = 1.0 + t, R[7] - R[5], R[2] - R[6], R[3] - R[1]
    elif R[0] >= R[4] and R[0] >= R[8]:
        w, x, y, z = R[7] - R[5], 1.0 + R[0] - R[4] - R[8], R[1] + R[3], R[2] + R[6]
    elif R[4] >= R[8]:
        w, x, y, z = R[2] - R[6], R[1] + R[3], 1.0 + R[4] - R[0] - R[8], R[5] + R[7]
    else:
        w, x, y, z = R[3] - R[1], R[2] + R[6], R[5] + R[7], 1.0 + R[8] - R[0] - R[4]
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    length = math.sqrt(x * x + y * y + z * z)
    scale = 2.0 * math.atan2(length, w) / length if length > 1e-12 * w else 2.0 / w
    out[at], out[at + 1], out[at + 2] = scale * x, scale * y, scale * z


@jit
def compose(A: Floats, B: Floats, out: Floats) -> None:
    """Product of two poses of twelve numbers."""
    for i in range(3):
        for j in range(3):
            out[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j]
        out[9 + i] = A[9 + i] + A[3 * i] * B[9] + A[3 * i + 1] * B[10] + A[3 * i + 2] * B[11]


@jit
def rotate(R: Floats, x: Floats, start: int, out: Floats, at: int) -> None:
    """out[at:at+3] = R x[start:start+3]."""
    for i in range(3):
        out[at + i] = R[3 * i] * x[start] + R[3 * i + 1] * x[start + 1] + R[3 * i + 2] * x[start + 2]


@jit
def pose_error(T: Floats, wanted: Floats, axis: int, e: Floats) -> None:
    """e = (p* - p, log(R* R^T)) in world axes; with a pointing axis, the shortest turn that brings it home.  (theory
    5.3)
    """
    for i in range(3):
        e[i] = wanted[9 + i] - T[9 + i]
    if axis < 0:
        R = np.empty(9)
        for i in range(3):
            for j in range(3):
                R[3 * i + j] = (
                    wanted[3 * i] * T[3 * j] + wanted[3 * i + 1] * T[3 * j + 1] + wanted[3 * i + 2] * T[3 * j + 2]
                )
        rotation_vector(R, e, 3)
        return
    ax, ay, az = T[axis], T[3 + axis], T[6 + axis]
    bx, by, bz = wanted[axis], wanted[3 + axis], wanted[6 + axis]
    cx, cy, cz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    sine = math.sqrt(cx * cx + cy * cy + cz * cz)
    angle = math.atan2(sine, ax * bx + ay * by + az * bz)
    if sine > 1e-9:
        scale = angle / sine
        e[3], e[4], e[5] = scale * cx, scale * cy, scale * cz
    else:  # aligned, or exactly opposed: then any perpendicular axis will do
        other = (axis + 1) % 3
        e[3], e[4], e[5] = angle * T[other], angle * T[3 + other], angle * T[6 + other]


@jit
def task_pose(frames: Floats, number: Any, placement: Floats, out: Floats) -> None:
    """T_world_frame; ``frames`` holds Pinocchio's poses: rotation column by column, then translation."""
    link = np.empty(12)
    read_pose(frames, number, link)
    compose(link, placement, out)


@jit
def read_pose(frames: Floats, number: int, out: Floats) -> None:
    """A frame as 12 numbers: rotation row by row, then the place; Pinocchio stores columns."""
    for i in range(3):
        for j in range(3):
            out[3 * i + j] = frames[number, 3 * j + i]
        out[9 + i] = frames[number, 9 + i]


@jit
def basis_rotation(frames: Floats, number: int, own: Floats, out: Floats) -> None:
    """R_world_basis, row by row."""
    if number == OWN:
        for i in range(9):
            out[i] = own[i]
    elif number == WORLD:
        for i in range(9):
            out[i] = 1.0 if i % 4 == 0 else 0.0
    else:
        for i in range(3):
            for j in range(3):
                out[3 * i + j] = frames[number, 3 * j + i]


@jit
def frame_rows(J_joints: Floats, support: Floats, column: Any, T: Floats, B: Floats, J: Floats, row: int) -> None:
    """Six rows of the stack: sum over carrying joints of H R W, folded onto their masters.   (theory 5.1)

    ``J_joints`` holds each joint's unit twist at the world's origin in world axes; R moves it to the frame's origin,
    H = B^T turns it into the wanted axes.
    """
    for i in range(row, row + 6):
        for c in range(J.shape[1]):
            J[i, c] = 0.0
    x, y, z = T[9], T[10], T[11]
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
            J[row + i, c] += B[i] * vx + B[3 + i] * vy + B[6 + i] * vz
            J[row + 3 + i, c] += B[i] * wx + B[3 + i] * wy + B[6 + i] * wz


@jit
def frame_error(
    frames: Floats, number: int, placement: Floats, wanted: Floats, axis: int, weights: Floats
) -> tuple[float, float]:
    """Distance and angle of a frame from a wanted pose, in rows (of its own axes) that count."""
    T, e = np.empty(12), np.empty(6)
    task_pose(frames, number, placement, T)
    pose_error(T, wanted, axis, e)
    linear, angular = 0.0, 0.0
    for i in range(3):
        if weights[i] != 0.0:
            linear += (T[i] * e[0] + T[3 + i] * e[1] + T[6 + i] * e[2]) ** 2
        if weights[3 + i] != 0.0:
            angular += (T[i] * e[3] + T[3 + i] * e[4] + T[6 + i] * e[5]) ** 2
    return math.sqrt(linear), math.sqrt(angular)


@jit
def stack_jacobian(
    J_joints: Floats, frames: Floats, numbers: Any, placements: Floats, support: Floats, column: Any, J: Floats
) -> None:
    """The stacked velocity Jacobian of all tasks, 6k x n.   (theory 5.1)"""
    T, B = np.empty(12), np.empty(9)
    for k in range(numbers.shape[0]):
        task_pose(frames, numbers[k, 0], placements[k], T)
        basis_rotation(frames, numbers[k, 2], T, B)
        frame_rows(J_joints, support[k], column, T, B, J, 6 * k)


@jit
def linearise(
    J_joints: Floats,
    frames: Floats,
    numbers: Any,
    placements: Floats,
    support: Floats,
    column: Any,
    setpoints: Floats,
    gains: Floats,
    J: Floats,
    V: Floats,
    e: Floats,
) -> int:
    """Stacked Jacobian, command V = Udot + K e and error e of all tasks, in each task's basis.   (theory 5.1, 5.3)

    Args:
        setpoints: k x 18, relative to each task's reference.
        gains: k x 3: linear and angular gain [1/s], 1 or 0 for the feed-forward.
        e: k x 6, the pose error (out).

    Returns:
        The first task whose command is not finite, or -1.
    """
    T, B, wanted, reference = np.empty(12), np.empty(9), np.empty(12), np.empty(12)
    twist = np.empty(6)
    bad = -1
    for k in range(numbers.shape[0]):
        task_pose(frames, numbers[k, 0], placements[k], T)
        basis_rotation(frames, numbers[k, 2], T, B)
        frame_rows(J_joints, support[k], column, T, B, J, 6 * k)
        if numbers[k, 1] == WORLD:
            for i in range(12):
                wanted[i] = setpoints[k, i]
            for i in range(6):
                twist[i] = setpoints[k, 12 + i]
        else:
            read_pose(frames, numbers[k, 1], reference)
            compose(reference, setpoints[k], wanted)
            rotate(reference, setpoints[k], 12, twist, 0)
            rotate(reference, setpoints[k], 15, twist, 3)
        pose_error(T, wanted, numbers[k, 3], e[k])
        for i in range(3):
            twist[i] = gains[k, 2] * twist[i] + gains[k, 0] * e[k, i]
            twist[3 + i] = gains[k, 2] * twist[3 + i] + gains[k, 1] * e[k, 3 + i]
        for i in range(3):
            V[6 * k + i] = B[i] * twist[0] + B[3 + i] * twist[1] + B[6 + i] * twist[2]
            V[6 * k + 3 + i] = B[i] * twist[3] + B[3 + i] * twist[4] + B[6 + i] * twist[5]
        for part in (0, 3):
            x, y, z = e[k, part], e[k, part + 1], e[k, part + 2]
            for i in range(3):
                e[k, part + i] = B[i] * x + B[3 + i] * y + B[6 + i] * z
        if bad < 0 and not math.isfinite(twist[0] + twist[1] + twist[2] + twist[3] + twist[4] + twist[5]):
            bad = k
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
def velocity_window(q: Floats, qdot: Floats, limits: Floats, dt: float, lo: Floats, hi: Floats) -> None:
    """Joint speeds that keep position, velocity and acceleration limits now and for ever after.   (theory 5.2)

    A joint inside may move as fast as it can still brake; the window is never empty. A joint outside must come back
    along the same braking curve. Where a limit could only be kept by breaking the acceleration limit, the latter
    wins.

    Args:
        limits: 4 x n: lower, upper, speed, acceleration.
    """
    for i in range(q.shape[0]):
        speed, a = limits[2, i], limits[3, i]
        above, below = limits[1, i] - q[i], q[i] - limits[0, i]
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
    limits: Floats,
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
