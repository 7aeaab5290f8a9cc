"""Starts pliant's planning node beside your robot's nodes, and again if it ends by itself.

ros2 launch examples/ros2/pliant.launch.py domain:=3 out:=plans
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess
from launch.substitutions import LaunchConfiguration


def generate_launch_description() -> LaunchDescription:
    """Called by ``ros2 launch``. The node is a process of pliant's own Python: it needs no rclpy."""
    return LaunchDescription(
        [
            DeclareLaunchArgument("pliant", default_value="pliant", description="The command, or its full path."),
            DeclareLaunchArgument("domain", default_value="0", description="ROS_DOMAIN_ID of the robot."),
            DeclareLaunchArgument("folder", default_value=".", description="Meshes and robots that tasks may name."),
            DeclareLaunchArgument("out", default_value="plans", description="Where every plan is kept as ID.plan."),
            ExecuteProcess(
                cmd=[
                    LaunchConfiguration("pliant"),
                    "ros",
                    "--domain",
                    LaunchConfiguration("domain"),
                    "--folder",
                    LaunchConfiguration("folder"),
                    "--out",
                    LaunchConfiguration("out"),
                ],
                name="pliant",
                output="screen",
                respawn=True,
                respawn_delay=2.0,
            ),
        ]
    )
