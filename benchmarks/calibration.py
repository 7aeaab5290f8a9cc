"""How well one trial squeeze in the lab finds Young's modulus and friction of a task that is wrong by two.

    python benchmarks/calibration.py [--quick] [--things ball,ring] [--seeds 0,1] [--out FILE.json]

A ball, a sponge and a ring lie on a table, planned with the wrong constants (the plans of the tests: parallel gripper
from above), are squeezed, lifted and let slip in the lab, and the contact model is fitted to what the pads measured.
Printed are found over true values: 1 is right, 0.85 to 1.15 is asked. Nothing is left out; a squeeze that fails is
printed with its reason.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from record import about, write

from pliant.lab import Disturbance, SensorSettings, calibrate_in_lab, calibration_settings
from pliant.objects import Body, ContactLimits, Material, make_shape
from pliant.planner import prepare_object

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from made_plans import make_grasp, make_task

THINGS = {
    "ball": (make_shape("sphere", radius=0.03), 2e5, 0.45, 0.1),
    "sponge": (make_shape("box", size=(0.05, 0.014, 0.022)), 2e5, 0.3, 0.06),  # narrower than a pad: a slip is seen
    "ring": (make_shape("torus", major=0.022, minor=0.011), 5e5, 0.45, 0.1),
}
# Start values over true ones: the task is half as stiff and twice as rough as the thing, or the other way round.
WRONG = ((0.5, 2.0), (2.0, 0.5), (0.5, 0.5), (2.0, 2.0))
TRUE_FRICTION = 0.5


def measure(things: list[str], wrong: tuple[tuple[float, float], ...], seeds: list[int]) -> list[dict[str, Any]]:
    """One row per squeeze, printed as it comes."""
    rows: list[dict[str, Any]] = []
    print("thing     E start mu start  seed       E      mu  misfit  CPU s", flush=True)
    for thing in things:
        mesh, true_young, poisson, mass = THINGS[thing]
        for young, friction in wrong:
            material = Material(young * true_young, poisson, friction=friction * TRUE_FRICTION)
            body = Body.from_mesh(mesh, material, mass=mass, limits=ContactLimits(15.0, 4e5))
            task = make_task(body, hand="parallel_gripper", name=thing)
            grasp, model = make_grasp(task), prepare_object(task.body)
            for seed in seeds:
                began = time.process_time()
                truth = Disturbance(young=1.0 / young, friction=1.0 / friction)
                settings = calibration_settings(task, truth, sensors=SensorSettings(seed=seed))
                done = calibrate_in_lab(task, grasp, truth=truth, settings=settings, prepared=model)
                row = {"thing": thing, "young": young, "friction": friction, "seed": seed, "reason": done.reason}
                row["cpu_s"] = time.process_time() - began
                head, found = f"{thing:8} {young:8.2f} {friction:8.2f} {seed:5d}", done.found
                if found is None:
                    print(f"{head}   failed: {done.reason}", flush=True)
                else:
                    row["found_young"], row["misfit"] = found.young / true_young, found.misfit
                    row["found_friction"] = None if found.friction is None else found.friction / TRUE_FRICTION
                    told = "   none" if found.friction is None else f"{row['found_friction']:7.3f}"
                    tail = f"{found.misfit:7.3f} {row['cpu_s']:6.1f} {done.reason}"
                    print(f"{head} {row['found_young']:7.3f} {told} {tail}", flush=True)
                rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--things", default=",".join(THINGS))
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/calibration.json"))
    options = parser.parse_args()
    things, seeds = options.things.split(","), [int(seed) for seed in options.seeds.split(",")]
    rows = measure(things, WRONG[:2], seeds[:1]) if options.quick else measure(things, WRONG, seeds)
    write(options.out, {**about("mujoco", "pin", "scipy"), "asked": 0.15, "rows": rows})


if __name__ == "__main__":
    main()
