"""Scanned objects of other people plan as well."""

import numpy as np
import pinocchio as pin
import pytest

from pliant.objects import Body, ContactLimits, Material, load_mesh
from pliant.planner import Goal, PlannerOptions, PlanStatus, Task, plan
from pliant.robot import load_assembly


@pytest.mark.slow
def test_a_scanned_tennis_ball_of_sixteen_thousand_faces_is_held(shared_data):
    mesh = load_mesh(shared_data / "objects" / "ycb_056_tennis_ball.obj").mesh
    mesh = mesh.transformed(pin.SE3(np.eye(3), -mesh.bounds.mean(axis=0)))
    hand = load_assembly(None, "parallel_gripper")
    body = Body.from_mesh(mesh, Material(1e6, 0.4, None, 0.7), mass=0.058, limits=ContactLimits(20.0))
    place = pin.SE3(np.eye(3), np.array([0.5, 0.0, 0.5]))
    options = PlannerOptions(faces=24, rolls=4, keep=1, hypotheses=16)
    found = plan(Task(hand, hand.q_home, body, place, (), Goal(0.05), options, name="tennis ball"), jobs=1)
    assert found.status is PlanStatus.FOUND
    # 0.57 N on two pads with friction 0.7, or carried from below
    assert 0.3 < found.best.largest_force < 3.0
