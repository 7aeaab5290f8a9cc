"""What does a soft-body simulator say of the same ball? MuJoCo flex, body model and half-space beside a fine FEM.

    python benchmarks/contact_simulator.py [--out out/benchmarks/contact_simulator.json]

A ball of 30 mm, E = 0.5 MPa, nu = 0.45, between two rigid plates, each pressed in by the depth. The finite-element
forces are those of tests/contact/test_finite_bodies.py. CPU seconds are for one depth: for the models with preparation
from the cache, for the simulator with the motion.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from xml.etree.ElementTree import SubElement

import mujoco
import numpy as np
import pinocchio as pin
from record import about, write

from pliant.contact import PadSurface, PlaneSurface, PreparedObject, press
from pliant.lab import LabOptions, Simulation, compile_scene, scene_root, solid_part
from pliant.objects import Body, Material, make_shape

FEM = {0.6: 2.2703, 1.5: 9.3145, 3.0: 27.471}
RADIUS, YOUNG, POISSON = 0.03, 5e5, 0.45


def simulated(depth: float) -> tuple[float, float]:
    """(depth reached [m], force [N]) of the flex ball between plates driven by stiff servos, at rest."""
    options = LabOptions(gravity=(0.0, 0.0, 0.0))
    root = scene_root(options)
    world, drives = SubElement(root, "worldbody"), SubElement(root, "actuator")
    for name, side in (("left", -1), ("right", 1)):
        place = side * (RADIUS + options.skin + 0.005)
        plate = SubElement(world, "body", {"name": name, "pos": f"{place} 0 0"})
        SubElement(plate, "joint", {"name": name, "type": "slide", "axis": f"{-side} 0 0", "armature": ".5"})
        SubElement(plate, "inertial", {"pos": "0 0 0", "mass": ".2", "diaginertia": "1e-4 1e-4 1e-4"})
        shape = {"type": "box", "size": ".005 .04 .04", "contype": "4", "conaffinity": "3"}
        SubElement(plate, "geom", {"name": name, **shape})
        SubElement(drives, "position", {"name": name, "joint": name, "kp": "500000", "kv": "3000"})
    ball = Body.from_mesh(make_shape("sphere", radius=RADIUS), Material(YOUNG, POISSON), mass=0.1)
    held = solid_part(ball, pin.SE3.Identity(), options)
    world.append(held.body)
    simulation = Simulation(compile_scene(root, options, held=held))
    for k in range(50):
        simulation.data.ctrl[:] = depth * (k + 1) / 50
        simulation.step()
    simulation.step(50)
    if simulation.fault:
        raise SystemExit(f"the simulation failed: {simulation.fault}")
    total, wrench = 0.0, np.zeros(6)
    for i in range(simulation.data.ncon):
        mujoco.mj_contactForce(simulation.model, simulation.data, i, wrench)
        total += wrench[0]
    return float(simulation.data.qpos[:2].mean()), 0.5 * total


def pressed(model: str, depth: float) -> float:
    prepared = PreparedObject.of(
        make_shape("sphere", radius=RADIUS, edge=0.003), young=YOUNG, poisson=POISSON, model=model
    )
    plate = PadSurface("plate", PlaneSurface())
    contacts = [((0, 0, RADIUS), (0, 0, 1)), ((0, 0, -RADIUS), (0, 0, -1))]
    return float(press(prepared, [plate, plate], contacts, depth).state.regions[0].normal_force)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/contact_simulator.json"))
    out = parser.parse_args().out
    for model in ("body", "halfspace"):
        pressed(model, 1e-3)
    rows = []
    print(f"{'depth':>6} {'FEM':>8} | {'body':>16} | {'half-space':>16} | {'MuJoCo flex':>16}")
    for depth, force in FEM.items():
        row: dict[str, float] = {"depth_mm": depth, "fem_n": force}
        cells = []
        for name in ("body", "halfspace", "flex"):
            start = time.process_time()
            if name == "flex":
                reached, value = simulated(depth * 1e-3)
                # Plates give a little: to the depth asked for with Hertz's exponent.
                value *= (depth * 1e-3 / reached) ** 1.5
            else:
                value = pressed(name, depth * 1e-3)
            seconds = time.process_time() - start
            row |= {f"{name}_n": value, f"{name}_error": value / force - 1, f"{name}_cpu_s": seconds}
            cells.append(f"{100 * (value / force - 1):+6.1f} % {seconds:5.2f} s")
        rows.append(row)
        print(f"{depth:4} mm {force:6.3f} N | " + " | ".join(f"{cell:>16}" for cell in cells), flush=True)
    write(out, {**about("mujoco", "numba"), "rows": rows})


if __name__ == "__main__":
    main()
