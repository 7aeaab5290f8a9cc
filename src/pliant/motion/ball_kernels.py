"""Ball joints in the servo, compiled: three columns of angular velocity, and the Cardan angles of a turned joint.

No three angles are regular everywhere: at a pitch of 90 degrees yaw and roll turn about one line, and a turn across it
would need infinite rates. The servo therefore solves for the joint's angular velocity in the axes of the link it turns,
whose unit twists are constant there (theory 5.1), turns the joint by it, and only then reads the angles.
"""

from __future__ import annotations

import math

import numpy as np

from pliant.arrays import Bools, Floats, Records
from pliant.motion.kernels import jit
from pliant.robot import Robot

BALL = np.dtype([("row", "i8"), ("column", "i8"), ("frame", "i8")])
"""A ball joint: first of its rows among the moving joints and of its columns in q, and the frame that it turns."""

TWO_PI = 2.0 * math.pi


def whole_balls(robot: Robot, free: Bools) -> Records:
    """Rows of `BALL` for the ball joints all of whose angles may move, or none; others are just three joints."""
    whole = [b for b in robot.balls if len(set(free[b.column : b.column + 3].tolist())) == 1]
    return np.array(whole, BALL)


@jit
def ball_columns(balls: Records, links: Records, J: Floats) -> None:
    """Replace the twists of yaw, pitch and roll in Pinocchio's J by those of turns about the link's own z, y and x.

    As Pinocchio's: at the world's origin, in world axes. A turn about the axis a through c is (c x a, a).
    """
    for k in range(balls.shape[0]):
        link = links[balls[k].frame]
        c = link.translation
        for i in range(3):
            a, j = link.columns[i], balls[k].row + 2 - i
            J[0, j], J[1, j], J[2, j] = c[1] * a[2] - c[2] * a[1], c[2] * a[0] - c[0] * a[2], c[0] * a[1] - c[1] * a[0]
            J[3, j], J[4, j], J[5, j] = a[0], a[1], a[2]


@jit
def turn_balls(balls: Records, speeds: Floats, dt: float, q: Floats, out: Floats) -> None:
    """Yaw, pitch and roll after R exp(w dt) into ``out``; ``speeds`` holds w about the turned link's z, y and x.

    Of the angles that mean the same orientation, (yaw, pitch, roll) and (yaw + pi, pi - pitch, roll + pi) and whole
    turns from both, those nearest to ``q``: passing straight over the top leaves yaw and roll as they were.
    """
    for k in range(balls.shape[0]):
        i = balls[k].column
        R = _turned(q[i], q[i + 1], q[i + 2], dt * speeds[i + 2], dt * speeds[i + 1], dt * speeds[i])
        level = math.hypot(R[0, 0], R[1, 0])
        # At the top only the sum of the turns about the vertical counts: yaw stays.
        yaw = math.atan2(R[1, 0], R[0, 0]) if level > 1e-12 else q[i]
        s, c = math.sin(yaw), math.cos(yaw)
        pitch = math.atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
        roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
        best = np.inf
        for other in range(2):
            if other:
                yaw, pitch, roll = yaw + math.pi, math.pi - pitch, roll + math.pi
            a, b, c = _nearest(yaw, q[i]), _nearest(pitch, q[i + 1]), _nearest(roll, q[i + 2])
            change = max(abs(a - q[i]), abs(b - q[i + 1]), abs(c - q[i + 2]))
            if change < best:
                best = change
                out[i], out[i + 1], out[i + 2] = a, b, c


@jit
def _nearest(angle: float, to: float) -> float:
    """The same angle whole turns away, nearest to another."""
    return angle - TWO_PI * round((angle - to) / TWO_PI)


@jit
def _turned(yaw: float, pitch: float, roll: float, x: float, y: float, z: float) -> Floats:
    """Rz(yaw) Ry(pitch) Rx(roll) exp([x, y, z])."""
    a, b = _of_cardan(yaw, pitch, roll), _of_vector(x, y, z)
    R = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            R[i, j] = a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j]
    return R


@jit
def _of_cardan(yaw: float, pitch: float, roll: float) -> Floats:
    s1, c1, s2, c2, s3, c3 = (
        math.sin(yaw), math.cos(yaw), math.sin(pitch), math.cos(pitch), math.sin(roll), math.cos(roll),
    )  # fmt: skip
    R = np.empty((3, 3))
    R[0, 0], R[0, 1], R[0, 2] = c1 * c2, c1 * s2 * s3 - s1 * c3, c1 * s2 * c3 + s1 * s3
    R[1, 0], R[1, 1], R[1, 2] = s1 * c2, s1 * s2 * s3 + c1 * c3, s1 * s2 * c3 - c1 * s3
    R[2, 0], R[2, 1], R[2, 2] = -s2, c2 * s3, c2 * c3
    return R


@jit
def _of_vector(x: float, y: float, z: float) -> Floats:
    """exp of a rotation vector: the unit quaternion's matrix, exact through zero."""
    angle = math.sqrt(x * x + y * y + z * z)
    k = math.sin(0.5 * angle) / angle if angle > 1e-9 else 0.5
    w, x, y, z = math.cos(0.5 * angle), k * x, k * y, k * z
    R = np.empty((3, 3))
    R[0, 0], R[0, 1], R[0, 2] = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)
    R[1, 0], R[1, 1], R[1, 2] = 2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)
    R[2, 0], R[2, 1], R[2, 2] = 2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)
    return R
