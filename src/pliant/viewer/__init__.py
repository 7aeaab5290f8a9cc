"""Seeing it: drawables and still pictures."""

from pliant.viewer.drawables import Drawable, arrow, ball, robot_drawables
from pliant.viewer.plots import Series, line_plot
from pliant.viewer.pressure_image import pressure_image
from pliant.viewer.run_plots import run_figures, write_run_plots
from pliant.viewer.still import Camera, look_at, render, save_png

__all__ = [
    "Camera",
    "Drawable",
    "Series",
    "arrow",
    "ball",
    "line_plot",
    "look_at",
    "pressure_image",
    "render",
    "robot_drawables",
    "run_figures",
    "save_png",
    "write_run_plots",
]
