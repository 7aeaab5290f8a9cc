"""A planned operation as ROS messages, for ROS 1 and ROS 2 alike.

Topics, all stamps counted from the trajectory's beginning:

    /joint_trajectory             trajectory_msgs/JointTrajectory   commands, once; /arm and /hand have their own parts
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
from pliant.files.export.ros_builder import MessageBuilder, Stamped, contact_frame, to_ns, topic_name
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
    made = _PlanMessages(plan, grasp, store, to_ns(start))
    messages = [*made.beginning(), *made.motion(rate), *made.held()]
    return sorted(messages, key=lambda stamped: stamped.stamp)


class _PlanMessages(MessageBuilder):
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
            yield self.trajectory(topic, joints)
        fixed = [(WORLD, self.robot.urdf.root, self.robot.T_world_base)]
        fixed += [(j.parent, j.child, j.T_parent_joint) for j in self.robot.urdf.joints if not j.moves]
        yield self.transforms("/tf_static", stamp, fixed, latched=True)
        scene = [self.surface("scene", i, mesh, WORLD, GREY, stamp) for i, mesh in enumerate(self.plan.task.scene)]
        yield self.markers([*scene, self.surface("object", 0, self.plan.task.body.mesh, OBJECT, RUBBER, stamp)], stamp)

    def motion(self, rate: float) -> Iterator[Stamped]:
        """Joint states and transforms at ``rate`` per second, at every point of the trajectory and every held state."""
        robot, path = self.robot, self.grasp.trajectory
        names = list(robot.model.names)[1:]
        moving = [joint for joint in robot.urdf.joints if joint.moves]
        slopes = np.vstack([np.diff(path.q, axis=0) / np.diff(path.times)[:, None], np.zeros((1, robot.dof))])
        grid = np.arange(0.0, path.duration, 1.0 / rate)
        times = np.unique(np.concatenate([grid, path.times, [state.time for state in self.grasp.states]]))
        _, distinct = np.unique(np.round(1e9 * times), return_index=True)  # closer than a nanosecond: one instant
        for time in times[distinct].tolist():
            stamp = self.start + to_ns(time)
            after = int(np.clip(np.searchsorted(path.times, time, side="right") - 1, 0, len(path.times) - 1))
            q = path.at(time)
            yield self.joint_state("/joint_states", stamp, names, robot.full(q), robot.fold @ slopes[after])
            pin.framesForwardKinematics(robot.model, robot.data, robot.full(q))
            links = {name: robot.data.oMf[robot.frame_id(name)] for name in robot.link_names}
            poses = [(j.parent, j.child, links[j.parent].actInv(links[j.child])) for j in moving]
            yield self.transforms("/tf", stamp, [*poses, (WORLD, OBJECT, path.object_at(time))])

    def held(self) -> Iterator[Stamped]:
        """Contacts, forces and the deformed object of every held state."""
        for state in self.grasp.states:
            stamp = self.start + to_ns(state.time)
            names = [topic_name(name) for name in contact_names([contact.link for contact in state.contacts])]
            frames = [
                (OBJECT, contact_frame(name), contact.T_object_contact)
                for name, contact in zip(names, state.contacts, strict=True)
            ]
            yield self.transforms("/tf", stamp, frames)
            for name, contact in zip(names, state.contacts, strict=True):
                topic = f"/contacts/{name}"
                for what, force in (("wrench", contact.force), ("wanted", contact.wanted)):
                    yield self.wrench(f"{topic}/{what}", stamp, contact_frame(name), force)
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

    def trajectory(self, topic: str, joints: Ints) -> Stamped:
        """The servos' commands, positions only: controllers then interpolate linearly, as the plan means it."""
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
            for time, q in zip(path.times.tolist(), path.commands, strict=True)
        ]
        names = [self.robot.joint_names[i] for i in joints]
        header = self.header(self.start, "")
        kind = "trajectory_msgs/msg/JointTrajectory"
        return self.stamped(topic, kind, self.start, latched=True, header=header, joint_names=names, points=points)

    def transforms(
        self, topic: str, stamp: int, poses: Sequence[tuple[str, str, pin.SE3]], *, latched: bool = False
    ) -> Stamped:
        return self.stamped(
            topic,
            "tf2_msgs/msg/TFMessage",
            stamp,
            latched=latched,
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
        return self.stamped("/markers", "visualization_msgs/msg/MarkerArray", stamp, markers=markers)

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
