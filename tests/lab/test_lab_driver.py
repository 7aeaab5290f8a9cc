"""The lab behind the driver interface: servos, torques, sensors with faults, and a scripted pinch and lift."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from pliant.control import Driver
from pliant.errors import OptionError
from pliant.lab import LabDriver, LabOptions, Scene, SensorSettings, build_scene, picture
from pliant.objects import Body, Liquid, Material, make_shape
from pliant.robot import Assembly, load_assembly
from pliant.tactile import PadSensor, TactileProcessor

HEIGHT = 0.25


@pytest.fixture(scope="module")
def assembly() -> Assembly:
    return load_assembly(
        None, "schunk_sdh2", T_world_base=pin.SE3(pin.utils.rotate("x", np.pi), np.array([0.0, 0.0, HEIGHT]))
    )


def posture(assembly: Assembly, angle: float, *, hook: float = 0.0) -> np.ndarray:
    """Finger 1 against finger 2, the thumb away; a larger angle is wider open, ``hook`` turns the tips inwards."""
    values = {"base_rotation": np.pi / 2, "thumb_proximal_joint": -1.4, "thumb_distal_joint": 0.0}
    for finger in ("finger_1", "finger_2"):
        values |= {f"{finger}_proximal_joint": -angle, f"{finger}_distal_joint": angle + hook}
    return assembly.robot.q(values)


@pytest.fixture(scope="module")
def empty(assembly: Assembly) -> Scene:
    return build_scene(assembly, None, q_start=posture(assembly, 0.3))


def test_the_lab_is_a_driver_whose_servos_arrive_within_the_speed_limit(assembly: Assembly, empty: Scene) -> None:
    driver = LabDriver(empty, period=0.01)
    assert isinstance(driver, Driver)
    start, goal = posture(assembly, 0.3), posture(assembly, 0.1)
    driver.command_positions(goal)
    driver.step()
    first = driver.read()
    assert first.joints is not None
    assert first.time == pytest.approx(0.01)
    limit = assembly.robot.velocity_limits * 0.01
    assert np.all(np.abs(first.joints.positions - start) <= limit + 1e-6)
    for _ in range(60):
        driver.step()
    arrived = driver.read().joints
    assert arrived is not None
    np.testing.assert_allclose(arrived.positions, goal, atol=2e-3)
    assert arrived.torques is not None
    assert set(driver.read().frames) == set(driver.array_names)


def test_torques_accelerate_as_inertia_says_and_positions_take_over_again(assembly: Assembly, empty: Scene) -> None:
    driver = LabDriver(empty, period=0.002)
    robot = assembly.robot
    torques = np.zeros(robot.dof)
    joint = robot.joint_index("thumb_proximal_joint")
    torques[joint] = 0.2
    steps = 5
    for _ in range(steps):
        driver.command_torques(torques)
        driver.step()
    model, data = empty.model, driver.simulation.data
    dofs = [model.joint(name).dofadr[0] for name in robot.joint_names]
    q = empty.q_start
    # Drives have inertia of their own, followers included; the stand is too heavy to take part.
    armature = np.array([model.dof_armature[d] for d in dofs])
    armature[robot.joint_index("base_rotation")] *= 2
    expected = np.linalg.solve(robot.mass_matrix(q) + np.diag(armature), torques) * steps * 0.002
    assert data.qvel[dofs[joint]] == pytest.approx(expected[joint], rel=0.05)
    driver.command_positions(q)
    for _ in range(300):
        driver.step()
    back = driver.read().joints
    assert back is not None
    np.testing.assert_allclose(back.positions, q, atol=3e-3)


def test_an_emergency_stop_holds_and_refuses_later_commands(assembly: Assembly, empty: Scene) -> None:
    driver = LabDriver(empty, period=0.01)
    driver.command_positions(posture(assembly, 0.0))
    for _ in range(8):
        driver.step()
    driver.emergency_stop("somebody shouted")
    held = driver.read().joints
    driver.command_positions(posture(assembly, 0.3))
    for _ in range(30):
        driver.step()
    after = driver.read()
    assert after.stopped == "somebody shouted"
    assert held is not None
    assert after.joints is not None
    np.testing.assert_allclose(after.joints.positions, held.positions, atol=0.02)


@pytest.mark.parametrize("step", [0.002, 0.004])
def test_a_joint_that_follows_another_does_so_under_load(step: float) -> None:
    """16 N on the second finger of a gripper, which no drive of its own holds: it gives way like the first, no more."""
    gripper = load_assembly(None, "parallel_gripper")
    q = gripper.robot.q({"opening": 0.03})
    driver = LabDriver(build_scene(gripper, None, q_start=q, options=LabOptions(step=step)), period=0.012)
    model, data = driver.simulation.model, driver.simulation.data
    body = model.body("link:right_finger").id
    axis = data.xaxis[model.joint("right_opening").id].copy()
    driver.command_positions(q)
    for _ in range(60):
        data.xfrc_applied[body, :3] = 16.0 * axis
        driver.step()
    first, second = (float(data.qpos[model.joint(name).qposadr[0]]) for name in ("opening", "right_opening"))
    assert first > 0.0301  # the drive has its own stiffness
    assert second == pytest.approx(first, abs=1e-5)
    assert not driver.fault


def test_broken_commands_and_settings_are_refused(assembly: Assembly, empty: Scene) -> None:
    driver = LabDriver(empty)
    with pytest.raises(OptionError, match="finite numbers"):
        driver.command_positions(np.full(7, np.nan))
    with pytest.raises(OptionError, match="period"):
        LabDriver(empty, period=0.003)
    with pytest.raises(OptionError, match="dropout"):
        SensorSettings(dropout=1.5)


def test_a_simulation_that_breaks_down_stops_the_driver_with_the_reason(empty: Scene) -> None:
    driver = LabDriver(empty)
    driver.step()
    driver.simulation.data.qvel[8] = np.nan
    driver.step()
    assert driver.fault.startswith("unstable")
    assert driver.read().stopped == driver.fault


# -- a grasp ---------------------------------------------------------------------------------------------------------


def soft_thing(name: str) -> tuple[Body, float]:
    """The object and the height of its centre when it lies on the floor."""
    material = Material(5e5, 0.45, friction=0.8)
    if name == "ball":
        return Body.from_mesh(make_shape("sphere", radius=0.03), material, mass=0.08), 0.0304
    return Body.from_mesh(make_shape("torus", major=0.035, minor=0.015), material, mass=0.08), 0.0155


def grasping(assembly: Assembly, name: str, opening: float, sensors: SensorSettings | None = None) -> LabDriver:
    body, z = soft_thing(name)
    middle = assembly.robot.pose("finger_1_distal", posture(assembly, 0.0)).translation[0]
    scene = build_scene(
        assembly,
        body,
        T_world_object=pin.SE3(np.eye(3), np.array([middle, 0.0, z])),
        q_start=posture(assembly, opening),
        floor=0.0,
        options=LabOptions(nodes=180, friction_stiffness=100.0),
    )
    return LabDriver(scene, period=0.01, sensors=sensors)


def run(driver: LabDriver, seconds: float) -> None:
    for _ in range(round(seconds / driver.period)):
        driver.step()
    assert driver.fault == ""


def pad_normal(point: np.ndarray) -> np.ndarray:
    """Outward normal of the distal pad: flat up to z = 33.26 mm, then an arc of 63.6 mm about an axis along y."""
    if point[2] <= 0.03326:
        return np.array([1.0, 0.0, 0.0])
    outward = np.array([point[0] - (0.01485 - 0.0636), 0.0, point[2] - 0.03326])
    return outward / np.linalg.norm(outward)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "opening", "closed"), [("ball", 0.25, 0.09), ("ring", 0.48, 0.28)])
def test_a_pinched_soft_thing_is_lifted_and_the_pads_tell_its_force(
    assembly: Assembly, name: str, opening: float, closed: float
) -> None:
    sensors = SensorSettings(pad=PadSensor(noise=0.0, threshold=0))
    driver = grasping(assembly, name, opening, sensors)
    weight = 9.81 * 0.08
    before = driver.simulation.object_state().centre
    driver.command_positions(posture(assembly, closed))
    run(driver, 0.5)
    up = assembly.robot.T_world_base.copy()
    up.translation = up.translation + np.array([0.0, 0.0, 0.04])
    driver.carry(up)
    run(driver, 0.55)
    lifted = driver.simulation.object_state()
    assert lifted.centre[2] - before[2] == pytest.approx(0.04, abs=0.004)
    run(driver, 0.2)
    held = driver.simulation.object_state()
    assert np.linalg.norm(held.centre - lifted.centre) < 0.5e-3

    # The fingers carry the weight, and nothing else touches.
    contacts = driver.pads.contacts()
    assert {contact.link for contact in contacts} == {"finger_1_distal", "finger_2_distal"}
    data = driver.simulation.data
    total = sum(data.body(f"link:{c.link}").xmat.reshape(3, 3) @ c.force for c in contacts)
    np.testing.assert_allclose(total, [0.0, 0.0, -weight], atol=0.08 * weight + 0.02)

    # Cells add up to the contacts' normal forces, and the frames tell them through table, rounding and threshold.
    processor = TactileProcessor.for_hand(assembly.hand, sensor=sensors.pad)  # type: ignore[arg-type]
    felt = driver.pads.read()
    for finger in ("finger_1_distal", "finger_2_distal"):
        pressed = felt[finger]
        normal = sum(-c.force @ pad_normal(c.point) for c in contacts if c.link == finger)
        assert pressed.cells.sum() == pytest.approx(pressed.total, rel=1e-12)
        # A cell has one normal, at most half a cell (1.5 degrees) off the true one: 2.7 % of the friction force.
        assert pressed.total == pytest.approx(normal, rel=0.03)
        reading = processor.process(driver.read().frames[finger])
        if not any(region.saturated for region in reading.regions):
            assert reading.force == pytest.approx(pressed.total, rel=0.03)
    forces = [felt[finger].total for finger in ("finger_1_distal", "finger_2_distal")]
    assert forces[0] == pytest.approx(forces[1], rel=0.1)


@pytest.mark.slow
def test_delay_lost_frames_and_dead_cells_are_seen_by_the_reader(assembly: Assembly) -> None:
    sensors = SensorSettings(
        delay=0.05, dropout=0.3, dead={"finger_1_distal": tuple((r, c) for r in range(13) for c in range(3))}, seed=4
    )
    driver = grasping(assembly, "ball", 0.2, sensors)
    driver.command_positions(posture(assembly, 0.12))
    ages, taken = [], set()
    for _ in range(60):
        driver.step()
        sample = driver.read()
        if "finger_2_distal" in sample.frames:
            ages.append(sample.time - sample.frames["finger_2_distal"].time)
            taken.add(round(sample.frames["finger_2_distal"].time, 4))
    assert min(ages) >= 0.05 - 1e-9
    assert max(ages) > 0.05 + 0.032  # at least one frame was lost
    assert len(taken) < 0.6 / 0.032
    counts = driver.read().frames["finger_1_distal"].counts
    assert not counts[:, :3].any()
    assert counts[:, 3:].any()
    again = grasping(assembly, "ball", 0.2, sensors)
    again.command_positions(posture(assembly, 0.12))
    run(again, 0.6)
    np.testing.assert_array_equal(again.read().frames["finger_1_distal"].counts, counts)
    try:
        pixels = picture(driver.simulation, looking_at=driver.simulation.object_state().centre, size=(160, 120))
    except OptionError as absent:
        assert "off-screen" in str(absent)
    else:
        orange = (pixels[..., 0].astype(int) - pixels[..., 2]) > 80
        assert orange.sum() > 20


@pytest.mark.slow
def test_a_bottle_of_water_is_lifted_upright() -> None:
    base = pin.SE3(pin.utils.rotate("x", np.pi), np.array([0.0, 0.0, 0.31]))
    assembly = load_assembly(None, "schunk_sdh2", T_world_base=base)
    bottle = Body.from_mesh(
        make_shape("bottle"), Material(2e9, 0.38, friction=0.6), mass=0.03, liquid=Liquid(2e-4, 1000.0, wall=0.0005)
    )
    middle = assembly.robot.pose("finger_1_distal", posture(assembly, 0.0)).translation[0]
    scene = build_scene(
        assembly,
        bottle,
        T_world_object=pin.SE3(np.eye(3), np.array([middle, 0.0, 0.0004])),
        q_start=posture(assembly, 0.26),
        floor=0.0,
        options=LabOptions(nodes=200, step=0.004),
    )
    driver = LabDriver(scene, period=0.012)
    before = driver.simulation.object_state().centre
    driver.command_positions(posture(assembly, 0.15, hook=0.12))
    run(driver, 0.36)
    driver.carry(pin.SE3(base.rotation, base.translation + np.array([0.0, 0.0, 0.03])), speed=0.15)
    run(driver, 0.36)
    state = driver.simulation.object_state()
    assert state.centre[2] - before[2] == pytest.approx(0.03, abs=0.004)
    assert state.T_world_object.rotation[2, 2] > np.cos(np.radians(3.0))
    felt = {name: pad.total for name, pad in driver.pads.read().items() if pad.total > 0}
    assert set(felt) == {"finger_1_distal", "finger_2_distal"}
    contacts = driver.pads.contacts()
    data = driver.simulation.data
    total = sum(data.body(f"link:{c.link}").xmat.reshape(3, 3) @ c.force for c in contacts)
    assert total[2] == pytest.approx(-9.81 * bottle.mass, rel=0.1)
    tilt = [float(driver.simulation.data.joint(name).qpos[0]) for name in ("slosh_x", "slosh_y")]
    assert 0.0 < np.hypot(*tilt) < 0.3
