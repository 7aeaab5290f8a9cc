"""Seeing it: drawables and still pictures."""

from pliant.viewer.drawables import Drawable, arrow, ball, robot_drawables
from pliant.viewer.pressure_image import pressure_image
from pliant.viewer.still import Camera, look_at, render, save_png

__all__ = ["Camera", "Drawable", "arrow", "ball", "look_at", "pressure_image", "render", "robot_drawables", "save_png"]
