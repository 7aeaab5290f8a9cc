"""An operation as a 3-D film in one HTML document: plays, pauses and scrubs by itself, no server, no network."""

from __future__ import annotations

import numpy as np

from pliant.planner import Plan
from pliant.viewer.scene.plan_scene import PlanScene
from pliant.viewer.scene.server import ServedPage
from pliant.viewer.scene.view_options import ViewOptions, default_viewpoint
from pliant.viewer.scene.viewed_task import ViewedTask

STEP = 0.1
"""Between two pictures of the film [s]."""


def film_html(plan: Plan, options: ViewOptions | None = None) -> str:
    """The film of a plan's best grasp, or the task as it stands, as a document of its own.

    A server is started on this machine for as long as the messages are recorded, without a client.
    """
    with ServedPage("127.0.0.1", 0) as page:
        plan_scene = PlanScene(page.server.scene, ViewedTask(plan.task, plan), options)
        plan_scene.show_rank(0 if plan.grasps else None)
        plan_scene.add_robot(plan_scene.at(0.0))
        plan_scene.show(plan_scene.at(0.0))
        while plan_scene.send_next_shape():
            pass
        page.set_first_camera(default_viewpoint(plan.task))
        film = page.server.get_scene_serializer()
        timeline = plan_scene.timeline
        if timeline is not None:
            for time in np.arange(STEP, timeline.duration + 1e-9, STEP).tolist():
                film.insert_sleep(STEP)
                plan_scene.show(timeline.at(time))
            # The end stands for a second before the film starts again.
            film.insert_sleep(1.0)
            plan_scene.show(timeline.at(timeline.duration))
        return str(film.as_html())
