"""A half-full plastic bottle, lifted and tilted: forces, joint angles and torques, planned beside measured.

As in [D] fig. 8: the liquid moves while the bottle tilts, and with it the forces of the fingers. The planner is told a
cautious friction (0.4; the bottle has 0.6). The force loop keeps the planned forces' size; the lab's liquid sloshes.

    python examples/21_bottle_in_the_lab.py [bottle.plan] [--out FOLDER]   # three minutes
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from comparison import compare_contacts

import pliant
from pliant.control import ControlOptions, RunPhase
from pliant.files import load_plan, load_task
from pliant.lab import Disturbance, LabOptions, TrialSettings, run_trial
from pliant.viewer import write_run_plots

TRUE_FRICTION, TOLD = 0.6, 0.4

arguments = argparse.ArgumentParser()
arguments.add_argument("plan", nargs="?", type=Path)
arguments.add_argument("--out", type=Path, default=Path("out/bottle_in_the_lab"))


def main() -> None:
    """Plan, carry out, compare."""
    asked = arguments.parse_args()
    if asked.plan is not None:
        plan = load_plan(asked.plan)
    else:
        task = load_task("bottle")
        body = replace(task.body, material=replace(task.body.material, friction=TOLD))
        plan = pliant.plan(replace(task, body=body))
        pliant.save_plan(plan, asked.out / "bottle_cautious.plan")
    assert plan.best is not None, plan.advice
    first, last = plan.best.states[1], plan.best.states[-1]
    moved = last.T_world_object.actInv(last.centre_of_mass) - first.T_world_object.actInv(first.centre_of_mass)
    print(f"while it tilts, the centre of mass moves by {1e3 * np.linalg.norm(moved):.1f} mm within the bottle")
    settings = TrialSettings(
        control=ControlOptions(friction_reserve=1.0, load_reserve=1.0),
        lab=LabOptions(step=0.004, friction_stiffness=100.0, nodes=200),
        period=0.012,
        from_pregrasp=True,
    )
    truth = Disturbance(friction=TRUE_FRICTION / plan.task.body.material.friction)
    result = run_trial(plan.task, plan.best, settings=settings, disturbance=truth)
    print("| phase | contact | planned [N] | measured [N] | centre of pressure off by [mm] |")
    print("|---|---|---|---|---|")
    for phase in (RunPhase.LIFT, RunPhase.MOVE, RunPhase.HOLD):
        for row in compare_contacts(result.log, phase):
            print(
                f"| {phase} | {row.name} | {row.planned_force:.2f} | {row.measured_force:.2f} | "
                f"{1e3 * row.point_error:.1f} |"
            )
    log, moving = result.log, result.log.during(RunPhase.MOVE)
    hand = plan.task.assembly.hand_joints
    for name, unit, scale in (("q", "deg", np.degrees(1.0)), ("torque", "N m", 1.0)):
        apart = log[f"{name}_measured"][moving][:, hand] - log[f"{name}_planned"][moving][:, hand]
        print(
            f"finger joints in the move, {name}: off the plan by {scale * np.sqrt(np.nanmean(apart**2)):.3g} {unit} rms"
        )
    write_run_plots(log, asked.out, plan.task.assembly.hand)
    print(f"{result.outcome}; slip {1e3 * result.slip:.1f} mm; figures in {asked.out}")
    assert result.held, result.reason


if __name__ == "__main__":  # the planner's processes must not run this again
    main()
