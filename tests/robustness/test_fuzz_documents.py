"""Tasks, grasps, paths and calibrations with damage of every kind: bytes, fields, numbers, nesting, aliases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from fuzzing import NASTY_VALUES, ask, damaged, empty_folder, fuzz, rewritten, seeds, write_yaml
from hypothesis import strategies as st

import pliant.files

TASKS = Path(pliant.files.__file__).parent / "shipped"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = tuple(sorted(path.stem for path in TASKS.glob("*.yaml")))
GRASP = {
    "contacts": [
        {"point": [x, 0, 0], "normal": [-x, 0, 0], "friction": 0.8, "max_force": 20, "stiffness": [2e3, 2e3, 3e3]}
        for x in (0.03, -0.03)
    ],
    "external": {"force": [0, 0, -4.9], "torque": [0, 0, 0], "at": [0, 0.004, 0]},
}
PATH = {
    "duration": 0.2,
    "rate_hz": 100,
    "frames": [{"link": "flange", "path": {"eight": {"along": [0, 0.02, 0], "across": [0, 0, 0.02], "period": 1}}}],
    "points": {"every": 0.05, "tolerance": 1e-3},
}
CALIBRATION = {
    "kind": "calibration", "version": 1, "young": 4e5, "friction": 0.7, "k": 0.9, "stiffness": 1e3,
    "stiffness_factor": 0.9, "misfit": 0.02, "started_from": {"young": 5e5, "friction": 0.8}, "notes": [],
}  # fmt: skip


def task(name: str = "ball_gripper") -> dict[str, Any]:
    tree: dict[str, Any] = yaml.safe_load((TASKS / f"{name}.yaml").read_text())
    return tree


@fuzz(60, name=st.sampled_from(NAMES), seed=seeds)
def test_a_task_with_wrong_fields_is_used_or_refused(name: str, seed: int) -> None:
    with empty_folder() as folder:
        write_yaml(folder / "t.yaml", rewritten(task(name), seed))
        ask("check", "t.yaml")


@fuzz(20, name=st.sampled_from(NAMES), seed=seeds)
def test_a_damaged_task_is_used_or_refused(name: str, seed: int) -> None:
    with empty_folder() as folder:
        (folder / "t.yaml").write_bytes(damaged((TASKS / f"{name}.yaml").read_bytes(), seed))
        ask("check", "t.yaml", "--json")


@fuzz(5, seed=seeds)
def test_a_task_with_wrong_fields_is_planned_or_refused(seed: int) -> None:
    tree = task()
    tree["planner"] = {"faces": 4, "rolls": 1, "keep": 1, "hypotheses": 2}
    tree = rewritten(tree, seed)
    planner = tree.get("planner")
    if isinstance(planner, dict):  # whatever else is odd, the search stays short
        tree["planner"] = planner | {"faces": 4, "rolls": 1, "hypotheses": 2}
    with empty_folder() as folder:
        write_yaml(folder / "t.yaml", tree)
        ask("plan", "t.yaml", "--jobs", "1", allowed=(0, 1, 2), cpu=120)


@fuzz(40, seed=seeds)
def test_a_grasp_with_wrong_fields_is_solved_or_refused(seed: int) -> None:
    with empty_folder() as folder:
        write_yaml(folder / "g.yaml", rewritten(GRASP, seed))
        ask("forces", "g.yaml", "--json", allowed=(0, 1, 2))
        ask("check", "g.yaml")


@fuzz(25, seed=seeds)
def test_a_path_with_wrong_fields_is_tracked_or_refused(seed: int) -> None:
    with empty_folder() as folder:
        write_yaml(folder / "p.yaml", rewritten(PATH, seed))
        ask("servo", "kawasaki_fs020n", "p.yaml", allowed=(0, 1, 2), cpu=120)


@fuzz(25, seed=seeds)
def test_a_calibration_with_wrong_fields_is_used_or_refused(seed: int) -> None:
    with empty_folder() as folder:
        write_yaml(folder / "t.yaml", task("ball"))
        write_yaml(folder / "t.calibration.yaml", rewritten(CALIBRATION, seed))
        ask("check", "t.yaml")


FIELDS = (
    "robot.arm", "robot.hand", "robot.base", "robot.start_deg", "object.shape", "object.scale", "object.pose",
    "object.material.young", "object.material.poisson", "object.material.density", "object.material.friction",
    "object.mass", "object.limits", "object.liquid", "object.mesh", "scene", "task.lift", "task.move", "task.steps",
    "task.by", "planner",
)  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_no_value_of_a_field_makes_a_task_fall_over(
    field: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = []
    for number, value in enumerate(NASTY_VALUES):
        tree = task("ball")
        *way, last = field.split(".")
        place = tree
        for step in way:
            place = place.setdefault(step, {})
        place[last] = value
        files.append(write_yaml(tmp_path / f"{number}.yaml", tree).name)
    answer = ask("check", *files, "--json", cpu=60).json
    assert len(answer["files"]) == len(NASTY_VALUES)
    assert all(report["ok"] or report["problems"] for report in answer["files"])


def dumped(**changes: Any) -> bytes:
    return yaml.safe_dump(task() | changes).encode()


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
BAD = {
    "empty": b"",
    "only_a_comment": b"# nothing\n",
    "a_list": b"- 1\n- 2\n",
    "a_number": b"5\n",
    "not_text": bytes(range(256)),
    "utf16": "robot: {}".encode("utf-16"),
    "bomb_of_aliases": BOMB.encode(),
    "alias_of_itself": b"robot: &r [*r]\n",
    "deep_brackets": b"robot: " + b"[" * 100_000,
    "deep_mappings": b"{a: " * 20_000,
    "deep_indents": b"".join(b" " * i + b"a:\n" for i in range(1500)),
    "python_object": b"robot: !!python/object/apply:os.system ['touch hacked']\n",
    "python_name": b"robot: !!python/name:os.system\n",
    "merge_keys": b"a: &a {b: 1}\nrobot: {<<: *a}\n",
    "two_documents": dumped() + b"---\n" + dumped(),
    "same_key_twice": dumped() + b"robot: {hand: allegro_like}\n",
    "many_digits": dumped(planner={"faces": 1}).replace(b"faces: 1", b"faces: " + b"9" * 10_000),
    "many_values": b"robot: [" + b"1," * 300_000 + b"]\n",
    "large": b"robot: '" + b"x" * 5_000_000 + b"'\n",
    "nan_pose": dumped(object=task()["object"] | {"pose": {"position": [float("nan"), 0, 0]}}),
    "infinite_lift": dumped(task={"lift": float("inf")}),
    "hypotheses_without_end": dumped(planner={"hypotheses": 10**12}),
    "mesh_outside": dumped(object={"mesh": "../secret.stl", "material": {"young": 1e5, "poisson": 0.4}}),
    "mesh_absolute": dumped(object={"mesh": "/etc/passwd", "material": {"young": 1e5, "poisson": 0.4}}),
    "mesh_by_uri": dumped(object={"mesh": "http://127.0.0.1:9/m.stl", "material": {"young": 1e5, "poisson": 0.4}}),
    "mesh_is_a_device": dumped(object={"mesh": "/dev/zero", "material": {"young": 1e5, "poisson": 0.4}}),
    "mesh_null_byte": dumped(object={"mesh": "m\0.stl", "material": {"young": 1e5, "poisson": 0.4}}),
    "scene_outside": dumped(scene=[{"mesh": "../secret.stl"}]),
    "hand_outside": dumped(robot={"hand": "../secret.yaml"}),
    "packages_outside": dumped(robot={"hand": "parallel_gripper", "package_dirs": [".."]}),
    "scene_without_end": dumped(scene=[{"sphere": {"radius": 0.1}}] * 30_000),
    "fine_shape": dumped(object=task()["object"] | {"shape": {"sphere": {"radius": 0.03, "edge": 1e-7}}}),
    "giant_shape": dumped(object=task()["object"] | {"shape": {"sphere": {"radius": 1e9}}}),
    "shape_of_text": dumped(object=task()["object"] | {"shape": {"sphere": {"radius": "__import__('os')"}}}),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("command", ["check", "plan"])
def test_a_task_that_is_none_is_refused(
    command: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret.stl").write_text("solid")
    (tmp_path / "secret.yaml").write_text("kind: hand")
    folder = tmp_path / "task"
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("t.yaml").write_bytes(BAD[name])
    ask(command, "t.yaml", allowed=(2,))


@pytest.mark.parametrize(
    "command", [["forces"], ["servo", "kawasaki_fs020n"], ["calibrate"], ["batch", "--out", "o", "--task"]]
)
def test_every_command_refuses_a_document_of_another_kind(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_yaml(Path("x.yaml"), CALIBRATION)
    ask(*command, "x.yaml", allowed=(2,))
    ask(*command, "not_there.yaml", allowed=(2,))
    Path("folder.yaml").mkdir()
    ask(*command, "folder.yaml", allowed=(2,))


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.chdir(tmp_path)
    kinds = ("x.yaml", "x.urdf", "x.stl", "x.plan", "x.run", "x.npz")
    for name in kinds:
        os.mkfifo(name)
        ask("check", name, allowed=(2,))
    for command in (
        ["plan"],
        ["run"],
        ["forces"],
        ["recording"],
        ["calibrate"],
        ["view"],
        ["servo", "kawasaki_fs020n"],
    ):
        ask(*command, "x.yaml", allowed=(2,))
        ask(*command, "x.plan", allowed=(2,))
    for name in ("x.plan", "x.run"):
        ask("export", name, "--format", "json", "--out", "o.json", allowed=(2,))
    ask("report", "x.plan", "--out", "o.html", allowed=(2,))
    ask("ik", "x.urdf", "--frame", "f", "--samples", "1", allowed=(2,))
    ask("hand", "import", "x.urdf", allowed=(2,))
    numbers = ("--young", "1e5", "--poisson", "0.4", "--contact", "0,0,0", "--depth", "1e-3")
    ask("press", "x.stl", "--pad", "plane", *numbers, allowed=(2,))
