"""Makes the pictures of docs/ again: python tools/make_doc_pictures.py ball.plan ball.run [docs/pictures [plans]]

``ball.plan`` and ``ball.run`` are those of docs/first_plan.md, ``plans`` is the folder of benchmarks/own_hands.py. The
README's pictures have `make_pictures.py`, the diagram of the packages has `draw_architecture.py`. pliant draws
everything itself.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from make_pictures import add_legend, save_picture
from PIL import Image

from pliant.contact import PadSurface, PreparedObject, SphereSurface, deformed_vertices, press
from pliant.files import load_plan, load_run
from pliant.motion import Carried, Circle, FrameTask, Hold, Servo
from pliant.objects import Mesh, make_shape, mend_mesh
from pliant.planner import make_hypotheses
from pliant.robot import PALM_FRAME, load_assembly, tip_frame
from pliant.viewer import (
    CLOSE_UP,
    ColourBy,
    Drawable,
    ObjectSurface,
    arrow,
    ball,
    draw_moment,
    look_at,
    mended_picture,
    render,
    robot_drawables,
    run_figures,
    scale_colours,
)

LARGEST = 150_000


def main(plan_file: str, run_file: str, folder: str = "docs/pictures", plans: str = "") -> None:
    out = Path(folder)
    if plans:
        own_hands(Path(plans), out / "own_hands.png")
    held(plan_file, out / "first_plan_held.png")
    (out / "first_plan_forces.svg").write_text(run_figures(load_run(run_file))["forces"])
    hypotheses(out / "theory_hypotheses.png")
    bending(out / "theory_bending.png")
    reach(out / "theory_servo.png")
    mended(out / "mended.png")


def held(plan_file: str, path: Path) -> None:
    """The grasp of the first plan."""
    plan = load_plan(plan_file)
    assert plan.best is not None
    surface = ObjectSurface(plan.task.body.mesh, plan.best)
    moment = surface.timeline.at(float(surface.timeline.times[0]))
    options = replace(CLOSE_UP, arm=False, hand_opacity=0.45)
    picture = draw_moment(plan.task, surface, moment, options=options, width=640, height=420, distance=0.62)
    save_picture(add_legend(picture, surface, ColourBy.DISPLACEMENT, moment), path, LARGEST)


def own_hands(plans: Path, path: Path) -> None:
    """Every imported robot that has a plan, holding one of the objects."""
    things = ("apple", "banana", "ball", "sponge", "banana", "apple")
    cells = []
    for robot, first in zip(("sdh2", "allegro", "barrett", "dclaw", "leap", "xarm7"), things, strict=True):
        for thing in dict.fromkeys((first, "apple", "ball", "banana", "sponge")):
            file = plans / f"{robot}_{thing}.plan"
            plan = load_plan(file) if file.is_file() else None
            if plan is not None and plan.best is not None:
                surface = ObjectSurface(plan.task.body.mesh, plan.best)
                moment = surface.timeline.at(surface.timeline.grasp_time)
                solid = replace(CLOSE_UP, hand_opacity=1.0, arm=False, cones=False)
                picture = draw_moment(plan.task, surface, moment, options=solid, width=400, height=340, distance=1.1)
                cells.append(Image.fromarray(picture))
                break
    sheet = Image.new("RGB", (3 * 400, -(-len(cells) // 3) * 340), "white")
    for i, cell in enumerate(cells):
        sheet.paste(cell, (i % 3 * 400, i // 3 * 340))
    save_picture(sheet.quantize(128), path, LARGEST)


def mended(path: Path) -> None:
    """A banana with its tip torn off, before and after `pliant objects repair --cap`."""
    banana = make_shape("banana")
    kept = np.linalg.norm(banana.face_centres - banana.vertices[0], axis=1) > 0.03
    torn = Mesh(banana.vertices, banana.faces[kept])
    picture = mended_picture(torn, mend_mesh(torn, cap=True).repaired.mesh, size=360)
    save_picture(Image.fromarray(picture), path, LARGEST)


def hypotheses(path: Path) -> None:
    """The palm's position and approach of 150 hypotheses of a gripper around a ring; two of them as open hands."""
    assembly = load_assembly(None, "parallel_gripper")
    ring = make_shape("torus", major=0.035, minor=0.015)
    made = make_hypotheses(ring, assembly, limit=150, seed=3)
    items = [Drawable(ring, (0.85, 0.42, 0.16), gloss=0.15)]
    for hypothesis in made:
        T = hypothesis.T_object_palm
        items.append(arrow(T.translation, 0.02 * T.rotation[:, 2], radius=0.0011, colour=(0.2, 0.4, 0.7)))
    robot, q = assembly.robot, assembly.q_home
    for hypothesis in made[5:7]:
        T = hypothesis.T_object_palm * robot.pose(PALM_FRAME, q).inverse()
        items += [replace(item, mesh=item.mesh.transformed(T), opacity=0.3) for item in robot_drawables(robot, q)]
    picture = render(items, look_at((0.42, -0.5, 0.34), (0.0, 0.0, 0.0)), width=640, height=420)
    save_picture(Image.fromarray(picture), path, LARGEST)


def bending(path: Path) -> None:
    """A thin ring pressed across its diameter, drawn six times deeper: it bends as a whole."""
    ring = make_shape("torus", major=0.035, minor=0.008)
    prepared = PreparedObject.of(ring, young=5e5, poisson=0.45)
    pad = PadSurface("ball", SphereSurface(0.01))
    where = [((0.043, 0, 0), (1, 0, 0)), ((-0.043, 0, 0), (-1, 0, 0))]
    state = press(prepared, [pad, pad], where, 0.0015).state
    moved = deformed_vertices(prepared, state) - prepared.mesh.vertices
    size = np.linalg.norm(moved, axis=1)
    bent = Mesh(prepared.mesh.vertices + 6.0 * moved, prepared.mesh.faces)
    items = [
        Drawable(prepared.mesh, (0.6, 0.6, 0.62), opacity=0.18),
        Drawable(bent, scale_colours(size / size.max()), gloss=0.1),
    ]
    for (x, _, _), _ in where:
        direction = np.array([-np.sign(x) * 0.03, 0.0, 0.0])
        items.append(arrow(np.array([x, 0, 0]) - 1.35 * direction, direction, radius=0.0016, colour=(0.8, 0.15, 0.12)))
    picture = render(items, look_at((0.0, -0.14, 0.3), (0.0, 0.0, 0.0)), width=640, height=420)
    save_picture(Image.fromarray(picture), path, LARGEST)


def reach(path: Path) -> None:
    """Arm and three fingers as one mechanism: the tips go round half a circle; four moments of the servo's path."""
    assembly = load_assembly("kawasaki_fs020n", "schunk_sdh2")
    assert assembly.hand is not None
    robot, q, dt = assembly.robot, assembly.q_home, 0.005
    T = robot.pose(PALM_FRAME, q)
    circle = Circle(T, centre=T.translation - [0.3, 0.0, 0.0], axis=[0, 0, 1], period=8.0)
    tips = [tip_frame(finger.name) for finger in assembly.hand.fingers]
    held = [Hold(T.actInv(robot.pose(tip, q))) for tip in tips]
    servo = Servo(robot, [(FrameTask(t), Carried(h, circle)) for t, h in zip(tips, held, strict=True)], dt=dt)
    items, trail = [], []
    shown = {0: 0.16, 266: 0.22, 533: 0.3, 800: 1.0}
    for i in range(801):
        if i in shown:
            items += [replace(item, opacity=shown[i]) for item in robot_drawables(robot, q)]
        if i % 12 == 0:
            trail += [robot.pose(tip, q).translation.copy() for tip in tips]
        q = q + servo.step(q, i * dt) * dt
    items += [ball(place, radius=0.006, colour=(0.8, 0.15, 0.12)) for place in trail]
    picture = render(items, look_at((3.2, -2.4, 2.1), (0.45, 0.05, 0.8)), width=640, height=420)
    save_picture(Image.fromarray(picture), path, LARGEST)


if __name__ == "__main__":
    main(*sys.argv[1:])
