"""A proposed hand in a real browser: what is seen of it, and that corrections reach the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser_eye import Eye, differing

from pliant.robot import Hand, load_hand, read_urdf
from pliant.robot.catalogue import SHIPPED
from pliant.robot.proposal.propose import propose_hand
from pliant.robot.proposal.write import save_corrected, write_proposal
from pliant.viewer.page.hand_page import HandPage
from pliant.viewer.scene.hand_marks import FINGER_COLOURS

pytestmark = pytest.mark.slow
WIDTH, HEIGHT = 1000, 700


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HandPage]:
    proposal = propose_hand(read_urdf(SHIPPED / "schunk_sdh2" / "schunk_sdh2.urdf"))
    path = write_proposal(proposal, tmp_path_factory.mktemp("hand"))

    def save(corrected: Any) -> tuple[Hand, Path]:
        return save_corrected(corrected, path, before=proposal.description, guesses=proposal.guesses), path

    with HandPage(load_hand(path), save, guesses=proposal.guesses, port=0) as page:
        page.path = path
        yield page


@pytest.fixture(scope="module")
def eye(browser: Any, page: HandPage) -> Iterator[Eye]:
    eye = Eye.on(browser, WIDTH, HEIGHT)
    eye.page.goto(page.address)
    eye.page.locator("canvas").first.wait_for()
    eye.page.get_by_text("Closed", exact=True).first.wait_for()
    eye.page.get_by_role("alert").get_by_role("button").first.click()  # the note that there is no graphics card
    yield eye
    eye.page.close()


def canvas(eye: Eye) -> tuple[int, int, int, int]:
    box = eye.page.locator("canvas").first.bounding_box()
    panel = eye.page.get_by_text("Preshape", exact=True).first.bounding_box()
    return 0, 0, int(min(box["width"], panel["x"] - 20)), int(box["height"])


def rename(eye: Eye, old: str, new: str, *, at: int = 0) -> None:
    """viser's text fields have no label of their own in the page: the one with the old name in it."""
    field = eye.page.locator(f'input[value="{old}"], textarea:text-is("{old}")').nth(at)
    field.fill(new)
    eye.page.locator(f'input[value="{new}"]').nth(at).wait_for()


def arrived(eye: Eye, reported: Callable[[], bool]) -> None:
    """The page reports a field up to 50 ms after it changed, later where the machine is busy.

    All fields share one such report: one that is filled before the last was sent takes its place.
    """
    for _ in range(200):
        if reported():
            return
        eye.page.wait_for_timeout(50)
    raise AssertionError("the page never reported to the server")


def test_a_correction_that_comes_after_the_click_on_save_is_saved_too(page: HandPage) -> None:
    """Each change is reported in a thread of its own: one that has not run yet is read from its field."""
    name = page.description.fingers[1].name
    # As viser has it when the page's message came, before our code is called.
    page._finger_inputs[1].name._impl.value = "late"
    page._store()
    assert load_hand(page.path).description.fingers[1].name == "late"
    page._finger_inputs[1].name._impl.value = name
    page._store()
    assert load_hand(page.path).description.fingers[1].name == name


def test_a_correction_that_is_taken_back_is_gone(page: HandPage) -> None:
    """The field has its first value again; the palm must have it too."""
    approach, before = page._palm_inputs.approach, page.description.palm
    for value in ((0.0, 0.6, 0.8), before.approach):
        approach._impl.value = value
        page._change(page._apply_palm)
        assert page.description.palm.approach == value
    assert page.description.palm == before


def test_pads_have_their_fingers_colours_and_the_slider_closes_the_hand(eye: Eye, page: HandPage) -> None:
    left, top, right, bottom = canvas(eye)
    for _ in range(60):  # the scene comes piece by piece
        picture = eye.picture()
        seen = picture[top:bottom, left:right].reshape(-1, 3).astype(float)
        seen = seen[np.ptp(seen, axis=1) > 80]
        if len(seen) > 400:
            break
        eye.page.wait_for_timeout(500)
    hue = seen / np.linalg.norm(seen, axis=1, keepdims=True)
    for colour in (named.rgb for named in FINGER_COLOURS[:2]):  # two of three fingers show their pads to the camera
        wanted = np.array(colour) / np.linalg.norm(colour)
        assert np.sum(hue @ wanted > 0.97) > 100, colour
    slider = eye.page.get_by_role("slider").first
    slider.focus()
    slider.press("End")
    eye.page.get_by_text("closed", exact=False).first.wait_for()
    after = eye.picture_unlike(picture, 2000, box=canvas(eye))
    assert page.closed == 1.0
    slider.press("Home")
    back = eye.picture_unlike(after, 2000, box=canvas(eye))
    assert differing(picture, back, box=canvas(eye)) < 50
    assert eye.complaints == []


def test_corrections_reach_the_file_and_only_guesses_about_them_go(eye: Eye, page: HandPage) -> None:
    path = page.path
    before = path.read_text()
    assert "# guess, 20 % sure: 20 N" in before and "preshapes" in before
    force = eye.page.get_by_label("Most on 1 [N]", exact=True).first
    force.fill("12")
    force.press("Enter")
    arrived(eye, lambda: page._finger_inputs[0].max_force.value == 12.0)
    rename(eye, page.description.fingers[2].name, "opposite")
    arrived(eye, lambda: page._finger_inputs[2].name.value == "opposite")
    joint = next(iter(page.description.preshapes[0].open))
    value = eye.page.get_by_label(f"{joint} open", exact=True).first
    value.fill("9")
    value.press("Enter")
    eye.wait("hand_message", "not saved yet")
    arrived(eye, lambda: page._joint_inputs[0].handle.value == 9.0)
    eye.page.get_by_role("button", name="Save", exact=True).click()
    eye.wait("hand_message", "saved to")
    hand = load_hand(path)
    assert [pad.max_force for pad in hand.description.fingers[0].pads] == [12.0] * len(hand.description.fingers[0].pads)
    assert hand.description.fingers[1].pads[0].max_force == 20.0
    assert hand.description.fingers[2].name == "opposite"
    assert hand.description.preshapes[0].open[joint] == pytest.approx(np.radians(9.0), abs=1e-6)
    text = path.read_text()
    assert "# guess, 20 % sure: 20 N" not in text
    assert "sure: approaches along" in text  # the palm was not corrected
    assert [p.name for p in path.parent.iterdir() if p.name.startswith(".")] == []


def test_a_wrong_value_is_explained_and_the_file_stays(eye: Eye, page: HandPage) -> None:
    before = page.path.read_text()
    taken = page.description.fingers[1].name
    rename(eye, page.description.fingers[0].name, taken, at=0)
    arrived(eye, lambda: page._finger_inputs[0].name.value == taken)
    eye.page.get_by_role("button", name="Save", exact=True).click()
    eye.wait("hand_message", f"the name '{taken}' is used 2 times")
    assert page.path.read_text() == before
    rename(eye, taken, "first", at=0)
    arrived(eye, lambda: page._finger_inputs[0].name.value == "first")
    eye.page.get_by_role("button", name="Save", exact=True).click()
    eye.wait("hand_message", "saved to")
    assert load_hand(page.path).description.fingers[0].name == "first"
