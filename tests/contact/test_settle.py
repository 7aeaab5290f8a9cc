"""Settling: balance of contact forces, Coulomb friction and weight (theory 8.3)."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
import trimesh
from contact_bodies import pose_along

from pliant.contact import (
    ContactState,
    ContactStatus,
    PadSurface,
    PlaneSurface,
    PreparedObject,
    SphereSurface,
    settle,
    solve_contacts,
)
from pliant.objects import Mesh

X, Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


def pinch(ball: PreparedObject, mu: float, weight: float) -> ContactState:
    pads = [PadSurface(name, SphereSurface(0.01), friction=mu) for name in ("left", "right")]
    poses = [pose_along(-s * X, s * X * (0.04 - 0.75e-3)) for s in (1, -1)]
    return settle(ball, pads, poses, load=[0, 0, -weight, 0, 0, 0])


def test_pinch_holds_a_weight_of_up_to_two_mu_n_and_says_slips_beyond(ball: PreparedObject) -> None:
    normal = pinch(ball, 0.5, 0.1).largest_force
    for mu in (0.3, 0.5):
        most = 2 * mu * normal
        held = pinch(ball, mu, 0.95 * most)
        assert held.status is ContactStatus.SETTLED
        assert sum(region.force for region in held.regions) == pytest.approx([0, 0, 0.95 * most], abs=0.01 * most)
        for region in held.regions:
            assert np.linalg.norm(region.tangential_force) <= mu * region.normal_force * 1.001
        assert pinch(ball, mu, 1.06 * most).status is ContactStatus.SLIPS


def test_held_weight_sags_by_the_tangential_stiffness(ball: PreparedObject) -> None:
    state = pinch(ball, 0.8, 0.4)
    stiffness = sum(region.stiffness[0, 0] for region in state.regions)
    assert -state.motion[2] == pytest.approx(0.4 / stiffness, rel=0.05)


def test_ball_between_pads_of_unequal_depth_settles_in_the_middle(ball: PreparedObject) -> None:
    pads = [PadSurface(str(k), PlaneSurface(), friction=0.3) for k in range(2)]
    poses = [pose_along(-X, X * (0.03 - 1.5e-3)), pose_along(X, -X * (0.03 - 0.3e-3))]
    state = settle(ball, pads, poses)
    assert state.status is ContactStatus.SETTLED
    assert state.motion[0] == pytest.approx(-0.6e-3, rel=0.01)
    assert np.abs(state.motion[1:3]).max() < 0.02e-3


@pytest.mark.parametrize("angle_deg", [10.0, 20.0, 30.0])
def test_wedge_is_squeezed_out_at_the_friction_angle(angle_deg: float) -> None:
    """Faces inclined by a from opposition hold if and only if tan a < mu."""
    a, w, h = np.deg2rad(angle_deg), 0.02, 0.04
    t = h / 2 * np.tan(a)
    section = [(-w - t, -h / 2), (w + t, -h / 2), (w - t, h / 2), (-w + t, h / 2)]
    hull = trimesh.convex.convex_hull(np.array([(x, y, z) for y in (-0.03, 0.03) for x, z in section]))
    wedge = PreparedObject.of(Mesh(hull.vertices, hull.faces), young=5e5, poisson=0.45, model="halfspace")
    poses = []
    for side in (1, -1):
        n = np.array([side * np.cos(a), 0.0, np.sin(a)])
        poses.append(pin.SE3(np.eye(3), side * w * X + n * 0.01 - side * X * 0.5e-3))
    for mu, expected in ((0.9 * np.tan(a), ContactStatus.PUSHED_AWAY), (1.1 * np.tan(a), ContactStatus.SETTLED)):
        pads = [PadSurface(name, SphereSurface(0.01), friction=mu) for name in ("left", "right")]
        assert settle(wedge, pads, poses).status is expected


def test_three_fingers_share_a_weight_equally(ball: PreparedObject) -> None:
    around = [np.array([np.cos(t), np.sin(t), 0.0]) for t in 2 * np.pi * np.arange(3) / 3]
    pads = [PadSurface(str(k), SphereSurface(0.01), friction=0.5) for k in range(3)]
    state = settle(ball, pads, [pose_along(-n, n * (0.04 - 0.75e-3)) for n in around], load=[0, 0, -1, 0, 0, 0])
    assert state.status is ContactStatus.SETTLED
    for region in state.regions:
        assert region.force[2] == pytest.approx(1 / 3, rel=0.02)
    assert np.linalg.norm(state.residual[:3]) < 0.01


def test_turning_load_about_the_pinch_line_is_held_only_up_to_the_soft_finger_limit(ball: PreparedObject) -> None:
    """|m| <= mu F e per contact, e = 3 pi a / 16 (theory 7.1)."""
    pads = [PadSurface(name, SphereSurface(0.01), friction=0.5) for name in ("left", "right")]
    poses = [pose_along(-s * X, s * X * (0.04 - 0.75e-3)) for s in (1, -1)]
    free = settle(ball, pads, poses)
    region = free.regions[0]
    most = 2 * 0.5 * region.normal_force * 3 * np.pi / 16 * region.radius
    for share, expected in ((0.9, ContactStatus.SETTLED), (1.1, ContactStatus.SLIPS)):
        assert settle(ball, pads, poses, load=[0, 0, 0, share * most, 0, 0]).status is expected


def test_nothing_touching_is_said(ball: PreparedObject) -> None:
    state = settle(ball, [PadSurface("far", SphereSurface(0.01))], [pose_along(-X, X)])
    assert state.status is ContactStatus.NO_CONTACT


def test_a_turning_load_that_is_held_leaves_nothing_unbalanced(ball: PreparedObject) -> None:
    """The moment that friction bears about the normals counts in the balance, not its forces alone."""
    pads = [PadSurface(name, SphereSurface(0.01), friction=0.5) for name in ("left", "right")]
    poses = [pose_along(-s * X, s * X * (0.04 - 0.75e-3)) for s in (1, -1)]
    bare = settle(ball, pads, poses)
    most = 2 * 0.5 * bare.largest_force * 3 * np.pi / 16 * bare.regions[0].radius
    state = settle(ball, pads, poses, load=[0, 0, 0, 0.5 * most, 0, 0])
    assert state.status is ContactStatus.SETTLED
    assert np.linalg.norm(state.residual[3:]) < 0.02 * most


def test_flat_on_flat_bears_a_tilting_load_by_the_shift_of_its_pressure() -> None:
    """The pose in which a block rests under a torque, held there without friction, shows the same pressures."""
    box = trimesh.creation.box((0.04, 0.04, 0.02)).subdivide().subdivide()
    block = PreparedObject.of(Mesh(box.vertices, box.faces), young=5e4, poisson=0.2)
    pads = [PadSurface(name, PlaneSurface(), friction=0.3) for name in ("below", "above")]
    poses = [pose_along(Z, -Z * (0.01 - 0.4e-3)), pose_along(-Z, Z * (0.01 - 0.4e-3))]
    torque = 0.004 * settle(block, pads, poses, cells=10).largest_force
    rest = settle(block, pads, poses, load=[0, 0, 0, torque, 0, 0], cells=10)
    assert rest.status is ContactStatus.SETTLED
    assert np.linalg.norm(rest.residual[3:]) < 0.02 * torque
    held = solve_contacts(block, pads, poses, rest.T_world_object, free=False, cells=10)

    def moment(state: ContactState) -> float:
        places = [region.centre - rest.T_world_object.translation for region in state.regions]
        pushes = [region.normal * region.normal_force for region in state.regions]
        return float(sum(np.cross(p, f)[0] for p, f in zip(places, pushes, strict=True)))

    assert moment(held) < -0.2 * torque
    assert moment(rest) == pytest.approx(moment(held), rel=0.05)
