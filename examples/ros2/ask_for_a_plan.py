"""A ROS 2 node that asks for a plan, shows how far it is, and cancels when it takes too long.

ros2 launch examples/ros2/pliant.launch.py
python3 examples/ros2/ask_for_a_plan.py cup 60
"""

import json
import sys
import time

import rclpy
from rclpy.node import Node
from std_msgs.msg import String

FINAL = ("found", "none", "refused", "cancelled")


class Asker(Node):
    """Sends one request and follows it to its end."""

    def __init__(self, shipped: str, patience: float) -> None:
        super().__init__("asker")
        self.request = {"id": f"{shipped}-{time.time_ns()}", "shipped": shipped}
        self.deadline = time.monotonic() + patience
        self.answer = None
        self.requests = self.create_publisher(String, "/pliant/plan_request", 10)
        self.cancels = self.create_publisher(String, "/pliant/plan_cancel", 10)
        self.create_subscription(String, "/pliant/plan_status", self.on_status, 10)
        self.create_subscription(String, "/pliant/plan_feedback", self.on_feedback, 10)
        self.timer = self.create_timer(0.5, self.on_timer)
        self.accepted = False

    def on_timer(self) -> None:
        """Ask until the node has been found; cancel when it is late, but keep the best grasp so far."""
        if not self.accepted:
            self.requests.publish(String(data=json.dumps(self.request)))
        elif time.monotonic() > self.deadline:
            self.cancels.publish(String(data=json.dumps({"id": self.request["id"], "keep": True})))

    def on_status(self, message: String) -> None:
        """The node's word on a request: first "planning", then exactly one of the final ones."""
        status = json.loads(message.data)
        if status["id"] == self.request["id"]:
            self.accepted = True
            print(status["state"], status.get("advice", ""), flush=True)
            if status["state"] in FINAL:
                self.answer = status

    def on_feedback(self, message: String) -> None:
        """How far the search is, twice a second."""
        feedback = json.loads(message.data)
        if feedback["id"] == self.request["id"]:
            print(f"  {feedback['stage']}: {feedback['done']} of {feedback['total']}; {feedback['forces_n']} N")


def main() -> None:
    """Ask, wait for the answer, print it."""
    rclpy.init()
    asker = Asker(sys.argv[1] if len(sys.argv) > 1 else "cup", float(sys.argv[2]) if len(sys.argv) > 2 else 300.0)
    while rclpy.ok() and asker.answer is None:
        rclpy.spin_once(asker)
    print(json.dumps(asker.answer, indent=2))
    rclpy.shutdown()


if __name__ == "__main__":
    main()
