"""Plays a robot on the network: an FS020N with the parallel gripper that holds a rubber ball, behind a UDP socket.

    python examples/30_played_hand.py [--port 47001] [--silent-after SECONDS]

It stands in for hardware while a driver is written (docs/hardware.md writes one for it). Datagrams, little-endian:

    in   H                                       who asks gets all that follows
    in   P, 7 doubles                            where the joints shall go [rad, m]
    in   S                                       stop: stay where you are, for good
    out  J, double, 7 doubles                    time [s], joints
    out  T, byte, double, 10 x 5 unsigned shorts array 0 or 1, time [s], counts

After every J it waits for a P, at most 50 ms, and goes on by 10 ms of its own clock: it is as quick as its controller.
Joints follow with a lag of 30 ms; the pads feel a ball of 25 mm between them by Hertz's law, every 32 ms, with noise.
The ball lies at one place until the pads press it; from then on it goes with them. There is no gravity in it: a ball
that is gripped too lightly does not fall.
"""

from __future__ import annotations

import argparse
import select
import socket
import struct

import numpy as np

from pliant.arrays import Floats
from pliant.robot import Robot, cell_layout, load_assembly
from pliant.tactile import PadSensor

PERIOD, FRAME, LAG = 0.01, 0.032, 0.03
RADIUS, STIFFNESS = 0.025, 2.0e4  # of the ball [m]; of the gripper's drive [N/m]
BALL, TIP = np.array([0.95, 0.0, 0.525]), np.array([0.0, 0.0, 0.06])  # in the world; of a finger, in its frame [m]
SOFT = 1.0 / ((1 - 0.45**2) / 2.0e5 + (1 - 0.45**2) / 1.5e6)  # ball and pad together: E* of Hertz's law [Pa]


def force_at(opening: float) -> float:
    """Force of each pad on the ball when the pads are ``opening`` from the middle [N]."""
    depth = max(RADIUS - opening, 0.0)
    return float(4.0 / 3.0 * SOFT * np.sqrt(RADIUS) * depth**1.5)


def around_ball(robot: Robot, q: Floats) -> bool:
    """Whether the ball's place is between the tips of the fingers."""
    tips = [robot.pose(finger, q).act(TIP) for finger in ("left_finger", "right_finger")]
    return bool(np.linalg.norm(np.mean(tips, axis=0) - BALL) < RADIUS)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--port", type=int, default=47001)
    options.add_argument("--silent-after", type=float, default=float("inf"), help="say nothing more from then on [s]")
    given = options.parse_args()

    assembly = load_assembly("kawasaki_fs020n", "parallel_gripper")
    assert assembly.hand is not None
    robot = assembly.robot
    layouts = [cell_layout(array) for array in assembly.hand.tactile]
    sensor, rng = PadSensor(), np.random.default_rng(0)
    there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    there.bind(("127.0.0.1", given.port))
    print(f"listening on port {given.port}", flush=True)

    q = assembly.q_home
    goal, now, next_frame, stopped = q.copy(), 0.0, 0.0, False
    force, listener = 0.0, None
    while True:
        if select.select([there], [], [], 0.05 if listener else None)[0]:
            message, address = there.recvfrom(1024)
            if message == b"H":  # a new controller: the ball lies there again, the arm is at home
                listener, stopped, q = address, False, assembly.q_home
                goal, now, next_frame, force = q.copy(), 0.0, 0.0, 0.0
            elif message == b"S":
                stopped, goal = True, q.copy()
            elif message[:1] == b"P" and len(message) == 57 and not stopped:
                goal = np.array(struct.unpack("<7d", message[1:]))
        if listener is None:
            continue
        now += PERIOD
        pressed = goal.copy()
        pressed[6] += force / STIFFNESS
        q = q + (1.0 - np.exp(-PERIOD / LAG)) * (pressed - q)
        force = force_at(q[6]) if force > 0.0 or around_ball(robot, q) else 0.0
        if now > given.silent_after:
            continue
        if now >= next_frame:
            next_frame += FRAME
            for number, layout in enumerate(layouts):
                spot = np.exp(-((layout.centres - layout.centres[5, 2]) ** 2).sum(axis=-1) / (2 * 0.004**2))
                counts = sensor.counts(force * spot / spot.sum(), cell_area=layout.area, rng=rng)
                there.sendto(struct.pack("<cBd50H", b"T", number, now, *counts.ravel()), listener)
        there.sendto(struct.pack("<cd7d", b"J", now, *q), listener)


if __name__ == "__main__":
    main()
