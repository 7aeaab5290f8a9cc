"""The other side of the ROS 1 tests: plain rospy, nothing of pliant, run by the Python that rospy was installed for.

python3 ros1_peer.py ask      reads requests from the standard input, one per line; prints answers, then the trajectory
python3 ros1_peer.py robot    plays an arm, a gripper and two tactile arrays until the standard input ends
"""

import json
import sys
import threading

import rospy
from sensor_msgs.msg import Image, JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

RATE = 100.0


def say(**facts):
    print(json.dumps(facts), flush=True)


def ask():
    """Publish each request when the one before has its last answer; the trajectory is fetched after the fact."""
    changed = threading.Condition()
    states = []

    def heard(message):
        with changed:
            states.append(json.loads(message.data))
            changed.notify_all()

    publisher = rospy.Publisher("/pliant/plan_request", String, queue_size=10)
    subscriber = rospy.Subscriber("/pliant/plan_status", String, heard)
    while not (publisher.get_num_connections() and subscriber.get_num_connections()):
        rospy.sleep(0.02)

    def answered():
        return sum(state["state"] not in ("planning", "busy") for state in states)

    for k, line in enumerate(sys.stdin):
        with changed:
            publisher.publish(line.strip())
            changed.wait_for(lambda number=k: answered() > number, timeout=200)
    for state in states:
        say(status=state)
    if states[-1]["state"] == "found":
        path = rospy.wait_for_message("/pliant/joint_trajectory", JointTrajectory, timeout=20)
        say(
            joint_names=path.joint_names,
            positions=[point.positions for point in path.points],
            times_ns=[point.time_from_start.to_nsec() for point in path.points],
        )


def robot():
    """Follows every command at once; states of arm and gripper come from two publishers, as they do in a real cell."""
    opening = [0.04]

    def follow(message):
        point = message.points[0]
        opening[0] = point.positions[message.joint_names.index("opening")]
        say(command=point.positions, names=message.joint_names, after_ns=point.time_from_start.to_nsec())

    rospy.Subscriber("/joint_command", JointTrajectory, follow)
    arm = rospy.Publisher("/joint_states", JointState, queue_size=10)
    arrays = {name: rospy.Publisher(f"/tactile/{name}", Image, queue_size=10) for name in ("left_pad", "right_pad")}
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    while not over.wait(1.0 / RATE):
        state = JointState(name=[f"joint{i}" for i in range(6, 0, -1)], position=[0.1 * i for i in range(6, 0, -1)])
        hand = JointState(name=["opening", "unknown"], position=[opening[0], 9.0], effort=[1.5, 0.0])
        for message in (state, hand):
            message.header.stamp = rospy.Time.now()
            arm.publish(message)
        for name, order, big in (("left_pad", "big", 1), ("right_pad", "little", 0)):
            data = b"".join((20 * k).to_bytes(2, order) for k in range(50))
            image = Image(height=10, width=5, encoding="16UC1", is_bigendian=big, step=10, data=data)
            image.header.stamp = rospy.Time.now()
            arrays[name].publish(image)


if __name__ == "__main__":
    rospy.init_node("peer", anonymous=True, disable_signals=True, disable_rosout=True)
    {"ask": ask, "robot": robot}[sys.argv[1]]()
    rospy.signal_shutdown("finished")
