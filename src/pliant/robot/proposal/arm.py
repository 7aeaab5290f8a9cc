"""From any arm's URDF to a proposal of its description: flange, home and limits, with the reason for every guess."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from scipy.optimize import least_squares

from pliant.arrays import Floats
from pliant.errors import Problem, RobotError, unknown_name
from pliant.robot.compound import SPEED, TURN_SPEED
from pliant.robot.description import ArmDescription
from pliant.robot.model import Robot
from pliant.robot.proposal.propose import Guess
from pliant.robot.surfaces import link_mesh
from pliant.robot.urdf import Joint, Link, Urdf

FLANGE_NAMES = ("tool0", "flange", "tool_flange", "link_eef", "eef", "ee_link", "ee", "tcp", "tool")
"""As people call it, the surest first; compared with the ends of links' names."""
SIDEWAYS = np.radians(20.0)
"""A flange whose z is further off the way out of the arm than this looks sideways."""
INSIDE = 2e-3
"""A flange that lies deeper in the arm's last link than this is no mounting face [m]."""
FASTEST, FASTEST_SLIDE = 12.0, 5.0
"""Faster joints than this are placeholders [rad/s, m/s]."""
REACHED, HIGH = 0.55, 0.35
"""Home: the flange so far in front and so high, as shares of the arm's reach."""


@dataclass(frozen=True)
class ArmProposal:
    """A proposed description, the guesses in it, and what will not work until somebody corrects it.

    ``urdf`` is the tree it was read from, with a flange and limits where it lacks them.
    """

    description: ArmDescription
    guesses: tuple[Guess, ...]
    urdf: Urdf
    warnings: tuple[str, ...] = ()


class FlangeFit(NamedTuple):
    """How a link stands to the end of its arm.

    Attributes:
        outward: unit direction out of the arm, in the link's frame.
        off: angle between the link's z and that [rad].
        inside: how far the arm's last body reaches beyond the link's origin along ``outward`` [m].
    """

    outward: Floats
    off: float
    inside: float

    def problem(self, link: str) -> str:
        """Why no hand should be bolted to the link; empty where it may be."""
        words = []
        if self.off > SIDEWAYS:
            words.append(f"its z looks {np.degrees(self.off):.0f} deg off the way out of the arm")
        if self.inside > INSIDE:
            words.append(f"it lies {1e3 * self.inside:.0f} mm inside the arm's last link")
        return f"flange '{link}': {' and '.join(words)}: a hand would stand inside the wrist" if words else ""


def flange_fit(robot: Robot, flange: str) -> FlangeFit | None:
    """Whether a link looks out of its arm; None where no joint before it turns, so that there is no way to tell.

    Out is along the axis of the last joint, away from the joint before it.
    """
    above = {joint.child: joint for joint in robot.urdf.joints}
    body, link = [flange], flange
    while link in above and not above[link].moves:
        link = above[link].parent
        body.append(link)
    if link not in above or above[link].kind == "prismatic":
        return None
    joint, q = above[link], robot.neutral
    T_flange_world = robot.pose(flange, q).inverse()
    T_flange_joint = T_flange_world * robot.pose(joint.child, q)
    axis = T_flange_joint.rotation @ np.array(joint.axis)
    before = above.get(joint.parent)
    while before is not None and not before.moves:
        before = above.get(before.parent)
    points = [
        (T_flange_world * robot.pose(name, q)).act(v)
        for name in body
        if (mesh := link_mesh(robot.urdf.link(name))) is not None
        for v in mesh.vertices
    ]
    ends = []
    if before is not None:  # the wrist lies behind the flange; the last body may lie on either side of its joint
        ends.append(float(-(T_flange_world.act(robot.pose(before.child, q).translation) @ axis)))
    ends.append(float(-(T_flange_joint.translation @ axis)))
    if points:
        ends.append(float((np.mean(points, axis=0) - T_flange_joint.translation) @ axis))
    side = next((end for end in ends if abs(end) > 1e-3), 1.0)
    outward = axis * np.sign(side)
    off = float(np.arccos(np.clip(outward[2], -1.0, 1.0)))
    inside = float((np.array(points) @ outward).max()) if points else 0.0
    return FlangeFit(outward, off, max(inside, 0.0))


def propose_arm(urdf: Urdf, *, flange: str | None = None) -> ArmProposal:
    """Propose the description of an arm.

    Args:
        flange: the link a hand is bolted to; guessed if left out.

    Raises:
        RobotError: no moving joint, a hand at its end, or no such link.
    """
    robot = Robot(urdf)
    guesses: list[Guess] = []
    chain = _chain(robot)
    if flange is None:
        flange, guess = _flange(robot, chain)
        guesses.append(guess)
    elif flange not in robot.link_names:
        raise RobotError(urdf.source, unknown_name("link", flange, robot.link_names, where="flange"))
    whole = urdf
    fit = flange_fit(robot, flange)
    if fit is not None and (words := fit.problem(flange)):
        whole, new = _with_flange(urdf, flange, fit)
        what = f"'{new}' is added: its z looks out of the arm, its origin is on the outermost face"
        guesses.append(Guess("flange", what, words, 0.6))
        flange = new
    whole, limits = _with_speeds(whole)
    guesses += limits
    robot = Robot(whole)
    home, guess = _home(robot, flange)
    guesses.append(guess)
    name = re.sub(r"[^A-Za-z0-9_]+", "_", urdf.name).strip("_").lower() or "arm"
    description = ArmDescription(
        kind="arm",
        version=1,
        name=name,
        title=f"{urdf.name}, {robot.dof} joints (proposed)",
        urdf=f"{name}.urdf",
        flange=flange,
        home={joint: round(float(value), 4) for joint, value in zip(robot.joint_names, home, strict=True)},
        sources=(f"proposed from the URDF '{urdf.name}'",),
        assumed=tuple(f"{g.about}: {g.what} ({g.reason})" for g in guesses if g.confidence < 0.5),
    )
    return ArmProposal(description, tuple(guesses), whole, tuple(_warnings(robot)))


def _chain(robot: Robot) -> list[Joint]:
    """Moving joints from the root to the end; an arm is one chain."""
    urdf = robot.urdf
    above = {joint.child: joint for joint in urdf.joints}

    def path(link: str) -> list[Joint]:
        joints = []
        while link in above:
            joints.append(above[link])
            link = above[link].parent
        return [joint for joint in reversed(joints) if joint.moves]

    chain = max((path(link.name) for link in urdf.links), key=len)
    if not chain:
        raise RobotError(urdf.source, Problem("", "no joint moves", "give the URDF of an arm"))
    beside = [joint.name for joint in urdf.joints if joint.moves and joint not in chain]
    if beside:
        names = ", ".join(beside[:4]) + ", ..." * (len(beside) > 4)
        what = f"{names} move beside the chain that ends with '{chain[-1].name}'"
        raise RobotError(urdf.source, Problem("", what, "give the arm alone: a hand is a module of its own"))
    return chain


def _flange(robot: Robot, chain: list[Joint]) -> tuple[str, Guess]:
    """Of the links rigidly on the last joint: the one with the best name, else the last one in the tree."""
    body = [chain[-1].child]
    for name in body:
        body += [joint.child for joint in robot.urdf.joints if joint.parent == name and not joint.moves]
    for wanted in FLANGE_NAMES:
        for name in body:
            if re.fullmatch(rf"(.*[^a-z0-9])?{wanted}", name.lower()):
                return name, Guess("flange", f"'{name}'", "it is on the last joint and is called so", 0.85)
    name = body[-1]
    return name, Guess("flange", f"'{name}'", f"the last link on the last joint '{chain[-1].name}'", 0.6)


def _with_flange(urdf: Urdf, old: str, fit: FlangeFit) -> tuple[Urdf, str]:
    """The tree with a flange that looks out of the arm, on its outermost face."""
    taken = {link.name for link in urdf.links} | {joint.name for joint in urdf.joints}
    name = "flange"
    while name in taken or f"{name}_joint" in taken:
        name = f"hand_{name}"
    z = np.round(fit.outward, 9)
    helper = np.eye(3)[int(np.argmin(np.abs(z)))]
    y = np.cross(z, helper) / np.linalg.norm(np.cross(z, helper))
    R = np.column_stack([np.cross(y, z), y, z]) if fit.off > SIDEWAYS else np.eye(3)
    T = pin.SE3(R, fit.outward * (fit.inside if fit.inside > INSIDE else 0.0))
    joint = Joint(f"{name}_joint", "fixed", old, name, T)
    return replace(urdf, links=(*urdf.links, Link(name)), joints=(*urdf.joints, joint)), name


def _with_speeds(urdf: Urdf) -> tuple[Urdf, list[Guess]]:
    """Trajectories are timed with speeds: joints without a believable one get a careful one."""
    guessed: dict[str, float] = {}
    for joint in urdf.joints:
        slides = joint.kind == "prismatic"
        if joint.moves and joint.velocity > (FASTEST_SLIDE if slides else FASTEST):
            guessed[joint.name] = SPEED if slides else TURN_SPEED
    joints = tuple(replace(j, velocity=guessed[j.name]) if j.name in guessed else j for j in urdf.joints)
    guesses = []
    if guessed:
        what = f"{', '.join(guessed)}: {SPEED:g} m/s or {TURN_SPEED:g} rad/s"
        reason = "the URDF gives no speed, or one that no arm has"
        guesses.append(Guess("limits.velocity", what, reason, 0.3))
    weak = [j.name for j in urdf.joints if j.moves and not np.isfinite(j.effort)]
    if weak:
        what = f"{', '.join(weak)}: no limit"
        guesses.append(Guess("limits.torque", what, "the URDF gives no effort; set servos.JOINT.max_torque", 0.3))
    return replace(urdf, joints=joints), guesses


def _home(robot: Robot, flange: str) -> tuple[Floats, Guess]:
    """In front of the base, the flange looking down, joints near the middle of their ranges."""
    lower, upper = (np.clip(v, -np.pi, np.pi) for v in (robot.lower, robot.upper))
    span = np.maximum(upper - lower, 1e-6)
    lower, upper = lower + 0.05 * span, upper - 0.05 * span
    middle = np.clip(robot.neutral, lower, upper)
    rng = np.random.default_rng(0)
    draws = [lower + rng.random(robot.dof) * (upper - lower) for _ in range(200)]
    places = np.array([robot.pose(flange, q).translation for q in draws])
    base = robot.pose(robot.urdf.root, middle).translation
    reach = float(np.linalg.norm(places - base, axis=1).max())
    if not reach or not np.any(robot.joints_moving(flange)):
        allowed = "name a link at the end of the arm with --flange"
        raise RobotError(robot.urdf.source, Problem("flange", f"no joint moves '{flange}'", allowed))
    goal = base + reach * np.array([REACHED, 0.0, HIGH])

    def residual(q: Floats) -> Floats:
        T = robot.pose(flange, q)
        down = T.rotation[:, 2] + np.array([0.0, 0.0, 1.0])
        return np.concatenate([2.0 * down, 2.0 * (T.translation - goal) / reach, 0.1 * (q - middle) / span])

    starts = [middle, *sorted(draws, key=lambda q: float(np.linalg.norm(residual(q))))[:6]]
    found = [least_squares(residual, np.clip(q, lower, upper), bounds=(lower, upper), max_nfev=80) for q in starts]
    free = [f for f in found if not _overlaps(robot, f.x)] or found
    best = min(free, key=lambda f: float(f.cost))
    T = robot.pose(flange, best.x)
    off = float(np.degrees(np.arccos(np.clip(-T.rotation[2, 2], -1.0, 1.0))))
    x, _, z = T.translation - base
    what = f"the flange {x:.2f} m in front of the base, {z:.2f} m up, {off:.0f} deg off looking down"
    return best.x, Guess("home", what, f"{REACHED:.0%} of the arm's reach of {reach:.2f} m", 0.6 if off < 10 else 0.3)


def _overlaps(robot: Robot, q: Floats) -> bool:
    """Whether links that are no neighbours overlap."""
    import coal

    from pliant.robot.proposal.preshapes import collision_model

    shapes = {link.name: mesh for link in robot.urdf.links if (mesh := link_mesh(link)) is not None}
    models = {name: collision_model(mesh) for name, mesh in shapes.items()}
    drivers = {name: tuple(np.flatnonzero(robot.joints_moving(name))) for name in models}
    names = list(models)
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            if len(set(drivers[a]) ^ set(drivers[b])) < 2:
                continue
            places = [robot.pose(n, q) for n in (a, b)]
            Ta, Tb = (coal.Transform3s(np.array(T.rotation), np.array(T.translation)) for T in places)
            if coal.collide(models[a], Ta, models[b], Tb, coal.CollisionRequest(), coal.CollisionResult()):
                return True
    return False


def _warnings(robot: Robot) -> Iterator[str]:
    bare = [link.name for link in robot.urdf.links if link.visuals and not link.collisions]
    if not any(link.collisions for link in robot.urdf.links):
        yield "no link has a collision shape: nothing keeps the arm from running into things"
    elif bare:
        yield f"no collision shape on {', '.join(bare)}: nothing keeps these links from running into things"
