"""Folders of attempts on a node: gone with the attempt, and with its process where that was killed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pliant.batch.node_folder import node_folder

HOLD = """
from pliant.batch.node_folder import node_folder
with node_folder() as folder:
    (folder / "made").mkdir()
    print(folder, flush=True)
    input()
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The temporary directory of this process and of those it starts."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def held() -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_the_folder_of_a_killed_process_goes_with_the_next_and_that_of_a_living_one_stays(temporary):
    (killed, left), (living, kept) = held(), held()
    killed.kill()
    killed.communicate()
    assert (left / "made").is_dir()
    with node_folder() as folder:
        assert folder.parent == temporary
        assert not left.exists()
        assert (kept / "made").is_dir()
    living.communicate("\n")
    assert list(temporary.iterdir()) == []


def test_the_folder_goes_when_the_attempt_raises(temporary):
    with pytest.raises(ValueError, match="bad item"), node_folder() as folder:
        (folder / "made").mkdir()
        raise ValueError("bad item")
    assert list(temporary.iterdir()) == []


def test_what_a_link_of_that_name_points_to_is_left_alone(temporary):
    (temporary / "mine").mkdir()
    (temporary / "pliant_batch_link").symlink_to(temporary / "mine")
    with node_folder():
        pass
    assert (temporary / "mine").is_dir()
