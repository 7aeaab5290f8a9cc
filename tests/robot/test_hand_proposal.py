"""Hands proposed from their URDFs: what is guessed is compared with what is known of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import made_hands
import numpy as np
import pinocchio as pin
import pytest

from pliant.documents import parse_document, parse_mapping
from pliant.errors import DescriptionError, RobotError
from pliant.files import check_file
from pliant.robot import (
    PALM_FRAME,
    Hand,
    HandDescription,
    link_mesh,
    load_hand,
    pad_mesh,
    parse_urdf,
    read_urdf,
    shipped_names,
    tip_frame,
)
from pliant.robot.catalogue import SHIPPED
from pliant.robot.proposal.propose import Proposal, propose_hand
from pliant.robot.proposal.write import description_text, save_corrected, write_proposal
from pliant.robot.urdf import Joint, Link


def imported(urdf, folder: Path) -> tuple[Proposal, Hand]:
    proposal = propose_hand(urdf)
    path = write_proposal(proposal, folder)
    report = check_file(path)
    assert report.ok, report.problems
    return proposal, load_hand(path)


def pad_points(hand: Hand, q) -> dict[str, np.ndarray]:
    """Middle of the last pad of every finger, in the world."""
    found = {}
    for finger in hand.description.fingers:
        pad = pad_mesh(hand.robot.urdf, finger.pads[-1])
        area = pad.mesh.face_areas[pad.faces]
        middle = area @ pad.mesh.face_centres[pad.faces] / area.sum()
        found[finger.name] = hand.robot.pose(finger.pads[-1].link, q).act(middle)
    return found


def check_closing(hand: Hand, last: str) -> None:
    """Closing brings the last pads of the first fingers and of ``last`` together, and they face what is between."""
    preshape = hand.description.preshapes[0]
    gaps = []
    for q in (hand.q_open(preshape), hand.q_closed(preshape)):
        points = pad_points(hand, q)
        others = np.mean([p for name, p in points.items() if name != last], axis=0)
        gaps.append(float(np.linalg.norm(others - points[last])))
    size = hand.description.palm.length
    assert gaps[1] < 0.5 * gaps[0]
    assert gaps[1] < 0.35 * size
    q = 0.5 * (hand.q_open(preshape) + hand.q_closed(preshape))
    points = pad_points(hand, q)
    centre = 0.5 * (np.mean([p for name, p in points.items() if name != last], axis=0) + points[last])
    for finger in hand.description.fingers:
        facing = hand.robot.pose(finger.pads[-1].link, q).rotation @ np.array(finger.pads[-1].facing)
        inward = centre - points[finger.name]
        assert facing @ inward > 0, f"the pad of {finger.name} looks away from the middle"


def check_palm(hand: Hand) -> None:
    """What is held is in front of the palm, and the first finger closes the way the description says."""
    preshape = hand.description.preshapes[0]
    first = hand.description.fingers[0].name
    ends = []
    for q in (hand.q_open(preshape), hand.q_closed(preshape)):
        palm = hand.robot.pose(PALM_FRAME, q)
        ends.append(palm.actInv(hand.robot.pose(tip_frame(first), q).translation))
        local = [palm.actInv(point) for point in pad_points(hand, q).values()]
        # fingers that are wide open may look past the palm by a little, so that more fits between them
        assert min(p[2] for p in local) > (-0.01 if len(ends) == 1 else 0.0)
    assert ends[1][0] > ends[0][0]


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped_names("hand"))
def test_shipped_hands_are_proposed_as_they_are_described(tmp_path, name):
    ours = load_hand(name)
    (file,) = (SHIPPED / name).glob("*.urdf")
    _, hand = imported(read_urdf(file), tmp_path)
    known, found = ours.description, hand.description
    assert len(found.fingers) == len(known.fingers)
    last_links = {finger.links[-1]: finger for finger in found.fingers}
    for finger in known.fingers:
        guess = last_links[finger.links[-1]]
        if "finger" in finger.name or finger.name in ("index", "middle", "ring", "thumb", "left", "right"):
            assert guess.name == finger.name
        facing = {pad.link: np.array(pad.facing) for pad in guess.pads}
        for pad in finger.pads:
            assert facing[pad.link] @ np.array(pad.facing) > np.cos(np.radians(35)), pad.link
        # The described tip and the proposed one: both at the finger's end, whatever exactly that is.
        assert np.linalg.norm(np.array(guess.tip) - finger.tip) < 0.015
    T, G = known.palm.T_link_palm, found.palm.T_link_palm
    assert found.palm.link == known.palm.link
    assert T.rotation[:, 2] @ G.rotation[:, 2] > np.cos(np.radians(5))
    assert abs(T.rotation[:, 0] @ G.rotation[:, 0]) > np.cos(np.radians(15))
    assert abs((T.translation - G.translation) @ T.rotation[:, 2]) < 0.005
    assert abs(found.palm.height - known.palm.height) < 0.01
    assert abs(found.palm.length - known.palm.length) < 0.25 * known.palm.length
    # A joint that closes by the description closes by the proposal.
    way, guess_way = known.preshapes[0], found.preshapes[-1]
    for joint, start in guess_way.open.items():
        if guess_way.closed[joint] != start and way.closed[joint] != way.open[joint] and "distal" not in joint:
            assert np.sign(guess_way.closed[joint] - start) == np.sign(way.closed[joint] - way.open[joint]), joint
    check_closing(hand, found.fingers[-1].name)
    check_palm(hand)


@pytest.mark.parametrize(
    ("file", "fingers", "approach", "thumb", "pads"),
    [
        ("allegro_hand/allegro_hand_right.urdf", 4, (1, 0, 0), "link_15.0_tip", 15),
        ("schunk_sdh2/schunk_sdh2.urdf", 3, (0, 0, 1), "sdh_thumb_3_link", 6),
        ("schunk_sdh2/schunk_sdh2_mimic.urdf", 3, (0, 0, 1), "sdh_thumb_3_link", 6),
    ],
)
def test_real_hands_are_understood(tmp_path, shared_data, file, fingers, approach, thumb, pads):
    urdf = read_urdf(shared_data / file, package_dirs=[shared_data])
    proposal, hand = imported(urdf, tmp_path)
    found = hand.description
    assert len(found.fingers) == fingers
    assert found.fingers[-1].name == "thumb"
    assert found.fingers[-1].links[-1] == thumb
    assert sum(len(finger.pads) for finger in found.fingers) == pads
    assert np.allclose(found.palm.approach, approach)
    check_closing(hand, "thumb")
    check_palm(hand)
    text = (tmp_path / "hand.yaml").read_text()
    for guess in proposal.guesses:
        assert f"{100 * guess.confidence:.0f} % sure: {guess.what}: {guess.reason}" in text


@pytest.mark.parametrize("name", ["schunk_sdh2", "allegro_like"])
def test_fingers_that_swing_get_a_preshape_for_round_things(name):
    """SDH2: 60 degrees of base rotation are centric (its maker says); fingers that hardly swing have no such thing."""
    (file,) = (SHIPPED / name).glob("*.urdf")
    found = {preshape.name: preshape for preshape in propose_hand(read_urdf(file)).description.preshapes}
    if name == "allegro_like":
        assert "round" not in found
    else:
        assert found["round"].open["base_rotation"] == pytest.approx(np.pi / 3, abs=0.03)
        assert found["round"].closed["base_rotation"] == found["round"].open["base_rotation"]


def heights_above_the_mount(hand: Hand) -> np.ndarray:
    """How far every vertex of the hand that the arm carries rigidly is in front of the flange."""
    robot, mount = hand.robot, hand.description.mount
    found = []
    for link in robot.urdf.links:
        mesh = link_mesh(link)
        if mesh is not None and not robot.joints_moving(link.name).any():
            T = robot.pose(mount, robot.neutral).actInv(robot.pose(link.name, robot.neutral))
            found.append((mesh.vertices @ T.rotation.T + T.translation)[:, 2])
    return np.concatenate(found)


def test_a_root_frame_in_the_palm_gets_a_mount_behind_it(tmp_path, shared_data):
    """Nothing of the hand may stick in the arm; the fingers point away from it."""
    urdf = read_urdf(shared_data / "allegro_hand/allegro_hand_right.urdf", package_dirs=[shared_data])
    proposal, hand = imported(urdf, tmp_path)
    assert hand.description.mount != urdf.root
    assert heights_above_the_mount(hand).min() == pytest.approx(0.0, abs=1e-4)
    tips = [hand.robot.pose(tip_frame(f.name), hand.q_open("wrap")).translation for f in hand.description.fingers]
    heights = [hand.robot.pose(hand.description.mount, hand.robot.neutral).actInv(tip)[2] for tip in tips]
    assert min(heights[:3]) > 0.2
    assert any(guess.about == "mount" and "behind" in guess.reason for guess in proposal.guesses)


@pytest.mark.parametrize("turn", range(4))
def test_the_mount_does_not_depend_on_how_the_root_frame_is_turned(tmp_path, turn):
    """A hand whose root frame lies anywhere in the palm is bolted on by the same face."""
    file = SHIPPED / "allegro_like" / "allegro_like.urdf"
    urdf = read_urdf(file)
    rotation = pin.rpy.rpyToMatrix(*(np.pi / 2 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [2, 0, 1]][turn])))
    joint = Joint("turned", "fixed", "elsewhere", urdf.root, pin.SE3(rotation, np.zeros(3)))
    _, hand = imported(replace(urdf, links=(Link("elsewhere"), *urdf.links), joints=(joint, *urdf.joints)), tmp_path)
    assert heights_above_the_mount(hand).min() == pytest.approx(0.0, abs=1e-4)
    T = hand.robot.pose(hand.description.mount, hand.robot.neutral).actInv(hand.robot.pose("palm", hand.robot.neutral))
    np.testing.assert_allclose(T.rotation[:, 2], [0, 0, 1], atol=1e-9)
    # How the hand is turned about the flange is nobody's to know; how far it stands off is.
    assert T.translation[2] == pytest.approx(0.095, abs=1e-3)
    assert np.hypot(*T.translation[:2]) == pytest.approx(0.0091, abs=1e-3)


@pytest.mark.parametrize("name", ["schunk_sdh2", "parallel_gripper"])
def test_a_root_frame_at_the_flange_is_kept(name):
    (file,) = (SHIPPED / name).glob("*.urdf")
    urdf = read_urdf(file)
    assert propose_hand(urdf).description.mount == urdf.root


def test_where_the_tips_meet_the_bending_joints_have_room_both_ways(shared_data):
    """What is held there can still be moved: no bending joint at its limit, no finger straight."""
    urdf = read_urdf(shared_data / "allegro_hand/allegro_hand_right.urdf", package_dirs=[shared_data])
    tips = propose_hand(urdf).description.preshapes[0]
    for joint in urdf.joints:
        if joint.name in tips.closed and tips.open[joint.name] != tips.closed[joint.name]:
            span = joint.upper - joint.lower
            assert joint.lower + 0.1 * span < tips.closed[joint.name] < joint.upper - 0.04 * span, joint.name
    assert tips.open["joint_15.0"] > 0.4  # the thumb's second bending joint


def test_a_barrett_like_hand_is_understood(tmp_path):
    proposal, hand = imported(parse_urdf(made_hands.barrett_like()), tmp_path)
    assert [f.links[-1] for f in hand.description.fingers] == [f"bh_finger_{i}_outer" for i in (1, 2, 3)]
    assert np.allclose(hand.description.palm.approach, (0, 0, 1))
    assert hand.description.palm.link == "bh_palm"
    for preshape in hand.description.preshapes:
        assert preshape.open["bh_spread_1"] == preshape.closed["bh_spread_1"]
        for i in (1, 2, 3):
            assert preshape.closed[f"bh_inner_{i}"] > preshape.open[f"bh_inner_{i}"]
    for finger in hand.description.fingers:
        assert all(pad.facing[0] > 0.9 for pad in finger.pads)
    check_closing(hand, hand.description.fingers[-1].name)
    check_palm(hand)
    assert all(0.0 <= guess.confidence <= 1.0 and guess.reason for guess in proposal.guesses)


def test_a_shadow_like_hand_is_understood(tmp_path):
    proposal, hand = imported(parse_urdf(made_hands.shadow_like()), tmp_path)
    found = hand.description
    assert [finger.name for finger in found.fingers] == ["index", "middle", "ring", "little", "thumb"]
    assert found.palm.link == "palm"
    assert found.palm.approach[1] < -0.9
    assert any(guess.about == "wrist" and "WRJ2, WRJ1" in guess.what for guess in proposal.guesses)
    for preshape in found.preshapes:
        assert not {"WRJ1", "WRJ2"} & set(preshape.open)
        names = {"FF": "index", "MF": "middle", "RF": "ring", "LF": "little"}
        for finger in (short for short, name in names.items() if name in (preshape.fingers or names.values())):
            assert preshape.closed[f"{finger}J3"] > preshape.open[f"{finger}J3"]
    for finger in found.fingers[:4]:
        assert all(pad.facing[1] < -0.9 for pad in finger.pads)
    check_closing(hand, "thumb")
    check_palm(hand)


def test_a_gripper_with_linkages_has_two_fingers_and_its_rods_are_left_out(tmp_path):
    proposal, hand = imported(parse_urdf(made_hands.linkage_gripper()), tmp_path)
    found = hand.description
    assert sorted(finger.links[-1] for finger in found.fingers) == ["left_pad", "right_pad"]
    assert sum("rod" in guess.what for guess in proposal.guesses) == 2
    assert np.allclose(found.palm.approach, (0, 0, 1))
    preshape = found.preshapes[0]
    assert preshape.closed["left_knuckle_joint"] > preshape.open["left_knuckle_joint"]
    check_closing(hand, found.fingers[-1].name)
    check_palm(hand)


def test_a_gripper_whose_range_only_opens_closes_towards_zero(tmp_path):
    _, hand = imported(parse_urdf(made_hands.opening_gripper()), tmp_path)
    preshape = hand.description.preshapes[0]
    assert preshape.open["l_joint"] > 0.3 and preshape.closed["l_joint"] < 0.1
    check_closing(hand, hand.description.fingers[-1].name)


def test_what_is_no_hand_is_refused_with_words(shared_data):
    arm_and_hand = read_urdf(shared_data / "fs020n_sdh2/fs020n_sdh2.urdf", package_dirs=[shared_data])
    with pytest.raises(RobotError, match="6 moving joints come before the fingers"):
        propose_hand(arm_and_hand)
    arm = read_urdf(shared_data / "kawasaki_fs020n/kawasaki_fs020n.urdf", package_dirs=[shared_data])
    with pytest.raises(RobotError, match="no link carries two"):
        propose_hand(arm)


def test_a_machine_of_many_legs_is_refused_before_all_their_ways_are_tried():
    """2^40 combinations of closing directions would never end."""
    box = '<collision><geometry><box size="0.01 0.01 0.05"/></geometry></collision>'
    parts = [f'<link name="body">{box}</link>']
    for i in range(40):
        parts.append(f'<link name="leg_{i}">{box}</link><joint name="joint_{i}" type="revolute"><parent link="body"/>')
        parts.append(f'<child link="leg_{i}"/><origin xyz="{0.02 * i} 0 0"/><axis xyz="0 1 0"/>')
        parts.append('<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>')
    with pytest.raises(RobotError, match="40 fingers found; a hand has at most 10"):
        propose_hand(parse_urdf(f'<robot name="comb">{"".join(parts)}</robot>'))


@pytest.mark.parametrize("name", shipped_names("hand"))
def test_a_description_that_is_written_and_read_again_is_the_same(name):
    """To the last digit of every number, and with everything that a proposal has not: fingers of a preshape, arrays."""
    hand = load_hand(name).description
    pad = hand.fingers[0].pads[0].model_copy(update={"young": 1.2345678e6, "max_force": 12.345678})
    finger = hand.fingers[0].model_copy(update={"tip": (0.0, 1 / 3, 2e-5), "pads": (pad, *hand.fingers[0].pads[1:])})
    odd = {"name": "it: is", "title": 'a "hand"\n# of two lines', "fingers": (finger, *hand.fingers[1:])}
    for described in (hand, hand.model_copy(update=odd)):
        fields = parse_mapping(description_text(described), source="text")
        again = parse_document(fields, HandDescription, source="text")
        facing = [[p.facing for f in each.fingers for p in f.pads] for each in (described, again)]
        np.testing.assert_allclose(facing[0], facing[1], atol=1e-9)
        turned = [_without_facing(each) for each in (described, again)]
        assert turned[0] == turned[1]


def _without_facing(hand: HandDescription) -> HandDescription:
    fingers = [
        f.model_copy(update={"pads": tuple(p.model_copy(update={"facing": (1.0, 0.0, 0.0)}) for p in f.pads)})
        for f in hand.fingers
    ]
    return hand.model_copy(update={"fingers": tuple(fingers)})


def test_a_correction_is_read_before_the_file_changes_and_nothing_of_others_is_touched(tmp_path):
    proposal, hand = imported(parse_urdf(made_hands.opening_gripper()), tmp_path)
    path, others = tmp_path / "hand.yaml", tmp_path / ".hand.yaml.new"
    others.write_text("somebody else's")
    before, names = path.read_bytes(), {entry.name for entry in tmp_path.iterdir()}
    wrong = hand.description.model_copy(update={"mount": "nowhere"})
    with pytest.raises(DescriptionError, match=r"hand\.yaml: mount: no link 'nowhere'"):
        save_corrected(wrong, path, before=proposal.description)
    assert path.read_bytes() == before
    right = hand.description.model_copy(update={"title": "corrected"})
    assert save_corrected(right, path, before=proposal.description).description.title == "corrected"
    assert load_hand(path).description == right
    assert {entry.name for entry in tmp_path.iterdir()} == names and others.read_text() == "somebody else's"
