"""A hand without an arm is carried by six free joints, so that everything that moves an arm moves it too."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.robot.compound import SPEED, TURN_SPEED
from pliant.robot.description import ArmDescription, JointServo
from pliant.robot.model import Robot
from pliant.robot.modules import Arm
from pliant.robot.urdf import Inertial, Joint, Link, Urdf

REACH = 5.0
DOWN = pin.rpy.rpyToMatrix(np.pi, 0.0, 0.0)
"""How the flange is turned where all joints are zero."""


def floating_arm(name: str = "floating") -> Arm:
    """Three sliding joints along x, y, z, then three turning ones about z, y, x; massless for all that matters.

    At zero the flange looks straight down. Speeds are 0.5 m/s and 1.5 rad/s (assumed).
    """
    names = ("x", "y", "z", "yaw", "pitch", "roll")
    axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
    small = Inertial(1e-3, pin.SE3.Identity(), (1e-6, 0.0, 0.0, 1e-6, 0.0, 1e-6))
    links = [Link(f"{name}_base")]
    joints = []
    for i, (letter, axis) in enumerate(zip(names, axes, strict=True)):
        slides = i < 3
        links.append(Link(f"{name}_{letter}_link", inertial=small))
        joints.append(
            Joint(
                f"{name}_{letter}",
                "prismatic" if slides else "revolute",
                links[-2].name,
                links[-1].name,
                pin.SE3.Identity(),
                axis,
                -REACH if slides else -2.0 * np.pi,
                REACH if slides else 2.0 * np.pi,
                SPEED if slides else TURN_SPEED,
                500.0 if slides else 100.0,
            )
        )
    flange = Link(f"{name}_flange", inertial=small)
    down = pin.SE3(DOWN, np.zeros(3))
    joints.append(Joint(f"{name}_to_flange", "fixed", links[-1].name, flange.name, down))
    urdf = Urdf(name, (*links, flange), tuple(joints), f"{name} (six free joints)")
    description = ArmDescription(
        version=1,
        kind="arm",
        name=name,
        title="free-flying palm",
        urdf=f"{name}.urdf",
        flange=flange.name,
        servos={
            f"{name}_{letter}": JointServo(
                stiffness=2e4 if i < 3 else 500.0,
                max_torque=500.0 if i < 3 else 100.0,
                max_acceleration=2.0 if i < 3 else 6.0,
                follows_speed=True,
            )
            for i, letter in enumerate(names)
        },
        assumed=("speeds 0.5 m/s and 1.5 rad/s",),
    )
    return Arm(description, Robot(urdf))


def floating_joints(T_base_flange: pin.SE3) -> Floats:
    """The six joints of `floating_arm` at which its flange is there: x, y, z [m], yaw, pitch, roll [rad]."""
    roll, pitch, yaw = pin.rpy.matrixToRpy(T_base_flange.rotation @ DOWN.T)
    return np.array([*T_base_flange.translation, yaw, pitch, roll])
