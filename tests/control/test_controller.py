"""The controller on a hand of springs: phases, forces, faults one by one, and time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from faults import FaultyDriver, Injection
from made_plans import MadeTask, made
from pliant.control import (
    CalibrationFactors,
    ControlOptions,
    Driver,
    GraspController,
    RunLog,
    RunPhase,
    WatchLimits,
    execute,
)
from pliant.errors import OptionError
from pliant.planner import PlannedContact
from pliant.planner.commands import servo_commands
from spring_hand import SpringHand

CARRYING = (RunPhase.LIFT, RunPhase.MOVE, RunPhase.HOLD)


@pytest.fixture(scope="module", params=["schunk_sdh2", "parallel_gripper"])
def thing(request: pytest.FixtureRequest) -> MadeTask:
    return made("ball", hand=request.param)


@pytest.fixture(scope="module")
def thing_of() -> dict[str, MadeTask]:
    return {"schunk_sdh2": made("ball")}


def controller(made_task: MadeTask, **options: object) -> GraspController:
    return GraspController(
        made_task.grasp,
        made_task.task.assembly,
        options=ControlOptions(**options),  # type: ignore[arg-type]
        start=RunPhase.CLOSE,
    )


def run(made_task: MadeTask, hand: SpringHand | None = None, **options: object) -> tuple[RunLog, SpringHand]:
    hand = hand or SpringHand(made_task.grasp, made_task.task.assembly)
    assert isinstance(hand, Driver)
    return execute(hand, controller(made_task, **options)), hand


def order(log: RunLog) -> list[str]:
    return [event.text for event in log.events if event.kind == "phase"]


def test_phases_follow_one_another_and_wanted_forces_are_reached(thing: MadeTask) -> None:
    log, hand = run(thing)
    assert order(log) == ["close", "squeeze", "lift", "hold", "done"]
    assert log.reason == ""
    held = log.during(RunPhase.HOLD)
    np.testing.assert_allclose(log["force_measured"][held][-1], log["force_wanted"][held][-1], rtol=0.15)
    # Wanted: the planned ones, which do for the contacts as they are.
    planned = np.array([contact.normal_force for contact in thing.grasp.states[-1].contacts])
    np.testing.assert_allclose(log["force_wanted"][held][-1], planned, rtol=0.02)
    assert hand.true_force[-1] < thing.task.body.limits.largest_force


@pytest.mark.parametrize("stiffness", [0.5, 2.0])
def test_the_loop_brings_a_softer_or_stiffer_thing_to_the_same_force(thing: MadeTask, stiffness: float) -> None:
    hand = SpringHand(thing.grasp, thing.task.assembly, stiffness=stiffness)
    log, _ = run(thing, hand)
    assert log.end is RunPhase.DONE
    held = log.during(RunPhase.HOLD)
    np.testing.assert_allclose(log["force_measured"][held][-1], log["force_wanted"][held][-1], rtol=0.2)
    off, _ = run(thing, SpringHand(thing.grasp, thing.task.assembly, stiffness=stiffness), force_loop=False)
    assert off.end is RunPhase.DONE
    planned = off["force_planned"][off.during(RunPhase.HOLD)][-1]
    felt = off["force_measured"][off.during(RunPhase.HOLD)][-1]
    np.testing.assert_allclose(felt, stiffness * planned, rtol=0.1)  # nothing corrects it


def test_without_disturbance_and_loop_the_command_is_the_plan(thing: MadeTask) -> None:
    log, _ = run(thing, force_loop=False)
    rows = ~log.during(RunPhase.DONE)
    planned = np.array([thing.grasp.trajectory.at(float(time)) for time in log["plan_time"][rows]])
    np.testing.assert_allclose(log["q_planned"][rows], planned, atol=1e-12)
    np.testing.assert_allclose(log["q_commanded"][rows][:-1], planned[1:], atol=1e-12)  # until the next sample


def compliant(made_task: MadeTask) -> MadeTask:
    """The plan with commands for drives that give way under the normal forces, which are all that the springs know."""
    states = [replace(state, contacts=tuple(_smooth(c) for c in state.contacts)) for state in made_task.grasp.states]
    hand = SpringHand(made_task.grasp, made_task.task.assembly)
    torques = []
    for state in states:
        hand.q = state.q
        forces = np.array([contact.normal_force for contact in state.contacts])
        hand.forces = lambda forces=forces: forces  # type: ignore[method-assign]
        torques.append(hand.torques())
    commands, notes = servo_commands(made_task.task.assembly, made_task.grasp.trajectory, states, torques)
    assert notes == ()
    trajectory = replace(made_task.grasp.trajectory, commands=commands)
    return replace(made_task, grasp=replace(made_task.grasp, trajectory=trajectory))


def _smooth(contact: PlannedContact) -> PlannedContact:
    return replace(contact, force=np.array([0.0, 0.0, contact.normal_force]))


def test_commands_make_drives_that_give_way_press_as_planned_without_the_loop(thing: MadeTask) -> None:
    """By hand: with x = d_plan - c f in a linear contact f = F x / d_plan, drives of tip compliance c leave
    f / F = d / (d + c F) where joints are commanded; commands q + tau / k give back all of it."""
    made_task = compliant(thing)
    forces = {}
    for name, played in (("joints", thing), ("commands", made_task)):
        hand = SpringHand(played.grasp, played.task.assembly, gives=True, noise=0.0)
        run(played, hand, force_loop=False)
        forces[name] = hand.forces() / hand.planned
    np.testing.assert_allclose(forces["commands"], 1.0, atol=0.01)
    assert forces["joints"].max() < 0.97


@pytest.mark.parametrize("stiffness", [0.5, 2.0])
def test_a_calibration_takes_most_of_a_wrong_stiffness_out_of_the_squeeze(thing: MadeTask, stiffness: float) -> None:
    """Played without the loop: a linear contact k times as stiff presses k times as hard; with k known, and the depth
    made k^(-2/3) of the planned one, k^(1/3) times."""
    for known, expected in ((1.0, stiffness), (stiffness, stiffness ** (1.0 / 3.0))):
        hand = SpringHand(thing.grasp, thing.task.assembly, stiffness=stiffness)
        run(thing, hand, force_loop=False, calibration=CalibrationFactors(known, known))
        np.testing.assert_allclose(hand.forces() / hand.planned, expected, rtol=0.03)


def test_with_a_calibration_a_stiff_thing_is_squeezed_with_less_overshoot(thing: MadeTask) -> None:
    peaks = {}
    for known in (1.0, 2.0):
        hand = SpringHand(thing.grasp, thing.task.assembly, stiffness=2.0)
        run(thing, hand, calibration=CalibrationFactors(known, known))
        peaks[known] = max(hand.true_force) / float(hand.planned.max())
    assert peaks[2.0] < peaks[1.0]


def test_an_object_that_lies_elsewhere_is_found_and_its_first_finger_waits() -> None:
    there = made("ball")
    hand = SpringHand(there.grasp, there.task.assembly, gaps=(-0.004, 0.004))
    log, _ = run(there, hand)
    assert log.end is RunPhase.DONE
    touches = [event for event in log.events if event.kind == "touch"]
    assert [event.text.split("'")[1] for event in touches] == ["finger_1_distal", "finger_2_distal"]
    assert touches[1].time - touches[0].time > 0.3
    assert max(hand.true_force) < 1.5 * max(log["force_wanted"][log.during(RunPhase.HOLD)][-1])


def test_an_object_that_is_not_there_opens_the_hand_again(thing: MadeTask) -> None:
    hand = SpringHand(thing.grasp, thing.task.assembly)
    hand.gone = True
    log, _ = run(thing, hand)
    assert log.end is RunPhase.OPENED
    assert log.reason.startswith("no contact found")
    np.testing.assert_allclose(
        hand.command[thing.task.assembly.hand_joints],
        thing.grasp.q_pregrasp[thing.task.assembly.hand_joints],
        atol=1e-6,
    )


FAULTS = [
    (Injection.FROZEN_FRAMES, "sensor data frozen"),
    (Injection.LOST_FRAMES, "sensor data lost"),
    (Injection.NAN_FRAMES, "sensor data lost"),
    (Injection.DELAY, "sensor data lost"),
    (Injection.DEAD_PAD, "contact lost"),
    (Injection.SPIKES, "sensor data wild"),
    (Injection.NAN_JOINTS, "numbers that are not finite"),
    (Injection.LOST_JOINTS, "joint data lost"),
    (Injection.CLOCK, "clock stands still"),
]


def with_fault(
    made_task: MadeTask, injection: Injection, when: RunPhase, **given: str
) -> tuple[RunLog, SpringHand, FaultyDriver]:
    hand = SpringHand(made_task.grasp, made_task.task.assembly)
    faulty = FaultyDriver(hand, injection, **given)
    own = controller(made_task, hold=3.0)

    def watch(sample: object, command: object) -> None:
        if own.phase is when:
            faulty.arm()

    log = execute(faulty, own, observe=watch)
    assert faulty.armed_at is not None
    return log, hand, faulty


@pytest.mark.parametrize(
    ("injection", "reason", "when"),
    [
        *((injection, reason, RunPhase.HOLD) for injection, reason in FAULTS),
        # A squeeze is over before half a second of spikes has been seen.
        *((injection, reason, RunPhase.SQUEEZE) for injection, reason in FAULTS if injection is not Injection.SPIKES),
    ],
)
def test_every_fault_ends_safely_in_time_with_its_reason(
    thing_of: dict[str, MadeTask], injection: Injection, reason: str, when: RunPhase
) -> None:
    there = thing_of["schunk_sdh2"]
    log, hand, faulty = with_fault(there, injection, when)
    assert log.end.safe, order(log)
    assert log.reason.startswith(reason), log.reason
    abort = next(event for event in log.events if event.kind == "abort")
    assert faulty.armed_at is not None
    limit = 0.8 if injection is Injection.SPIKES else WatchLimits().reaction
    if injection is not Injection.CLOCK:  # there time itself stands still: it is counted in samples
        assert abort.time - faulty.armed_at <= limit
    # While it hangs in the hand nothing opens; on its support the hand lets go, or stops where it knows nothing.
    blind = injection in (Injection.NAN_JOINTS, Injection.LOST_JOINTS, Injection.CLOCK)
    assert log.end is (RunPhase.STOPPED if abort.phase in CARRYING or blind else RunPhase.OPENED)
    assert max(hand.true_force) < there.task.body.limits.largest_force
    if log.end is RunPhase.STOPPED:
        assert np.array_equal(hand.command, log["q_commanded"][-1])


def test_a_single_spike_is_left_out_and_told(thing_of: dict[str, MadeTask]) -> None:
    log, _, _ = with_fault(thing_of["schunk_sdh2"], Injection.SPIKE, RunPhase.HOLD)
    assert log.end is RunPhase.DONE
    assert [event.kind for event in log.events].count("spike") == 1
    held = log.during(RunPhase.HOLD)
    assert log["force_filtered"][held].max() < 1.5 * log["force_wanted"][held].max()


def test_a_joint_that_stops_following_is_seen(thing_of: dict[str, MadeTask]) -> None:
    there = thing_of["schunk_sdh2"]
    log, _, _ = with_fault(there, Injection.STUCK_JOINT, RunPhase.CLOSE, joint="finger_1_proximal_joint")
    assert log.end is RunPhase.OPENED
    assert log.reason.startswith("joint not following: 'finger_1_proximal_joint'")
    abort = next(event for event in log.events if event.kind == "abort")
    late = log["time"][(np.abs(log["q_commanded"] - log["q_measured"]) > 0.12).any(axis=1)]
    assert abort.time - late[0] <= WatchLimits().unfollowed + 0.02


def test_a_force_over_its_limit_is_eased_within_the_reaction_time(thing_of: dict[str, MadeTask]) -> None:
    there = thing_of["schunk_sdh2"]
    hand = SpringHand(there.grasp, there.task.assembly)
    own = controller(there, hold=5.0)
    began: list[float] = []

    def swell(sample: object, command: object) -> None:
        if own.phase is RunPhase.HOLD and hand.time > 0.5 and not began and own.elapsed(hand.time) > 0.2:
            hand.gaps -= 0.0075  # the thing swells in the hand
            began.append(hand.time)

    log = execute(hand, own, observe=swell)
    assert began
    assert log.end is RunPhase.EASED
    assert log.reason.startswith("force over limit")
    abort = next(event for event in log.events if event.kind == "abort")
    assert abort.time - began[0] <= WatchLimits().reaction
    over = np.array(hand.true_force) > there.task.body.limits.largest_force
    assert 0.01 * over.sum() <= WatchLimits().reaction + 0.15  # some 3 mm to give way at 20 mm/s
    assert hand.forces().max() < there.task.body.limits.largest_force


def test_a_dropped_object_stops_the_arm(thing_of: dict[str, MadeTask]) -> None:
    there = thing_of["schunk_sdh2"]
    hand = SpringHand(there.grasp, there.task.assembly)
    own = controller(there)

    def drop(sample: object, command: object) -> None:
        hand.gone = hand.gone or own.phase is RunPhase.LIFT

    log = execute(hand, own, observe=drop)
    assert log.end is RunPhase.STOPPED
    assert log.reason.startswith("contact lost")


def test_a_driver_that_stops_or_never_moves_its_clock_cannot_hang_the_run(thing_of: dict[str, MadeTask]) -> None:
    there = thing_of["schunk_sdh2"]
    hand = SpringHand(there.grasp, there.task.assembly)
    hand.emergency_stop("a red button")
    log, _ = run(there, hand)
    assert log.end is RunPhase.STOPPED
    assert log.reason == "driver stopped: a red button"


def test_release_opens_the_hand_at_the_end(thing_of: dict[str, MadeTask]) -> None:
    log, hand = run(thing_of["schunk_sdh2"], release=True)
    assert order(log)[-2:] == ["release", "done"]
    assert hand.forces().max() == 0.0


def test_wrong_options_are_refused_with_their_names() -> None:
    with pytest.raises(OptionError, match="gain"):
        ControlOptions(gain=0.0)
    with pytest.raises(OptionError, match="frame_age"):
        WatchLimits(frame_age=-1.0)
