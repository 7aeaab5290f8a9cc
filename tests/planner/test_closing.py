"""First touches: exact, and the same whatever the steps."""

from functools import cache

import coal
import igl
import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial import cKDTree
from small_tasks import ball, gripper

from pliant.collision import triangles
from pliant.contact import PreparedObject, clearance
from pliant.objects import make_shape
from pliant.planner.closing import close_hand, open_hand_gap
from pliant.planner.closing_hand import ClosingHand
from pliant.planner.hand_links import _sharp_edges
from pliant.robot import link_mesh, pad_mesh


@cache
def prepared():
    return PreparedObject.of(ball().mesh, young=5e5, poisson=0.45, model="halfspace")


@cache
def hand():
    return ClosingHand(gripper(), friction=0.6)


def before_palm(distance, turn=0.0, aside=0.0):
    """The palm in the object's frame, looking down at the ball's middle from a distance."""
    down = np.column_stack([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]])
    return pin.SE3(down @ pin.rpy.rpyToMatrix(0.0, 0.0, turn), np.array([aside, 0.0, distance]))


def reach():
    return gripper().hand.palm.length


@pytest.mark.parametrize("turn", [0.0, 0.4, 1.3])
def test_at_the_first_touch_the_gap_is_zero_to_a_hundredth_of_a_millimetre(turn):
    T = before_palm(reach() - 0.01, turn)
    closing = close_hand(prepared(), hand(), "parallel", ("left", "right"), T)
    assert len(closing.touching) > 0
    poses = hand().poses(closing.q, T)
    for touch in closing.touching:
        gap = clearance(prepared(), hand().links[touch.link].surface, poses[touch.link])
        assert abs(gap) < 1e-5


def sample_distances(Ts_object_link, which):
    bounds = hand().bounds(prepared(), Ts_object_link, which)
    return hand().sample_distances(prepared(), bounds)


def test_the_touch_does_not_depend_on_the_tolerance_or_on_where_the_fingers_begin():
    T = before_palm(reach() - 0.01, 0.3)
    exact = close_hand(prepared(), hand(), "parallel", ("left", "right"), T, tolerance=1e-7).q
    for options in ({"tolerance": 2e-5}, {"opening": 0.1}, {"opening": 0.3}):
        q = close_hand(prepared(), hand(), "parallel", ("left", "right"), T, **options).q
        poses = zip(hand().poses(exact, T), hand().poses(q, T), strict=True)
        apart = max(np.linalg.norm(a.translation - b.translation) for a, b in poses)
        assert apart < 1e-4


def test_no_finger_point_is_inside_the_ball_anywhere_on_the_way_to_the_touch():
    T = before_palm(reach() - 0.01)
    closing = close_hand(prepared(), hand(), "parallel", ("left", "right"), T)
    everything = tuple(range(len(hand().links)))
    for share in np.linspace(0.0, 0.98, 30):
        q = closing.q_open + share * (closing.q - closing.q_open)
        assert sample_distances(hand().poses(q, T), everything).min() > 0.0


def test_fingers_that_pass_beside_the_ball_never_touch():
    T = before_palm(reach() + 0.1)
    assert close_hand(prepared(), hand(), "parallel", ("left", "right"), T).touching == ()


def test_the_open_hand_gap_is_the_smallest_exact_clearance_of_its_links_where_it_is_small():
    T = before_palm(reach() - 0.02)
    q = hand().q_open(hand().preshape("parallel"))
    gap, link = open_hand_gap(prepared(), hand(), q, T, margin=0.1)
    exact = {
        other.name: clearance(prepared(), other.surface, pose)
        for other, pose in zip(hand().links, hand().poses(q, T), strict=True)
    }
    assert exact[link] == pytest.approx(min(exact.values()), abs=2e-3)
    assert gap <= min(exact.values()) + 1e-9
    assert gap > 0.0


def test_an_open_hand_in_the_ball_is_seen_with_its_depth_and_link():
    gap, link = open_hand_gap(prepared(), hand(), hand().q_open(hand().preshape("parallel")), before_palm(0.0))
    assert gap < -0.01
    assert link == gripper().hand.palm.link


@cache
def link_meshes():
    """The surfaces that the links' sample points lie on."""
    pads = {pad.link: pad for finger in gripper().hand.fingers for pad in finger.pads}
    urdf = hand().robot.urdf
    return [
        pad_mesh(urdf, pads[link.name]).mesh if link.name in pads else link_mesh(urdf.link(link.name), "collision")
        for link in hand().links
    ]


def places_on(mesh, count=30_000):
    """Places all over a mesh, evenly, and the outward normals there."""
    rng = np.random.default_rng(7)
    corners = mesh.vertices[mesh.faces]
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    faces = rng.choice(len(areas), size=count, p=areas / areas.sum())
    places = np.einsum("nk,nkx->nx", rng.dirichlet(np.ones(3), size=count), corners[faces])
    return places, mesh.face_normals[faces]


def poses_of_the_ball():
    """Links in the object's frame: at random, and with the ball closely before the worst covered place of each link."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        T = pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3) * 0.08)
        yield hand().poses(hand().robot.random_q(rng), T)
    for i, (link, mesh) in enumerate(zip(hand().links, link_meshes(), strict=True)):
        places, normals = places_on(mesh)
        worst = int(np.argmax(cKDTree(link.points).query(places)[0]))
        for gap in (2e-4, 1e-3, 5e-3):
            poses = hand().poses(hand().robot.neutral, pin.SE3.Identity())
            centre = poses[i].act(places[worst] + (0.03 + gap) * normals[worst])
            yield [pin.SE3(pose.rotation, pose.translation - centre) for pose in poses]


def test_the_quick_bound_never_exceeds_the_exact_distance():
    """Neither that of the smooth surfaces (far away itself a lower bound) nor that of the meshes."""
    everything = tuple(range(len(hand().links)))
    sphere, meshes = triangles(ball().mesh), [triangles(mesh) for mesh in link_meshes()]
    clear = 0
    for poses in poses_of_the_ball():
        bounds = hand().bounds(prepared(), poses, everything)
        for bound, link, mesh, pose in zip(bounds, hand().links, meshes, poses, strict=True):
            here, there = coal.Transform3s.Identity(), coal.Transform3s(pose.rotation, pose.translation)
            between = coal.distance(sphere, here, mesh, there, coal.DistanceRequest(), coal.DistanceResult())
            exact = clearance(prepared(), link.surface, pose)
            if min(exact, between) > 0.0:
                clear += 1
                assert bound <= min(exact, between)
    assert clear > 100


def test_no_place_of_a_link_is_further_from_its_sample_points_than_it_says():
    for link, mesh in zip(hand().links, link_meshes(), strict=True):
        away = cKDTree(link.points).query(places_on(mesh)[0])[0]
        assert away.max() <= link.cover


def test_the_distance_of_the_sample_points_is_known_to_a_quarter_of_a_grid_step():
    """What the quick bound takes off for the interpolation. Distance from a ball is convex: it only comes out larger,
    by step^2 / 8 (d_xx + d_yy + d_zz) = step^2 / (4 R) at most, a twentieth of that; the mesh has kinks besides.
    """
    everything = tuple(range(len(hand().links)))
    step, mesh = prepared().surface.field.step, ball().mesh
    inside_grid = 0
    for poses in poses_of_the_ball():
        found = sample_distances(poses, everything)
        for value, link, pose in zip(found, hand().links, poses, strict=True):
            points = link.points @ pose.rotation.T + pose.translation
            exact = float(igl.signed_distance(points, mesh.vertices, mesh.faces)[0].min())
            assert value <= exact + 0.25 * step
            if exact < 2.0 * step:  # beyond its grid the field is a bound from below only
                inside_grid += 1
                assert value >= exact - 0.25 * step
    assert inside_grid > 20


def test_the_sharp_edges_of_a_box_are_its_twelve_and_a_ball_has_none():
    """Every point lies on an edge (two coordinates at their ends), and no place of an edge is further than half a
    millimetre from one."""
    half = np.array([0.01, 0.02, 0.03])
    points = _sharp_edges(make_shape("box", size=tuple(2 * half), edge=0.004))
    assert (np.sort(half - np.abs(points), axis=1)[:, 1] < 1e-12).all()
    tree = cKDTree(points)
    for axis in range(3):
        for signs in np.array(np.meshgrid([-1, 1], [-1, 1])).reshape(2, -1).T:
            edge = np.insert(signs * np.delete(half, axis), axis, 0.0)
            along = edge + np.linspace(-1, 1, 500)[:, None] * np.eye(3)[axis] * half[axis]
            assert tree.query(along)[0].max() <= 5e-4 + 1e-12
    assert len(_sharp_edges(make_shape("sphere", radius=0.03))) == 0
