"""Plan some shipped tasks and write every number of the result, so that two versions can be compared to the last digit.

    python tools/same_plans.py --out before.json
    ... change something that must not change any result ...
    python tools/same_plans.py --out after.json --compare before.json

Numbers are written as hexadecimal floats, long arrays as SHA-256 of their bytes. Reasons are compared without their
stage. Exit code 1 where anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import pliant

TASKS = ("ring", "ball_gripper", "sponge", "cup")


def digest(array: Any) -> str:
    """SHA-256 of an array's numbers as float64."""
    return hashlib.sha256(np.ascontiguousarray(array, dtype=np.float64).tobytes()).hexdigest()[:20]


def facts(plan: pliant.Plan) -> dict[str, Any]:
    """Everything about a plan that must not change, but times and versions."""
    return {
        "status": str(plan.status),
        "hypotheses": len(plan.hypotheses),
        "rejected": dict(sorted(Counter(str(rejection.reason) for rejection in plan.rejections).items())),
        "margins": digest([r.margin for r in sorted(plan.rejections, key=lambda r: r.number)]),
        "stable": {str(grasp.number): grasp.largest_force.hex() for grasp in plan.stable},
        "grasps": [
            {
                "number": grasp.hypothesis.number,
                "largest_force": f"{grasp.largest_force.hex()} ({grasp.largest_force:.6g} N)",
                "com_shift": float(grasp.com_shift).hex(),
                "joint_range": float(grasp.joint_range).hex(),
                "arm_path": float(grasp.arm_path).hex(),
                "epsilon": float(grasp.epsilon).hex(),
                "trajectory": digest(np.column_stack([grasp.trajectory.times, grasp.trajectory.q])),
                "object_poses": digest(grasp.trajectory.object_poses),
                "forces": [{c.link: [float(f).hex() for f in c.force] for c in s.contacts} for s in grasp.states],
                "states": [
                    digest(np.concatenate([s.q, s.torques, s.centre_of_mass, s.displacement.ravel()]))
                    for s in grasp.states
                ],
            }
            for grasp in plan.grasps
        ],
    }


def differences(before: Any, after: Any, where: str = "") -> list[str]:
    """The places in which two nested documents differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [
            line
            for key in sorted(before.keys() | after.keys())
            for line in differences(before.get(key), after.get(key), f"{where}.{key}")
        ]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [line for k, (a, b) in pairs for line in differences(a, b, f"{where}[{k}]")]
    return [] if before == after else [f"{where[1:]}: {before!r} before, {after!r} now"]


def main() -> int:
    """Plan, write, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", default=TASKS, help="shipped tasks")
    parser.add_argument("--out", type=Path, required=True, help="file for the numbers (JSON)")
    parser.add_argument("--compare", type=Path, help="an earlier file to compare with")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args()
    found: dict[str, Any] = {}
    for name in options.tasks:
        plan = pliant.plan(pliant.load_task(name), seed=0, jobs=options.jobs)
        found[name] = facts(plan)
        best = f"{plan.best.largest_force:.6g} N" if plan.best else "none"
        print(f"{name}: {len(plan.grasps)} grasps, best {best}, {plan.wall_s:.0f} s", flush=True)
        options.out.write_text(json.dumps(found, indent=1))
    if options.compare is None:
        return 0
    before = json.loads(options.compare.read_text())
    lines = [line for name in found for line in differences(before.get(name), found[name], f".{name}")]
    print("\n".join(lines[:40]) if lines else f"{', '.join(found)}: the same to the last digit")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
