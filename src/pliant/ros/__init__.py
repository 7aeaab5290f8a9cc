"""Live on ROS 2, without ROS: planning as a pair of topics, and a driver for the controller.   (SPEC 11.6)

Messages travel through CycloneDDS with the names, types and bytes that ROS 2 uses, so ROS nodes see an ordinary node.
"""

from pliant.ros.driver import RosDriver
from pliant.ros.link import RosLink
from pliant.ros.planning_node import PlanningNode

__all__ = ["PlanningNode", "RosDriver", "RosLink"]
