"""What every viser scene of pliant is made of: lamps, meshes and poses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from pliant.arrays import Floats
from pliant.objects import Mesh
from pliant.viewer.scene.colours import Colour
from pliant.viewer.scene.glb import glb_bytes


def add_lamps(scene: Any, centre: ArrayLike) -> None:
    """A bright sky, a key light from the right and a weak fill from the left, about a centre [m].

    Lamps instead of an environment map, which software drawing cannot afford.
    """
    scene.add_light_hemisphere("/lights/sky", sky_color=(255, 255, 255), ground_color=(190, 185, 178), intensity=1.9)
    for name, offset, strength in (("key", (1.2, -1.6, 2.2), 1.7), ("fill", (-1.5, -0.8, 0.8), 0.5)):
        position = np.asarray(centre, dtype=np.float64) + np.array(offset)
        scene.add_light_directional(f"/lights/{name}", position=tuple(position), intensity=strength)


def add_mesh(scene: Any, name: str, mesh: Mesh, colour: Colour | Floats, **options: Any) -> Any:
    """The handle of a mesh of one colour; options are viser's."""
    return scene.add_mesh_simple(name, mesh.vertices, mesh.faces, color=rgb_bytes(colour), **options)


def add_clear_mesh(scene: Any, name: str, mesh: Mesh, colour: Colour | Floats, *, opacity: float) -> Any:
    """The handle of a mesh that is seen through.

    As a glTF file, because its surfaces blend without hiding each other. Those of `add_mesh` hide what is drawn after
    them, in whatever order triangles come: where links reach into each other that gives speckles, which change as the
    camera moves.
    """
    colours = np.tile(np.asarray(colour, dtype=np.float64), (len(mesh.vertices), 1))
    data = glb_bytes(mesh.vertices, mesh.faces, colours, roughness=1.0, opacity=opacity, inside=False)
    return scene.add_glb(name, data, cast_shadow=False, receive_shadow=False)


def rgb_bytes(colour: Colour | Floats) -> tuple[int, int, int]:
    """A colour as viser wants it, 0..255."""
    r, g, b = (round(255 * channel) for channel in colour)
    return r, g, b


def place(handle: Any, T: pin.SE3) -> None:
    """Move a node to a pose in its parent's frame."""
    x, y, z, w = pin.Quaternion(T.rotation).coeffs()
    handle.wxyz = (w, x, y, z)
    handle.position = np.array(T.translation)
