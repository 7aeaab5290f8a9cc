"""Pictures and pages that cannot be written to the end: the old file stays as it was, and nothing lies beside it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import pliant.viewer.report.plan_report
from pliant.batch.store import Store
from pliant.control import RunRecorder
from pliant.errors import OptionError
from pliant.robot import load_hand
from pliant.viewer import save_png, write_report, write_run_plots

GREY = np.full((40, 60, 3), 99, dtype=np.uint8)


def _report(path: Path) -> None:
    write_report(SimpleNamespace(), path)  # type: ignore[arg-type]


def _plots(path: Path) -> None:
    log = RunRecorder(("opening",), ("left_finger",)).log()
    write_run_plots(log, path.parent, load_hand("parallel_gripper").description)


def _summary(path: Path) -> None:
    with Store(path.parent) as store:
        store.write(path.name, "<p>new</p>")


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("picture.png", lambda path: save_png(GREY, path)),
        ("forces.svg", _plots),
        ("report.html", _report),
        ("summary.html", _summary),
    ],
)
def test_a_full_disk_leaves_the_old_file_and_no_other(
    name: str, write: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pliant.viewer.report.plan_report, "report_html", lambda *_, **__: "<html>new</html>")
    path = tmp_path / name
    path.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OptionError, match="No space left"):
            write(path)
    assert path.read_bytes() == b"old"
    assert not [left for left in tmp_path.iterdir() if left.name.startswith(f".{name}")]
    write(path)
    assert path.read_bytes() != b"old"


def test_a_picture_of_another_kind_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"\.jpg.*\.png"):
        save_png(GREY, tmp_path / "a.jpg")
    assert list(tmp_path.iterdir()) == []
