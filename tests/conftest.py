"""Fixtures that several packages' tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder with real robots and scanned objects; tests that need it skip, loudly, where it is absent."""
    root = Path(__file__).resolve().parents[1]
    named = os.environ.get("PLIANT_SHARED")
    candidates = [Path(named), Path(named) / "data"] if named else [root.parent / "shared" / "data"]
    for folder in candidates:
        if (folder / "objects").is_dir():
            return folder
    tried = ", ".join(str(folder) for folder in candidates)
    pytest.skip(f"SHARED DATA ABSENT (tried {tried}); set PLIANT_SHARED to the folder that holds objects/")
