"""Paths are free between the places one looks at, too."""

from __future__ import annotations

import coal
import numpy as np
import pinocchio as pin

from pliant.collision import Clearance, Obstacle
from pliant.collision.sweep import longest_levers, sweeps_clear
from pliant.planner.approach import free_along
from pliant.robot import Robot, link_mesh, load_assembly, parse_urdf


def test_no_point_of_a_robot_moves_further_than_its_longest_levers_allow() -> None:
    robot = load_assembly("kawasaki_fs020n", "schunk_sdh2").robot
    levers = longest_levers(robot)
    rng = np.random.default_rng(0)
    links = [(link.name, mesh) for link in robot.urdf.links if (mesh := link_mesh(link, "collision")) is not None]
    names = [name for name, _ in links]
    most = 0.0
    for _ in range(40):
        q = robot.random_q(rng)
        step = rng.normal(0.0, 0.01, robot.dof)
        before, after = robot.poses(names, q), robot.poses(names, q + step)
        for (_, mesh), T, S in zip(links, before, after, strict=True):
            points = np.asarray(mesh.vertices)
            moved = points @ (S.rotation - T.rotation).T + (S.translation - T.translation)
            most = max(most, float(np.linalg.norm(moved, axis=1).max()) / float(levers @ np.abs(step)))
    assert 0.3 < most <= 1.0


def test_a_pole_between_two_looks_is_found() -> None:
    """The arm swings over a pole thinner than the way between two checks."""
    robot = load_assembly("kawasaki_fs020n", "schunk_sdh2").robot
    q = load_assembly("kawasaki_fs020n", "schunk_sdh2").q_home.copy()
    palm = robot.pose("palm_frame", q).translation
    swing = np.zeros(robot.dof)
    swing[0] = 0.2
    pole = Obstacle("pole", coal.Cylinder(0.002, 0.3), pin.SE3(np.eye(3), palm))
    links = [link.name for link in robot.urdf.links if link.collisions and robot.joints_moving(link.name).any()]
    world = Clearance(robot, (pole,), links=links, distance=0.0, influence=0.05)
    path = np.array([q - swing, q + swing])
    assert not sweeps_clear(path, world)
    beside = np.array([q + swing, q + 2.0 * swing])
    assert sweeps_clear(beside, world)
    assert free_along(beside, world)


def test_a_cart_far_out_on_a_turntable_does_not_sweep_through_a_pole() -> None:
    """An unlimited slide 3 m out: the turntable's lever is 3 m, which the cart's own size says nothing about."""
    text = (
        '<robot name="r"><link name="base"/><link name="table"/><link name="cart"><collision><geometry>'
        '<sphere radius="0.05"/></geometry></collision></link><joint name="turn" type="continuous">'
        '<parent link="base"/><child link="table"/><axis xyz="0 0 1"/></joint><joint name="drive" type="planar">'
        '<parent link="table"/><child link="cart"/><axis xyz="0 0 1"/></joint></robot>'
    )
    robot = Robot(parse_urdf(text))
    pole = Obstacle("pole", coal.Cylinder(0.002, 0.3), pin.SE3(np.eye(3), np.array([3.0, 0.0, 0.0])))
    world = Clearance(robot, (pole,), links=["cart"], distance=0.0, influence=0.05)
    ends = np.array([[-0.1, 3.0, 0.0, 0.0], [0.1, 3.0, 0.0, 0.0]])
    assert not sweeps_clear(ends, world)
    assert sweeps_clear(ends + 0.3 * np.eye(4)[0], world)
