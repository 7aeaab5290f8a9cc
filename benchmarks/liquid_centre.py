"""What following the centre of mass is worth: forces on a half-full bottle as it is tilted, with and without.

    python benchmarks/liquid_centre.py [--plan bottle.plan] [--out out/benchmarks/liquid_centre.json]

The grasp is the best one of the shipped bottle (planned here, unless its plan is given); hand and bottle are tilted
together about horizontal axes through the bottle. For every tilt the smallest sufficient forces (theory 7.3, with the
planner's margin) are found twice: with the weight at the centre of mass that the bottle has upright, and at that of the
liquid where it lies then (theory 6.4). Forces are the largest wanted ones; the last column says what the forces found
for the fixed centre would do with the true one: the share of the friction that balancing the weight takes, above 1 it
slips. The same contacts lower on the bottle, below its centre of mass, show the other sign.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from record import about, write

from pliant.constants import GRAVITY
from pliant.files import load_plan, load_task
from pliant.grasp import ContactSet, ForceSolver, balancing_friction
from pliant.objects import Body, Liquid, mesh_volume
from pliant.planner import PlannedGrasp, Task, plan

TILTS_DEG = (0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0)
AXES = {"+x": (1.0, 0.0, 0.0), "-x": (-1.0, 0.0, 0.0), "+y": (0.0, 1.0, 0.0), "-y": (0.0, -1.0, 0.0)}


def half_full(body: Body) -> Body:
    """The bottle with liquid in half of its volume."""
    assert body.liquid is not None
    liquid = body.liquid
    return replace(body, liquid=Liquid(0.5 * mesh_volume(body.mesh), liquid.density, liquid.wall, liquid.sealed))


def contacts_of(grasp: PlannedGrasp, height: float | None) -> ContactSet:
    """The grasp's contacts in the object's frame; moved along the bottle to a mean height [m], if one is given."""
    contacts = grasp.grasp.contacts
    points = np.array([c.T_object_contact.translation for c in contacts])
    if height is not None:
        points[:, 2] += height - points[:, 2].mean()
    return ContactSet.from_arrays(
        points,
        np.array([c.T_object_contact.rotation[:, 2] for c in contacts]),
        friction=np.array([c.friction for c in contacts]),
        max_force=np.array([c.max_force for c in contacts]),
        stiffness=np.array([np.diag(c.stiffness) for c in contacts]),
        radius=np.array([c.radius for c in contacts]),
        rotations=np.array([c.T_object_contact.rotation for c in contacts]),
    )


def tilted(
    task: Task, grasp: PlannedGrasp, axis: tuple[float, float, float], height: float | None
) -> list[dict[str, Any]]:
    """One row for each tilt about an axis of the world; everything in the object's frame, where gravity turns."""
    body, contacts = half_full(task.body), contacts_of(grasp, height)
    weight = GRAVITY * body.mass
    solver = ForceSolver(objective=task.options.cost, margin=task.options.margin * weight, explain=False)
    R = grasp.grasp.T_world_object.rotation
    fixed = body.centre_of_mass(R.T @ np.array([0.0, 0.0, 1.0]))
    rows = []
    for angle in TILTS_DEG:
        up = R.T @ pin.exp3(-np.radians(angle) * np.array(axis)) @ np.array([0.0, 0.0, 1.0])
        load, followed = np.concatenate([-weight * up, np.zeros(3)]), body.centre_of_mass(up)
        there, here = (solver.solve(contacts, load, centre=centre) for centre in (fixed, followed))
        row: dict[str, Any] = {"tilt_deg": angle, "centre_moved_mm": 1e3 * float(np.linalg.norm(followed - fixed))}
        for name, answer in (("fixed", there), ("followed", here)):
            row[f"{name}_n"] = None if answer.forces is None else float(answer.forces[:, 2].max())
        if there.forces is not None:
            friction = balancing_friction(contacts, load, there.forces[:, 2], centre=followed, tolerance=0.02)
            row["friction_used"] = float(friction.usage)
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan", type=Path, help="of the shipped bottle; planned here if left out")
    parser.add_argument("--low", type=float, default=0.02, help="height of the lower contacts [m]")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/liquid_centre.json"))
    options = parser.parse_args()
    found = load_plan(options.plan) if options.plan is not None else plan(load_task("bottle"))
    assert found.best is not None, found.advice
    task, grasp = found.task, found.best
    places = [1e3 * c.T_object_contact.translation for c in grasp.grasp.contacts]
    print(f"{len(places)} contacts at heights {', '.join(f'{place[2]:.0f}' for place in places)} mm")
    centre = half_full(task.body).centre_of_mass()
    print(f"half full its centre of mass is at {1e3 * centre[2]:.0f} mm")
    record: dict[str, Any] = {}
    for (name, axis), height in product(AXES.items(), (None, options.low)):
        where = "as planned" if height is None else f"at {1e3 * height:.0f} mm"
        print(f"\ncontacts {where}, tilted about {name}\n")
        print("| tilt | centre moved [mm] | fixed [N] | followed [N] | change | friction used |")
        print("|---|---|---|---|---|---|")
        rows = record[f"{where}, {name}"] = tilted(task, grasp, axis, height)
        for row in rows:
            forces = [row["fixed_n"], row["followed_n"]]
            texts = ["none holds" if force is None else f"{force:.2f}" for force in forces]
            change = "" if None in forces else f"{100 * (forces[1] / forces[0] - 1):+.0f} %"
            used = row.get("friction_used", np.nan)
            print(
                f"| {row['tilt_deg']:.0f}° | {row['centre_moved_mm']:.1f} | {texts[0]} | {texts[1]} | {change} | "
                f"{used:.2f} |"
            )
    write(options.out, {**about("clarabel"), "contacts_mm": [list(map(float, p)) for p in places], "tilts": record})


if __name__ == "__main__":
    main()
