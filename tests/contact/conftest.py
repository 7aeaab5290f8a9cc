"""Bodies that several contact tests share; prepared once per process."""

from __future__ import annotations

import pytest
import trimesh
from contact_bodies import spread_ball

from pliant.contact import PreparedObject
from pliant.objects import Mesh


@pytest.fixture(scope="session")
def ball() -> PreparedObject:
    """Ball R = 30 mm, E = 0.5 MPa, nu = 0.45, about 400 vertices."""
    return PreparedObject.of(spread_ball(400, 0.03), young=5e5, poisson=0.45)


@pytest.fixture(scope="session")
def flat() -> PreparedObject:
    """A large block as a half-space, its top at z = 0.05."""
    box = trimesh.creation.box((0.2, 0.2, 0.1))
    return PreparedObject.of(Mesh(box.vertices, box.faces), young=5e5, poisson=0.45, model="halfspace")
