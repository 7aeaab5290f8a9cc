"""Runs by torques on a hand of springs: the grip is the law's, nothing jumps, faults end as they do by positions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from faults import FaultyDriver, Injection
from made_plans import MadeTask, made
from pliant.control import (
    ControlMode,
    ControlOptions,
    GraspController,
    RunLog,
    RunOutcome,
    RunPhase,
    TorqueGrip,
    TorqueLaw,
    TorqueOptions,
    contact_kinematics,
    execute,
    run_on_driver,
    torque_drive,
    torque_phases,
)
from pliant.errors import OptionError
from pliant.planner import ContactTimeline, Reserve
from spring_hand import SpringHand
from torque_spring_hand import TorqueSpringHand


@pytest.fixture(scope="module")
def thing() -> MadeTask:
    ball = made("ball")
    return replace(ball, grasp=replace(ball.grasp, reserve=Reserve(friction=0.7)))


def controller(thing: MadeTask, hand: TorqueSpringHand, **options: object) -> GraspController:
    drive = torque_drive(hand, thing.task.assembly)
    return GraspController(
        thing.grasp,
        thing.task.assembly,
        options=ControlOptions(**options),  # type: ignore[arg-type]
        start=RunPhase.CLOSE,
        phases=torque_phases(drive, thing.grasp.reserve),
    )


def run(thing: MadeTask, hand: TorqueSpringHand | None = None, **options: object) -> tuple[RunLog, TorqueSpringHand]:
    hand = hand or TorqueSpringHand(thing.grasp, thing.task.assembly)
    return execute(hand, controller(thing, hand, **options)), hand


def test_the_hand_presses_as_planned_where_that_is_enough(thing: MadeTask) -> None:
    log, _ = run(thing)
    rows = log.during(RunPhase.HOLD)
    planned = [contact.normal_force for contact in thing.grasp.states[-1].contacts]
    np.testing.assert_allclose(log["force_wanted"][rows][-1], planned, rtol=0.03)
    np.testing.assert_allclose(log["force_measured"][rows][-1], planned, rtol=0.1)


def test_where_the_planned_squeeze_is_too_weak_the_hand_presses_as_statics_says(thing: MadeTask) -> None:
    """Two pads that face each other, their normals with a vertical part s and a horizontal part c: each bears
    W / 2 = s f + c t, and does not slip while t <= 0.45 mu f - margin. So f = (W / (2 c) + margin) / (0.45 mu + s / c).
    The plan's forces have t = 0.5 mu f.
    """
    thing = replace(thing, grasp=replace(thing.grasp, reserve=Reserve(friction=0.45)))
    log, _ = run(thing)
    assert [event.text for event in log.events if event.kind == "phase"] == ["close", "squeeze", "lift", "hold", "done"]
    rows = log.during(RunPhase.HOLD)
    wanted, pressed = log["force_wanted"][rows][-1], log["force_measured"][rows][-1]
    np.testing.assert_allclose(pressed, wanted, rtol=0.1)
    weight = 9.81 * thing.task.body.mass
    timeline, q = ContactTimeline(thing.grasp, thing.task.assembly.robot), log["q_measured"][rows][-1]
    moment = timeline.forces_at(timeline.duration)
    now = contact_kinematics(thing.task.assembly, timeline.links, q, moment.points, moment.axes)
    s = float(now.axes[:, 2, 2].mean())
    c = np.sqrt(1.0 - s**2)
    statics = (weight / (2 * c) + TorqueOptions().margin * weight) / (0.45 * 0.8 + s / c)
    np.testing.assert_allclose(wanted, statics, rtol=0.02)


def test_contact_frames_that_turn_about_their_normals_change_no_torque(thing: MadeTask) -> None:
    """The law's forces follow what was found within 0.1 s: in a frame turned by 180 degrees they would push down."""
    half = pin.SE3(pin.utils.rotate("z", np.pi), np.zeros(3))
    *early, last = thing.grasp.states
    turned = (
        replace(c, T_object_contact=c.T_object_contact * half, force=half.rotation.T @ c.force) for c in last.contacts
    )
    states = (*early, replace(last, contacts=tuple(turned)))
    _, plain = run(thing)
    _, turning = run(replace(thing, grasp=replace(thing.grasp, states=states)))
    np.testing.assert_allclose(
        [torques for _, torques in turning.sent], [torques for _, torques in plain.sent], atol=1e-6
    )


def test_torques_take_over_at_the_touch_and_positions_at_the_end_without_a_jump(thing: MadeTask) -> None:
    log, hand = run(thing)
    joints = thing.task.assembly.hand_joints
    given = np.isfinite(log["torque_commanded"][:, joints]).all(axis=1)
    by_phase = {phase: given[log.during(phase)] for phase in RunPhase}
    assert not by_phase[RunPhase.CLOSE][:-1].any() and not by_phase[RunPhase.DONE].any()
    assert by_phase[RunPhase.SQUEEZE][1:].all() and by_phase[RunPhase.LIFT].all()  # the first row ends the closing
    torques = log["torque_commanded"][given][:, joints]
    largest = np.abs(torques).max()
    before = (
        log["torque_measured"][given][0][joints]
        - thing.task.assembly.robot.gravity_torques(log["q_measured"][given][0])[joints]
    )
    assert np.abs(torques[0] - before).max() < 0.1 * largest
    assert np.abs(np.diff(torques, axis=0)).max() < 0.15 * largest
    # Given back: servos of this stiffness press at these positions just as the torques did.
    done = log.during(RunPhase.DONE)
    servo = thing.task.assembly.servo_stiffness[joints]
    pressing = servo * (log["q_commanded"] - log["q_measured"])[done][0][joints]
    np.testing.assert_allclose(pressing, torques[-1], atol=0.1 * largest)
    assert hand.given is None


@pytest.mark.parametrize("stiffness", [0.5, 2.0])
def test_a_softer_or_stiffer_object_is_pressed_as_strongly(thing: MadeTask, stiffness: float) -> None:
    hand = TorqueSpringHand(thing.grasp, thing.task.assembly, stiffness=stiffness)
    log, _ = run(thing, hand)
    assert log.end is RunPhase.DONE, log.reason
    rows = log.during(RunPhase.HOLD)
    np.testing.assert_allclose(log["force_measured"][rows][-1], log["force_wanted"][rows][-1], rtol=0.15)


def test_without_pads_the_run_is_the_same_by_torques_alone(thing: MadeTask) -> None:
    log, _ = run(thing, force_loop=False)
    assert log.end is RunPhase.DONE, log.reason
    rows = log.during(RunPhase.HOLD)
    np.testing.assert_allclose(log["force_measured"][rows][-1], log["force_wanted"][rows][-1], rtol=0.15)


FAULTS = [
    (Injection.LOST_FRAMES, "sensor data lost"),
    (Injection.DEAD_PAD, "contact lost"),
    (Injection.NAN_JOINTS, "numbers that are not finite"),
    (Injection.LOST_JOINTS, "joint data lost"),
    (Injection.CLOCK, "clock stands still"),
]


@pytest.mark.parametrize(("injection", "reason"), FAULTS)
@pytest.mark.parametrize("when", [RunPhase.SQUEEZE, RunPhase.HOLD])
def test_faults_give_the_hand_back_to_its_servos(
    thing: MadeTask, injection: Injection, reason: str, when: RunPhase
) -> None:
    hand = TorqueSpringHand(thing.grasp, thing.task.assembly)
    faulty, own = FaultyDriver(hand, injection), controller(thing, hand, hold=3.0)

    def arm(sample: object, command: object) -> None:
        if own.phase is when:
            faulty.arm()

    log = execute(faulty, own, observe=arm)
    assert log.end.safe and log.reason.startswith(reason)
    assert hand.given is None and np.isfinite(hand.command).all()
    if log.end is RunPhase.STOPPED and when is RunPhase.HOLD:  # the grip stays
        assert np.abs(hand.command - hand.q)[thing.task.assembly.hand_joints].max() < 0.01


def test_torques_that_are_not_finite_never_leave(thing: MadeTask, monkeypatch: pytest.MonkeyPatch) -> None:
    hand = TorqueSpringHand(thing.grasp, thing.task.assembly)
    own, true_law = controller(thing, hand), TorqueLaw.torques

    def broken(law: TorqueLaw, now: object, forces: np.ndarray) -> np.ndarray:
        return true_law(law, now, forces) * (np.nan if own.phase is RunPhase.LIFT else 1.0)  # type: ignore[arg-type]

    monkeypatch.setattr(TorqueLaw, "torques", broken)
    log = execute(hand, own)  # the hand asserts that they are finite
    assert log.end is RunPhase.STOPPED
    assert log.reason == "numbers that are not finite: the torques"
    assert np.abs(hand.command - hand.q).max() < 0.05


def test_torque_limits_are_kept(thing: MadeTask, monkeypatch: pytest.MonkeyPatch) -> None:
    true_law = TorqueLaw.torques
    monkeypatch.setattr(TorqueLaw, "torques", lambda *given: 1e3 * true_law(*given))
    _, hand = run(thing)
    limits = thing.task.assembly.torque_limits
    assert hand.sent
    assert (np.abs([torques for _, torques in hand.sent]) <= limits + 1e-12).all()


def test_a_driver_without_torque_joints_gets_all_of_them_and_the_weight(thing: MadeTask) -> None:
    """The arm is held by its own inertia times a stiff spring: at rest at the plan it is given its weight and J^T f."""
    hand = TorqueSpringHand(thing.grasp, thing.task.assembly)
    del hand.torque_joints
    hand.carries_weight = False  # type: ignore[assignment]
    drive = torque_drive(hand, thing.task.assembly)
    assert drive.joints.all() and drive.weight
    own = controller(thing, hand)
    run_ = own.run
    q = run_.timeline.trajectory.at(run_.timeline.grasp_time)
    hand.q = hand.command = q.copy()
    hand.step()
    hand.q = q.copy()
    run_.plan_time = run_.timeline.grasp_time
    own._enter(RunPhase.SQUEEZE, 0.0)
    own._enter(RunPhase.LIFT, 0.0)
    run_.grip._share = 1.0  # type: ignore[attr-defined]
    command = own.step(hand.read())
    assert command.torques is not None and command.torque_joints.all()
    grip = run_.grip
    assert isinstance(grip, TorqueGrip) and grip.forces is not None and grip.contacts is not None
    borne = np.einsum("nij,ni->j", grip.contacts.jacobian, grip.forces)
    expected = thing.task.assembly.robot.gravity_torques(q) + borne
    np.testing.assert_allclose(command.torques, expected, atol=1e-3 * np.abs(expected).max())


def test_drivers_that_cannot_are_refused_in_words(thing: MadeTask) -> None:
    assembly = thing.task.assembly
    with pytest.raises(OptionError, match="takes joint positions only"):
        run_on_driver(SpringHand(thing.grasp, assembly), thing.grasp, assembly, torques=TorqueOptions())
    hand = TorqueSpringHand(thing.grasp, assembly)
    hand.torque_joints = tuple(name for name in hand.joint_names if name != "thumb_distal_joint")
    with pytest.raises(OptionError, match="'thumb_distal_joint' is missing"):
        torque_drive(hand, assembly)
    hand.torque_joints = (*hand.joint_names, "sixth_finger")
    with pytest.raises(OptionError, match="sixth_finger"):
        torque_drive(hand, assembly)
    for stiffness in (-1.0, 0.0, np.nan):
        with pytest.raises(OptionError, match=r"stiffness: .*1 to 100000"):
            TorqueOptions(stiffness=stiffness)


@pytest.mark.parametrize(
    ("torques", "loop", "mode"),
    [(None, True, ControlMode.PADS), (None, False, ControlMode.COMMANDS), (TorqueOptions(), True, ControlMode.TORQUES)],
)
def test_a_result_says_by_what_the_forces_came_about_and_their_peak(
    thing: MadeTask, torques: TorqueOptions | None, loop: bool, mode: ControlMode
) -> None:
    hand = TorqueSpringHand(thing.grasp, thing.task.assembly)
    options = ControlOptions(force_loop=loop)
    result = run_on_driver(hand, thing.grasp, thing.task.assembly, options=options, from_pregrasp=True, torques=torques)
    assert result.outcome is RunOutcome.HELD, result.reason
    assert result.control is mode
    log = result.log
    carried = log.during(RunPhase.LIFT) | log.during(RunPhase.HOLD)
    assert result.peak_force == pytest.approx(np.nanmax(log["force_measured"][carried]))
    assert result.planned_peak_force == pytest.approx(max(state.largest_force for state in thing.grasp.states))


def test_torques_stay_at_the_end_where_no_position_is_known_to_press_as_strongly(
    thing: MadeTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = property(lambda assembly: np.full(assembly.robot.dof, np.inf))
    monkeypatch.setattr(type(thing.task.assembly), "servo_stiffness", unknown)
    log, _ = run(thing)
    assert log.end is RunPhase.DONE, log.reason
    torques = log["torque_commanded"][:, thing.task.assembly.hand_joints]
    held, end = torques[log.during(RunPhase.HOLD)][-1], torques[log.during(RunPhase.DONE)]
    np.testing.assert_allclose(end, np.tile(held, (len(end), 1)), atol=0.05 * np.abs(held).max())
