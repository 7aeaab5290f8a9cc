"""One full servo step (kinematics, 18 x 13 Jacobian, qp with limits) beside one step of pink, mink and placo.

    python benchmarks/servo.py [--quick] [--placo-python PYTHON] [--out out/benchmarks/servo.json]

The robot is FS020N + SDH2, the targets are the poses of its three finger tips, the limits are positions and speeds
(ours: accelerations too). Every library starts from the same joints and takes the same step again and again; the time
is the smallest mean CPU time over several rounds. Beside it stands the error left after a second of closed loop.

pink and mink come with ``pip install 'pliant[bench]'``. placo pins an older Pinocchio, so it needs an environment of
its own, whose interpreter is named by --placo-python. The peers move 14 joints: none folds mimic joints by default.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from record import about, write

from pliant.motion import FrameTask, JointLimits, Servo
from pliant.robot import load_assembly, tip_frame

DT = 0.002
GAIN = 0.04  # fraction of the error removed a step: 20 1/s
FINGERS = ("finger_1", "finger_2", "thumb")
LINKS = [tip_frame(name) for name in FINGERS]


class Problem:
    """The robot, where it starts and where its tips shall go: ``way`` radians from there."""

    def __init__(self, way: float) -> None:
        self.assembly = load_assembly("kawasaki_fs020n", "schunk_sdh2")
        self.robot = self.assembly.robot
        self.start = self.assembly.q_home.copy()
        self.start[self.assembly.arm_joints] += [0.2, 0.15, -0.3, 0.3, 0.5, 0.4]
        self.start[self.assembly.hand_joints] = [0.6, -0.5, 0.8, -0.4, 0.7, -0.45, 0.75]
        goal = self.start + way * np.cos(np.arange(13.0))
        self.targets = [self.robot.pose(link, goal) for link in LINKS]

    def left(self, q: np.ndarray) -> float:
        """Largest remaining distance of a tip [m], by Pinocchio."""
        poses = self.robot.poses(LINKS, q)
        return max(
            float(np.linalg.norm(a.translation - b.translation)) for a, b in zip(poses, self.targets, strict=True)
        )

    def urdf(self) -> str:
        """Without shapes and mimic tags: one joint more, and every library reads it."""
        return self.robot.urdf.to_xml(shapes=False, followers=False)


def microseconds(step: Callable[[], Any], rounds: int, count: int) -> float:
    """Smallest mean CPU time of a call."""
    best = np.inf
    for _ in range(rounds):
        began = time.process_time()
        for _ in range(count):
            step()
        best = min(best, (time.process_time() - began) / count)
    return 1e6 * best


def ours(problem: Problem, solver: str, rounds: int, count: int) -> dict[str, Any]:
    limits = JointLimits.of(problem.robot, acceleration=problem.assembly.acceleration_limits)
    targets = [(FrameTask(link), T) for link, T in zip(LINKS, problem.targets, strict=True)]
    servo = Servo(problem.robot, targets, dt=DT, solver=solver, limits=limits)
    q = problem.start
    for i in range(500):
        q = q + servo.step(q, i * DT) * DT
    left = problem.left(q)
    servo.reset()
    return {"step_us": microseconds(lambda: servo.step(problem.start, 0.0), rounds, count), "left_m": left}


def pink_step(problem: Problem, rounds: int, count: int) -> dict[str, Any]:
    import pink

    model, data = problem.robot.model, problem.robot.model.createData()
    full = problem.robot.full(problem.start)
    configuration = pink.Configuration(model, data, full)
    tasks = []
    for link, T in zip(LINKS, problem.targets, strict=True):
        task = pink.tasks.FrameTask(link, position_cost=1.0, orientation_cost=1.0, gain=GAIN, lm_damping=1e-6)
        task.set_target(T)
        tasks.append(task)

    def step(q: np.ndarray) -> np.ndarray:
        configuration.update(q)
        return np.asarray(pink.solve_ik(configuration, tasks, DT, solver="daqp", damping=1e-6, safety_break=False))

    q = full
    for _ in range(500):
        q = pin.integrate(model, q, step(q) * DT)
    return {"step_us": microseconds(lambda: step(full), rounds, count), "left_m": _left_full(problem, q)}


def mink_step(problem: Problem, rounds: int, count: int) -> dict[str, Any]:
    import mink
    import mujoco

    # MuJoCo wants masses and drops links without any; the limits it reads from the URDF.
    compiler = '<compiler boundmass="0.01" boundinertia="1e-5" fusestatic="false" discardvisual="false"/>'
    xml = problem.urdf().replace("</robot>", f"<mujoco>{compiler}</mujoco></robot>")
    model = mujoco.MjModel.from_xml_string(xml)
    names = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, i) for i in range(model.njnt)]
    order = [list(problem.robot.model.names)[1:].index(name) for name in names]
    full = problem.robot.full(problem.start)[order]
    configuration = mink.Configuration(model, full)
    speeds = {name: problem.robot.urdf.joint(name).velocity for name in names}
    limits = [mink.ConfigurationLimit(model), mink.VelocityLimit(model, speeds)]
    tasks = []
    for link, T in zip(LINKS, problem.targets, strict=True):
        task = mink.FrameTask(link, "body", position_cost=1.0, orientation_cost=1.0, gain=GAIN, lm_damping=1e-6)
        task.set_target(mink.SE3.from_matrix(T.homogeneous))
        tasks.append(task)

    def step(q: np.ndarray) -> np.ndarray:
        configuration.update(q)
        return np.asarray(mink.solve_ik(configuration, tasks, DT, solver="daqp", damping=1e-6, limits=limits))

    q = full
    for _ in range(500):
        q = q + step(q) * DT
    left = np.empty_like(q)
    left[order] = q
    return {"step_us": microseconds(lambda: step(full), rounds, count), "left_m": _left_full(problem, left)}


def placo_step(problem: Problem, python: Path, rounds: int, count: int) -> dict[str, Any]:
    """placo in its own environment, on the same description and targets."""
    full = problem.robot.full(problem.start)
    names = list(problem.robot.model.names)[1:]
    with tempfile.TemporaryDirectory() as folder:
        urdf = Path(folder) / "robot.urdf"
        urdf.write_text(problem.urdf(), encoding="utf-8")
        question = {
            "urdf": str(urdf),
            "q": dict(zip(names, full.tolist(), strict=True)),
            "targets": {link: T.homogeneous.tolist() for link, T in zip(LINKS, problem.targets, strict=True)},
            "dt": DT,
            "rounds": rounds,
            "count": count,
        }
        script = Path(__file__).parent / "peers" / "placo_step.py"
        done = subprocess.run([python, script], input=json.dumps(question), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {"skipped": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "failed"}
    answer = json.loads(done.stdout.splitlines()[-1])
    q = np.array([answer["q"][name] for name in names])
    return {"step_us": answer["step_us"], "left_m": _left_full(problem, q)}


def _left_full(problem: Problem, full: np.ndarray) -> float:
    model = problem.robot.model
    data = model.createData()
    pin.framesForwardKinematics(model, data, full)
    return max(
        float(np.linalg.norm(data.oMf[problem.robot.frame_id(link)].translation - T.translation))
        for link, T in zip(LINKS, problem.targets, strict=True)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--placo-python", type=Path, help="interpreter of an environment that has placo")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/servo.json"))
    options = parser.parse_args()
    rounds, count = (5, 200) if options.quick else (15, 400)
    cases = {"near": Problem(0.05), "far, speed limits active": Problem(0.3)}
    record: dict[str, dict[str, dict[str, Any]]] = {}
    for case, problem in cases.items():
        rows = record[case] = measure(problem, rounds, count, options.placo_python)
        reference = rows["pliant qp"]["step_us"]
        print(f"{case + ' (18 rows)':36s} {'us a step':>10s} {'times qp':>9s} {'left after 1 s':>15s}")
        for name, row in rows.items():
            if "skipped" in row:
                print(f"  {name:34s} skipped: {row['skipped']}")
                continue
            row["ratio"] = row["step_us"] / reference
            print(f"  {name:34s} {row['step_us']:10.1f} {row['ratio']:9.2f} {1e6 * row['left_m']:12.4f} um")
    write(options.out, about("pin", "daqp", "numba", "pin-pink", "mink", "mujoco") | {"steps": record})


def measure(problem: Problem, rounds: int, count: int, placo: Path | None) -> dict[str, dict[str, Any]]:
    """Every library on one problem."""
    rows: dict[str, dict[str, Any]] = {}
    for solver in ("qp", "pinv", "exclusion", "descent"):
        print(f"pliant {solver} ...", file=sys.stderr)
        rows[f"pliant {solver}"] = ours(problem, solver, rounds, count)
    for name, peer in (("pink", pink_step), ("mink", mink_step)):
        print(f"{name} ...", file=sys.stderr)
        try:
            rows[name] = peer(problem, rounds, count)
        except ImportError as missing:
            rows[name] = {"skipped": str(missing)}
    if placo is not None:
        print("placo ...", file=sys.stderr)
        rows["placo"] = placo_step(problem, placo, rounds, count)
    return rows


if __name__ == "__main__":
    main()
