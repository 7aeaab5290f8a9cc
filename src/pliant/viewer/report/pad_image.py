"""Pictures of what tactile arrays feel: one block per array, the finger tip on top, colour by pressure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Bools, Floats

if TYPE_CHECKING:
    from PIL.Image import Image

    from pliant.tactile import ArrayReading, TactileProcessor

# Dark blue over green to yellow and white: brightness grows all the way, so it reads in grey as well.
_STOPS = np.array([[13, 8, 66], [30, 70, 140], [32, 145, 140], [120, 200, 90], [250, 225, 60], [255, 255, 240]], float)
_ABSENT = (225, 225, 225)
_MARK = (220, 30, 30)


def pressure_image(
    pressures: Mapping[str, Floats],
    *,
    exists: Mapping[str, Bools] | None = None,
    centres: Mapping[str, tuple[float, float]] | None = None,
    largest: float | None = None,
    scale: int = 16,
    title: str = "",
) -> Image:
    """Arrays side by side, row 0 on top; a red cross marks the centre of pressure.

    Args:
        pressures: rows x columns [Pa], by array.
        exists: False where there is no cell (drawn grey).
        centres: (row, column), fractional, by array.
        largest: pressure of the brightest colour [Pa]; the largest present if None.
        scale: pixels per cell.
        title: written above.
    """
    from PIL import Image, ImageDraw

    top = largest if largest is not None else max((float(p.max()) for p in pressures.values()), default=0.0)
    gap, header = scale, 46
    rows = max((p.shape[0] for p in pressures.values()), default=1)
    widths = [max(p.shape[1] * scale, 130) for p in pressures.values()]
    size = (max(sum(widths) + gap * (len(widths) + 1), 300), header + rows * scale + gap)
    picture = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(picture)
    draw.text((gap, 6), f"{title}  (white: {top / 1e3:.1f} kPa)".strip(), fill="black")
    left = gap
    for (name, values), width in zip(pressures.items(), widths, strict=True):
        draw.text((left, 26), name, fill="black")
        colours = _colours(values / top if top > 0 else np.zeros_like(values))
        if exists is not None and name in exists:
            colours[~exists[name]] = _ABSENT
        block = Image.fromarray(np.kron(colours, np.ones((scale, scale, 1), dtype=np.uint8)))
        picture.paste(block, (left, header))
        if centres is not None and name in centres:
            row, column = centres[name]
            x, y = left + (column + 0.5) * scale, header + (row + 0.5) * scale
            reach = scale / 3
            draw.line((x - reach, y, x + reach, y), fill=_MARK, width=2)
            draw.line((x, y - reach, x, y + reach), fill=_MARK, width=2)
        left += width + gap
    return picture


def _colours(shares: Floats) -> NDArray[np.uint8]:
    place = np.clip(shares, 0.0, 1.0) * (len(_STOPS) - 1)
    channels = [np.interp(place, np.arange(len(_STOPS)), _STOPS[:, c]) for c in range(3)]
    return np.stack(channels, axis=-1).astype(np.uint8)


def readings_image(readings: Mapping[str, ArrayReading], processor: TactileProcessor, *, title: str) -> Image:
    """The pressures of processed frames, by array, the centre of each array's strongest region marked."""
    return pressure_image(
        {name: reading.forces / processor.layout(name).area for name, reading in readings.items()},
        exists={name: processor.layout(name).exists for name in readings},
        centres={name: reading.regions[0].cell for name, reading in readings.items() if reading.regions},
        title=title,
    )


def below_each_other(pictures: Sequence[Image]) -> Image:
    """Pictures as one, the first on top."""
    from PIL import Image

    size = (max(picture.width for picture in pictures), sum(picture.height for picture in pictures))
    whole = Image.new("RGB", size, "white")
    top = 0
    for picture in pictures:
        whole.paste(picture, (0, top))
        top += picture.height
    return whole
