"""Live on ROS 1 and ROS 2: planning as a pair of topics, and a driver for the controller.   (theory 11.6)

On ROS 2 messages travel through CycloneDDS with the names, types and bytes that ROS 2 uses: no ROS is needed. On ROS 1
rospy carries them.
"""

from pliant.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
