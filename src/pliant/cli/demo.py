"""`pliant demo`: the shipped ring task, from the question to a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option(help="Folder for what is written.")] = Path("pliant-demo"),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Load the shipped ring task, compare its numbers with closed forms and draw it.

    Examples:

        pliant demo

        pliant demo --out out/demo --json
    """
    from pliant.cli.answers import emit, progress
    from pliant.documents import make_folder
    from pliant.files import shipped_task

    make_folder(out)
    with progress("loading the ring task", 5) as show:
        task = shipped_task("ring")
        show(1, description="weighing")
        answer: dict[str, Any] = {"plan": None, "run": None, "object": _weigh(task.body), "bottle": _tilt()}
        show(2, description="reaching")
        q, answer["robot"] = _reach(task)
        show(3, description="holding")
        contacts, result, answer["forces"] = _hold(task)
        show(4, description="drawing")
        answer["files"] = [str(_draw(task, q, contacts, result, out / "ring.png"))]
        show(5)
    emit(answer, json)
    if not json:
        _print(answer)


def _weigh(body: Any) -> dict[str, Any]:
    """The ring's exact mass properties beside the closed form of a torus."""
    from pliant.objects import SHAPES

    properties = body.mass_properties()
    exact = SHAPES["torus"].exact_volume(major=0.035, minor=0.015)
    return {
        "mass_kg": properties.mass,
        "volume_m3": properties.volume,
        "exact_volume_m3": exact,
        "volume_error": properties.volume / exact - 1.0,
    }


def _tilt() -> dict[str, Any]:
    """Where the centre of mass of a half-full bottle goes when it tilts by 30 degrees."""
    import numpy as np

    bottle = _bottle()
    tilt = np.radians(30.0)
    tilted = bottle.centre_of_mass((np.sin(tilt), 0.0, np.cos(tilt)))
    return {"centre_upright_m": bottle.centre_of_mass(), "centre_tilted_30deg_m": tilted}


def _reach(task: Any) -> tuple[Any, dict[str, Any]]:
    """Arm joints that bring the palm above the ring, fingers open."""
    import numpy as np
    import pinocchio as pin

    from pliant.robot import PALM_FRAME
    from pliant.servo import InverseKinematics

    assembly = task.assembly
    preshape = next(p for p in assembly.hand.preshapes if p.name == "spherical")
    start = assembly.preshaped(task.q_start, preshape, 0.15)
    above = task.T_world_object.translation + np.array([0.0, 0.0, 0.18])
    target = pin.SE3(pin.rpy.rpyToMatrix(np.pi, 0.0, np.pi / 2), above)
    found = InverseKinematics(assembly.robot, PALM_FRAME).solve(target, seed=start)
    facts = {
        "name": assembly.name,
        "independent_joints": assembly.robot.dof,
        "reached": bool(found.found),
        "error_m": found.error_m,
    }
    q = found.q.copy()
    q[assembly.hand_joints] = start[assembly.hand_joints]
    return q, facts


def _hold(task: Any) -> tuple[Any, Any, dict[str, Any]]:
    """The smallest forces of three contacts around the ring, beside the closed form N = W / (3 mu)."""
    import numpy as np

    from pliant.grasp import Contact, ContactSet, solve_forces

    body, mu = task.body, task.body.material.friction
    angles = np.radians([90.0, 210.0, 330.0])
    outwards = [np.array([np.cos(a), np.sin(a), 0.0]) for a in angles]
    contacts = ContactSet.of([Contact(0.05 * d, -d, mu, max_force=body.limits.largest_force) for d in outwards])
    weight = 9.80665 * body.mass
    result = solve_forces(contacts, [0.0, 0.0, -weight, 0.0, 0.0, 0.0], centre=body.centre_of_mass())
    assert result.forces is not None  # 0.7 N each: far below the ring's limit of 15 N
    facts = {"normal_n": result.forces[:, 2], "exact_normal_n": weight / (3 * mu), "largest_n": result.largest_force}
    return contacts, result, facts


def _draw(task: Any, q: Any, contacts: Any, result: Any, path: Path) -> Path:
    import numpy as np

    from pliant.viewer import Drawable, arrow, look_at, render, robot_drawables, save_png

    T = task.T_world_object
    scene = robot_drawables(task.assembly.robot, q)
    scene.append(Drawable(task.body.mesh.transformed(T), (0.90, 0.38, 0.12), "ring", gloss=0.1))
    scene += [Drawable(mesh, (0.78, 0.71, 0.60), "table", gloss=0.05) for mesh in task.scene]
    for point, force in zip(contacts.points, result.forces_world, strict=True):
        # 7 cm of arrow for a newton, ending on the contact.
        vector = T.rotation @ (0.07 * force)
        scene.append(arrow(T.act(point) - vector, vector, radius=0.0018, colour=(0.05, 0.35, 0.75)))
    target = T.translation + np.array([-0.03, 0.0, 0.14])
    picture = render(scene, look_at(target + np.array([0.62, -0.66, 0.28]), target), ground=0.0)
    return save_png(picture, path)


def _bottle() -> Any:
    """The shipped bottle, half full of water."""
    from pliant.objects import Body, Liquid, Material, make_shape, mesh_volume

    mesh = make_shape("bottle")
    liquid = Liquid(volume=0.5 * mesh_volume(mesh), density=1000.0, wall=0.0005)
    return Body.from_mesh(mesh, Material(young=1.0e9, poisson=0.4, density=950.0), liquid=liquid)


def _print(answer: dict[str, Any]) -> None:
    robot, thing, bottle, forces = answer["robot"], answer["object"], answer["bottle"], answer["forces"]
    shift = 1000 * (bottle["centre_tilted_30deg_m"] - bottle["centre_upright_m"])
    reached = f"palm above the ring to {1e6 * robot['error_m']:.2g} um" if robot["reached"] else "cannot reach the ring"
    print(f"robot    {robot['name']}, {robot['independent_joints']} independent joints; {reached}")
    print(
        f"ring     {1000 * thing['mass_kg']:.2f} g; volume {1e6 * thing['volume_m3']:.4f} cm3, "
        f"exact {1e6 * thing['exact_volume_m3']:.4f} cm3 ({100 * thing['volume_error']:+.3f} %)"
    )
    print(
        f"forces   three contacts hold it with {forces['normal_n'][0]:.4f} N each, "
        f"closed form W / (3 mu) = {forces['exact_normal_n']:.4f} N"
    )
    print(
        f"bottle   half full, tilted by 30 deg: its centre of mass moves by "
        f"({shift[0]:.2f}, {shift[1]:.2f}, {shift[2]:.2f}) mm"
    )
    print(f"picture  {answer['files'][0]}")
