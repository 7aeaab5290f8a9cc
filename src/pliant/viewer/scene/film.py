"""An operation as a 3-D film in one HTML document: plays, pauses and scrubs by itself, no server, no network."""

from __future__ import annotations

import numpy as np

from pliant.planner import Plan
from pliant.viewer.page.view_options import FIELD_OF_VIEW, Look, default_camera
from pliant.viewer.scene.scene import Stage
from pliant.viewer.scene.shown import Opened

STEP = 0.1
"""Between two pictures of the film [s]."""


def scene_html(plan: Plan, look: Look | None = None) -> str:
    """The film of a plan's best grasp, or the task as it stands, as a document of its own.

    A server is started on this machine for as long as the messages are recorded; nobody connects to it.
    """
    from pliant.viewer.page.app import start_server, stop_server

    server = start_server("127.0.0.1", 0)
    try:
        stage = Stage(server.scene, Opened(plan.task, plan), look)
        stage.show_rank(0 if plan.grasps else None)
        stage.add_robot(stage.at(0.0))
        stage.show(stage.at(0.0))
        while stage.send_next_shape():
            pass
        eye, target = default_camera(plan.task)
        server.initial_camera.position, server.initial_camera.look_at = eye, target
        server.initial_camera.fov = FIELD_OF_VIEW
        film = server.get_scene_serializer()
        timeline = stage.timeline
        if timeline is not None:
            times = np.arange(STEP, timeline.duration + 1e-9, STEP).tolist()
            for time in times:
                film.insert_sleep(STEP)
                stage.show(stage.at(time))
            # The end stands for a second before the film starts again.
            film.insert_sleep(1.0)
            stage.show(stage.at(timeline.duration))
        return str(film.as_html())
    finally:
        stop_server(server)
