"""What moves: arms and hands, their joints, links and surfaces."""

from pliant.robot.model import Robot, load_robot
from pliant.robot.urdf import Inertial, Joint, Link, LinkShape, Mimic, Urdf
from pliant.robot.urdf_reading import parse_urdf, read_urdf

__all__ = [
    "Inertial",
    "Joint",
    "Link",
    "LinkShape",
    "Mimic",
    "Robot",
    "Urdf",
    "load_robot",
    "parse_urdf",
    "read_urdf",
]
