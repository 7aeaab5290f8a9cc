"""Live on ROS 1 and ROS 2: planning as a pair of topics, and a driver for the controller.   (SPEC 11.6)

On ROS 2 messages travel through CycloneDDS with the names, types and bytes that ROS 2 uses: no ROS is needed. On ROS 1
rospy carries them.
"""

from pliant.ros.driver import RosDriver, ros1_driver, ros2_driver
from pliant.ros.link import RosLink
from pliant.ros.planning_node import PlanningNode
from pliant.ros.ros1_link import Ros1Link
from pliant.ros.ros2_link import Ros2Link

__all__ = ["PlanningNode", "Ros1Link", "Ros2Link", "RosDriver", "RosLink", "ros1_driver", "ros2_driver"]
