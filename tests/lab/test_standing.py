"""A round object of few nodes stands where it was put: it neither rolls onto a face nor sinks to it."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from pliant.lab import LabOptions, Simulation, build_scene
from pliant.lab.tet_mesh import tetrahedra, with_feet
from pliant.objects import Body, Material, make_shape

UP = np.array([0.0, 0.0, 1.0])
RADIUS = 0.032


def drift(*, stands: bool, turn: float) -> tuple[float, float]:
    """How far a ball's centre has gone aside and down on the floor within a second [m]."""
    ball = Body.from_mesh(make_shape("sphere", radius=RADIUS), Material(8e5, 0.45, friction=0.7), mass=0.137)
    T = pin.SE3(pin.utils.rotate("y", turn), np.array([0.0, 0.0, RADIUS + 3e-4]))
    options = LabOptions(step=0.004, nodes=120)
    simulation = Simulation(build_scene(None, ball, T_world_object=T, floor=0.0, options=options, stands=stands))
    before = simulation.object_state().centre.copy()
    for _ in range(250):
        simulation.step()
    assert not simulation.fault
    moved = simulation.object_state().centre - before
    return float(np.linalg.norm(moved[:2])), float(-moved[2])


@pytest.mark.slow
def test_a_ball_with_feet_stays_where_one_without_rolls_away() -> None:
    turns = (0.0, 0.7, 2.0)
    without = [drift(stands=False, turn=turn) for turn in turns]
    with_feet = [drift(stands=True, turn=turn) for turn in turns]
    assert max(aside for aside, _ in without) > 1e-3
    assert max(aside for aside, _ in with_feet) < 3e-4
    assert max(down for _, down in with_feet) < 6e-4 < max(down for _, down in without)


@pytest.mark.parametrize("angle", [0.0, 0.4, 1.1])
def test_three_nodes_or_more_are_at_the_ground_around_the_centre_of_mass(angle: float) -> None:
    tets = tetrahedra(make_shape("sphere", radius=RADIUS), nodes=150)
    up = pin.utils.rotate("x", angle) @ UP
    found = with_feet(tets, up, -RADIUS, -up)
    heights = found.nodes @ up
    assert (np.abs(heights + RADIUS) < 1e-9).sum() >= 3
    assert heights.min() == pytest.approx(-RADIUS, abs=1e-3)  # nodes stand out of the ball by less than that
    changed = np.flatnonzero(np.linalg.norm(found.nodes - tets.nodes, axis=1) > 1e-12)
    assert set(changed) <= set(tets.surface)
    assert found.volumes.min() > 0.0
    assert found.volumes.sum() == pytest.approx(tets.volumes.sum(), rel=0.02)


@pytest.mark.parametrize("turn", np.arange(4) * 1.3)
def test_on_a_slope_the_weight_goes_through_the_feet(turn: float) -> None:
    tets = tetrahedra(make_shape("sphere", radius=RADIUS), nodes=150)
    along = np.array([np.cos(turn), np.sin(turn), 0.0])
    gravity = np.sin(0.2) * along - np.cos(0.2) * UP
    found = with_feet(tets, UP, -RADIUS, gravity)
    feet = found.nodes[np.abs(found.nodes @ UP + RADIUS) < 1e-9]
    below = found.node_shares @ found.nodes + RADIUS * np.tan(0.2) * along
    for way in np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False):
        aside = np.array([np.cos(way), np.sin(way), 0.0])
        assert ((feet - below) @ aside).max() > 0.0


def test_a_block_has_its_feet_already() -> None:
    tets = tetrahedra(make_shape("box", size=(0.05, 0.04, 0.03)), nodes=150)
    found = with_feet(tets, UP, float((tets.nodes @ UP).min()), -UP)
    np.testing.assert_allclose(found.nodes, tets.nodes, atol=1e-12)
