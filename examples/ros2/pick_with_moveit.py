"""A pick with MoveIt Task Constructor from grasps that pliant has planned: the first grasp that the arm reaches.

    pliant plan ring --out ring.plan
    pliant export ring.plan --format srdf --out ring.srdf
    pliant export ring.plan --format moveit --out ring.moveit.json
    python3 examples/ros2/pick_with_moveit.py ring.moveit.json

Needs MoveIt 2 with its Task Constructor for Python, and a move_group with the robot of ring.urdf and ring.srdf.
"""

import json
import sys

import rclcpp
from geometry_msgs.msg import PoseStamped, Vector3Stamped
from moveit.task_constructor import core, stages
from moveit_msgs.msg import CollisionObject, Grasp, RobotState
from rosidl_runtime_py import set_message_fields


def filled(kind, fields):
    """A message of a kind with the exported fields."""
    message = kind()
    set_message_fields(message, fields)
    return message


def pick(plan, entry):
    """The stages of one grasp: scene, open hand, approach, squeeze, attach, lift."""
    grasp = filled(Grasp, entry["grasp"])
    task = core.Task()
    task.name = grasp.id
    task.add(stages.CurrentState("current state"))

    scene = stages.ModifyPlanningScene("object and obstacles")
    for fields in [plan["object"], *plan["obstacles"]]:
        scene.addObject(filled(CollisionObject, fields))
    task.add(scene)

    joints, line = core.JointInterpolationPlanner(), core.CartesianPath()
    hand = stages.MoveTo("open hand", joints)
    hand.group = plan["hand_group"]
    hand.setGoal(filled(RobotState, entry["pre_grasp"]))
    task.add(hand)
    task.add(stages.Connect("to the approach", [(plan["arm_group"], core.PipelinePlanner())]))

    approach = stages.MoveRelative("approach", line)
    approach.group = plan["arm_group"]
    approach.ik_frame = PoseStamped()
    approach.ik_frame.header.frame_id = plan["ik_frame"]
    approach.setDirection(scaled(grasp.pre_grasp_approach))
    task.add(approach)

    pose = stages.GeneratePose("grasp pose")
    pose.pose = grasp.grasp_pose
    pose.setMonitoredStage(task["open hand"])
    reach = stages.ComputeIK("reach", pose)
    reach.group, reach.eef = plan["arm_group"], plan["end_effector"]
    reach.ik_frame = approach.ik_frame
    reach.properties.configureInitFrom(core.Stage.PropertyInitializerSource.INTERFACE, ["target_pose"])
    task.add(reach)

    add_allowed(task, entry, "touch")
    squeeze = stages.MoveTo("squeeze", joints)
    squeeze.group = plan["hand_group"]
    squeeze.setGoal(filled(RobotState, entry["squeeze"]))
    task.add(squeeze)
    attach = stages.ModifyPlanningScene("attach")
    attach.attachObject(plan["object"]["id"], plan["ik_frame"])
    task.add(attach)

    add_allowed(task, entry, "lift")
    lift = stages.MoveRelative("lift", line)
    lift.group = plan["arm_group"]
    lift.ik_frame = approach.ik_frame
    lift.setDirection(scaled(grasp.post_grasp_retreat))
    task.add(lift)
    return task


def add_allowed(task, entry, begin):
    """Collisions that the plan means to happen from this phase on."""
    for pair in entry["allowed_collisions"]:
        if pair["from"] == begin:
            stage = stages.ModifyPlanningScene(f"allow {begin}")
            stage.allowCollisions(pair["first"], pair["second"], True)
            task.add(stage)


def scaled(translation):
    """Direction times distance, as MoveRelative takes it."""
    motion = Vector3Stamped()
    motion.header = translation.direction.header
    for axis in "xyz":
        setattr(motion.vector, axis, getattr(translation.direction.vector, axis) * translation.desired_distance)
    return motion


def main():
    """Try the grasps, best first; execute the first that MoveIt can plan."""
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123
        plan = json.load(file)
    rclcpp.init()
    node = rclcpp.Node("pliant_pick")
    for entry in plan["grasps"]:
        task = pick(plan, entry)
        task.loadRobotModel(node)
        if task.plan():
            task.execute(task.solutions[0])
            return
        print(f"{entry['grasp']['id']}: not reached")
    sys.exit(1)


if __name__ == "__main__":
    main()
