"""An elastic pad takes its share of the approach: that of Hertz, whatever the grid."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from pliant.contact import PadSurface, PreparedObject, SphereSurface, pad_dent, solve_contacts


@pytest.mark.parametrize("cells", [12, 20])
@pytest.mark.parametrize(("young", "poisson"), [(2e6, 0.3), (5e5, 0.45), (1e5, 0.2)])
def test_the_pads_share_of_the_approach_is_that_of_its_compliance(young: float, poisson: float, cells: int) -> None:
    """Two spheres: the pad is pressed in by d (1 - nu_p^2) / E_p over the sum of both, at the centre of the contact."""
    d, soft = 0.06e-3, PreparedObject(SphereSurface(0.03), 5e5, 0.45, None)
    pad = PadSurface("pad", SphereSurface(0.02), young, poisson)
    pose = pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.05 - d]))
    region = solve_contacts(soft, [pad], [pose], free=False, cells=cells).regions[0]
    T = region.T_world_contact
    xy = ((region.p_world_cells - T.translation) @ T.rotation)[:, :2]
    dent = pad_dent(xy, region.pressures, region.cell_area, pad.compliance)
    share = pad.compliance / (pad.compliance + soft.compliance)
    # An even grid has no cell at the centre: half a cell away Hertz's paraboloid is (h / 2a)^2 / 2 lower.
    assert dent.depths.max() == pytest.approx(share * d, rel=0.02)
    r2 = (xy**2).sum(axis=1)
    hertz = share * d * (1.0 - r2 / (2.0 * region.radius**2))
    inside = r2 < (0.8 * region.radius) ** 2
    np.testing.assert_allclose(dent.depths[inside], hertz[inside], rtol=0.02)
    # both bodies together take the whole approach
    other = pad_dent(xy, region.pressures, region.cell_area, soft.compliance)
    assert (dent.depths + other.depths).max() == pytest.approx(d, rel=0.02)


def test_cells_of_any_width_and_in_a_single_row_find_their_grid() -> None:
    """The middle of a rectangle under its own load, Love: (4 / pi) (q asinh(p / q) + p asinh(q / p)) p_0 / E*."""
    dx, dy = 2e-3, 0.5e-3
    x, y = np.meshgrid(np.arange(3) * dx, np.arange(5) * dy, indexing="ij")
    xy = np.column_stack([x.ravel(), y.ravel()])
    one = np.full(15, 1e4)
    p, q = 1.5 * dx, 2.5 * dy
    expected = 4.0 / np.pi * 1e4 * 1e-6 * (q * np.arcsinh(p / q) + p * np.arcsinh(q / p)) / 2.0
    whole = pad_dent(xy, one, dx * dy, 1e-6)
    assert whole.depths[7] == pytest.approx(2.0 * expected, rel=1e-9)
    np.testing.assert_array_equal(whole.cells[:6].tolist(), [[0, 0], [0, 1], [0, 2], [0, 3], [0, 4], [1, 0]])
    row = pad_dent(xy[:5], one[:5], dx * dy, 1e-6)
    p = 0.5 * dx
    alone = 4.0 / np.pi * 1e4 * 1e-6 * (q * np.arcsinh(p / q) + p * np.arcsinh(q / p))
    assert row.depths[2] == pytest.approx(alone, rel=1e-9)
    single = pad_dent(xy[:1], one[:1], 1e-6, 1e-6)
    assert single.depths[0] == pytest.approx(8.0 / np.pi * 1e4 * 1e-6 * 0.5e-3 * np.arcsinh(1.0), rel=1e-9)
