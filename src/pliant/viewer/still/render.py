"""A picture without a window: surfaces, light, soft shadows, on any machine.

A plain z-buffer: every triangle is drawn into a depth image once from the camera and once from the lamp; pixels are
shaded with interpolated normals, darkened where the lamp does not reach and in creases; 2 x 2 samples are averaged.
Pictures become PNG files, or sources of images inside a page.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.arrays import Bools, Floats, Ints
from pliant.errors import OptionError, Problem
from pliant.file_bytes import write_bytes
from pliant.viewer.scene.drawables import Drawable

if TYPE_CHECKING:
    from PIL.Image import Image

BACKGROUND_TOP = np.array([0.96, 0.97, 0.985])
BACKGROUND_BOTTOM = np.array([0.86, 0.88, 0.91])
GROUND = np.array([0.90, 0.91, 0.925])
CREASE = np.cos(np.radians(38.0))


@dataclass(frozen=True, eq=False)
class Camera:
    """Where the picture is taken from.

    Attributes:
        eye: position [m].
        axes: rows: right, up, backwards.
        field_of_view: vertical angle [rad].
    """

    eye: Floats
    axes: Floats
    field_of_view: float


def look_at(eye: ArrayLike, target: ArrayLike, *, field_of_view_deg: float = 28.0) -> Camera:
    """A camera at ``eye`` that looks at ``target``, z upwards."""
    e, t = np.asarray(eye, dtype=np.float64), np.asarray(target, dtype=np.float64)
    back = (e - t) / np.linalg.norm(e - t)
    # From straight above or below "up" has no direction: then y is up in the picture.
    right = np.cross((0.0, 0.0, 1.0) if abs(back[2]) < 1.0 - 1e-9 else (0.0, 1.0, 0.0), back)
    right /= np.linalg.norm(right)
    return Camera(e, np.vstack([right, np.cross(back, right), back]), np.radians(field_of_view_deg))


def render(
    drawables: Sequence[Drawable], camera: Camera, *, width: int = 1200, height: int = 800, ground: float | None = None
) -> NDArray[np.uint8]:
    """The picture, height x width x 3.

    Args:
        ground: height of a plain floor that catches shadows [m]; none by default.
    """
    w, h = 2 * width, 2 * height
    solid = [item for item in drawables if item.opacity >= 1.0]
    clear = [item for item in drawables if item.opacity < 1.0]
    scene = _gather(solid or clear)
    lamp = _Lamp(scene.corners, camera)
    image, _ = _picture(scene, camera, lamp, w, h, ground)
    if clear and solid:
        # What is seen through is drawn once more as if it were solid, and laid over; it casts no shadow.
        front, seen = _picture(_gather([*solid, *clear]), camera, lamp, w, h, None, only_clear=True)
        image += seen[..., None] * (front - image)
    image = image.reshape(height, 2, width, 2, 3).mean(axis=(1, 3))
    return np.asarray(np.clip(255.0 * image ** (1 / 1.1), 0, 255), dtype=np.uint8)


def _picture(
    scene: _Scene, camera: Camera, lamp: _Lamp, w: int, h: int, ground: float | None, *, only_clear: bool = False
) -> tuple[Floats, Floats]:
    """All surfaces as if they were solid, and the opacity of what each pixel shows where that is below 1, else 0.

    Args:
        only_clear: leave out what lies behind nothing clear; the rest of the picture is not wanted.
    """
    from pliant.viewer.still.rasteriser import rasterise

    focal = 0.5 * h / np.tan(0.5 * camera.field_of_view)
    local = (scene.corners - camera.eye) @ camera.axes.T
    depth_buffer, owner, weights = rasterise(_perspective(local, focal, w, h), -local[..., 2], w, h, False)
    image = _background(w, h)
    rays = _rays(camera, focal, w, h)
    hit = owner >= 0
    opacity = np.where(hit, scene.opacity[owner], 1.0)
    if ground is not None:
        _paint_ground(image, camera.eye, rays, ground, hit, lamp, scene)
    if only_clear:
        hit &= opacity < 1.0
    points = camera.eye + rays[hit] * depth_buffer[hit][:, None]
    image[hit] = _shade(scene, owner[hit], weights[hit], points, camera.eye, lamp)
    image[hit] *= _crevices(depth_buffer, hit, focal)[hit][:, None]
    return image, np.where(opacity < 1.0, opacity, 0.0)


@dataclass(frozen=True, eq=False)
class _Scene:
    corners: Floats  # m x 3 x 3
    normals: Floats  # m x 3 x 3, per corner
    colours: Floats  # m x 3 x 3, per corner
    gloss: Floats  # m
    opacity: Floats  # m


def _gather(drawables: Sequence[Drawable]) -> _Scene:
    corners, normals, colours, gloss, opacity = [], [], [], [], []
    for item in drawables:
        mesh = item.mesh
        colour = np.broadcast_to(np.asarray(item.colour, dtype=np.float64), (len(mesh.vertices), 3))
        corners.append(mesh.vertices[mesh.faces])
        normals.append(_corner_normals(mesh.vertices, mesh.faces))
        colours.append(colour[mesh.faces])
        gloss.append(np.full(len(mesh.faces), item.gloss))
        opacity.append(np.full(len(mesh.faces), item.opacity))
    return _Scene(*(np.concatenate(parts) for parts in (corners, normals, colours, gloss, opacity)))


def _corner_normals(vertices: Floats, faces: Ints) -> Floats:
    """Smooth normals, except across creases: a corner averages only the faces that bend away little from its own."""
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    vector = np.cross(b - a, c - a)
    unit = vector / np.maximum(np.linalg.norm(vector, axis=1, keepdims=True), 1e-300)
    corner_vertex = faces.ravel()
    order = np.argsort(corner_vertex, kind="stable")
    face = order // 3
    counts = np.bincount(corner_vertex, minlength=len(vertices))
    starts = np.concatenate([[0], np.cumsum(counts)])[corner_vertex]
    result = np.zeros((len(faces) * 3, 3))
    left = np.arange(len(corner_vertex))
    for offset in range(int(counts.max(initial=0))):
        # The offset-th face around each corner's vertex, for all corners that have so many at once.
        left = left[offset < counts[corner_vertex[left]]]
        other = face[starts[left] + offset]
        near = np.einsum("ij,ij->i", unit[other], unit[left // 3]) > CREASE
        result[left[near]] += vector[other[near]]
    length = np.linalg.norm(result, axis=1, keepdims=True)
    result = np.where(length > 0, result / np.maximum(length, 1e-300), np.repeat(unit, 3, axis=0))
    return result.reshape(-1, 3, 3)


def _perspective(local: Floats, focal: float, w: int, h: int) -> Floats:
    depth = np.maximum(-local[..., 2], 1e-6)
    return np.stack([0.5 * w + focal * local[..., 0] / depth, 0.5 * h - focal * local[..., 1] / depth], axis=-1)


def _background(w: int, h: int) -> Floats:
    t = np.linspace(0.0, 1.0, h)[:, None]
    column = (1 - t) * BACKGROUND_TOP + t * BACKGROUND_BOTTOM
    return np.repeat(column[:, None, :], w, axis=1)


def _rays(camera: Camera, focal: float, w: int, h: int) -> Floats:
    """Direction of every pixel, scaled so that depth 1 is one metre along the view axis."""
    x = (np.arange(w) + 0.5 - 0.5 * w) / focal
    y = (0.5 * h - np.arange(h) - 0.5) / focal
    local = np.stack([*np.meshgrid(x, y), np.full((h, w), -1.0)], axis=-1)
    return np.asarray(local @ camera.axes)


class _Lamp:
    """The lamp over the camera's left shoulder, with the depth of the scene as it is seen from there."""

    SIZE = 1600

    def __init__(self, corners: Floats, camera: Camera) -> None:
        from pliant.viewer.still.rasteriser import rasterise

        right, up, back = camera.axes
        direction = 0.75 * back - 0.55 * right + 0.35 * up + np.array([0.0, 0.0, 0.9])
        self.direction = np.asarray(direction / np.linalg.norm(direction))
        across = np.cross((0.0, 0.0, 1.0), self.direction)
        across /= np.linalg.norm(across)
        self.axes = np.vstack([across, np.cross(self.direction, across), self.direction])
        local = corners @ self.axes.T
        flat = local.reshape(-1, 3)
        self.low = flat[:, :2].min(axis=0)
        self.scale = (self.SIZE - 4) / np.ptp(flat[:, :2], axis=0).max()
        self.top = flat[:, 2].max()
        self.bias = 1.5 / self.scale
        pixels, depths = (local[..., :2] - self.low) * self.scale + 2, self.top - local[..., 2] + 1.0
        self.depth = rasterise(pixels, depths, self.SIZE, self.SIZE, True).depth

    def light(self, points: Floats, normals: Floats | None = None) -> Floats:
        """Share of the lamp's light that reaches each point, softened over 5 x 5 texels."""
        from pliant.viewer.still.rasteriser import lit_share

        p = points if normals is None else points + 2.0 * self.bias * normals
        local = p @ self.axes.T
        return lit_share(
            (local[:, :2] - self.low) * self.scale + 2, self.top - local[:, 2] + 1.0 - self.bias, self.depth
        )


def _shade(scene: _Scene, owner: Ints, weights: Floats, points: Floats, eye: Floats, lamp: _Lamp) -> Floats:
    normal = np.einsum("ij,ijk->ik", weights, scene.normals[owner])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    base = np.einsum("ij,ijk->ik", weights, scene.colours[owner])
    view = eye - points
    view /= np.linalg.norm(view, axis=1, keepdims=True)
    # Seen from behind (open or thin surfaces): light the side that is looked at.
    normal *= np.where(np.einsum("ij,ij->i", normal, view) < 0, -1.0, 1.0)[:, None]
    lit = lamp.light(points, normal)
    key = np.clip(normal @ lamp.direction, 0.0, None) * lit
    half = view + lamp.direction
    half /= np.linalg.norm(half, axis=1, keepdims=True)
    shine = np.clip(np.einsum("ij,ij->i", normal, half), 0.0, None) ** 40 * lit * scene.gloss[owner]
    rim = (1.0 - np.clip(np.einsum("ij,ij->i", normal, view), 0.0, 1.0)) ** 3
    ambient = 0.50 + 0.14 * normal[:, 2]
    return np.asarray(np.clip(base * (ambient + 0.72 * key + 0.08 * rim)[:, None] + shine[:, None], 0.0, 1.0))


def _paint_ground(
    image: Floats, eye: Floats, rays: Floats, height: float, hit: Bools, lamp: _Lamp, scene: _Scene
) -> None:
    """A floor that fades into the background, with the scene's shadow on it."""
    t = (height - eye[2]) / np.where(np.abs(rays[..., 2]) > 1e-9, rays[..., 2], 1e-9)
    flat = scene.corners.reshape(-1, 3)
    centre, size = 0.5 * (flat.min(axis=0) + flat.max(axis=0)), np.ptp(flat, axis=0).max()
    seen = ~hit & (t > 0) & (t < 10 * (size + np.linalg.norm(eye - centre)))
    points = eye + rays[seen] * t[seen][:, None]
    distance = np.linalg.norm(points[:, :2] - centre[:2], axis=1) / size
    fade = np.clip(1.6 - 0.9 * distance, 0.0, 1.0)[:, None]
    colour = GROUND * (0.66 + 0.34 * lamp.light(points))[:, None]
    image[seen] = fade * colour + (1 - fade) * image[seen]


def _crevices(depth: Floats, hit: Bools, focal: float) -> Floats:
    """Darkening in hollows: where the pixels on opposite sides together stand nearer to the eye than the middle.

    Opposite sides are taken together so that a flat surface seen at an angle stays as it is.
    """
    shade = np.ones_like(depth)
    finite = np.where(hit, depth, np.inf)
    here = np.where(hit, depth, 1.0)
    for radius in (6, 14, 30):
        padded = np.pad(finite, radius, mode="edge")
        hollow = np.zeros_like(depth)
        for angle in np.arange(4) * np.pi / 4:
            dy, dx = round(radius * np.sin(angle)), round(radius * np.cos(angle))
            sides = [
                padded[radius + i : radius + i + depth.shape[0], radius + j : radius + j + depth.shape[1]]
                for i, j in ((dy, dx), (-dy, -dx))
            ]
            size = radius * here / focal
            rise = 2.0 * here - sides[0] - sides[1]
            hollow += np.clip(rise / size - 0.15, 0.0, 1.0) * (rise < 10 * size)
        shade -= 0.16 * hollow / 4.0
    return np.clip(shade, 0.5, 1.0)


def png_bytes(picture: NDArray[np.uint8] | Image, *, optimize: bool = False) -> bytes:
    """The bytes of a PNG file; ``optimize`` spends time on a smaller one."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(np.asarray(picture)).save(buffer, format="PNG", optimize=optimize)
    return buffer.getvalue()


def png_source(picture: NDArray[np.uint8] | Image) -> str:
    """A picture as the source of an image inside a page: no file, no request."""
    return "data:image/png;base64," + base64.b64encode(png_bytes(picture, optimize=True)).decode()


def save_png(picture: NDArray[np.uint8] | Image, path: str | Path) -> Path:
    """Write a picture; folders are made as needed, a file of that name is replaced when the new one is complete."""
    path = png_path(path)
    write_bytes(path, png_bytes(picture), error=OptionError)
    return path


def png_path(path: str | Path) -> Path:
    """The path itself, if a picture can have this name."""
    path = Path(path)
    if path.suffix.lower() != ".png":
        raise OptionError(str(path), Problem("", f"pictures are not written as '{path.suffix}'", "a name in .png"))
    return path
