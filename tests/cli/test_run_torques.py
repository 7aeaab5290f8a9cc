"""`pliant run --torques`: plans carried out by law (6) in the lab with two hands; drivers without are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_plans import MadeTask, ball_in_four_fingers, made
from pliant.cli import run_command as run_command_line
from pliant.control import RunPhase
from pliant.files import load_run, save_plan
from pliant.planner import Plan, PlanStatus, Reserve
from spring_hand import SpringHand


def saved(there: MadeTask, folder: Path) -> Path:
    plan = Plan(there.task, PlanStatus.FOUND, (there.grasp,), (there.grasp.hypothesis,), ())
    return save_plan(plan, folder / "ball.plan")


@pytest.fixture(scope="module")
def three_fingers() -> MadeTask:
    there = made("ball", preshape="spherical", young=1.5e5)
    return replace(there, grasp=replace(there.grasp, reserve=Reserve(friction=0.7, load=1.05)))


def call(*arguments: object) -> int:
    return run_command_line([str(argument) for argument in arguments])


@pytest.mark.slow
@pytest.mark.parametrize("hand", ["schunk_sdh2", "allegro_like"])
def test_a_plan_is_carried_out_by_torques_with_the_forces_of_the_law(
    hand: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    coarse_lab: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    there = ball_in_four_fingers() if hand == "allegro_like" else request.getfixturevalue("three_fingers")
    file, out = saved(there, tmp_path), tmp_path / "ball.run"
    code = call("run", file, "--torques", "--from-pregrasp", "--out", out, "--json")
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == 0, answer
    assert answer["outcome"] == "held" and answer["control"] == "torques"
    planned = max(state.largest_force for state in there.grasp.states)
    assert answer["planned_peak_force_n"] == pytest.approx(planned)
    assert 0.0 < answer["peak_force_n"] <= answer["max_force_n"] < answer["permitted_force_n"]
    log = load_run(out)
    rows = log.during(RunPhase.LIFT) | log.during(RunPhase.HOLD)
    joints = there.task.assembly.hand_joints
    assert np.isfinite(log["torque_commanded"][rows][:-1, joints]).all()
    assert np.isnan(log["torque_commanded"][rows][:, there.task.assembly.arm_joints]).all()
    # What the pads measure is what the law wants: the largest force of the hold within 10 %, each contact within 0.2 N.
    hold = log.during(RunPhase.HOLD)
    measured, wanted = (np.nanmean(log[name][hold], axis=0) for name in ("force_measured", "force_wanted"))
    assert measured.max() == pytest.approx(wanted.max(), rel=0.1)
    np.testing.assert_allclose(measured, wanted, atol=0.2)


def test_a_driver_that_takes_no_torques_is_refused_before_anything_moves(
    three_fingers: MadeTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import sys
    import types

    hands: list[SpringHand] = []

    def connect(assembly: object) -> SpringHand:
        grasp = three_fingers.grasp
        hands.append(SpringHand(grasp, three_fingers.task.assembly, start=grasp.trajectory.q[0], gaps=(0.0,) * 3))
        return hands[-1]

    module = types.ModuleType("hand_of_positions")
    module.connect = connect  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "hand_of_positions", module)
    file = saved(three_fingers, tmp_path)
    assert call("run", file, "--torques", "--driver", "hand_of_positions:connect", "--json") == 2
    assert "'SpringHand' takes joint positions only" in capsys.readouterr().err
    assert (hands[0].q == three_fingers.grasp.trajectory.q[0]).all()


class DeafHand(SpringHand):
    """The same hand without its tactile arrays: it has none, and sends no frames."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.array_names: Any = ()

    def read(self) -> Any:
        return replace(super().read(), frames={})


def test_a_hand_without_tactile_arrays_is_commanded_alone_which_is_said_and_nothing_unmeasured_is_a_number(
    three_fingers: MadeTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import sys
    import types

    grasp, whole = three_fingers.grasp, three_fingers.task.assembly
    assert whole.hand is not None
    deaf = replace(whole, hand=whole.hand.model_copy(update={"tactile": ()}))
    there = replace(three_fingers, task=replace(three_fingers.task, assembly=deaf))
    module = types.ModuleType("deaf_hand")
    module.connect = lambda _: DeafHand(grasp, whole, start=grasp.trajectory.q[0], gaps=(0.0,) * 3)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "deaf_hand", module)
    file = saved(there, tmp_path)
    assert call("run", file, "--driver", "deaf_hand:connect", "--out", tmp_path / "a.run", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["control"] == "commands"
    for unknown in ("measured_force_n", "max_force_n", "peak_force_n", "max_pressure_pa"):
        assert answer[unknown] is None, unknown
    assert call("run", file, "--driver", "deaf_hand:connect", "--out", tmp_path / "b.run") == 0
    told = capsys.readouterr().out
    assert "controlled by the planned commands alone" in told and "measured not measured" not in told
    assert "nan" not in told and "0.0 kPa" not in told
