"""A squeeze that turns the object presses it into what it lies on: such a grasp cannot be lifted as planned."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pinocchio as pin

from pliant.collision import Obstacle, triangles
from pliant.objects import make_shape
from pliant.planner import Goal
from pliant.planner.manipulation import CLEAR_OF_SUPPORT, pressed_into

HALF = 0.025  # of the block [m]


def context(lift: float) -> Any:
    """A block on a table; nothing else of the context is used."""
    table = Obstacle("table", triangles(make_shape("box", size=(0.4, 0.4, 0.1))), pin.SE3(np.eye(3), np.zeros(3)))
    place = pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.05 + HALF]))
    block = triangles(make_shape("box", size=(2 * HALF,) * 3))
    task = SimpleNamespace(goal=Goal(lift=lift), T_world_object=place)
    return SimpleNamespace(task=task, obstacles=(table,), object_triangles=block)


def turned(degrees: float, place: pin.SE3) -> pin.SE3:
    return pin.SE3(pin.rpy.rpyToMatrix(np.radians(degrees), 0.0, 0.0) @ place.rotation, place.translation)


def test_a_turned_block_is_in_the_table_when_its_edge_is_deeper_than_it_has_been_lifted() -> None:
    lifted = context(0.05)
    place = lifted.task.T_world_object
    # half the diagonal times sin(45 degrees + turn) below the centre: as deep as lifted at this angle
    just = np.degrees(np.arcsin((HALF + CLEAR_OF_SUPPORT) / (np.sqrt(2.0) * HALF))) - 45.0
    assert 3.0 < just < 6.0
    assert pressed_into(lifted, turned(just - 1.0, place)) is None
    assert pressed_into(lifted, turned(just + 1.0, place)) == "table"


def test_sagging_between_the_pads_is_no_matter_nor_is_what_is_not_lifted() -> None:
    lifted = context(0.05)
    place = lifted.task.T_world_object
    assert pressed_into(lifted, pin.SE3(place.rotation, place.translation - [0.0, 0.0, 0.001])) is None
    assert pressed_into(context(0.0), turned(15.0, place)) is None
