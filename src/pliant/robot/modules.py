"""Arms and hands as modules: a description bound to its URDF, every name in it checked. (theory 3)"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.documents import parse_document, parse_mapping, read_document, resolve_inside
from pliant.errors import DescriptionError, Problem, Problems, repeated, unknown_name
from pliant.robot.description import ArmDescription, Finger, HandDescription, Preshape
from pliant.robot.model import Robot
from pliant.robot.urdf import Joint, Link, Urdf
from pliant.robot.urdf_reading import read_urdf

Description = TypeVar("Description", HandDescription, ArmDescription)

PALM_FRAME = "palm_frame"


def tip_frame(finger: str) -> str:
    """Name of the frame at a finger's tip; it and `PALM_FRAME` are added to every hand's tree as massless links."""
    return f"tip_of_{finger}"


@dataclass(frozen=True)
class _Module(Generic[Description]):
    """A description together with the robot it describes."""

    description: Description
    robot: Robot

    @property
    def name(self) -> str:
        """As in its description."""
        return self.description.name


class Hand(_Module[HandDescription]):
    """A hand description together with the robot it describes."""

    def q_open(self, preshape: str | Preshape) -> Floats:
        """Joint vector of the hand, open in this preshape."""
        return self.robot.q(self.preshape(preshape).open)

    def q_closed(self, preshape: str | Preshape) -> Floats:
        """Joint vector of the hand, closed in this preshape."""
        return self.robot.q(self.preshape(preshape).closed)

    def preshape(self, name: str | Preshape) -> Preshape:
        """A preshape by name; a preshape is given back as it is."""
        if isinstance(name, Preshape):
            return name
        known = {preshape.name: preshape for preshape in self.description.preshapes}
        if name not in known:
            raise DescriptionError(self.name, unknown_name("preshape", name, known))
        return known[name]


class Arm(_Module[ArmDescription]):
    """An arm description together with the robot it describes."""

    @property
    def q_home(self) -> Floats:
        """Joint vector of the rest position."""
        return self.robot.q(self.description.home)


def read_hand(path: str | Path, *, package_dirs: Iterable[str | Path] = ()) -> Hand:
    """Read a hand description (YAML) and its URDF; every mismatch between the two is reported at once."""
    return _hand(read_document(path, HandDescription, error=DescriptionError), Path(path), package_dirs)


def parse_hand(text: str, *, path: str | Path, package_dirs: Iterable[str | Path] = ()) -> Hand:
    """The hand that `read_hand` would give if ``text`` stood in the file ``path``; nothing is written."""
    path = Path(path)
    fields = parse_mapping(text, source=str(path), json_text=path.suffix.lower() == ".json")
    return _hand(parse_document(fields, HandDescription, source=str(path), error=DescriptionError), path, package_dirs)


def read_arm(path: str | Path, *, package_dirs: Iterable[str | Path] = ()) -> Arm:
    """Read an arm description (YAML) and its URDF."""
    description = read_document(path, ArmDescription, error=DescriptionError)
    robot = Robot(_read_tree(description, Path(path), package_dirs))
    _raise_if(path, description_problems(description, robot))
    return Arm(description, robot)


def _hand(description: HandDescription, path: Path, package_dirs: Iterable[str | Path]) -> Hand:
    urdf = _read_tree(description, path, package_dirs)
    robot = Robot(urdf)
    _raise_if(path, chain(_standalone_problems(description, robot), description_problems(description, robot)))
    return Hand(description, Robot(_with_frames(urdf, description)))


def _read_tree(description: HandDescription | ArmDescription, path: Path, package_dirs: Iterable[str | Path]) -> Urdf:
    """The URDF that the description in the file ``path`` names."""
    urdf = resolve_inside(path.parent, description.urdf, source=str(path), where="urdf")
    folders: list[str | Path] = [
        resolve_inside(path.parent, folder, source=str(path), where=f"packages[{i}]")
        for i, folder in enumerate(description.packages)
    ]
    return read_urdf(urdf, package_dirs=[*package_dirs, *folders])


def _with_frames(urdf: Urdf, hand: HandDescription) -> Urdf:
    """The tree with the palm frame and the finger tips as links of their own, so that they have poses and Jacobians."""
    frames = [(PALM_FRAME, hand.palm.link, hand.palm.T_link_palm)]
    frames += [(tip_frame(f.name), f.links[-1], pin.SE3(np.eye(3), np.array(f.tip))) for f in hand.fingers]
    return replace(
        urdf,
        links=urdf.links + tuple(Link(name) for name, _, _ in frames),
        joints=urdf.joints + tuple(Joint(f"{name}_joint", "fixed", link, name, T) for name, link, T in frames),
    )


def _raise_if(path: str | Path, problems: Iterable[Problem]) -> None:
    found = Problems(str(path), DescriptionError)
    for problem in problems:
        found.add(problem)
    found.check()


def description_problems(description: HandDescription | ArmDescription, robot: Robot) -> Iterator[Problem]:
    """Every name and value of a description that does not fit the robot it is part of."""
    if isinstance(description, HandDescription):
        yield from _hand_problems(description, robot)
    else:
        yield from _joint_problems("home", description.home, robot)
        if description.flange not in robot.link_names:
            yield unknown_name("link", description.flange, robot.link_names, where="flange")
    yield from _servo_problems(description, robot)


def fingers_without_tip_pad(hand: HandDescription, urdf: Urdf) -> tuple[str, ...]:
    """Fingers whose last link, with all that is rigidly fixed to it, has no pad."""
    fixed = [(joint.parent, joint.child) for joint in urdf.joints if not joint.moves]

    def is_bare(finger: Finger) -> bool:
        body, before = {finger.links[-1]}, 0
        while len(body) > before:
            before = len(body)
            body |= {link for pair in fixed if body & set(pair) for link in pair}
        return not body & {pad.link for pad in finger.pads}

    return tuple(finger.name for finger in hand.fingers if is_bare(finger))


def _standalone_problems(hand: HandDescription, robot: Robot) -> Iterator[Problem]:
    """What must hold of a hand that has not been bolted to anything."""
    for name in (PALM_FRAME, *(tip_frame(finger.name) for finger in hand.fingers)):
        if name in robot.link_names:
            yield Problem(
                "urdf", f"the link name '{name}' is reserved for a frame that pliant adds", "rename that link"
            )
    if hand.mount in robot.link_names and hand.mount != robot.urdf.root:
        yield Problem("mount", f"link '{hand.mount}' is not the root of the URDF", f"the root is '{robot.urdf.root}'")


def _hand_problems(hand: HandDescription, robot: Robot) -> Iterator[Problem]:
    links = frozenset(robot.link_names)

    def missing(where: str, link: str) -> Iterator[Problem]:
        if link not in links:
            yield unknown_name("link", link, robot.link_names, where=where)

    yield from missing("mount", hand.mount)
    yield from missing("palm.link", hand.palm.link)
    yield from _unique("fingers", [finger.name for finger in hand.fingers])
    yield from _unique("preshapes", [preshape.name for preshape in hand.preshapes])
    yield from _unique("tactile", [array.name for array in hand.tactile])
    parents = {joint.child: joint.parent for joint in robot.urdf.joints}
    for i, finger in enumerate(hand.fingers):
        for link in finger.links:
            yield from missing(f"fingers[{i}].links", link)
        for before, after in zip(finger.links, finger.links[1:], strict=False):
            if after in parents and before in links and not _is_ancestor(before, after, parents):
                what = f"'{after}' does not come after '{before}' in the tree"
                yield Problem(f"fingers[{i}].links", what, "list the links from the palm to the tip")
    for i, preshape in enumerate(hand.preshapes):
        yield from _joint_problems(f"preshapes[{i}].open", preshape.open, robot)
        yield from _joint_problems(f"preshapes[{i}].closed", preshape.closed, robot)
        for name in preshape.fingers or ():
            if name not in [finger.name for finger in hand.fingers]:
                yield unknown_name("finger", name, [f.name for f in hand.fingers], where=f"preshapes[{i}].fingers")
    for i, array in enumerate(hand.tactile):
        yield from missing(f"tactile[{i}].link", array.link)
        for row, column in array.missing:
            if not (0 <= row < array.rows and 0 <= column < array.columns):
                what = f"cell ({row}, {column}) is outside the array"
                yield Problem(
                    f"tactile[{i}].missing", what, f"rows 0..{array.rows - 1}, columns 0..{array.columns - 1}"
                )


def _is_ancestor(before: str, after: str, parents: dict[str, str]) -> bool:
    link = after
    while link in parents:
        link = parents[link]
        if link == before:
            return True
    return False


def _unique(where: str, names: list[str]) -> Iterator[Problem]:
    for name, count in repeated(names).items():
        yield Problem(where, f"the name '{name}' is used {count} times", "give each its own name")


def _joint_problems(where: str, values: dict[str, float], robot: Robot) -> Iterator[Problem]:
    for name, value in values.items():
        if name not in robot.joint_names:
            yield unknown_name("independent joint", name, robot.joint_names, where=where)
            continue
        i = robot.joint_index(name)
        if not robot.lower[i] - 1e-9 <= value <= robot.upper[i] + 1e-9:
            allowed = f"allowed: {robot.lower[i]:.4g} .. {robot.upper[i]:.4g}"
            yield Problem(f"{where}.{name}", f"{value:g} is outside the joint's limits", allowed)


def _servo_problems(description: HandDescription | ArmDescription, robot: Robot) -> Iterator[Problem]:
    for name in description.servos:
        if name not in robot.joint_names:
            yield unknown_name("independent joint", name, robot.joint_names, where="servos")
