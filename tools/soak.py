"""Many small jobs from end to end, each drawn from its number: plan, check, export, now and then a report and a run.

    python tools/soak.py [--runs 500] [--first 0] [--out out/soak] [--minutes 60] [--time-limit 300]

An object (ball, box, ring, cylinder) of random size, stiffness, friction and weight, a hand, with or without an arm, a
handful of hypotheses. Whatever the answer, it must be an answer: exit codes 0 and 1 are, and 2 would mean that pliant
refuses a task or a plan that it has no reason to refuse. Plans that `pliant check` doubts are told apart.

A number always asks the same question, so a failure is seen again with ``--first NUMBER --runs 1``. Numbers that are in
OUT/soak.jsonl already are not asked again.

One process asks; another answers, and is started afresh when it dies or takes too long, both of which are failures.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

TABLE = 0.4
HANDS = ("parallel_gripper", "schunk_sdh2", "allegro_like")
FORMATS = {"json": "plan.json", "csv": "plan.csv", "grasps": "plan.npz", "srdf": "plan.srdf", "mcap": "plan.mcap"}


def task_of(number: int) -> dict[str, Any]:
    """The question of a number. Sizes come in steps, so that deformable models are found in the cache."""
    rng = np.random.default_rng(number)
    shape, half_height = _shape(rng)
    hand = str(rng.choice(HANDS))
    with_arm = bool(rng.random() < 0.6)
    post = float(rng.choice([0.0, 0.1])) if with_arm else 0.0
    height = TABLE + post + half_height
    tilt = float(rng.uniform(-180.0, 180.0))
    robot: dict[str, Any] = {"hand": hand}
    if with_arm:
        robot["arm"] = "kawasaki_fs020n"
        if hand == "allegro_like":
            robot["mount"] = {"position": [0, 0, 0.095]}
    place = [0.95, float(rng.uniform(-0.1, 0.1)), height] if with_arm else [0.0, 0.0, height]
    scene: list[dict[str, Any]] = []
    if with_arm:
        scene.append({"box": {"size": [0.6, 0.8, TABLE], "position": [0.95, 0, TABLE / 2]}})
    if post:
        centre = [place[0], place[1], TABLE + post / 2]
        scene.append({"cylinder": {"radius": 0.015, "height": post, "position": centre}})
    by = str(rng.choice(["arm", "fingers", "both"])) if with_arm else "fingers"
    move: dict[str, Any] = {"frame": str(rng.choice(["world", "palm", "object"]))}
    if rng.random() < 0.4:
        move["rotate"] = {"axis": [0, 0, 1], "angle_deg": float(rng.uniform(2, 15))}
    if rng.random() < 0.4:
        move["translate"] = [0, 0, float(rng.uniform(0.001, 0.01))]
    return {
        "robot": robot,
        "object": {
            "shape": shape,
            "pose": {"position": place, "rpy_deg": [0, 0, tilt]},
            "material": {
                "young": float(10 ** rng.uniform(4.3, 7.0)),
                "poisson": float(rng.choice([0.2, 0.45])),
                "friction": float(rng.uniform(0.2, 1.2)),
            },
            "mass": float(10 ** rng.uniform(-2.0, -0.3)),
            "limits": {"force": float(rng.choice([3.0, 10.0, 30.0])), "pressure": 1e6},
        },
        "scene": scene,
        "task": {"lift": 0.02 if with_arm else 0.0, "move": move, "steps": int(rng.integers(1, 4)), "by": by},
        "planner": {"faces": 20, "rolls": 4, "keep": 2, "hypotheses": int(rng.choice([8, 24, 48]))},
    }


def _shape(rng: np.random.Generator) -> tuple[dict[str, Any], float]:
    """A shape with coarse triangles, and half its height."""
    size = float(rng.choice([0.02, 0.025, 0.03, 0.035]))
    kind = str(rng.choice(["ball", "box", "ring", "cylinder"]))
    if kind == "ball":
        return {"sphere": {"radius": size, "edge": 0.2 * size}}, size
    if kind == "box":
        return {"box": {"size": [2 * size, 1.5 * size, size], "edge": 0.25 * size}}, 0.5 * size
    if kind == "ring":
        return {"torus": {"major": size, "minor": 0.4 * size, "edge": 0.2 * size}}, 0.4 * size
    return {"cylinder": {"radius": 0.8 * size, "height": 2 * size, "edge": 0.2 * size}}, size


def steps_of(number: int) -> list[tuple[str, list[str], tuple[int, ...]]]:
    """What is asked about a number after the plan was found: name, arguments, exit codes that are answers."""
    rng = np.random.default_rng([number, 1])
    kind = str(rng.choice(list(FORMATS)))
    steps = [
        ("check", ["check", "t.plan"], (0,)),
        ("export", ["export", "t.plan", "--format", kind, "--out", FORMATS[kind]], (0,)),
    ]
    if rng.random() < 0.15:
        steps.append(("report", ["report", "t.plan", "--out", "t.html"], (0,)))
    if rng.random() < 0.15:
        steps.append(("run", ["run", "t.plan", "--seed", str(number), "--out", "t.run"], (0, 1)))
    return steps


# -- who answers -----------------------------------------------------------------------------------------------------


def answer(number: int) -> dict[str, Any]:
    """Do the job of a number in a folder of its own; what came of it."""
    import yaml

    began = time.process_time()
    done: dict[str, Any] = {"number": number, "problems": [], "doubts": [], "codes": {}}
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="pliant-soak-") as folder:
        os.chdir(folder)
        try:
            Path("t.yaml").write_text(yaml.safe_dump(task_of(number)))
            words = ["plan", "t.yaml", "--out", "t.plan", "--jobs", "1", "--seed", str(number), "--json"]
            found = _ask(done, "plan", words, (0, 1))
            if found and json.loads(found).get("status") == "found":
                for name, arguments, allowed in steps_of(number):
                    _ask(done, name, arguments, allowed)
            elif found:
                _ask(done, "check", ["check", "t.plan"], (0,))
            if odd := [path.name for path in Path().iterdir() if "part" in path.suffix]:
                done["problems"].append(f"left behind: {odd}")
        finally:
            os.chdir(before)
    done["cpu_s"] = round(time.process_time() - began, 2)
    return done


def _ask(done: dict[str, Any], name: str, arguments: list[str], allowed: tuple[int, ...]) -> str:
    from pliant.cli import run_command

    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run_command(arguments)
    except BaseException:  # with PLIANT_TRACEBACK, which this program sets, bugs come as they are
        done["problems"].append(f"{name}: {traceback.format_exc()[-3000:]}")
        done["codes"][name] = 3
        return ""
    done["codes"][name] = code
    if code == 2 and name == "check":
        # Not a fault of the program: its second opinion does not share the planner's, and says why.
        done["doubts"] += [line.strip() for line in out.getvalue().splitlines() if "problem" in line]
    elif code not in allowed:
        done["problems"].append(f"{name}: exit code {code}: {(err.getvalue() + out.getvalue())[-2000:]}")
    return out.getvalue() if code in allowed else ""


def serve() -> None:
    """Numbers in, one line of JSON out for each."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(json.dumps(answer(int(line))) + "\n")
        answers.flush()


# -- who asks --------------------------------------------------------------------------------------------------------


class Worker:
    """The answering process; started when it is needed and after it was lost."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.process: subprocess.Popen[bytes] | None = None

    def ask(self, number: int, limit: float) -> dict[str, Any]:
        if self.process is None:
            environment = os.environ | {"PLIANT_TRACEBACK": "1", "OPENBLAS_NUM_THREADS": "1"}
            command = [sys.executable, __file__, "--serve"]
            with self.log.open("ab") as log:
                self.process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment
                )
        process = self.process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"{number}\n".encode())
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], limit)
        line = process.stdout.readline() if ready else b""
        if line:
            found: dict[str, Any] = json.loads(line)
            return found
        why = f"no answer within {limit:g} s" if not ready else f"the process died with {process.wait()}"
        self.stop()
        return {"number": number, "problems": [why], "doubts": [], "codes": {}, "cpu_s": None}

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


def known(path: Path) -> dict[int, dict[str, Any]]:
    """What was found before; a line that was cut by a kill does not count."""
    found = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        with contextlib.suppress(ValueError):
            entry = json.loads(line)
            found[int(entry["number"])] = entry
    return found


def summary(entries: list[dict[str, Any]]) -> str:
    codes = Counter(f"{name} {code}" for entry in entries for name, code in entry["codes"].items())
    bad = [entry for entry in entries if entry["problems"]]
    spent = [entry["cpu_s"] for entry in entries if entry["cpu_s"] is not None]
    lines = [f"{len(entries)} runs, {len(bad)} with problems, {sum(spent) / max(len(spent), 1):.1f} CPU s each"]
    lines.append(", ".join(f"{name}: {count}" for name, count in sorted(codes.items())))
    lines += [f"  {entry['number']}: {entry['problems'][0].strip().splitlines()[-1][:200]}" for entry in bad[:30]]
    doubted = [entry for entry in entries if entry["doubts"]]
    lines.append(f"{len(doubted)} plans whose second opinion (pliant check) differs")
    lines += [f"  {entry['number']}: {entry['doubts'][0][:200]}" for entry in doubted[:30]]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out/soak"))
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long, to go on later")
    parser.add_argument("--time-limit", type=float, default=300.0, help="of one run [s]")
    parser.add_argument("--show", type=int, help="only print the task of this number")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        serve()
        return 0
    if chosen.show is not None:
        print(json.dumps(task_of(chosen.show), indent=1))
        return 0
    chosen.out.mkdir(parents=True, exist_ok=True)
    log = chosen.out / "soak.jsonl"
    wanted = range(chosen.first, chosen.first + chosen.runs)
    entries = known(log)
    worker, end = Worker(chosen.out / "worker.log"), time.monotonic() + 60.0 * chosen.minutes
    width = shutil.get_terminal_size().columns
    try:
        with log.open("a") as out:
            if log.stat().st_size and not log.read_bytes().endswith(b"\n"):
                out.write("\n")  # ends a line that a kill has cut
            for number in wanted:
                if number in entries:
                    continue
                if time.monotonic() > end:
                    break
                entry = entries[number] = worker.ask(number, chosen.time_limit)
                out.write(json.dumps(entry) + "\n")
                out.flush()
                told = entry["problems"][0].strip().splitlines()[-1] if entry["problems"] else entry["codes"]
                print(f"{number}: {told}"[:width], flush=True)
    except KeyboardInterrupt:
        print("stopped; run it again to go on")
    finally:
        worker.stop()
    asked = [entries[number] for number in wanted if number in entries]
    print(summary(asked))
    return 1 if any(entry["problems"] for entry in asked) else 0


if __name__ == "__main__":
    sys.exit(main())
