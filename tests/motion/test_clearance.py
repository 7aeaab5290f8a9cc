"""Keep-out distances: Coal's distances as velocity bounds, closed forms, finite differences, and servos that obey."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from pliant.collision import Clearance, Obstacle, box, cylinder, sphere, triangles
from pliant.errors import OptionError
from pliant.motion import Eased, FrameTask, Hold, JointLimits, PathFunction, Servo
from pliant.objects import Mesh
from pliant.robot import Robot, parse_urdf

# A ball on a stick that swings about z and slides along it.
BALL = """<robot name="ball"><link name="base"/><link name="arm"/><link name="ball">
  <collision><geometry><sphere radius="0.05"/></geometry></collision></link>
  <joint name="swing" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" velocity="2" effort="1"/></joint>
  <joint name="slide" type="prismatic"><parent link="arm"/><child link="ball"/><origin xyz="0.5 0 0"/><axis xyz="1 0
  0"/>
    <limit lower="-0.3" upper="0.3" velocity="1" effort="1"/></joint></robot>"""


def at(*p):
    return pin.SE3(np.eye(3), np.array(p, dtype=float))


@pytest.fixture
def ball():
    return Robot(parse_urdf(BALL))


def test_distance_between_two_balls_is_the_closed_form(ball):
    clearance = Clearance(ball, [Obstacle("other", sphere(0.1), at(0.9, 0.4, 0.0))])
    for swing, slide in ((0.0, 0.0), (0.5, 0.1), (-1.2, -0.2)):
        p = (0.5 + slide) * np.array([np.cos(swing), np.sin(swing)])
        expected = np.hypot(*(p - [0.9, 0.4])) - 0.15
        assert clearance.nearest(np.array([swing, slide])).distance == pytest.approx(expected, abs=1e-9)


def test_a_barrier_row_is_the_rate_of_the_distance(robot, q_work):
    """A qdot = d(distance)/dt for links against obstacles and links against links."""
    T = robot.pose("palm_frame", q_work)
    wall = Obstacle(
        "wall", box(2.0, 2.0, 0.02), pin.SE3(pin.exp3(np.array([0.3, 0.1, 0.0])), T.translation - [0, 0, 0.25])
    )
    clearance = Clearance(
        robot, [wall], links=["finger_1_distal", "thumb_distal", "palm"], pairs=[("finger_1_distal", "thumb_distal")],
        influence=1.0, distance=0.01,
    )  # fmt: skip
    robot.update(q_work)
    A, b = clearance.barrier(q_work)
    assert A.shape[0] == len(b) >= 4
    distances = 0.01 - b / clearance.rate
    rng = np.random.default_rng(0)
    for _ in range(5):
        direction = rng.normal(size=robot.dof)
        h = 1e-6
        ends = []
        for sign in (1.0, -1.0):
            robot.update(q_work + sign * h * direction)
            ends.append(0.01 - clearance.barrier(q_work)[1] / clearance.rate)
        rate = (ends[0] - ends[1]) / (2 * h)
        np.testing.assert_allclose(A @ direction, rate, atol=2e-3)
    assert clearance.nearest(q_work).distance == pytest.approx(distances.min(), abs=1e-9)


def test_a_servo_sent_through_a_wall_stops_at_the_keep_out_distance(ball):
    wall = Obstacle("wall", box(0.02, 1.0, 1.0), at(0.66, 0.0, 0.0))
    clearance = Clearance(ball, [wall], distance=0.015, influence=0.1)
    servo = Servo(ball, [(FrameTask("ball", rows="position", basis="world"), at(0.75, 0.0, 0.0))], clearance=clearance)
    q, closest = np.zeros(2), np.inf
    for i in range(3000):
        q = q + servo.step(q, i * 0.002) * 0.002
        closest = min(closest, clearance.nearest(q).distance)
    # Against the wall the ball may still slide along it, but not nearer.
    assert closest > 0.015 - 1e-5
    assert clearance.nearest(q).distance == pytest.approx(0.015, abs=1e-4)


def test_a_start_inside_the_keep_out_distance_is_pushed_out(ball):
    wall = Obstacle("wall", box(0.02, 1.0, 1.0), at(0.566, 0.0, 0.0))
    clearance = Clearance(ball, [wall], distance=0.03, influence=0.1)
    assert clearance.nearest(np.zeros(2)).distance == pytest.approx(0.006)
    servo = Servo(ball, [(FrameTask("ball", rows="position", basis="world"), at(0.5, 0.0, 0.0))], clearance=clearance)
    q = np.zeros(2)
    for i in range(1500):
        q = q + servo.step(q, i * 0.002) * 0.002
    assert clearance.nearest(q).distance > 0.03 - 1e-4


def test_a_start_that_overlaps_an_obstacle_is_pushed_out(ball):
    clearance = Clearance(ball, [Obstacle("other", sphere(0.1), at(0.64, 0.0, 0.0))], distance=0.005)
    assert clearance.nearest(np.zeros(2)).distance == pytest.approx(-0.01, abs=1e-6)
    servo = Servo(ball, [(FrameTask("ball", rows="position", basis="world"), at(0.5, 0.0, 0.0))], clearance=clearance)
    q = np.zeros(2)
    for i in range(1500):
        q = q + servo.step(q, i * 0.002) * 0.002
    assert clearance.nearest(q).distance > 0.005 - 1e-4


def test_a_hand_goes_round_a_post_that_it_would_hit(robot, q_work):
    """The palm's target crosses a post: without clearance the hand runs into it, with clearance it keeps away."""
    T = robot.pose("palm_frame", q_work)
    post = Obstacle("post", cylinder(0.03, 0.2), at(*(T.translation + np.array([0.0, -0.3, -0.1]))))
    way = np.array([0.0, -0.6, 0.0])
    path = Eased(PathFunction(lambda t: pin.SE3(T.rotation, T.translation + way * min(t / 4.0, 1.0)),
                              twist=lambda t: np.r_[way / 4.0 if t < 4.0 else 0 * way, 0, 0, 0]), 0.5)  # fmt: skip
    task = FrameTask("palm_frame", rows="position")
    closest = {}
    for keep in (False, True):
        clearance = Clearance(robot, [post], distance=0.01, influence=0.15)
        servo = Servo(robot, [(task, path)], dt=0.004, clearance=clearance if keep else None)
        q, least = q_work, np.inf
        for i in range(1100):
            q = q + servo.step(q, i * 0.004) * 0.004
            if i % 5 == 0:
                least = min(least, clearance.nearest(q, within=0.2).distance)
        closest[keep] = least
    assert closest[False] < 0.0
    assert closest[True] > 0.01 - 1e-3


def test_the_tightest_place_of_a_path_is_found(ball):
    post = Obstacle("post", cylinder(0.02, 1.0), at(0.55, 0.05, 0.0))
    path = np.array([[swing, 0.0] for swing in np.linspace(-0.5, 0.5, 101)])
    tight = Clearance(ball, [post]).along(path)
    assert tight.pair == ("ball", "post")
    assert path[tight.index, 0] == pytest.approx(np.arctan2(0.05, 0.55), abs=0.01)
    assert tight.distance == pytest.approx(np.hypot(0.55, 0.05) - 0.5 - 0.07, abs=1e-4)


def test_meshes_are_kept_away_from_as_they_are_hollows_included(ball):
    """A ball between two plates, given as one concave mesh: free in the middle, touching a plate outside it."""
    import trimesh

    plates = trimesh.util.concatenate(
        [
            trimesh.creation.box((0.4, 0.4, 0.02), trimesh.transformations.translation_matrix([0.5, 0, z]))
            for z in (0.1, -0.1)
        ]
    )
    clearance = Clearance(ball, [Obstacle("plates", triangles(Mesh(plates.vertices, plates.faces)), at(0, 0, 0))])
    assert clearance.nearest(np.zeros(2)).distance == pytest.approx(0.09 - 0.05, abs=1e-9)
    assert clearance.collision(np.zeros(2)) is None
    assert clearance.collision(np.zeros(2), margin=0.05) == ("ball", "plates")


def test_ignored_pairs_may_touch(ball):
    touching = Obstacle("held", sphere(0.05), at(0.55, 0.0, 0.0))
    assert Clearance(ball, [touching]).collision(np.zeros(2)) == ("ball", "held")
    assert Clearance(ball, [touching], ignore=[("ball", "held")]).collision(np.zeros(2)) is None


def test_only_qp_keeps_distances(ball):
    with pytest.raises(OptionError, match="cannot keep distances"):
        Servo(ball, [(FrameTask("ball"), Hold(at(0.5, 0, 0)))], solver="pinv", clearance=Clearance(ball))
    with pytest.raises(OptionError, match="distance < influence"):
        Clearance(ball, distance=0.2, influence=0.1)
    with pytest.raises(OptionError, match="closest: ball"):
        Clearance(ball, links=["bal"])


def test_limits_hold_beside_barriers(ball):
    """An obstacle that asks for more speed than the joints have: the joint limits win, nothing fails."""
    wall = Obstacle("wall", box(0.02, 1.0, 1.0), at(0.55, 0.0, 0.0))
    clearance = Clearance(ball, [wall], distance=0.2, influence=0.4, rate=100.0)
    limits = JointLimits.of(ball)
    servo = Servo(
        ball, [(FrameTask("ball", rows="position", basis="world"), at(0.5, 0, 0))], clearance=clearance, limits=limits
    )
    q, before = np.zeros(2), np.zeros(2)
    for i in range(200):
        qdot = servo.step(q, i * 0.002)
        assert (np.abs(qdot) <= limits.speed).all()
        assert (np.abs(qdot - before) <= limits.acceleration * 0.002 * (1 + 1e-9)).all()
        before = qdot.copy()
        q = q + qdot * 0.002
    assert np.isfinite(q).all()
