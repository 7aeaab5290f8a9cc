"""Seeing it: drawables and still pictures, the page in the browser, the report. Names are loaded when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.lazy import lazy_names

if TYPE_CHECKING:
    from pliant.viewer.app import Viewer as Viewer
    from pliant.viewer.colours import scale_colours as scale_colours
    from pliant.viewer.curves import grasp_figures as grasp_figures
    from pliant.viewer.drawables import Drawable as Drawable
    from pliant.viewer.drawables import arrow as arrow
    from pliant.viewer.drawables import ball as ball
    from pliant.viewer.drawables import robot_drawables as robot_drawables
    from pliant.viewer.figures import Line as Line
    from pliant.viewer.figures import line_figure as line_figure
    from pliant.viewer.look import Look as Look
    from pliant.viewer.measured import Measured as Measured
    from pliant.viewer.measured import measured_run as measured_run
    from pliant.viewer.pad_image import pressure_image as pressure_image
    from pliant.viewer.pad_image import readings_image as readings_image
    from pliant.viewer.plan_still import draw_moment as draw_moment
    from pliant.viewer.plan_still import save_stills as save_stills
    from pliant.viewer.png import save_png as save_png
    from pliant.viewer.report import report_html as report_html
    from pliant.viewer.report import write_report as write_report
    from pliant.viewer.run_plots import run_figures as run_figures
    from pliant.viewer.run_plots import write_run_plots as write_run_plots
    from pliant.viewer.session import Session as Session
    from pliant.viewer.still import Camera as Camera
    from pliant.viewer.still import look_at as look_at
    from pliant.viewer.still import render as render
    from pliant.viewer.surface import ColourBy as ColourBy
    from pliant.viewer.surface import ObjectSurface as ObjectSurface
    from pliant.viewer.timeline import Moment as Moment
    from pliant.viewer.timeline import Timeline as Timeline

_HOMES = {
    "write_run_plots": ".run_plots",
    "run_figures": ".run_plots",
    "line_figure": ".figures",
    "Line": ".figures",
    "Session": ".session",
    "Camera": ".still",
    "ColourBy": ".surface",
    "Drawable": ".drawables",
    "Look": ".look",
    "Measured": ".measured",
    "Moment": ".timeline",
    "ObjectSurface": ".surface",
    "Timeline": ".timeline",
    "Viewer": ".app",
    "arrow": ".drawables",
    "ball": ".drawables",
    "draw_moment": ".plan_still",
    "grasp_figures": ".curves",
    "look_at": ".still",
    "measured_run": ".measured",
    "pressure_image": ".pad_image",
    "readings_image": ".pad_image",
    "render": ".still",
    "report_html": ".report",
    "robot_drawables": ".drawables",
    "save_png": ".png",
    "save_stills": ".plan_still",
    "scale_colours": ".colours",
    "write_report": ".report",
}

__all__ = [
    "Camera",
    "ColourBy",
    "Drawable",
    "Line",
    "Look",
    "Measured",
    "Moment",
    "ObjectSurface",
    "Session",
    "Timeline",
    "Viewer",
    "arrow",
    "ball",
    "draw_moment",
    "grasp_figures",
    "line_figure",
    "look_at",
    "measured_run",
    "pressure_image",
    "readings_image",
    "render",
    "report_html",
    "robot_drawables",
    "run_figures",
    "save_png",
    "save_stills",
    "scale_colours",
    "write_report",
    "write_run_plots",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
