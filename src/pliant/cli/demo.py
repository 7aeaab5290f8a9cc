"""`pliant demo`: the shipped ring task, from the question to a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option(help="Folder for what is written.")] = Path("pliant-demo"),
    view: Annotated[bool, typer.Option("--view/--no-view", help="Open a viewer at the end.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Load the shipped ring task, check its physics against closed forms and draw it.

    Examples:

        pliant demo

        pliant demo --out out/demo --json
    """
    import numpy as np

    from pliant.cli.answers import emit, progress
    from pliant.documents import make_folder
    from pliant.files import shipped_task
    from pliant.objects import SHAPES
    from pliant.viewer import Drawable, look_at, render, robot_drawables, save_png

    make_folder(out)
    with progress("loading the ring task", 3) as show:
        task = shipped_task("ring")
        show(1, description="weighing")
        ring, bottle = task.body, _bottle()
        exact = SHAPES["torus"].exact_volume(major=0.035, minor=0.015)
        properties = ring.mass_properties()
        tilt = np.radians(30.0)
        upright = bottle.centre_of_mass()
        tilted = bottle.centre_of_mass((np.sin(tilt), 0.0, np.cos(tilt)))
        show(2, description="drawing")
        assembly = task.assembly
        scene = robot_drawables(assembly.robot, task.q_start)
        scene.append(Drawable(ring.mesh.transformed(task.T_world_object), (0.90, 0.38, 0.12), "ring", gloss=0.1))
        scene += [Drawable(mesh, (0.78, 0.71, 0.60), "table", gloss=0.05) for mesh in task.scene]
        picture = save_png(render(scene, look_at((3.3, -2.9, 2.1), (0.42, 0, 0.72)), ground=0.0), out / "ring.png")
        show(3)
    answer: dict[str, Any] = {
        "plan": None,
        "run": None,
        "robot": {"name": assembly.name, "independent_joints": assembly.robot.dof},
        "object": {
            "mass_kg": properties.mass,
            "volume_m3": properties.volume,
            "exact_volume_m3": exact,
            "volume_error": properties.volume / exact - 1.0,
        },
        "bottle": {"centre_upright_m": upright, "centre_tilted_30deg_m": tilted},
        "files": [str(picture)],
    }
    emit(answer, json)
    if not json:
        _print(answer)
    if view:
        raise typer.BadParameter("there is no viewer yet; look at the picture", param_hint="--view")


def _bottle() -> Any:
    """The shipped bottle, half full of water."""
    from pliant.objects import Body, Liquid, Material, make_shape, mesh_volume

    mesh = make_shape("bottle")
    liquid = Liquid(volume=0.5 * mesh_volume(mesh), density=1000.0, wall=0.0005)
    return Body.from_mesh(mesh, Material(young=1.0e9, poisson=0.4, density=950.0), liquid=liquid)


def _print(answer: dict[str, Any]) -> None:
    robot, thing, bottle = answer["robot"], answer["object"], answer["bottle"]
    shift = 1000 * (bottle["centre_tilted_30deg_m"] - bottle["centre_upright_m"])
    print(f"robot    {robot['name']}, {robot['independent_joints']} independent joints")
    print(
        f"ring     {1000 * thing['mass_kg']:.2f} g; volume {1e6 * thing['volume_m3']:.4f} cm3, "
        f"exact {1e6 * thing['exact_volume_m3']:.4f} cm3 ({100 * thing['volume_error']:+.3f} %)"
    )
    print(
        f"bottle   half full, tilted by 30 deg: its centre of mass moves by "
        f"({shift[0]:.2f}, {shift[1]:.2f}, {shift[2]:.2f}) mm"
    )
    print(f"picture  {answer['files'][0]}")
