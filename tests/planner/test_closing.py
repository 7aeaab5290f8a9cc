"""First touches: exact, and the same whatever the steps."""

from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from small_tasks import ball, gripper

from pliant.contact import PreparedObject, clearance
from pliant.planner.closing import close_hand, open_hand_gap
from pliant.planner.closing_hand import ClosingHand


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
        assert hand().deepest_point(prepared(), hand().poses(q, T), everything).min() > 0.0


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


def test_the_quick_bound_never_exceeds_the_exact_clearance():
    rng = np.random.default_rng(3)
    everything = tuple(range(len(hand().links)))
    for _ in range(40):
        q = hand().robot.random_q(rng)
        T = pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3) * 0.08)
        poses = hand().poses(q, T)
        for bound, link, pose in zip(hand().bounds(prepared(), poses, everything), hand().links, poses, strict=True):
            exact = clearance(prepared(), link.surface, pose)
            if exact > 0.0:
                assert bound <= exact + 1e-4
