from pliant.ros.driver import RosDriver as RosDriver
from pliant.ros.driver import ros1_driver as ros1_driver
from pliant.ros.driver import ros2_driver as ros2_driver
from pliant.ros.link import RosLink as RosLink
from pliant.ros.planning_node import PlanningNode as PlanningNode
from pliant.ros.ros1_link import Ros1Link as Ros1Link
from pliant.ros.ros1_link import find_rospy as find_rospy
from pliant.ros.ros2_link import Ros2Link as Ros2Link
