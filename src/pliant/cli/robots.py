"""`pliant robots`: the arms and hands that ship, with facts and sources."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pliant.cli.completion import robot_names


def robots(
    name: Annotated[str | None, typer.Argument(help="Show one robot in full.", autocompletion=robot_names)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List the shipped arms and hands, or show one with its joints, pads and sources.

    Examples:

        pliant robots

        pliant robots schunk_sdh2
    """
    from pliant.cli.answers import emit
    from pliant.errors import OptionError, unknown_name
    from pliant.robot import load_arm, load_hand, shipped_names

    known: dict[str, Any] = dict.fromkeys(shipped_names("arm"), load_arm)
    known |= dict.fromkeys(shipped_names("hand"), load_hand)
    if name is not None and name not in known:
        raise OptionError("", unknown_name("shipped robot", name, known))
    shown = {n: _facts(load(n)) for n, load in known.items() if name in (None, n)}
    if json:
        emit({"robots": shown} if name is None else {"robots": shown, **shown[name]}, True)
    elif name is None:
        _print_all(shown)
    else:
        _print_one(shown[name])


def _facts(module: Any) -> dict[str, Any]:
    robot, description = module.robot, module.description
    facts: dict[str, Any] = {
        "kind": description.kind,
        "title": description.title,
        "joints": {
            joint: {
                "lower": robot.lower[i],
                "upper": robot.upper[i],
                "velocity": robot.velocity_limits[i],
                "effort": robot.effort_limits[i],
            }
            for i, joint in enumerate(robot.joint_names)
        },
        "independent_joints": robot.dof,
        "moving_joints": robot.model.nv,
        "mass_kg": robot.mass,
        "urdf": str(robot.urdf.source),
        "sources": list(description.sources),
        "assumed": list(description.assumed),
    }
    if description.kind == "hand":
        facts["fingers"] = {f.name: [pad.link for pad in f.pads] for f in description.fingers}
        facts["preshapes"] = [p.name for p in description.preshapes]
        facts["tactile_cells"] = sum(a.rows * a.columns - len(a.missing) for a in description.tactile)
    return facts


def _print_all(shown: dict[str, dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="shipped arms and hands")
    table.add_column("name", no_wrap=True)
    table.add_column("what", overflow="fold")
    table.add_column("joints", justify="right")
    table.add_column("mass", justify="right", no_wrap=True)
    table.add_column("preshapes")
    for name, facts in shown.items():
        joints = f"{facts['independent_joints']}"
        if facts["moving_joints"] != facts["independent_joints"]:
            joints += f" (+{facts['moving_joints'] - facts['independent_joints']} coupled)"
        table.add_row(name, facts["title"], joints, f"{facts['mass_kg']:.2f} kg", ", ".join(facts.get("preshapes", [])))
    Console().print(table)
    Console().print("pliant robots NAME shows joints, pads, sources and what is assumed.")


def _print_one(facts: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    console.print(f"[bold]{facts['title']}[/]  {facts['mass_kg']:.2f} kg")
    table = Table(
        "joint", "lower", "upper", "speed", "torque or force", title="joints (rad, rad/s, N m; m, m/s, N if linear)"
    )
    for joint, limits in facts["joints"].items():
        table.add_row(joint, *(f"{limits[key]:.4g}" for key in ("lower", "upper", "velocity", "effort")))
    console.print(table)
    for finger, pads in facts.get("fingers", {}).items():
        console.print(f"finger {finger}: pads on {', '.join(pads)}")
    if facts.get("preshapes"):
        console.print(f"preshapes: {', '.join(facts['preshapes'])}; {facts['tactile_cells']} tactile cells")
    for label in ("sources", "assumed"):
        for text in facts[label]:
            console.print(f"[dim]{label[:-1] if label == 'sources' else label}:[/] {text}")
    console.print(f"[dim]urdf:[/] {escape(str(facts['urdf']))}")
