"""The hand page's fields without a browser: every valid description can be shown, and stays as it is."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import pliant.robot
from pliant.robot import Hand, load_hand, read_hand, save_corrected
from pliant.robot.description import HandDescription
from pliant.viewer.page.hand_page import HandPage


@contextmanager
def page_of(hand: Hand, change: Callable[[dict[str, Any]], None]) -> Iterator[HandPage]:
    """The page of a hand whose description was changed; saving only gives it back."""
    fields = hand.description.model_dump()
    change(fields)
    changed = replace(hand, description=HandDescription.model_validate(fields))

    def save(corrected: HandDescription) -> tuple[Hand, Path]:
        return replace(hand, description=corrected), Path("hand.yaml")

    with HandPage(changed, save, port=0) as page:
        yield page


@pytest.fixture(scope="module")
def four_fingers() -> Hand:
    return load_hand("allegro_like")


def test_a_joint_at_its_limit_and_a_pad_for_almost_nothing_can_be_shown(four_fingers: Hand) -> None:
    """1.618 rad are 92.70457 degrees: rounded they lie beyond the limit."""
    k = four_fingers.robot.joint_index("index_joint_3")
    assert four_fingers.robot.upper[k] == pytest.approx(1.618)

    def change(fields: dict[str, Any]) -> None:
        fields["preshapes"][0]["closed"]["index_joint_3"] = float(four_fingers.robot.upper[k])
        for pad in fields["fingers"][0]["pads"]:
            pad["max_force"] = 0.05

    with page_of(four_fingers, change) as page:
        page._show(closed=1.0)
        before = page.description
        assert page._finger_inputs[0].max_force.value == 0.05
        page._store()
        assert page.description == before  # what was not touched is as it was, to the last digit
        field = next(handle for handle, _ in page._joint_inputs if handle.label == "index_joint_3 closed")
        assert field.value == 92.705
        for typed in (90.0, 92.705):
            field.value = typed
        assert page.description.preshapes[0].closed["index_joint_3"] == four_fingers.robot.upper[k]


def test_a_name_that_is_another_fingers_while_it_is_typed_spoils_no_preshape(four_fingers: Hand) -> None:
    """The page reports every key: while 'middle_one' is typed the first finger is called 'middle' for a moment."""

    def change(fields: dict[str, Any]) -> None:
        fields["preshapes"][0]["fingers"] = ["index", "middle", "thumb"]

    with page_of(four_fingers, change) as page:
        for typed in ("mid", "middle", "middle_one"):
            page._finger_inputs[0].name.value = typed
        assert page.description.fingers[0].name == "middle_one"
        assert page.description.preshapes[0].fingers == ("middle_one", "middle", "thumb")
        page._finger_inputs[0].name.value = "middle"
        assert "the name 'middle' is used 2 times" in page._message.content.replace("&#x27;", "'")
        page._finger_inputs[1].name.value = "middle_one"  # two fingers change names
        assert page.description.preshapes[0].fingers == ("middle", "middle_one", "thumb")
        page._store()
        assert "saved" in page._message.content


def test_a_joint_that_is_reported_after_the_preshape_was_changed_goes_where_it_was_typed(four_fingers: Hand) -> None:
    with page_of(four_fingers, lambda fields: None) as page:
        first, second = page.description.preshapes[:2]
        (handle, apply), name = page._joint_inputs[1], list(first.open)[1]
        assert handle.label == f"{name} open"
        handle._impl.value = 20.0
        page._show(preshape=second.name)
        page._change(apply)
        assert page.description.preshapes[0].open[name] == pytest.approx(0.349066, abs=1e-6)
        assert page.description.preshapes[1] == second


def test_sliding_joints_are_shown_in_millimetres_with_the_unit() -> None:
    with page_of(load_hand("parallel_gripper"), lambda fields: None) as page:
        (handle, _), *_ = page._joint_inputs
        assert handle.label.endswith("open [mm]")
        assert handle.value == pytest.approx(1e3 * next(iter(page.description.preshapes[0].open.values())))


HOSTILE = (
    "", "x" * 5000, "a: b\nfingers: []", "# x", "'\"", "\x1b[31m", "\u202e", "\ud800", "*a", "!!python/x:os.system",
    "..", "a\x00b",
)  # fmt: skip


def test_whatever_a_tab_reports_the_file_stays_a_description_and_the_page_works(
    four_fingers: Hand, tmp_path: Path
) -> None:
    """Saving as an attacker would: the file is written whole, is read again first, and no other one is touched."""
    home = Path(pliant.robot.__file__).parent / "shipped" / "allegro_like"
    shutil.copytree(home, tmp_path / "hand")
    path = next((tmp_path / "hand").glob("hand.yaml"))
    hand = read_hand(path)
    files = sorted(path.parent.rglob("*"))

    def save(corrected: HandDescription) -> tuple[Hand, Path]:
        return save_corrected(corrected, path, before=hand.description), path

    with HandPage(hand, save, port=0) as page:
        fields = [*page._finger_inputs[0], *page._palm_inputs[:2], page._joint_inputs[0].handle]
        for field in fields:
            sound = field.value
            odd = HOSTILE if isinstance(sound, str) else (float("nan"), float("inf"), -1e308, 1e308, 0.0)
            for value in odd:
                field._impl.value = (value,) * 3 if isinstance(sound, tuple) else value
                page._store()
                assert read_hand(path).robot.dof == hand.robot.dof
            field._impl.value = (1.0,) * 1000 if isinstance(sound, tuple) else sound
            page._store()
            field._impl.value = sound
        for preshape, closed in (("no such", None), (None, float("nan")), (None, 1e300), (None, -1.0)):
            page._show(preshape=preshape, closed=closed)
        page._store()
        assert "saved" in page._message.content
    assert sorted(path.parent.rglob("*")) == files
    assert read_hand(path).description.fingers[0].name == hand.description.fingers[0].name
