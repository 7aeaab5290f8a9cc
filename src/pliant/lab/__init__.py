"""The stand-in for reality: MuJoCo simulates hand, arm and soft objects behind the driver interface.   (theory 10)"""

import ctypes.util
import os
import sys

from pliant.lazy import open_door

# MuJoCo chooses its renderer when it is loaded, and by default one that needs a screen.
if "MUJOCO_GL" not in os.environ and not os.environ.get("DISPLAY") and sys.platform.startswith("linux"):
    if ctypes.util.find_library("EGL"):
        os.environ["MUJOCO_GL"] = "egl"
    elif ctypes.util.find_library("OSMesa"):
        os.environ["MUJOCO_GL"] = "osmesa"

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
