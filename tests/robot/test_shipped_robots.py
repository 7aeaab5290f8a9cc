"""The shipped robots against published dimensions, closed forms and other people's descriptions of them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from pliant.robot import load_arm, load_assembly, load_hand, load_robot, shipped_names, tip_frame

ROOT = Path(__file__).resolve().parents[2]
SDH2_BASES = {"finger_1": (0.01905, 0.033), "finger_2": (0.01905, -0.033), "thumb": (-0.03811, 0.0)}


def two_link_tip(finger: str, base_rotation: float, proximal: float, distal: float) -> np.ndarray:
    """Links of 86.5 and 68.5 mm, proximal axis 16.5 mm above the base at z = 74.5 mm, closing towards +x."""
    along = 0.0865 * np.sin(proximal) + 0.0685 * np.sin(proximal + distal)
    up = 0.0745 + 0.0165 + 0.0865 * np.cos(proximal) + 0.0685 * np.cos(proximal + distal)
    heading = {"finger_1": np.pi + base_rotation, "finger_2": np.pi - base_rotation, "thumb": 0.0}[finger]
    x, y = SDH2_BASES[finger]
    return np.array([x + along * np.cos(heading), y + along * np.sin(heading), up])


def test_sdh2_finger_tips_follow_the_two_link_formula() -> None:
    hand = load_hand("schunk_sdh2")
    rng = np.random.default_rng(1)
    for _ in range(300):
        q = hand.robot.random_q(rng)
        for finger in SDH2_BASES:
            value = {name: q[hand.robot.joint_index(name)] for name in hand.robot.joint_names}
            expected = two_link_tip(
                finger, value["base_rotation"], value[f"{finger}_proximal_joint"], value[f"{finger}_distal_joint"]
            )
            tip = hand.robot.pose(tip_frame(finger), q).translation
            assert np.abs(tip - expected).max() < 1e-9


def test_coupled_base_rotation_turns_both_fingers_in_opposite_senses() -> None:
    robot = load_hand("schunk_sdh2").robot
    J = {finger: robot.jacobian(f"{finger}_knuckle", robot.neutral) for finger in SDH2_BASES}
    column = robot.joint_index("base_rotation")
    np.testing.assert_allclose(J["finger_1"][3:, column], [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(J["finger_2"][3:, column], [0, 0, -1], atol=1e-12)
    np.testing.assert_allclose(J["thumb"][:, column], 0, atol=1e-12)


def test_base_rotation_of_ninety_degrees_makes_the_fingers_oppose_each_other() -> None:
    robot = load_hand("schunk_sdh2").robot
    q = robot.q({"base_rotation": np.pi / 2})
    pads = [robot.pose(f"{finger}_distal", q).rotation[:, 0] for finger in ("finger_1", "finger_2")]
    np.testing.assert_allclose(pads[0], -pads[1], atol=1e-12)
    np.testing.assert_allclose(pads[0], [0, -1, 0], atol=1e-12)


def test_fs020n_with_sdh2_has_thirteen_independent_coordinates() -> None:
    assembly = load_assembly("kawasaki_fs020n", "schunk_sdh2")
    assert assembly.robot.dof == 13
    assert assembly.robot.model.nv == 14
    assert len(assembly.arm_joints) == 6
    assert len(assembly.hand_joints) == 7


def test_fs020n_wrist_reach_is_1_653_m() -> None:
    """Stretched arm: a1 + a2 + sqrt(0.700^2 + 0.060^2) from the J1 axis to the wrist centre, found by maximising."""
    robot = load_arm("kawasaki_fs020n").robot
    shoulder = np.array([0.0, 0.0, 0.56])
    best = 0.0
    for elbow in np.linspace(-0.2, 0.2, 4001):
        q = robot.q({"joint2": np.pi / 2, "joint3": elbow})
        wrist = robot.pose("link5", q).translation - shoulder
        # The reach is measured at the height of J2 where the straight line from J2 to the wrist is level.
        level = np.hypot(wrist[1] - 0.15, wrist[2])
        best = max(best, 0.15 + level)
    assert best == pytest.approx(0.150 + 0.800 + np.hypot(0.700, 0.060), abs=1e-6)
    assert best == pytest.approx(1.653, abs=5e-4)


def test_fs020n_flange_at_zero_is_straight_above() -> None:
    robot = load_arm("kawasaki_fs020n").robot
    T = robot.pose("flange", robot.neutral)
    np.testing.assert_allclose(T.translation, [0, 0.150 - 0.060, 0.560 + 0.800 + 0.225 + 0.475 + 0.1165], atol=1e-12)


def test_masses_and_limits_are_the_published_ones() -> None:
    sdh2 = load_hand("schunk_sdh2").robot
    assert sdh2.mass == pytest.approx(1.95, abs=1e-3)
    i = sdh2.joint_index("base_rotation")
    np.testing.assert_allclose(np.degrees([sdh2.lower[i], sdh2.upper[i], sdh2.velocity_limits[i]]), [0, 90, 80])
    arm = load_arm("kawasaki_fs020n").robot
    np.testing.assert_allclose(np.degrees(arm.lower), [-160, -105, -155, -270, -145, -360], atol=1e-9)
    np.testing.assert_allclose(np.degrees(arm.upper), [160, 140, 120, 270, 145, 360], atol=1e-9)


@pytest.mark.parametrize("hand", shipped_names("hand"))
def test_any_shipped_hand_goes_on_the_arm_by_its_name_alone(hand: str) -> None:
    assembly = load_assembly("kawasaki_fs020n", hand)
    alone = load_hand(hand)
    rng = np.random.default_rng(3)
    q = assembly.robot.random_q(rng)
    T_world_mount = assembly.robot.pose("flange", q)
    q_hand = q[assembly.hand_joints]
    for finger in alone.description.fingers:
        expected = T_world_mount * alone.robot.pose(tip_frame(finger.name), q_hand)
        assert assembly.robot.pose(tip_frame(finger.name), q).isApprox(expected, 1e-12)


def test_names_that_arm_and_hand_share_get_a_prefix() -> None:
    from dataclasses import replace

    from pliant.errors import OptionError
    from pliant.robot import PALM_FRAME, Hand, Robot, assemble

    arm, hand = load_arm("kawasaki_fs020n"), load_hand("parallel_gripper")
    links, joints = {"left_finger": "link1"}, {"opening": "joint1"}
    clashing = Hand(hand.description.renamed(links, joints), Robot(hand.robot.urdf.renamed(links, joints)))
    named = arm.robot.urdf.renamed({"flange": PALM_FRAME}, {})
    with pytest.raises(OptionError, match="link 'palm_frame' has the name of a frame of the hand; rename that link"):
        assemble(replace(arm, robot=Robot(named)), clashing)
    assembly = assemble(arm, clashing)
    assert "hand_joint1" in assembly.robot.joint_names
    assert assembly.hand is not None
    assert assembly.hand.fingers[0].links == ("hand_link1",)
    assert assembly.hand.preshapes[0].open == {"hand_joint1": 0.05}
    assert replace(assembly).robot.dof == 7


def test_makers_reproduce_the_shipped_files(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import make_robots
    finally:
        sys.path.pop(0)
    make_robots.main(tmp_path)
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    shipped = ROOT / "src" / "pliant" / "robot" / "shipped"
    assert made == sorted(path.relative_to(shipped) for path in shipped.rglob("*") if path.suffix in (".urdf", ".obj"))
    for path in made:
        assert _numbers_and_words(tmp_path / path) == _numbers_and_words(shipped / path), path


def _numbers_and_words(path: Path) -> list[object]:
    """File contents with numbers rounded to 0.1 nm, so that another machine's last digit does not matter."""
    words: list[object] = []
    for word in path.read_text().replace('"', " ").split():
        try:
            words.append(round(float(word), 5 if path.suffix == ".obj" else 9) + 0.0)
        except ValueError:
            words.append(word)
    return words


def compare_poses(ours, ours_links, theirs, theirs_links, joints: dict[str, str], count: int = 50) -> float:
    """Largest difference of link positions and orientations over random joints; ``joints`` maps ours to theirs."""
    rng = np.random.default_rng(7)
    worst = 0.0
    for _ in range(count):
        q = ours.random_q(rng)
        other = theirs.q({joints[name]: value for name, value in zip(ours.joint_names, q, strict=True)})
        for mine, yours in zip(ours_links, theirs_links, strict=True):
            difference = ours.pose(mine, q).homogeneous - theirs.pose(yours, other).homogeneous
            worst = max(worst, float(np.abs(difference).max()))
    return worst


@pytest.mark.parametrize("variant", ["schunk_sdh2.urdf", "schunk_sdh2_mimic.urdf"])
def test_sdh2_agrees_with_the_description_of_others(shared_data: Path, variant: str) -> None:
    theirs = load_robot(shared_data / "schunk_sdh2" / variant, package_dirs=[shared_data])
    ours = load_hand("schunk_sdh2").robot
    base = "sdh_finger_11_joint" if "mimic" in variant else "sdh_knuckle_joint"
    joints = {"base_rotation": base}
    for finger, digit in (("finger_1", "finger_1"), ("finger_2", "finger_2"), ("thumb", "thumb_")):
        joints[f"{finger}_proximal_joint"] = f"sdh_{digit}2_joint"
        joints[f"{finger}_distal_joint"] = f"sdh_{digit}3_joint"
    links = ["finger_1_distal", "finger_2_distal", "thumb_distal", "finger_1_proximal"]
    others = ["sdh_finger_13_link", "sdh_finger_23_link", "sdh_thumb_3_link", "sdh_finger_12_link"]
    assert theirs.dof == 7
    # Their base yaw is written 3.14159265: 4e-9 rad off.
    assert compare_poses(ours, links, theirs, others, joints) < 1e-8


def test_fs020n_agrees_with_the_description_of_others(shared_data: Path) -> None:
    theirs = load_robot(shared_data / "kawasaki_fs020n" / "kawasaki_fs020n.urdf")
    ours = load_arm("kawasaki_fs020n").robot
    joints = {name: name for name in ours.joint_names}
    assert compare_poses(ours, ["flange", "link3", "link5"], theirs, ["tool0", "link3", "link5"], joints) < 1e-12


def test_joined_fs020n_and_sdh2_agree_with_our_composition(shared_data: Path) -> None:
    theirs = load_robot(shared_data / "fs020n_sdh2" / "fs020n_sdh2.urdf", package_dirs=[shared_data])
    ours = load_assembly("kawasaki_fs020n", "schunk_sdh2").robot
    joints = {f"joint{i}": f"joint{i}" for i in range(1, 7)} | {"base_rotation": "sdh_finger_11_joint"}
    for finger, digit in (("finger_1", "finger_1"), ("finger_2", "finger_2"), ("thumb", "thumb_")):
        joints[f"{finger}_proximal_joint"] = f"sdh_{digit}2_joint"
        joints[f"{finger}_distal_joint"] = f"sdh_{digit}3_joint"
    links = ["finger_1_distal", "finger_2_distal", "thumb_distal"]
    others = ["sdh_finger_13_link", "sdh_finger_23_link", "sdh_thumb_3_link"]
    assert theirs.dof == ours.dof == 13
    assert compare_poses(ours, links, theirs, others, joints) < 2e-8


def test_four_finger_hand_agrees_with_the_allegro_description(shared_data: Path) -> None:
    theirs = load_robot(shared_data / "allegro_hand" / "allegro_hand_right.urdf", package_dirs=[shared_data])
    ours = load_hand("allegro_like").robot
    fingers = ("index", "middle", "ring", "thumb")
    joints = {f"{finger}_joint_{i}": f"joint_{4 * f + i}.0" for f, finger in enumerate(fingers) for i in range(4)}
    links = [f"{finger}_distal" for finger in fingers]
    others = [f"link_{4 * f + 3}.0" for f in range(4)]
    assert compare_poses(ours, links, theirs, others, joints) < 1e-9


def test_folded_jacobian_equals_pinocchios_own_mimic(shared_data: Path) -> None:
    """Independent computation: Pinocchio with mimic=True on the renamed URDF, where it accepts the order."""
    file = shared_data / "fs020n_sdh2" / "fs020n_sdh2.urdf"
    robot = load_robot(file, package_dirs=[shared_data])
    model = pin.buildModelFromUrdf(str(file), mimic=True)
    data = model.createData()
    order = [robot.joint_index(name) for name in list(model.names)[1:] if name in robot.joint_names]
    rng = np.random.default_rng(5)
    for _ in range(20):
        q = robot.random_q(rng)
        pin.computeJointJacobians(model, data, q[order])
        pin.updateFramePlacements(model, data)
        for link in ("sdh_finger_23_link", "sdh_thumb_3_link", "sdh_finger_13_link"):
            J = pin.getFrameJacobian(model, data, model.getFrameId(link), pin.LOCAL)
            np.testing.assert_allclose(robot.jacobian(link, q, basis="link")[:, order], J, atol=1e-12)
