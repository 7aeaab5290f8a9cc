"""Contact is quick enough to be asked thousands of times; bounds are three times what a quiet machine needs."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest
import trimesh
from contact_bodies import spread_ball
from scipy.spatial import cKDTree

from pliant.contact import PadSurface, PreparedObject, SphereSurface, find_first_touch, settle, solve_contacts
from pliant.contact.detection import tangent_frame
from pliant.contact.first_touch import clearance
from pliant.objects import Mesh

LEAN = pin.exp3(np.array([0.3, 0.2, 0.1]))


def least(work: Callable[[], object], repeats: int = 8) -> float:
    work()
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def approach(s: float) -> pin.SE3:
    return pin.SE3(LEAN, np.array([0.004, 0.002, 0.151 - s]))


@pytest.fixture(scope="module")
def prepared() -> PreparedObject:
    return PreparedObject.of(spread_ball(1500, 0.03), young=5e5, poisson=0.45, model="halfspace")


@pytest.fixture(scope="module")
def link() -> PadSurface:
    mesh = trimesh.creation.capsule(height=0.03, radius=0.008, count=[16, 16])
    return PadSurface.of(Mesh(mesh.vertices, mesh.faces), name="link")


def test_first_touch_ends_where_the_exact_clearance_vanishes(prepared: PreparedObject, link: PadSurface) -> None:
    s = find_first_touch(prepared, link, approach, start=0.0, stop=0.15, speed=1.0)
    assert s is not None
    assert abs(clearance(prepared, link, approach(s))) < 1e-7
    assert clearance(prepared, link, approach(s - 1e-4)) > 0.0
    assert clearance(prepared, link, approach(s + 1e-4)) < 0.0


def test_far_clearance_never_exceeds_the_true_distance(prepared: PreparedObject, link: PadSurface) -> None:
    # points of either surface: their nearest pair is no closer than the surfaces are
    tree = cKDTree(prepared.surface.points)
    rng = np.random.default_rng(0)
    for _ in range(6):
        direction = rng.normal(size=3)
        T = pin.SE3(LEAN, 0.09 * direction / np.linalg.norm(direction))
        gap = float(tree.query(link.surface.points @ T.rotation.T + T.translation)[0].min())
        assert 0.5 * gap < clearance(prepared, link, T) < gap + 1e-9


@pytest.mark.performance
def test_contact_work_stays_within_three_times_its_quiet_time(prepared: PreparedObject, link: PadSurface) -> None:
    directions = [np.array([np.cos(t), np.sin(t), 0.0]) for t in 2 * np.pi * np.arange(3) / 3]
    pads = [PadSurface(str(k), SphereSurface(0.01), friction=0.5) for k in range(3)]
    poses = [pin.SE3(tangent_frame(-n).T.copy(), n * (0.04 - 0.75e-3)) for n in directions]
    one = least(lambda: solve_contacts(prepared, pads[:1], poses[:1], free=False, cells=12))
    three = least(lambda: settle(prepared, pads, poses, load=[0, 0, -1, 0, 0, 0]))
    touch = least(lambda: find_first_touch(prepared, link, approach, start=0.0, stop=0.15, speed=1.0))
    far = least(lambda: clearance(prepared, link, approach(0.0)))
    print(f"one region {1e3 * one:.2f} ms, settle {1e3 * three:.2f} ms, touch {1e3 * touch:.2f} ms")
    assert one < 3 * 3e-3
    assert three < 3 * 15e-3
    assert touch < 3 * 5e-3
    # far away only the distance fields are asked
    assert far < 0.2 * touch
