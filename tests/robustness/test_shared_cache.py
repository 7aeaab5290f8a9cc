"""A cache that others write to: several processes at once, damage, junk with a right checksum, pipes."""

from __future__ import annotations

import multiprocessing
import os
import random
import struct
from pathlib import Path

import numpy as np
import pytest

from pliant.contact.distance import distance_field
from pliant.elastic import cache
from pliant.elastic.compliance import _from_arrays
from pliant.objects import make_shape
from pliant.plain_arrays import array_bytes


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    return tmp_path / "cache"


def entry(body: bytes) -> bytes:
    """With a checksum that is right: it is no secret."""
    return cache._MAGIC + cache._digest(body) + body


HEAD = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118)
CLAIM = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }".ljust(117) + b"\n"
JUNK = {
    "nothing": b"",
    "noise": bytes(range(256)) * 9,
    "no_size": b"a\n" + array_bytes(np.zeros(3)),
    "more_than_there_is": b"a 99999999999\n" + array_bytes(np.zeros(3)),
    "negative": b"a -1\n" + array_bytes(np.zeros(3)),
    "claims_terabytes": b"a 128\n" + HEAD + CLAIM,
    "objects": b"a 200\n" + HEAD + CLAIM.replace(b"<f8", b"|O8"),
    "endless_name": b"a" * 1000,
    "other_numbers": b"values 144\n" + array_bytes(np.zeros(2, dtype=np.int64)),
}


@pytest.mark.parametrize("name", JUNK)
def test_junk_under_the_name_of_an_entry_is_computed_anew(name: str, folder: Path) -> None:
    ball = make_shape("sphere", radius=0.03, edge=0.02)
    sound = distance_field(ball, cells=6)
    (file,) = folder.glob("distance-*.bin")
    file.write_bytes(entry(JUNK[name]))
    assert _from_arrays(cache.load_arrays(file.stem)) is None
    again = distance_field(ball, cells=6)
    assert np.array_equal(again.values, sound.values)


@pytest.mark.parametrize("change", ["faces_that_are_not_there", "cut", "other_kind", "not_a_number", "flat"])
def test_arrays_that_are_no_compliance_are_not_taken_for_one(change: str) -> None:
    """Compiled code would read beyond them."""
    n = 4
    arrays = {
        "points": np.zeros((n, 3)), "faces": np.array([[0, 1, 2], [0, 2, 3]]), "patches": np.zeros((2, 6, 3)),
        "matrix": np.zeros((3 * n, 3 * n), np.float32), "inverse_mass": np.zeros((n, n), np.float32),
        "thickness": np.zeros(n), "numbers": np.array([0.3, 0.01]), "notes": np.zeros(0, np.uint8),
    }  # fmt: skip
    assert _from_arrays(dict(arrays)) is not None
    wrong = {
        "faces_that_are_not_there": ("faces", np.array([[0, 1, 2], [0, 2, 4]])),
        "cut": ("matrix", arrays["matrix"][:-1]),
        "other_kind": ("matrix", arrays["matrix"].astype(np.float64)),
        "not_a_number": ("points", np.full((n, 3), np.nan)),
        "flat": ("patches", np.zeros(36)),
    }
    name, array = wrong[change]
    assert _from_arrays(arrays | {name: array}) is None


def test_a_pipe_or_a_folder_in_place_of_an_entry_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "k.bin")
    (folder / "d.bin").mkdir()
    assert cache.load_arrays("k") is None and cache.load_arrays("d") is None
    cache.store_arrays("d", {"a": np.zeros(3)})
    cache.store_arrays("k", {"a": np.zeros(3)})
    assert cache.load_arrays("k") is not None  # the pipe has been replaced


def _busy(seed: int, rounds: int, failures: multiprocessing.Queue) -> None:
    """Stores and loads the same few entries as all others do, in a folder that holds only some of them."""
    rng = random.Random(seed)
    for _ in range(rounds):
        key = rng.randrange(5)
        if rng.random() < 0.5:
            cache.store_arrays(f"k{key}", {"a": np.full(2000 + key, float(key))}, limit=50_000)
        else:
            found = cache.load_arrays(f"k{key}") or {"a": np.full(2000 + key, float(key))}
            if not np.array_equal(found["a"], np.full(2000 + key, float(key))):
                failures.put(f"k{key}: {found['a'][:3]}")
    failures.put("")


def test_processes_that_write_the_same_entries_at_once_read_whole_ones_only(folder: Path) -> None:
    several = multiprocessing.get_context("fork")
    failures = several.Queue()
    processes = [several.Process(target=_busy, args=(seed, 150, failures)) for seed in range(4)]
    for process in processes:
        process.start()
    answers = [failures.get(timeout=120)]
    while answers.count("") < len(processes):
        answers.append(failures.get(timeout=120))
    for process in processes:
        process.join(60)
    assert not any(answers), answers
    assert [process.exitcode for process in processes] == [0] * 4
    assert not list(folder.glob(".part-*"))
    assert sum(path.stat().st_size for path in folder.glob("*.bin")) < 100_000
