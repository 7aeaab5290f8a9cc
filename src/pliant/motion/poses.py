"""Poses from numbers that people and files give, checked."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from pliant.errors import OptionError, Problem

# A quaternion written with four digits is off by at most this.
NORM_TOLERANCE = 1e-3

FARTHEST = 1e9
"""Of a pose from the origin [m], and of what moves in a second; there a number tells no less than 0.1 um."""


def pose_from_quaternion(position: Sequence[float], quaternion: Sequence[float], *, where: str) -> pin.SE3:
    """T from x y z and w x y z. A quaternion that is not of length one is refused, not silently scaled."""
    p, wxyz = np.asarray(position, dtype=np.float64), np.asarray(quaternion, dtype=np.float64)
    if p.shape != (3,) or wxyz.shape != (4,):
        what = f"{p.size} + {wxyz.size} numbers"
        raise OptionError("pose", Problem(where, what, "three for the position and four (w x y z) for the quaternion"))
    if not (np.isfinite(p).all() and np.isfinite(wxyz).all()):
        raise OptionError("pose", Problem(where, "a number is NaN or infinite", "finite numbers"))
    norm = math.hypot(*wxyz)
    if abs(norm - 1.0) > NORM_TOLERANCE:
        what = f"the quaternion has length {norm:.6g}"
        unit = "" if norm < 1e-9 else ": " + ", ".join(f"{value:.6g}" for value in wxyz / norm)
        raise OptionError("pose", Problem(where, what, f"a unit quaternion w, x, y, z{unit}"))
    w, x, y, z = wxyz / norm
    return pin.SE3(pin.Quaternion(w, x, y, z).toRotationMatrix(), p)


def pose_from_numbers(numbers: Sequence[float], *, where: str) -> pin.SE3:
    """T from seven numbers: x, y, z, qw, qx, qy, qz."""
    if len(numbers) != 7:
        raise OptionError("pose", Problem(where, f"{len(numbers)} numbers", "seven: x, y, z, qw, qx, qy, qz"))
    return pose_from_quaternion(numbers[:3], numbers[3:], where=where)


def pose_numbers(T: pin.SE3) -> list[float]:
    """x, y, z, qw, qx, qy, qz."""
    x, y, z, w = pin.Quaternion(T.rotation).coeffs()
    return [*map(float, T.translation), float(w), float(x), float(y), float(z)]


def check_pose(T: pin.SE3, *, where: str) -> None:
    """Refuse a pose whose numbers are not finite, that is too far away or whose matrix is no rotation."""
    # Plain numbers: numpy would take ten times as long.
    (a, b, c), (d, e, f), (g, h, i) = T.rotation.tolist()
    x, y, z = T.translation.tolist()
    if not math.isfinite(a + b + c + d + e + f + g + h + i + x + y + z):
        raise OptionError("pose", Problem(where, "a number is NaN or infinite", "finite numbers"))
    if max(abs(x), abs(y), abs(z)) > FARTHEST:
        away = max(abs(x), abs(y), abs(z))
        raise OptionError("pose", Problem(where, f"lies {away:.3g} m away", f"at most {FARTHEST:g} m"))
    # A right-handed rotation's rows: two unit vectors and their cross product.
    off = (
        a * a + b * b + c * c - 1.0,
        d * d + e * e + f * f - 1.0,
        b * f - c * e - g,
        c * d - a * f - h,
        a * e - b * d - i,
        g * g + h * h + i * i - 1.0,
    )
    if max(map(abs, off)) > 1e-6:
        raise OptionError("pose", Problem(where, "the rotation matrix is not a rotation", "R^T R = 1, det R = 1"))
