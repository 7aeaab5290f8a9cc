"""Pictures as PNG: a file that is there whole or not at all, or the source of an image inside a page."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.errors import OptionError, Problem
from pliant.file_bytes import write_bytes

if TYPE_CHECKING:
    from PIL.Image import Image


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
    path = Path(path)
    if path.suffix.lower() != ".png":
        raise OptionError(str(path), Problem("", f"pictures are not written as '{path.suffix}'", "a name in .png"))
    write_bytes(path, png_bytes(picture), error=OptionError)
    return path
