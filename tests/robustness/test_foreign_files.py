"""A foreign task, plan, robot or mesh reads nothing outside its folder, writes nothing, and stays within limits."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml
from fuzzing import ask, write_yaml

import pliant.robot
from made_plans import ball_plan
from pliant.elastic.cache import trim_files
from pliant.errors import PlanError, RobotError
from pliant.files import load_plan, save_plan
from pliant.objects import make_shape, write_mesh
from pliant.robot import read_urdf

SHIPPED = Path(pliant.robot.__file__).parent / "shipped"


def with_mesh(filename: str) -> str:
    return (
        f'<robot name="r"><link name="a"><visual><geometry><mesh filename="{filename}"/></geometry></visual></link>'
        "</robot>"
    )


def put(folder: Path, filename: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "r.urdf").write_text(with_mesh(filename))
    return folder / "r.urdf"


@pytest.fixture
def mesh(tmp_path: Path) -> Path:
    """Somebody's mesh, outside every folder that is read."""
    home = tmp_path / "home" / "somebody"
    home.mkdir(parents=True)
    write_mesh(make_shape("box", size=(0.1, 0.1, 0.1)), home / "secret.stl")
    return home / "secret.stl"


def test_a_robot_cannot_call_a_folder_above_it_its_package(mesh: Path) -> None:
    """Guessing the name of a home would be enough to look into it."""
    urdf = put(mesh.parent / "downloads" / "robot_7", "package://somebody/secret.stl")
    with pytest.raises(RobotError, match=r"package 'somebody' .* was not found"):
        read_urdf(urdf)
    with pytest.raises(RobotError, match=r"package 'downloads' .* was not found"):
        read_urdf(put(mesh.parent / "downloads" / "robot_7", "package://downloads/../secret.stl"))


def test_a_link_to_a_folder_elsewhere_is_no_package(mesh: Path, tmp_path: Path) -> None:
    """As little as a link to the file itself; also in folders that a foreign description names."""
    folder = tmp_path / "foreign"
    folder.mkdir()
    (folder / "pk").symlink_to(mesh.parent)
    with pytest.raises(RobotError, match="leads out of foreign"):
        read_urdf(put(folder, "package://pk/secret.stl"))
    (folder / "more").mkdir()
    (folder / "more" / "pk2").symlink_to(mesh.parent)
    with pytest.raises(RobotError, match="leads out of more"):
        read_urdf(put(folder, "package://pk2/secret.stl"), package_dirs=[folder / "more"])
    (folder / "inside").mkdir()
    shutil.copy(mesh, folder / "inside" / "own.stl")
    (folder / "pk3").symlink_to(folder / "inside")
    assert read_urdf(put(folder, "package://pk3/own.stl")).links[0].visuals[0].path == folder / "inside" / "own.stl"


def test_one_file_that_is_named_again_and_again_is_not_read_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small files that name a large one: what they ask for is added up before it is done."""
    monkeypatch.chdir(tmp_path)
    write_mesh(make_shape("sphere", radius=0.1, edge=0.002), tmp_path / "fine.stl")
    tree: dict[str, object] = task_naming(shape={"sphere": {"radius": 0.03}})  # type: ignore[arg-type]
    write_yaml(tmp_path / "t.yaml", tree | {"scene": [{"mesh": "fine.stl"} for _ in range(1000)]})
    assert "the scene has" in ask("check", "t.yaml", allowed=(2,)).words
    os.truncate(tmp_path / "fine.stl", 150_000_000)
    shape = '<visual><geometry><mesh filename="fine.stl"/></geometry></visual>'
    (tmp_path / "r.urdf").write_text(f'<robot name="r"><link name="a">{shape * 100}</link></robot>')
    assert "have 1050 MB; at most 1000 MB" in ask("check", "r.urdf", allowed=(2,)).words


@pytest.mark.parametrize("inner", ["", "urdf", "robots"])
def test_a_package_is_the_folder_itself_or_that_of_its_descriptions(mesh: Path, inner: str) -> None:
    urdf = put(mesh.parent / inner if inner else mesh.parent, "package://somebody/secret.stl")
    assert read_urdf(urdf).links[0].visuals[0].path == mesh


def test_a_package_that_says_so_may_be_any_folder_above(mesh: Path) -> None:
    (mesh.parent / "package.xml").write_text("<package/>")
    urdf = put(mesh.parent / "a" / "b" / "c", "package://somebody/secret.stl")
    assert read_urdf(urdf).links[0].visuals[0].path == mesh


def test_only_mesh_files_are_taken_for_meshes(tmp_path: Path) -> None:
    """What a robot names travels along in a plan; a key or a password must not."""
    (tmp_path / "id_rsa").write_text("secret")
    (tmp_path / "notes.txt").write_text("secret")
    for name in ("id_rsa", "notes.txt"):
        with pytest.raises(RobotError, match="does not end as a mesh file does"):
            read_urdf(put(tmp_path, name))


def task_naming(**thing: str) -> dict[str, object]:
    return {
        "robot": {"hand": "parallel_gripper"},
        "object": {**thing, "material": {"young": 1e5, "poisson": 0.4}, "mass": 0.1},
    }


def test_a_task_reads_its_own_folder_only_unless_the_user_says_so(
    mesh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "foreign"
    folder.mkdir()
    monkeypatch.chdir(folder)
    shutil.copy(mesh, folder / "own.stl")
    (folder / "link.stl").symlink_to(mesh)
    os.link(mesh, folder / "hard.stl")
    write_yaml(folder / "t.yaml", task_naming(mesh="own.stl"))
    ask("check", "t.yaml", allowed=(0,))
    for name in ("link.stl", str(mesh), "../home/somebody/secret.stl", f"own.stl/../../{mesh.relative_to(tmp_path)}"):
        write_yaml(folder / "t.yaml", task_naming(mesh=name))
        answer = ask("check", "t.yaml", allowed=(2,))
        assert "leads out of the folder" in answer.words
        assert "leads out of the folder" in ask("plan", "t.yaml", allowed=(2,)).words
    tree = task_naming(mesh=str(mesh))
    tree["planner"] = {"faces": 4, "rolls": 1, "hypotheses": 1}
    write_yaml(folder / "t.yaml", tree)
    ask("plan", "t.yaml", "--allow-outside", "--jobs", "1", allowed=(0, 1), cpu=120)


def test_a_hand_cannot_lead_out_of_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(SHIPPED / "parallel_gripper", tmp_path / "own")
    shutil.copytree(SHIPPED / "parallel_gripper", tmp_path / "other")
    monkeypatch.chdir(tmp_path / "own")
    fields = yaml.safe_load(Path("hand.yaml").read_text())
    for change in ({"urdf": "../other/parallel_gripper.urdf"}, {"packages": [".."]}):
        write_yaml(Path("hand.yaml"), fields | change)
        assert "leads out of the folder" in ask("check", "hand.yaml", allowed=(2,)).words


@pytest.mark.parametrize("name", ["../../hacked", "/tmp/hacked", "..", "a/b", "a\\b", "a\nb", ""])
def test_the_name_of_a_foreign_plan_is_no_path(name: str, tmp_path: Path) -> None:
    """The page offers the plan for saving under this name."""
    path = save_plan(ball_plan(), tmp_path / "a.plan")
    with zipfile.ZipFile(path) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    fields = json.loads(members["plan.json"])
    fields["task"]["name"] = name
    with zipfile.ZipFile(tmp_path / "b.plan", "w") as archive:
        for member, data in (members | {"plan.json": json.dumps(fields).encode()}).items():
            archive.writestr(member, data)
    with pytest.raises(PlanError, match=r"task\.name"):
        load_plan(tmp_path / "b.plan")


def test_an_alias_bomb_in_the_task_of_a_plan_does_not_go_off(tmp_path: Path) -> None:
    from pliant.errors import InputError
    from pliant.viewer.page.task_panel import edited

    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n"
    for before, after in zip("abcdefgh", "bcdefghi", strict=True):
        bomb += f"{after}: &{after} [{', '.join([f'*{before}'] * 9)}]\n"
    with pytest.raises(InputError, match="aliases"):
        edited(bomb, {})


def test_mesh_files_kept_from_plans_do_not_fill_the_disk(tmp_path: Path) -> None:
    for age, name in ((9000, "old"), (5000, "later"), (10, "just_used")):
        (tmp_path / name).write_bytes(bytes(1000))
        now = (tmp_path / name).stat().st_mtime
        os.utime(tmp_path / name, (now - age, now - age))
    trim_files(tmp_path, 2500)
    assert {path.name for path in tmp_path.iterdir()} == {"later", "just_used"}
    trim_files(tmp_path, 100)
    assert {path.name for path in tmp_path.iterdir()} == {"just_used"}


BOUNDED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
resource.setrlimit(resource.RLIMIT_FSIZE, (50 * 2**20, 50 * 2**20))
from pliant.cli import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize("lines", [2_000_000])
def test_large_files_are_refused_within_4_GB_by_a_real_process(lines: int, tmp_path: Path) -> None:
    """As a user would: a process of its own, which the system would end if it took more."""
    (tmp_path / "many.obj").write_bytes(b"v 0 0 0\nv 1 0 0\nv 0 1 0\n" + b"f 1 2 3\n" * lines)
    (tmp_path / "sparse.stl").touch()
    os.truncate(tmp_path / "sparse.stl", 150_000_000_000)
    (tmp_path / "wide.yaml").write_text("robot: [" + "[1]," * 900_000 + "]")
    command = [sys.executable, "-c", BOUNDED, "check", *(path.name for path in sorted(tmp_path.iterdir()))]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=280)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert done.stdout.count("not usable") == 3, done.stdout


def test_the_current_folder_is_no_place_of_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A downloaded folder may have a file that is called like a library."""
    from pliant.batch.supervised_worker import Limits, SupervisedWorker
    from pliant.cli.machine import DRAWS, _draw_fault

    for name in ("mujoco", "numpy", "pyarrow", "queue"):
        (tmp_path / f"{name}.py").write_text("from pathlib import Path\nPath('run').touch()\n")
    monkeypatch.chdir(tmp_path)
    assert "mujoco" in DRAWS
    _draw_fault("egl")
    worker = SupervisedWorker("pliant.batch.planning:PLAN", Limits(), [path for path in sys.path if path])
    try:
        worker._worker()
    finally:
        worker.close()
        worker.end()
    assert not (tmp_path / "run").exists()
