"""All benchmarks' numbers in one Markdown table, from what they wrote.

    python benchmarks/table.py [--records out/benchmarks] [--out out/benchmarks/table.md]

Every row names what was measured, our number, the peer's and where the peer's comes from; benchmarks that have not run
are named at the end. `make bench` runs everything first. CPU times are of one core, so they differ from machine to
machine; ratios within one row were measured in one run.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Record = dict[str, Any]
Row = tuple[str, str, str, str]
"""What, ours, the peer's, who the peer is."""

GRASPIT = "12 to 27 a CPU second, rigid"
FROGGER = "1.8 s a rigid grasp"


def servo(record: Record) -> Iterator[Row]:
    for case, rows in record["steps"].items():
        mine = rows["pliant qp"]["step_us"]
        for peer in ("pink", "mink", "placo"):
            if "step_us" in rows.get(peer, {}):
                other = rows[peer]["step_us"]
                yield f"servo step, 3 finger tips, {case}", f"{mine:.0f} us", f"{other:.0f} us", f"{peer}, same run"


def ik(record: Record) -> Iterator[Row]:
    for arm, row in record["arms"].items():
        mine = row["pliant"]
        ours = f"{100 * mine['rate']:.2f} %, {mine['mean_ms']:.2f} ms"
        if row["trac_ik"] is not None:
            yield f"IK, {arm}, {record['poses']} poses", ours, f"{row['trac_ik']:.2f} %", "TRAC-IK, published (5 ms)"
        if "rate" in row["ik_LM"]:
            peer = row["ik_LM"]
            theirs = f"{100 * peer['rate']:.2f} %, {peer['mean_ms']:.2f} ms"
            yield f"IK, {arm}, {record['poses']} poses", ours, theirs, "ik_LM of the Robotics Toolbox, same run"


def contact(record: Record) -> Iterator[Row]:
    cases: dict[str, list[Record]] = {}
    for row in record["errors"]:
        cases.setdefault(row["case"], []).append(row)
    for case, rows in cases.items():
        most = max(row["vertices"] for row in rows)
        fine = [row for row in rows if row["vertices"] == most]
        ours, half = (max(abs(row[f"{name}_error_percent"]) for row in fine) for name in ("body", "halfspace"))
        depths = f"{min(r['depth_mm'] for r in fine):g} to {max(r['depth_mm'] for r in fine):g} mm"
        yield (
            f"contact force, {case}, {depths}",
            f"off by {ours:.1f} %",
            f"off by {half:.1f} %",
            "half-space; truth: fine FEM or closed form",
        )
    flex = record["simulator"]
    if flex:
        worst = max(abs(row["flex_error_percent"]) for row in flex)
        seconds = sum(row["cpu_s"] for row in flex) / len(flex)
        mine = record["times"]["one_region_ms"]
        yield "contact force, ball between plates", "see above", f"off by {worst:.1f} %", "MuJoCo flex, same run"
        yield "CPU time of one press", f"{mine:.2f} ms", f"{seconds:.2f} s", "MuJoCo flex, same run"
    times = record["times"]
    yield "three-finger grasp settles", f"{times['three_finger_settle_ms']:.1f} ms", "", ""
    yield "first touch, exact", f"{times['first_touch_ms']:.2f} ms", "", ""
    yield (
        "object preparation, 1500 vertices",
        f"{times['prepare_s']:.1f} s, again {times['prepare_cached_s']:.2f} s",
        "",
        "",
    )
    yield "memory of the contact benchmark", f"{times['peak_memory_mb']:.0f} MB", "", ""


def grasp(record: Record) -> Iterator[Row]:
    for row in record["forces"]:
        ours = f"{row['assembled_ms']:.2f} ms"
        n, count = row["contacts"], row["problems"]
        yield f"smallest forces, {n} contacts", ours, f"{row['cvxpy_ms']:.1f} ms", "CVXPY with Clarabel, same run"
        wrong = f"{row['slsqp_ms']:.1f} ms, {row['slsqp_wrong']} of {count} wrong"
        yield f"smallest forces, {n} contacts", ours, wrong, "SLSQP, same run"
    for row in record["hulls"]:
        peer = "23 to 74 ms" if row["contacts"] == 3 else ""
        what = f"6-D epsilon, {row['contacts']} contacts x 8 edges"
        yield what, f"{row['epsilon_l1_ms']:.1f} ms", peer, "GraspIt!, published" if peer else ""


def planner(record: Record) -> Iterator[Row]:
    for task, row in record.get("tasks", {}).items():
        rate = f"{row['tried'][0] / max(row['cpu_s'].get('aiming', 0.0), 1e-9):.0f} a CPU second, soft"
        yield f"planner, {task}: hypotheses closed and scored", rate, GRASPIT, "GraspIt!, published"
        whole = (
            f"first operation after {row['first_s']:.1f} s; {row['soon_n']:.3g} N after {row['soon_s']:g} s, "
            f"{row['least_n']:.3g} N after {row['seconds']:g} s; {row['worker_mb']:.0f} MB a worker"
        )
        yield f"planner, {task}", whole, FROGGER, "FRoGGeR, published"
    for task, runs in record.get("seeds", {}).items():
        forces = sorted(run["least_n"] for run in runs)
        first = sorted(run["first_s"] for run in runs)
        ours = (
            f"{forces[0]:.3g} to {forces[-1]:.3g} N, {forces[-1] / forces[0] - 1.0:.0%}; "
            f"first operation after {first[len(first) // 2]:.1f} s, {first[-1]:.1f} s at most"
        )
        yield f"planner, {task}: {len(runs)} seeds, {runs[0]['seconds']:g} s each", ours, "10 %", "asked"


def hands(record: Record) -> Iterator[Row]:
    pairs = record["pairs"].values()
    found = [row for row in pairs if row["found"]]
    ratios = sorted(row["force_n"] / row["bound_n"] for row in found)
    ours = f"{len(found)} of {len(pairs)} found"
    if found:
        ours += f", {min(r['first_s'] for r in found):.0f} to {max(r['first_s'] for r in found):.0f} s to the first"
        what = "hands and soft objects: least force found over its bound, median"
        yield what, f"{ratios[len(ratios) // 2]:.1f}", "1", "no grasp of so many contacts can be below"
    yield f"hands and soft objects, {record['seconds']:g} s each", ours, "", ""


def verdicts(record: Record) -> Iterator[Row]:
    rows = record["rows"]
    mine = sorted(1e3 * row["planner_s"] for row in rows)[len(rows) // 2]
    theirs = sorted(row["lab_s"] for row in rows)[len(rows) // 2]
    joints, forces = (100 * record["equal"][how] for how in ("joints", "forces"))
    equal = f"equal verdicts: {joints:.0f} % with planned joints, {forces:.0f} % with planned forces"
    what = f"does this grasp hold? ({len(rows)} cases, {equal})"
    yield what, f"{mine:.0f} ms", f"{theirs:.1f} s", "the same grasp carried out in MuJoCo"


def trials(record: Record) -> Iterator[Row]:
    for name, row in record["series"].items():
        held = f"{row['counts']['held']} of {record['count']} held, {row['max_force_n']:.1f} N at most"
        yield f"disturbed trials, {name}", held, "", ""


def control(record: Record) -> Iterator[Row]:
    worst = record["milliseconds"]
    mean, p95, most = (max(row[key] for row in worst.values()) for key in ("mean", "p95", "max"))
    yield "control step, worst phase: mean, 95 %, largest", f"{mean:.2f}, {p95:.2f}, {most:.2f} ms", "1 ms", "asked"


def calibration(record: Record) -> Iterator[Row]:
    for row in record["rows"]:
        found = f"failed: {row['reason']}"
        if "found_young" in row:
            friction = row["found_friction"]
            found = f"E {row['found_young']:.2f}, friction {'none' if friction is None else f'{friction:.2f}'}"
        what = f"calibration, {row['thing']}, E from {row['young']:g} times: found over true"
        yield what, found, "0.85 to 1.15", "asked"


def batch(record: Record) -> Iterator[Row]:
    pool = record["engines"].get("pool", {}).get("overhead_all_%")
    for name, row in record["engines"].items():
        if name != "pool":
            peer = f"{pool:.1f} %" if pool is not None else ""
            yield (
                f"batch overhead, {name}",
                f"{row['overhead_all_%']:.1f} %",
                peer,
                "bare multiprocessing.Pool, same run",
            )
    nothing = record["trivial"]
    grown = f"{nothing['ms_per_item']:.1f} ms each, memory grows by {nothing['memory_growth_mb']:.1f} MB"
    yield f"batch, {nothing['items']} trivial items", grown, "", ""


def cold_start(record: Record) -> Iterator[Row]:
    for command, row in record["commands"].items():
        for when, wanted in zip(("first", "again"), row["wanted_s"], strict=True):
            time = row[when]
            ours = f"{time['wall_s']:.1f} s, {time['cpu_s']:.1f} s CPU"
            yield f"pliant {command}, {when}", ours, f"{wanted:g} s" if wanted else "", "wanted, wall" if wanted else ""


READERS: dict[str, Callable[[Record], Iterator[Row]]] = {
    "servo": servo, "ik": ik, "contact": contact, "grasp": grasp, "planner": planner, "hands": hands,
    "verdicts": verdicts, "trials": trials, "calibration": calibration, "control": control, "batch": batch,
    "cold_start": cold_start,
}  # fmt: skip


def table(folder: Path) -> str:
    """The whole page."""
    lines = ["# Benchmarks", "", "| what | pliant | peer | which |", "|---|---|---|---|"]
    told: list[str] = []
    missing: list[str] = []
    for name, reader in READERS.items():
        file = folder / f"{name}.json"
        if not file.exists():
            missing.append(name)
            continue
        record = json.loads(file.read_text(encoding="utf-8"))
        lines += [f"| {' | '.join(row)} |" for row in reader(record)]
        machine, versions = record["machine"], record["versions"]
        packages = ", ".join(f"{package} {number}" for package, number in versions.items())
        processor = machine.get("cpu") or machine.get("processor", "")
        told.append(f"- {name}: commit {record['commit'][:12]}, {record.get('time', '')}, {processor}; {packages}")
    lines += ["", "Measured with", "", *told]
    if missing:
        lines += ["", f"Not run: {', '.join(missing)}."]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/table.md"))
    options = parser.parse_args()
    text = table(options.records)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
