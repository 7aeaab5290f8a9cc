"""`pliant ros`: planning for ROS 2 nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pliant.planner import Plan, Task

__all__ = ["ros"]


def ros(
    domain: Annotated[int, typer.Option(help="ROS_DOMAIN_ID of the robot.")] = 0,
    folder: Annotated[Path | None, typer.Option(help="Mesh and robot files that tasks name lie in here.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder in which every plan is kept as ID.plan.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; all cores by default.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Stop after the first plan.")] = False,
) -> None:
    """Answer planning requests on ROS 2 topics until stopped. No ROS is needed on this machine.

    Requests come on /pliant/plan_request (std_msgs/String, JSON), answers go to /pliant/plan_status, and the best
    operation to /pliant/joint_trajectory (trajectory_msgs/JointTrajectory).

    Examples:

        pliant ros --domain 3 --out plans

        ros2 topic pub --once /pliant/plan_request std_msgs/msg/String "data: '{\\"id\\": 1, \\"shipped\\": \\"cup\\"}'"
    """
    import re
    import sys
    import time

    from pliant.documents import make_folder
    from pliant.files import save_plan
    from pliant.planner import plan as search
    from pliant.ros import PlanningNode, RosLink

    if out is not None:
        make_folder(out)
    answered = []

    def work(task: Task) -> Plan:
        return search(task, jobs=jobs)

    def keep(name: str, found: Plan) -> None:
        if out is not None:
            save_plan(found, out / f"{re.sub(r'[^A-Za-z0-9_-]', '_', name) or 'plan'}.plan")
        answered.append(name)

    link = RosLink(domain)
    node = PlanningNode(link, work, folder=folder, keep=keep)
    print(f"listening on ROS domain {domain}; stop with Ctrl-C", file=sys.stderr, flush=True)
    try:
        while not (once and answered and not node.busy):
            node.step()
            time.sleep(0.02)
        time.sleep(0.5)  # what was sent last shall arrive before the link goes
    finally:
        node.close()
        link.close()
