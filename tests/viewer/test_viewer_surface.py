"""What the viewer computes before anything is drawn: time, shape, colours, arrows, pads."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
import trimesh

from made_plans import ball_plan
from pliant.objects import Body, Liquid, Material, Mesh, clip_below, make_shape, mesh_volume
from pliant.planner import Phase, Plan, Push, Timeline
from pliant.viewer import ColourBy, Drawable, ObjectSurface, Tab, Viewer, look_at, render
from pliant.viewer.report.figures import round_steps
from pliant.viewer.report.pad_pressures import planned_pressures
from pliant.viewer.scene.colours import _TO_CONE, _TO_LAB, CATEGORIES, linear_light, scale_colours
from pliant.viewer.scene.glb import glb_bytes
from pliant.viewer.scene.markers import arrow_scale, cone_mesh, force_arrows, liquid_surface, markers_at
from pliant.viewer.scene.object_surface import refine_near
from pliant.viewer.scene.pad_dents import dent_patches
from pliant.viewer.scene.robot_surfaces import creased, ghost_mesh
from pliant.viewer.scene.viewed_task import ViewedTask

# Viénot, Brettel and Mollon (1999): what eyes without red or without green cones see, in linear light.
PROTAN = np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]])
DEUTAN = np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]])


def oklab(colours: np.ndarray) -> np.ndarray:
    """Lightness and the two colour axes of sRGB colours."""
    return np.asarray(np.cbrt(linear_light(colours) @ _TO_CONE.T) @ _TO_LAB.T)


def test_the_scale_grows_brighter_for_every_eye() -> None:
    colours = scale_colours(np.linspace(0.0, 1.0, 101))
    lightness = oklab(colours)[:, 0]
    steps = np.diff(lightness)
    assert steps.min() > 0.5 * steps.mean()  # evenly, not only upwards
    for seen in (PROTAN, DEUTAN):
        luminance = np.clip(linear_light(colours) @ seen.T, 0.0, 1.0) @ (0.2126, 0.7152, 0.0722)
        assert np.diff(luminance).min() > 0.0


def test_no_two_line_colours_look_alike_to_any_eye() -> None:
    for seen in (np.eye(3), PROTAN, DEUTAN):
        light = np.clip(linear_light(np.array(CATEGORIES)) @ seen.T, 0.0, 1.0)
        srgb = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
        lab = oklab(srgb)
        apart = np.linalg.norm(lab[:, None] - lab[None], axis=2) + np.eye(len(lab))
        assert apart.min() > 0.06


def test_time_runs_through_the_states_of_the_plan(plan: Plan) -> None:
    grasp = plan.grasps[0]
    timeline = Timeline(grasp)
    for k, state in enumerate(grasp.states):
        moment = timeline.at(state.time)
        np.testing.assert_allclose(timeline.displacement(moment), state.displacement, atol=1e-9)
        assert moment.largest_force == pytest.approx(state.largest_force)
        np.testing.assert_allclose(moment.T_world_object.homogeneous, state.T_world_object.homogeneous, atol=1e-9)
        assert moment.phase is state.phase, k
    before = timeline.at(timeline.touch_time - 0.1)
    assert before.contacts == ()
    assert not timeline.displacement(before).any()
    half = timeline.at(0.5 * (timeline.touch_time + grasp.states[0].time))
    np.testing.assert_allclose(timeline.displacement(half), 0.5 * grasp.states[0].displacement, atol=1e-9)
    assert timeline.at(-1.0).phase is Phase.APPROACH
    assert timeline.at(1e9).time == timeline.duration


def test_between_points_the_object_goes_straight_while_it_turns(plan: Plan) -> None:
    """Half a turn about z over one step: half way it is half turned, and no screw has taken it aside.   (theory 8.6)"""
    assert plan.best is not None
    path = plan.best.trajectory
    poses = np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]])
    step = replace(path, times=np.array([0.0, 2.0]), q=path.q[:2], phases=path.phases[:2], object_poses=poses)
    for time, x in ((-1.0, 0.0), (0.5, 0.25), (1.0, 0.5), (3.0, 1.0)):
        T = step.object_at(time)
        np.testing.assert_allclose(T.translation, (x, 0.0, 0.0), atol=1e-12)
        np.testing.assert_allclose(T.rotation[:, 0], (np.cos(np.pi * x), np.sin(np.pi * x), 0.0), atol=1e-12)


def test_refining_keeps_the_surface_and_closes_every_crack() -> None:
    mesh = make_shape("sphere", radius=0.03, edge=0.008)
    faces, weights = refine_near(mesh, np.array([[0.03, 0.0, 0.0], [0.0, 0.03, 0.0]]), np.array([0.004, 0.006]))
    points = weights @ mesh.vertices
    assert len(faces) > 1.2 * len(mesh.faces)
    finer = Mesh(points, faces)
    assert finer.area == pytest.approx(mesh.area, rel=1e-12)
    assert mesh_volume(finer) == pytest.approx(mesh_volume(mesh), rel=1e-12)
    assert trimesh.Trimesh(points, faces, process=False).is_watertight
    near = np.linalg.norm(points[faces].mean(axis=1) - (0.03, 0, 0), axis=1) < 0.003
    edges = np.linalg.norm(points[faces[near]] - np.roll(points[faces[near]], 1, axis=1), axis=2)
    assert edges.max() < 0.004 / 4 + 1e-9


def test_pressure_colours_add_up_to_the_normal_force(plan: Plan) -> None:
    """The shown pressure integrated over the surface is the contacts' normal force, within the mesh's resolution."""
    surface = ObjectSurface(plan.task.body.mesh, plan.grasps[0])
    state = plan.grasps[0].grasp
    moment = surface.timeline.at(state.time)
    pressure = 1e3 * surface.values(moment, ColourBy.PRESSURE)
    shown = Mesh(surface.rest, surface.faces)
    total = float(shown.face_areas @ pressure[surface.faces].mean(axis=1))
    assert total == pytest.approx(sum(c.normal_force for c in state.contacts), rel=0.12)
    u = 1e3 * np.linalg.norm(state.displacement, axis=1).max()
    assert surface.values(moment, ColourBy.DISPLACEMENT).max() == pytest.approx(u, rel=1e-6)


def test_arrows_end_at_the_contacts_and_balance_the_weight(plan: Plan) -> None:
    grasp = plan.grasps[0]
    moment = Timeline(grasp).at(grasp.states[1].time)
    scale = arrow_scale(grasp, plan.task.body.mesh)
    arrows = force_arrows(moment, scale)
    forces = sum((a.end - a.start) / scale for a in arrows)
    np.testing.assert_allclose(forces, [0.0, 0.0, 9.80665 * plan.task.body.mass], atol=0.05)
    for a in arrows:
        assert a.contact is not None
        np.testing.assert_allclose(a.end, moment.T_world_object.act(a.contact.T_object_contact.translation), atol=1e-12)


def test_the_weight_begins_and_given_pushes_end_at_the_centre_of_mass(plan: Plan) -> None:
    task, grasp = plan.task, plan.grasps[0]
    pushes = (Push(force=(0.0, 0.5, 0.0)), Push(any_force=1.0), Push(force=(40.0, 0.0, 0.0)))
    pushed = replace(task, goal=replace(task.goal, disturbances=pushes))
    timeline = Timeline(grasp)
    moment, scale = timeline.at(grasp.states[1].time), arrow_scale(grasp, task.body.mesh)
    weight, gentle, hard = (a for a in markers_at(pushed, timeline, moment).arrows if a.contact is None)
    centre = grasp.states[1].centre_of_mass
    np.testing.assert_allclose(weight.start, centre, atol=1e-9)
    np.testing.assert_allclose(weight.end - weight.start, scale * grasp.states[1].load[:3])
    assert weight.label == f"weight {9.80665 * task.body.mass:.2f} N"
    np.testing.assert_allclose([gentle.end, hard.end], [centre, centre], atol=1e-9)
    np.testing.assert_allclose(gentle.end - gentle.start, [0.0, 0.5 * scale, 0.0], atol=1e-12)
    assert (gentle.label, hard.label) == ("push 0.50 N", "push 40.00 N")
    assert np.linalg.norm(hard.end - hard.start) == pytest.approx(float(task.body.mesh.extents.max()))
    assert not [a for a in markers_at(pushed, timeline, timeline.at(0.0)).arrows if a.contact is None]


def test_the_dents_of_the_pads_lie_at_their_contacts_and_go_away_from_the_object(plan: Plan) -> None:
    grasp = plan.grasps[0]
    moment = Timeline(grasp).at(grasp.states[0].time)
    patches, enlarged = dent_patches(grasp, moment), dent_patches(grasp, moment, 10.0)
    assert len(patches) == len(moment.contacts)
    for contact, patch, larger in zip(moment.contacts, patches, enlarged, strict=True):
        T = moment.T_world_object * contact.T_object_contact
        assert np.linalg.norm(patch.mesh.vertices - T.translation, axis=1).max() < 2.0 * contact.half_axes.max()
        moved = larger.mesh.vertices - patch.mesh.vertices
        assert (-moved @ T.rotation[:, 2]).max() == pytest.approx(9.0 * contact.pad_depth, rel=1e-6)
        assert len(patch.mesh.faces) > len(patch.mesh.vertices)
    before = Timeline(grasp).at(0.0)
    assert dent_patches(grasp, before) == []
    with Viewer(port=0) as viewer:
        tab = Tab(viewer, viewer.server)
        tab.open(ViewedTask(plan.task, plan))
        tab.show_time(grasp.states[0].time)
        assert tab.plan_scene is not None and tab.plan_scene._dents == []
        tab.restyle(dents=True)
        assert len(tab.plan_scene._dents) == len(patches)
        tab.restyle(dents=False)
        assert tab.plan_scene._dents == []


def test_a_force_in_the_cone_is_one_that_does_not_slip() -> None:
    cone = cone_mesh(0.5, 0.02)
    rim = cone.vertices[1:]
    assert np.hypot(rim[:, 0], rim[:, 1]) == pytest.approx(0.5 * -rim[:, 2])
    assert cone.vertices[0] == pytest.approx([0, 0, 0])


def test_the_pads_carry_the_whole_normal_force(plan: Plan) -> None:
    grasp = plan.grasps[0]
    moment = Timeline(grasp).at(grasp.states[0].time)
    pressures = planned_pressures(plan.task, moment)
    assert plan.task.assembly.hand is not None
    area = {a.name: a.cell[0] * a.cell[1] for a in plan.task.assembly.hand.tactile}
    total = sum(float(p.sum()) * area[name] for name, p in pressures.items())
    assert total == pytest.approx(sum(c.normal_force for c in grasp.grasp.contacts), rel=1e-6)
    touched = {c.link for c in grasp.grasp.contacts}
    arrays = {a.name: a.link for a in plan.task.assembly.hand.tactile}
    assert {arrays[name] for name, p in pressures.items() if p.any()} == touched


def test_glb_files_read_back_with_their_colours() -> None:
    mesh = make_shape("box", size=(0.1, 0.2, 0.3), edge=0.3)
    colours = scale_colours(np.linspace(0.0, 1.0, len(mesh.vertices)))
    scene = trimesh.load(io.BytesIO(glb_bytes(mesh.vertices, mesh.faces, colours)), file_type="glb")
    (back,) = scene.geometry.values()
    assert len(back.faces) == len(mesh.faces)
    np.testing.assert_allclose(np.sort(back.bounds, axis=0), mesh.bounds, atol=1e-6)


def test_creases_stay_sharp_and_curves_smooth() -> None:
    box = creased(make_shape("box", size=(1.0, 1.0, 1.0), edge=1.0))
    assert len(box.vertices) == 24  # each corner three times
    ball = make_shape("sphere", radius=0.05, edge=0.01)
    assert len(creased(ball).vertices) == len(ball.vertices)


def test_the_ghost_stands_where_the_hypothesis_says(plan: Plan) -> None:
    """The planned hand at the grasp and the ghost of its hypothesis are the same surface."""
    task, grasp = plan.task, plan.grasps[0]
    ghost = ghost_mesh(task.assembly, grasp.hypothesis, task.T_world_object, grasp.grasp.q)
    tip = task.assembly.robot.pose("thumb_distal", grasp.grasp.q).translation
    assert np.linalg.norm(ghost.vertices - tip, axis=1).min() < 0.02
    other = ghost_mesh(task.assembly, plan.grasps[1].hypothesis, task.T_world_object, grasp.grasp.q)
    assert np.abs(ghost.vertices - other.vertices).max() > 0.02


def test_the_liquid_stands_level_in_a_tilted_bottle() -> None:
    mesh = make_shape("bottle")
    liquid = Liquid(volume=0.5 * mesh_volume(mesh), density=1000.0, wall=0.0005)
    body = Body.from_mesh(mesh, Material(young=1e9, poisson=0.4, density=950.0), liquid=liquid)
    T = pin.SE3(pin.rpy.rpyToMatrix(0.4, 0.2, 0.0), np.array([0.3, 0.1, 0.6]))
    face = liquid_surface(body, T)
    assert face is not None
    assert np.ptp(face.vertices[face.faces.ravel(), 2]) < 1e-9
    state = body.liquid_at(T.rotation.T @ (0.0, 0.0, 1.0))
    assert state is not None
    assert face.area == pytest.approx(clip_below(mesh, state.up, state.level).cap.area, rel=1e-6)


def test_the_liquid_of_a_plan_stands_at_the_plans_level_on_the_page() -> None:
    plan = ball_plan(liquid=True)
    grasp = plan.grasps[0]
    timeline = Timeline(grasp)
    for state in grasp.states:
        moment = timeline.at(state.time)
        face = liquid_surface(plan.task.body, moment.T_world_object, timeline, moment)
        assert face is not None
        assert state.liquid_level is not None
        assert face.vertices[face.faces.ravel(), 2] == pytest.approx(state.liquid_level, abs=1e-6)
    with Viewer(port=0) as viewer:
        tab = Tab(viewer, viewer.server)
        tab.open(ViewedTask(plan.task, plan))
        for time in (0.0, 0.5 * timeline.duration, timeline.duration):
            tab.show_time(time)
            assert tab.player.time == time
        assert tab.plan_scene is not None
        assert tab.plan_scene._liquid is not None


def test_what_is_clear_lets_the_colour_behind_through() -> None:
    red, blue = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
    back = Drawable(make_shape("sphere", radius=0.05, edge=0.01), red)
    front = Drawable(make_shape("box", size=(0.2, 0.001, 0.2), edge=0.1).moved((0, -0.1, 0)), blue, opacity=0.3)
    camera = look_at((0.0, -0.6, 0.0), (0.0, 0.0, 0.0))
    bare = render([back], camera, width=60, height=40)[20, 30].astype(int)
    seen = render([back, front], camera, width=60, height=40)[20, 30].astype(int)
    assert seen[2] > bare[2] + 25
    assert 0.6 * bare[0] < seen[0] < 0.9 * bare[0]


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 17.0), (0.0, 3.3e-4), (0.0, 86.4)])
def test_axes_carry_round_numbers_inside_their_range(low: float, high: float) -> None:
    steps = round_steps(low, high, 5)
    assert 3 <= len(steps) <= 7
    assert low <= steps[0] and steps[-1] <= high * (1 + 1e-9)
    width = steps[1] - steps[0]
    mantissa = width / 10.0 ** np.floor(np.log10(width) + 1e-9)
    assert min(abs(mantissa - m) for m in (1.0, 2.0, 5.0, 10.0)) < 1e-6
