"""How it moves: velocity Jacobians, coordinate solvers, tracking servo, point arrays, approach, inverse kinematics."""

from pliant.servo.clearance import Clearance, Obstacle, PathClearance
from pliant.servo.collision_shapes import box, convex_hull, cylinder, sphere, triangles
from pliant.servo.drive import Motion, MotionStatus, drive_to
from pliant.servo.hand_arm import Approach, ApproachWay, GraspPoint, approach, pregrasp_point
from pliant.servo.inverse import IkAnswer, IkStatus, InverseKinematics, solve_pose
from pliant.servo.jacobian import StackedJacobian
from pliant.servo.joint_path import plan_joint_path, time_path
from pliant.servo.limits import JointLimits
from pliant.servo.path import (
    Carried,
    Circle,
    Eased,
    FigureEight,
    Hold,
    Path,
    PathFunction,
    Waypoints,
    check_continuity,
)
from pliant.servo.path_file import PathFile, TrackingJob, read_path_file, write_points
from pliant.servo.point_array import PathStatus, PointArray, Shortfall, Stabiliser, record_points
from pliant.servo.poses import pose_from_numbers, pose_from_quaternion, pose_numbers
from pliant.servo.solvers import (
    SOLVERS,
    CoordinateSolver,
    DescentSolver,
    ExclusionSolver,
    PinvSolver,
    QpSolver,
    VelocityAnswer,
    VelocityProblem,
    make_solver,
)
from pliant.servo.task import FrameTask
from pliant.servo.tracking import Gains, Servo, SplitServo

__all__ = [
    "SOLVERS",
    "Approach",
    "ApproachWay",
    "Carried",
    "Circle",
    "Clearance",
    "CoordinateSolver",
    "DescentSolver",
    "Eased",
    "ExclusionSolver",
    "FigureEight",
    "FrameTask",
    "Gains",
    "GraspPoint",
    "Hold",
    "IkAnswer",
    "IkStatus",
    "InverseKinematics",
    "JointLimits",
    "Motion",
    "MotionStatus",
    "Obstacle",
    "Path",
    "PathClearance",
    "PathFile",
    "PathFunction",
    "PathStatus",
    "PinvSolver",
    "PointArray",
    "QpSolver",
    "Servo",
    "Shortfall",
    "SplitServo",
    "Stabiliser",
    "StackedJacobian",
    "TrackingJob",
    "VelocityAnswer",
    "VelocityProblem",
    "Waypoints",
    "approach",
    "box",
    "check_continuity",
    "convex_hull",
    "cylinder",
    "drive_to",
    "make_solver",
    "plan_joint_path",
    "pose_from_numbers",
    "pose_from_quaternion",
    "pose_numbers",
    "pregrasp_point",
    "read_path_file",
    "record_points",
    "solve_pose",
    "sphere",
    "time_path",
    "triangles",
    "write_points",
]
