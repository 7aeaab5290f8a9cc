"""Hand and arm descriptions: what they say must fit the URDF they describe."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from pliant.errors import DescriptionError, InputError, OptionError
from pliant.robot import SHIPPED, cell_layout, link_mesh, load_assembly, load_hand, pad_mesh, read_hand, shipped_names


@pytest.fixture
def hand_folder(tmp_path: Path) -> Path:
    shutil.copytree(SHIPPED / "schunk_sdh2", tmp_path / "hand")
    return tmp_path / "hand"


CHANGES = {
    "unknown link": (
        "links: [thumb_knuckle",
        "links: [tumb_knuckle",
        r"hand.yaml: fingers\[2\].links: no link 'tumb_knuckle'; closest: thumb_knuckle",
    ),
    "links out of order": (
        "links: [thumb_knuckle, thumb_proximal, thumb_distal]",
        "links: [thumb_proximal, thumb_knuckle, thumb_distal]",
        r"'thumb_knuckle' does not come after 'thumb_proximal' in the tree",
    ),
    "pad on a foreign link": (
        "{link: thumb_distal, facing",
        "{link: palm, facing",
        r"pad on link 'palm', which is not one of",
    ),
    "unknown joint": (
        "open: {base_rotation",
        "open: {base_rotaton",
        r"preshapes\[0\]: open and closed must name the same",
    ),
    "joint outside its limits": (
        "thumb_proximal_joint: -0.7",
        "thumb_proximal_joint: -2.7",
        r"-2.7 is outside .*allowed: -1.571",
    ),
    "unknown field": ("max_force: 50", "max_froce: 50", r"max_froce: unknown field; closest: max_force"),
    "nu of a half": ("poisson: 0.45", "poisson: 0.5", r"poisson: 0.5: input should be less than 0.5"),
    "mount not the root": ("mount: sdh_base", "mount: palm", r"mount: link 'palm' is not the root of the URDF"),
    "missing urdf": (
        "urdf: schunk_sdh2.urdf",
        "urdf: schunk_sdh3.urdf",
        r"no such file; closest there: schunk_sdh2.urdf",
    ),
    "urdf outside": ("urdf: schunk_sdh2.urdf", "urdf: ../x.urdf", r"urdf: '../x.urdf' leads out of the folder"),
    "cell outside": ("missing: [[0, 0]", "missing: [[0, 6]", r"cell \(0, 6\) is outside the array"),
    "same name twice": ("- name: finger_2\n", "- name: finger_1\n", r"fingers: the name 'finger_1' is used 2 times"),
    "closing along approach": (
        "closing: [-1, 0, 0]",
        "closing: [0, 0, 1]",
        r"palm: closing .* is parallel to approach",
    ),
    "quaternion not of unit length": ("quaternion: [0.5,", "quaternion: [0.9,", r"quaternion .* has length 1.249"),
    "future version": ("version: 1", "version: 2", r"version: 2: input should be 1"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_wrong_description_is_refused_with_its_field(hand_folder: Path, name: str) -> None:
    old, new, message = CHANGES[name]
    file = hand_folder / "hand.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        read_hand(file)


def test_unknown_shipped_name_lists_the_closest() -> None:
    with pytest.raises(OptionError, match="no hand 'schunk_sdh'; closest: schunk_sdh2"):
        load_hand("schunk_sdh")
    with pytest.raises(OptionError, match="neither an arm nor a hand"):
        load_assembly()


@pytest.mark.parametrize("hand", shipped_names("hand"))
def test_pads_are_closed_surfaces_with_edges_of_about_three_millimetres(hand: str) -> None:
    from pliant.objects import repair_mesh

    module = load_hand(hand)
    for finger in module.description.fingers:
        for pad in finger.pads:
            surface = pad_mesh(module.robot.urdf, pad)
            assert repair_mesh(surface.mesh).report.repaired == ()
            corners = surface.mesh.vertices[surface.mesh.faces[surface.faces]]
            edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
            assert 0.001 < np.median(edges) < 0.0035
            assert edges.max() < 0.006
            assert np.all(surface.mesh.face_normals[surface.faces] @ np.array(pad.facing) > 0.25)


def test_sdh2_pads_have_the_measured_outlines() -> None:
    """Proximal 24 x 49 mm, flat at x = 15.29 mm; distal flat at 14.85 mm, then an arc of radius 63.6 mm."""
    hand = load_hand("schunk_sdh2")
    proximal, distal = (pad_mesh(hand.robot.urdf, pad) for pad in hand.description.fingers[0].pads)
    assert proximal.mesh.face_areas[proximal.faces].sum() == pytest.approx(0.024 * 0.049, rel=1e-6)
    points = distal.mesh.vertices[np.unique(distal.mesh.faces[distal.faces])]
    front = points[np.abs(points[:, 1]) < np.where(points[:, 2] < 0.0495, 0.0105, 0.0068)]
    flat = front[front[:, 2] <= 0.03326]
    np.testing.assert_allclose(flat[:, 0], 0.01485, atol=2e-6)
    arc = front[front[:, 2] > 0.03326]
    radius = np.hypot(arc[:, 0] - (0.01485 - 0.0636), arc[:, 2] - 0.03326)
    np.testing.assert_allclose(radius, 0.0636, atol=2e-6)


@pytest.mark.parametrize("hand", shipped_names("hand"))
def test_tactile_cells_lie_on_the_surface_and_look_outwards(hand: str) -> None:
    """Distance from each cell centre to its link's surface: below the sagitta of an edge, 0.15 mm, where the pad curves
    one way; the ball tips of the four-finger hand also curve across a row: (4.5 mm)^2 / (2 * 12 mm) = 0.85 mm."""
    import igl

    module = load_hand(hand)
    allowed = 1e-3 if hand == "allegro_like" else 1.5e-4
    for array in module.description.tactile:
        layout = cell_layout(array)
        mesh = link_mesh(module.robot.urdf.link(array.link))
        assert mesh is not None
        points = np.ascontiguousarray(layout.centres[layout.exists])
        squared, faces, _ = igl.point_mesh_squared_distance(points, mesh.vertices, mesh.faces)
        assert np.sqrt(squared).max() < allowed
        agreement = np.einsum("ij,ij->i", mesh.face_normals[faces], layout.normals[layout.exists])
        assert agreement.min() > (0.85 if hand == "allegro_like" else 0.99)


def test_sdh2_has_the_cells_of_the_real_hand() -> None:
    """The real hand: proximal 6 x 14, distal 6 x 13 cells of 3.4 mm; 10 of a distal array's cells do not exist."""
    arrays = load_hand("schunk_sdh2").description.tactile
    cells = [int(cell_layout(array).exists.sum()) for array in arrays]
    assert cells == [84, 68] * 3
    assert {array.cell for array in arrays} == {(0.0034, 0.0034)}
    layout = cell_layout(arrays[1])
    steps = np.linalg.norm(np.diff(layout.centres[:, 2], axis=0), axis=1)
    # Along the arc the straight line between centres is shorter than 3.4 mm by s^3 / (24 R^2) only.
    np.testing.assert_allclose(steps, 0.0034, atol=1e-6)


@pytest.mark.parametrize("hand", shipped_names("hand"))
def test_closing_brings_opposed_tips_towards_each_other(hand: str) -> None:
    assembly = load_assembly(None, hand)
    assert assembly.hand is not None
    for preshape in assembly.hand.preshapes:
        names = preshape.fingers or tuple(finger.name for finger in assembly.hand.fingers)
        spread = []
        for closed in (0.0, 0.4):
            q = assembly.preshaped(assembly.q_home, preshape, closed)
            assert assembly.robot.within_limits(q)
            tips = np.array([assembly.robot.pose(f"tip_of_{name}", q).translation for name in names])
            spread.append(np.linalg.norm(tips - tips.mean(axis=0), axis=1).mean())
        assert spread[1] < 0.8 * spread[0]


def test_servo_values_come_from_the_description() -> None:
    assembly = load_assembly("kawasaki_fs020n", "schunk_sdh2")
    i = assembly.robot.joint_index("thumb_distal_joint")
    assert assembly.torque_limits[i] == 1.4
    assert assembly.servo_stiffness[i] == 40.0
    assert assembly.acceleration_limits[i] == pytest.approx(np.radians(1500), rel=1e-3)
    assert np.isinf(assembly.acceleration_limits[0])


def test_description_error_lists_all_mismatches(hand_folder: Path) -> None:
    file = hand_folder / "hand.yaml"
    text = (
        file.read_text()
        .replace("links: [thumb_knuckle", "links: [tumb_knuckle")
        .replace("link: palm,", "link: plam,", 1)
    )
    file.write_text(text)
    with pytest.raises(DescriptionError) as caught:
        read_hand(file)
    assert len(caught.value.problems) == 2


def test_the_flange_transform_moves_the_hand() -> None:
    import pinocchio as pin

    T = pin.SE3(pin.rpy.rpyToMatrix(0.2, -0.4, 1.0), np.array([0.01, -0.02, 0.05]))
    assembly = load_assembly("kawasaki_fs020n", "parallel_gripper", T_flange_hand=T)
    q = assembly.robot.random_q(np.random.default_rng(0))
    assert assembly.robot.pose("housing", q).isApprox(assembly.robot.pose("flange", q) * T, 1e-12)


def test_preshape_is_a_straight_line_from_open_to_closed() -> None:
    assembly = load_assembly(None, "schunk_sdh2")
    assert assembly.hand is not None
    preshape = assembly.hand.preshapes[0]
    for closed in (0.0, 0.25, 1.0):
        q = assembly.preshaped(assembly.robot.neutral, preshape, closed)
        for name, start in preshape.open.items():
            expected = start + closed * (preshape.closed[name] - start)
            assert q[assembly.robot.joint_index(name)] == pytest.approx(expected)


def test_a_mirrored_mesh_keeps_its_faces_outwards(tmp_path: Path) -> None:
    from pliant.objects import make_shape, mesh_volume, write_mesh
    from pliant.robot import link_surfaces, read_urdf

    write_mesh(make_shape("bottle"), tmp_path / "b.obj")
    shape = '<geometry><mesh filename="b.obj" scale="1 -1 2"/></geometry>'
    (tmp_path / "r.urdf").write_text(f'<robot name="r"><link name="a"><visual>{shape}</visual></link></robot>')
    (surface,) = link_surfaces(read_urdf(tmp_path / "r.urdf").links[0], "visual")
    assert mesh_volume(surface.mesh) == pytest.approx(2 * mesh_volume(make_shape("bottle")), rel=1e-6)


def test_joints_without_a_range_have_random_values_too() -> None:
    """Followers may fold a range to 0 .. -0.0; NumPy's own uniform refuses that."""
    from pliant.robot import Robot, parse_urdf

    limit = '<limit lower="0" upper="0" velocity="1" effort="1"/>'
    text = (
        '<robot name="r"><link name="a"/><link name="b"/><link name="c"/>'
        f'<joint name="j" type="revolute"><parent link="a"/><child link="b"/>{limit}</joint>'
        f'<joint name="k" type="revolute"><parent link="a"/><child link="c"/>{limit}<mimic joint="j" multiplier="-1"/>'
        "</joint></robot>"
    )
    assert Robot(parse_urdf(text)).random_q(np.random.default_rng(0)) == pytest.approx([0.0])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "region: [[0.0125, -0.0121, 0.0187], [0.0154, 0.0121, 0.0678]]",
            "region: [[9, 9, 9], [9.1, 9.1, 9.1]]",
            "no face",
        ),
        ("bend: {start: 0.0,", "bend: {start: 0.5,", "must lie beyond start"),
        ("fingers: [finger_1, finger_2]", "fingers: []", "fingers"),
        ("tip: [0.0, 0.0, 0.0685]", "tip: [0.0, 0.0, 1.0e+6]", "tip"),
    ],
)
def test_check_looks_at_pads_and_meshes_as_well(hand_folder: Path, old: str, new: str, message: str) -> None:
    from pliant.files import check_file

    file = hand_folder / "hand.yaml"
    text = file.read_text()
    assert old in text
    assert check_file(file).ok
    file.write_text(text.replace(old, new, 1))
    report = check_file(file)
    assert not report.ok
    assert any(message in str(problem) for problem in report.problems)


def test_check_opens_the_meshes_of_links(hand_folder: Path) -> None:
    from pliant.files import check_file

    (hand_folder / "meshes" / "palm.obj").write_bytes(b"this is not a mesh")
    report = check_file(hand_folder / "schunk_sdh2.urdf")
    assert not report.ok
    assert "palm.obj" in str(report.problems[0])


def test_check_suspects_a_links_mesh_in_millimetres_and_says_where_to_scale_it(tmp_path: Path) -> None:
    from pliant.files import check_file
    from pliant.objects import make_shape, write_mesh

    write_mesh(make_shape("box", size=(0.1, 0.1, 0.2), edge=0.2).scaled(1000.0), tmp_path / "base.stl")
    mesh = '<geometry><mesh filename="base.stl"{}/></geometry>'
    mesh = f'<robot name="one"><link name="base"><visual>{mesh}</visual></link></robot>'
    file = tmp_path / "one.urdf"
    file.write_text(mesh.format(""))
    (problem,) = check_file(file).problems
    assert 'millimetres; scale by 0.001, in the URDF with scale="0.001 0.001 0.001" (0.2 m then)' in str(problem)
    file.write_text(mesh.format(' scale="0.001 0.001 0.001"'))
    assert check_file(file).ok
