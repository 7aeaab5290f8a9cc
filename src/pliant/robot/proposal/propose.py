"""From any hand's URDF to a proposal of its description, with the reason and the confidence of every guess."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from pliant.errors import Problem, RobotError
from pliant.robot.description import Finger, HandDescription
from pliant.robot.model import Robot
from pliant.robot.modules import fingers_without_tip_pad
from pliant.robot.proposal.choice import SMALL, PreshapeChoice
from pliant.robot.proposal.closing import Bending, find_bendings, find_thumb
from pliant.robot.proposal.fingers import HandTree, find_fingers, vector3
from pliant.robot.proposal.mount import find_mount, with_mount
from pliant.robot.proposal.pads import FingerPads, find_pads
from pliant.robot.proposal.palm import find_palm
from pliant.robot.proposal.preshapes import round_preshape, wrap_preshape
from pliant.robot.urdf import Urdf

WORDS = {
    "thumb": ("thumb", "th", "pollex"),
    "index": ("index", "ff", "fore", "forefinger"),
    "middle": ("middle", "mf", "mid"),
    "ring": ("ring", "rf"),
    "little": ("little", "pinky", "pinkie", "lf", "small"),
    "left": ("left",),
    "right": ("right",),
}


@dataclass(frozen=True)
class Guess:
    """One guess: about what (a field of the description), what, why, and how sure, 0 .. 1."""

    about: str
    what: str
    reason: str
    confidence: float


@dataclass(frozen=True)
class Proposal:
    """A proposed description and the guesses in it; ``urdf`` is the tree it was read from, with a mount.

    ``warnings`` say what will not work until somebody corrects it, ``notes`` what was odd and how it was taken.
    ``largest_ball`` has for every preshape the diameter of the largest ball that it takes and holds [m], 0 for none.
    """

    description: HandDescription
    guesses: tuple[Guess, ...]
    urdf: Urdf
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    largest_ball: dict[str, float] = field(default_factory=dict)


def propose_hand(urdf: Urdf) -> Proposal:
    """Propose the description of a hand by its tree of links, its joint ranges and its surfaces.

    Raises:
        RobotError: no two fingers, an arm before the hand, or no surface to touch with.
    """
    urdf = _with_collisions(urdf)
    robot = Robot(urdf)
    tree = find_fingers(robot)
    bendings = find_bendings(tree)
    thumb = find_thumb(robot, bendings)
    pads = [find_pads(tree, bending) for bending in bendings]
    bare = [tree.chains[i].links[-1] for i, found in enumerate(pads) if not found.pads]
    if bare:
        reasons = "; ".join(reason for found in pads for reason in found.left_out)
        what = Problem(f"finger of '{bare[0]}'", f"no part of its surface can be a pad ({reasons})", "")
        raise RobotError(urdf.source, what)
    names = _names(tree, thumb)
    choice = PreshapeChoice(tree, bendings, pads, thumb, names)
    tips = choice.tips()
    preshapes = [tips.preshape]
    palm = find_palm(tree, bendings, pads, thumb, tips.preshape)
    few = choice.fewer(tips)
    preshapes += [chosen.preshape for chosen in few]
    if not all(bending.linear for bending in bendings):
        preshapes.append(wrap_preshape(tree, bendings, tips.contact))
    all_round = round_preshape(tree, bendings, palm.palm, tips.preshape)
    if all_round is not None:
        preshapes.append(all_round[0])
    balls = {preshape.name: round(choice.ball(preshape), 3) for preshape in preshapes}
    mount = find_mount(tree, bendings, preshapes[0])
    whole = with_mount(urdf, mount)
    order = [i for i in range(len(bendings)) if i != thumb] + [thumb]
    fingers = [_finger(names[i], bendings[i], pads[i]) for i in order]
    name = re.sub(r"[^A-Za-z0-9_]+", "_", urdf.name).strip("_").lower() or "hand"
    guesses = [*_tree_guesses(tree, names, thumb), *_finger_guesses(tree, bendings, pads, names, order)]
    guesses.append(Guess("palm", f"approaches along {_vector(palm.palm.approach)}", palm.reason, palm.confidence))
    guesses.append(Guess("mount", f"'{whole.root}' is bolted to the arm", mount.reason, mount.confidence))
    for chosen in (tips, *few):
        contact, shape = chosen.contact, chosen.preshape
        meet = f"the tips of {', '.join(shape.fingers)} meet" if shape.fingers is not None else "the tips meet"
        apart = f" over something of {1000 * contact.apart:.0f} mm" if contact.apart else ""
        reason = (
            f"{_ball(balls[shape.name])}; best joints within the limits: pads {1000 * contact.gap:.0f} mm off meeting"
            f"{apart}, {np.degrees(contact.facing):.0f} deg from facing each other"
        )
        sure = float(np.clip(0.9 - 10 * contact.gap - 0.3 * contact.facing, 0.2, 0.9))
        guesses.append(Guess(f"preshapes.{shape.name}", meet, reason, sure if balls[shape.name] > 0.0 else 0.2))
    if all_round is not None:
        reason = (
            f"{_ball(balls['round'])}; swung so that the fingers come from all sides (mean of their directions "
            f"{all_round[1]:.2f})"
        )
        guesses.append(Guess("preshapes.round", "the fingers close on a centre", reason, 0.7))
    if any(preshape.name == "wrap" for preshape in preshapes):
        reason = f"{_ball(balls['wrap'])}; from nearly straight until a finger would touch the palm or another one"
        guesses.append(Guess("preshapes.wrap", "the fingers wrap", reason, 0.6))
    guesses.append(Guess("pads.max_force", f"{fingers[0].pads[0].max_force:g} N", "a plain guess", 0.2))
    cover = f"rubber of {(fingers[0].pads[0].young or 0.0) / 1e6:g} MPa"
    guesses.append(Guess("pads.young", cover, "as most hands have it; leave young out where the links are bare", 0.3))
    description = HandDescription(
        kind="hand",
        version=1,
        name=name,
        title=f"{urdf.name}, {len(fingers)} fingers, {robot.dof} drives (proposed)",
        urdf=f"{name}.urdf",
        mount=whole.root,
        palm=palm.palm,
        fingers=tuple(fingers),
        preshapes=tuple(preshapes),
        sources=(f"proposed from the URDF '{urdf.name}'",),
        assumed=tuple(f"{g.about}: {g.what} ({g.reason})" for g in guesses if g.confidence < 0.5),
    )
    return Proposal(
        description,
        tuple(guesses),
        whole,
        tuple(_warnings(description, whole, pads, balls)),
        tuple(_notes(whole, pads)),
        balls,
    )


def _with_collisions(urdf: Urdf) -> Urdf:
    """Of a hand that is only seen: its visual shapes are what touches, too."""
    if any(link.collisions for link in urdf.links) or not any(link.visuals for link in urdf.links):
        return urdf
    links = tuple(replace(link, collisions=link.visuals) for link in urdf.links)
    note = "no link has a collision shape: the visual shapes are taken for them"
    return replace(urdf, links=links, notes=(*urdf.notes, note))


def _ball(diameter: float) -> str:
    if diameter == 0.0:
        return "no ball that it takes is held by it"
    return f"takes and holds balls up to {1000 * diameter:.0f} mm"


def _warnings(
    description: HandDescription, urdf: Urdf, pads: list[FingerPads], balls: dict[str, float]
) -> Iterator[str]:
    if max(balls.values()) < SMALL:
        yield f"no preshape takes and holds a ball of {1000 * SMALL:.0f} mm: correct open and closed of the preshapes"
    reasons = {text.partition(": ")[0]: text.partition(": ")[2] for found in pads for text in found.left_out}
    for name in fingers_without_tip_pad(description, urdf):
        link = next(finger.links[-1] for finger in description.fingers if finger.name == name)
        why = f" ({reasons[link]})" if link in reasons else ""
        yield f"finger '{name}' has no pad on its last link '{link}'{why}: nothing can be held with its tip"


def _notes(urdf: Urdf, pads: list[FingerPads]) -> Iterator[str]:
    links: dict[str, list[str]] = {}
    for link, note in (item for found in pads for item in found.notes):
        links.setdefault(note, []).append(link)
    yield from (f"pad on {', '.join(names)}: {note}" for note, names in links.items())
    yield from urdf.notes


def _finger(name: str, bending: Bending, found: FingerPads) -> Finger:
    chain = bending.chain
    links = [link for link in chain.links if link != chain.tip_link] + [chain.tip_link]
    return Finger(name=name, links=tuple(links), tip=vector3(np.round(chain.tip, 4)), pads=found.pads)


def _names(tree: HandTree, thumb: int) -> list[str]:
    """Names that people would use, from the names of links; numbers where those tell nothing."""
    names_of_links = [[link.lower() for link in chain.links] for chain in tree.chains]

    def has(links: list[str], word: str) -> bool:
        if len(word) > 3:
            return any(word in link for link in links)
        return all(re.match(rf"(.*[^a-z])?{word}", link) for link in links)  # as ffknuckle, rh_ffknuckle

    def tells(links: list[str], word: str) -> bool:
        """A word that several fingers have ("middle" link) names none of them."""
        return has(links, word) and sum(has(other, word) for other in names_of_links) == 1

    found: list[str | None] = [
        next((name for name, words in WORDS.items() if any(tells(links, word) for word in words)), None)
        for links in names_of_links
    ]
    if len({name for name in found if name}) < len([name for name in found if name]):
        found = [name if found.count(name) == 1 else None for name in found]
    count = 0
    for i, name in enumerate(found):
        if name is None:
            count += 1
            human = i == thumb and len(found) > 2 and "thumb" not in found
            found[i] = "thumb" if human else f"finger_{count}"
    return [str(name) for name in found]


def _tree_guesses(tree: HandTree, names: list[str], thumb: int) -> list[Guess]:
    moving = ", ".join(f"{name}: {len(chain.joints)}" for name, chain in zip(names, tree.chains, strict=True))
    guesses = [
        Guess(
            "fingers",
            f"{len(names)} fingers",
            f"so many chains of moving joints leave '{tree.palm_link}' ({moving} joints)",
            0.95 if not tree.dropped else 0.7,
        ),
        Guess(
            "fingers",
            f"'{names[thumb]}' closes against the others",
            "its tip moves in the direction most unlike the other tips'",
            0.6 if len(names) > 2 else 0.9,
        ),
    ]
    guesses += [Guess("fingers", f"left out {text.split(':')[0]}", text, 0.6) for text in tree.dropped]
    if tree.wrist:
        joints = ", ".join(joint.name for joint in tree.wrist)
        guesses.append(Guess("wrist", f"{joints} stay at neutral", "they move the palm, not a finger", 0.9))
    return guesses


def _finger_guesses(
    tree: HandTree, bendings: list[Bending], pads: list[FingerPads], names: list[str], order: list[int]
) -> list[Guess]:
    joints = tree.robot.joint_names
    guesses = []
    for i in order:
        bending, found = bendings[i], pads[i]
        bends = ", ".join(f"{joints[k]} {'+' if bending.closing.sign[k] > 0 else '-'}" for k in bending.bends)
        guesses.append(
            Guess(f"fingers.{names[i]}", f"closes by {bends}", bending.closing.reason, bending.closing.confidence)
        )
        on = ", ".join(pad.link for pad in found.pads)
        left = f"; none on {'; '.join(found.left_out)}" if found.left_out else ""
        reason = f"the side that leads when the finger closes{left}"
        sure = 0.8 if any(pad.link in bending.chain.last for pad in found.pads) else 0.2
        guesses.append(Guess(f"fingers.{names[i]}.pads", f"on {on}", reason, sure))
    return guesses


def _vector(v: tuple[float, float, float]) -> str:
    return "(" + ", ".join(f"{x:g}" for x in v) + ")"
