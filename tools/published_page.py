"""docs/published.md from its record: the published experiments beside ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

Record = Mapping[str, Any]
FORCE, CENTRE = 0.30, 1.0
"""[D]'s claim: force error, and distance of the centres of pressure in cells."""

TITLE = """# Published experiments beside ours

Four works describe what pliant does; here are their experiments beside ours, in the [virtual lab](virtual_lab.md)
instead of their laboratory, with the shipped tasks and default settings.

| | work |
| --- | --- |
| [A] | Leskov, Seliverstova 2017: choosing how to grasp a deformable object with a many-fingered gripper |
| [B] | control of a hand-arm system (Kawasaki FS020N with Schunk SDH2) by velocity vectors |
| [C] | Sorokin 2017: a tensor tracking system |
| [D] | Seliverstova 2018, thesis abstract: control of a many-fingered gripper that grasps deformable objects |

Everything on this page is measured and written by

```sh
python tools/published.py
```

(hours on two cores; `--only NAME` measures one section or task, `--render` writes the page from
`benchmarks/record/published.json` alone)."""

A_TEXT = """## [A] Where approach directions come from

Published: no numbers. Spheres and boxes around an object of a complicated shape (as GraspIt! and OpenRAVE use them)
give "few hypotheses, most of which fail, because the hand is so far away that its links do not touch when they
close"; hence a polyhedron, the object's mesh with few faces.

Ours: `planner: {method: polyhedron}` (the default) against `sphere` and `box`, for a complicated shape and a simple
one: hypotheses as they are drawn, before the search mends and improves them. The object's own axes, which pliant adds
as directions to each source, are not counted; the plan's force is that of the whole search."""

B_TEXT = """## [B] Arm and fingers at once, or one after the other

Published: no numbers. The main gain of steering arm and fingers as one system is said to be speed; objects of a
complicated shape make it impossible.

Ours, from `pliant plan NAME --json` (`approach_s`, `sequential_s`): time to the first touch under the same joint
limits."""

C_TEXT = """## [C] Tracking

Published: no measured numbers. Stated are: integrated velocities alone let the error grow quickly; feed-forward with
a little pose error mixed in does not; pose error alone is stabler and slower, with a static error at speed; straight
lines between stored points err less when points are closer.

Ours: the palm on a circle of 15 cm radius in 6 s (0.157 m/s), Kawasaki FS020N with SDH2, path file `circle: {centre:
[1.1, 0, 1.12], axis: [0, 0, 1], period: 6}`, then the shipped paths, e.g.

```sh
pliant servo kawasaki_fs020n+schunk_sdh2 examples/paths/circle.yaml --json
```"""

FIGURE_TEXT = """## [D] Figures 7 and 8: a ring and a bottle

Published: fig. 7, a rubber torus in the SDH2: centres of pressure agree "within the size of the sensor's cells"; fig.
8, a plastic bottle with liquid, moved by the fingers: planned and real force of both fingers, joint angles, and joint
torques, the real ones computed from measured contact forces; "differences are insignificant". The curves carry no
numbers in the text that is left.

Ours, with

```sh
pliant plan {example} --out {example}.plan
pliant run {example}.plan --out {example}.run --plots figures
```"""

CLAIM_TEXT = """## [D] Forces within 30 %, centres of pressure within a cell

Published: "the largest error of the computed contact forces, for different grasps of objects of different shape and
physical properties, does not exceed 30 %"; centres of pressure agree within the size of a cell (3.4 mm on the SDH2).

Ours: `pliant plan NAME`, `pliant run NAME.plan --out NAME.run`. A force error is the mean measured normal force of a
contact in one phase (lift, move, hold) over the mean planned one, less one; a centre's error is the median distance
in a phase from the planned centre, in cells of that hand. The peak is the largest true force of a contact in these
phases."""


FIGURE_HEAD = (
    "figure: task",
    "published",
    "ours",
    "largest force error",
    "largest centre error",
    "finger joints, rms",
    "finger torques from measured forces, rms",
    "reported by the drives, rms",
    "largest planned torque",
)
FIGURE_NOTE = """Errors are against the plan, over lift, move and hold. Torques from measured forces are `J^T f` at the
measured joints and centres of pressure, with the plan's friction, which pads do not feel, and the links' own weight."""

CLAIM_HEAD = (
    "task",
    "hand",
    "contacts",
    "held",
    "worst force error",
    "median",
    "peak: true / planned",
    "worst centre",
    "slip",
    "remarks",
)


def page(record: Record, tasks: Sequence[str], figures: Mapping[str, str]) -> str:
    """The whole page.

    Args:
        record: numbers of each section.
        tasks: in this order, as far as they are in the record.
        figures: tasks by [D]'s number of the figure.
    """
    known = record.get("tasks", {})
    rows = {name: known[name] for name in tasks if name in known}
    parts = [TITLE, *_sources(record.get("sources", {})), *_times(rows)]
    parts += [*_tracking(record.get("tracking", {})), *_figures(record, figures), *_claim(rows)]
    parts += _missing(name for name in dict.fromkeys((*tasks, *figures.values())) if name not in rows)
    return "\n\n".join(parts) + "\n"


def _missing(names: Iterable[str]) -> list[str]:
    """What the record has not yet, said at the end."""
    left = ", ".join(names)
    return [f"Not measured yet: {left}."] if left else []


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    lines = [list(head)]
    lines += [["---"] * len(lines[0]), *(list(row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float | None, digits: str = ".2f", unit: str = "") -> str:
    """A number with its unit; a dash where there is none."""
    return "-" if value is None else f"{value:{digits}}{unit}"


def _sources(rows: Record) -> list[str]:
    if not rows:
        return [A_TEXT, "Not measured yet."]
    head = (
        "task, source",
        "hypotheses",
        "fewer than two fingers touch",
        "may hold as drawn",
        "least promise of these",
        "plan",
        "CPU",
    )
    lines = []
    for name, row in rows.items():
        tried = max(row["hypotheses"] - row["open_hand_blocked"], 1)
        force = row["least_promise_n"] if row["sound"] else None
        lines.append(
            (
                name,
                f"{row['hypotheses']}, {tried} of them free",
                f"{row['too_few_fingers'] / tried:.0%} of the free",
                f"{row['sound']} ({row['sound'] / tried:.1%} of the free)",
                number(force, unit=" N"),
                number(row["plan_force_n"], unit=" N"),
                f"{row['cpu_s']:.0f} s",
            )
        )
    return [A_TEXT, table(head, lines), "A free one is one whose open hand hits nothing."]


def _times(tasks: Record) -> list[str]:
    found = {name: row for name, row in tasks.items() if row["found"]}
    if not found:
        return [B_TEXT, "Not measured yet."]
    lines = [
        (
            name,
            row["hand"],
            f"{row['approach_s']:.2f} s",
            f"{row['sequential_s']:.2f} s",
            f"{1.0 - row['approach_s'] / row['sequential_s']:+.0%}",
            row["approach_way"],
        )
        for name, row in found.items()
    ]
    saved = median(1.0 - row["approach_s"] / row["sequential_s"] for row in found.values())
    together = sum(row["approach_way"].startswith("hand-arm") for row in found.values())
    text = f"At once in {together} of {len(found)} plans; median gain {saved:.0%}."
    return [B_TEXT, table(("task", "hand", "planned", "one after the other", "gain", "found by"), lines), text]


def _tracking(rows: Record) -> list[str]:
    if not rows:
        return [C_TEXT, "Not measured yet."]
    claims = {
        "feed-forward and": "error does not grow",
        "feed-forward alone": "error grows",
        "pose error alone": "static error; v / K = 7.854 mm",
        "straight": "falls with the interval",
    }
    lines = []
    for name, row in rows.items():
        claim = next((text for start, text in claims.items() if name.startswith(start)), "")
        key = "max_interpolation_error_mm" if name.startswith("straight") else "max_error_mm"
        lines.append((name, claim, f"{row[key]:.3g} mm"))
    return [C_TEXT, table(("what", "published", "ours: largest error"), lines)]


def _figures(record: Record, figures: Mapping[str, str]) -> list[str]:
    parts, lines, shown = [FIGURE_TEXT.format(example=next(iter(figures.values())))], [], []
    for figure, name in figures.items():
        hand, run = record.get("figures", {}).get(name), record.get("tasks", {}).get(name)
        if hand is None or run is None:
            continue
        published = "centres within a cell" if figure == "7" else "held; differences insignificant"
        lines.append(
            (
                f"fig. {figure}: {name}",
                published,
                run["outcome"],
                number(run["worst_error"], "+.0%"),
                number(run["worst_centre_cells"], ".2f", " cells"),
                number(hand["angle_deg"], ".2g", " deg"),
                number(hand["torque_from_forces_nm"], ".2g", " N m"),
                number(hand["torque_drives_nm"], ".2g", " N m"),
                number(hand["torque_planned_nm"], ".2g", " N m"),
            )
        )
        shown += [f"![{name}: {picture}](pictures/{picture})" for picture in hand["pictures"]]
    if not lines:
        return [*parts, "Not measured yet."]
    return [*parts, table(FIGURE_HEAD, lines), FIGURE_NOTE, *shown]


def _claim(tasks: Record) -> list[str]:
    if not tasks:
        return [CLAIM_TEXT, "Not measured yet."]
    lines = []
    for name, row in tasks.items():
        if not row["found"]:
            lines.append((name, row["hand"], "-", "no plan", *["-"] * 6))
            continue
        lines.append(
            (
                name,
                row["hand"],
                str(row["contacts"]),
                "yes" if row["outcome"] == "held" else row["outcome"],
                number(row["worst_error"], "+.0%"),
                number(row["median_error"], ".0%"),
                f"{number(row['peak_force_n'])} / {number(row['planned_peak_force_n'])} N",
                number(row["worst_centre_cells"], ".2f", " cells"),
                number(row["slip_mm"], ".1f", " mm"),
                _remarks(row),
            )
        )
    return [CLAIM_TEXT, table(CLAIM_HEAD, lines), _overall(tasks)]


def _remarks(row: Record) -> str:
    """What happened besides the phases."""
    return ", ".join([*(f"{count} {kind}" for kind, count in row["events"].items()), *filter(None, [row["reason"]])])


def _within(value: float | None, limit: float) -> bool:
    return value is not None and abs(value) <= limit


def _overall(tasks: Record) -> str:
    """How many keep the claim."""
    run = [row for row in tasks.values() if row["found"]]
    errors = [abs(error) for row in run for error in row["errors"]]
    near = sum(row["outcome"] == "held" and _within(row["worst_error"], FORCE) for row in run)
    centred = sum(_within(row["worst_centre_cells"], CENTRE) for row in run)
    held = sum(row["outcome"] == "held" for row in run)
    hands = len({row["hand"] for row in run})
    return (
        f"**Of {len(tasks)} tasks with {hands} hands {held} are held, {near} with every contact's force within 30 % of "
        f"the plan, {centred} with every centre of pressure within a cell. Median force error of all contacts and "
        f"phases: {median(errors):.0%}.**"
    )
