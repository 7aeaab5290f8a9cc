"""The batch engine: nothing is lost, nothing is done twice, whatever dies.   (theory 11.5)"""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from batch_works import pids

from pliant.batch import Item, Limits, LocalEngine, Progress, WorkerError, find_work, make_item, run_batch
from pliant.batch.store import Store, write_rows
from pliant.errors import OptionError


def chaos(count: int, **arguments: object) -> list[Item]:
    return [Item(f"item_{seed}", {"seed": seed, **arguments}) for seed in range(count)]


def log_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def contents(folder: Path) -> dict[str, bytes]:
    """Everything in the folder that is a result."""
    found = [p for name in ("rows", "files") for p in (folder / name).rglob("*") if p.is_file()]
    found.append(folder / "results.parquet")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.mark.slow
def test_two_hundred_items_with_two_workers_killed_are_all_finished_once_and_equal_an_undisturbed_run(tmp_path):
    rng = np.random.default_rng(7)
    items = chaos(200, steps=400, ledger=str(tmp_path / "ledger"))
    moments = sorted(int(n) for n in rng.choice(np.arange(5, 190), 2, replace=False))
    engine = LocalEngine(2)
    killed: list[int] = []

    def disturb(now: Progress) -> None:
        if moments and now.done >= moments[0] and pids(engine):
            moments.pop(0)
            victim = int(rng.choice(pids(engine)))
            killed.append(victim)
            os.kill(victim, signal.SIGKILL)

    disturbed = run_batch(items, "batch_works:CHAOS", tmp_path / "a", engine=engine, progress=disturb)
    assert (disturbed.done, disturbed.failed, disturbed.skipped, disturbed.left) == (200, 0, 0, 0)
    assert len(set(killed)) == 2
    log = log_of(tmp_path / "a")
    assert Counter(entry["item"] for entry in log if entry["ok"]) == Counter(item.name for item in items)
    lost = [entry for entry in log if not entry["ok"]]
    assert len(lost) <= 2 and all("SIGKILL" in entry["reason"] for entry in lost)
    ended = Counter(line for line in (tmp_path / "ledger").read_text().splitlines() if line.startswith("ended"))
    # A worker killed after its last line, before its answer was heard, is the only way to end twice.
    assert len(ended) == 200 and sum(ended.values()) <= 200 + len(lost)
    calm = run_batch(items, "batch_works:CHAOS", tmp_path / "b", engine=LocalEngine(1))
    assert calm.done == 200
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_what_is_finished_is_not_done_again_and_what_was_edited_is(tmp_path):
    ledger = tmp_path / "ledger"
    first = run_batch(chaos(3, ledger=str(ledger)), "batch_works:CHAOS", tmp_path / "out", engine=LocalEngine(1))
    more = run_batch(chaos(5, ledger=str(ledger)), "batch_works:CHAOS", tmp_path / "out", engine=LocalEngine(1))
    assert (first.done, first.skipped) == (3, 0)
    assert (more.done, more.skipped) == (2, 3)
    assert Counter(ledger.read_text().split("\n"))["begun 0"] == 1
    table = pq.read_table(tmp_path / "out" / "results.parquet")
    assert table.column("item").to_pylist() == [f"item_{seed}" for seed in range(5) for _ in range(3)]
    again = run_batch(chaos(1), "batch_works:CHAOS", tmp_path / "out", engine=LocalEngine(1), resume=False)
    assert (again.done, again.skipped) == (1, 0)
    mesh = tmp_path / "thing.stl"
    mesh.write_bytes(b"one")
    names = {make_item("thing", "plan", {"a": 1}, [mesh]).name, make_item("thing", "plan", {"a": 2}, [mesh]).name}
    mesh.write_bytes(b"two")
    names |= {make_item("thing", "plan", {"a": 1}, [mesh]).name}
    assert len(names) == 3


def test_half_written_rows_and_leftovers_of_a_killed_run_do_not_count(tmp_path):
    out = tmp_path / "out"
    run_batch(chaos(4), "batch_works:CHAOS", out, engine=LocalEngine(1))
    whole = contents(out)
    rows = out / "rows" / "item_1.parquet"
    rows.write_bytes(rows.read_bytes()[:-5])
    (out / "rows" / "item_2.parquet").write_bytes(b"")
    (out / "rows" / "item_3.parquet").unlink()  # killed after the files, before the mark
    (out / ".scratch" / "0.1").mkdir(parents=True)
    with (out / "log.jsonl").open("a") as log:
        log.write('{"item": "item_3", "att')
    result = run_batch(chaos(4), "batch_works:CHAOS", out, engine=LocalEngine(1))
    assert (result.done, result.skipped) == (3, 1)
    assert contents(out) == whole
    assert not (out / ".scratch").exists()


def test_failures_are_told_with_their_reasons_and_tried_once_more(tmp_path):
    told = {
        "raise": ("error", "ValueError: a number is | wrong in line 2"),
        "die": ("died", "ended by SIGKILL"),
        "exit": ("died", "by itself with code 7"),
        "allocate": ("memory", "the limit is 400 MB"),
        "grow": ("memory", "the limit is 400 MB"),
        "undeclared": ("error", "does not declare: surprise"),
    }
    items = [Item(mood, {"mood": mood}) for mood in ("chatter", *told, "well")]
    items += [Item(f"{mood}_once", {"mood": mood, "once": str(tmp_path / mood)}) for mood in ("raise", "die")]
    limits = Limits(time=200.0, memory=400e6)
    result = run_batch(items, "batch_works:MOODY", tmp_path / "out", engine=LocalEngine(2), limits=limits)
    assert (result.done, result.failed) == (4, 6)
    attempts = Counter((entry["item"], entry["ok"]) for entry in log_of(tmp_path / "out"))
    summary = (tmp_path / "out" / "summary.md").read_text()
    assert "4 of 10 items finished, 6 failed, 0 left" in summary
    for mood, (kind, words) in told.items():
        record = json.loads((tmp_path / "out" / "failed" / f"{mood}.json").read_text())
        assert [attempt["kind"] for attempt in record["attempts"]] == [kind, kind], mood
        assert words in record["attempts"][1]["reason"]
        assert attempts[mood, False] == 2
        assert f"| {mood} |" in summary
        assert f"<td>{mood}</td>" in (tmp_path / "out" / "summary.html").read_text()
    for mood in ("raise_once", "die_once"):
        assert attempts[mood, False] == attempts[mood, True] == 1
        assert not (tmp_path / "out" / "failed" / f"{mood}.json").exists()


def test_an_item_that_takes_too_long_is_ended(tmp_path):
    limits = Limits(time=0.5)
    hang = [Item("hang", {"mood": "hang"})]
    result = run_batch(hang, "batch_works:MOODY", tmp_path, engine=LocalEngine(1), limits=limits)
    assert (result.done, result.failed) == (0, 1)
    record = json.loads((tmp_path / "failed" / "hang.json").read_text())
    assert [a["reason"] for a in record["attempts"]] == ["took longer than the time limit of 0.5 s"] * 2


@pytest.mark.slow
def test_ten_thousand_trivial_items_keep_memory_flat(tmp_path, request):
    if Path("/dev/shm").is_dir():  # this is about memory, not about how fast a disk syncs
        folder = tempfile.TemporaryDirectory(dir="/dev/shm")
        request.addfinalizer(folder.cleanup)
        tmp_path = Path(folder.name)

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    if not Path("/proc/self/statm").exists():
        pytest.skip("MEMORY IS NOT TOLD by this system")
    seen: dict[int, int] = {}

    def watch(now: Progress) -> None:
        if now.done in (1000, 10_000):
            seen[now.done] = resident()

    items = [Item(f"t{k}", {"k": k}) for k in range(10_000)]
    result = run_batch(items, "batch_works:TRIVIAL", tmp_path / "out", engine=LocalEngine(1), progress=watch)
    assert result.done == 10_000
    assert seen[10_000] - seen[1000] < 8e6
    peaks = [entry["peak_bytes"] for entry in log_of(tmp_path / "out")]
    assert peaks[-1] - peaks[1000] < 8e6
    assert resident() - seen[1000] < 60e6  # gathering streams, too
    table = pq.read_table(tmp_path / "out" / "results.parquet", columns=["value"])
    assert np.array_equal(table.column("value").to_numpy(), 0.5 * np.arange(10_000))


def test_two_batches_cannot_write_to_one_folder(tmp_path):
    with Store(tmp_path / "out"), pytest.raises(OptionError, match="another batch is writing"):
        run_batch(chaos(1), "batch_works:CHAOS", tmp_path / "out")


def test_broken_questions_are_refused_with_words(tmp_path):
    with pytest.raises(OptionError, match="is there twice"):
        run_batch([Item("a", {}), Item("a", {})], "batch_works:CHAOS", tmp_path)
    with pytest.raises(OptionError, match="closest: plan"):
        find_work("plann")
    with pytest.raises(OptionError, match="cannot be loaded"):
        find_work("no_such_module:THING")
    with pytest.raises(OptionError, match=r"expected a pliant\.batch\.Work"):
        find_work("batch_works:NOT_A_WORK")
    with pytest.raises(OptionError, match="name of a file"):
        Item("../up", {})
    with pytest.raises(OptionError, match="memory limit"):
        Limits(memory=0)
    with pytest.raises(OptionError, match="jobs"):
        LocalEngine(0)


def test_workers_that_cannot_start_are_nobodys_failure(tmp_path, monkeypatch):
    import batch_works

    monkeypatch.setattr(batch_works, "ONLY_HERE", batch_works.CHAOS, raising=False)
    with pytest.raises(WorkerError, match="do not start"):
        run_batch(chaos(2), "batch_works:ONLY_HERE", tmp_path / "out", engine=LocalEngine(1))
    assert not list((tmp_path / "out" / "failed").iterdir())


def test_damage_in_the_folder_of_a_batch_is_passed_over_or_named(tmp_path):
    """What a bad disk or somebody else left there: a byte that is no text, records of another kind, half a table."""
    items = chaos(3)
    assert run_batch(items, "batch_works:CHAOS", tmp_path, engine=LocalEngine(1)).done == 3
    whole = (tmp_path / "log.jsonl").read_bytes()
    odd = b'\xff\xfe{"item"\n[]\n3\n{"item": ["item_0"], "ok": true}\n{"item": "item_0", "ok": true, "wall_s": "x"}\n'
    (tmp_path / "log.jsonl").write_bytes(odd + b"[" * 100_000 + b"\n" + whole + b"x" * 3_000_000)
    for text in (b"\xff", b"{}", b'{"item": "item_1", "attempts": []}', b"[" * 100_000):
        (tmp_path / "failed" / "item_1.json").write_bytes(text)
        again = run_batch(items, "batch_works:CHAOS", tmp_path, engine=LocalEngine(1))
        assert (again.skipped, again.failed) == (3, 0)
        summary = (tmp_path / "summary.md").read_text()
        assert "its record is damaged" in summary and "0 items took more than one attempt" in summary
    table = tmp_path / "rows" / "item_1.parquet"
    data = table.read_bytes()
    table.write_bytes(data[:20] + bytes(len(data) - 40) + data[-20:])  # both ends are there
    with pytest.raises(OptionError, match=r"item_1\.parquet: is damaged: .*remove it and run the batch again"):
        run_batch(items, "batch_works:CHAOS", tmp_path, engine=LocalEngine(1))


def test_pipes_in_the_folder_of_a_batch_are_not_waited_for(tmp_path):
    with Store(tmp_path) as store:
        made = store.scratch / "made"
        (made / "files").mkdir(parents=True)
        (made / "files" / "a.txt").touch()
        write_rows(made / "rows.parquet", "a", [], [])
        for place in (store.rows / "a.parquet", store.files / "a", store.failed / "a.json"):
            os.mkfifo(place)
        assert store.finished(["a"]) == set() and list(store.failures(["a"])) == []
        store.commit("a", made)
        assert store.finished(["a"]) == {"a"} and (store.files / "a" / "a.txt").is_file()
    for name in (".lock", "log.jsonl"):
        (tmp_path / name).unlink()
        os.mkfifo(tmp_path / name)
        with pytest.raises(OptionError, match="is not an ordinary file"):
            Store(tmp_path)
        (tmp_path / name).unlink()
