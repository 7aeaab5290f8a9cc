"""What a batch of plans says: success by object and hand, forces, and why hypotheses were rejected."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from statistics import median
from typing import Any

from pliant.batch.summary import table

READ = ("item", "object", "hand", "task", "status", "rank", "stage", "reason", "stable", "max_force_n")


def summary(folder: Path) -> list[str]:
    """Markdown lines from ``results.parquet``; read in pieces, however large it is."""
    import pyarrow.parquet as pq

    found: dict[tuple[str, str, str, str], bool] = {}
    forces: dict[tuple[str, str], list[float]] = defaultdict(list)
    reasons: Counter[tuple[str, str]] = Counter()
    hypotheses = stable = 0
    with pq.ParquetFile(folder / "results.parquet") as file:
        for piece in file.iter_batches(10_000, columns=list(READ)):
            for row in piece.to_pylist():
                hypotheses += 1
                stable += bool(row["stable"])
                found[row["item"], row["object"], row["hand"], row["task"]] = row["status"] == "found"
                if row["rank"] == 1 and row["max_force_n"] is not None:
                    forces[row["object"], row["hand"]].append(row["max_force_n"])
                if row["reason"]:
                    reasons[row["stage"], row["reason"]] += 1
    if not found:
        return []
    objects = list(dict.fromkeys(key[1] for key in found))
    hands = list(dict.fromkeys(key[2] for key in found))
    lines = [f"{sum(found.values())} of {len(found)} have a plan. {hypotheses} hypotheses, {stable} stable grasps.", ""]
    lines += ["## Success by object and hand", "", "Items with a plan of all items, and the median of the "]
    lines[-1] += "largest force of the chosen grasps."
    lines += ["", *table(("object", *hands, "all"), _success(found, forces, objects, hands))]
    lines += ["## Why hypotheses were rejected", ""]
    lines += table(
        ("stage: reason", "hypotheses", "%"),
        [(f"{stage}: {why}", n, f"{100 * n / hypotheses:.1f}") for (stage, why), n in reasons.most_common(20)],
    )
    return lines


def _success(
    found: dict[tuple[str, str, str, str], bool],
    forces: dict[tuple[str, str], list[float]],
    objects: list[str],
    hands: list[str],
) -> list[list[Any]]:
    tried: Counter[tuple[str, str]] = Counter()
    well: Counter[tuple[str, str]] = Counter()
    for (_, body, hand, _), success in found.items():
        for key in ((body, hand), (body, ""), ("", hand), ("", "")):
            tried[key] += 1
            well[key] += success

    def cell(body: str, hand: str) -> str:
        if not tried[body, hand]:
            return "-"
        values = [f for (o, h), list_ in forces.items() if body in ("", o) and hand in ("", h) for f in list_]
        force = f", {median(values):.3g} N" if values else ""
        return f"{well[body, hand]}/{tried[body, hand]}{force}"

    rows = [[body, *(cell(body, hand) for hand in hands), cell(body, "")] for body in objects]
    return [*rows, ["all", *(cell("", hand) for hand in hands), cell("", "")]]
