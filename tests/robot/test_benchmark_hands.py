"""The hands described for the benchmark: they fit their URDFs, close on what is between them, and look at it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from pliant.robot import PALM_FRAME, Hand, pad_mesh, tip_frame
from pliant.robot.modules import parse_hand

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "hands"
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/hand.yaml"))


@cache
def described(name: str, data: Path) -> Hand:
    text = (FOLDER / name / "hand.yaml").read_text(encoding="utf-8")
    return parse_hand(text, path=data / f"{name}.yaml", package_dirs=[data])


@pytest.mark.parametrize("name", NAMES)
def test_every_pad_is_on_a_closed_surface_of_its_link(shared_data: Path, name: str) -> None:
    hand = described(name, shared_data)
    for finger in hand.description.fingers:
        for pad in finger.pads:
            found = pad_mesh(hand.robot.urdf, pad)
            assert found.mesh.face_areas[found.faces].sum() > 1e-4, pad.link


@pytest.mark.parametrize("name", NAMES)
def test_fingers_close_on_each_other_in_front_of_the_palm(shared_data: Path, name: str) -> None:
    """Tips come together by half at least, and more than 3 cm before the palm where they are nearest to each other."""
    hand = described(name, shared_data)
    for preshape in hand.description.preshapes:
        fingers = preshape.fingers or tuple(finger.name for finger in hand.description.fingers)
        spreads, heights = [], []
        for closed in np.linspace(0.0, 1.0, 21):
            q = (1.0 - closed) * hand.q_open(preshape) + closed * hand.q_closed(preshape)
            palm, *tips = hand.robot.poses([PALM_FRAME, *(tip_frame(finger) for finger in fingers)], q)
            places = np.array([palm.actInv(tip.translation) for tip in tips])
            # along the line on which the first finger and the last one, the thumb, meet
            spreads.append(np.linalg.norm(places[:-1].mean(axis=0)[:2] - places[-1][:2]))
            heights.append(places[:, 2].mean())
        assert min(spreads) < 0.5 * spreads[0], preshape.name
        assert heights[int(np.argmin(spreads))] > 0.03, preshape.name


@pytest.mark.parametrize("name", NAMES)
def test_last_pads_face_each_other_when_they_hold_something_of_six_centimetres(shared_data: Path, name: str) -> None:
    """Where the tips are 6 cm apart, some preshape's pads look at each other within 30 degrees."""
    hand = described(name, shared_data)
    best = np.inf
    for preshape in hand.description.preshapes:
        names = preshape.fingers or tuple(finger.name for finger in hand.description.fingers)
        fingers = [finger for finger in hand.description.fingers if finger.name in names]
        for closed in np.linspace(0.0, 1.0, 41):
            q = (1.0 - closed) * hand.q_open(preshape) + closed * hand.q_closed(preshape)
            tips = np.array([hand.robot.pose(tip_frame(finger.name), q).translation for finger in fingers])
            facing = [hand.robot.pose(f.pads[-1].link, q).rotation @ np.array(f.pads[-1].facing) for f in fingers]
            others, last = np.mean(facing[:-1], axis=0), facing[-1]
            apart = np.linalg.norm(tips[:-1].mean(axis=0) - tips[-1])
            if abs(apart - 0.06) < 0.01:
                cosine = -float(others @ last) / float(np.linalg.norm(others) * np.linalg.norm(last))
                best = min(best, np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
    assert best < 30.0
