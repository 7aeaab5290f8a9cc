"""The published experiments of the four works beside ours: measures, and writes docs/published.md.

    python tools/published.py                     # everything: hours on two cores; what is done is not done again
    python tools/published.py --only ring         # one task (plan and run), or one section: A, B, C, D
    python tools/published.py --render            # only the page, from benchmarks/record/published.json

Plans and runs are those of `pliant plan NAME` and `pliant run NAME.plan`, with default settings. They are kept in the
work folder (--work, out/published): delete a plan or a run there to measure it again. Numbers are kept in the record
as soon as they are known.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import yaml
from published_page import page
from published_runs import finger_numbers, run_numbers, write_pictures

from pliant.cli import run_command
from pliant.control import RunLog
from pliant.files import load_plan, load_run, load_task, shipped_tasks
from pliant.planner import Plan, Reason, Stage, make_hypotheses
from pliant.planner.aim import aim
from pliant.planner.context import PlanningContext
from pliant.planner.flying_hand import with_arm

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "benchmarks" / "record" / "published.json"
PAGE = ROOT / "docs" / "published.md"

TASKS = (
    "ball_gripper", "ball", "ring", "apple", "cup", "sponge", "sponge_gripper", "ball_four_fingers",
    "sponge_four_fingers", "bottle_fingers",
)  # fmt: skip
"""Shipped tasks of the claim of [D], and of [B]'s times."""
FIGURES = {"7": "ring", "8": "bottle_fingers"}
"""Tasks of [D]'s figures."""
SOURCES = ("ring", "ball_gripper")
"""Tasks for which [A]'s sources of approach directions are compared: a complicated shape and a simple one."""
METHODS: dict[str, dict[str, Any]] = {"polyhedron": {}, "sphere": {"method": "sphere"}, "box": {"method": "box"}}
"""Planner options of these sources; the first is the default."""
DRAWN = 1500
"""Hypotheses of each source that are looked at as they are drawn."""
SERVO_ROBOT = "kawasaki_fs020n+schunk_sdh2"
CIRCLE = {"circle": {"centre": [1.1, 0, 1.12], "axis": [0, 0, 1], "period": 6}}


class Measurements:
    """Measures one thing after the other; keeps plans and runs in a work folder and numbers in a record.

    Args:
        work: folder for plans, runs and path files.
        record: file of the numbers.
        pictures: folder for the figures.
        jobs: processes of the planner; all cores if None.
        quick: few hypotheses, no approach, short paths: to try the tool out; its numbers are worth nothing.
    """

    def __init__(
        self, work: Path, record: Path, pictures: Path, *, jobs: int | None = None, quick: bool = False
    ) -> None:
        self.work, self.record, self.pictures, self.jobs, self.quick = work, record, pictures, jobs, quick
        for folder in (work, pictures, record.parent):
            folder.mkdir(parents=True, exist_ok=True)
        self.numbers: dict[str, Any] = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}

    def note(self, section: str, name: str, numbers: dict[str, Any]) -> None:
        """Keep the numbers of one thing."""
        self.numbers.setdefault(section, {})[name] = numbers
        text = json.dumps(self.numbers, indent=1) + "\n"
        self.record.write_text(text, encoding="utf-8")
        print(f"{section} {name}: done", file=sys.stderr, flush=True)

    def answer(self, *words: str) -> dict[str, Any]:
        """What a command of pliant answers with --json."""
        print(f"pliant {' '.join(words)}", file=sys.stderr, flush=True)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = run_command([*words, "--json"])
        if code > 1:
            raise SystemExit(f"pliant {' '.join(words)}: exit code {code}")
        answer: dict[str, Any] = json.loads(out.getvalue())
        return answer

    def kept(self, file: Path, *words: str) -> dict[str, Any]:
        """The answer to a command that writes a file, asked only where file and answer are not there yet."""
        told = file.with_name(file.name + ".json")
        if not (file.exists() and told.exists()):
            told.write_text(json.dumps(self.answer(*words, "--out", str(file))), encoding="utf-8")
        answer: dict[str, Any] = json.loads(told.read_text(encoding="utf-8"))
        return answer

    def plan(self, name: str, **planner: Any) -> tuple[Path, Plan, dict[str, Any]]:
        """A shipped task's plan and the command's answer; with other planner options if they are given."""
        options = planner | ({"hypotheses": 150} if self.quick else {})
        task, file = name, self.work / f"{name}.plan"
        if options:
            task_file = self.work / ("_".join([name, *map(str, options.values())]) + ".yaml")
            content = yaml.safe_load(shipped_tasks()[name].read_text(encoding="utf-8"))
            content["planner"] = content.get("planner", {}) | options
            task_file.write_text(yaml.safe_dump(content), encoding="utf-8")
            task, file = str(task_file), task_file.with_suffix(".plan")
        jobs = [] if self.jobs is None else ["--jobs", str(self.jobs)]
        answer = self.kept(file, "plan", task, *jobs)
        return file, load_plan(file), answer

    def task(self, name: str) -> None:
        """Plan and run of a shipped task: [D]'s claim, [B]'s times, and the figures if it is one of them."""
        plan_file, plan, answer = self.plan(name)
        best, hand = answer["best"], plan.task.assembly.hand
        assert hand is not None
        if best is None:
            self.note("tasks", name, {"hand": hand.name, "found": False})
            return
        file = plan_file.with_suffix(".run")
        told = self.kept(file, "run", str(plan_file), *(["--from-pregrasp"] if self.quick else []))
        numbers = {
            "hand": hand.name,
            "found": True,
            "fingers": len(best["fingers"]),
            "contacts": len(best["contacts"]),
            "approach_s": round(best["approach_s"], 3),
            "sequential_s": round(best["sequential_s"], 3),
            "approach_way": best["approach_way"],
            "plan_cpu_s": round(sum(answer["cpu_s"].values()), 1),
        }
        log = load_run(file)
        self.note("tasks", name, numbers | run_numbers(plan, log, told))
        if name in FIGURES.values():
            self.figure(name, plan, log)

    def figure(self, name: str, plan: Plan, log: RunLog) -> None:
        """Pictures of a run and what they show of the hand's joints."""
        files = write_pictures(plan, log, self.pictures, name)
        self.note("figures", name, finger_numbers(plan, log) | {"pictures": files})

    def sources(self, name: str) -> None:
        """[A]: where approach directions come from. The object's axes, which pliant adds to each, are not counted."""
        context = PlanningContext(with_arm(load_task(name)))
        for method, options in METHODS.items():
            _, _, answer = self.plan(name, **options)
            drawn = make_hypotheses(
                context.body.mesh, context.assembly, method=method, limit=DRAWN, blocked=context.palm_blocked
            )
            aims = [aim(context, h) for h in drawn if h.source.startswith(method)]
            reasons = [found.failure.reason for found in aims if found.failure is not None]
            numbers = {
                "hypotheses": len(aims),
                "open_hand_blocked": sum(reason.stage is Stage.OPEN_HAND for reason in reasons),
                "too_few_fingers": sum(reason is Reason.TOO_FEW_FINGERS for reason in reasons),
                "sound": sum(found.sound for found in aims),
                "least_promise_n": round(min((a.grade.value for a in aims if a.sound), default=-1.0), 3),
                "plan_force_n": None if answer["best"] is None else round(answer["best"]["max_force_n"], 3),
                "cpu_s": round(sum(answer["cpu_s"].values()), 1),
            }
            self.note("sources", f"{name}, {method}", numbers)

    def tracking(self) -> None:
        """[C]: what the servo makes of paths; quick enough to be measured anew as a whole."""
        self.numbers["tracking"] = {}
        seconds = (1,) if self.quick else (12, 60)
        cases = {f"feed-forward and pose error, {after} s": _circle(after) for after in seconds}
        for after in seconds:
            cases[f"feed-forward alone (gains 0), {after} s"] = _circle(after, gains={"linear": 0, "angular": 0})
        first = seconds[0]
        cases[f"pose error alone, {first} s"] = _circle(
            first, gains={"linear": 20, "angular": 20, "feed_forward": False}
        )
        for every in (0.2, 0.1, 0.05, 0.025):
            cases[f"straight between points, one in {every:g} s"] = _circle(first, points={"every": every})
        for number, (name, path) in enumerate(cases.items()):
            file = self.work / f"path_{number}.yaml"
            file.write_text(yaml.safe_dump(path), encoding="utf-8")
            self.followed(name, file)
        for name in ("conveyor", "eight_three_tips", "split_at_the_palm"):
            self.followed(f"examples/paths/{name}.yaml", ROOT / "examples" / "paths" / f"{name}.yaml")

    def followed(self, name: str, file: Path) -> None:
        """One path."""
        out = self.work / "points.csv"
        answer = self.answer("servo", SERVO_ROBOT, str(file), "--out", str(out))
        keys = ("max_error_m", "max_interpolation_error_m")
        numbers = {key.replace("_m", "_mm"): float(f"{1e3 * answer[key]:.3g}") for key in keys}
        self.note("tracking", name, numbers | {"points": answer["points"]})


def _circle(seconds: float, **more: Any) -> dict[str, Any]:
    return {"duration": seconds, "frames": [{"link": "palm_frame", "path": CIRCLE}], **more}


def measure(job: Measurements, only: str | None) -> None:
    """Everything, or one section or task."""
    if only in (None, "C"):
        job.tracking()
    for name in TASKS:
        if only in (None, "B", "D", name):
            job.task(name)
    for name in SOURCES:
        if only in (None, "A"):
            job.sources(name)


def main(arguments: list[str] | None = None) -> None:
    """Measure what was asked for and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("A", "B", "C", "D", *TASKS), metavar="NAME", help="a section or a task")
    parser.add_argument("--quick", action="store_true", help="few hypotheses, no approach, short paths: to try it")
    parser.add_argument("--render", action="store_true", help="only write the page from the record")
    parser.add_argument("--work", type=Path, default=ROOT / "out" / "published")
    parser.add_argument("--record", type=Path, default=RECORD)
    parser.add_argument("--out", type=Path, default=PAGE, help="the page; pictures go into pictures/ beside it")
    parser.add_argument("--jobs", type=int, help="processes of the planner; all cores by default")
    asked = parser.parse_args(arguments)
    if asked.quick and (asked.record == RECORD or asked.out == PAGE):
        parser.error("--quick is no measurement: give --record and --out of your own")
    pictures = asked.out.parent / "pictures"
    job = Measurements(asked.work, asked.record, pictures, jobs=asked.jobs, quick=asked.quick)
    if not asked.render:
        measure(job, asked.only)
    asked.out.write_text(page(job.numbers, TASKS, FIGURES), encoding="utf-8")
    print(asked.out)


if __name__ == "__main__":  # the planner's processes must not run this again
    main()
