"""pliant's side of the ROS 1 driver test, as a process of its own: a process can be a ROS 1 node only once.

Waits for joints and both tactile arrays, closes the gripper to 0.02, sees that it went there, and stops.
"""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np

from pliant.control import Driver, Sample
from pliant.errors import OptionError
from pliant.robot import load_assembly
from pliant.ros import Ros1Link, RosDriver

SECONDS = 30.0


def main() -> None:
    link = Ros1Link()
    driver = RosDriver(link, load_assembly("kawasaki_fs020n", "parallel_gripper"), period=0.005)
    first = until(driver, lambda sample: sample.joints is not None and len(sample.frames) == 2)
    target = np.array([0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.02])

    def arrived(sample: Sample) -> bool:
        driver.command_positions(target)
        return sample.joints.positions[-1] == 0.02

    last = until(driver, arrived)
    driver.emergency_stop("enough")
    again = refused = ""
    try:
        Ros1Link()
    except OptionError as bad:
        again = str(bad)
    try:
        driver.command_positions(target)
    except OptionError as bad:
        refused = str(bad)
    say = {
        "is_driver": isinstance(driver, Driver),
        "first": first.joints.positions.tolist(),
        "age": first.time - first.joints.time,
        "torques": first.joints.torques,
        "last": last.joints.positions.tolist(),
        "frames": {name: frame.counts.tolist() for name, frame in first.frames.items()},
        "frame_age": max(first.time - frame.time for frame in first.frames.values()),
        "refused": refused,
        "again": again,
    }
    time.sleep(0.3)  # the last command is sent by a thread of rospy
    driver.close()
    driver.close()
    print(json.dumps(say))


def until(driver: RosDriver, done: Any) -> Sample:
    """Control cycles until a sample is as wanted."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        sample = driver.read()
        if done(sample):
            return sample
        driver.step()
    raise SystemExit(f"gave up after {SECONDS} s: {driver.read()}")


if __name__ == "__main__":
    main()
