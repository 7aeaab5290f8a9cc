"""`pliant run --driver MODULE:FACTORY`: drivers of one's own, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from made_plans import MadeTask, made
from pliant.cli import run_command as run_command_line
from pliant.control import WatchLimits
from pliant.files import load_run, save_plan
from pliant.planner import Plan, PlanStatus
from pliant.tactile import PadSensor
from spring_hand import SpringHand

MODULE = """
import handmade_drivers
connect = handmade_drivers.connect
def connect_stiff(assembly): return connect(assembly, 2.0)
def broken(assembly): raise OSError("no route to hand")
def nothing(assembly): return None
def leaving(assembly): raise SystemExit(0)
def watchful(assembly):
    hand = connect(assembly)
    hand.watch = {"frozen": 1.0}
    return hand
answer = 42
"""


@pytest.fixture(scope="module")
def thing() -> MadeTask:
    return made("ball", hand="parallel_gripper", young=1.5e5)


@pytest.fixture(scope="module")
def plan_file(thing: MadeTask, tmp_path_factory: pytest.TempPathFactory) -> Path:
    plan = Plan(thing.task, PlanStatus.FOUND, (thing.grasp,), (thing.grasp.hypothesis,), ())
    return save_plan(plan, tmp_path_factory.mktemp("plans") / "ball.plan")


@pytest.fixture
def made_drivers(thing: MadeTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[SpringHand]:
    """Drivers that ``my_hand:connect`` has made; the module lies in the current folder."""
    import sys
    import types

    made_ones: list[SpringHand] = []

    def connect(assembly: object, stiffness: float = 1.0) -> SpringHand:
        hand = SpringHand(thing.grasp, thing.task.assembly, start=thing.grasp.trajectory.q[0], stiffness=stiffness)
        hand.pad_sensor = PadSensor(threshold=1)  # type: ignore[attr-defined]
        hand.watch = WatchLimits(frozen=float("inf"))  # type: ignore[attr-defined]
        made_ones.append(hand)
        return hand

    module = types.ModuleType("handmade_drivers")
    module.connect = connect  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "handmade_drivers", module)
    monkeypatch.delitem(sys.modules, "my_hand", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_hand.py").write_text(MODULE)
    (tmp_path / "bad_hand.py").write_text("import a_module_that_nobody_has\n")
    (tmp_path / "worse_hand.py").write_text("1 / 0\n")
    (tmp_path / "script_hand.py").write_text("import sys\nsys.exit(0)\n")
    return made_ones


def test_a_plan_is_carried_out_on_a_driver_of_ones_own(
    plan_file: Path, made_drivers: list[SpringHand], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", str(plan_file), "--driver", "my_hand:connect", "--out", "ball.run", "--json"]
    assert run_command_line(arguments) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["outcome"] == "held"
    assert answer["slip_m"] is None  # nobody can know
    assert 0 < answer["measured_force_n"] < answer["permitted_force_n"]
    log = load_run(tmp_path / "ball.run")
    assert log.facts["driver"] == "my_hand:connect"
    assert log.facts["options"]["watch"]["frozen"] in (None, "inf", float("inf"))
    assert log.pad_sensor == PadSensor(threshold=1)
    assert [hand.stopped for hand in made_drivers] == ["closed"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--driver", "my_hand"], "no driver 'my_hand'; lab, or MODULE:FACTORY"),
        (["--driver", "my_hand:"], "no driver"),
        (["--driver", "my_hund:connect"], "no module 'my_hund'"),
        (["--driver", "my_hand:conect"], "closest: connect"),
        (["--driver", "my_hand:answer"], "no factory 'answer'"),
        (["--driver", "my_hand:broken"], "OSError: no route to hand"),
        (["--driver", "my_hand:leaving"], "my_hand:leaving failed: SystemExit: 0"),
        (["--driver", "script_hand:connect"], "cannot be imported: SystemExit: 0"),
        (["--driver", "my_hand:nothing"], "'NoneType' has no joint_names"),
        (["--driver", "bad_hand:connect"], "needs module 'a_module_that_nobody_has'"),
        (["--driver", "worse_hand:connect"], "ZeroDivisionError"),
        (["--driver", "my_hand:connect", "--series", "3"], "--series: is of the lab alone"),
        (["--driver", "my_hand:connect", "--jobs", "2"], "--jobs: is of the lab alone"),
        (["--driver", "my_hand:connect", "--perturb", "mass=2"], "--perturb: is of the lab alone"),
    ],
)
def test_what_is_wrong_with_a_driver_is_said_before_anything_moves(
    plan_file: Path,
    made_drivers: list[SpringHand],
    options: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_command_line(["run", str(plan_file), *options]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not made_drivers


def test_limits_that_are_no_limits_are_refused_and_the_driver_is_closed(
    plan_file: Path, made_drivers: list[SpringHand], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["run", str(plan_file), "--driver", "my_hand:watchful"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "watch: is of the kind 'dict'; a pliant.control.WatchLimits" in said
    assert [hand.stopped for hand in made_drivers] == ["closed"]


@pytest.mark.parametrize("failure", [OSError("port is gone"), SystemExit(0)])
def test_a_driver_that_cannot_be_closed_costs_nothing_that_was_measured(
    plan_file: Path,
    made_drivers: list[SpringHand],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    failure: BaseException,
) -> None:
    def stuck(self: SpringHand) -> None:
        raise failure

    monkeypatch.setattr(SpringHand, "close", stuck)
    arguments = ["run", str(plan_file), "--driver", "my_hand:connect", "--out", "ball.run", "--json"]
    assert run_command_line(arguments) == 0
    streams = capsys.readouterr()
    assert json.loads(streams.out)["outcome"] == "held"
    assert f"warning: my_hand:connect could not be closed: {type(failure).__name__}: {failure}" in streams.err
    assert len(load_run(tmp_path / "ball.run"))


def test_a_slower_run_takes_longer_and_a_failing_one_is_an_honest_no(
    plan_file: Path,
    thing: MadeTask,
    made_drivers: list[SpringHand],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["run", str(plan_file), "--driver", "my_hand:connect", "--json"]
    assert run_command_line([*arguments, "--speed", "0.5"]) == 0
    slow = json.loads(capsys.readouterr().out)["wall_s"]
    assert run_command_line(arguments) == 0
    assert slow > 1.3 * json.loads(capsys.readouterr().out)["wall_s"]
    monkeypatch.setattr(SpringHand, "forces", lambda self: 0.0 * self.planned)
    assert run_command_line(arguments) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["outcome"] == "aborted"
    assert "no contact found" in answer["reason"]


TASK = """
robot: {arm: kawasaki_fs020n, hand: parallel_gripper}
object:
  shape: {sphere: {radius: 0.03}}
  pose: {position: [0.95, 0, 0.43]}
  material: {young: 1.5e+5, poisson: 0.45, density: 884, friction: 0.8}
"""


def test_a_trial_squeeze_on_a_driver_of_ones_own_is_fitted_and_kept(
    plan_file: Path, made_drivers: list[SpringHand], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ball.yaml").write_text(TASK)
    arguments = ["calibrate", "ball.yaml", "--plan", str(plan_file), "--no-slip", "--json", "--driver"]
    found = []
    for factory in ("connect", "connect_stiff"):
        assert run_command_line([*arguments, f"my_hand:{factory}"]) == 0
        found.append(json.loads(capsys.readouterr().out))
        assert found[-1]["status"] == "found" and found[-1]["friction"] is None
        assert (tmp_path / "ball.calibration.yaml").is_file()
    # Springs twice as stiff are half as deep at the same forces: F = c E d^1.5 makes that an E of 2^1.5 = 2.8 times.
    assert 1.6 < found[1]["young_pa"] / found[0]["young_pa"] < 3.2
    assert 1.6 < found[1]["stiffness_n_per_m"] / found[0]["stiffness_n_per_m"] < 3.2
    arguments.remove("--json")
    assert run_command_line([*arguments, "my_hand:connect"]) == 0
    assert "not tried (--no-slip)" in capsys.readouterr().out
    assert [hand.stopped for hand in made_drivers] == ["closed"] * 3


def test_a_squeeze_that_fails_on_the_driver_is_an_honest_no_and_keeps_nothing(
    plan_file: Path,
    made_drivers: list[SpringHand],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "ball.yaml").write_text(TASK)
    arguments = ["calibrate", "ball.yaml", "--plan", str(plan_file), "--driver", "my_hand:connect", "--json"]

    def unplugged(self: SpringHand) -> object:
        raise OSError("cable")

    monkeypatch.setattr(SpringHand, "forces", unplugged)
    assert run_command_line(arguments) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["status"] == "failed" and "OSError: cable" in answer["reason"]
    assert not (tmp_path / "ball.calibration.yaml").exists()
    assert [bool(hand.stopped) for hand in made_drivers] == [True]
    assert run_command_line([*arguments, "--truth", "young=2"]) == 2
    assert "is of the lab alone" in capsys.readouterr().err
