"""Hypotheses: every approach looks at the object, from where the hand can reach it."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.errors import OptionError
from pliant.objects import make_shape
from pliant.planner import approaches, make_hypotheses
from pliant.planner.hypotheses import finger_subsets, neighbour
from pliant.robot import PALM_FRAME, load_assembly, tip_frame


@pytest.mark.parametrize("shape", ["torus", "bottle", "banana"])
@pytest.mark.parametrize("method", ["polyhedron", "sphere", "box"])
def test_approaches_are_as_many_as_asked_and_point_outwards(shape: str, method: str) -> None:
    mesh = make_shape(shape)
    found = approaches(mesh, method, 60)  # type: ignore[arg-type]
    assert 45 <= len(found) <= 75
    normals = np.array([a.normal for a in found])
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1e-6)
    if method != "polyhedron":
        # Around a body the outside is where no vertex lies further along the normal.
        for a in found:
            assert ((mesh.vertices - a.point) @ a.normal).max() < 1e-9


def test_polyhedron_normals_are_those_of_the_surface_below() -> None:
    """On a ball the face centre lies along its normal; 60 even faces span 15 deg each, the longest about twice that."""
    found = approaches(make_shape("sphere", radius=0.03), "polyhedron", 60)
    cosines = [a.point @ a.normal / np.linalg.norm(a.point) for a in found]
    assert min(cosines) > np.cos(np.radians(30))
    assert np.mean(cosines) > np.cos(np.radians(15))
    assert all(0.8 * 0.03 < np.linalg.norm(a.point) < 1.05 * 0.03 for a in found)


def test_box_approaches_follow_the_object_when_it_is_turned() -> None:
    import pinocchio as pin

    mesh = make_shape("box", size=(0.02, 0.05, 0.1))
    T = pin.SE3(pin.rpy.rpyToMatrix(0.3, 0.5, -1.0), np.array([0.4, 0.0, 2.0]))
    turned = approaches(mesh.transformed(T), "box", 40)
    sides = {tuple(np.round(np.abs(T.rotation.T @ a.normal), 6)) for a in turned}
    assert sides == {(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)}
    local = np.array([T.actInv(a.point) for a in turned])
    np.testing.assert_allclose(np.abs(local).max(axis=0), [0.01, 0.025, 0.05], atol=1e-9)


@pytest.mark.parametrize("hand", ["schunk_sdh2", "allegro_like", "parallel_gripper"])
def test_every_preshape_has_fingers_that_oppose_each_other(hand: str) -> None:
    assembly = load_assembly(None, hand)
    assert assembly.hand is not None
    for preshape in assembly.hand.preshapes:
        subsets = finger_subsets(assembly, preshape)
        assert subsets
        assert all(len(subset) >= 2 for subset in subsets)
        if hand == "allegro_like":
            assert all("thumb" in subset for subset in subsets)
        if preshape.name == "parallel" and hand == "schunk_sdh2":
            assert ("finger_1", "finger_2") not in subsets


def test_palm_looks_at_the_surface_from_within_the_hands_length() -> None:
    assembly = load_assembly(None, "schunk_sdh2")
    assert assembly.hand is not None
    mesh = make_shape("sphere", radius=0.03)
    hypotheses = make_hypotheses(mesh, assembly, count=20, rolls=4, limit=3000)
    for h in hypotheses:
        T = h.T_object_palm
        # From the palm's face along the approach direction the ball's surface comes within the hand's length.
        to_centre = T.rotation.T @ -T.translation
        if "between the open tips" not in h.source:
            assert to_centre[2] > 0.9 * np.linalg.norm(to_centre)
        assert 0.0 < to_centre[2] - 0.03 < assembly.hand.palm.length
    assert [h.number for h in hypotheses] == list(range(len(hypotheses)))


def test_where_a_thumb_opens_further_the_object_can_lie_between_the_open_tips() -> None:
    """Two opposed tips: their middle, half way along the line between them, is on the approach."""
    assembly = load_assembly(None, "schunk_sdh2")
    mesh = make_shape("sphere", radius=0.03)
    made = make_hypotheses(mesh, assembly, count=20, rolls=4, limit=3000)
    shifted = [h for h in made if "between the open tips" in h.source]
    pairs = [h for h in shifted if len(h.fingers) == 2 and "centred" in h.source]
    assert pairs
    for h in pairs[:20]:
        preshape = next(p for p in assembly.hand.preshapes if p.name == h.preshape)
        q = assembly.preshaped(assembly.robot.neutral, preshape, h.opening)
        palm, *tips = assembly.robot.poses([PALM_FRAME, *(tip_frame(name) for name in h.fingers)], q)
        middle = np.mean([palm.actInv(tip.translation) for tip in tips], axis=0)
        to_centre = h.T_object_palm.actInv(np.zeros(3))
        np.testing.assert_allclose(to_centre[:2], middle[:2], atol=1e-3)


def test_a_direction_from_which_every_palm_is_blocked_is_not_used() -> None:
    assembly = load_assembly(None, "schunk_sdh2")
    mesh = make_shape("sphere", radius=0.03)
    free = make_hypotheses(mesh, assembly, count=20, rolls=4, limit=3000, blocked=lambda p: bool(p[2] < -0.02))
    assert free
    below = [h for h in free if h.T_object_palm.rotation[2, 2] > 0.9]
    assert not below
    everywhere = make_hypotheses(mesh, assembly, count=20, rolls=4, limit=3000)
    assert any(h.T_object_palm.rotation[2, 2] > 0.9 for h in everywhere)


def test_neighbours_differ_a_little_and_keep_their_fingers() -> None:
    assembly = load_assembly(None, "schunk_sdh2")
    start = make_hypotheses(make_shape("sphere", radius=0.03), assembly, count=20, rolls=4, limit=1)[0]
    rng = np.random.default_rng(0)
    others = [neighbour(start, assembly, rng, 1.0) for _ in range(200)]
    apart = np.array([start.T_object_palm.actInv(h.T_object_palm.translation) for h in others])
    np.testing.assert_allclose(apart.std(axis=0), 0.006, rtol=0.2)
    assert all(h.fingers == start.fingers and len(h.posture) == len(assembly.hand_joints) for h in others)
    assert all(0.0 <= h.opening <= 0.9 for h in others)


def test_same_seed_same_hypotheses_and_a_limit_keeps_a_prefix() -> None:
    assembly = load_assembly(None, "parallel_gripper")
    mesh = make_shape("torus")
    all_of_them = make_hypotheses(mesh, assembly, seed=3)
    some = make_hypotheses(mesh, assembly, seed=3, limit=25)
    other = make_hypotheses(mesh, assembly, seed=4, limit=25)
    assert len(some) == 25
    assert [h.source for h in some] == [h.source for h in all_of_them[:25]]
    assert [h.source for h in some] != [h.source for h in other]


def test_rolls_turn_the_hand_about_its_approach() -> None:
    assembly = load_assembly(None, "parallel_gripper")
    hypotheses = make_hypotheses(make_shape("sphere"), assembly, method="sphere", count=1, rolls=4)
    first = hypotheses[0].T_object_palm
    angles = {
        round(float(np.degrees(np.arctan2(*(first.rotation.T @ h.T_object_palm.rotation)[:2, 0][::-1])))) % 360
        for h in hypotheses
    }
    assert angles == {0, 90, 180, 270}


def test_wrong_questions_are_refused() -> None:
    with pytest.raises(OptionError, match="no method 'spere'; closest: sphere"):
        approaches(make_shape("sphere"), "spere")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="has no hand"):
        make_hypotheses(make_shape("sphere"), load_assembly("kawasaki_fs020n"))
