"""One step of the controller, log included, without any simulator; the bound is 0.5 ms on one core.

    python benchmarks/control.py [--quick] [--out out/benchmarks/control.json]

The robot is FS020N + SDH2 with three fingers on a ball: 13 joints, six tactile arrays, three of them pressed, frames
every 32 ms, control every 10 ms. The time is CPU time of ``GraspController.step`` alone. All runs take the same steps;
each step counts with its least time over the runs, so that other programs on the machine do not. Told are the mean, the
95th percentile and the largest step, by phase.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from record import about, write

from pliant.control import GraspController, JointReading, RunPhase, Sample
from pliant.planner import HeldState, Hypothesis, Phase, PlannedContact, PlannedGrasp, Trajectory
from pliant.robot import Assembly, cell_layout, load_assembly
from pliant.tactile import PadSensor, TactileFrame

PERIOD, FRAME = 0.01, 0.032
FORCE, WEIGHT = 2.0, 1.5
FINGERS = ("finger_1", "finger_2", "thumb")


def planned_grasp(assembly: Assembly) -> PlannedGrasp:
    """Three fingers towards one centre; contacts in the middle of the distal pads, the rest as a planner would say."""
    assert assembly.hand is not None
    robot = assembly.robot
    shape = next(p for p in assembly.hand.preshapes if p.name == "spherical")
    q_open, q_touch, q_grasp = (assembly.preshaped(assembly.q_home, shape, s) for s in (0.25, 0.4, 0.42))
    lifted = q_grasp.copy()
    lifted[1] += 0.05
    links = tuple(f"{finger}_distal" for finger in FINGERS)
    p_link = np.array([0.0143, 0.0, 0.035])
    centre = np.mean([robot.pose(link, q_grasp).act(p_link) for link in links], axis=0)
    states = []
    for time_s, phase, q in ((4.0, Phase.SQUEEZE, q_grasp), (5.0, Phase.LIFT, lifted)):
        T_world_object = pin.SE3(np.eye(3), np.mean([robot.pose(link, q).act(p_link) for link in links], axis=0))
        contacts = []
        for finger, link in zip(FINGERS, links, strict=True):
            T = robot.pose(link, q)
            R = T.rotation @ np.column_stack([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
            contacts.append(
                PlannedContact(
                    link,
                    finger,
                    0,
                    T_world_object.actInv(pin.SE3(R, T.act(p_link))),
                    p_link,
                    np.array([0.0, -0.5, FORCE]),
                    np.array([0.0, -0.5, FORCE]),
                    0.005,
                    np.array([0.005, 0.005]),
                    5e4,
                    8e-5,
                    0.001,
                    np.array([2500.0, 2500.0, 4000.0]),
                    0.8,
                    15.0,
                    np.zeros((0, 3)),
                    np.zeros(0),
                    1e-6,
                )
            )
        load = np.array([0.0, 0.0, -WEIGHT, 0.0, 0.0, 0.0])
        states.append(
            HeldState(
                time_s,
                phase,
                q,
                T_world_object,
                tuple(contacts),
                centre,
                centre,
                load,
                np.zeros(robot.dof),
                0.7,
                np.zeros((0, 3), dtype=np.float32),
                0.0,
            )
        )
    times = np.array([0.0, 1.0, 3.0, 4.0, 5.0])
    phases = (Phase.APPROACH, Phase.APPROACH, Phase.CLOSE, Phase.SQUEEZE, Phase.LIFT)
    q = np.array([assembly.q_home, q_open, q_touch, q_grasp, lifted])
    trajectory = Trajectory(times, q, phases, np.tile([*centre, 1.0, 0.0, 0.0, 0.0], (5, 1)))
    hypothesis = Hypothesis(0, pin.SE3.Identity(), "spherical", FINGERS, "made for this")
    return PlannedGrasp(hypothesis, trajectory, tuple(states), q_open, q_touch, FORCE, 5e4, 0.0, 0.0, 0.0, 0.0)


def pressed(
    assembly: Assembly, time_s: float, forces: dict[str, float], rng: np.random.Generator
) -> dict[str, TactileFrame]:
    """A frame of every array; those of the named links feel a patch of some ten cells."""
    assert assembly.hand is not None
    frames = {}
    for array in assembly.hand.tactile:
        layout = cell_layout(array)
        away = ((layout.centres - np.array([0.0143, 0.0, 0.035])) ** 2).sum(axis=-1)
        weights = np.where(layout.exists & (away < 0.007**2), np.exp(-0.5 * away / 0.004**2), 0.0)
        cells = forces.get(array.link, 0.0) * weights / max(float(weights.sum()), 1e-9)
        counts = PadSensor().counts(cells, cell_area=layout.area, rng=rng)
        frames[array.name] = TactileFrame(array.name, time_s, counts)
    return frames


def one_run(assembly: Assembly, grasp: PlannedGrasp, seed: int) -> list[tuple[RunPhase, float]]:
    """CPU seconds of every step of one operation."""
    controller = GraspController(grasp, assembly, start=RunPhase.CLOSE)
    rng = np.random.default_rng(seed)
    links = [f"{finger}_distal" for finger in FINGERS]
    q, next_frame, frames = grasp.q_pregrasp.copy(), 0.0, {}
    spent = []
    for k in range(2000):
        now = PERIOD * k
        if now >= next_frame - 1e-9:
            next_frame += FRAME
            force = controller.run.loop.wanted if now > 2.0 else np.zeros(3)
            frames = pressed(assembly, now, dict(zip(links, force, strict=True)), rng)
        sample = Sample(now, JointReading(now, q, np.zeros(len(q))), dict(frames))
        began = time.process_time()
        command = controller.step(sample)
        spent.append((command.phase, time.process_time() - began))
        q = command.positions
        if command.finished:
            break
    assert command.phase is RunPhase.DONE, controller.reason
    return spent


def measure(runs: int) -> dict[str, Any]:
    """Milliseconds by phase. Every run takes the same steps; what a step costs is its least time over the runs."""
    assembly = load_assembly("kawasaki_fs020n", "schunk_sdh2")
    grasp = planned_grasp(assembly)
    one_run(assembly, grasp, 0)
    every = [one_run(assembly, grasp, 0) for _ in range(runs)]
    least = 1e3 * np.min([[spent for _, spent in run] for run in every], axis=0)
    phases = np.array([str(phase) for phase, _ in every[0]])
    told = {}
    for phase in (RunPhase.CLOSE, RunPhase.SQUEEZE, RunPhase.LIFT, RunPhase.HOLD):
        times = least[phases == str(phase)]
        told[str(phase)] = {
            "mean": float(times.mean()),
            "p95": float(np.percentile(times, 95)),
            "max": float(times.max()),
        }
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/control.json"))
    options = parser.parse_args()
    answer = measure(2 if options.quick else 8)
    print(f"{'phase':10} {'mean':>8} {'95 %':>8} {'largest':>8}   [ms], bound 0.5 ms")
    for phase, told in answer.items():
        print(f"{phase:10} {told['mean']:8.3f} {told['p95']:8.3f} {told['max']:8.3f}")
    write(options.out, {**about("pin", "clarabel", "scipy"), "bound_ms": 0.5, "milliseconds": answer})


if __name__ == "__main__":
    main()
