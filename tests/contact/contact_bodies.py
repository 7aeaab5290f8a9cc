"""Meshes and poses for the contact tests."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import trimesh

from pliant.objects import Mesh


def spread_ball(count: int, radius: float, seed: int = 0) -> Mesh:
    """An irregular ball: evenly spread points, shaken, and their convex hull."""
    i = np.arange(count) + 0.5
    polar, turn = np.arccos(1 - 2 * i / count), np.pi * (1 + 5**0.5) * i
    p = np.column_stack([np.cos(turn) * np.sin(polar), np.sin(turn) * np.sin(polar), np.cos(polar)])
    p += np.random.default_rng(seed).normal(0, 0.25 / np.sqrt(count), p.shape)
    p /= np.linalg.norm(p, axis=1)[:, None]
    hull = trimesh.convex.convex_hull(p * radius)
    return Mesh(hull.vertices, hull.faces, f"ball of {count}")


def pose_along(direction: object, point: object) -> pin.SE3:
    """A pad frame whose z points along ``direction``."""
    d = np.asarray(direction, dtype=float)
    d = d / np.linalg.norm(d)
    axis = np.eye(3)[int(np.argmin(np.abs(d)))]
    t = np.cross(axis, d)
    t /= np.linalg.norm(t)
    return pin.SE3(np.column_stack([t, np.cross(d, t), d]), np.asarray(point, dtype=float))
