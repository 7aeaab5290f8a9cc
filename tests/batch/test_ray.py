"""Ray on a real cluster of two node processes: the same results, also when one of the nodes is killed."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

from pliant.batch import Item, Limits, LocalEngine, RayEngine, run_batch
from pliant.errors import OptionError

HAVE_RAY = find_spec("ray") is not None
needs_ray = pytest.mark.skipif(not HAVE_RAY, reason="RAY IS NOT INSTALLED: pip install ray to test it")


def results(folder: Path) -> dict[str, bytes]:
    found = [p for name in ("rows", "files") for p in (folder / name).rglob("*") if p.is_file()]
    found.append(folder / "results.parquet")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def nodes_tmp():
    """The temporary directory of the nodes; a short name, for Ray has its sockets there."""
    with tempfile.TemporaryDirectory(prefix="ray_", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def cluster(nodes_tmp):
    """A head and a second node on loopback, one processor each; a test may kill the second."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(nodes_tmp))
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        second = made.add_node(num_cpus=1)
    yield made, second
    made.shutdown()


@needs_ray
@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of Ray itself
def test_two_nodes_one_of_them_killed_give_the_results_of_local_processes(tmp_path, cluster, nodes_tmp):
    made, second = cluster
    (nodes_tmp / "pliant_batch_of_a_killed_process").mkdir()
    doom = {"doomed_node": second.all_processes["raylet"][0].process.pid, "once": str(tmp_path / "killed")}
    items = [Item(f"item_{n}", {"seed": n, "steps": 3000} | (doom if n >= 15 else {})) for n in range(60)]
    items.append(Item("bad", {"seed": -1}))

    ours = run_batch(items, "batch_works:CHAOS", tmp_path / "ray", engine=RayEngine(made.address))
    assert (tmp_path / "killed").exists()
    assert (ours.done, ours.failed, ours.left) == (60, 1, 0)
    log = [json.loads(line) for line in (tmp_path / "ray" / "log.jsonl").read_text().splitlines()]
    assert set(Counter(entry["item"] for entry in log if entry["ok"]).values()) == {1}
    lost = [entry for entry in log if not entry["ok"] and entry["item"] != "bad"]
    assert 1 <= len(lost) <= 2 and all(entry["kind"] == "node" for entry in lost)
    assert {entry["node"] for entry in log if entry["ok"]} == {node.node_id for node in (made.head_node, second)}
    failure = json.loads((tmp_path / "ray" / "failed" / "bad.json").read_text())
    assert "expected non-negative" in failure["attempts"][1]["reason"]
    # The killed attempt had no time to remove its folder; the next one on the machine did.
    assert not list(nodes_tmp.glob("pliant_batch_*"))
    run_batch(items, "batch_works:CHAOS", tmp_path / "local", engine=LocalEngine(2))
    assert results(tmp_path / "ray") == results(tmp_path / "local")
    # And again on what is left of the cluster, with limits: kept on the node that runs the item.
    for mood, kind, limits in (("hang", "time", Limits(time=1.0)), ("grow", "memory", Limits(memory=400e6))):
        bad, out = [Item(mood, {"mood": mood})], tmp_path / mood
        assert run_batch(bad, "batch_works:MOODY", out, engine=RayEngine(made.address), limits=limits).failed == 1
        assert json.loads((out / "failed" / f"{mood}.json").read_text())["attempts"][1]["kind"] == kind
    assert not list(nodes_tmp.glob("pliant_batch_*"))


@needs_ray
@pytest.mark.filterwarnings("default")
def test_a_cluster_that_is_not_there_is_told_with_its_address(tmp_path):
    with pytest.raises(OptionError, match="no Ray cluster answers"):
        run_batch([Item("a", {"seed": 0})], "batch_works:CHAOS", tmp_path, engine=RayEngine("127.0.0.1:1"))


def test_without_ray_the_engine_says_how_to_get_it(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(OptionError, match="pliant\\[ray\\]"):
        run_batch([Item("a", {"seed": 0})], "batch_works:CHAOS", tmp_path, engine=RayEngine())
