"""The ROBOT argument of commands: a URDF file, a shipped name, or ``arm+hand``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pliant.arrays import Floats

if TYPE_CHECKING:
    from pliant.robot import Robot


@dataclass(frozen=True)
class ChosenRobot:
    """A robot, where it starts, and its joint accelerations as far as they are known."""

    robot: Robot
    q_home: Floats
    accelerations: Floats | None


def choose_robot(text: str, package_dirs: list[Path] | None = None) -> ChosenRobot:
    """The robot that ``text`` names.

    A file that ends in .urdf is read as it is; the parts of ``arm+hand`` are shipped names or description files.
    """
    from pliant.errors import OptionError, unknown_name
    from pliant.robot import load_assembly, load_robot, shipped_names

    folders = tuple(package_dirs or ())
    if text.endswith((".urdf", ".xml")):
        robot = load_robot(text, package_dirs=folders)
        return ChosenRobot(robot, robot.mid_range, None)
    arms, hands = shipped_names("arm"), shipped_names("hand")
    arm, plus, hand = (text, "", "") if Path(text).is_file() else text.partition("+")  # files may have a plus too
    if not plus and not Path(text).suffix:
        if text not in (*arms, *hands):
            known = [*arms, *hands, *(f"{a}+{h}" for a in arms for h in hands)]
            raise OptionError("robot", unknown_name("robot", text, known))
        arm, hand = (text, "") if text in arms else ("", text)
    elif not plus:
        from pliant.documents import read_mapping

        arm, hand = ("", text) if read_mapping(text).get("kind") == "hand" else (text, "")
    assembly = load_assembly(arm or None, hand or None, package_dirs=folders)
    return ChosenRobot(assembly.robot, assembly.q_home, assembly.acceleration_limits)
