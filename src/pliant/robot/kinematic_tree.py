"""From a `Urdf` to a Pinocchio model: one number per moving joint, placements exact, order as in the file.

Pinocchio's own reader is not used: it sorts joints by name, stores a continuous joint as a cosine and a sine, and
refuses a follower that sorts before its master (theory 3). Everything after construction is Pinocchio's.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from pliant.robot.urdf import Inertial, Joint, Urdf

_ALIGNED = {
    ("revolute", 0): pin.JointModelRX,
    ("revolute", 1): pin.JointModelRY,
    ("revolute", 2): pin.JointModelRZ,
    ("prismatic", 0): pin.JointModelPX,
    ("prismatic", 1): pin.JointModelPY,
    ("prismatic", 2): pin.JointModelPZ,
}


def build_model(urdf: Urdf, T_world_base: pin.SE3) -> pin.Model:
    """Depth first from the root link; followers are moving joints of their own here and are folded by `Robot`."""
    model = pin.Model()
    model.name = urdf.name
    children: dict[str, list[Joint]] = {}
    for joint in urdf.joints:
        children.setdefault(joint.parent, []).append(joint)
    links = {link.name: link for link in urdf.links}

    def add_link(name: str, joint_id: int, T_joint_link: pin.SE3, parent_frame: int) -> None:
        frame_id = model.addFrame(pin.Frame(name, joint_id, parent_frame, T_joint_link, pin.BODY), False)
        inertial = links[name].inertial
        if inertial is not None:
            model.appendBodyToJoint(joint_id, _inertia(inertial), T_joint_link * inertial.T_link_centre)
        below = reversed(children.get(name, ()))
        waiting.extend((joint, joint_id, T_joint_link * joint.T_parent_joint, frame_id) for joint in below)

    # A stack instead of recursion: a chain may be longer than Python allows. Joints still appear depth first, as
    # Pinocchio's tables of subtrees need them.
    waiting: list[tuple[Joint, int, pin.SE3, int]] = []
    add_link(urdf.root, 0, T_world_base, 0)
    while waiting:
        joint, joint_id, T, frame_id = waiting.pop()
        if joint.moves:
            limits = (np.array([value]) for value in (joint.effort, joint.velocity, joint.lower, joint.upper))
            child_id = model.addJoint(joint_id, _joint_model(joint), T, joint.name, *limits)
            add_link(joint.child, child_id, pin.SE3.Identity(), model.addJointFrame(child_id, frame_id))
        else:
            fixed = pin.Frame(joint.name, joint_id, frame_id, T, pin.FIXED_JOINT)
            add_link(joint.child, joint_id, T, model.addFrame(fixed, False))
    return model


def _joint_model(joint: Joint) -> object:
    kind = "prismatic" if joint.kind == "prismatic" else "revolute"
    axis = np.array(joint.axis)
    along = int(np.argmax(axis))
    if axis[along] == 1.0:
        return _ALIGNED[kind, along]()
    return (pin.JointModelPrismaticUnaligned if kind == "prismatic" else pin.JointModelRevoluteUnaligned)(axis)


def _inertia(inertial: Inertial) -> pin.Inertia:
    ixx, ixy, ixz, iyy, iyz, izz = inertial.inertia
    tensor = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    return pin.Inertia(inertial.mass, np.zeros(3), tensor)
