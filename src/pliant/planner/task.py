"""What is asked of the planner: robot, object, surroundings, and what must happen to the object next. (theory 1)"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.constants import GRAVITY
from pliant.errors import OptionError, Problem
from pliant.objects import Body, Mesh
from pliant.robot import Assembly


class MoveFrame(Enum):
    """The frame in which a move of the object is given."""

    WORLD = "world"
    OBJECT = "object"
    PALM = "palm"


class Carrier(Enum):
    """What moves the object after the lift."""

    FINGERS = "fingers"
    ARM = "arm"
    BOTH = "both"


@dataclass(frozen=True)
class Push:
    """What may push the held object beside its weight: a given force and torque, or any force up to a size.

    Args:
        force: in the world, at the object's centre of mass [N].
        torque: in the world [N m].
        any_force: size of a force that may come from any direction [N].
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "allow_inf_nan": False}

    force: tuple[float, float, float] = (0.0, 0.0, 0.0)
    torque: tuple[float, float, float] = (0.0, 0.0, 0.0)
    any_force: float = 0.0


@dataclass(frozen=True)
class Uncertainty:
    """By how much the world may differ from the task: half widths of ranges.   (theory 8.10)

    Args:
        position: of the object along the world's x and y [m].
        turn: of the object about the vertical [rad].
        friction, mass, young: relative.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "allow_inf_nan": False}

    position: float = 0.003
    turn: float = 0.0524
    friction: float = 0.15
    mass: float = 0.05
    young: float = 0.2

    def __post_init__(self) -> None:
        most = {"position": np.inf, "turn": np.inf, "friction": 1.0, "mass": 1.0, "young": 1.0}
        wrong = [
            Problem(name, f"{getattr(self, name)!r}", "0 or more" + (", below 1" if bound == 1.0 else ""))
            for name, bound in most.items()
            if not 0.0 <= getattr(self, name) < bound
        ]
        if wrong:
            raise OptionError("uncertainty", wrong)


@dataclass(frozen=True)
class Goal:
    """What must happen to the object once it is held.

    Args:
        lift: how far it is lifted straight up first [m].
        translation: displacement of the object [m], in ``frame``.
        rotation: rotation vector: axis times angle [rad], in ``frame``, about the object's centre of mass.
        frame: world, object or palm.
        steps: into how many steps the move is cut.
        by: fingers, arm or both.
        disturbances: pushes that the held object must bear, each on top of its weight.
        gravity: acceleration in the world [m/s^2].
    """

    # Read by pydantic where a document holds a goal; a plain dict, so nothing is imported for it.
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "allow_inf_nan": False}

    lift: float = 0.05
    translation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rotation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    frame: MoveFrame = MoveFrame.PALM
    steps: int = 20
    by: Carrier = Carrier.FINGERS
    disturbances: tuple[Push, ...] = ()
    gravity: tuple[float, float, float] = (0.0, 0.0, -GRAVITY)

    @property
    def moves(self) -> bool:
        """Whether anything beyond lifting is asked."""
        return bool(np.any(self.translation) or np.any(self.rotation))

    @property
    def up(self) -> Floats:
        """Unit vector against gravity, in the world; the world's z where there is none."""
        size = float(np.linalg.norm(self.gravity))
        return -np.array(self.gravity) / size if size > 0.0 else np.array([0.0, 0.0, 1.0])


class EffortCounts(NamedTuple):
    """Budgets of a search.

    Attributes:
        hypotheses: drawn at most.
        presses: hypotheses and improvements that are pressed at most ..
        least, per_press: .. and where fewer hypotheses are drawn, ``least`` and one for every ``per_press`` of them.
        stale: where there is a grasp, the search ends when so many questions have found nothing else worth pressing.
    """

    hypotheses: int
    presses: int
    least: int
    per_press: int
    stale: int


EFFORTS = {
    "quick": EffortCounts(1000, 6, 4, 15, 60),
    "normal": EffortCounts(4000, 30, 4, 15, 300),
    "thorough": EffortCounts(10000, 300, 4, 8, 2000),
}


@dataclass(frozen=True)
class PlannerOptions:
    """How hard to search.

    Args:
        effort: quick, normal or thorough: how many hypotheses are looked at and pressed (`EFFORTS`).
        faces: faces of the bounding polyhedron; one approach direction each.
        rolls: roll angles about each approach direction.
        keep: how many plans to keep.
        method: where the approach directions come from: polyhedron, sphere or box.
        hypotheses: at most so many are drawn, evenly from all combinations; what is improved comes on top.
        margin: how far every contact stays from slipping, as part of the weight on the earth.
        speed: part of the joint speeds that may be used.
        move_tolerance: how far the object may stay from the wanted place at every step of the move [m].
        turn_tolerance: the same for its orientation [rad].
        weights: of largest force, joint range and arm path in a score, each compared with the best there is. With
            one beside the first the score chooses in place of the shortlist; every stable grasp has to be completed
            for it, which takes longer.
        shortlist: so many of the gentlest grasps are compared by joint range, then by arm path.   (theory 8.8)
        force_tolerance: .. as far as their largest force is at most this part above the smallest.
        cost: what the wanted forces make small: the largest of them, or [D]'s loading, the sum of sigma.
        standoff: distance of the finger tips from their touches at the end of the hand-arm approach [m].
        tip_targets: whether the hand-arm approach steers the tips' positions or their whole poses.
        whole_hand: links without pads, the palm too, may hold the object.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "allow_inf_nan": False}

    effort: Literal["quick", "normal", "thorough"] = "normal"
    faces: int = 60
    rolls: int = 8
    keep: int = 5
    method: Literal["polyhedron", "sphere", "box"] = "polyhedron"
    hypotheses: int = 10000
    margin: float = 0.05
    speed: float = 0.5
    move_tolerance: float = 2e-3
    turn_tolerance: float = 0.0524
    weights: tuple[float, float, float] = (1.0, 0.0, 0.0)
    shortlist: int = 5
    force_tolerance: float = 0.05
    cost: Literal["largest", "loading"] = "largest"
    standoff: float = 0.01
    tip_targets: Literal["position", "pose"] = "position"
    whole_hand: bool = False


@dataclass(frozen=True)
class Task:
    """A complete question.

    Args:
        assembly: the robot, standing where it stands.
        q_start: its joints at the beginning.
        body: the object.
        T_world_object: the object's pose at the beginning.
        scene: obstacles, in world coordinates.
        goal: what must happen.
        options: how hard to search.
        uncertainty: by how much the world may differ from all this.
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
    uncertainty: Uncertainty = field(default_factory=Uncertainty)
    name: str = "task"
    notes: tuple[str, ...] = ()
    source: str = ""
