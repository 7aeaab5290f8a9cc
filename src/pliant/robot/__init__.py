"""What moves: arms and hands, their joints, links, pads and tactile arrays."""

from pliant.robot.catalogue import SHIPPED, load_arm, load_assembly, load_hand, load_module, shipped_names
from pliant.robot.compose import Assembly, assemble
from pliant.robot.description import (
    ArmDescription,
    Finger,
    HandDescription,
    JointServo,
    Pad,
    Palm,
    Pose,
    Preshape,
    TactileArray,
    Vector3,
)
from pliant.robot.floating import floating_arm
from pliant.robot.model import Robot, load_robot
from pliant.robot.modules import PALM_FRAME, Arm, Hand, description_problems, read_arm, read_hand, tip_frame
from pliant.robot.surfaces import LinkSurface, PadMesh, link_mesh, link_surfaces, pad_mesh
from pliant.robot.tactile_layout import CellLayout, cell_layout
from pliant.robot.urdf import Inertial, Joint, Link, LinkShape, Mimic, Urdf
from pliant.robot.urdf_reading import parse_urdf, read_urdf

__all__ = [
    "PALM_FRAME",
    "SHIPPED",
    "Arm",
    "ArmDescription",
    "Assembly",
    "CellLayout",
    "Finger",
    "Hand",
    "HandDescription",
    "Inertial",
    "Joint",
    "JointServo",
    "Link",
    "LinkShape",
    "LinkSurface",
    "Mimic",
    "Pad",
    "PadMesh",
    "Palm",
    "Pose",
    "Preshape",
    "Robot",
    "TactileArray",
    "Urdf",
    "Vector3",
    "assemble",
    "cell_layout",
    "description_problems",
    "floating_arm",
    "link_mesh",
    "link_surfaces",
    "load_arm",
    "load_assembly",
    "load_hand",
    "load_module",
    "load_robot",
    "pad_mesh",
    "parse_urdf",
    "read_arm",
    "read_hand",
    "read_urdf",
    "shipped_names",
    "tip_frame",
]
