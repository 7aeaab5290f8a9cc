"""How fast a hand closes near the object: a contact that is felt late presses no harder than it may."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from force_loops import GRIPPER, SDH2, assembly_of, ball_in, loop_of, planned_contacts

from pliant.control import CalibrationFactors, ControlOptions, ForceLoop
from pliant.control.phases.close import FASTEST, SLOWEST, GuardedClosing
from pliant.planner import ContactTimeline, Phase

PHALANGES = ("proximal", "distal")


def guarded(hand: str, **options: object) -> tuple[GuardedClosing, ForceLoop]:
    loop = loop_of(hand, **options)  # type: ignore[arg-type]
    return GuardedClosing(loop.timeline, loop.assembly, loop, loop.options), loop


def contact_places(loop: ForceLoop, time: float) -> np.ndarray:
    """n x 3: the points of the links that shall touch, at a time of the plan."""
    timeline = loop.timeline
    Ts = loop.assembly.robot.poses(timeline.links, timeline.trajectory.at(time))
    return np.array([T.act(p) for T, p in zip(Ts, timeline.forces_at(timeline.touch_time).points, strict=True)])


def way_left(loop: ForceLoop, time: float) -> float:
    """Of the contact that is farthest from its planned touch [m]."""
    away = contact_places(loop, time) - contact_places(loop, loop.timeline.touch_time)
    return float(np.linalg.norm(away, axis=1).max())


def planned_speed(loop: ForceLoop, time: float) -> float:
    """Of the fastest contact [m/s]."""
    e = 1e-5
    moves = contact_places(loop, time + e) - contact_places(loop, time - e)
    return float(np.linalg.norm(moves, axis=1).max()) / (2 * e)


@pytest.mark.parametrize("hand", [GRIPPER, SDH2])
@pytest.mark.parametrize("touch_load", [0.8, 1.0, 2.0])
@pytest.mark.parametrize("latency", [0.06, 0.1])
def test_a_contact_felt_late_presses_as_hard_as_the_touch_load(hand: str, touch_load: float, latency: float) -> None:
    """In the latency the stiffest contact goes on by v latency, and presses with D v latency = touch_load."""
    guard, loop = guarded(hand, touch_load=touch_load, latency=latency)
    D = loop.series_stiffness(planned_contacts(loop)).max()
    assert SLOWEST < guard.speed < FASTEST
    assert D * guard.speed * latency == pytest.approx(touch_load, rel=1e-9)


def test_the_stiffest_contact_sets_the_speed() -> None:
    servo = float(assembly_of(GRIPPER).servo_stiffness[-1])
    for calibration in (1.0, 0.5):
        factors = CalibrationFactors(stiffness=calibration)
        guard, loop = guarded(GRIPPER, stiffness=(1500.0, 4000.0), calibration=factors)
        D = 1.0 / (1.0 / (calibration * 4000.0) + 1.0 / servo)
        # the planned normals are along the closing to some hundredths of a degree
        assert guard.speed == pytest.approx(loop.options.touch_load / (D * loop.options.latency), rel=1e-6)


def test_the_speed_stays_between_the_slowest_and_the_fastest() -> None:
    assert guarded(GRIPPER, touch_load=0.01)[0].speed == SLOWEST
    assert guarded(GRIPPER, touch_load=100.0)[0].speed == FASTEST


@pytest.mark.parametrize("hand", [GRIPPER, SDH2])
@pytest.mark.parametrize("distance", [0.004, 0.008])
def test_within_the_guard_contacts_move_with_the_guarded_speed_and_outside_as_planned(
    hand: str, distance: float
) -> None:
    """The rate is kept at 41 times of the closing: near the border of the guard it is somewhere between."""
    guard, loop = guarded(hand, guard=distance, touch_load=0.5)
    start, end = loop.timeline.span(Phase.CLOSE)
    interval = (end - start) / 40
    slow, planned = 0, 0
    for time in np.linspace(start, end, 101)[1:-1]:
        left, speed = way_left(loop, time), planned_speed(loop, time)
        if left < distance - speed * interval:
            # joints move evenly between the plan's points, contacts of turning fingers on arcs: a second difference
            assert guard.rate(time) * speed == pytest.approx(guard.speed, rel=1e-9 if hand == GRIPPER else 0.01)
            slow += 1
        elif left > distance + speed * interval:
            assert guard.rate(time) == 1.0
            planned += 1
    assert slow > 5 and planned > 5


def uneven_closing() -> ForceLoop:
    """Two fingers of which the second has half the way to go; the last piece takes three times as long as planned."""
    grasp, assembly = ball_in(SDH2).grasp, assembly_of(SDH2)
    path = grasp.trajectory
    close = [k for k, phase in enumerate(path.phases) if phase is Phase.CLOSE]
    rows = np.ix_([close[0] - 1, *close], [assembly.robot.joint_index(f"finger_2_{n}_joint") for n in PHALANGES])
    q, times = path.q.copy(), path.times.copy()
    q[rows] = 0.5 * (q[rows] + q[close[-1]][rows[1][0]])
    later = 2.0 * (times[close[-1]] - times[close[-2]])
    times[close[-1] :] += later
    states = tuple(replace(state, time=state.time + later) for state in grasp.states)
    grasp = replace(grasp, states=states, trajectory=replace(path, q=q, times=times))
    return ForceLoop(ContactTimeline(grasp, assembly.robot), assembly, ControlOptions(touch_load=0.5, guard=0.01))


def test_the_fastest_contact_of_every_piece_of_the_closing_has_the_guarded_speed() -> None:
    loop = uneven_closing()
    guard = GuardedClosing(loop.timeline, loop.assembly, loop, loop.options)
    start, end = loop.timeline.span(Phase.CLOSE)
    interval = (end - start) / 40
    points = loop.timeline.trajectory.times
    speeds = []
    for time in np.linspace(start, end, 201)[1:-1]:
        # speeds are differences over two intervals: between the plan's points they are those of one piece
        inside = np.abs(points - time).min() > 2 * interval
        if inside and way_left(loop, time) < 0.01 - interval * planned_speed(loop, time):
            speeds.append(planned_speed(loop, time))
            assert guard.rate(time) * speeds[-1] == pytest.approx(guard.speed, rel=0.01)
    assert max(speeds) > 2.5 * min(speeds), "both pieces are looked at"


def test_the_guard_begins_when_the_contact_with_the_longest_way_left_comes_within_it() -> None:
    loop = uneven_closing()
    guard = GuardedClosing(loop.timeline, loop.assembly, loop, loop.options)
    start, end = loop.timeline.span(Phase.CLOSE)
    interval = (end - start) / 40
    outside = [
        time
        for time in np.linspace(start, end, 201)
        if way_left(loop, time) > 0.01 + interval * planned_speed(loop, start + interval)
    ]
    assert [guard.rate(time) for time in outside] == [1.0] * len(outside)
    # the other contact has half that way: it is within the guard before
    assert 0.5 * way_left(loop, outside[-1]) < 0.01


def test_the_slow_part_takes_its_distance_over_its_speed() -> None:
    """Played with the rate, the guard lasts guard / speed, but for the one interval in which it begins."""
    guard, loop = guarded(GRIPPER, guard=0.008, touch_load=0.5)
    start, end = loop.timeline.span(Phase.CLOSE)
    time, taken, dt = start, 0.0, 1e-3
    while time < end - 1e-9:
        taken += dt if way_left(loop, time) <= 0.008 else 0.0
        time = min(time + min(1.0, guard.rate(time)) * dt, end)
    interval = (end - start) / 40
    assert taken == pytest.approx(0.008 / guard.speed, abs=interval / guard.rate(end) + dt)
    assert taken <= guard.longest


def test_the_longest_slow_part_is_guard_and_search_at_the_guarded_speed() -> None:
    guard, loop = guarded(GRIPPER, guard=0.006, search=0.011)
    assert guard.longest == pytest.approx((0.006 + 0.011) / guard.speed, rel=1e-12)
    # a hand that does not open as wide has no longer way than that
    guard, loop = guarded(GRIPPER, guard=0.5, search=0.011)
    way = np.abs(loop.timeline.q_pregrasp - loop.timeline.q_touch)[loop.hand].max()
    assert guard.longest == pytest.approx((way + 0.011) / guard.speed, rel=1e-9)


@pytest.mark.parametrize("hand", [GRIPPER, SDH2])
def test_fingers_search_the_way_they_close_with_the_guarded_speed(hand: str) -> None:
    guard, loop = guarded(hand)
    jacobian = planned_contacts(loop).jacobian
    speeds = np.linalg.norm(jacobian @ guard.search_rate, axis=1)
    assert speeds.max() == pytest.approx(guard.speed, rel=1e-9) and guard.search_speed == guard.speed
    assert not guard.search_rate[loop.assembly.arm_joints].any()
    # all joints go on in the proportions in which they close, and towards the object
    closing = (loop.timeline.q_touch - loop.timeline.q_pregrasp)[loop.hand]
    cosine = guard.search_rate[loop.hand] @ closing
    cosine /= np.linalg.norm(guard.search_rate) * np.linalg.norm(closing)
    assert cosine == pytest.approx(1.0, abs=1e-9)
    assert (jacobian[:, 2] @ guard.search_rate > 0.0).all()
    assert guard.searched == 0.0
