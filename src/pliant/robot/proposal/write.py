"""A proposal as a folder: the description with its guesses as comments, the URDF and its meshes beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pliant.documents import make_folder
from pliant.errors import OptionError
from pliant.file_bytes import read_bytes, write_bytes
from pliant.robot.description import Finger, HandDescription, Pad, Preshape, Vector3
from pliant.robot.modules import Hand, parse_hand
from pliant.robot.proposal.arm import ArmProposal
from pliant.robot.proposal.propose import Guess, Proposal
from pliant.robot.urdf import Link, LinkShape, Urdf
from pliant.robot.urdf_reading import MAX_MESH_BYTES

Guesses = Sequence[Guess]


def write_proposal(proposal: Proposal, folder: str | Path) -> Path:
    """Write ``hand.yaml``, the URDF and its meshes into a folder of their own; the path of ``hand.yaml``."""
    folder = make_folder(folder)
    urdf = _with_meshes_in(proposal.urdf, folder)
    write_bytes(folder / proposal.description.urdf, urdf.to_xml().encode(), error=OptionError)
    path = folder / "hand.yaml"
    write_bytes(path, proposal_text(proposal).encode(), error=OptionError)
    return path


def write_arm_proposal(proposal: ArmProposal, folder: str | Path) -> Path:
    """Write ``arm.yaml``, the URDF and its meshes into a folder of their own; the path of ``arm.yaml``."""
    folder, arm = make_folder(folder), proposal.description
    urdf = _with_meshes_in(proposal.urdf, folder)
    write_bytes(folder / arm.urdf, urdf.to_xml().encode(), error=OptionError)
    lines = [
        f"# A proposal for {arm.name}, to be looked at and corrected.",
        "# Every guess says how sure it is and why. Check with: pliant check arm.yaml",
        "# SI units: m, rad.",
        "kind: arm",
        "version: 1",
        f"name: {_word(arm.name)}",
        f"title: {_quoted(arm.title)}",
        *(_comment(guess) for guess in proposal.guesses if guess.about.startswith("limits")),
        f"urdf: {_quoted(arm.urdf)}",
        *_comments(proposal.guesses, "flange"),
        f"flange: {_quoted(arm.flange)}",
        *_comments(proposal.guesses, "home"),
        f"home: {{{', '.join(f'{_quoted(name)}: {value!r}' for name, value in arm.home.items())}}}",
        *_listed("sources", arm.sources),
        *_listed("assumed", arm.assumed),
    ]
    path = folder / "arm.yaml"
    write_bytes(path, "\n".join([*lines, ""]).encode(), error=OptionError)
    return path


def save_corrected(
    hand: HandDescription,
    path: Path,
    *,
    before: HandDescription,
    guesses: Sequence[Guess] = (),
    package_dirs: Iterable[str | Path] = (),
) -> Hand:
    """Write a corrected description in place of the old one, if it can be read again; the hand that will be read.

    Guesses about what was corrected are guesses no more and go; the others stay as comments.
    """
    left = [guess for guess in guesses if _part(hand, guess.about) == _part(before, guess.about)]
    text = description_text(hand, left)
    read = parse_hand(text, path=path, package_dirs=package_dirs)
    write_bytes(path, text.encode(), error=OptionError)
    return read


def proposal_text(proposal: Proposal) -> str:
    """The description as YAML; every guess stands as a comment above what it is about."""
    return (
        f"# A proposal for {proposal.description.name}, to be looked at and corrected.\n"
        "# Every guess says how sure it is and why. Check with: pliant check hand.yaml\n"
        f"{description_text(proposal.description, proposal.guesses)}"
    )


def description_text(hand: HandDescription, guesses: Sequence[Guess] = ()) -> str:
    """A hand's description as YAML, guesses as comments; read again it is the same (directions of pads to 1e-9)."""
    lines = [
        "# SI units: m, rad, N, Pa.",
        "kind: hand",
        "version: 1",
        f"name: {_word(hand.name)}",
        f"title: {_quoted(hand.title)}",
        f"urdf: {_quoted(hand.urdf)}",
        *_comments(guesses, "mount"),
        f"mount: {_quoted(hand.mount)}",
    ]
    palm = hand.palm
    lines += _comments(guesses, "wrist") + _comments(guesses, "palm")
    lines += [
        f"palm: {{link: {_quoted(palm.link)}, origin: {_list(palm.origin)}, approach: {_list(palm.approach)}, "
        f"closing: {_list(palm.closing)}, height: {_number(palm.height)}, length: {_number(palm.length)}}}"
    ]
    lines += [
        *_comments(guesses, "fingers"),
        *_comments(guesses, "pads.max_force"),
        *_comments(guesses, "pads.young"),
    ]
    lines += ["fingers:"]
    for finger in hand.fingers:
        lines += _finger(guesses, finger)
    lines += ["preshapes:"]
    for preshape in hand.preshapes:
        lines += _preshape(guesses, preshape)
    for name in ("packages", "tactile", "servos"):
        if getattr(hand, name):
            fields = hand.model_dump(mode="json", exclude_defaults=True)[name]
            lines += yaml.safe_dump({name: fields}, default_flow_style=None, sort_keys=False).splitlines()
    lines += [*_listed("sources", hand.sources), *_listed("assumed", hand.assumed)]
    return "\n".join(lines) + "\n"


def _listed(name: str, texts: Sequence[str]) -> list[str]:
    return [f"{name}:", *(f"  - {_quoted(text)}" for text in texts)] if texts else []


def _part(hand: HandDescription, about: str) -> Any:
    """What a guess is about: the palm, a finger, a preshape, a number of all pads."""
    kind, _, name = about.partition(".")
    if kind == "palm":
        return hand.palm
    if kind == "mount":
        return hand.mount
    if kind == "pads":
        return [getattr(pad, name) for finger in hand.fingers for pad in finger.pads]
    if kind == "preshapes":
        return next((preshape for preshape in hand.preshapes if preshape.name == name), None)
    if kind == "fingers" and name:
        finger = next((finger for finger in hand.fingers if finger.name == name.split(".")[0]), None)
        # What a finger may carry is no part of how it bends.
        return finger and [(pad.link, pad.facing, pad.region) for pad in finger.pads]
    return [finger.name for finger in hand.fingers]


def _finger(guesses: Guesses, finger: Finger) -> list[str]:
    lines = _comments(guesses, f"fingers.{finger.name}", 2) + _comments(guesses, f"fingers.{finger.name}.pads", 2)
    lines += [
        f"  - name: {_quoted(finger.name)}",
        f"    links: [{', '.join(map(_quoted, finger.links))}]",
        f"    tip: {_list(finger.tip)}",
        "    pads:",
    ]
    return lines + [_pad(pad) for pad in finger.pads]


def _pad(pad: Pad) -> str:
    region = "" if pad.region is None else f", region: [{_list(pad.region[0])}, {_list(pad.region[1])}]"
    young = "" if pad.young is None else f"young: {_exponential(pad.young)}, "
    # That of a rigid pad counts for nothing; it is only written where somebody has given one.
    poisson = f"poisson: {_number(pad.poisson)}, " if pad.young is not None or "poisson" in pad.model_fields_set else ""
    return (
        f"      - {{link: {_quoted(pad.link)}, facing: {_list(_direction(pad.facing))}{region}, "
        f"{young}{poisson}max_force: {_number(pad.max_force)}}}"
    )


def _direction(facing: Vector3) -> Vector3:
    """In three digits if that is the direction, as a person would write it; else in nine."""
    largest = max(map(abs, facing))
    for scale in (1.0, largest):
        x, y, z = (round(value / scale, 3) + 0.0 for value in facing)
        if np.linalg.norm(np.subtract(np.array([x, y, z]) / np.linalg.norm([x, y, z]), facing)) < 1e-9:
            return x, y, z
    x, y, z = (round(value, 9) + 0.0 for value in facing)
    return x, y, z


def _preshape(guesses: Guesses, preshape: Preshape) -> list[str]:
    def values(joints: dict[str, float]) -> str:
        return "{" + ", ".join(f"{_quoted(name)}: {value!r}" for name, value in joints.items()) + "}"

    return [
        *_comments(guesses, f"preshapes.{preshape.name}", 2),
        f"  - name: {_word(preshape.name)}",
        f"    open: {values(preshape.open)}",
        f"    closed: {values(preshape.closed)}",
        *([f"    fingers: [{', '.join(map(_quoted, preshape.fingers))}]"] if preshape.fingers is not None else []),
    ]


def _comments(guesses: Guesses, about: str, indent: int = 0) -> list[str]:
    return [" " * indent + _comment(guess) for guess in guesses if guess.about == about]


def _comment(guess: Guess) -> str:
    return f"# guess, {100 * guess.confidence:.0f} % sure: {guess.what}: {guess.reason}"


def _quoted(text: str) -> str:
    # What JSON quotes YAML reads, line breaks and all.
    return json.dumps(text, ensure_ascii=False)


def _word(text: str) -> str:
    """A plain word as it is, if YAML takes it for text; anything else in quotes."""
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", text) and text.lower() not in ("true", "false", "null")
    return text if plain else _quoted(text)


def _number(value: float) -> str:
    """Short where that is the very number."""
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)


def _exponential(value: float) -> str:
    return f"{value:.1e}" if float(f"{value:.1e}") == value else repr(value)


def _list(values: Vector3) -> str:
    return "[" + ", ".join(map(_number, values)) + "]"


def _with_meshes_in(urdf: Urdf, folder: Path) -> Urdf:
    """The same tree with its mesh files copied to ``folder/meshes`` and named relative to the folder."""
    homes: dict[Path, Path] = {}

    def home(path: Path) -> Path:
        if path not in homes:
            names = {p.name for p in homes.values()}
            name = path.name if path.name not in names else f"{path.parent.name}_{path.name}"
            count = 2
            while name in names:
                name, count = f"{path.stem}_{count}{path.suffix}", count + 1
            make_folder(folder / "meshes")
            target = folder / "meshes" / name
            if target.resolve() != path.resolve():
                write_bytes(
                    target, read_bytes(path, most=MAX_MESH_BYTES, kind="a mesh", error=OptionError), error=OptionError
                )
            homes[path] = Path("meshes") / name
        return homes[path]

    def moved(shape: LinkShape) -> LinkShape:
        return shape if shape.path is None else replace(shape, path=home(shape.path))

    def link(old: Link) -> Link:
        return replace(old, visuals=tuple(map(moved, old.visuals)), collisions=tuple(map(moved, old.collisions)))

    return replace(urdf, links=tuple(link(old) for old in urdf.links))
