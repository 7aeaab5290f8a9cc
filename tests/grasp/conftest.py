"""Random grasps for the tests of the grasp theory; every draw is seeded by the test that asks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pliant.grasp import ContactSet

RandomGrasp = Callable[..., ContactSet]


def _random_rotation(rng: np.random.Generator) -> np.ndarray:
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else q[:, ::-1]


@pytest.fixture
def random_rotation() -> Callable[[np.random.Generator], np.ndarray]:
    return _random_rotation


@pytest.fixture
def random_grasp() -> RandomGrasp:
    """n contacts on a potato of a few centimetres, normals off the radius by up to about 30 degrees."""

    def draw(
        rng: np.random.Generator, n: int, *, soft: bool = False, limits: bool = False, stiff: bool = True
    ) -> ContactSet:
        directions = rng.normal(size=(n, 3))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        points = directions * rng.uniform(0.02, 0.06, size=(n, 1)) + rng.normal(size=3) * 0.005
        normals = -directions + 0.25 * rng.normal(size=(n, 3))
        stiffness = None
        if stiff:
            roots = rng.normal(size=(n, 3, 3)) * 10
            stiffness = roots @ roots.transpose(0, 2, 1) + 500 * np.eye(3)
        return ContactSet.from_arrays(
            points,
            normals / np.linalg.norm(normals, axis=1, keepdims=True),
            friction=rng.uniform(0.2, 1.1, size=n),
            max_force=rng.uniform(3, 40, size=n) if limits else np.inf,
            stiffness=stiffness,
            radius=rng.uniform(0.002, 0.008, size=n) if soft else None,
        )

    return draw
