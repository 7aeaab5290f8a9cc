"""`pliant objects`: the shapes that ship, with their parameters and exact volumes; files are mended by `repair`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pliant.cli.completion import shapes


def objects(
    shape: Annotated[
        str | None,
        typer.Argument(
            help="A shape, with parameters: torus, torus:major=0.04,minor=0.01; or: repair.", autocompletion=shapes
        ),
    ] = None,
    file: Annotated[Path | None, typer.Argument(help="For repair: a mesh or a cloud of points.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the mesh here (.stl, .obj, .ply, .off).")] = None,
    cap: Annotated[
        bool, typer.Option("--cap", help="repair: close every hole, an open bottom flat where it stood on a table.")
    ] = False,
    smooth: Annotated[bool, typer.Option("--smooth", help="repair: take noise off, without shrinking.")] = False,
    units: Annotated[str | None, typer.Option(help="repair: unit of the file, m, cm, mm or in.")] = None,
    picture: Annotated[Path | None, typer.Option(help="repair: draw before and after here (.png).")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List the shipped shapes, or make one, show its facts and write it to a file; or mend a scan.

    With repair, parts that overlap are united, and a cloud of points becomes a closed surface.

    Examples:

        pliant objects

        pliant objects bottle

        pliant objects torus:major=0.035,minor=0.015 --out ring.stl

        pliant objects repair scan.ply --cap --smooth --units mm --out scan.obj --picture scan.png
    """
    from pliant.cli.answers import emit
    from pliant.objects import SHAPES, parse_shape

    if shape == "repair":
        if file is None:
            raise typer.BadParameter("repair needs a file", param_hint="FILE")
        if out is None:
            raise typer.BadParameter("repair needs a name for the result", param_hint="--out")
        from pliant.cli.objects_repair import repair

        repair(file, out, cap=cap, smooth=smooth, units=units, picture=picture, json=json)
        return
    if file is not None or cap or smooth or units is not None or picture is not None:
        raise typer.BadParameter("a file, --cap, --smooth, --units and --picture go with repair only")
    if shape is None:
        if out is not None:
            raise typer.BadParameter("--out needs a shape to write", param_hint="SHAPE")
        answer: dict[str, Any] = {
            name: {
                "what": s.summary,
                "parameters": dict(s.parameters),
                "defaults": s.defaults,
                "volume_m3": s.exact_volume(),
            }
            for name, s in SHAPES.items()
        }
        if json:
            emit({"shapes": answer}, True)
        else:
            _print_all(answer)
        return
    mesh = parse_shape(shape)
    facts = _facts(mesh)
    if out is not None:
        from pliant.objects import write_mesh

        facts["file"] = str(write_mesh(mesh, out))
    if json:
        emit({"shape": shape, **facts}, True)
    else:
        _print_one(shape, facts)


def _facts(mesh: Any) -> dict[str, Any]:
    from pliant.objects import mass_properties

    water = mass_properties(mesh, density=1000.0)
    return {
        "vertices": len(mesh.vertices),
        "faces": len(mesh.faces),
        "extents_m": mesh.extents,
        "area_m2": mesh.area,
        "volume_m3": water.volume,
        "centre_m": water.centre,
    }


def _print_all(shapes: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("shape", "what", "parameters [m]", "volume", title="shipped shapes")
    for name, facts in shapes.items():
        parameters = ", ".join(
            f"{key}={_short(value)}" for key, value in facts["defaults"].items() if value is not None
        )
        table.add_row(name, facts["what"], parameters, f"{1e6 * facts['volume_m3']:.4g} cm3")
    console = Console(markup=False, emoji=False)
    console.print(table)
    console.print("pliant objects SHAPE:parameter=value,... makes one; in a task file: shape: {torus: {major: 0.035}}")


def _print_one(shape: str, facts: dict[str, Any]) -> None:
    size = " x ".join(f"{1000 * extent:.4g}" for extent in facts["extents_m"])
    centre = ", ".join(f"{1000 * x:.3f}" for x in facts["centre_m"])
    print(f"{shape}: {facts['faces']} faces, {size} mm, {1e6 * facts['volume_m3']:.5g} cm3, centre ({centre}) mm")
    if "file" in facts:
        print(f"written to {facts['file']}")


def _short(value: Any) -> str:
    return "(" + ", ".join(f"{x:g}" for x in value) + ")" if isinstance(value, list | tuple) else f"{value:g}"
