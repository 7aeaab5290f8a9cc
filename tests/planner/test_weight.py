"""The weight under any gravity: it acts where it would act on the object turned the other way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from pinched_ball import gripper_task, prepared

from pliant.constants import GRAVITY
from pliant.errors import OptionError
from pliant.objects import Body, Liquid, Material, make_shape
from pliant.planner.context import PlanningContext
from pliant.planner.weight import Weight

TILT = pin.rpy.rpyToMatrix(0.4, -0.3, 0.9)
DOWN = np.array([0.0, 0.0, -GRAVITY])


def half_full() -> Body:
    mesh = make_shape("box", size=(0.06, 0.05, 0.08), edge=0.02)
    return Body.from_mesh(mesh, Material(1e6, 0.4, None, 0.5), mass=0.02, liquid=Liquid(1.1e-4, 1000.0, 0.001))


def test_a_tilted_gravity_is_a_vessel_tilted_the_other_way() -> None:
    body, place = half_full(), np.array([0.3, -0.2, 0.5])
    tilted, upright = Weight(body, TILT @ DOWN), Weight(body, DOWN)
    vertices = body.mesh.vertices * np.array([0.98, 1.01, 1.0])
    here = tilted.acting(pin.SE3(np.eye(3), place), vertices)
    there = upright.acting(pin.SE3(TILT.T, np.zeros(3)), vertices)
    np.testing.assert_allclose(here.centre, there.centre, atol=1e-12)
    np.testing.assert_allclose(here.at_rest, there.at_rest, atol=1e-12)
    assert np.linalg.norm(here.centre - upright.acting(pin.SE3.Identity(), vertices).centre) > 1e-3
    assert here.level is not None and there.level is not None
    assert here.level == pytest.approx(there.level + float(TILT[:, 2] @ place), abs=1e-12)


def test_the_wrench_is_the_force_at_the_centre_about_the_objects_origin() -> None:
    body = half_full()
    weight = Weight(body, TILT @ DOWN)
    T, centre = pin.SE3(TILT, np.array([1.0, 2.0, 3.0])), np.array([0.01, -0.02, 0.03])
    wrench = weight.wrench(T, centre)
    np.testing.assert_allclose(wrench[:3], body.mass * (TILT @ DOWN))
    np.testing.assert_allclose(wrench[3:], np.cross(T.act(centre) - T.translation, wrench[:3]))
    nothing = Weight(body, np.zeros(3))
    np.testing.assert_array_equal(nothing.wrench(T, centre), np.zeros(6))
    np.testing.assert_array_equal(nothing.up, [0.0, 0.0, 1.0])


def test_a_liquid_without_gravity_has_nowhere_to_settle() -> None:
    task = gripper_task()
    floating = replace(task, body=half_full(), goal=replace(task.goal, gravity=(0.0, 0.0, 0.0)))
    with pytest.raises(OptionError, match="a liquid needs a direction to settle in"):
        PlanningContext(floating, prepared())
