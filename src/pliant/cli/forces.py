"""``pliant forces``: the smallest contact forces that hold a load, or why none do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pliant.cli.answers import emit

if TYPE_CHECKING:
    from rich.console import Console

    from pliant.files import ForceQuestion
    from pliant.grasp import Blame, ForceResult, ForceSolver

# Hulls of very many contacts take minutes and say little; from here on only the quick measures are made.
MOST_CONTACTS_FOR_HULLS = 20


def forces(
    grasp: Annotated[Path, typer.Argument(help="grasp file (YAML or JSON): contacts and the external load")],
    objective: Annotated[
        str,
        typer.Option(
            help="largest: least largest contact force, then least sum; loading: least sum of (1 - mu) f_n + |f_t|"
        ),
    ] = "largest",
    margin: Annotated[
        float | None, typer.Option(help="stay this far from slipping and from the force limit [N]; else the file's")
    ] = None,
    reaction: Annotated[
        str, typer.Option(help="disturbances: elastic (one squeeze holds all) or active (fresh forces for each)")
    ] = "elastic",
    quality: Annotated[bool, typer.Option(help="also measure how good the grasp is")] = True,
    json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Smallest sufficient contact forces for given contacts and load.

    Examples:

        pliant forces pinch.yaml

        pliant forces pinch.yaml --margin 0.2 --json

    Exit code 1 when no permitted forces hold the load; the answer then says which constraint is to blame.
    """
    from pliant.files import read_grasp
    from pliant.grasp import ForceSolver

    question = read_grasp(grasp)
    solver = ForceSolver(objective=objective, margin=question.margin if margin is None else margin)
    given: dict[str, Any] = {
        "centre": question.centre,
        "disturbances": question.disturbances if len(question.disturbances) else None,
        "reaction": reaction,
    }
    answer = solver.solve(question.contacts, question.external, **given)
    factor = None
    if any("friction" in blame.families for blame in answer.blame):
        factor = solver.friction_needed(question.contacts, question.external, **given)
    measures = _quality(question, answer) if quality else {}
    if json:
        emit(_as_json(answer, measures, factor, solver), json)
    else:
        from rich.console import Console

        _show(Console(markup=False, emoji=False), question, answer, measures, factor)
    if not answer.feasible:
        raise typer.Exit(1)


def _quality(question: ForceQuestion, answer: ForceResult) -> dict[str, float]:
    import numpy as np

    from pliant.grasp import force_closure_margin, grasp_quality, object_report

    contacts, centre = question.contacts, question.centre
    if len(contacts) <= MOST_CONTACTS_FOR_HULLS:
        measures = grasp_quality(contacts, centre)
    else:
        values = object_report(contacts, centre).singular_values
        measures = {
            "smallest_singular_value": float(values[-1]),
            "ellipsoid_volume": float(np.prod(values)),
            "isotropy": float(values[-1] / values[0]),
            "force_closure_margin": force_closure_margin(contacts),
            "centroid_distance": float(np.linalg.norm(contacts.points.mean(axis=0) - centre)),
        }
    measures["largest_force"] = answer.largest_force if answer.feasible else np.inf
    return measures


def _as_json(
    answer: ForceResult, measures: dict[str, float], factor: float | None, solver: ForceSolver
) -> dict[str, Any]:
    from pliant.grasp import MEASURES

    out: dict[str, Any] = {
        "status": str(answer.status),
        "forces_n": None,
        "wrench_residual": None,
        "margins": None,
        "blame": [str(blame) for blame in answer.blame],
        "blame_largest_force_n": [blame.largest_force for blame in answer.blame],
        "quality": {name: _finite(value) for name, value in measures.items()},
        "quality_units": {name: MEASURES[name].unit for name in measures},
        "quality_better": {name: MEASURES[name].better for name in measures},
        "objective": str(solver.objective),
        "margin_n": solver.margin,
        "models": [str(model) for model in answer.contacts.models],
        "contact_axes": answer.contacts.rotations.tolist(),
        "notes": list(answer.notes),
    }
    if answer.feasible:
        assert answer.forces is not None
        assert answer.moments is not None
        assert answer.margins is not None
        assert answer.forces_world is not None
        out |= {
            "forces_n": answer.forces.tolist(),
            "forces_world_n": answer.forces_world.tolist(),
            "moments_nm": answer.moments.tolist(),
            "largest_force_n": answer.largest_force,
            "total_force_n": answer.total_force,
            "wrench_residual": answer.residual,
            "worst_load": answer.worst_load,
            "margins": [
                {"slip_n": float(slip), "overload_n": _finite(float(over)), "torque_nm": None}
                for slip, over in zip(answer.margins.slip, answer.margins.overload, strict=True)
            ],
        }
    elif answer.certificate is not None:
        twist = answer.certificate.twist
        out["certificate"] = {
            "checked": answer.certificate.check(),
            "reach": _finite(answer.certificate.reach),
            "escape_twist": None if twist is None else twist.tolist(),
        }
        out["friction_factor_needed"] = factor
    return out


def _finite(value: float) -> float | None:
    """JSON has no infinity; null stands for "no limit" or "cannot be held"."""
    import math

    return value if math.isfinite(value) else None


def _show(
    console: Console, question: ForceQuestion, answer: ForceResult, measures: dict[str, float], factor: float | None
) -> None:
    from rich.table import Table

    from pliant.grasp import MEASURES

    for note in answer.notes:
        console.print(f"note: {note}", highlight=False)
    if answer.feasible:
        _show_forces(console, answer)
    else:
        _show_refusal(console, question, answer, factor)
    if measures:
        table = Table(title="quality", title_justify="left")
        for heading in ("measure", "value", "unit", "better", "meaning"):
            table.add_column(heading, justify="right" if heading == "value" else "left")
        for name, value in measures.items():
            measure = MEASURES[name]
            table.add_row(name.replace("_", " "), f"{value:.4g}", measure.unit, measure.better, measure.meaning)
        console.print(table)


def _show_forces(console: Console, answer: ForceResult) -> None:
    import numpy as np
    from rich.table import Table

    assert answer.forces is not None
    assert answer.moments is not None
    assert answer.margins is not None
    table = Table(title="smallest forces that hold, in contact frames, normal into the object", title_justify="left")
    for heading in ("", "model", "x [N]", "y [N]", "normal [N]", "|f| [N]"):
        table.add_column(heading, justify="left" if heading in ("", "model") else "right")
    spinning = bool(answer.moments.any())
    if spinning:
        table.add_column("spin [N mm]", justify="right")
    table.add_column("to slip [N]", justify="right")
    table.add_column("to limit [N]", justify="right")
    for i, force in enumerate(answer.forces):
        row = [str(i), str(answer.contacts.models[i])]
        row += [f"{x:.3f}" for x in (*(force.round(3) + 0.0), np.linalg.norm(force))]
        if spinning:
            row.append(f"{1e3 * answer.moments[i]:.2f}")
        over = answer.margins.overload[i]
        row += [f"{max(answer.margins.slip[i], 0):.3f}", f"{over:.3f}" if np.isfinite(over) else "no limit"]
        table.add_row(*row)
    console.print(table)
    console.print(
        f"largest contact force {answer.largest_force:.3f} N, sum {answer.total_force:.3f} N, "
        f"balance met to {answer.residual:.1e} N",
        highlight=False,
    )


def _show_refusal(console: Console, question: ForceQuestion, answer: ForceResult, factor: float | None) -> None:
    import numpy as np

    console.print("infeasible: no permitted contact forces hold this load (proof checked)", highlight=False)
    for blame in answer.blame:
        console.print(f"  to blame: {blame}. {_advice(question, blame, factor)}", highlight=False)
    twist = None if answer.certificate is None else answer.certificate.twist
    if twist is not None:
        slide, turn = float(np.linalg.norm(twist[:3])), float(np.linalg.norm(twist[3:]))
        size = max(slide, turn * 0.05)
        parts = []
        if slide > 1e-6 * size:
            parts.append("sliding along " + _direction(twist[:3] / slide))
        if turn * 0.05 > 1e-6 * size:
            parts.append("turning about " + _direction(twist[3:] / turn))
        console.print(f"  it gets loose by {' while '.join(parts)}", highlight=False)


def _direction(unit: Any) -> str:
    return "(" + ", ".join(f"{x + 0.0:.2f}" for x in unit.round(2)) + ")"


def _advice(question: ForceQuestion, blame: Blame, factor: float | None) -> str:
    from pliant.grasp import Family, object_report

    texts = []
    for family in blame.families:
        if family is Family.FRICTION and factor is not None and len(blame.families) == 1:
            texts.append(f"With {factor:.3g} times the friction it would hold: rougher pads, or more opposed contacts.")
        elif family is Family.FRICTION:
            texts.append("Contacts that did not slip would hold: more friction, or contacts that oppose better.")
        elif family is Family.FORCE_LIMIT and blame.largest_force is not None:
            texts.append(
                f"A contact force of {blame.largest_force:.3g} N would do: raise max_force, add contacts or friction."
            )
        elif family is Family.PUSHING:
            texts.append("Contacts would have to pull: put one on the other side of the object.")
        elif family is Family.BALANCE and not object_report(question.contacts, question.centre).is_full:
            texts.append(
                "These contacts cannot make that wrench whatever their forces: add a contact, or give a radius (soft "
                "finger)."
            )
        else:
            texts.append("Move or add contacts.")
    return " ".join(texts)
