"""Arm + hand at a flange: two modules become one tree; either is swapped by naming another. (theory 3)"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from pliant.arrays import Bools, Floats, Ints
from pliant.errors import OptionError, Problem
from pliant.robot.description import ArmDescription, HandDescription, JointServo, Preshape
from pliant.robot.model import Robot
from pliant.robot.modules import PALM_FRAME, Arm, Hand, tip_frame
from pliant.robot.urdf import Joint, Urdf


@dataclass(frozen=True)
class Assembly:
    """An arm with a hand, a hand alone (a free-flying palm), or an arm alone, as one robot.

    Attributes:
        robot: the whole tree.
        arm, hand: the descriptions, in the names of ``robot``.
        arm_joints, hand_joints: positions of the arm's and the hand's joints in ``q``.
    """

    robot: Robot
    arm: ArmDescription | None
    hand: HandDescription | None
    arm_joints: Ints
    hand_joints: Ints

    @property
    def name(self) -> str:
        """As the robot is called: arm and hand with a plus between them."""
        return self.robot.name

    def at(self, T_world_base: pin.SE3) -> Assembly:
        """The same assembly standing elsewhere."""
        return replace(self, robot=self.robot.at(T_world_base))

    @property
    def q_home(self) -> Floats:
        """The arm at home, the hand open in its first preshape."""
        values = dict(self.arm.home) if self.arm is not None else {}
        if self.hand is not None:
            values |= self.hand.preshapes[0].open
        return self.robot.q(values)

    def preshaped(self, q: Floats, preshape: Preshape, closed: float = 0.0) -> Floats:
        """``q`` with the hand between open (0) and closed (1) in a preshape; the arm stays."""
        result = q.copy()
        for name, start in preshape.open.items():
            result[self.robot.joint_index(name)] = start + closed * (preshape.closed[name] - start)
        return result

    @property
    def torque_limits(self) -> Floats:
        """Largest joint torques [N m, N]: the servo's where it says one, else the URDF's."""
        return self._servo_values("max_torque", self.robot.effort_limits)

    @property
    def acceleration_limits(self) -> Floats:
        """Largest joint accelerations [rad/s^2, m/s^2]; inf if unknown."""
        return self._servo_values("max_acceleration", np.full(self.robot.dof, np.inf))

    @property
    def servo_stiffness(self) -> Floats:
        """Torque per position error of every joint [N m/rad, N/m]; inf (a stiff servo) if unknown."""
        return self._servo_values("stiffness", np.full(self.robot.dof, np.inf))

    @property
    def follows_speed(self) -> Bools:
        """Which joints' drives are given the commanded speed as well."""
        return self._servo_values("follows_speed", np.zeros(self.robot.dof)) > 0.0

    def _servo_values(self, field: str, default: Floats) -> Floats:
        values = default.copy()
        servos: dict[str, JointServo] = {}
        for description in (self.arm, self.hand):
            servos |= description.servos if description is not None else {}
        for name, servo in servos.items():
            if (value := getattr(servo, field)) is not None:
                values[self.robot.joint_index(name)] = value
        return values


def assemble(
    arm: Arm | None = None,
    hand: Hand | None = None,
    *,
    T_flange_hand: pin.SE3 | None = None,
    T_world_base: pin.SE3 | None = None,
) -> Assembly:
    """Bolt a hand to an arm's flange.

    Names of the hand that the arm uses too get the prefix ``hand_``; all others stay as they are. The frames that every
    hand has (palm, finger tips) are known by their names everywhere, so an arm may not have them.

    Args:
        arm, hand: one of them may be left out.
        T_flange_hand: the hand's mount in the flange; identity by default.
        T_world_base: where the root of the tree stands.
    """
    if arm is None and hand is None:
        raise OptionError("assemble", "neither an arm nor a hand is given; give at least one")
    if arm is None or hand is None:
        module = arm or hand
        assert module is not None
        robot = Robot(module.robot.urdf, T_world_base=T_world_base)
        everything, nothing = np.arange(robot.dof), np.arange(0)
        if arm is not None:
            return Assembly(robot, arm.description, None, everything, nothing)
        assert hand is not None
        return Assembly(robot, None, hand.description, nothing, everything)
    below, above = arm.robot.urdf, hand.robot.urdf
    frames = {PALM_FRAME, *(tip_frame(finger.name) for finger in hand.description.fingers)}
    if taken := sorted(frames.intersection(arm.robot.link_names)):
        what = f"link '{taken[0]}' has the name of a frame of the hand"
        raise OptionError(below.source, Problem("arm", what, "rename that link"))
    links = _clashes([link.name for link in below.links], [link.name for link in above.links])
    joints = _clashes([joint.name for joint in below.joints], [joint.name for joint in above.joints])
    above = above.renamed(links, joints)
    description = hand.description.renamed(links, joints)
    bolt = Joint(
        _free_name("flange_to_hand", {joint.name for joint in below.joints + above.joints}),
        "fixed",
        arm.description.flange,
        description.mount,
        T_flange_hand if T_flange_hand is not None else pin.SE3.Identity(),
    )
    urdf = Urdf(
        f"{arm.name}+{hand.name}",
        below.links + above.links,
        (*below.joints, bolt, *above.joints),
        f"{below.source} + {above.source}",
    )
    robot = Robot(urdf, T_world_base=T_world_base)
    of_hand = {joint.name for joint in above.joints}
    is_hand = np.array([name in of_hand for name in robot.joint_names])
    return Assembly(robot, arm.description, description, np.flatnonzero(~is_hand), np.flatnonzero(is_hand))


def _clashes(taken: list[str], names: list[str]) -> dict[str, str]:
    used = set(taken) | set(names)
    renamed: dict[str, str] = {}
    for name in names:
        if name in taken:
            renamed[name] = _free_name(f"hand_{name}", used)
            used.add(renamed[name])
    return renamed


def _free_name(name: str, used: set[str]) -> str:
    while name in used:
        name += "_"
    return name
