"""Whether every hand grasps every object: five hands, three soft objects, one table of fifteen pairs.

    python benchmarks/hands.py --data path/to/data        # or PLIANT_SHARED=path/to/data
    python benchmarks/hands.py --hands leap --objects apple sponge

The descriptions of the hands lie in `benchmarks/hands/NAME/hand.yaml`; each names its URDF relative to the data folder,
which also holds the meshes and the scanned objects (`objects/ycb_013_apple.obj`). SDH2 is the one that ships. Every
pair is planned with a thorough search of so many seconds, and the plan is checked by `verify_plan`. The bound is what
the largest normal force of as many contacts as the best grasp has cannot be below (`least_force`).
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from record import about, write

from planner import searched
from pliant.files import save_plan
from pliant.objects import Body, ContactLimits, Material, Mesh, load_mesh, make_shape
from pliant.planner import Goal, Plan, PlannerOptions, Task, least_force
from pliant.robot import Hand, assemble, load_arm, load_hand
from pliant.robot.modules import parse_hand

DESCRIPTIONS = Path(__file__).parent / "hands"
ARM = "kawasaki_fs020n"
TABLE = 0.4
"""Height of the table [m]."""
PLACE = (0.95, 0.0)
"""Of the object on the table, in front of the arm [m]."""
HANDS: dict[str, pin.SE3] = {
    "sdh2": pin.SE3.Identity(),
    "allegro": pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.13])),
    "barrett": pin.SE3.Identity(),
    "dclaw": pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.02])),
    "leap": pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.03])),
}
"""The hand's mount in the arm's flange: an adapter as long as the hand needs, so that its back clears the wrist."""
OBJECTS: dict[str, tuple[Material, ContactLimits]] = {
    "ball": (Material(8e5, 0.45, 1000.0, 0.7), ContactLimits(20.0, 4e5)),
    "apple": (Material(3e6, 0.35, 850.0, 0.7), ContactLimits(30.0, 2.9e5)),
    "sponge": (Material(5e4, 0.2, 60.0, 0.7), ContactLimits(5.0, 1e5)),
}
"""The ball is rubber, the apple's flesh fails at 0.29 MPa, and foam bears twice its stiffness."""
FILES = {"apple": "ycb_013_apple.obj", "sponge": "ycb_026_sponge.obj"}
POST = (0.03, 0.03, 0.25)
"""What the object lies on, itself on the table [m]: hands whose palm lies beside the arm's axis need room below."""


def read_description(name: str, data: Path) -> Hand:
    """A hand described here; its URDF and meshes are read from the data folder."""
    text = (DESCRIPTIONS / name / "hand.yaml").read_text(encoding="utf-8")
    return parse_hand(text, path=data / f"{name}.yaml", package_dirs=[data])


def make_task(hand: str, obj: str, data: Path) -> Task:
    """A hand on the arm, and an object on a post: grasp it and lift it by 5 cm."""
    module = load_hand("schunk_sdh2") if hand == "sdh2" else read_description(hand, data)
    assembly = assemble(load_arm(ARM), module, T_flange_hand=HANDS[hand])
    mesh = load_mesh(data / "objects" / FILES[obj]).mesh if obj in FILES else make_shape("sphere", radius=0.032)
    material, limits = OBJECTS[obj]
    low, high = mesh.bounds
    table = _box((0.6, 0.8, TABLE), (*PLACE, 0.5 * TABLE))
    post = _box(POST, (*PLACE, TABLE + 0.5 * POST[2]))
    middle = 0.5 * (low + high)
    p_world_object = np.array([*PLACE, TABLE + POST[2]]) - np.array([middle[0], middle[1], low[2]])
    return Task(
        assembly,
        assembly.q_home,
        Body.from_mesh(mesh, material, limits=limits),
        pin.SE3(np.eye(3), p_world_object),
        (table, post),
        Goal(lift=0.05),
        PlannerOptions(effort="thorough"),
        name=f"{hand}_{obj}",
    )


def _box(size: tuple[float, float, float], middle: tuple[float, float, float]) -> Mesh:
    return make_shape("box", size=size, edge=max(size)).transformed(pin.SE3(np.eye(3), np.array(middle)))


def one(task: Task, jobs: int, seconds: float, *, by_cpu: bool, first: bool) -> tuple[Plan, dict[str, Any]]:
    """Plan, verify, and the numbers of one row."""
    found, row = searched(task, seconds, jobs, by_cpu=by_cpu, first=first)
    best = found.best
    contacts = len(best.grasp.contacts) if best is not None else len(task.assembly.hand.fingers)
    return found, {
        "found": best is not None,
        "first_s": row["first_s"],
        "best_s": row["improved_s"],
        "force_n": row["least_n"],
        "bound_n": least_force(task, contacts),
        "contacts": contacts,
        "preshape": best.hypothesis.preshape if best is not None else "",
        "pressed": found.tried.pressed,
        "stable": found.tried.stable,
        "complete": found.tried.completed,
        "problems": row["problems"],
        "wall_s": found.wall_s,
        "cpu_s": found.cpu_s,
        "rejected": found.counts,
        "advice": found.advice,
    }


COLUMNS = (
    "hand", "object", "first [s]", "best [N]", "bound [N]", "contacts", "preshape", "pressed", "stable", "complete",
    "problems",
)  # fmt: skip


def print_row(hand: str, obj: str, row: dict[str, Any]) -> None:
    """One line of the table."""
    found = f"{row['first_s']:.1f} | {row['force_n']:.3g}" if row["found"] else "none | "
    cells = (found, f"{row['bound_n']:.3g}", row["contacts"], row["preshape"])
    counts = (row["pressed"], row["stable"], row["complete"], len(row["problems"]))
    print(f"| {hand} | {obj} | {' | '.join(str(cell) for cell in (*cells, *counts))} |", flush=True)


def data_folder(given: Path | None) -> Path:
    """The folder that holds the robots' folders and `objects`, as it is given or as PLIANT_SHARED names it."""
    named = given or Path(os.environ.get("PLIANT_SHARED", "."))
    for folder in (named, named / "data"):
        if (folder / "objects").is_dir():
            return folder
    raise SystemExit(f"no folder 'objects' in {named}; name the data folder with --data or PLIANT_SHARED")


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the robots and objects; default: PLIANT_SHARED")
    parser.add_argument("--hands", nargs="+", choices=list(HANDS), default=list(HANDS))
    parser.add_argument("--objects", nargs="+", choices=list(OBJECTS), default=list(OBJECTS))
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cpu", action="store_true", help="seconds of CPU time of each process: on a busy machine")
    parser.add_argument("--first", action="store_true", help="end every search with its first operation")
    parser.add_argument("--save", type=Path, help="folder for the plans")
    parser.add_argument("--why", action="store_true", help="also print what was rejected, and why")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/hands.json"))
    chosen = parser.parse_args()
    data = data_folder(chosen.data)
    began = time.monotonic()
    record: dict[str, Any] = {**about("pin", "clarabel", "numba"), "seconds": chosen.seconds, "pairs": {}}
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for hand in chosen.hands:
        for obj in chosen.objects:
            task = make_task(hand, obj, data)
            found, row = one(task, chosen.jobs, chosen.seconds, by_cpu=chosen.cpu, first=chosen.first)
            record["pairs"][f"{hand} {obj}"] = row
            print_row(hand, obj, row)
            if chosen.why:
                reasons = (f"{count} {reason}" for reason, count in row["rejected"].items())
                print(row["advice"], *row["problems"], *reasons, sep="\n  ")
            if chosen.save is not None:
                chosen.save.mkdir(parents=True, exist_ok=True)
                save_plan(found, chosen.save / f"{hand}_{obj}.plan")
    pairs = record["pairs"].values()
    first = [row["first_s"] for row in pairs if row["found"]]
    print(f"\n{len(first)} of {len(pairs)} found, {time.monotonic() - began:.0f} s; first operation: ", end="")
    print(f"median {np.median(first):.1f} s, longest {max(first):.1f} s" if first else "none")
    write(chosen.out, record)


if __name__ == "__main__":
    main()
