"""Contact forces on bodies that no constant of the model was chosen on.

The answers are from an independent axisymmetric finite-element program with node-by-node contact
(benchmarks/record/axisymmetric.py), which meets the ball of
tests/contact/test_finite_bodies.py to 0.05 %. The tolerance is the one given there.
"""

from __future__ import annotations

import numpy as np
import pytest

from pliant.contact import PadSurface, PreparedObject, SphereSurface, press
from pliant.objects import Mesh, make_shape

# outer radius or half axes [mm], what it is, {depth [mm]: force [N]}; E = 0.5 MPa, nu = 0.45, rigid balls of 10 mm.
CASES = {
    "hollow ball 30 / 15": {0.3: 0.35779, 0.75: 1.36836},
    "hollow ball 30 / 20": {0.3: 0.30087, 0.75: 1.07309},
    "lens 30 x 15": {0.3: 0.43317, 0.75: 1.77241},
    "egg 15 x 30": {0.3: 0.26885, 0.75: 1.02212},
}
TOLERANCE = 0.06


def body(name: str) -> tuple[Mesh, float]:
    """The mesh and the height of its pole [m]."""
    kind, _, sizes = name.rpartition(" ball ") if "ball" in name else name.partition(" ")
    first, second = (float(x) * 1e-3 for x in sizes.replace("/", "x").split("x"))
    if kind == "hollow":
        outside, inside = (make_shape("sphere", radius=r, edge=0.0035) for r in (first, second))
        vertices = np.vstack([outside.vertices, inside.vertices])
        return Mesh(vertices, np.vstack([outside.faces, inside.faces[:, ::-1] + len(outside.vertices)]), name), first
    ball = make_shape("sphere", radius=1.0, edge=0.16)
    return Mesh(ball.vertices * (first, first, second), ball.faces, name), second


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_force_on_a_body_of_another_shape(name: str) -> None:
    mesh, pole = body(name)
    prepared = PreparedObject.of(mesh, young=5e5, poisson=0.45)
    pad = PadSurface("ball", SphereSurface(0.01))
    contacts = [((0, 0, pole), (0, 0, 1)), ((0, 0, -pole), (0, 0, -1))]
    for depth, force in CASES[name].items():
        regions = press(prepared, [pad, pad], contacts, depth * 1e-3).state.regions
        assert len(regions) == 2
        for region in regions:
            assert region.normal_force == pytest.approx(force, rel=TOLERANCE)
