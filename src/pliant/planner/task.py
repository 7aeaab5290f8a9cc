"""What is asked of the planner: robot, object, surroundings, and what must happen to the object next. (theory 1)"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Literal

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.objects import Body, Mesh
from pliant.robot import Assembly


class MoveFrame(Enum):
    """The frame in which a move of the object is given."""

    WORLD = "world"
    OBJECT = "object"
    PALM = "palm"


class Carrier(Enum):
    """Who moves the object after the lift."""

    FINGERS = "fingers"
    ARM = "arm"
    BOTH = "both"


@dataclass(frozen=True)
class Goal:
    """What must happen to the object once it is held.

    Args:
        lift: how far it is lifted straight up first [m].
        translation: displacement of the object [m], in ``frame``.
        rotation: rotation vector: axis times angle [rad], in ``frame``, about the object's centre of mass.
        frame: world, object or palm.
        steps: into how many steps the move is cut.
        by: who does it.
    """

    # Read by pydantic where a document holds a wish; a plain dict, so nothing is imported for it.
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "allow_inf_nan": False}

    lift: float = 0.05
    translation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rotation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    frame: MoveFrame = MoveFrame.PALM
    steps: int = 20
    by: Carrier = Carrier.FINGERS

    @property
    def moves(self) -> bool:
        """Whether anything beyond lifting is asked."""
        return bool(np.any(self.translation) or np.any(self.rotation))


@dataclass(frozen=True)
class PlannerOptions:
    """How hard to look.

    Args:
        faces: faces of the bounding polyhedron; one approach direction each.
        rolls: roll angles about each approach direction.
        keep: how many plans to keep.
        method: where the approach directions come from: polyhedron, sphere or box.
        hypotheses: at most so many are tried, drawn evenly from all combinations.
        margin: how far every contact stays from slipping, as part of the weight.
        speed: part of the joint speeds that may be used.
        move_tolerance: how far the object may stay from the wanted place at every step of the move [m].
        turn_tolerance: the same for its orientation [rad].
        weights: of the choice: largest force, joint range, arm path; each is compared with the best there is. With
            weights beside the first every stable grasp has to be completed, which takes longer.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "allow_inf_nan": False}

    faces: int = 60
    rolls: int = 8
    keep: int = 5
    method: Literal["polyhedron", "sphere", "box"] = "polyhedron"
    hypotheses: int = 4000
    margin: float = 0.05
    speed: float = 0.5
    move_tolerance: float = 2e-3
    turn_tolerance: float = 0.0524
    weights: tuple[float, float, float] = (1.0, 0.0, 0.0)


@dataclass(frozen=True)
class Task:
    """A complete question.

    Args:
        assembly: the robot, standing where it stands.
        q_start: its joints at the beginning.
        body: the object.
        T_world_object: the object's pose at the beginning.
        scene: obstacles, in world coordinates.
        wish: what must happen.
        options: how hard to look.
        name: for messages and files.
        notes: what was assumed or repaired while reading.
        source: the task file's text, where it came from one.
    """

    assembly: Assembly
    q_start: Floats
    body: Body
    T_world_object: pin.SE3
    scene: tuple[Mesh, ...] = ()
    goal: Goal = field(default_factory=Goal)
    options: PlannerOptions = field(default_factory=PlannerOptions)
    name: str = "task"
    notes: tuple[str, ...] = ()
    source: str = ""
