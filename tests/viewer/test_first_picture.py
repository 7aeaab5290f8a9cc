"""A still in the page's document until the scene is drawn; hands that are seen through without speckles."""

from __future__ import annotations

import gzip
import io
import json
import struct
from collections.abc import Iterator
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import pytest
from PIL import Image

from pliant.planner import Plan
from pliant.viewer import Tab, Viewer
from pliant.viewer.scene import viser_nodes
from pliant.viewer.scene.first_picture import DRAWN, PATH
from pliant.viewer.scene.view_options import FIELD_OF_VIEW, default_viewpoint
from pliant.viewer.scene.viewed_task import ViewedTask


@pytest.fixture
def viewer() -> Iterator[Viewer]:
    with Viewer(port=0) as viewer:
        yield viewer


def fetched(address: str, **headers: str) -> tuple[Any, bytes]:
    with urlopen(Request(address, headers=headers), timeout=60) as answer:
        return answer.headers, answer.read()


@pytest.mark.parametrize("packing", ["gzip", "identity"])
def test_the_document_has_the_still_before_everything_else(viewer: Viewer, packing: str) -> None:
    for path in ("/", "/index.html", "/?a=1"):
        headers, data = fetched(viewer.address + path, **{"Accept-Encoding": packing})
        assert int(headers["Content-Length"]) == len(data)
        text = (gzip.decompress(data) if headers["Content-Encoding"] == "gzip" else data).decode()
        assert (headers["Content-Encoding"] == "gzip") == (packing == "gzip")
        assert text.count('id="pliant-still"') == 1 and f'src="{PATH}"' in text
        assert text.index('id="pliant-still"') < text.index('id="root"')


def test_the_still_shows_the_object_where_the_page_s_camera_sees_it(viewer: Viewer, plan: Plan) -> None:
    viewed = ViewedTask(plan.task, plan)
    viewer.open_in_new_tabs(viewed)
    headers, data = fetched(viewer.address + PATH)
    assert headers["Content-Type"] == "image/png" and headers["Cache-Control"] == "no-store"
    picture = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=np.int64)
    height, width = picture.shape[:2]
    surface = viewed.surface(0)
    moment = surface.timeline.at(float(surface.timeline.times[0]))
    points = surface.vertices(moment) @ moment.T_world_object.rotation.T + moment.T_world_object.translation
    eye, target = default_viewpoint(plan.task)
    back = (eye - target) / np.linalg.norm(eye - target)
    right = np.cross((0.0, 0.0, 1.0), back)
    right /= np.linalg.norm(right)
    local = (points - eye) @ np.array([right, np.cross(back, right), back]).T
    focal = 0.5 * height / np.tan(0.5 * FIELD_OF_VIEW)
    u, v = width / 2 - focal * local[:, 0] / local[:, 2], height / 2 + focal * local[:, 1] / local[:, 2]
    bluish = picture[..., 2] - picture[..., 0] > 60  # the ring alone has the dark end of the colour scale
    rows, columns = np.nonzero(bluish)
    assert bluish.sum() > 500
    assert u.min() - 2 <= columns.min() and columns.max() <= u.max() + 2
    assert v.min() - 2 <= rows.min() and rows.max() <= v.max() + 2
    # Of all of it but the edges, where fingers stand before it or light falls flat.
    assert np.ptp(columns) > 0.85 * np.ptp(u) and np.ptp(rows) > 0.85 * np.ptp(v)
    again = fetched(viewer.address + PATH)[1]
    assert again == data and len(viewer._stills) == 1


def test_without_a_plan_the_still_is_one_clear_pixel(viewer: Viewer, plan: Plan) -> None:
    for open_something in (lambda: None, lambda: viewer.open_in_new_tabs(ViewedTask(plan.task))):
        open_something()
        picture = Image.open(io.BytesIO(fetched(viewer.address + PATH)[1]))
        assert picture.size == (1, 1) and picture.getpixel((0, 0)) == (0, 0, 0, 0)


def test_the_word_that_everything_is_there_is_sent_after_the_robot(viewer: Viewer, plan: Plan) -> None:
    tab = Tab(viewer, viewer.server)
    assert tab.panels._drawn.content == ""
    tab.open(ViewedTask(plan.task, plan))
    assert tab.panels._drawn.content == DRAWN
    assert tab.plan_scene is not None and tab.plan_scene._links


def test_a_hand_that_is_seen_through_blends_and_hides_nothing(
    viewer: Viewer, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A material that blends and writes no depth: with alpha mode BLEND three.js turns depth writing off."""
    clear: list[tuple[str, bytes]] = []
    solid: list[str] = []
    tab = Tab(viewer, viewer.server)
    scene = viewer.server.scene
    add_glb, add_simple = scene.add_glb, scene.add_mesh_simple

    def recorded_glb(name: str, data: bytes, **options: Any) -> Any:
        clear.append((name, data))
        return add_glb(name, data, **options)

    def recorded_simple(name: str, *given: Any, **options: Any) -> Any:
        solid.append(name)
        return add_simple(name, *given, **options)

    monkeypatch.setattr(scene, "add_glb", recorded_glb)
    monkeypatch.setattr(scene, "add_mesh_simple", recorded_simple)
    tab.open(ViewedTask(plan.task, plan))
    assert tab.plan_scene is not None
    hand = list(tab.plan_scene._hand_shapes)
    sent = dict(item for item in clear if item[0].startswith("/robot/"))
    assert set(sent) == set(hand) and not set(hand) & set(solid)
    for data in sent.values():
        document = json.loads(data[20 : 20 + struct.unpack("<I", data[12:16])[0]])
        (material,) = document["materials"]
        assert material["alphaMode"] == "BLEND" and material["doubleSided"] is False
        assert material["pbrMetallicRoughness"]["baseColorFactor"][3] == tab.options.hand_opacity
    clear.clear()
    tab.restyle(arm=False)
    assert not [name for name, _ in clear if name in hand]  # only a new opacity sends the hand anew
    tab.restyle(hand_opacity=0.2)
    assert {name for name, _ in clear} >= set(hand)
    clear.clear()
    tab.restyle(hand_opacity=1.0)
    assert set(hand) <= set(solid) and not [name for name, _ in clear if name in hand]


def test_ghosts_are_drawn_in_the_same_way(viewer: Viewer, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[float] = []
    original = viser_nodes.add_clear_mesh

    def recorded(*given: Any, opacity: float) -> Any:
        drawn.append(opacity)
        return original(*given, opacity=opacity)

    monkeypatch.setattr("pliant.viewer.scene.plan_scene.add_clear_mesh", recorded)
    tab = Tab(viewer, viewer.server)
    tab.open(ViewedTask(plan.task, plan))
    drawn.clear()
    tab.show_hypotheses([rejection.number for rejection in plan.rejections][:2])
    assert drawn == [0.3] * min(2, len(plan.rejections))
