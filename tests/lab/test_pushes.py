"""Pushes and gravity in the lab: closed forms for free and gripped bodies, and whole trials."""

from __future__ import annotations

from dataclasses import replace
from xml.etree.ElementTree import SubElement

import numpy as np
import pinocchio as pin
import pytest

from made_plans import MadeTask, made
from pliant.constants import GRAVITY
from pliant.control import ControlOptions, RunOutcome
from pliant.lab import (
    LabOptions,
    Simulation,
    TrialSettings,
    build_scene,
    compile_scene,
    run_trial,
    scene_root,
    solid_part,
)
from pliant.lab.pushes import pushing_time, wrenches
from pliant.lab.trial import Disturbance, trial_scene
from pliant.objects import Body, Liquid, Material, make_shape
from pliant.planner import Push

FLOATING = LabOptions(gravity=(0.0, 0.0, 0.0), nodes=100)


def ball(friction: float = 0.5, young: float = 5e5, mass: float = 0.1) -> Body:
    return Body.from_mesh(make_shape("sphere", radius=0.03), Material(young, 0.45, friction=friction), mass=mass)


def bottle() -> Body:
    material = Material(2e9, 0.38, friction=0.6)
    return Body.from_mesh(make_shape("bottle"), material, mass=0.03, liquid=Liquid(2e-4, 1000.0, wall=0.0005))


@pytest.mark.parametrize("body", [ball(), bottle()], ids=["solid", "vessel"])
def test_a_pushed_free_body_is_accelerated_by_the_force_over_its_mass(body: Body) -> None:
    """v = F t / m at the centre of mass, and no turn from a force alone."""
    start = pin.SE3(pin.utils.rotate("y", 0.5), np.array([0.1, 0.0, 1.0]))
    simulation = Simulation(build_scene(None, body, T_world_object=start, options=FLOATING))
    force = np.array([0.03, -0.02, 0.04])
    simulation.push(force, np.zeros(3))
    simulation.step(50)
    assert simulation.fault == ""
    state = simulation.object_state()
    np.testing.assert_allclose(state.velocity, force * simulation.time / body.mass, rtol=2e-3)
    simulation.push(np.zeros(3), np.zeros(3))
    before = simulation.object_state().velocity
    simulation.step(50)
    np.testing.assert_allclose(simulation.object_state().velocity, before, rtol=2e-3)


def test_a_torque_turns_a_free_ball_by_the_torque_over_its_inertia() -> None:
    """A pure torque leaves the centre where it is; angle = tau t^2 / 2 I, with the nodes' own inertia."""
    simulation = Simulation(build_scene(None, ball(young=2e6), options=FLOATING))
    held = simulation.scene.object
    assert held is not None
    nodes, masses = held.nodes, held.node_masses
    r = nodes - masses @ nodes / masses.sum()
    inertia = float((masses * (r[:, 0] ** 2 + r[:, 1] ** 2)).sum())
    torque = np.array([0.0, 0.0, 2e-5])
    before = simulation.object_state().centre
    simulation.push(np.zeros(3), torque)
    simulation.step(100)
    assert simulation.fault == ""
    state, t = simulation.object_state(), simulation.time
    np.testing.assert_allclose(state.centre, before, atol=1e-7)
    angle = pin.log3(state.T_world_object.rotation)
    # semi-implicit steps: t (t + dt) / 2; the implicit damping of spins costs a little
    assert angle[2] == pytest.approx(2e-5 / inertia * t * (t + FLOATING.step) / 2, rel=0.02)


def pushed_between_plates(share: float) -> float:
    """How far a ball, weightless between two plates, goes when pushed along them with a share of the friction limit.

    Friction of two plates holds 2 mu N.
    """
    mu, options = 0.5, LabOptions(gravity=(0.0, 0.0, 0.0), friction_stiffness=100.0, nodes=120)
    root = scene_root(options)
    world, drives = SubElement(root, "worldbody"), SubElement(root, "actuator")
    half, start = 0.005, 0.03 + options.skin
    for name, side in (("left", -1), ("right", 1)):
        plate = SubElement(world, "body", {"name": name, "pos": f"{side * (start + half)} 0 0"})
        SubElement(plate, "joint", {"name": name, "type": "slide", "axis": f"{-side} 0 0", "armature": ".5"})
        SubElement(plate, "inertial", {"pos": "0 0 0", "mass": ".2", "diaginertia": "1e-4 1e-4 1e-4"})
        size = {"type": "box", "size": f"{half} .2 .2", "contype": "4", "conaffinity": "3"}
        SubElement(plate, "geom", {"name": name, **size})
        SubElement(drives, "motor", {"name": name, "joint": name})
    held = solid_part(ball(mu), pin.SE3.Identity(), options)
    world.append(held.body)
    simulation = Simulation(compile_scene(root, options, held=held))
    normal = 3.0
    for k in range(150):
        simulation.data.ctrl[:] = normal * min(1.0, k / 100)
        simulation.step()
    before = simulation.object_state().centre
    simulation.push((0.0, share * 2 * mu * normal, 0.0), np.zeros(3))
    simulation.step(100)
    assert simulation.fault == ""
    return float((simulation.object_state().centre - before)[1])


@pytest.mark.slow
def test_a_gripped_ball_stays_below_the_friction_limit_and_slides_above_it() -> None:
    """Below 2 mu N it shears by its own elasticity; above, it goes (F - 2 mu N) t^2 / 2 m: it does not roll."""
    assert pushed_between_plates(0.8) < 1e-3
    assert pushed_between_plates(1.4) == pytest.approx(0.4 * 3.0 * 0.2**2 / (2 * 0.1), rel=0.08)


def test_any_force_comes_from_six_sides_and_given_ones_as_they_are() -> None:
    found = wrenches((Push(force=(1.0, 2.0, 3.0), torque=(0.1, 0.0, 0.0)), Push(any_force=0.5)))
    assert found[0] == ((1.0, 2.0, 3.0), (0.1, 0.0, 0.0))
    assert len(found) == 7
    sides = np.array([force for force, _ in found[1:]])
    np.testing.assert_allclose(np.linalg.norm(sides, axis=1), 0.5)
    np.testing.assert_allclose(sides.sum(axis=0), 0.0)
    np.testing.assert_allclose(sides.T @ sides, 2 * 0.25 * np.eye(3))


SETTINGS = TrialSettings(
    from_pregrasp=True,
    fine=False,
    period=0.012,
    lab=LabOptions(step=0.004, friction_stiffness=100.0, nodes=100),
    control=ControlOptions(hold=0.25),
)


@pytest.fixture(scope="module")
def gripped() -> MadeTask:
    return made("ball", hand="parallel_gripper", young=1.5e5)


def pushed(gripped: MadeTask, *pushes: Push, **goal: object) -> MadeTask:
    changed = replace(gripped.task.goal, disturbances=pushes, **goal)  # type: ignore[arg-type]
    return MadeTask(replace(gripped.task, goal=changed), gripped.grasp)


@pytest.mark.slow
def test_the_held_ball_bears_what_friction_bears_and_loses_to_what_it_does_not(gripped: MadeTask) -> None:
    """Two pads with 2 N or more and mu = 0.8 hold 3 N across; 30 N they do not."""
    weak = pushed(gripped, Push(force=(0.0, 0.3, 0.0)), Push(torque=(0.0, 0.0, 1e-3)))
    result = run_trial(weak.task, weak.grasp, settings=SETTINGS)
    assert result.outcome is RunOutcome.HELD, result.reason
    assert [push.held for push in result.pushes] == [True, True]
    assert all(0.0 < push.slip < 0.003 and push.remaining <= push.slip for push in result.pushes)
    first, second = (push.start for push in result.pushes)
    assert second - first == pytest.approx(pushing_time(1), abs=0.03)
    assert any("2 pushes" in note for note in result.notes)

    strong = pushed(gripped, Push(force=(0.0, 30.0, 0.0)), Push(force=(0.0, 0.3, 0.0)))
    result = run_trial(strong.task, strong.grasp, settings=SETTINGS)
    assert result.outcome is not RunOutcome.HELD
    assert [push.held for push in result.pushes] == [False, None]
    assert result.pushes[0].slip > 0.005


@pytest.mark.slow
def test_without_gravity_the_ball_floats_until_it_is_gripped_and_is_carried(gripped: MadeTask) -> None:
    weightless = pushed(gripped, gravity=(0.0, 0.0, 0.0))
    result = run_trial(weightless.task, weightless.grasp, settings=SETTINGS)
    assert result.outcome is RunOutcome.HELD, result.reason
    assert result.object_error[0] < 0.003
    assert any("floats" in note for note in result.notes)


def test_the_tasks_gravity_is_the_labs_and_what_holds_the_object_is_told(gripped: MadeTask) -> None:
    g, angle = GRAVITY, np.radians(10.0)
    tilted = (g * float(np.sin(angle)), 0.0, -g * float(np.cos(angle)))
    task = pushed(gripped, gravity=tilted).task
    scene = trial_scene(task, gripped.grasp.q_pregrasp, Disturbance(friction=0.5), SETTINGS.lab)
    np.testing.assert_allclose(scene.model.opt.gravity, tilted, rtol=1e-7)
    assert any("10.0 degrees" in note and "0.18 of 0.40" in note for note in scene.notes)
    simulation = Simulation(scene)
    start = simulation.object_state().centre
    q = scene.q_start.copy()
    simulation.step(100)
    # The ball rests on its feet on the slope, and the drives carry the tilted weight of the robot.
    assert np.linalg.norm(simulation.object_state().centre - start) < 1.5e-3
    names = task.assembly.robot.joint_names
    now = [simulation.data.qpos[scene.model.joint(name).qposadr[0]] for name in names]
    np.testing.assert_allclose(now, q, atol=2e-4)
    level = trial_scene(gripped.task, gripped.grasp.q_pregrasp, Disturbance(), SETTINGS.lab)
    assert not any("slope" in note for note in level.notes)
