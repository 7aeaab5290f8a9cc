"""Looking at a page: pictures as arrays, what was requested and complained about, where a point of the world is."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pliant.viewer.scene.view_options import FIELD_OF_VIEW, Viewpoint

Picture = NDArray[np.int64]


@dataclass
class Eye:
    """A page with everything it asked for and complained about."""

    page: Any
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @classmethod
    def on(cls, browser: Any, width: int, height: int) -> Eye:
        """A fresh page of this size."""
        eye = cls(browser.new_page(viewport={"width": width, "height": height}))
        eye.page.set_default_timeout(60_000)
        eye.page.on("request", lambda request: eye.requests.append(request.url))
        eye.page.on("pageerror", lambda error: eye.complaints.append(str(error)))
        eye.page.on("console", lambda m: eye.complaints.append(m.text) if m.type == "error" else None)
        return eye

    def picture(self) -> Picture:
        """The page as soon as two pictures in a row are equal, once the still that it begins with has gone."""
        self.page.wait_for_function("() => !document.getElementById('pliant-still')")
        last = None
        for _ in range(40):
            now = self._screenshot()
            if last is not None and np.array_equal(now, last):
                return now
            last = now
        raise AssertionError("the picture never came to rest")

    def _screenshot(self) -> Picture:
        data = self.page.screenshot(timeout=60_000)
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=np.int64)

    def picture_unlike(
        self, before: Picture, least: int, *, box: tuple[int, int, int, int], at_rest: bool = True
    ) -> Picture:
        """The page once more than so many pixels of a box differ from an earlier picture; texts come first.

        Args:
            at_rest: as soon as it changes no more; a page that shows a search never does.
        """
        for _ in range(20):
            now = self.picture() if at_rest else self._screenshot()
            if differing(before, now, box=box) > least:
                return now
            self.page.wait_for_timeout(500)
        raise AssertionError(f"the picture has not changed by {least} pixels")

    def value(self, key: str) -> str:
        """A number of the page."""
        return str(self.page.locator(f'[data-pliant="{key}"]').first.inner_text())

    def wait(self, key: str, text: str) -> None:
        """Until a number of the page contains a text."""
        self.page.locator(f'[data-pliant="{key}"]', has_text=text).first.wait_for()

    def place(self, camera: Viewpoint, point: Any) -> tuple[int, int]:
        """Column and row of a point of the world [m]; the canvas fills what the docked panel leaves of the window."""
        box = self.page.locator("canvas").first.bounding_box()
        eye, target = camera
        back = (eye - target) / np.linalg.norm(eye - target)
        right = np.cross((0.0, 0.0, 1.0), back)
        right /= np.linalg.norm(right)
        local = np.vstack([right, np.cross(back, right), back]) @ (np.asarray(point) - eye)
        focal = 0.5 * box["height"] / np.tan(0.5 * FIELD_OF_VIEW)
        u = box["x"] + 0.5 * box["width"] - focal * local[0] / local[2]
        v = box["y"] + 0.5 * box["height"] + focal * local[1] / local[2]
        return round(u), round(v)


def differing(a: Picture, b: Picture, *, box: tuple[int, int, int, int] | None = None) -> int:
    """Pixels that differ clearly; ``box`` is left, top, right, bottom."""
    if box is not None:
        left, top, right, bottom = box
        a, b = a[top:bottom, left:right], b[top:bottom, left:right]
    return int((np.abs(a - b).max(axis=2) > 24).sum())
