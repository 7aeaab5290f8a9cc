"""The grasp file of the ``forces`` command: contacts and a load, nothing about a robot.

    contacts:
      - {point: [0.03, 0, 0], normal: [-1, 0, 0], friction: 0.5, max_force: 20, stiffness: [2000, 2000, 3000],
         radius: 0.004}
    external: {force: [0, 0, -9.81], torque: [0, 0, 0], at: [0, 0, 0]}

SI units, everything in one frame. ``stiffness`` is tangential, tangential, normal; ``radius`` makes a soft finger.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from pliant.arrays import Floats
from pliant.documents import Document, read_document
from pliant.errors import GraspError, InputError, Problem
from pliant.grasp import Contact, ContactSet

Vector = tuple[float, float, float]
MOST_CONTACTS = 1000


class ContactEntry(Document):
    """One contact."""

    point: Vector
    normal: Vector
    friction: float
    max_force: float | None = None
    stiffness: Vector | None = None
    radius: float | None = None


class ExternalEntry(Document):
    """The load: a force and a torque, the force acting at a point, which also is the centre of mass."""

    force: Vector
    torque: Vector = (0.0, 0.0, 0.0)
    at: Vector = (0.0, 0.0, 0.0)


class WrenchEntry(Document):
    """A wrench about the centre of mass that may come on top of the load."""

    force: Vector = (0.0, 0.0, 0.0)
    torque: Vector = (0.0, 0.0, 0.0)


class GraspFile(Document):
    """The whole file; ``disturbances`` and ``margin`` [N] may be left out."""

    contacts: Annotated[tuple[ContactEntry, ...], Field(max_length=MOST_CONTACTS)]
    external: ExternalEntry
    disturbances: Annotated[tuple[WrenchEntry, ...], Field(max_length=MOST_CONTACTS)] = ()
    margin: Annotated[float, Field(ge=0)] = 0.0


@dataclass(frozen=True, eq=False)
class ForceQuestion:
    """The question of ``pliant forces``: a grasp file as arrays.

    Args:
        contacts: checked contacts.
        external: load about the centre of mass [N, N m].
        centre: centre of mass, where the external force acts [m].
        disturbances: k x 6 wrenches about the centre of mass.
        margin: how far from slipping and from the force limit to stay [N].
    """

    contacts: ContactSet
    external: Floats
    centre: Floats
    disturbances: Floats
    margin: float


def read_grasp(path: str | Path) -> ForceQuestion:
    """Read and check a grasp file; every problem names the file and the field."""
    document = read_document(path, GraspFile)
    try:
        contacts = ContactSet.of(
            [
                Contact(
                    entry.point,
                    entry.normal,
                    entry.friction,
                    max_force=np.inf if entry.max_force is None else entry.max_force,
                    stiffness=entry.stiffness,
                    radius=entry.radius,
                )
                for entry in document.contacts
            ]
        )
    except InputError as wrong:
        problems = (Problem(f"contacts{p.where}", p.what, p.allowed) for p in wrong.problems)
        raise GraspError(str(path), problems) from None
    load = document.external
    wrenches = [[*entry.force, *entry.torque] for entry in document.disturbances]
    return ForceQuestion(
        contacts,
        np.array([*load.force, *load.torque]),
        np.array(load.at),
        np.array(wrenches, dtype=float).reshape(-1, 6),
        document.margin,
    )
