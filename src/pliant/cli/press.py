"""`pliant press`: a virtual indentation test."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from pliant.contact import PadSurface, PressResult
    from pliant.objects import Mesh


def press(
    mesh: Annotated[str, typer.Argument(help="A closed mesh file in metres, or a shipped shape: sphere:0.03.")],
    young: Annotated[float, typer.Option(help="Young's modulus of the object [Pa].")],
    poisson: Annotated[float, typer.Option(help="Poisson's ratio of the object, between 0 and 0.5.")],
    contact: Annotated[
        list[str],
        typer.Option(help='Where a pad presses: "x,y,z" [m], or "x,y,z;nx,ny,nz" with the direction. Repeat.'),
    ],
    depth: Annotated[float, typer.Option(help="Travel of every pad from first touch [m].")],
    pad: Annotated[str, typer.Option(help="sphere:R [m], plane, or a mesh file facing its own +z.")] = "plane",
    pad_young: Annotated[
        float | None, typer.Option(help="Young's modulus of the pads [Pa]; rigid if left out.")
    ] = None,
    pad_poisson: Annotated[float, typer.Option(help="Poisson's ratio of the pads.")] = 0.45,
    model: Annotated[
        str, typer.Option(help="body: the whole object gives; halfspace: only what is near the pad.")
    ] = "body",
    fill: Annotated[float | None, typer.Option(help="Liquid in a vessel that is shut [m^3]; needs --wall.")] = None,
    wall: Annotated[
        float | None, typer.Option(help="Wall thickness of a vessel [m]; open and empty without --fill.")
    ] = None,
    fixed: Annotated[bool, typer.Option("--fixed", help="Hold the object instead of letting it float.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Press rigid or soft pads into an elastic object and read forces, contact sizes and pressures.

    Every pad travels --depth beyond its own first touch along the inward normal, without friction; the object floats
    until the forces balance.

    Examples:

        pliant press sphere:0.03 --young 5e5 --poisson 0.45 --contact 0,0,0.03 --contact 0,0,-0.03 --depth 1.5e-3

        pliant press ring.stl --young 5e5 --poisson 0.4 --pad sphere:0.01 --contact .05,0,0 --contact=-.05,0,0
        --depth 1e-3

        pliant press bottle --young 2e9 --poisson 0.4 --wall 4e-4 --fill 2e-4 --pad sphere:0.01 --contact .03,0,.07
        --contact=-.03,0,.07 --depth 4e-4
    """
    import numpy as np

    from pliant.cli.answers import emit, progress
    from pliant.contact import PreparedObject
    from pliant.contact import press as run
    from pliant.errors import OptionError

    contacts = [_contact(text) for text in contact]
    if model not in ("body", "halfspace"):
        raise OptionError("--model", f"no model '{model}'; there are: body, halfspace")
    pads = [
        _pad(pad, f"contact {k + 1}", np.inf if pad_young is None else pad_young, pad_poisson)
        for k in range(len(contacts))
    ]
    shape, notes = _mesh(mesh)
    with progress("preparing", 1.0) as show:
        prepared = _prepare(PreparedObject, shape, young, poisson, model, fill, wall, show)
    result = run(prepared, pads, contacts, depth, fixed=fixed)
    answer = {"model": model, **_answer(result), "warnings": [*notes, *result.warnings]}
    if json:
        emit(answer, True)
    else:
        _print(answer)
    if not result.state.regions:
        if not json:
            typer.echo(f"no contact forces: {result.state.status.value}", err=True)
        raise typer.Exit(1)


def _prepare(
    kind: Any, shape: Mesh, young: float, poisson: float, model: str, fill: float | None, wall: float | None, show: Any
) -> Any:
    from pliant.errors import OptionError

    def report(what: str, share: float) -> None:
        show(share, description=what)

    if fill is not None and wall is None:
        raise OptionError("--fill", "needs --wall, the thickness of the vessel's wall [m]")
    if wall is None:
        return kind.of(shape, young=young, poisson=poisson, model=model, progress=report)
    from pliant.objects import Liquid

    contents = None if fill is None else Liquid(fill, wall=wall)
    return kind.of(shape, young=young, poisson=poisson, model=model, wall=wall, contents=contents, progress=report)


def _mesh(text: str) -> tuple[Mesh, list[str]]:
    from pliant.objects import SHAPES, load_mesh, parse_shape

    if not Path(text).exists() and text.partition(":")[0] in SHAPES:
        return parse_shape(text), []
    repaired = load_mesh(text)
    return repaired.mesh, list(repaired.report.repaired)


def _numbers(text: str, what: str) -> list[float]:
    from pliant.errors import OptionError

    parts = text.split(",")
    try:
        values = [float(part) for part in parts]
    except ValueError:
        values = []
    if len(values) != 3:
        raise OptionError("--contact", f"{what} '{text}' is not three numbers; write x,y,z or x,y,z;nx,ny,nz")
    return values


def _contact(text: str) -> tuple[list[float], list[float] | None]:
    point, _, direction = text.partition(";")
    return _numbers(point, "the point"), _numbers(direction, "the direction") if direction else None


def _pad(text: str, name: str, young: float, poisson: float) -> PadSurface:
    from pliant.contact import PadSurface, PlaneSurface, SphereSurface
    from pliant.errors import OptionError

    if text == "plane":
        return PadSurface(name, PlaneSurface(), young, poisson)
    kind, _, size = text.partition(":")
    if kind == "sphere":
        try:
            radius = float(size)
        except ValueError:
            radius = 0.0
        if not 0.0 < radius < 10.0:
            raise OptionError("--pad", f"the radius in '{text}' must be a positive number of metres, as in sphere:0.01")
        return PadSurface(name, SphereSurface(radius), young, poisson)
    if Path(text).exists():
        from pliant.objects import load_mesh

        return PadSurface.of(load_mesh(text).mesh, name=name, young=young, poisson=poisson)
    raise OptionError("--pad", f"no pad '{text}'; there are: sphere:R, plane, or a mesh file")


def _answer(result: PressResult) -> dict[str, Any]:
    return {
        "contacts": [
            {
                "normal_force_n": region.normal_force,
                "force_n": region.force,
                "centre_m": region.centre,
                "radius_m": region.radius,
                "peak_pressure_pa": region.peak_pressure,
            }
            for region in result.state.regions
        ],
        "max_displacement_m": result.largest_displacement,
        "volume_change": result.volume_change,
    }


def _print(answer: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, emoji=False)
    table = Table(
        "contact",
        "normal force [N]",
        "radius [mm]",
        "peak pressure [kPa]",
        "centre [mm]",
        title=f"model {answer['model']}",
    )
    for k, contact in enumerate(answer["contacts"]):
        centre = ", ".join(f"{1e3 * x:.2f}" for x in contact["centre_m"])
        table.add_row(
            str(k + 1),
            f"{contact['normal_force_n']:.4g}",
            f"{1e3 * contact['radius_m']:.3g}",
            f"{1e-3 * contact['peak_pressure_pa']:.4g}",
            centre,
        )
    console.print(table)
    console.print(
        f"largest displacement {1e3 * answer['max_displacement_m']:.3g} mm, "
        f"volume change {100 * answer['volume_change']:.3g} %"
    )
    for warning in answer["warnings"]:
        console.print("warning:", style="yellow", end=" ")
        console.print(warning, markup=False)
