"""What came out of a batch, on one page: Markdown for people and tools, the same as one HTML file."""

from __future__ import annotations

import html
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pliant.batch.items import Item
from pliant.batch.store import Store
from pliant.batch.work import Work

if TYPE_CHECKING:
    from pliant.batch.running import BatchResult


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """A Markdown table; first column left, others right."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    return [*lines, ""]


def summarise(store: Store, items: Sequence[Item], work: Work, result: BatchResult) -> None:
    """Write ``summary.md`` and ``summary.html`` over all items of the batch, those of earlier runs included."""
    total = len(items)
    finished = result.done + result.skipped
    lines = ["# Batch", ""]
    lines += [f"{finished} of {total} items finished, {result.failed} failed, {result.left} left to do.", ""]
    if work.summary is not None and finished:
        lines += work.summary(store.folder)
    lines += _failures(store, items)
    lines += _times(store, {item.name for item in items})
    store.write("summary.md", "\n".join(lines).rstrip() + "\n")
    store.write("summary.html", _page(lines))


def _failures(store: Store, items: Sequence[Item]) -> list[str]:
    failures = list(store.failures(item.name for item in items))
    if not failures:
        return []
    reasons = Counter((f["attempts"][-1]["kind"], f["attempts"][-1]["reason"]) for f in failures)
    lines = ["## Failures", "", "Items that could not be computed, by the reason of their last attempt.", ""]
    lines += table(("reason", "items"), [(f"{kind}: {reason}", n) for (kind, reason), n in reasons.most_common(20)])
    shown = [(f["item"], f["attempts"][-1]["reason"]) for f in failures[:50]]
    lines += table(("item", "reason"), shown)
    if len(failures) > len(shown):
        lines += [f"... and {len(failures) - len(shown)} more in `failed/`.", ""]
    return lines


def _times(store: Store, names: set[str]) -> list[str]:
    """From the log: how long items took, and how many had to be tried twice."""
    wall: dict[str, float] = {}
    attempts: dict[str, int] = defaultdict(int)
    memory = 0
    for entry in store.entries():
        if entry.item in names:
            attempts[entry.item] += 1
            memory = max(memory, entry.peak_bytes)
            if entry.ok:
                wall[entry.item] = entry.wall_s
    if not wall:
        return []
    values = sorted(wall.values())
    again = sum(count > 1 for count in attempts.values())
    lines = ["## Time", "", f"{sum(values):.1f} s of work in all; median {values[len(values) // 2]:.3g} s an item, "]
    lines[-1] += f"largest {values[-1]:.3g} s. {again} items took more than one attempt."
    lines[-1] += f" Largest worker: {memory / 1e6:.0f} MB." if memory else ""
    return [*lines, ""]


def _cell(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")


STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;margin:1rem 0}td,th{border:1px solid #ccc;padding:.25rem .6rem}"
    "td:not(:first-child){text-align:right;font-variant-numeric:tabular-nums}th{background:#f3f3f3}"
)


def _page(lines: Sequence[str]) -> str:
    """The few forms of Markdown used here, as HTML."""
    body: list[str] = []
    rows: list[str] = []

    def end_table() -> None:
        if rows:
            body.append("<table>" + "".join(rows) + "</table>")
            rows.clear()

    for line in lines:
        if line.startswith("|---"):
            continue
        if line.startswith("| "):
            cells = line.replace("\\|", "\0")[2:-2].split(" | ")
            tag = "td" if rows else "th"
            shown = (html.escape(cell.replace("\0", "|")) for cell in cells)
            rows.append("<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in shown) + "</tr>")
            continue
        end_table()
        marks = len(line) - len(line.lstrip("#"))
        if marks:
            body.append(f"<h{marks}>{html.escape(line[marks + 1 :])}</h{marks}>")
        elif line:
            body.append(f"<p>{html.escape(line)}</p>")
    end_table()
    head = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Batch</title><style>{STYLE}</style></head>'
    )
    return head + "<body>" + "\n".join(body) + "</body></html>\n"
