"""Makes the README's pictures again from a plan: python tools/make_pictures.py ring.plan [docs/pictures]

Writes ring_held.png (just held, coloured by displacement), ring_pressure.png (by contact pressure),
ring_operation.webp (the whole operation), approach_start.png and approach_pregrasp.png (both ends of the approach, with
the ways of the finger tips), each below 500 kB. pliant draws everything itself; no browser is needed.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from pliant.files import load_plan
from pliant.planner import Moment, Phase, Plan
from pliant.robot import tip_frame
from pliant.viewer import (
    CLOSE_UP,
    CONTACT_PATCHES,
    ColourBy,
    Drawable,
    ObjectSurface,
    ball,
    draw_moment,
    look_at,
    render,
    robot_drawables,
    scale_colours,
)

LARGEST = 500_000


def main(plan_file: str, folder: str = "docs/pictures") -> None:
    plan = load_plan(plan_file)
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    assert plan.best is not None, "a plan without a grasp has nothing to show"
    surface = ObjectSurface(plan.task.body.mesh, plan.best)
    held = surface.timeline.at(float(surface.timeline.times[0]))
    for name, options, distance in (("ring_held.png", CLOSE_UP, 0.72), ("ring_pressure.png", CONTACT_PATCHES, 0.5)):
        picture = draw_moment(plan.task, surface, held, options=options, width=900, height=600, distance=distance)
        save_picture(add_legend(picture, surface, options.colour_by, held), out / name, LARGEST)
    _approach(plan, surface, out)
    _film(plan, surface, out / "ring_operation.webp")


def _approach(plan: Plan, surface: ObjectSurface, out: Path) -> None:
    """The start, and where the fingers begin to close: arm and fingers went there together, the tips along the dots."""
    timeline, robot = surface.timeline, plan.task.assembly.robot
    begin = timeline.spans[Phase.CLOSE][0]
    tips = [tip_frame(name) for name in timeline.grasp.hypothesis.fingers]
    ways = [T.translation.copy() for t in np.linspace(0.0, begin, 25) for T in robot.poses(tips, timeline.at(t).q)]
    dots = [ball(place, radius=0.006, colour=(0.8, 0.15, 0.12)) for place in ways]
    task = plan.task
    scenery = [Drawable(mesh, (0.75, 0.76, 0.78)) for mesh in task.scene]
    scenery.append(Drawable(task.body.mesh.transformed(task.T_world_object), (0.85, 0.42, 0.16), gloss=0.15))
    for name, time in (("approach_start.png", 0.0), ("approach_pregrasp.png", begin)):
        moment = timeline.at(time)
        items = [*scenery, *robot_drawables(robot, moment.q), *dots]
        camera = look_at((2.9, -1.7, 1.5), (0.62, 0.0, 0.72), field_of_view_deg=34.0)
        picture = render(items, camera, width=520, height=440)
        save_picture(Image.fromarray(picture), out / name, LARGEST)


def _film(plan: Plan, surface: ObjectSurface, path: Path) -> None:
    """From shortly before the touch to the end, quicker where less happens."""
    timeline = surface.timeline
    spans = timeline.spans
    approach_end = min(span[0] for phase, span in spans.items() if phase.value == "close")
    times = [
        *np.linspace(max(approach_end - 1.2, 0.0), approach_end, 5, endpoint=False),
        *np.linspace(approach_end, timeline.touch_time, 6, endpoint=False),
        *np.linspace(timeline.touch_time, timeline.times[0], 6, endpoint=False),
        *np.linspace(timeline.times[0], timeline.duration, 16),
    ]
    options = replace(CLOSE_UP, hand_opacity=0.55, cones=False)
    frames = []
    for time in times:
        moment = timeline.at(float(time))
        picture = draw_moment(plan.task, surface, moment, options=options, width=440, height=330, distance=1.15)
        frames.append(add_legend(picture, surface, ColourBy.DISPLACEMENT, moment))
    frames += [frames[-1]] * 6
    for quality in (80, 65, 50, 35):
        frames[0].save(path, save_all=True, append_images=frames[1:], duration=130, loop=0, quality=quality, method=6)
        if path.stat().st_size < LARGEST:
            break
    print(path, path.stat().st_size)


def add_legend(picture: NDArray[np.uint8], surface: ObjectSurface, by: ColourBy, moment: Moment) -> Image.Image:
    """The colour bar and the moment's numbers in a corner."""
    image = Image.fromarray(picture)
    draw = ImageDraw.Draw(image)
    small = image.width < 600
    font = ImageFont.load_default(13 if small else 17)
    width, height = (130, 10) if small else (200, 14)
    left, top = 14, image.height - height - (24 if small else 32)
    bar = (255 * scale_colours(np.tile(np.linspace(0.0, 1.0, width), (height, 1)))).astype(np.uint8)
    image.paste(Image.fromarray(bar), (left, top))
    dark = (40, 44, 52)
    draw.text((left, top - font.size - 6), f"{by.quantity} [{by.unit}]", fill=dark, font=font)
    draw.text((left, top + height + 3), "0", fill=dark, font=font)
    draw.text((left + width, top + height + 3), f"{surface.top(by):.2g}", fill=dark, font=font, anchor="ra")
    draw.text((14, 10), f"{moment.phase.value}: {moment.largest_force:.2f} N", fill=dark, font=font)
    return image


def save_picture(image: Image.Image, path: Path, largest: int) -> None:
    """Write a picture and check that its file is not larger than it may be [bytes]."""
    image.save(path, optimize=True)
    assert path.stat().st_size < largest, (path, path.stat().st_size)
    print(path, path.stat().st_size)


if __name__ == "__main__":
    main(*sys.argv[1:])
