"""The arms and hands that ship with pliant, by name; the path of a description of one's own does as well."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pinocchio as pin

from pliant.documents import read_mapping
from pliant.errors import DescriptionError, OptionError, unknown_name
from pliant.robot.compose import Assembly, assemble
from pliant.robot.modules import Arm, Hand, read_arm, read_hand

SHIPPED = Path(__file__).parent / "shipped"


def shipped_names(kind: str) -> tuple[str, ...]:
    """Names of the shipped modules of one kind: ``arm`` or ``hand``."""
    return tuple(sorted(path.parent.name for path in SHIPPED.glob(f"*/{kind}.yaml")))


def load_hand(hand: str | Path, *, package_dirs: Iterable[str | Path] = ()) -> Hand:
    """A shipped hand by name, or the hand description file at a path."""
    return read_hand(_description_path("hand", hand), package_dirs=package_dirs)


def load_arm(arm: str | Path, *, package_dirs: Iterable[str | Path] = ()) -> Arm:
    """A shipped arm by name, or the arm description file at a path."""
    return read_arm(_description_path("arm", arm), package_dirs=package_dirs)


def load_module(path: str | Path, *, package_dirs: Iterable[str | Path] = ()) -> Arm | Hand:
    """The arm or hand described by a file, whichever it says it is."""
    kind = read_mapping(path).get("kind")
    if kind == "arm":
        return read_arm(path, package_dirs=package_dirs)
    if kind == "hand":
        return read_hand(path, package_dirs=package_dirs)
    raise DescriptionError(str(path), unknown_name("kind", str(kind), ("arm", "hand"), where="kind"))


def load_assembly(
    arm: str | Path | None = None,
    hand: str | Path | None = None,
    *,
    T_flange_hand: pin.SE3 | None = None,
    T_world_base: pin.SE3 | None = None,
    package_dirs: Iterable[str | Path] = (),
) -> Assembly:
    """An arm and a hand, each a shipped name or a description file, put together at the flange.

    ``load_assembly("kawasaki_fs020n", "schunk_sdh2")`` has 13 independent joints; without an arm the palm flies freely.
    """
    folders = tuple(package_dirs)
    return assemble(
        load_arm(arm, package_dirs=folders) if arm is not None else None,
        load_hand(hand, package_dirs=folders) if hand is not None else None,
        T_flange_hand=T_flange_hand,
        T_world_base=T_world_base,
    )


def _description_path(kind: str, name: str | Path) -> Path:
    shipped = SHIPPED / str(name) / f"{kind}.yaml"
    if isinstance(name, str) and name in shipped_names(kind):
        return shipped
    path = Path(name)
    if path.exists() or path.suffix or len(path.parts) > 1:
        return path
    raise OptionError("", unknown_name(kind, str(name), shipped_names(kind)))
