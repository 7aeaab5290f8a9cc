"""`pliant ros`: planning for ROS nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pliant.planner import Plan
    from pliant.ros import RosLink


def ros(
    version: Annotated[int, typer.Option("--ros", min=1, max=2, help="Version of ROS: 1 or 2.")] = 2,
    domain: Annotated[int | None, typer.Option(help="ROS 2: ROS_DOMAIN_ID of the robot; 0 by default.")] = None,
    master: Annotated[str | None, typer.Option(help="ROS 1: address of the master, if not ROS_MASTER_URI.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Mesh and robot files that tasks name lie in here.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder in which every plan is kept as ID.plan.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; all cores by default.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Stop after the first plan.")] = False,
) -> None:
    """Answer planning requests on ROS topics until stopped.

    Requests come on /pliant/plan_request (std_msgs/String, JSON) and end on /pliant/plan_cancel, answers go to
    /pliant/plan_status, how far it is to /pliant/plan_feedback, and the best operation to /pliant/joint_trajectory
    (trajectory_msgs/JointTrajectory). ROS 2 needs no ROS on this machine; ROS 1
    needs rospy (Debian: python3-rospy python3-sensor-msgs python3-trajectory-msgs) and a running roscore.

    Examples:

        pliant ros --domain 3 --out plans

        ros2 topic pub --once /pliant/plan_request std_msgs/msg/String "data: '{\\"id\\": 1, \\"shipped\\": \\"cup\\"}'"

        ros2 topic pub --once /pliant/plan_cancel std_msgs/msg/String "data: '{\\"id\\": 1}'"

        pliant ros --ros 1 --master http://robot:11311
    """
    import re
    import sys
    import time
    from functools import partial

    from pliant.errors import OptionError, Problem

    if version == 1 and domain is not None:
        raise OptionError("ros", Problem("--domain", f"{domain}", "ROS 1 has no domains; it has --master"))
    if version == 2 and master is not None:
        raise OptionError("ros", Problem("--master", master, "ROS 2 has no master; it has --domain"))
    if folder is not None and not folder.is_dir():
        raise OptionError("ros", Problem("--folder", f"there is no folder {folder}", "one that exists"))

    from pliant.documents import make_folder
    from pliant.files import save_plan
    from pliant.planner import plan as search
    from pliant.ros import PlanningNode

    if out is not None:
        make_folder(out)
    answered = []

    def keep(name: str, found: Plan) -> None:
        answered.append(name)
        if out is not None:
            save_plan(found, out / f"{re.sub(r'[^A-Za-z0-9_-]', '_', name) or 'plan'}.plan")

    link, where = _network(version, domain, master)
    node = PlanningNode(link, partial(search, jobs=jobs), folder=folder, keep=keep)
    print(f"listening on {where}; stop with Ctrl-C", file=sys.stderr, flush=True)
    try:
        while not (once and answered and not node.busy):
            node.step()
            time.sleep(0.02)
        time.sleep(0.5)  # what was sent last shall arrive before the link goes
    finally:
        node.close()
        link.close()


def _network(version: int, domain: int | None, master: str | None) -> tuple[RosLink, str]:
    """The link, and where it is in words."""
    import os

    from pliant.ros import Ros1Link, Ros2Link

    if version == 1:
        return Ros1Link(master), f"ROS 1 at {os.environ['ROS_MASTER_URI']}"
    return Ros2Link(domain or 0), f"ROS 2, domain {domain or 0}"
