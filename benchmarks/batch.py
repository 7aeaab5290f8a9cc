"""What does the batch engine cost? Local processes and Ray beside a plain pool of processes, the same items, one run.

    python benchmarks/batch.py [--items 120] [--seconds 0.5] [--jobs 2] [--trivial 2000] [--engines local,ray]
                               [--out out/benchmarks/batch.json]

Overhead is processor places paid for and not used for work: jobs x elapsed / (sum of the items' own time) - 1, the
start of workers included ("overhead") and without it ("steady": from the first items' ends to the last). The engine's
own CPU time per item is given beside it: it does not depend on what else the machine does. The peer is
`multiprocessing.Pool` with the spawn method: no limits, no retries, nothing on disk. A Ray cluster is started before
the clock runs, as it would be there already; how long that took is told.
Trivial items show the cost of an item that does nothing, and whether memory stays flat.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from record import about, write

from pliant.batch import Column, Item, LocalEngine, Progress, RayEngine, Work, run_batch

STEP_COUNT = 1000


def work_for(seconds: float, seed: int) -> float:
    """Linear algebra until this process has used so much CPU time; the answer does not matter, the time does."""
    rng = np.random.default_rng(seed)
    A, x = rng.normal(size=(24, 24)) / 5, rng.normal(size=24)
    end = time.process_time() + seconds
    while time.process_time() < end:
        for _ in range(STEP_COUNT):
            x = np.tanh(A @ x + 1e-3)
    return float(x.sum())


def _busy(arguments: Mapping[str, Any], files: Path) -> Iterator[dict[str, Any]]:
    yield {"value": work_for(arguments["seconds"], arguments["seed"])}


def _nothing(arguments: Mapping[str, Any], files: Path) -> Iterator[dict[str, Any]]:
    yield {"value": float(arguments["seed"])}


COLUMNS = (Column("value", "float", "what came out"),)
BUSY, NOTHING = Work(_busy, COLUMNS), Work(_nothing, COLUMNS)


def timed(pair: tuple[float, int]) -> tuple[float, float]:
    """For the pool: when an item ended, and how long it took."""
    began = time.perf_counter()
    work_for(*pair)
    return time.time(), time.perf_counter() - began


def pool(count: int, seconds: float, jobs: int) -> dict[str, float]:
    used, began = time.process_time(), time.time()
    with multiprocessing.get_context("spawn").Pool(jobs) as workers:
        ends = list(workers.imap_unordered(timed, [(seconds, seed) for seed in range(count)]))
        elapsed = time.time() - began
    return figures([end for end, _ in ends], [took for _, took in ends], elapsed, jobs, time.process_time() - used)


def engine(which: Any, count: int, seconds: float, jobs: int, folder: Path) -> dict[str, float]:
    items = [Item(f"item_{seed}", {"seed": seed, "seconds": seconds}) for seed in range(count)]
    used, began = time.process_time(), time.time()
    result = run_batch(items, "batch:BUSY", folder, engine=which)
    elapsed = time.time() - began
    assert result.done == count, result
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    ends, walls = [entry["finished_at"] for entry in log], [entry["wall_s"] for entry in log]
    return figures(ends, walls, elapsed, jobs, time.process_time() - used)


def figures(ends: list[float], walls: list[float], elapsed: float, jobs: int, own: float) -> dict[str, float]:
    """Overheads in per cent, and the engine's own CPU time per item [ms]."""
    order = np.argsort(ends)
    ends_, walls_ = np.array(ends)[order], np.array(walls)[order]
    inner = slice(jobs, len(ends_) - jobs + 1)
    steady = jobs * (ends_[inner][-1] - ends_[jobs - 1]) / walls_[inner].sum() - 1
    return {
        "elapsed_s": elapsed,
        "work_s": float(walls_.sum()),
        "overhead_all_%": 100 * (jobs * elapsed / float(walls_.sum()) - 1),
        "overhead_steady_%": 100 * float(steady),
        "own_cpu_ms": 1000 * own / len(walls_),
    }


def trivial(count: int, folder: Path) -> dict[str, float]:
    seen: dict[int, int] = {}

    def watch(now: Progress) -> None:
        if now.done in (count // 10, count):
            seen[now.done] = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    began = time.time()
    items = [Item(f"t{seed}", {"seed": seed}) for seed in range(count)]
    result = run_batch(items, "batch:NOTHING", folder, engine=LocalEngine(1), progress=watch)
    assert result.done == count
    grown = seen[count] - seen[count // 10]
    return {"items": count, "ms_per_item": 1000 * (time.time() - began) / count, "memory_growth_mb": grown / 1e6}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=120)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--trivial", type=int, default=2000)
    parser.add_argument("--engines", default="local,ray")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/batch.json"))
    options = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent))
    found: dict[str, dict[str, float]] = {"pool": pool(options.items, options.seconds, options.jobs)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "local" in options.engines:
            which = LocalEngine(options.jobs)
            found["local"] = engine(which, options.items, options.seconds, options.jobs, folder / "local")
        if "ray" in options.engines:
            if importlib.util.find_spec("ray") is None:
                print("RAY IS NOT INSTALLED: left out (pip install 'pliant[ray]')")
            else:
                import ray

                began = time.time()
                ray.init(num_cpus=options.jobs, include_dashboard=False, log_to_driver=False)
                start = time.time() - began
                which = RayEngine(jobs=options.jobs)
                found["ray"] = engine(which, options.items, options.seconds, options.jobs, folder / "ray")
                found["ray"]["cluster_start_s"] = start
                ray.shutdown()
        nothing = trivial(options.trivial, folder / "trivial")
    print(f"{options.items} items of {options.seconds:g} s CPU on {options.jobs} places; load {os.getloadavg()[0]:.1f}")
    print(f"{'':8}{'elapsed s':>11}{'work s':>9}{'overhead %':>12}{'steady %':>10}{'own CPU ms/item':>17}")
    for name, row in found.items():
        numbers = (row[key] for key in ("elapsed_s", "work_s", "overhead_all_%", "overhead_steady_%", "own_cpu_ms"))
        print(f"{name:8}" + "{:11.1f}{:9.1f}{:12.1f}{:10.1f}{:17.1f}".format(*numbers))
    print(
        "{items} trivial items: {ms_per_item:.1f} ms each, memory grown by {memory_growth_mb:.1f} MB".format(**nothing)
    )
    print("overhead %: in the clock are starting the workers (imports included), handing out, committing, the summary")
    print("steady %: from the first items' ends to the last's, so without the start of workers and the summary")
    if "ray" in found:
        row = found["ray"]
        start = row["cluster_start_s"]
        whole = 100 * (options.jobs * (row["elapsed_s"] + start) / row["work_s"] - 1)
        print(f"not in the clock: starting the Ray cluster, {start:.1f} s; with it Ray's overhead is {whole:.1f} %")
    for name, most in (("local", 5.0), ("ray", 15.0)):
        if name in found:
            value = found[name]["overhead_all_%"]
            print(
                f"{name}: {value:.1f} % with the start of workers; {'meets' if value < most else 'MISSES'} {most:g} %"
            )
    record = {"engines": found, "trivial": nothing, "load": os.getloadavg(), **about("ray", "pyarrow")}
    write(options.out, record)


if __name__ == "__main__":
    main()
