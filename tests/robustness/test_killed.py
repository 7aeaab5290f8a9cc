"""Killed without warning at any moment: files are as they were or as they should be, and the next start works.

Two kinds of victims, both real processes ended by SIGKILL: programs that do nothing but write, so that most kills hit
the writing; and commands at random moments of their work. PLIANT_FUZZ_EXAMPLES raises the number of kills.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from fuzzing import EXAMPLES, write_yaml

from made_plans import made
from pliant.elastic import cache
from pliant.errors import PlanError
from pliant.file_bytes import write_bytes
from pliant.files import load_calibration, load_plan, load_run, save_plan
from pliant.planner import Plan, PlanStatus

TESTS = Path(__file__).resolve().parents[1]
KILLS = max(8, EXAMPLES)
COMMAND_KILLS = EXAMPLES // 25
"""Of every command; each takes some ten CPU seconds, so none unless asked for, but for one of `plan`."""

START = f"""
import os, sys, itertools
sys.path[:0] = [{str(TESTS)!r}, {str(TESTS / "robustness")!r}]
os.chdir(sys.argv[1])
import numpy as np
"""
# Loading takes far longer than writing, so it is done once; every line that comes in begets a writer to be killed.
NURSERY = """
for line in sys.stdin:
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        for n in itertools.count():
            write(n)
            if n == 0:
                os.write(tell, b"x")
    os.read(told, 1)
    os.close(told), os.close(tell)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""
WRITERS = {
    "plan": """
from dataclasses import replace
from made_plans import ball_plan
from pliant.files import save_plan
plan = ball_plan()
def write(n):
    save_plan(replace(plan, seed=n), "a.plan")
""",
    "run": """
from test_fuzz_archives import _run
from pathlib import Path
def write(n):
    _run(Path("a.run"))
""",
    "calibration": """
from types import SimpleNamespace
from pliant.files import save_calibration
def write(n):
    found = SimpleNamespace(young=1e5 + n, friction=0.5, k=1, stiffness=1e3, stiffness_factor=1, misfit=0, notes=())
    save_calibration(found, "t.calibration.yaml", young=1e5, friction=0.5)
""",
    "cache": """
from pliant.elastic.cache import store_arrays
def write(n):
    store_arrays(f"key-{n % 3}", {"n": np.full(300_000, float(n)), "m": np.arange(1000)}, limit=4_000_000)
""",
    "batch": """
from pliant.batch.store import Store, write_rows
from pliant.batch.work import Column
columns = [Column("value", "float", "a number")]
def write(n):
    global store
    if n == 0:
        store = Store("out")
    made = store.scratch / f"made_{n}"
    (made / "files").mkdir(parents=True)
    (made / "files" / "a.txt").write_text("x" * 10000)
    write_rows(made / "rows.parquet", f"item_{n % 50}", columns, [{"value": float(n)}] * 50)
    store.commit(f"item_{n % 50}", made)
    if n % 5 == 0:
        store.fail(f"bad_{n % 7}", [{"why": "x" * 3000}])
        store.gather([f"item_{k}" for k in range(50)], columns)
""",
}


def whole_plan(folder: Path) -> None:
    assert load_plan(folder / "a.plan").best is not None


def whole_run(folder: Path) -> None:
    assert len(load_run(folder / "a.run")) == 40


def whole_calibration(folder: Path) -> None:
    assert load_calibration(folder / "t.calibration.yaml").young >= 1e5


def whole_cache(folder: Path) -> None:
    """What is there under a real name checks; nothing else is ever looked at."""
    found = [path for path in folder.glob("*.bin") if cache.load_arrays(path.stem) is not None]
    assert found and all(path.exists() for path in folder.glob("*.bin"))
    for path in found:
        arrays = cache.load_arrays(path.stem)
        assert arrays is not None and np.ptp(arrays["n"]) == 0.0 and len(arrays["n"]) == 300_000


def whole_batch(folder: Path) -> None:
    import json

    import pyarrow.parquet as pq

    from pliant.batch.store import Store

    with Store(folder / "out") as store:  # the lock of the dead is free
        names = [f"item_{k}" for k in range(50)]
        finished = store.finished(names)
        assert len(finished) == len(list(store.rows.glob("*.parquet")))
        for name in finished:
            assert pq.read_table(store.rows / f"{name}.parquet").num_rows == 50
            assert (store.files / name / "a.txt").read_text() == "x" * 10000
        for path in store.failed.glob("*.json"):
            json.loads(path.read_text())
        if (store.folder / "results.parquet").exists():
            assert pq.read_table(store.folder / "results.parquet").num_columns == 2
    assert not (folder / "out" / ".scratch").exists()


CHECKS: dict[str, Callable[[Path], None]] = {
    "plan": whole_plan,
    "run": whole_run,
    "calibration": whole_calibration,
    "cache": whole_cache,
    "batch": whole_batch,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", WRITERS)
def test_a_killed_writer_leaves_whole_files(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills come at moments spread over several writings; the file was written once before the first."""
    rng = random.Random(kind)
    if kind == "cache":
        monkeypatch.setenv("PLIANT_CACHE", str(tmp_path))
    command = [sys.executable, "-c", START + WRITERS[kind] + NURSERY, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as nursery:
        assert nursery.stdin is not None and nursery.stdout is not None
        for _ in range(KILLS):
            print("another", file=nursery.stdin, flush=True)
            writer = int(nursery.stdout.readline())
            time.sleep(rng.uniform(0.0, 0.1))  # not a wait for anything: the moment is what is tried
            os.kill(writer, signal.SIGKILL)
            assert int(nursery.stdout.readline()) == signal.SIGKILL
            CHECKS[kind](tmp_path)
        nursery.stdin.close()
    leavings = [path for path in tmp_path.rglob("*") if path.name.endswith(".partial")]
    assert len(leavings) <= 1, "those of earlier kills were not removed"


def test_leavings_of_the_dead_are_removed_and_those_of_the_living_are_not(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    write_bytes(tmp_path / "a.plan", b"1", error=PlanError)
    from pliant.file_bytes import _HOST

    of_dead = tmp_path / f".a.plan.{_HOST}.{dead.pid}.00.partial"
    of_living = tmp_path / f".a.plan.{_HOST}.{os.getppid()}.00.partial"
    elsewhere = tmp_path / f".a.plan.ffffff.{dead.pid}.00.partial"
    others = tmp_path / f".b.plan.{_HOST}.{dead.pid}.00.partial"
    for path in (of_dead, of_living, elsewhere, others):
        path.write_bytes(b"x")
    write_bytes(tmp_path / "a.plan", b"2", error=PlanError)
    assert {path.name for path in tmp_path.iterdir()} == {"a.plan", of_living.name, elsewhere.name, others.name}
    assert (tmp_path / "a.plan").read_bytes() == b"2"


TASK: dict[str, Any] = {
    "robot": {"hand": "parallel_gripper"},
    "object": {
        "shape": {"sphere": {"radius": 0.03, "edge": 0.008}},
        "pose": {"position": [0, 0, 0.43]},
        "material": {"young": 5e5, "poisson": 0.45, "friction": 0.9},
        "mass": 0.05,
        "limits": {"force": 20},
    },
    "task": {"lift": 0.0, "steps": 1},
    "planner": {"faces": 20, "rolls": 4, "keep": 1, "hypotheses": 12},
}
PLIANT = "from pliant.cli import main; main()"
COARSELY = f"""
from functools import partial
from pliant import lab
options = lab.LabOptions(step=0.004, friction_stiffness=100.0, nodes=100)  # it is about files, not about forces
lab.TrialSettings = partial(lab.TrialSettings, lab=options, period=0.012, fine=False)
{PLIANT}
"""
COMMANDS = {
    "plan": ["plan", "t.yaml", "--jobs", "1"],
    "run": ["run", "sound.plan", "--out", "a.run", "--from-pregrasp"],
    "calibrate": ["calibrate", "t.yaml", "--plan", "sound.plan"],
    "batch": ["batch", "--task", "t.yaml", "--out", "out", "--jobs", "1"],
}


def leaves_nothing_broken(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.suffix == ".plan" and ".scratch" not in path.parts:
            load_plan(path)
        elif path.suffix == ".run":
            load_run(path)
        elif path.name.endswith(".calibration.yaml"):
            load_calibration(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS if COMMAND_KILLS else ("plan", "run", "batch"))
def test_a_killed_command_can_be_started_again(name: str, tmp_path: Path) -> None:
    """``calibrate`` takes two minutes, so it needs more examples; what it writes is killed above in any case."""
    kills = max(COMMAND_KILLS, 1)
    rng = random.Random(name)
    folder, environment = tmp_path / "work", os.environ | {"PLIANT_CACHE": str(tmp_path / "cache")}
    folder.mkdir()
    write_yaml(folder / "t.yaml", TASK)
    program = [sys.executable, "-c", COARSELY if name == "run" else PLIANT]
    if name == "run":
        ball = made("ball", hand="parallel_gripper", young=1.5e5)
        sound = Plan(ball.task, PlanStatus.FOUND, (ball.grasp,), (ball.grasp.hypothesis,), ())
        save_plan(sound, folder / "sound.plan")
    elif name == "calibrate":
        search = [*program, "plan", "t.yaml", "--jobs", "1", "--out", "sound.plan"]
        assert subprocess.run(search, cwd=folder, env=environment, timeout=250, capture_output=True).returncode == 0
    command = [*program, *COMMANDS[name]]
    began = time.monotonic()
    first = subprocess.run(command, cwd=folder, env=environment, timeout=250, capture_output=True, text=True)
    took = time.monotonic() - began
    assert first.returncode in (0, 1), first.stderr
    for _ in range(kills):
        with subprocess.Popen(
            command, cwd=folder, env=environment, stdout=-3, stderr=-3, start_new_session=True
        ) as one:
            try:
                one.wait(rng.uniform(0.1, 1.0) * took)
            except subprocess.TimeoutExpired:
                one.kill()
        leaves_nothing_broken(folder)
    again = subprocess.run(command, cwd=folder, env=environment, timeout=250, capture_output=True, text=True)
    assert again.returncode == first.returncode, again.stderr
    leaves_nothing_broken(folder)
    assert yaml.safe_load((folder / "t.yaml").read_text()) == TASK
