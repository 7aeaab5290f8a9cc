"""Choose how pictures are made before the simulator is loaded: it decides then, and needs a screen by default."""

from __future__ import annotations

import ctypes.util
import os
import sys

__all__: list[str] = []

if "MUJOCO_GL" not in os.environ and not os.environ.get("DISPLAY") and sys.platform.startswith("linux"):
    if ctypes.util.find_library("EGL"):
        os.environ["MUJOCO_GL"] = "egl"
    elif ctypes.util.find_library("OSMesa"):
        os.environ["MUJOCO_GL"] = "osmesa"
