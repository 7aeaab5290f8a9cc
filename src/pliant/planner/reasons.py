"""Why hypotheses are rejected: every reason with its stage, its words, the unit of its margin and what to change."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Stage(StrEnum):
    """The stages in which a hypothesis can be rejected, in their order."""

    OPEN_HAND = "open hand"
    CLOSING = "closing"
    CONTACT = "contact"
    RANK = "rank"
    STABILITY = "stability"
    REACH = "reach"
    MANIPULATION = "manipulation"
    APPROACH = "approach"
    CHOICE = "choice"


class Reason(StrEnum):
    """Why a hypothesis is rejected. The value is its words, as files and tables have them.

    Attributes:
        stage: where it is found, unless a failure says otherwise.
        unit: of the margin by which the hypothesis failed, unless a failure says otherwise.
        remedy: what to change.
    """

    stage: Stage
    unit: str
    remedy: str

    def __new__(cls, words: str, stage: Stage, unit: str, remedy: str) -> Reason:
        """A member from its words and facts."""
        member = str.__new__(cls, words)
        member._value_ = words
        member.stage, member.unit, member.remedy = stage, unit, remedy
        return member

    @classmethod
    def from_words(cls, words: str) -> Reason:
        """The reason with these words; one of another version is no member, but keeps its words."""
        return cls(words)  # type: ignore[call-arg]  # mypy takes __new__ for what a call needs

    @classmethod
    def _missing_(cls, value: object) -> Reason | None:
        """A reason of another version: nothing but its words is known."""
        if not isinstance(value, str):
            return None
        foreign = str.__new__(cls, value)
        foreign._name_, foreign._value_ = "FOREIGN", value
        foreign.stage, foreign.unit = Stage.CHOICE, ""
        foreign.remedy = "read the plan with the version that wrote it"
        return foreign

    OPEN_HAND_IN_OBJECT = (
        "open hand inside the object",
        Stage.OPEN_HAND,
        "m",
        "the object may be too large for the hand, or too near to the palm",
    )
    OPEN_HAND_HITS = (
        "open hand or arm hits something",
        Stage.OPEN_HAND,
        "m",
        "leave more room around the object: a stand, or fewer obstacles",
    )
    TOO_FEW_FINGERS = (
        "fewer than two fingers touch",
        Stage.CLOSING,
        "fingers",
        "the object may be too small for the hand; try another preshape or more hypotheses",
    )
    NO_PAD = (
        "touches with a link that has no pad",
        Stage.CLOSING,
        "",
        "give more links pads in the hand's description, or let the whole hand hold (planner.whole_hand: true)",
    )
    CLOSING_HITS = ("closing fingers hit something", Stage.CLOSING, "m", "leave more room around the object")
    TOO_FEW_REGIONS = (
        "fewer than two regions",
        Stage.CONTACT,
        "regions",
        "the object may be too small for the hand; try another preshape or more hypotheses",
    )
    PUSHED_AWAY = (
        "pushed away",
        Stage.CONTACT,
        "N",
        "raise the friction, or try more hypotheses: the touches do not oppose each other",
    )
    SLIPS = ("slips", Stage.CONTACT, "N", "raise the friction or the permitted force")
    NO_REST = ("does not come to rest", Stage.CONTACT, "N", "try more hypotheses: the touches barely oppose each other")
    NO_STIFFNESS = (
        "a contact does not push back",
        Stage.CONTACT,
        "N/m",
        "try more hypotheses: a touch lies at an edge or a corner of a thin wall",
    )
    NEVER_HELD = ("never held", Stage.CONTACT, "N", "try more hypotheses")
    FORCE_LIMIT = ("force above the limit", Stage.CONTACT, "of the limit", "raise the permitted force or the friction")
    PRESSURE_LIMIT = (
        "pressure above the limit",
        Stage.CONTACT,
        "of the limit",
        "raise the permitted pressure or the friction, or use softer pads",
    )
    PRESSED_TOO_HARD = (
        "steady only when pressed harder than wanted",
        Stage.CONTACT,
        "m",
        "try more hypotheses: the touches barely steady it",
    )
    FREE_MOTION = (
        "a motion of the object is free",
        Stage.RANK,
        "motions",
        "try more hypotheses, or more fingers: these contacts cannot answer every wrench",
    )
    NO_SQUEEZE = (
        "the joints cannot squeeze",
        Stage.RANK,
        "joints",
        "try another preshape or other fingers: these do not move against each other",
    )
    CANNOT_COMMAND = (
        "the joints cannot command the forces that hold it",
        Stage.RANK,
        "N",
        "try another preshape or other fingers, or more hypotheses",
    )
    FORCE_TOO_SMALL = ("force too small", Stage.STABILITY, "N", "raise the permitted force, or try more hypotheses")
    FRICTION_UNBALANCED = (
        "friction does not balance",
        Stage.STABILITY,
        "of the friction there is",
        "raise the friction or the permitted force",
    )
    NO_FORCES = ("no forces hold the weight", Stage.STABILITY, "", "raise the friction, or try more hypotheses")
    NEEDS_MORE_FORCE = (
        "needs more force than allowed",
        Stage.STABILITY,
        "N",
        "raise the permitted force or the friction",
    )
    BESIDE_PAD = ("touches beside the pad", Stage.STABILITY, "m", "check the pads' regions in the hand's description")
    BESIDE_CELLS = (
        "touches at the edge of what is felt",
        Stage.STABILITY,
        "m",
        "try more hypotheses, or check the tactile arrays in the hand's description",
    )
    TORQUE_LIMIT = (
        "joint torque above the limit",
        Stage.STABILITY,
        "of the limit",
        "a lighter object or a stronger hand",
    )
    FINGERS_FALL_SHORT = (
        "fingers cannot carry out the move",
        Stage.REACH,
        "of the move",
        "allow the arm to help (by: both), ask for less, or another axis",
    )
    ARM_FALLS_SHORT = (
        "arm cannot follow the move",
        Stage.REACH,
        "m",
        "move the object nearer to the middle of the arm's reach",
    )
    LEAVES_PATH = (
        "object leaves its path",
        Stage.MANIPULATION,
        "m",
        "ask for less, or allow the arm to help (by: both)",
    )
    MOVE_HITS = (
        "hits something",
        Stage.MANIPULATION,
        "m",
        "lift higher before the move, or leave more room around the object",
    )
    OBJECT_HITS = (
        "the object hits something",
        Stage.MANIPULATION,
        "m",
        "lift higher before the move, or leave more room",
    )
    PRESSED_INTO_SUPPORT = (
        "the squeeze turns the object into something",
        Stage.MANIPULATION,
        "m",
        "try more hypotheses: the fingers do not oppose each other well",
    )
    IDLE_LINK_TOUCHES = (
        "an idle part of the hand touches the moved object",
        Stage.MANIPULATION,
        "m",
        "ask for less, or try another preshape that keeps idle fingers further away",
    )
    PALM_OUT_OF_REACH = (
        "palm out of the arm's reach",
        Stage.APPROACH,
        "m",
        "move the object or the robot's base nearer",
    )
    LIFT_OUT_OF_REACH = (
        "arm cannot lift so high",
        Stage.APPROACH,
        "m",
        "lift less, or move the object nearer to the middle of the arm's reach",
    )
    LIFT_HITS = ("hits something while lifting", Stage.APPROACH, "m", "lift less, or leave more room above the object")
    NO_FREE_PATH = ("no free way to the object", Stage.APPROACH, "", "fewer obstacles, or another start of the arm")
    LESS_PROMISING = (
        "others promise less force",
        Stage.CHOICE,
        "N",
        "search longer (--effort thorough) to have it pressed as well",
    )
    SAME_GRASP = (
        "almost the same as a better one",
        Stage.CHOICE,
        "m",
        "only grasps that differ are kept: palm by 10 mm or 10 degrees, or other fingers",
    )
    LESS_FORCE = ("others need less force", Stage.CHOICE, "N", "keep more plans (planner.keep) to have it among them")
    BETTER_RANGE = (
        "others among the gentlest keep their joints nearer to the middle",
        Stage.CHOICE,
        "",
        "keep more plans (planner.keep), or a shorter shortlist (planner.shortlist)",
    )
    BETTER_SCORE = (
        "others are better by the weights",
        Stage.CHOICE,
        "N",
        "keep more plans (planner.keep), or change the weights",
    )


@dataclass(frozen=True)
class Failure:
    """Why a stage rejects a hypothesis.

    Args:
        reason: why.
        margin: by how much it failed, in ``unit``; larger is worse.
        unit: of the margin; the reason's own by default.
        detail: which link, joint or contact, with numbers.
        found_in: the stage, where it is not the reason's own.
    """

    reason: Reason
    margin: float
    unit: str = ""
    detail: str = ""
    found_in: Stage | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", self.unit or self.reason.unit)

    @property
    def stage(self) -> Stage:
        """Where."""
        return self.found_in or self.reason.stage

    def rejection(self, number: int) -> Rejection:
        """The rejection of a hypothesis for this reason."""
        return Rejection(number, self.stage, self.reason, float(self.margin), self.unit, self.detail)


@dataclass(frozen=True)
class Rejection:
    """Why a hypothesis was rejected.

    Args:
        number: of the hypothesis.
        stage: where.
        reason: why.
        margin: by how much it failed, in ``unit``; larger is worse.
        unit: of the margin.
        detail: which link, joint or contact, with numbers.
    """

    number: int
    stage: Stage
    reason: Reason
    margin: float
    unit: str = ""
    detail: str = ""
