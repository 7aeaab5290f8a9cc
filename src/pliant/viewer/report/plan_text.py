"""A plan as sentences and tables, for the page and the report. Whatever came from a file is escaped in tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from pliant.planner import (
    HeldState,
    Moment,
    Plan,
    PlannedGrasp,
    PlanStatus,
    Rejection,
    Stage,
    Stopped,
    Task,
    force_share,
)

TextRow = dict[str, str]
"""A row of a table: cells by the header of their column."""
ENDINGS = {
    Stopped.INTERRUPTED: "The search was interrupted",
    Stopped.SECONDS: "The search was ended by its time limit",
    Stopped.FIRST: "The search was ended with its first grasp",
}
"""What ended a search before its budget was spent."""


def summary(plan: Plan) -> list[str]:
    """The plan in a few plain sentences."""
    tried = f"{len(plan.hypotheses)} hypotheses were tried with {plan.task.assembly.name}"
    if plan.status is PlanStatus.NONE or plan.best is None:
        sentences = [f"No grasp of {_object(plan.task)} was found: {tried} and all were rejected.", *_most_common(plan)]
        sentences += [ending_text(plan)] if plan.stopped in ENDINGS else []
        return [*sentences, plan.advice] if plan.advice else sentences
    best, state = plan.best, plan.best.grasp
    sentences = [
        f"{holding_text(plan.task, best)}.",
        f"The surface gives by up to {_deepest(best):.2f} mm; the deformation moves the centre of mass by "
        f"{length_text(best.com_shift)} and changes the volume by {1e2 * state.volume_change:+.2f} %. "
        f"Friction is used up to {100 * max(s.friction_usage for s in best.states):.0f} %.",
        f"{tried}: {len(plan.grasps)} kept, {len(plan.rejections)} rejected. {duration_text(best)}",
        *_most_common(plan),
    ]
    sentences += [ending_text(plan)] if plan.stopped in ENDINGS else []
    sentences += [f"Note: {warning}" for warning in best.warnings]
    return [*sentences, plan.advice] if plan.advice else sentences


def holding_text(task: Task, grasp: PlannedGrasp) -> str:
    """Which fingers hold the object, and how hard they press."""
    fingers = ", ".join(grasp.hypothesis.fingers).replace("_", " ")
    return (
        f"{task.assembly.name} holds {_object(task)} with {fingers} ({grasp.hypothesis.preshape} preshape); "
        f"the largest contact force of the whole operation is {grasp.largest_force:.2f} N"
        + _of_limit(grasp.largest_force, task.body.limits.force, "N")
        + f", the largest pressure {1e-3 * grasp.largest_pressure:.1f} kPa"
        + _of_limit(grasp.largest_pressure, task.body.limits.pressure, "kPa", 1e-3)
        + _nominal(grasp)
    )


def _object(task: Task) -> str:
    return f"{task.body.mesh.name or 'the object'} ({1e3 * task.body.mass:.0f} g)"


def ending_text(plan: Plan) -> str:
    """What ended the search before its budget was spent; empty where nothing did."""
    if plan.stopped not in ENDINGS:
        return ""
    return f"{ENDINGS[plan.stopped]}; a longer one may find {'less force' if plan.grasps else 'a grasp'}."


def _nominal(grasp: PlannedGrasp) -> str:
    """What would do without the reserve, and what the reserve is; nothing where the plan does not say."""
    if math.isnan(grasp.nominal_force):
        return ""
    return (
        f"; {grasp.nominal_force:.2f} N would do if friction and weight were exactly those of the task, the plan is "
        f"ready for {grasp.reserve.friction:.0%} of the friction and {grasp.reserve.load:.0%} of the weight"
    )


def _seconds(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "–"


def duration_text(grasp: PlannedGrasp) -> str:
    """How long the operation takes, and how long to the first touch, where that is known."""
    whole = f"The operation takes {grasp.trajectory.duration:.1f} s"
    if not np.isfinite([grasp.approach_s, grasp.sequential_s]).all():
        return f"{whole}."
    return (
        f"{whole}, {grasp.approach_s:.2f} s of them to the first touch ({grasp.approach_way}); "
        f"the arm first and then the fingers would take {grasp.sequential_s:.2f} s."
    )


def grasp_title(plan: Plan, rank: int) -> str:
    """One line for a ranked grasp."""
    grasp = plan.grasps[rank]
    fingers = f"{len(grasp.hypothesis.fingers)} fingers"
    return (
        f"{rank + 1}: {grasp.largest_force:.2f} N, {grasp.hypothesis.preshape}, {fingers} (#{grasp.hypothesis.number})"
    )


def contact_rows(state: HeldState, depth_share: float = 1.0) -> list[TextRow]:
    """One row per contact."""
    share = force_share(depth_share)
    return [
        {
            "link": c.link + (f" ({c.patch + 1})" if c.patch else ""),
            "normal [N]": f"{share * c.normal_force:.2f}",
            "friction [N]": f"{share * float(np.hypot(c.force[0], c.force[1])):.2f}",
            "needed [N]": f"{float(c.wanted[2]):.2f}",
            "slip margin [N]": f"{share * c.slip_margin:.2f}",
            "limit [N]": f"{c.max_force:.3g}" if np.isfinite(c.max_force) else "none",
            "radius [mm]": f"{1e3 * depth_share**0.5 * c.radius:.1f}",
            "peak [kPa]": f"{1e-3 * depth_share**0.5 * c.peak_pressure:.1f}",
            "pad gives [mm]": f"{1e3 * depth_share * c.pad_depth:.3f}",
        }
        for c in state.contacts
    ]


def push_rows(pushes: Iterable[Mapping[str, Any]]) -> list[TextRow]:
    """One row per push on the held object; what a log does not tell is a dash."""

    def vector(value: Any) -> str:
        known = isinstance(value, list | tuple) and all(isinstance(number, int | float) for number in value)
        return " ".join(f"{number:.3g}" for number in value) if known else "–"

    def millimetres(value: Any) -> str:
        return f"{1e3 * value:.2f}" if isinstance(value, int | float) else "–"

    words = {True: "yes", False: "no"}
    return [
        {
            "force [N]": vector(push.get("force_n")),
            "torque [N m]": vector(push.get("torque_nm")),
            "in": str(push.get("phase") or "–"),
            "slip [mm]": millimetres(push.get("slip_m")),
            "remaining [mm]": millimetres(push.get("remaining_m")),
            "held": words.get(push.get("held"), "not pushed"),  # type: ignore[arg-type]
        }
        for push in pushes
    ]


def ranking_rows(plan: Plan) -> list[TextRow]:
    """One row per kept grasp."""
    return [
        {
            "rank": str(k + 1),
            "hypothesis": f"#{g.hypothesis.number}: {g.hypothesis.preshape}, "
            f"{', '.join(g.hypothesis.fingers)}; {g.hypothesis.source}",
            "largest force [N]": f"{g.largest_force:.2f}",
            "nominal [N]": "" if math.isnan(g.nominal_force) else f"{g.nominal_force:.2f}",
            "peak [kPa]": f"{1e-3 * g.largest_pressure:.1f}",
            "centre shift [mm]": f"{1e3 * g.com_shift:.3g}",
            "range": f"{g.joint_range:.3g}",
            "arm path [rad]": f"{g.arm_path:.2f}",
            "approach [s]": _seconds(g.approach_s),
            "arm, then fingers [s]": _seconds(g.sequential_s),
        }
        for k, g in enumerate(plan.grasps)
    ]


def rejection_rows(rejections: Iterable[Rejection]) -> list[TextRow]:
    """One row per rejected hypothesis."""
    return [
        {
            "hypothesis": f"#{r.number}",
            "stage": r.stage.value,
            "reason": r.reason,
            "short by": f"{r.margin:.3g} {r.unit}".strip(),
            "detail": r.detail,
        }
        for r in rejections
    ]


class MomentRow(NamedTuple):
    """A number at a moment: a key for programs, a name and a value with its unit for people."""

    key: str
    name: str
    value: str


def moment_rows(moment: Moment) -> list[MomentRow]:
    """What matters at a moment."""
    rows = [
        MomentRow("time", "time", f"{moment.time:.2f} s"),
        MomentRow("phase", "phase", moment.phase.value),
        MomentRow("largest_force", "largest normal force", f"{moment.largest_force:.2f} N"),
        MomentRow("largest_pressure", "largest pressure", f"{1e-3 * moment.largest_pressure:.1f} kPa"),
        MomentRow("height", "object height", f"{1e3 * moment.T_world_object.translation[2]:.1f} mm"),
    ]
    state, share = moment.state, moment.depth_share
    if state is None:
        return rows
    shift = float(np.linalg.norm(state.centre_of_mass - state.centre_at_rest))
    usage = f"{100 * state.friction_usage:.0f} %" if share == 1.0 else "–"
    rows += [
        MomentRow("friction_usage", "friction used", usage),
        MomentRow("com_shift", "centre of mass moved by", length_text(share * shift)),
        MomentRow("volume_change", "volume change", f"{1e2 * share * state.volume_change:+.2f} %"),
    ]
    if moment.liquid_level is not None:
        rows.append(MomentRow("liquid_level", "liquid level", f"{1e3 * moment.liquid_level:.1f} mm"))
    return rows


def table(rows: Sequence[TextRow]) -> str:
    """An HTML table; numbers to the right. The keys of its rows are the columns."""
    head = "".join(f"<th>{escape(name)}</th>" for name in (rows[0] if rows else ()))
    body = "".join(
        "<tr>"
        + "".join(f'<td class="{"n" if _is_number(cell) else "t"}">{escape(cell)}</td>' for cell in row.values())
        + "</tr>"
        for row in rows
    )
    return f'<table class="pliant"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def stages_of(plan: Plan) -> list[Stage]:
    """The stages in which hypotheses of this plan were rejected, in order."""
    present = {rejection.stage for rejection in plan.rejections}
    return [stage for stage in Stage if stage in present]


def common_reasons(counts: Mapping[str, int], most: int) -> str:
    """The most common reasons of rejections with their counts."""
    common = sorted(counts.items(), key=lambda item: -item[1])[:most]
    return ", ".join(f"{reason} ({count})" for reason, count in common)


def _most_common(plan: Plan) -> list[str]:
    return [f"Most often: {common_reasons(plan.counts, 4)}."] if plan.counts else []


def _of_limit(value: float, limit: float | None, unit: str, factor: float = 1.0) -> str:
    return f" ({100 * value / limit:.0f} % of the permitted {factor * limit:.3g} {unit})" if limit is not None else ""


def _deepest(grasp: PlannedGrasp) -> float:
    return 1e3 * max(float(np.linalg.norm(state.displacement, axis=1).max()) for state in grasp.states)


def length_text(metres: float) -> str:
    """A small length in the unit that suits it."""
    return f"{1e3 * metres:.2f} mm" if metres >= 9.95e-5 else f"{1e6 * metres:.2g} µm"


def _is_number(cell: str) -> bool:
    return bool(cell) and (cell[0].isdigit() or cell[0] in "+-−–")
