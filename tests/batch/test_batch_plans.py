"""Batches of plans: the questions, the rows, the summary, and the command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pyarrow.parquet as pq
import pytest

from made_plans import ball_plan
from pliant.batch import Limits, RayEngine, find_work
from pliant.batch.planning import COLUMNS, plan_rows
from pliant.batch.questions import plan_items, question_task
from pliant.batch.store import Store, write_rows
from pliant.calibration import Calibration
from pliant.cli import run_command as run
from pliant.errors import InputError, OptionError
from pliant.files import load_plan, save_calibration
from pliant.objects import make_shape, write_mesh
from pliant.planner import PlanStatus

TASK = """
robot: {hand: parallel_gripper}
object:
  shape: {box: {size: [0.04, 0.03, 0.05]}}
  pose: {position: [0.3, 0.1, 0.125], rpy_deg: [0, 0, 30]}
  material: {young: 5.0e+5, poisson: 0.4, density: 800, friction: 0.8}
  limits: {force: 20}
scene:
  - {box: {size: [0.6, 0.8, 0.1], position: [0.3, 0.1, 0.05]}}
task: {lift: 0.03, by: arm}
planner: {faces: 12, rolls: 2, keep: 2}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lift.yaml").write_text(TASK)
    write_mesh(make_shape("sphere", radius=0.02, edge=0.006), tmp_path / "meshes" / "ball.stl")
    write_mesh(make_shape("box", size=(0.03, 0.03, 0.08), edge=0.01), tmp_path / "meshes" / "tall.stl")
    return tmp_path


def test_every_object_meets_every_hand_and_stands_where_the_task_has_its_own(folder):
    patterns, hands = [str(folder / "meshes" / "*.stl")], ["parallel_gripper", "schunk_sdh2"]
    items = plan_items([folder / "lift.yaml"], objects=patterns, hands=hands)
    assert [(i.arguments["object"], i.arguments["hand"]) for i in items] == [
        (thing, hand) for thing in ("ball", "tall") for hand in hands
    ]
    for item in items:
        task = question_task(item.arguments)
        assert task.assembly.hand.name == item.arguments["hand"]
        placed = task.body.mesh.transformed(task.T_world_object)
        assert placed.bounds[0, 2] == pytest.approx(0.1, abs=1e-9)  # on the table
        assert np.allclose(task.T_world_object.translation[:2], (0.3, 0.1))
        assert np.allclose(task.T_world_object.rotation, pin.rpy.rpyToMatrix(0, 0, np.radians(30)))
    (own,) = plan_items([folder / "lift.yaml"])
    assert own.arguments["object"] == "box" and own.arguments["mesh"] is None
    assert np.allclose(question_task(own.arguments).T_world_object.translation, (0.3, 0.1, 0.125))


def test_the_name_of_an_item_follows_contents_not_places(folder):
    pattern = [str(folder / "meshes" / "ball.stl")]
    (first,) = plan_items([folder / "lift.yaml"], objects=pattern)
    moved = folder / "elsewhere"
    moved.mkdir()
    for name in ("lift.yaml", "meshes/ball.stl"):
        (moved / Path(name).name).write_bytes((folder / name).read_bytes())
    (second,) = plan_items([moved / "lift.yaml"], objects=[str(moved / "ball.stl")])
    assert first.name == second.name
    assert first.name.startswith("ball__parallel_gripper__lift-")
    others = [plan_items([folder / "lift.yaml"], objects=pattern, seed=1)[0].name]
    (folder / "lift.yaml").write_text(TASK.replace("0.8}", "0.7}"))
    others.append(plan_items([folder / "lift.yaml"], objects=pattern)[0].name)
    assert len({first.name, *others}) == 3


def test_an_item_is_new_when_a_file_that_its_task_names_has_changed(folder):
    own = TASK.replace("shape: {box: {size: [0.04, 0.03, 0.05]}}", "mesh: meshes/ball.stl")
    (folder / "lift.yaml").write_text(own.replace("scene:", "scene:\n  - {mesh: meshes/tall.stl}"))
    names = [plan_items([folder / "lift.yaml"])[0].name]
    assert plan_items([folder / "lift.yaml"])[0].name == names[0]
    for thing, name in (("ball", "sphere"), ("tall", "box")):
        write_mesh(make_shape(name, edge=0.012), folder / "meshes" / f"{thing}.stl")
        names.append(plan_items([folder / "lift.yaml"])[0].name)
    assert len(set(names)) == 3


def test_a_calibration_beside_the_task_holds_for_a_batch_too_and_makes_its_items_new(folder):
    (before,) = plan_items([folder / "lift.yaml"])
    found = Calibration(1.0, 1000.0, 1.0, 3.0e5, 0.55, 0.0, 0.02, 5)
    save_calibration(found, folder / "lift.calibration.yaml", young=5.0e5, friction=0.8)
    (after,) = plan_items([folder / "lift.yaml"])
    assert after.name != before.name
    (other,) = plan_items([folder / "lift.yaml"], objects=[str(folder / "meshes" / "ball.stl")])
    for item in (after, other):  # material is the task's, whatever the object
        task = question_task(item.arguments)
        assert (task.body.material.young, task.body.material.friction) == (3.0e5, 0.55)
        assert any("lift.calibration.yaml" in note for note in task.notes)


def test_broken_questions_are_told_before_anything_runs(folder):
    with pytest.raises(OptionError, match="matches no file"):
        plan_items([folder / "lift.yaml"], objects=[str(folder / "*.obj")])
    with pytest.raises(OptionError, match="closest: schunk_sdh2"):
        plan_items([folder / "lift.yaml"], hands=["schunk_sdh"])
    (folder / "other").mkdir()
    (folder / "other" / "ball.stl").write_bytes((folder / "meshes" / "ball.stl").read_bytes())
    with pytest.raises(OptionError, match="2 files are called 'ball'"):
        plan_items([folder / "lift.yaml"], objects=[str(folder / "**" / "*.stl")])
    (folder / "lift.yaml").write_text(TASK.replace("lift: 0.03", "lift: up"))
    with pytest.raises(InputError, match="lift"):
        plan_items([folder / "lift.yaml"])


def test_a_ray_that_does_not_start_is_told_with_what_to_do(folder, monkeypatch):
    def init(**options):
        raise Exception("The current node timed out during startup.")

    monkeypatch.setattr(
        "pliant.batch.ray_engine._ray", lambda: SimpleNamespace(is_initialized=lambda: False, init=init)
    )
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(OptionError, match=r"timed out during startup.*less busy"):
        RayEngine().open("plan", folder, Limits())


def test_rows_say_of_every_hypothesis_what_the_plan_says(tmp_path):
    plan = ball_plan()
    labels = {"object": "ball", "hand": "parallel_gripper", "task": "made"}
    with Store(tmp_path) as store:
        count = write_rows(store.rows / "one.parquet", "one", COLUMNS, plan_rows(plan, labels))
        store.gather(["one", "not_there"], COLUMNS)
    rows = pq.read_table(tmp_path / "results.parquet").to_pylist()
    assert count == len(rows) == len(plan.hypotheses)
    for row, hypothesis in zip(rows, plan.hypotheses, strict=True):
        assert row["item"] == "one" and row["hypothesis"] == hypothesis.number
        palm = pin.XYZQUATToSE3([row[f"palm_{k}"] for k in ("x", "y", "z", "qx", "qy", "qz", "qw")])
        assert palm.isApprox(hypothesis.T_object_palm, 1e-12)
        assert row["fingers"].split("+") == list(hypothesis.fingers)
    kept = [row for row in rows if row["outcome"] == "kept"]
    assert [row["rank"] for row in sorted(kept, key=lambda r: r["rank"])] == list(range(1, len(plan.grasps) + 1))
    best = next(row for row in kept if row["rank"] == 1)
    assert best["max_force_n"] == plan.best.largest_force
    assert best["contacts"] == len(plan.best.grasp.contacts)
    counts: dict[str, int] = {}
    for row in rows:
        if row["outcome"] == "rejected":
            key = f"{row['stage']}: {row['reason']}"
            counts[key] = counts.get(key, 0) + 1
    assert counts == plan.counts
    assert sum(row["stable"] for row in rows) == len(plan.stable)
    text = "\n".join(find_work("plan").summary(tmp_path))
    assert f"| ball | 1/1, {plan.best.largest_force:.3g} N | 1/1" in text
    for reason, number in plan.counts.items():
        assert f"| {reason} | {number} |" in text


def test_every_column_is_documented():
    page = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text()
    for column in COLUMNS:
        assert f"`{column.name}`" in page, column.name


def pliant(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from pliant.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)


@pytest.mark.slow
def test_the_command_plans_resumes_and_tells_of_what_failed(folder):
    (folder / "meshes" / "tall.stl").unlink()
    (folder / "meshes" / "broken.stl").write_text("no mesh at all")
    (folder / "lift.yaml").write_text(TASK.replace("faces: 12, rolls: 2, keep: 2", "faces: 6, rolls: 1, keep: 1"))
    arguments = ["batch", "--task", folder / "lift.yaml", "--objects", folder / "meshes" / "*.stl", "--out"]
    first = pliant(*arguments, folder / "out", "--jobs", 1, "--memory-limit", "4G", "--json")
    assert first.returncode == 1, first.stderr  # one object cannot be read
    answer = json.loads(first.stdout)
    assert (answer["done"], answer["failed"], answer["skipped"]) == (1, 1, 0)
    rows = pq.read_table(folder / "out" / "results.parquet").to_pylist()
    assert {row["object"] for row in rows} == {"ball"} and {row["hand"] for row in rows} == {"parallel_gripper"}
    (file,) = (folder / "out" / "files").glob("*/best.plan")
    plan = load_plan(file)
    assert len(plan.hypotheses) == len(rows)
    assert {row["status"] for row in rows} == {plan.status.value}
    assert plan.status is PlanStatus.FOUND
    (failure,) = (folder / "out" / "failed").iterdir()
    reason = json.loads(failure.read_text())["attempts"][1]["reason"]
    assert "broken.stl" in reason and "MeshError" in reason
    summary = (folder / "out" / "summary.md").read_text()
    assert "1 of 2 items finished, 1 failed" in summary
    (folder / "meshes" / "broken.stl").unlink()
    kept = file.read_bytes()
    second = pliant(*arguments, folder / "out", "--json")
    assert second.returncode == 0
    assert {key: json.loads(second.stdout)[key] for key in ("done", "failed", "skipped")} == {
        "done": 0,
        "failed": 0,
        "skipped": 1,
    }
    assert file.read_bytes() == kept


def test_bad_options_of_the_command_are_told(folder, capsys):
    task = ["--task", str(folder / "lift.yaml"), "--out", str(folder / "out")]
    assert run(["batch", *task, "--engine", "rya"]) == 2
    assert "closest: ray" in capsys.readouterr().err
    assert run(["batch", *task, "--memory-limit", "much"]) == 2
    assert "'much' is no size" in capsys.readouterr().err
    assert run(["batch", *task, "--address", "10.0.0.1:6379"]) == 2
    assert "needs --engine ray" in capsys.readouterr().err
