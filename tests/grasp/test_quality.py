"""Quality measures: closed forms, brute force, and what must not change them.   (theory 7.4)"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from pliant.errors import OptionError
from pliant.grasp import (
    MEASURES,
    ContactSet,
    edge_wrenches,
    epsilon_l1,
    epsilon_linf,
    epsilon_linf_bounds,
    force_closure_margin,
    grasp_quality,
    joint_range,
    object_report,
    wrench_volume,
)

PAIR = {"points": [[1.0, 0, 0], [-1, 0, 0]], "normals": [[-1.0, 0, 0], [1, 0, 0]]}


def is_force_closure(contacts: ContactSet) -> bool:
    """Whether any wrench at all can be held by pressing hard enough; a margin of 1e-7 is rounding of the solver."""
    return object_report(contacts).is_full and force_closure_margin(contacts) > 1e-7


def _planar_pair(friction: float, tilt: float = 0.0) -> ContactSet:
    c, s = np.cos(tilt / 2), np.sin(tilt / 2)
    return ContactSet.from_arrays([[1, 0], [-1, 0]], [[-c, s], [c, s]], friction=friction)


@pytest.mark.parametrize("friction", [0.1, 0.5, 1.3])
def test_opposed_pair_in_the_plane_has_the_epsilon_and_volume_of_its_tetrahedron(friction: float) -> None:
    """Edges (-1, m, m), (-1, -m, -m), (1, m, -m), (1, -m, m): faces at m / sqrt(2 + m^2), volume 8 m^2 / 3."""
    wrenches = edge_wrenches(_planar_pair(friction))
    assert epsilon_l1(wrenches) == pytest.approx(friction / np.sqrt(2 + friction**2), rel=1e-6)
    assert wrench_volume(wrenches) == pytest.approx(8 * friction**2 / 3, rel=1e-6)


def test_unit_wrenches_along_the_axes_span_an_octahedron_and_as_pairs_a_cube() -> None:
    """Hull of +-e_i: inradius 1 / sqrt 3, volume 4 / 3. Each pair at full force on its own: the cube [-1, 1]^3."""
    axes = [np.vstack([np.eye(3)[i], -np.eye(3)[i]]) for i in range(3)]
    assert epsilon_l1(axes) == pytest.approx(1 / np.sqrt(3), rel=1e-6)
    assert wrench_volume(axes) == pytest.approx(4 / 3, rel=1e-6)
    assert epsilon_linf(axes) == pytest.approx(1.0, rel=1e-3)


def test_linf_epsilon_is_that_of_the_brute_force_minkowski_sum(random_grasp) -> None:
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(8):
        contacts = random_grasp(rng, 3)
        wrenches = edge_wrenches(contacts, edges=4)
        with_zero = [np.vstack([w, np.zeros(6)]) for w in wrenches]
        corners = np.array([sum(choice) for choice in product(*with_zero)])
        brute = max(0.0, -ConvexHull(corners, qhull_options="QJ").equations[:, -1].max())
        lower, upper = epsilon_linf_bounds(wrenches)
        if brute > 1e-6:
            found += 1
            assert lower * (1 - 1e-6) <= brute <= upper * (1 + 1e-6)
            assert epsilon_linf(wrenches) == pytest.approx(brute, rel=2e-3)
        else:
            assert upper == 0
    assert found >= 2


def test_epsilon_is_the_smallest_wrench_that_breaks_the_grasp(random_grasp) -> None:
    """By duality of hulls: along every direction the hull reaches at least epsilon, and somewhere no more (LP)."""
    from scipy.optimize import linprog

    contacts = random_grasp(np.random.default_rng(5), 5)
    wrenches = edge_wrenches(contacts)
    epsilon, points = epsilon_l1(wrenches), np.vstack(wrenches)
    assert epsilon > 0
    rng = np.random.default_rng(1)
    reaches = []
    facet = ConvexHull(points, qhull_options="QJ").equations
    nearest = facet[facet[:, -1].argmax(), :-1]
    for direction in [nearest, *rng.normal(size=(30, 6))]:
        u = direction / np.linalg.norm(direction)
        # Largest r with r u = sum a_e w_e, sum a_e <= 1.
        a_eq = np.hstack([points.T, -u[:, None]])
        a_ub = [[*np.ones(len(points)), 0]]
        answer = linprog([*np.zeros(len(points)), -1], A_eq=a_eq, b_eq=np.zeros(6), A_ub=a_ub, b_ub=[1])
        reaches.append(-answer.fun)
    assert min(reaches) >= epsilon * (1 - 1e-6)
    assert reaches[0] == pytest.approx(epsilon, rel=1e-5)


def test_two_point_contacts_in_space_have_epsilon_zero_and_no_error() -> None:
    quality = grasp_quality(ContactSet.from_arrays(**PAIR, friction=0.5))
    assert quality["epsilon_l1"] == quality["epsilon_linf"] == quality["wrench_volume"] == 0
    assert quality["isotropy"] < 1e-12
    # A squeeze exists all the same; it is the rank that is missing.
    assert quality["force_closure_margin"] == pytest.approx(0.5, abs=1e-7)
    assert not is_force_closure(ContactSet.from_arrays(**PAIR, friction=0.5))


def test_soft_fingers_are_strictly_better_than_points(random_grasp) -> None:
    soft = ContactSet.from_arrays(**PAIR, friction=0.5, radius=0.2)
    assert is_force_closure(soft)
    assert epsilon_l1(edge_wrenches(soft)) > 1e-3
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(6):
        contacts = random_grasp(rng, 4)
        softer = ContactSet.from_arrays(
            contacts.points, contacts.normals, friction=contacts.friction, radius=0.02, rotations=contacts.rotations
        )
        point, patch = edge_wrenches(contacts), edge_wrenches(softer)
        assert wrench_volume(patch) > wrench_volume(point)
        if epsilon_l1(point) > 0:
            found += 1
            assert epsilon_l1(patch) > epsilon_l1(point)
            assert force_closure_margin(softer) >= force_closure_margin(contacts) - 1e-7
    assert found >= 2


@pytest.mark.parametrize("friction", [0.1, 0.3, 1.0])
def test_inclined_faces_close_exactly_below_twice_the_friction_angle(friction: float) -> None:
    """Force closure if and only if t / 2 < atan(mu). The margin is mu - tan(t / 2)."""
    edge = 2 * np.arctan(friction)
    for tilt in (0.0, edge / 2, edge - 1e-4, edge + 1e-4, edge + 0.3):
        contacts = _planar_pair(friction, tilt)
        assert force_closure_margin(contacts) == pytest.approx(friction - np.tan(tilt / 2), abs=1e-6)
        assert is_force_closure(contacts) is bool(tilt < edge)
        assert (epsilon_l1(edge_wrenches(contacts)) > 0) is bool(tilt < edge)


def test_contacts_that_all_push_one_way_have_no_squeeze() -> None:
    contacts = ContactSet.from_arrays(PAIR["points"], [[0, 0, 1], [0, 0, 1]], friction=0.5)
    assert force_closure_margin(contacts) == -np.inf


def test_closure_margin_and_epsilon_agree_on_random_grasps(random_grasp) -> None:
    """Pyramids lie inside the cones: epsilon > 0 implies a margin > 0 (the other way up to the pyramids)."""
    rng = np.random.default_rng(3)
    both = [0, 0]
    for _ in range(40):
        contacts = random_grasp(rng, int(rng.integers(3, 6)))
        closed, positive = is_force_closure(contacts), epsilon_l1(edge_wrenches(contacts, edges=16)) > 0
        assert closed or not positive
        both[closed] += 1
    assert min(both) > 5


def test_measures_do_not_change_with_frame_order_or_units(random_grasp, random_rotation) -> None:
    rng = np.random.default_rng(4)
    contacts = random_grasp(rng, 4)
    centre, load = rng.normal(size=3) * 0.01, np.array([0, 0, -1.0, 0, 0, 0])
    quality = grasp_quality(contacts, centre, external=load)
    rotation, shift, order = random_rotation(rng), rng.normal(size=3), rng.permutation(4)
    moved = ContactSet.from_arrays(
        (contacts.points @ rotation.T + shift)[order],
        (contacts.normals @ rotation.T)[order],
        friction=contacts.friction[order],
        rotations=(rotation @ contacts.rotations)[order],
    )
    there = np.concatenate([rotation @ load[:3], rotation @ load[3:]])
    for name, value in grasp_quality(moved, rotation @ centre + shift, external=there).items():
        assert value == pytest.approx(quality[name], rel=2e-3, abs=1e-9), name
        if name not in ("epsilon_linf", "largest_force", "force_closure_margin"):
            assert value == pytest.approx(quality[name], rel=1e-5, abs=1e-9), name
    millimetres = ContactSet.from_arrays(
        contacts.points * 1e3, contacts.normals, friction=contacts.friction, rotations=contacts.rotations
    )
    for name, value in grasp_quality(millimetres, centre * 1e3, external=load).items():
        unit = 1e3 if MEASURES[name].unit == "m" else 1.0
        assert value == pytest.approx(quality[name] * unit, rel=2e-3, abs=1e-9), name


def test_every_measure_says_how_to_be_read_and_keeps_its_range(random_grasp) -> None:
    rng = np.random.default_rng(5)
    for _ in range(3):
        quality = grasp_quality(random_grasp(rng, 3), external=[0, 0, -1, 0, 0, 0])
        assert set(quality) == set(MEASURES) - {"joint_range"}
        for name, value in quality.items():
            assert MEASURES[name].lowest <= value <= MEASURES[name].highest
    for measure in MEASURES.values():
        assert measure.better in ("higher", "lower")
        assert measure.unit
        assert len(measure.invariance) > 20


def test_singular_values_of_a_cube_grasp_are_the_closed_form() -> None:
    """Six point contacts at +-e_i: forces add to 6 I, moments (arms 1, each axis held by the four others) to 4 I."""
    points = np.vstack([np.eye(3), -np.eye(3)])
    quality = grasp_quality(ContactSet.from_arrays(points[:, :], -points, friction=0.5), edges=4)
    assert quality["smallest_singular_value"] == pytest.approx(2.0)
    assert quality["isotropy"] == pytest.approx(2 / np.sqrt(6))
    assert quality["ellipsoid_volume"] == pytest.approx(np.sqrt(6.0**3 * 4.0**3))


def test_joint_range_is_a_quarter_per_joint_at_the_limits_and_zero_in_the_middle() -> None:
    low, high = [-1.0, 0.0, -np.inf], [1.0, 4.0, np.inf]
    assert joint_range([0, 2, 9], low, high) == 0
    assert joint_range([1, 0, 9], low, high) == pytest.approx(0.5)
    # (7) with t = 2: the mean of 0 and 1/4 + 1/16.
    assert joint_range([[0, 2, 0], [1, 3, 0]], low, high) == pytest.approx((1 / 4 + 1 / 16) / 2)
    # A joint that its URDF locks has no range to be in the middle of.
    assert joint_range([1, 0, 9, 3], [*low, 3], [*high, 3]) == pytest.approx(0.5)
    with pytest.raises(OptionError):
        joint_range([0, 0], [0, 1], [1, 0])
    with pytest.raises(OptionError):
        joint_range([0, np.nan], [0, 0], [1, 1])
    with pytest.raises(OptionError):
        joint_range([0, 0], [0], [1])


def test_bad_options_are_refused(random_grasp) -> None:
    contacts = random_grasp(np.random.default_rng(0), 3)
    with pytest.raises(OptionError, match="edges"):
        grasp_quality(contacts, edges=2)
    with pytest.raises(OptionError, match="length"):
        grasp_quality(contacts, length=-1.0)
