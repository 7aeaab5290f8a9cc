"""`pliant plan` chooses as the task file says: shortlist, weights, cost.   (theory 8.8, 7.3)"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pliant.cli import run_command as run
from pliant.files import load_plan
from pliant.grasp import ContactSet, ForceResult, ForceSolver
from pliant.planner import HeldState, Plan, Task
from pliant.planner.closing_hand import ClosingHand
from pliant.planner.drives import drives_at
from pliant.robot import PALM_FRAME

pytestmark = pytest.mark.slow

TASK = """
robot: {{hand: {hand}}}
object:
  shape: {{sphere: {{radius: 0.03, edge: 0.009}}}}
  pose: {{position: [0.5, 0, 0.3]}}
  mass: 0.12
  material: {{young: 5.0e+5, poisson: 0.45, friction: {friction}}}
  limits: {{force: 20}}
task: {task}
uncertainty: {{position: 0, turn_deg: 0, friction: 0, mass: 0, young: 0}}
planner: {{faces: 20, rolls: 4, {planner}}}
"""


LIFTED = "{lift: 0.05}"
TILTED = "{lift: 0.05, move: {rotate: {axis: [1, 0, 0], angle_deg: 40}, frame: world}, steps: 2, by: arm}"


def answer_of(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    hand: str,
    friction: float,
    planner: str,
    seed: int = 0,
    task: str = LIFTED,
) -> tuple[dict[str, Any], Plan]:
    file = folder / "ball.yaml"
    file.write_text(TASK.format(hand=hand, friction=friction, planner=planner, task=task))
    command = ["plan", str(file), "--out", str(folder / "ball.plan"), "--jobs", "1", "--seed", str(seed), "--json"]
    assert run(command) == 0
    return json.loads(capsys.readouterr().out), load_plan(folder / "ball.plan")


def test_the_shortlist_of_the_task_file_decides_between_least_force_and_best_joint_range(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def chosen(planner: str) -> dict[str, Any]:
        return answer_of(tmp_path, capsys, "parallel_gripper", 0.6, f"hypotheses: 24, {planner}")[0]

    # as many are kept or listed in each, so that the searches are the same
    everything = chosen("keep: 100, shortlist: 100, force_tolerance: 1")
    grasps = [everything["best"], *everything["runners_up"]]
    least = min(grasps, key=lambda grasp: grasp["max_force_n"])
    listed = [grasp for grasp in grasps if grasp["max_force_n"] <= 2.0 * least["max_force_n"]]
    widest = min(listed, key=lambda grasp: grasp["joint_range"])
    assert widest["hypothesis"] != least["hypothesis"]

    alone = chosen("keep: 100, shortlist: 1, force_tolerance: 1")
    long = chosen("keep: 1, shortlist: 100, force_tolerance: 1")
    assert alone["best"]["hypothesis"] == least["hypothesis"]
    assert alone["choice"] | {"rule": "least force", "shortlisted": 1} == alone["choice"]
    assert long["best"]["joint_range"] <= 1.01 * widest["joint_range"]
    # a gripper's jaws stand alike in all grasps of a ball: their joint ranges tie
    tied = sum(grasp["joint_range"] <= 1.01 * widest["joint_range"] for grasp in listed) > 1
    rule = "shortest arm path" if tied else "best joint range"
    assert long["choice"] | {"rule": rule, "shortlisted": len(listed)} == long["choice"]
    assert "gentlest" in long["advice"]
    # the others of the shortlist were completed, and are told apart from those that need more force
    reason = "choice: others among the gentlest keep their joints nearer to the middle"
    assert long["rejected"][reason] == len(listed) - 1
    assert reason not in alone["rejected"]


def test_with_the_cost_loading_the_wanted_forces_are_those_of_least_loading(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without reserves and without the least force that pads feel, so that nothing but the cost decides.

    Two opposed fingers, or three alike below the ball, have one answer whatever the cost: the ball is tilted, and the
    state is looked at in which the costs differ most.
    """
    monkeypatch.setattr("pliant.planner.context.least_felt", lambda assembly: 0.0)
    planner = "effort: quick, keep: 5, cost: loading"
    answer, found = answer_of(tmp_path, capsys, "schunk_sdh2", 0.8, planner, seed=1, task=TILTED)
    assert answer["choice"]["cost"] == "loading"
    costs = [(state, *_solved(found.task, state)) for kept in found.grasps for state in kept.states]
    for state, loading, _ in costs:
        np.testing.assert_allclose(_wanted(state), loading.forces, atol=2e-3 * loading.largest_force)
    # [D]'s V = sum of (1 - mu) f_n + |f_t|, with one mu
    saved = [_loading(_wanted(state), 0.8) / _loading(largest.forces, 0.8) for state, _, largest in costs]
    assert min(saved) < 0.99


def _wanted(state: HeldState) -> np.ndarray:
    return np.array([contact.wanted for contact in state.contacts])


def _solved(task: Task, state: HeldState) -> tuple[ForceResult, ForceResult]:
    """Forces of least loading, and those whose largest is least."""
    T = state.T_world_object
    frames = [T * contact.T_object_contact for contact in state.contacts]
    contacts = ContactSet.from_arrays(
        np.array([frame.translation for frame in frames]),
        np.array([frame.rotation[:, 2] for frame in frames]),
        friction=np.array([contact.friction for contact in state.contacts]),
        max_force=np.array([contact.max_force for contact in state.contacts]),
        stiffness=np.array([np.diag(contact.stiffness) for contact in state.contacts]),
        radius=np.array([contact.radius for contact in state.contacts]),
        rotations=np.array([frame.rotation for frame in frames]),
    )
    hand, robot = ClosingHand(task.assembly, friction=0.8), task.assembly.robot
    by_name = {link.name: link for link in hand.links}
    links = tuple(by_name[contact.link] for contact in state.contacts)
    drives = drives_at(hand, state.q, robot.pose(PALM_FRAME, state.q), links, contacts, np.array(task.goal.gravity))

    def solved(objective: str) -> ForceResult:
        solver = ForceSolver(objective=objective, margin=task.options.margin * float(np.linalg.norm(state.load[:3])))
        return drives.solve(solver, contacts, state.load, state.centre_of_mass, np.zeros((0, 6)))

    return solved("loading"), solved("largest")


def _loading(forces: np.ndarray, mu: float) -> float:
    return float(((1.0 - mu) * forces[:, 2] + np.hypot(forces[:, 0], forces[:, 1])).sum())
