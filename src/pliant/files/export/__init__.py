"""Plans and runs for other tools: ROS bags and MCAP, tables, JSON, a grasp array.   (theory 11.6)"""
