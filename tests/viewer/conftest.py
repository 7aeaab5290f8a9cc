"""A made plan and a real browser for the viewer's tests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from made_plans import ring_plan
from pliant.planner import Plan

FLAGS = [
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-dev-shm-usage",  # containers often have little of it
]


@pytest.fixture(scope="session")
def plan() -> Plan:
    """The ring with two grasps, with true deformation."""
    return ring_plan()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium; tests that need it skip, loudly, where there is none.

    No longer than a module: the driver's event loop would disturb other tests of the same process.
    """
    named = os.environ.get("PLIANT_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None or not Path(found).exists():
        pytest.skip("BROWSER ABSENT: install chromium (Debian: apt-get install chromium) or set PLIANT_CHROMIUM")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()
