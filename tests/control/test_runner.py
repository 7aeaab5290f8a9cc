"""Plans on somebody's own driver: begun only where the plan begins, stopped when anything fails, judged by the pads."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest

from made_plans import MadeTask, made
from pliant.control import Command, GraspController, RunOutcome, RunPhase, Sample, check_driver, run_on_driver
from pliant.errors import OptionError
from pliant.tactile import regions as tactile
from spring_hand import SpringHand


@pytest.fixture(scope="module")
def thing() -> MadeTask:
    return made("ball", hand="parallel_gripper", young=1.5e5)


def hand_for(thing: MadeTask, **options: Any) -> SpringHand:
    start = options.pop("start", thing.grasp.trajectory.q[0])
    return SpringHand(thing.grasp, thing.task.assembly, start=start, **options)


class Commands(SpringHand):
    """Keeps count of what it is told, and fails when asked to."""

    told = 0
    fail_at = -1
    raises: type[BaseException] = OSError

    def command_positions(self, positions: np.ndarray) -> None:
        self.told += 1
        if self.told == self.fail_at:
            raise self.raises("the cable is out")
        super().command_positions(positions)


def test_a_sound_driver_holds_and_the_forces_are_what_the_pads_felt(thing: MadeTask) -> None:
    hand = hand_for(thing)
    result = run_on_driver(hand, thing.grasp, thing.task.assembly)
    assert result.outcome is RunOutcome.HELD, result.reason
    assert result.log.end is RunPhase.DONE
    assert result.reason == ""
    assert result.max_force == pytest.approx(max(hand.true_force), rel=0.15)  # noise and rounding of the pads
    assert 0 < result.measured_force <= result.max_force
    assert not hand.stopped


def test_nothing_is_commanded_where_the_plan_does_not_begin(thing: MadeTask) -> None:
    start = thing.grasp.trajectory.q[0].copy()
    start[0] += 0.2
    hand = Commands(thing.grasp, thing.task.assembly, start=start)
    result = run_on_driver(hand, thing.grasp, thing.task.assembly)
    assert result.outcome is RunOutcome.ABORTED
    assert "joint1 at" in result.reason
    assert "joint2" not in result.reason
    assert hand.told == 0
    assert len(result.log) == 0


def test_a_robot_that_says_nothing_is_not_moved(thing: MadeTask, monkeypatch: pytest.MonkeyPatch) -> None:
    hand = Commands(thing.grasp, thing.task.assembly, start=thing.grasp.trajectory.q[0])
    sound = hand.read()
    monkeypatch.setattr(hand, "read", lambda: type(sound)(hand.time, None))
    result = run_on_driver(hand, thing.grasp, thing.task.assembly, patience=0.5)
    assert result.reason == "no joint reading within 0.5 s"
    assert hand.told == 0


@pytest.mark.parametrize(("raises", "said"), [(OSError, "the cable is out"), (KeyboardInterrupt, "keyboard")])
def test_a_driver_that_raises_is_stopped_and_the_log_is_kept(
    thing: MadeTask, raises: type[BaseException], said: str
) -> None:
    hand = Commands(thing.grasp, thing.task.assembly, start=thing.grasp.trajectory.q[0])
    hand.fail_at, hand.raises = 40, raises
    result = run_on_driver(hand, thing.grasp, thing.task.assembly)
    assert result.outcome is RunOutcome.ABORTED
    assert said in result.reason
    if raises is OSError:
        assert "test_runner.py:" in result.reason  # where it was raised
    assert hand.stopped
    assert len(result.log) == 40


@pytest.mark.parametrize(
    ("name", "said"),
    [("SIGINT", "keyboard"), *((name, f"by {name}") for name in ("SIGTERM", "SIGHUP", "SIGQUIT"))],
)
def test_a_signal_stops_the_robot_first_and_a_second_one_does_not_interrupt_the_stop(
    thing: MadeTask, name: str, said: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    hand = Commands(thing.grasp, thing.task.assembly, start=thing.grasp.trajectory.q[0])
    number, ignored = getattr(signal, name), []
    before = signal.getsignal(number)
    if before is signal.SIG_IGN:  # under nohup, where SIGHUP shall not stop a run
        signal.signal(number, signal.SIG_DFL)
        request.addfinalizer(lambda: signal.signal(number, before))
    command, stop = hand.command_positions, hand.emergency_stop

    def commanded(positions: np.ndarray) -> None:
        command(positions)
        ignored.append(signal.getsignal(signal.SIGTSTP))
        if hand.told == 40:
            signal.raise_signal(number)

    def stopping(why: str) -> None:
        signal.raise_signal(signal.SIGINT)  # an impatient second one, in the middle of the stop
        signal.raise_signal(number)
        stop(why)

    monkeypatch.setattr(hand, "command_positions", commanded)
    monkeypatch.setattr(hand, "emergency_stop", stopping)
    heard = {
        which: signal.getsignal(which)
        for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP)
    }
    result = run_on_driver(hand, thing.grasp, thing.task.assembly)
    assert result.outcome is RunOutcome.ABORTED
    assert said in result.reason and "told to stop" in result.reason
    assert hand.stopped and hand.told == len(result.log) == 40
    assert set(ignored) == {signal.SIG_IGN}  # a hand that nobody controls goes on pressing
    assert heard == {which: signal.getsignal(which) for which in heard}


def test_a_signal_that_is_ignored_already_does_not_end_a_run(thing: MadeTask, monkeypatch: pytest.MonkeyPatch) -> None:
    """As under nohup."""
    hand = Commands(thing.grasp, thing.task.assembly, start=thing.grasp.trajectory.q[0])
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    command = hand.command_positions
    monkeypatch.setattr(hand, "command_positions", lambda q: (command(q), signal.raise_signal(signal.SIGHUP)))
    try:
        assert run_on_driver(hand, thing.grasp, thing.task.assembly).outcome is RunOutcome.HELD
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_object_that_vanishes_after_the_lift_was_dropped(thing: MadeTask) -> None:
    hand = hand_for(thing)
    step = hand.step

    def losing() -> None:
        step()
        hand.gone = hand.gone or hand.time > lift + 0.1

    lift = run_on_driver(hand_for(thing), thing.grasp, thing.task.assembly).log
    lift = float(lift["time"][lift.during(RunPhase.LIFT)][0])
    hand.step = losing  # type: ignore[method-assign]
    result = run_on_driver(hand, thing.grasp, thing.task.assembly)
    assert result.outcome is RunOutcome.DROPPED
    assert result.reason.startswith("contact lost")


def test_a_driver_for_another_robot_is_refused_with_what_is_wrong(thing: MadeTask) -> None:
    hand: Any = hand_for(thing)
    assert check_driver(hand, thing.task.assembly) is hand
    with pytest.raises(OptionError, match=r"'int' has no joint_names, .*close"):
        check_driver(3, thing.task.assembly)
    hand.joint_names = hand.joint_names[::-1]
    hand.array_names = ("left_pat",)
    hand.period = 0.0
    with pytest.raises(OptionError, match=r"in this order(.|\n)*closest: left_pad(.|\n)*period: 0.0"):
        check_driver(hand, thing.task.assembly)


def test_members_of_the_wrong_kind_are_all_named(thing: MadeTask) -> None:
    class Silly(type(hand_for(thing))):  # type: ignore[misc]
        @property
        def time(self) -> float:
            raise OSError("no clock")

    hand: Any = hand_for(thing)
    hand.__class__ = Silly
    hand.joint_names, hand.array_names, hand.period, hand.step = None, "left_pad", "10 ms", 3
    with pytest.raises(OptionError) as refused:
        check_driver(hand, thing.task.assembly)
    places = [problem.where for problem in refused.value.problems]
    assert places == ["time", "step", "joint_names", "array_names", "period"]
    assert "OSError: no clock" in str(refused.value)


def test_compiled_code_is_loaded_before_the_first_touch(thing: MadeTask, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(tactile, "_patches", lambda forces: calls.append(forces))
    GraspController(thing.grasp, thing.task.assembly)
    assert len(calls) == 1


def test_a_driver_that_cannot_even_be_stopped_is_told_with_its_log_kept(thing: MadeTask) -> None:
    class Dead(Commands):
        def emergency_stop(self, reason: str) -> None:
            raise OSError("no route to hand")

    hand = Dead(thing.grasp, thing.task.assembly, start=thing.grasp.trajectory.q[0])
    hand.fail_at = 30
    result = run_on_driver(hand, thing.grasp, thing.task.assembly)
    assert result.outcome is RunOutcome.ABORTED
    assert "emergency stop failed as well: OSError: no route to hand" in result.reason
    assert len(result.log) >= 29


class StrictJudge:
    """Counts what it is shown and holds nothing for held."""

    def __init__(self) -> None:
        self.seen: list[Command] = []
        self.failure: str | None = None

    def observe(self, sample: Sample, command: Command) -> None:
        self.seen.append(command)

    def verdict(self, controller: GraspController, failure: str) -> tuple[RunOutcome, str]:
        self.failure = failure
        return RunOutcome.UNSTABLE, "nobody knows"


def test_a_judge_sees_every_command_and_decides_what_became_of_the_object(thing: MadeTask) -> None:
    judge = StrictJudge()
    result = run_on_driver(hand_for(thing), thing.grasp, thing.task.assembly, judge=judge)
    assert (result.outcome, result.reason, judge.failure) == (RunOutcome.UNSTABLE, "nobody knows", "")
    assert [command.phase for command in judge.seen] == list(result.log.phases)
    np.testing.assert_array_equal([command.positions for command in judge.seen], result.log["q_commanded"])


def test_what_a_driver_of_our_own_raises_is_passed_on_once_it_was_stopped(thing: MadeTask) -> None:
    hand = Commands(thing.grasp, thing.task.assembly, start=thing.grasp.trajectory.q[0])
    hand.fail_at = 5
    judge = StrictJudge()
    with pytest.raises(OSError, match="the cable is out"):
        run_on_driver(hand, thing.grasp, thing.task.assembly, judge=judge, raises=True)
    assert hand.stopped and judge.failure is None
    hand = Commands(thing.grasp, thing.task.assembly, start=thing.grasp.trajectory.q[0])
    hand.fail_at = 5
    run_on_driver(hand, thing.grasp, thing.task.assembly, judge=judge)
    assert judge.failure is not None and judge.failure.startswith("the driver failed: OSError")
