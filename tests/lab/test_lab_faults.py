"""Bad days in the simulator: every injected fault ends in a safe state in time, with its reason, or is survived."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from faults import FaultyDriver, Injection, kick
from made_plans import MadeTask, made
from pliant.control import ControlOptions, Driver, RunOutcome, RunPhase, WatchLimits
from pliant.lab import Disturbance, LabDriver, LabOptions, TrialResult, TrialSettings, run_trial
from pliant.planner import Goal

LIMITS = WatchLimits()
FRAME, CYCLE = 0.032, 0.012
ARRIVAL = 2 * FRAME + CYCLE  # until a thing that happens is in a sample
DOUBT = LIMITS.spike_frames * FRAME  # until a sudden jump has proved to be no spike
SETTINGS = TrialSettings(
    from_pregrasp=True,
    fine=False,
    period=CYCLE,
    lab=LabOptions(step=0.004, friction_stiffness=100.0, nodes=70),
    control=ControlOptions(hold=0.9),
    linger=0.1,
)


@dataclass(frozen=True)
class Stated:
    """What docs/execution.md says of a fault: the reason in the log, and the time to the reaction [s]."""

    reason: str
    within: float


STATED = {
    Injection.FROZEN_FRAMES: Stated("sensor data frozen", LIMITS.frozen + ARRIVAL),
    Injection.LOST_FRAMES: Stated("sensor data lost", LIMITS.frame_age + CYCLE),
    Injection.NAN_FRAMES: Stated("sensor data lost", LIMITS.frame_age + CYCLE),
    Injection.DELAY: Stated("sensor data lost", LIMITS.frame_age + CYCLE),
    Injection.DEAD_PAD: Stated("contact lost", LIMITS.lost + ARRIVAL + DOUBT),
    Injection.SPIKES: Stated("sensor data wild", 2 * LIMITS.spikes * FRAME + ARRIVAL),
    Injection.NAN_JOINTS: Stated("numbers that are not finite", CYCLE),
}


@pytest.fixture(scope="module")
def ball() -> MadeTask:
    return made("ball", hand="parallel_gripper", young=1.5e5, goal=Goal(lift=0.03))


def spoiled(ball: MadeTask, injection: Injection, when: RunPhase, joint: str = "") -> tuple[TrialResult, float]:
    """The trial with this fault from the beginning of a phase on, and when that was."""
    between: list[FaultyDriver] = []

    def wrap(lab: LabDriver) -> Driver:
        between.append(FaultyDriver(lab, injection, joint=joint))
        return between[0]

    def on_phase(lab: LabDriver, phase: RunPhase) -> None:
        if phase is when:
            between[0].arm()

    result = run_trial(ball.task, ball.grasp, settings=SETTINGS, wrap=wrap, on_phase=on_phase)
    began = between[0].armed_at
    assert began is not None, f"never came to '{when}': {result.reason}"
    return result, began


def abort_time(result: TrialResult) -> float:
    return next(event.time for event in result.log.events if event.kind == "abort")


def never_too_strong(result: TrialResult, ball: MadeTask) -> None:
    limit = ball.task.body.limits.largest_force
    assert result.overload_s <= LIMITS.overload + ARRIVAL, f"over {limit} N for {result.overload_s:.3f} s"


@pytest.mark.slow
@pytest.mark.parametrize("injection", STATED)
def test_in_the_lab_a_spoiled_sensor_stops_the_hand_in_time_with_its_reason(
    ball: MadeTask, injection: Injection
) -> None:
    """While the ball hangs in the hand nothing opens: the last command stands, and so does the grip."""
    result, began = spoiled(ball, injection, RunPhase.HOLD)
    stated = STATED[injection]
    assert result.log.end is RunPhase.STOPPED, result.log.end
    assert result.outcome is RunOutcome.ABORTED  # not dropped
    assert result.reason.startswith(stated.reason), result.reason
    assert 0.0 <= abort_time(result) - began <= stated.within + 1e-9
    never_too_strong(result, ball)


@pytest.mark.slow
def test_in_the_lab_a_finger_that_stops_following_opens_the_hand_in_time(ball: MadeTask) -> None:
    result, _ = spoiled(ball, Injection.STUCK_JOINT, RunPhase.CLOSE, joint="opening")
    assert result.log.end is RunPhase.OPENED
    assert result.reason.startswith("joint not following: 'opening'"), result.reason
    j = ball.task.assembly.robot.joint_index("opening")
    log = result.log
    off = abs(log["q_commanded"][:, j] - log["q_measured"][:, j]) > LIMITS.distance
    assert abort_time(result) - float(log["time"][off][0]) <= LIMITS.unfollowed + 2 * CYCLE + 1e-9
    never_too_strong(result, ball)


def held_or_safe(result: TrialResult, since: float) -> None:
    """Held to the end is as good as an end in safety. A fall must be told: contact lost, in the stated time."""
    if result.outcome is RunOutcome.HELD:
        assert result.log.end is RunPhase.DONE
        assert result.slip < 0.02  # it has moved in the hand, but no farther than a pad is wide
        return
    assert result.log.end.safe, (result.outcome, result.log.end)
    assert result.reason
    assert abort_time(result) - since <= LIMITS.lost + ARRIVAL + DOUBT + 0.3  # .. once it has slid off a pad


@pytest.mark.slow
def test_in_the_lab_three_times_the_weight_is_held_harder_or_let_go_with_a_reason(ball: MadeTask) -> None:
    result = run_trial(ball.task, ball.grasp, settings=SETTINGS, disturbance=Disturbance(mass=3.0))
    log = result.log
    lifted = log["time"][log.during(RunPhase.LIFT)]
    if result.outcome is RunOutcome.HELD:
        assert any(event.kind == "slip" for event in log.events)  # noticed, and answered with more force
        assert result.slip < 0.02
    else:
        assert log.end.safe
        assert result.reason
        # Noticed while it is lifted: the arm stops at once, the grip grows through the hold, then the run ends.
        slips = [event for event in log.events if event.kind == "slip"]
        assert slips
        assert slips[0].time - float(lifted[0]) < 0.3
        assert abort_time(result) - float(lifted[-1]) < SETTINGS.control.hold + 2 * CYCLE + LIMITS.reaction
    never_too_strong(result, ball)


@pytest.mark.slow
def test_in_the_lab_a_kick_is_survived_or_ends_safely(ball: MadeTask) -> None:
    kicked: list[float] = []

    def on_phase(lab: LabDriver, phase: RunPhase) -> None:
        if phase is RunPhase.HOLD:
            kick(lab, [0.0, 0.9, 0.0])
            kicked.append(lab.time)

    result = run_trial(ball.task, ball.grasp, settings=SETTINGS, on_phase=on_phase)
    assert kicked
    held_or_safe(result, kicked[0])
    never_too_strong(result, ball)
