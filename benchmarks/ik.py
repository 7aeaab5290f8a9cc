"""Pose inverse kinematics on well-known arms, beside the published TRAC-IK rates and roboticstoolbox's C ``ik_LM``.

    python benchmarks/ik.py [--quick] [--poses 10000] [--out out/benchmarks/ik.json]

Protocol of the TRAC-IK paper's table: random reachable poses (joints uniform within their limits), error at most 1e-5,
seed at mid-range. Times are CPU times of one solve; our answers are verified by Pinocchio and the joint limits, inside
the solve and once more outside it. ``ik_LM`` runs on the same chains and poses (Chan's damping, k = 0.1, tol = 2.5e-11,
joint limits on); its answers are checked the same way. Needs ``pip install 'pliant[bench]'``.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from record import about, write

from pliant.motion import InverseKinematics
from pliant.motion.chain import JointChain
from pliant.robot import Robot, load_robot

TOLERANCE = 1e-5


@dataclass(frozen=True)
class ArmCase:
    """An arm of example-robot-data and its published TRAC-IK rate [%], where there is one."""

    name: str
    urdf: str
    link: str
    trac_ik: float | None = None


ARMS = (
    ArmCase("Panda", "panda_description/urdf/panda.urdf", "panda_hand_tcp", 99.88),
    ArmCase("UR5", "ur_description/urdf/ur5_robot.urdf", "ee_link", 99.17),
    ArmCase("UR10", "ur_description/urdf/ur10_robot.urdf", "ee_link", 99.33),
    ArmCase("Baxter", "baxter_description/urdf/baxter.urdf", "right_gripper", 99.83),
    ArmCase("PR2", "pr2_description/urdf/pr2.urdf", "r_wrist_roll_link", 99.96),
    ArmCase("xArm7", "xarm_description/urdf/xarm7.urdf", "link_eef"),
    ArmCase("Kinova 6", "kinova_description/robots/kinova.urdf", "j2s6s200_end_effector"),
    ArmCase("Z1", "z1_description/urdf/z1.urdf", "link06"),
    ArmCase("TIAGo", "tiago_description/robots/tiago.urdf", "arm_7_link"),
)


def robots_folder() -> Path:
    """Where example-robot-data keeps its descriptions."""
    for place in map(Path, sys.path):
        folder = place / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
        if folder.is_dir():
            return folder
    raise SystemExit("example-robot-data is not installed: pip install 'pliant[bench]'")


def verified(robot: Robot, link: str, q: np.ndarray, T: pin.SE3) -> bool:
    """Independent check: a data object of its own, position and rotation apart, limits."""
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, robot.full(q))
    found = data.oMf[robot.frame_id(link)]
    away = float(np.linalg.norm(found.translation - T.translation))
    turned = float(np.linalg.norm(pin.log3(found.rotation.T @ T.rotation)))
    inside = bool((q >= robot.lower - 1e-9).all() and (q <= robot.upper + 1e-9).all())
    return away <= TOLERANCE and turned <= TOLERANCE and inside


def summary(seconds: np.ndarray, solved: np.ndarray) -> dict[str, float]:
    ms = 1e3 * seconds
    return {
        "rate": float(solved.mean()),
        "rate_5ms": float((solved & (ms <= 5.0)).mean()),
        "rate_50ms": float((solved & (ms <= 50.0)).mean()),
        "mean_ms": float(ms.mean()),
        "p95_ms": float(np.percentile(ms, 95)),
        "max_ms": float(ms.max()),
    }


def ours(robot: Robot, solver: InverseKinematics, poses: list[pin.SE3]) -> dict[str, float]:
    seconds, solved = np.empty(len(poses)), np.zeros(len(poses), dtype=bool)
    solver.solve(poses[0])  # compile
    for i, T in enumerate(poses):
        began = time.process_time()
        answer = solver.solve(T, tolerance=TOLERANCE, time_limit=1.0)
        seconds[i] = time.process_time() - began
        solved[i] = answer.found and verified(robot, solver.task.link, answer.q, T)
        if answer.found and not solved[i]:
            raise SystemExit(f"{robot.name}: an answer that is none, pose {i}")
    return summary(seconds, solved)


def toolbox_chain(chain: JointChain) -> Any:
    """The same chain as an elementary transform sequence of roboticstoolbox; each axis is turned onto z."""
    import roboticstoolbox as rtb

    sequence = rtb.ETS()
    for i, axis in enumerate(chain.axes):
        P = chain.placements[i]
        z = np.array([0.0, 0.0, 1.0])
        turn = pin.Quaternion.FromTwoVectors(z, axis).toRotationMatrix()
        T = pin.SE3(P[:9].reshape(3, 3) @ turn, P[9:]).homogeneous
        low, high = chain.lower[chain.column[i]], chain.upper[chain.column[i]]
        limits = [low if np.isfinite(low) else -np.pi, high if np.isfinite(high) else np.pi]
        joint = rtb.ET.tz(qlim=limits) if chain.slides[i] else rtb.ET.Rz(qlim=limits)
        sequence = sequence * rtb.ET.SE3(T) * joint * rtb.ET.SE3(pin.SE3(turn.T, np.zeros(3)).homogeneous)
    P = chain.placements[-1]
    return sequence * rtb.ET.SE3(pin.SE3(P[:9].reshape(3, 3), P[9:]).homogeneous)


def toolbox(robot: Robot, link: str, chain: JointChain, poses: list[pin.SE3]) -> dict[str, Any]:
    if len(np.unique(chain.column)) != len(chain.column) or (chain.multiplier != 1.0).any():
        return {"skipped": "coupled joints"}
    sequence = toolbox_chain(chain)
    q = robot.mid_range
    q[chain.coordinates] += np.linspace(-0.2, 0.3, len(chain.coordinates))
    if not np.allclose(sequence.eval(q[chain.coordinates][chain.column]), robot.pose(link, q).homogeneous, atol=1e-9):
        raise SystemExit(f"{robot.name}: the toolbox chain differs")
    seed = robot.mid_range[chain.coordinates][chain.column]
    seconds, solved = np.empty(len(poses)), np.zeros(len(poses), dtype=bool)
    np.random.seed(0)  # noqa: NPY002 - the toolbox draws its restarts from the global generator
    for i, T in enumerate(poses):
        target = T.homogeneous
        began = time.process_time()
        answer = sequence.ik_LM(target, q0=seed, tol=2.5e-11, joint_limits=True, k=0.1, method="chan")
        seconds[i] = time.process_time() - began
        q = robot.mid_range
        q[chain.coordinates[chain.column]] = answer[0] if isinstance(answer, tuple) else answer.q
        solved[i] = verified(robot, link, q, T)
    return summary(seconds, solved)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1000 poses an arm")
    parser.add_argument("--poses", type=int, help="poses an arm (10000)")
    parser.add_argument("--arm", action="append", help="only this arm; repeatable")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/ik.json"))
    options = parser.parse_args()
    count = options.poses or (1000 if options.quick else 10_000)
    folder, rows = robots_folder(), {}
    print(f"{count} random reachable poses an arm, error 1e-5, seed at mid-range, CPU time; rates in %, times in ms")
    print(
        f"{'':10s} {'joints':>6s} | {'pliant':>8s} {'<50ms':>8s} {'<5ms':>8s} {'mean':>7s} {'p95':>7s} {'max':>7s} ",
        end="",
    )
    print(f"| {'ik_LM':>7s} {'<5ms':>7s} {'mean':>7s} | {'TRAC-IK <5ms':>12s}")
    for arm in ARMS:
        if options.arm and arm.name not in options.arm:
            continue
        robot = load_robot(folder / arm.urdf, package_dirs=[folder.parents[1]])
        solver = InverseKinematics(robot, arm.link)
        rng = np.random.default_rng(1)
        poses = [solver.random_pose(rng) for _ in range(count)]
        mine = ours(robot, solver, poses)
        try:
            peer = toolbox(robot, arm.link, solver.chain, poses)
        except ImportError as missing:
            peer = {"skipped": str(missing)}
        rows[arm.name] = {
            "joints": len(solver.chain.coordinates),
            "pliant": mine,
            "ik_LM": peer,
            "trac_ik": arm.trac_ik,
        }
        text = f"{arm.name:10s} {len(solver.chain.coordinates):6d} | "
        text += " ".join(f"{100 * mine[key]:8.3f}" for key in ("rate", "rate_50ms", "rate_5ms")) + " "
        text += " ".join(f"{mine[key]:7.3f}" for key in ("mean_ms", "p95_ms", "max_ms")) + " | "
        if "skipped" in peer:
            text += f"{peer['skipped']:>23s} | "
        else:
            text += f"{100 * peer['rate']:7.2f} {100 * peer['rate_5ms']:7.2f} {peer['mean_ms']:7.3f} | "
        print(text + (f"{arm.trac_ik:12.2f}" if arm.trac_ik is not None else f"{'-':>12s}"), flush=True)
    write(
        options.out,
        about("pin", "numba", "roboticstoolbox-python", "example-robot-data") | {"poses": count, "arms": rows},
    )


if __name__ == "__main__":
    main()
