"""Shared fixtures."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real robots and scanned objects, which are not part of this repository; tests that need them skip without."""
    folder = Path(os.environ.get("PLIANT_SHARED", ROOT.parent / "shared")) / "data"
    if not folder.is_dir():
        pytest.skip(
            f"SKIPPED FOR LACK OF DATA: {folder} does not exist (set PLIANT_SHARED to the folder that holds data/)"
        )
    return folder
