"""Planned contacts lie where the tactile arrays feel them, with cells all around."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.planner.closing_hand import ClosingHand
from pliant.robot import cell_layout, load_assembly


@pytest.fixture(scope="module")
def hand() -> ClosingHand:
    return ClosingHand(load_assembly(None, "schunk_sdh2"), friction=0.5)


def test_a_pad_feels_in_its_middle_and_not_at_its_edge(hand: ClosingHand) -> None:
    link = next(link for link in hand.links if link.name == "finger_1_distal")
    array = next(array for array in hand.description.tactile if array.link == link.name)
    layout = cell_layout(array)
    feels = np.array([[link.feels(centre, 2.5e-3) for centre in row] for row in layout.centres])
    assert feels[6, 2] and feels[6, 3] and feels[2, 2]
    assert not feels[0].any() and not feels[-1].any()
    assert not feels[:, 0].any() and not feels[:, -1].any()
    assert feels[1:-1, 2:4].all()


def test_a_place_beside_the_pad_is_not_felt_and_a_link_without_cells_does_not_care(hand: ClosingHand) -> None:
    link = next(link for link in hand.links if link.name == "thumb_distal")
    assert not link.feels(link.cells.mean(axis=0) + np.array([0.0, 0.05, 0.0]), 2.5e-3)
    palm = next(link for link in hand.links if not len(link.cells))
    assert palm.feels(np.zeros(3), 2.5e-3)


def test_a_hand_that_feels_with_its_tips_holds_with_them_alone_unless_all_links_may_hold() -> None:
    """What other pads press with is not measured, so not controlled; a hand without any arrays plans without them."""
    assembly = load_assembly(None, "allegro_like")
    for whole in (False, True):
        links = {link.name: link for link in ClosingHand(assembly, friction=0.5, whole=whole).links}
        tip, other = links["index_distal"], links["index_proximal"]
        assert tip.feels(tip.cells.mean(axis=0), 1e-3)
        assert other.pad is not None and other.feels(other.middle, 1e-3) is whole
    assert not any(link.numb for link in ClosingHand(load_assembly(None, "schunk_sdh2"), friction=0.5).links)
