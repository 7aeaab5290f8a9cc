"""Run logs survive the way to disk and back; broken files are refused with the reason."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from pliant.control import Event, RunLog, RunPhase, RunRecorder
from pliant.errors import DocumentError
from pliant.files import load_run, save_run
from pliant.plain_arrays import array_bytes
from pliant.tactile import TactileFrame


def some_log(rows: int = 3000) -> RunLog:
    rng = np.random.default_rng(1)
    recorder = RunRecorder(("a", "b"), ("left", "right"))
    for i in range(rows):  # more than the recorder starts with: it grows
        recorder.append(
            {
                "time": 0.01 * i,
                "plan_time": 0.01 * i,
                "phase": i % len(RunPhase),
                "q_measured": rng.normal(size=2),
                "force_measured": [1.0, np.nan],
                "point_measured": rng.normal(size=(2, 3)),
                "torque_measured": None,
            }
        )
        if i % 3 == 0:
            recorder.frame(TactileFrame("pad", 0.01 * i, rng.integers(0, 4096, (4, 3))))
    recorder.event(Event(0.5, RunPhase.LIFT, "abort", "force over limit: 16 N"))
    return recorder.log({"seed": 3, "worst": float("nan"), "phase": RunPhase.HOLD})


def test_a_log_comes_back_as_it_was(tmp_path: Path) -> None:
    log = some_log()
    path = save_run(log, tmp_path / "deep" / "one.run")
    again = load_run(path)
    assert (again.joints, again.contacts, again.events) == (log.joints, log.contacts, log.events)
    assert set(again.table) == set(log.table)
    for name, values in log.table.items():
        np.testing.assert_array_equal(again[name], values)
    np.testing.assert_array_equal(again.frames["pad"].counts, log.frames["pad"].counts)
    assert again.phases == log.phases
    assert again.reason == "force over limit: 16 N"
    assert again.facts == {"seed": 3, "worst": None, "phase": "hold"}
    assert [p.name for p in path.parent.iterdir()] == ["one.run"]  # nothing half-written beside it


def rewritten(
    path: Path, change: dict[str, object] | None = None, drop: str = "", add: dict[str, bytes] | None = None
) -> Path:
    """A copy of a run file with something wrong in it."""
    target = path.with_name("bad.run")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            if name == drop or name in (add or {}):
                continue
            data = old.read(name)
            if name == "run.json" and change:
                data = json.dumps({**json.loads(data), **change}).encode()
            new.writestr(name, data)
        for name, data in (add or {}).items():
            new.writestr(name, data)
    return target


def test_broken_files_are_refused_with_the_reason(tmp_path: Path) -> None:
    path = save_run(some_log(40), tmp_path / "one.run")
    (tmp_path / "text.run").write_text("hello")
    with pytest.raises(DocumentError, match="not a run log"):
        load_run(tmp_path / "text.run")
    with pytest.raises(DocumentError, match=r"closest there: one\.run"):
        load_run(tmp_path / "ones.run")
    (tmp_path / "cut.run").write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DocumentError):
        load_run(tmp_path / "cut.run")
    with pytest.raises(DocumentError, match="version"):
        load_run(rewritten(path, {"version": 99}))
    with pytest.raises(DocumentError, match="kind"):
        load_run(rewritten(path, {"kind": "pliant plan"}))
    with pytest.raises(DocumentError, match=r"time\.npy: is missing"):
        load_run(rewritten(path, drop="table/time.npy"))
    with pytest.raises(DocumentError, match="does not fit"):
        load_run(rewritten(path, {"joints": ["a", "b", "c"]}))
    with pytest.raises(DocumentError, match="phase"):
        load_run(rewritten(path, {"phases": ["dance"] * len(RunPhase)}))
    names = list(some_log(2).table)
    with pytest.raises(DocumentError, match="table/force: no quantity 'force'; closest: force_"):
        load_run(rewritten(path, {"quantities": [*names, "force"]}, add={"table/force.npy": array_bytes(np.ones(40))}))
    for wrong in (np.ones((40, 2)), np.ones((40, 2, 2)), np.ones((40, 2, 3, 1))):
        with pytest.raises(DocumentError, match=r"table/point_measured: shape .* expected \(40, 2, 3\)"):
            load_run(rewritten(path, add={"table/point_measured.npy": array_bytes(wrong)}))
    less = load_run(rewritten(path, {"quantities": [name for name in names if name != "q_measured"]}))
    assert np.isnan(less["q_measured"]).all() and less["q_measured"].shape == (40, 2)


def test_a_pickle_inside_is_never_opened(tmp_path: Path) -> None:
    path = save_run(some_log(40), tmp_path / "one.run")
    buffer = io.BytesIO()
    np.save(buffer, np.array([{"bad": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(DocumentError, match="not numbers"):
        load_run(rewritten(path, add={"table/time.npy": buffer.getvalue()}))
