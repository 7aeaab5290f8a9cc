"""A planned operation as ROS messages, for ROS 1 and ROS 2 alike.

Topics, all stamps counted from the trajectory's beginning:

    /joint_trajectory             trajectory_msgs/JointTrajectory   once; /arm and /hand have their own parts of it
    /joint_states                 sensor_msgs/JointState            followers included
    /tf, /tf_static               tf2_msgs/TFMessage                world, every link, object, contact frames
    /contacts/NAME/wrench         geometry_msgs/WrenchStamped       force on the object, in the contact frame
    /contacts/NAME/wanted         geometry_msgs/WrenchStamped       the smallest sufficient force, likewise
    /markers                      visualization_msgs/MarkerArray    object as deformed, forces, centre of mass, scene
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats, Ints
from pliant.files.export.ros_builder import MessageBuilder, Stamped, contact_frame, topic_name
from pliant.files.export.timeline import instants, to_ns
from pliant.objects import Mesh
from pliant.planner import HeldState, Plan, PlannedGrasp, contact_names

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore

WORLD, OBJECT = "world", "object"
ARROW, SPHERE, TRIANGLES = 0, 2, 11
"""Kinds of visualization_msgs/Marker."""
NEWTON = 0.01
"""Length of a force arrow [m/N]."""
GREY, RUBBER, RED, BLUE = (0.6, 0.6, 0.6, 0.5), (0.9, 0.6, 0.3, 0.9), (0.9, 0.1, 0.1, 1.0), (0.1, 0.3, 0.9, 1.0)

Rgba = tuple[float, float, float, float]


def plan_messages(plan: Plan, grasp: PlannedGrasp, store: Typestore, *, rate: float, start: float) -> list[Stamped]:
    """Every message of a bag, in the order of time."""
    maker = _Maker(plan, grasp, store, to_ns(start))
    messages = [*maker.beginning(), *maker.motion(rate), *maker.held()]
    return sorted(messages, key=lambda stamped: stamped.stamp)


class _Maker(MessageBuilder):
    def __init__(self, plan: Plan, grasp: PlannedGrasp, store: Typestore, start: int) -> None:
        super().__init__(store)
        self.plan, self.grasp, self.start = plan, grasp, start
        self.robot = plan.task.assembly.robot

    # -- what is sent --------------------------------------------------------------------------------------------------

    def beginning(self) -> Iterator[Stamped]:
        """The trajectory, what never moves, and the object as it lies."""
        assembly, stamp = self.plan.task.assembly, self.start
        everything = np.arange(self.robot.dof)
        parts = [("/joint_trajectory", everything)]
        if len(assembly.arm_joints) and len(assembly.hand_joints):
            parts += [("/arm/joint_trajectory", assembly.arm_joints), ("/hand/joint_trajectory", assembly.hand_joints)]
        for topic, joints in parts:
            yield Stamped(topic, "trajectory_msgs/msg/JointTrajectory", stamp, self.trajectory(joints), latched=True)
        fixed = [(WORLD, self.robot.urdf.root, self.robot.T_world_base)]
        fixed += [(j.parent, j.child, j.T_parent_joint) for j in self.robot.urdf.joints if not j.moves]
        yield Stamped("/tf_static", "tf2_msgs/msg/TFMessage", stamp, self.transforms(stamp, fixed), latched=True)
        scene = [self.surface("scene", i, mesh, WORLD, GREY, stamp) for i, mesh in enumerate(self.plan.task.scene)]
        yield self.markers([*scene, self.surface("object", 0, self.plan.task.body.mesh, OBJECT, RUBBER, stamp)], stamp)

    def motion(self, rate: float) -> Iterator[Stamped]:
        """Joint states and transforms."""
        names = list(self.robot.model.names)[1:]
        moving = [joint for joint in self.robot.urdf.joints if joint.moves]
        for instant in instants(self.plan, self.grasp, rate):
            stamp = self.start + to_ns(instant.time)
            state = self.joint_state(stamp, names, instant.positions, instant.velocities)
            yield Stamped("/joint_states", "sensor_msgs/msg/JointState", stamp, state)
            poses = [(joint.parent, joint.child, instant.links[joint.name]) for joint in moving]
            message = self.transforms(stamp, [*poses, (WORLD, OBJECT, instant.T_world_object)])
            yield Stamped("/tf", "tf2_msgs/msg/TFMessage", stamp, message)

    def held(self) -> Iterator[Stamped]:
        """Contacts, forces and the deformed object of every held state."""
        for state in self.grasp.states:
            stamp = self.start + to_ns(state.time)
            names = contact_names([contact.link for contact in state.contacts])
            frames = [
                (OBJECT, contact_frame(name), contact.T_object_contact)
                for name, contact in zip(names, state.contacts, strict=True)
            ]
            yield Stamped("/tf", "tf2_msgs/msg/TFMessage", stamp, self.transforms(stamp, frames))
            for name, contact in zip(names, state.contacts, strict=True):
                topic = f"/contacts/{topic_name(name)}"
                for what, force in (("wrench", contact.force), ("wanted", contact.wanted)):
                    message = self.wrench(stamp, contact_frame(name), force)
                    yield Stamped(f"{topic}/{what}", "geometry_msgs/msg/WrenchStamped", stamp, message)
            yield self.markers(self.held_markers(state, stamp), stamp)

    def held_markers(self, state: HeldState, stamp: int) -> list[Any]:
        mesh = self.plan.task.body.mesh
        deformed = Mesh(mesh.vertices + state.displacement, mesh.faces)
        centre = state.T_world_object.actInv(state.centre_of_mass)
        shown = [self.surface("object", 0, deformed, OBJECT, RUBBER, stamp)]
        shown.append(
            self.marker("centre_of_mass", 0, SPHERE, OBJECT, stamp, BLUE, (0.006,) * 3, T=pin.SE3(np.eye(3), centre))
        )
        for i, contact in enumerate(state.contacts):
            # The arrow ends where the force acts, so that it is not hidden inside the object.
            tip = contact.T_object_contact.translation
            tail = tip - NEWTON * (contact.T_object_contact.rotation @ contact.force)
            shown.append(
                self.marker("forces", i, ARROW, OBJECT, stamp, RED, (0.003, 0.006, 0.0), np.array([tail, tip]))
            )
        return shown

    # -- how it is built -----------------------------------------------------------------------------------------------

    def trajectory(self, joints: Ints) -> Any:
        """Positions only: controllers then interpolate linearly, as the plan means it."""
        path, nothing = self.grasp.trajectory, np.zeros(0)
        points = [
            self.make(
                "trajectory_msgs/msg/JointTrajectoryPoint",
                positions=np.ascontiguousarray(q[joints]),
                velocities=nothing,
                accelerations=nothing,
                effort=nothing,
                time_from_start=self.duration(to_ns(time)),
            )
            for time, q in zip(path.times.tolist(), path.q, strict=True)
        ]
        names = [self.robot.joint_names[i] for i in joints]
        header = self.header(self.start, "")
        return self.make("trajectory_msgs/msg/JointTrajectory", header=header, joint_names=names, points=points)

    def transforms(self, stamp: int, poses: Sequence[tuple[str, str, pin.SE3]]) -> Any:
        return self.make(
            "tf2_msgs/msg/TFMessage",
            transforms=[
                self.make(
                    "geometry_msgs/msg/TransformStamped",
                    header=self.header(stamp, parent),
                    child_frame_id=child,
                    transform=self.make(
                        "geometry_msgs/msg/Transform",
                        translation=self.vector("Vector3", T.translation),
                        rotation=self.quaternion(T.rotation),
                    ),
                )
                for parent, child, T in poses
            ],
        )

    def markers(self, markers: list[Any], stamp: int) -> Stamped:
        message = self.make("visualization_msgs/msg/MarkerArray", markers=markers)
        return Stamped("/markers", "visualization_msgs/msg/MarkerArray", stamp, message)

    def surface(self, group: str, number: int, mesh: Mesh, frame: str, colour: Rgba, stamp: int) -> Any:
        return self.marker(group, number, TRIANGLES, frame, stamp, colour, (1.0,) * 3, mesh.corners.reshape(-1, 3))

    def marker(
        self,
        group: str,
        number: int,
        kind: int,
        frame: str,
        stamp: int,
        colour: Rgba,
        scale: Sequence[float],
        points: Floats | None = None,
        T: pin.SE3 | None = None,
    ) -> Any:
        T = T if T is not None else pin.SE3.Identity()
        r, g, b, a = colour
        return self.make(
            "visualization_msgs/msg/Marker",
            header=self.header(stamp, frame),
            ns=group,
            id=number,
            type=kind,
            action=0,
            pose=self.make(
                "geometry_msgs/msg/Pose",
                position=self.vector("Point", T.translation),
                orientation=self.quaternion(T.rotation),
            ),
            scale=self.vector("Vector3", scale),
            color=self.make("std_msgs/msg/ColorRGBA", r=r, g=g, b=b, a=a),
            lifetime=self.duration(0),
            frame_locked=True,
            points=[self.vector("Point", p) for p in points.tolist()] if points is not None else [],
            colors=[],
            text="",
            mesh_resource="",
            mesh_use_embedded_materials=False,
        )
