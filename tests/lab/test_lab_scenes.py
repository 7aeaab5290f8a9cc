"""Any robot and any object become a scene that agrees with our own kinematics and stays quiet."""

from __future__ import annotations

import ctypes.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from made_arms import rover
from pliant.errors import OptionError
from pliant.lab import LabOptions, Simulation, build_scene, slosh
from pliant.objects import Body, Liquid, Material, make_shape
from pliant.robot import Assembly, load_assembly

BASE = pin.SE3(pin.utils.rotate("z", 0.3), np.array([0.1, -0.2, 0.5]))
ROBOTS = [
    (None, "schunk_sdh2"),
    (None, "allegro_like"),
    (None, "parallel_gripper"),
    ("kawasaki_fs020n", "schunk_sdh2"),
    ("kawasaki_fs020n", None),
]


@pytest.mark.parametrize(("arm", "hand"), ROBOTS)
def test_links_stand_where_pinocchio_says_and_servos_hold_them(arm: str | None, hand: str | None) -> None:
    agrees(load_assembly(arm, hand, T_world_base=BASE))


def test_so_do_those_of_an_arm_with_planar_and_spherical_joints(tmp_path: Path) -> None:
    assembly = load_assembly(rover(tmp_path), "parallel_gripper", T_world_base=BASE)
    assert assembly.robot.joint_names[:3] == ("drive.x", "drive.y", "drive.theta")
    agrees(assembly)


def agrees(assembly: Assembly) -> None:
    """Links of the scene where Pinocchio puts them, joints still there after a while."""
    robot = assembly.robot
    rng = np.random.default_rng(0)
    q = 0.5 * (robot.random_q(rng) + robot.mid_range)
    simulation = Simulation(build_scene(assembly, None, q_start=q))
    for link in robot.link_names:
        T = robot.pose(link, q)
        body = simulation.data.body(f"link:{link}")
        np.testing.assert_allclose(body.xpos, T.translation, atol=1e-7)
        np.testing.assert_allclose(body.xmat.reshape(3, 3), T.rotation, atol=1e-6)
    simulation.step(50)
    assert simulation.fault == ""
    now = np.array([simulation.data.joint(name).qpos[0] for name in robot.joint_names])
    np.testing.assert_allclose(now, q, atol=1e-3)


def test_the_simulated_robot_weighs_what_the_description_says() -> None:
    assembly = load_assembly("kawasaki_fs020n", "schunk_sdh2")
    scene = build_scene(assembly, None)
    # Massless frames get a crumb of 0.1 g each.
    assert float(scene.model.body_mass.sum()) == pytest.approx(assembly.robot.mass, abs=0.005)


def test_followers_follow() -> None:
    assembly = load_assembly(None, "schunk_sdh2")
    robot = assembly.robot
    simulation = Simulation(build_scene(assembly, None))
    simulation.data.ctrl[simulation.model.actuator("base_rotation").id] = 1.0
    simulation.step(300)
    master = simulation.data.joint("base_rotation").qpos[0]
    assert master == pytest.approx(1.0, abs=0.02)
    assert simulation.data.joint("finger_2_base_rotation").qpos[0] == pytest.approx(master, abs=0.01)
    assert robot.dof == 7


def test_obstacles_in_pieces_stay_pieces_and_hollow_ones_are_said() -> None:
    box = make_shape("box", size=(0.1, 0.1, 0.02))
    ring = make_shape("torus", major=0.05, minor=0.01)
    scene = build_scene(None, None, obstacles=[box, ring])
    assert scene.model.ngeom == 2
    assert len(scene.notes) == 1
    assert "convex hull" in scene.notes[0]


@pytest.mark.slow
def test_a_scene_with_arm_hand_object_and_table_stays_as_it_was_placed() -> None:
    assembly = load_assembly("kawasaki_fs020n", "schunk_sdh2")
    ring = Body.from_mesh(make_shape("torus", major=0.035, minor=0.015), Material(5e5, 0.45, friction=0.8), mass=0.1)
    table = make_shape("box", size=(0.4, 0.4, 0.05)).transformed(pin.SE3(np.eye(3), np.array([0.9, 0.0, 0.075])))
    pose = pin.SE3(np.eye(3), np.array([0.9, 0.0, 0.116]))
    scene = build_scene(assembly, ring, T_world_object=pose, obstacles=[table], options=LabOptions(nodes=150))
    simulation = Simulation(scene)
    simulation.step(100)
    assert simulation.fault == ""
    state = simulation.object_state()
    np.testing.assert_allclose(state.centre, [0.9, 0.0, 0.115], atol=1e-3)
    joints = [simulation.data.joint(name).qpos[0] for name in assembly.robot.joint_names]
    np.testing.assert_allclose(joints, assembly.q_home, atol=2e-3)


def test_a_filling_that_loses_thin_parts_is_said() -> None:
    ring = Body.from_mesh(make_shape("torus", major=0.06, minor=0.004), Material(5e5, 0.45), mass=0.05)
    scene = build_scene(None, ring, options=LabOptions(nodes=120))
    assert len(scene.notes) == 1
    assert "of its volume" in scene.notes[0]


def test_options_outside_what_works_are_refused() -> None:
    with pytest.raises(OptionError, match="step"):
        LabOptions(step=0.1)


def test_numbers_that_blow_up_are_a_fault_and_leave_no_log_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ball = Body.from_mesh(make_shape("sphere", radius=0.02), Material(5e5, 0.45), mass=0.05)
    for broken in (np.nan, 1e12, 200.0):
        simulation = Simulation(build_scene(None, ball, options=LabOptions(nodes=80)))
        simulation.step(2)
        assert simulation.fault == ""
        simulation.data.qvel[4] = broken
        simulation.step(5)
        assert simulation.fault.startswith("unstable")
        stopped = simulation.time
        simulation.step(5)
        assert simulation.time == stopped
    assert list(tmp_path.iterdir()) == []


def test_the_slosh_pendulum_swings_as_the_first_mode_of_the_surface() -> None:
    """omega^2 = g k / R tanh(k h / R) with k = 1.841; never more than the whole liquid swings."""
    for radius, depth in ((0.03, 0.02), (0.03, 0.1), (0.05, 0.005)):
        found = slosh(0.3, radius, depth)
        omega = np.sqrt(9.81 / found.length)
        k = 1.8412
        assert omega**2 == pytest.approx(9.81 * k / radius * np.tanh(k * depth / radius), rel=1e-12)
        assert 0 < found.mass <= 0.3
    deep, shallow = slosh(1.0, 0.03, 0.12), slosh(1.0, 0.03, 0.015)
    assert deep.mass < 0.15
    assert shallow.mass > 0.5


@pytest.mark.slow
def test_a_bottle_stands_still_with_its_liquid_and_its_weight() -> None:
    mesh = make_shape("bottle")
    body = Body.from_mesh(mesh, Material(2e9, 0.38, friction=0.6), mass=0.03, liquid=Liquid(2e-4, 1000.0, wall=0.0005))
    start = pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.0004 - float(mesh.bounds[0][2])]))
    simulation = Simulation(build_scene(None, body, T_world_object=start, floor=0.0))
    vessel = simulation.model.body("vessel").id
    assert float(simulation.model.body_subtreemass[vessel]) == pytest.approx(body.mass, rel=0.01)
    simulation.step(150)
    assert simulation.fault == ""
    state = simulation.object_state()
    np.testing.assert_allclose(state.centre, start.act(body.centre_of_mass()), atol=1.5e-3)
    assert np.linalg.norm(state.velocity) < 5e-3
    assert state.T_world_object.rotation[2, 2] > 0.9999
    # The floor carries the weight.
    total = 0.0
    import mujoco

    wrench = np.zeros(6)
    for i in range(simulation.data.ncon):
        mujoco.mj_contactForce(simulation.model, simulation.data, i, wrench)
        total += wrench[0]
    assert total == pytest.approx(9.81 * body.mass, rel=0.03)


def test_importing_the_lab_chooses_a_renderer_that_needs_no_screen() -> None:
    environment = {key: value for key, value in os.environ.items() if key not in ("MUJOCO_GL", "DISPLAY")}
    code = "import sys, os, pliant.lab; print('mujoco' in sys.modules, os.environ.get('MUJOCO_GL'))"
    answer = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    libraries = {"EGL": "egl", "OSMesa": "osmesa"}
    found = next((value for name, value in libraries.items() if ctypes.util.find_library(name)), None)
    assert answer.stdout.split() == ["False", str(found if sys.platform.startswith("linux") else None)]
