"""Robots as they are published, by the commands of docs/own_hand.md alone: import, check, plan, run in the lab.

    python benchmarks/own_hands.py [--data DIR] [--robots leap barrett ...] [--objects ball apple ...]
                                   [--folder out/benchmarks/own_hands] [--seconds 180] [--effort quick]
                                   [--page docs/own_hand.md]

No file is edited. Every hand is bolted to the shipped arm as its import says, the imported xArm7 carries the Allegro
hand; the object lies on a table before the arm and is lifted by 5 cm. A pair that has been run is not run again (delete
its `.json` in the folder for that), so this can be stopped at any time. The table is printed; with --page it replaces
the table in that page. Times are CPU times of one process.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from hands import data_folder
from record import about, write

from pliant.objects import Mesh, load_mesh, make_shape

GAP = 3e-4
"""Between the object and the table [m]."""
BEGIN, END = "<!-- table: benchmarks/own_hands.py -->\n", "<!-- end of table -->\n"
HEAD = ("robot", "import", "object", "URDF to plan", "planned force", "contacts", "preshape", "in the lab")


class Robot(NamedTuple):
    """Its name in the table, URDF of the hand, the name of a shipped arm or the URDF of one, and where it works."""

    title: str
    hand: str
    arm: str
    table: str
    place: tuple[float, float, float]


SHIPPED_ARM = "kawasaki_fs020n", "{size: [0.6, 0.8, 0.4], position: [0.95, 0, 0.2]}", (0.95, 0.0, 0.4)
XARM = "xarm7/xarm7.urdf", "{size: [0.6, 0.8, 0.1], position: [0.6, 0, -0.05]}", (0.5, 0.0, 0.0)
ROBOTS = {
    "sdh2": Robot("Schunk SDH2", "schunk_sdh2/schunk_sdh2.urdf", *SHIPPED_ARM),
    "allegro": Robot("Allegro", "allegro_hand/allegro_hand_right.urdf", *SHIPPED_ARM),
    "barrett": Robot("Barrett BH8-280", "barrett_hand/bhand_model.urdf", *SHIPPED_ARM),
    "dclaw": Robot("D'Claw", "dclaw_gripper/dclaw_gripper.urdf", *SHIPPED_ARM),
    "leap": Robot("LEAP", "leap_hand/leap_hand_right.urdf", *SHIPPED_ARM),
    "xarm7": Robot("xArm7 with Allegro", "allegro_hand/allegro_hand_right.urdf", *XARM),
}
OBJECTS = {
    "ball": (
        "shape: {sphere: {radius: 0.032}}",
        "{young: 8.0e+5, poisson: 0.45, density: 1000, friction: 0.7}",
        "{force: 20, pressure: 4.0e+5}",
    ),
    "apple": (
        "mesh: ycb_013_apple.obj",
        "{young: 3.0e+6, poisson: 0.35, density: 850, friction: 0.7}",
        "{force: 30, pressure: 2.9e+5}",
    ),
    "banana": (
        "mesh: ycb_011_banana.obj",
        "{young: 8.0e+5, poisson: 0.45, density: 950, friction: 0.6}",
        "{force: 10, pressure: 1.5e+5}",
    ),
    "sponge": (
        "mesh: ycb_026_sponge.obj",
        "{young: 5.0e+4, poisson: 0.2, density: 60, friction: 0.7}",
        "{force: 5, pressure: 1.0e+5}",
    ),
}
"""Surface, material, and what it bears."""


def surface(name: str, data: Path) -> Mesh:
    """The object's surface as the task has it."""
    file = OBJECTS[name][0].removeprefix("mesh: ")
    return load_mesh(data / "objects" / file).mesh if file.endswith(".obj") else make_shape("sphere", radius=0.032)


def task_text(robot: Robot, obj: str, hand: str, arm: str, data: Path) -> str:
    """The task of a pair: the object lies on the table as its file has it, and is lifted."""
    shape, material, limits = OBJECTS[obj]
    low, high = surface(obj, data).bounds
    middle = np.append(0.5 * (low + high)[:2], low[2] - GAP)
    position = [round(float(x), 4) for x in np.array(robot.place) - middle]
    return f"""robot: {{arm: {arm}, hand: {hand}}}
object:
  {shape}
  pose: {{position: {position}}}
  material: {material}
  limits: {limits}
scene:
  - {{box: {robot.table}}}
task: {{lift: 0.05}}
"""


class Answer(NamedTuple):
    """The JSON answer of a command, its wall time and its CPU time [s]."""

    answer: dict[str, Any]
    wall_s: float
    cpu_s: float


def command(*words: str, seconds: float, folder: Path) -> Answer:
    """Run a command of pliant; an answer of its own where it does not end or breaks."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    pliant = [str(Path(sys.executable).with_name("pliant")), *words, "--json"]
    try:
        done = subprocess.run(pliant, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False)
        answer = json.loads(done.stdout) if done.stdout.startswith("{") else {"error": done.stderr.strip()[-2000:]}
    except subprocess.TimeoutExpired:
        answer = {"error": f"pliant {words[0]} does not end in {seconds:.0f} s"}
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Answer(answer, time.monotonic() - began, cpu_s)


def imported(kind: str, urdf: str, data: Path, folder: Path) -> tuple[str, float]:
    """Path of the description that the import wrote, and its CPU time [s]."""
    out = f"{kind}s/{Path(urdf).parent.name}"
    done = folder / f"{out}.json"
    if not done.is_file():
        package = ("--package-dir", str(data))
        found = command(kind, "import", str(data / urdf), *package, "--out", out, seconds=600, folder=folder)
        done.write_text(json.dumps(found._asdict(), indent=1))
    return f"{out}/{kind}.yaml", float(json.loads(done.read_text())["cpu_s"])


def pair(name: str, obj: str, chosen: argparse.Namespace, data: Path) -> dict[str, Any]:
    """Everything a user would do, once."""
    robot, folder, stem = ROBOTS[name], chosen.folder, f"{name}_{obj}"
    done = folder / f"{stem}.json"
    row: dict[str, Any] = json.loads(done.read_text()) if done.is_file() else {}
    if "plan" not in row:
        hand, import_s = imported("hand", robot.hand, data, folder)
        arm, arm_s = imported("arm", robot.arm, data, folder) if "/" in robot.arm else (robot.arm, 0.0)
        (folder / f"{stem}.yaml").write_text(task_text(robot, obj, hand, arm, data))
        file = OBJECTS[obj][0].removeprefix("mesh: ")
        if file.endswith(".obj"):  # a task names files of its own folder
            shutil.copy(data / "objects" / file, folder)
        ends = ("--effort", chosen.effort) if chosen.effort else ("--first",)
        words = (f"{stem}.yaml", *ends, "--seconds", str(chosen.seconds), "--out", f"{stem}.plan", "--jobs", "1")
        row = {"import_s": import_s + arm_s}
        row["check"] = command("check", f"{stem}.yaml", seconds=120, folder=folder)._asdict()
        row["plan"] = command("plan", *words, seconds=chosen.seconds + 300, folder=folder)._asdict()
    if row["plan"]["answer"].get("best") and "run" not in row and not chosen.no_run:
        found = command("run", f"{stem}.plan", "--out", f"{stem}.run", seconds=1200, folder=folder)
        row["run"] = found._asdict()
    done.write_text(json.dumps(row, indent=1))
    return row


def cells(name: str, obj: str, row: dict[str, Any]) -> tuple[str, ...]:
    """One line of the table."""
    start = (ROBOTS[name].title, f"{row['import_s']:.0f} s", obj)
    plan = row["plan"]["answer"]
    whole = row["import_s"] + row["check"]["cpu_s"] + row["plan"]["cpu_s"]
    best = plan.get("best")
    if best is None:
        return (*start, f"{whole:.0f} s", "none", "", "", "")
    run = row.get("run", {}).get("answer", {"outcome": "not run"})
    outcome = run.get("outcome", "no answer")
    held = f"held, slip {1e3 * run['slip_m']:.1f} mm" if outcome == "held" else str(outcome)
    found = (f"{best['max_force_n']:.2g} N", str(len(best["contacts"])), best["preshape"])
    return (*start, f"{whole:.0f} s", *found, held)


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the robots and objects; default: PLIANT_SHARED")
    parser.add_argument("--robots", nargs="+", choices=list(ROBOTS), default=list(ROBOTS))
    parser.add_argument("--objects", nargs="+", choices=list(OBJECTS), default=list(OBJECTS))
    parser.add_argument("--folder", type=Path, default=Path("out/benchmarks/own_hands"))
    parser.add_argument("--seconds", type=float, default=180.0, help="of each plan")
    parser.add_argument("--effort", choices=["quick", "normal"], help="of each plan; left out: the first operation")
    parser.add_argument("--no-run", action="store_true", help="import and plan only")
    parser.add_argument("--page", type=Path, help="page whose table is replaced")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/own_hands.json"))
    chosen = parser.parse_args()
    chosen.folder = chosen.folder.resolve()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    data = data_folder(chosen.data).resolve()
    lines = [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    print(*lines, sep="\n", flush=True)
    record: dict[str, Any] = {**about("pin", "mujoco", "numba"), "pairs": {}}
    for name in chosen.robots:
        for obj in chosen.objects:
            record["pairs"][f"{name} {obj}"] = row = pair(name, obj, chosen, data)
            lines.append(f"| {' | '.join(cells(name, obj, row))} |")
            print(lines[-1], flush=True)
    if chosen.page is not None:
        before, _, rest = chosen.page.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        table = "\n".join(lines) + "\n"
        chosen.page.write_text(f"{before}{BEGIN}{table}{END}{after}", encoding="utf-8")
    write(chosen.out, record)


if __name__ == "__main__":
    main()
