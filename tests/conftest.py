"""Fixtures that several packages' tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

LONGEST = (
    "robustness/test_killed.py",
    "viewer/test_viewer_tabs.py",
    "cli/test_commands.py",
    "lab/test_calibration_in_lab.py",
    "docs/test_walkthrough.py",
    "contact/test_finite_bodies.py",
    "contact/test_invariance.py",
    "batch/test_ray.py",
    "robot/test_hand_proposal.py",
    "robustness/test_fuzz_documents.py",
    "viewer/test_viewer_page.py",
    "cli/test_plan_command.py",
)
"""Files of half a minute or more. They come first: begun at the end, one of them would run on alone."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    rank = {here / name: number for number, name in enumerate(LONGEST)}
    gone = [str(path) for path in rank if not path.exists()]
    if gone:
        raise pytest.UsageError(f"tests/conftest.py: LONGEST names files that are not there: {', '.join(gone)}")
    items.sort(key=lambda item: rank.get(item.path, len(rank)))


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of this run, empty at its start: nothing foreign is left in the user's, nothing old is taken from there.

    All processes of the run share it, so that what one has prepared no other prepares again.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "prepared"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLIANT_CACHE", str(folder))
        yield folder


@pytest.fixture
def coarse_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a command does in the lab is simulated with few nodes, even ones, in a quarter of the time.

    For tests of the commands; what the lab itself is worth is measured at its own fineness in tests/lab.
    """
    from pliant import lab

    options = lab.LabOptions(step=0.004, friction_stiffness=100.0, nodes=100)
    monkeypatch.setattr(lab, "TrialSettings", partial(lab.TrialSettings, lab=options, period=0.012, fine=False))


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
