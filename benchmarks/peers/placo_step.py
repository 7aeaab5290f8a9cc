"""One placo step, timed; run by servo.py in an environment of its own. Question on stdin, answer on stdout, as JSON."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import placo


def main() -> None:
    question = json.loads(sys.stdin.read())
    robot = placo.RobotWrapper(question["urdf"], placo.Flags.ignore_collisions)
    solver = placo.KinematicsSolver(robot)
    solver.mask_fbase(True)
    solver.dt = question["dt"]
    solver.enable_joint_limits(True)
    solver.enable_velocity_limits(True)
    solver.add_regularization_task(1e-6)
    for name, value in question["q"].items():
        robot.set_joint(name, value)
    robot.update_kinematics()
    for link, T in question["targets"].items():
        task = solver.add_frame_task(link, np.array(T))
        task.configure(link, "soft", 1.0, 1.0)

    def step() -> None:
        robot.update_kinematics()
        solver.solve(False)

    best = np.inf
    for _ in range(question["rounds"]):
        began = time.process_time()
        for _ in range(question["count"]):
            step()
        best = min(best, (time.process_time() - began) / question["count"])
    for _ in range(500):
        robot.update_kinematics()
        solver.solve(True)
    q = {name: robot.get_joint(name) for name in question["q"]}
    print(json.dumps({"step_us": 1e6 * best, "q": q}))


if __name__ == "__main__":
    main()
