"""A plan as one HTML file: texts, pictures, the 3-D film, plots, tables, and how it was made. No network needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from html import escape
from pathlib import Path

from pliant.errors import OptionError
from pliant.file_bytes import write_bytes
from pliant.planner import Plan, PlanStatus, Task, Timeline
from pliant.viewer.report.figures import colour_bar
from pliant.viewer.report.grasp_plots import grasp_figures
from pliant.viewer.report.measured import RunMeasurements
from pliant.viewer.report.pad_pressures import largest_of, pad_image, planned_pressures
from pliant.viewer.report.plan_text import (
    contact_rows,
    length_text,
    push_rows,
    ranking_rows,
    rejection_rows,
    summary,
    table,
)
from pliant.viewer.scene.film import film_html
from pliant.viewer.scene.object_surface import ObjectSurface
from pliant.viewer.still.plan_pictures import CLOSE_UP, draw_moment, shots_of
from pliant.viewer.still.render import png_source

MOST_ROWS = 2000
HOW_TO_LOOK = "Drag to turn, scroll to come nearer"
HOW_TO_READ = (
    f"{HOW_TO_LOOK}, space to pause. Red arrows: contact forces on the object, ending where they "
    "act; red cones: the forces that friction allows; purple: the weight; orange ball: the centre of mass. The "
    "object's colour is its displacement, as in the pictures below."
)
STYLE = """
:root{color-scheme:light}
body{font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;color:#1b2330;background:#f4f6f8;margin:0}
main{max-width:1080px;margin:0 auto;padding:24px 20px 60px}
h1{font-size:26px;margin:8px 0 2px;overflow-wrap:anywhere} h2{font-size:19px;margin:34px 0 10px}
.sub{color:#5b6676;margin:0 0 14px} p{max-width:75ch}
.card{background:#fff;border:1px solid #dde2e8;border-radius:8px;padding:14px 16px;margin:12px 0}
.card{overflow-x:auto;min-width:0}
.grid{display:grid;gap:14px;grid-template-columns:repeat(auto-fit,minmax(min(300px,100%),1fr))}
.facts{display:grid;gap:10px;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));margin:14px 0}
.fact{background:#fff;border:1px solid #dde2e8;border-radius:8px;padding:10px 14px}
.fact b{display:block;font-size:21px;font-variant-numeric:tabular-nums}.fact span{color:#5b6676;font-size:13px}
figure{margin:0} figure img{width:100%;height:auto;border-radius:6px;display:block}
figcaption{color:#5b6676;font-size:13px;padding-top:6px}
iframe{width:100%;height:560px;border:0;border-radius:6px;display:block;background:#fff}
table{border-collapse:collapse;width:100%;font-size:13.5px}
th{text-align:left;border-bottom:1.5px solid #9aa4b2;padding:4px 8px;vertical-align:bottom}
td{padding:4px 8px;border-bottom:1px solid #e4e8ec;vertical-align:top}
td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
pre{font-size:12.5px;overflow-x:auto;white-space:pre-wrap} summary{cursor:pointer;font-weight:600}
.plots{grid-template-columns:repeat(auto-fit,minmax(430px,1fr))} .no{color:#b3261e} .bar{max-width:300px}
@media (max-width:640px){.plots,.grid{grid-template-columns:minmax(0,1fr)} main{padding:12px 10px 40px}}
@media (max-width:640px){iframe{height:420px}}
@media print{body{background:#fff} iframe{display:none} details{display:block}}
"""


def write_report(
    plan: Plan,
    path: str | Path,
    *,
    measured: RunMeasurements | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Path:
    """Write the report; folders are made as needed."""
    path = Path(path)
    text = report_html(plan, measured=measured, progress=progress)
    write_bytes(path, text.encode(), error=OptionError)
    return path


def report_html(
    plan: Plan, *, measured: RunMeasurements | None = None, progress: Callable[[str, float], None] | None = None
) -> str:
    """The report as text.

    Args:
        measured: what a run of the plan measured; drawn into the plots, unless it is not of the best grasp.
        progress: called with what is being done and the share that is done.
    """
    report_progress = progress if progress is not None else lambda _what, _share: None
    title = f"{plan.task.name}: {plan.task.assembly.name}"
    report_progress("filming", 0.1)
    film = film_html(plan, replace(CLOSE_UP, hand_opacity=0.45))
    parts = [f"<h1>{escape(title)}</h1>", _verdict(plan), _facts(plan)]
    parts.append("".join(f"<p>{escape(sentence)}</p>" for sentence in summary(plan)))
    if plan.best is None:
        parts.append(_section("The task as it stands", f"{_frame(film)}<figcaption>{HOW_TO_LOOK}.</figcaption>"))
    else:
        parts.append(_section("The operation", f"{_frame(film)}<figcaption>{HOW_TO_READ}</figcaption>"))
        parts.append(_grasp_parts(plan, measured.of(0) if measured is not None else None, report_progress))
        parts.append(_section("Ranking", table(ranking_rows(plan))))
    parts.append(_rejections(plan))
    parts.append(_made(plan, measured))
    report_progress("done", 1.0)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="data:,"><style>{STYLE}</style></head>'
        f"<body><main>{''.join(parts)}</main></body></html>"
    )


def _grasp_parts(plan: Plan, measured: RunMeasurements | None, report_progress: Callable[[str, float], None]) -> str:
    """Pictures, pads, plots and the contact tables of the best grasp."""
    assert plan.best is not None
    task, grasp = plan.task, plan.best
    surface = ObjectSurface(task.body.mesh, grasp)
    figures = []
    for k, (_, caption, moment, options, distance) in enumerate(shots_of(surface.timeline)[1:]):
        report_progress("drawing", 0.3 + 0.18 * k)
        picture = draw_moment(task, surface, moment, options=options, width=720, height=480, distance=distance)
        by = options.colour_by
        bar = f'<div class="bar">{colour_bar(surface.top(by), title=by.quantity, unit=by.unit)}</div>'
        figures.append(
            f'<figure class="card"><img src="{png_source(picture)}" alt="{escape(caption)}" width="720" height="480">'
            f"<figcaption>{escape(caption)}</figcaption>{bar}</figure>"
        )
    report_progress("plotting", 0.9)
    plots = "".join(f'<div class="card">{svg}</div>' for svg in grasp_figures(task, grasp, measured).values())
    contacts = table(contact_rows(grasp.grasp))
    last = table(contact_rows(grasp.states[-1]))
    parts = ['<h2>Pictures</h2><div class="grid">', *figures, "</div>"]
    parts.append(_section("Contacts and margins when just held", contacts))
    parts.append(_section("Contacts and margins at the end", last))
    if measured is not None and measured.pushes:
        parts.append(_section("Pushes on the held object", table(push_rows(measured.pushes))))
    if task.assembly.hand is not None and task.assembly.hand.tactile:
        parts.append(_pads(task, surface.timeline, measured))
    parts.append('<h2>Plots</h2><div class="grid plots">' + plots + "</div>")
    return "".join(parts)


def _pads(task: Task, timeline: Timeline, measured: RunMeasurements | None) -> str:
    """The tactile arrays along the operation: when half squeezed, held and at the end, all in one scale."""
    times = [0.5 * (timeline.touch_time + timeline.grasp_time), timeline.grasp_time, timeline.duration]
    moments = [timeline.at(time) for time in times]
    pressures = [planned_pressures(task, moment) for moment in moments]
    pressures += [measured.pressures(moment.time) for moment in moments] if measured is not None else []
    top = largest_of(pressures)
    pictures = "".join(
        f'<figure class="card"><img src="{png_source(pad_image(task, moment, measured, largest=top))}" '
        f'alt="tactile arrays at {moment.time:.2f} s" style="max-width:100%;width:auto">'
        f"<figcaption>{moment.time:.2f} s, {moment.phase.value}</figcaption></figure>"
        for moment in moments
    )
    kinds = "Planned and measured" if measured is not None and measured.pads else "Planned"
    title = f"{kinds} pressures on the tactile arrays"
    note = "The finger tip is on top; a red cross marks the centre of pressure."
    return f'<h2>{title}</h2><p>{note}</p><div class="grid">{pictures}</div>'


def _verdict(plan: Plan) -> str:
    if plan.status is PlanStatus.FOUND:
        return f'<p class="sub">A grasp was found; {len(plan.grasps)} kept of {len(plan.hypotheses)} hypotheses.</p>'
    return f'<p class="sub no">No grasp was found among {len(plan.hypotheses)} hypotheses.</p>'


def _facts(plan: Plan) -> str:
    best = plan.best
    if best is None:
        return ""
    facts = (
        (f"{best.largest_force:.2f} N", "largest contact force"),
        *([] if math.isnan(best.nominal_force) else [(f"{best.nominal_force:.2f} N", "without reserve")]),
        (f"{1e-3 * best.largest_pressure:.1f} kPa", "largest pressure"),
        (f"{max(100 * s.friction_usage for s in best.states):.0f} %", "friction used"),
        (length_text(best.com_shift), "centre of mass moved by"),
        (f"{best.trajectory.duration:.1f} s", "operation"),
        (f"{plan.wall_s:.1f} s", "planning"),
    )
    return (
        '<div class="facts">'
        + "".join(f'<div class="fact"><b>{a}</b><span>{b}</span></div>' for a, b in facts)
        + "</div>"
    )


def _rejections(plan: Plan) -> str:
    counts = table([{"stage: reason": name, "hypotheses": str(count)} for name, count in plan.counts.items()])
    rows = rejection_rows(plan.rejections[:MOST_ROWS])
    more = len(plan.rejections) - len(rows)
    every = table(rows) + (f"<p>and {more} more</p>" if more > 0 else "")
    return (
        f'<h2>Why the others were rejected</h2><div class="card">{counts}</div>'
        f'<details class="card"><summary>All {len(plan.rejections)} rejected hypotheses</summary>{every}</details>'
    )


def _made(plan: Plan, measured: RunMeasurements | None) -> str:
    rows = [("seed", str(plan.seed)), ("wall time", f"{plan.wall_s:.1f} s")]
    rows += [(f"CPU time, {stage}", f"{seconds:.1f} s") for stage, seconds in plan.cpu_s.items()]
    rows += [(f"version of {name}", version) for name, version in plan.versions.items()]
    if measured is not None and measured.of(0) is None:
        assert measured.rank is not None
        what = f"left out of the plots, which are of the best grasp: rank {measured.rank + 1} was run"
        rows.append(("run", what))
    elif measured is not None:
        rows.append(("run", measured.title or "measured values are dotted in the plots"))
    rows += [("note on the task", note) for note in plan.task.notes]
    source = escape(plan.task.source) if plan.task.source else "not made from a file"
    return (
        _section("How it was made", table([{"what": name, "value": value} for name, value in rows]))
        + f'<details class="card" open><summary>Task file</summary><pre>{source}</pre></details>'
    )


def _section(title: str, body: str) -> str:
    return f'<h2>{escape(title)}</h2><div class="card">{body}</div>'


def _frame(document: str) -> str:
    """A whole document inside this one."""
    return f'<iframe title="3-D scene" srcdoc="{escape(document, quote=True)}"></iframe>'
