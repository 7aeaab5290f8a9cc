"""Recorded grasps of a real hand: tactile frames and joint angles on one clock, read from .npz and checked.

A file holds grasps ``g0, g1, ...``; of grasp K the arrays ``gK_frames`` (n x cells, raw counts), ``gK_frame_time_s``
(n), ``gK_joints_deg`` (m x joints) and ``gK_joint_time_s`` (m). Cells of all arrays follow each other in the order of
the layout, row by row.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Floats, Ints
from pliant.errors import Problem, RecordingError
from pliant.file_bytes import read_bytes
from pliant.plain_arrays import array_from_bytes

MAX_BYTES = 500_000_000
MAX_ARRAYS = 4000


@dataclass(frozen=True)
class RecordingLayout:
    """In which order a recording holds arrays and joints.

    Args:
        hand: name of the hand description that the names belong to.
        arrays: (name, rows, columns), as the cells follow each other.
        joints: independent joints, as the columns of the joint angles.
        full_scale: largest count.
        saturation: counts from which a cell hardly rises any more.
    """

    hand: str
    arrays: tuple[tuple[str, int, int], ...]
    joints: tuple[str, ...]
    full_scale: int = 4095
    saturation: int = 4095

    @property
    def cells(self) -> int:
        """Cells of all arrays together."""
        return sum(rows * columns for _, rows, columns in self.arrays)


# The order of SCHUNK's library: finger 1, the finger without rotation (our thumb), finger 3 (our finger_2).
# The recorded pads stop rising at about 3530 counts, before the 12 bits are used up.
SDH2_RECORDING = RecordingLayout(
    "schunk_sdh2",
    tuple(
        (f"{finger}_{part}", rows, 6)
        for finger in ("finger_1", "thumb", "finger_2")
        for part, rows in (("proximal", 14), ("distal", 13))
    ),
    (
        "base_rotation",
        "finger_1_proximal_joint",
        "finger_1_distal_joint",
        "thumb_proximal_joint",
        "thumb_distal_joint",
        "finger_2_proximal_joint",
        "finger_2_distal_joint",
    ),
    saturation=3500,
)


@dataclass(frozen=True, eq=False)
class RecordedGrasp:
    """One grasp.

    Attributes:
        index: its number in the file.
        frame_time: n [s], increasing.
        frames: n x rows x columns counts, by array.
        joint_time: m [s], increasing.
        joints: m x joints [rad], in the order of ``layout.joints``.
    """

    index: int
    layout: RecordingLayout
    frame_time: Floats
    frames: dict[str, Ints]
    joint_time: Floats
    joints: Floats

    @property
    def frame_period(self) -> float:
        """Typical time between frames [s]."""
        return float(np.median(np.diff(self.frame_time))) if len(self.frame_time) > 1 else 0.0

    def joints_at(self, time: float) -> Floats:
        """Joint angles at a time, straight between samples and constant beyond them [rad]."""
        return np.array([np.interp(time, self.joint_time, column) for column in self.joints.T])


@dataclass(frozen=True, eq=False)
class Recording:
    """A file of recorded grasps."""

    source: str
    layout: RecordingLayout
    grasps: tuple[RecordedGrasp, ...]


def read_recording(path: str | Path, *, layout: RecordingLayout = SDH2_RECORDING) -> Recording:
    """Read a recording; every problem in it is named at once. Nothing stored in the file is executed."""
    path = Path(path)
    arrays = _load(path)
    numbers = sorted({int(hit.group(1)) for name in arrays if (hit := re.match(r"g(\d+)_", name))})
    if not numbers:
        found = ", ".join(sorted(arrays)[:6]) or "nothing"
        raise RecordingError(str(path), Problem("", f"holds no grasp; found: {found}", "expected g0_frames and so on"))
    problems: list[Problem] = []
    grasps = [grasp for number in numbers if (grasp := _grasp(arrays, number, layout, problems)) is not None]
    if problems:
        raise RecordingError(str(path), problems)
    return Recording(str(path), layout, tuple(grasps))


def _load(path: Path) -> dict[str, NDArray[Any]]:
    source = str(path)
    data = read_bytes(path, most=MAX_BYTES, kind="a recording", error=RecordingError, suffixes=(".npz",))
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            unpacked = sum(member.file_size for member in members)
            if unpacked > MAX_BYTES or len(members) > MAX_ARRAYS:
                what = f"would unpack to {len(members)} arrays of {unpacked / 1e6:.0f} MB"
                raise RecordingError(source, Problem("", what, f"at most {MAX_ARRAYS} and {MAX_BYTES / 1e6:.0f} MB"))
            return {m.filename.removesuffix(".npy"): array_from_bytes(_part(archive, m)) for m in members}
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError) as bad:
        # RuntimeError: encrypted, or packed in a way that is not known here.
        raise RecordingError(source, f"is not a NumPy .npz archive of plain arrays ({_reason(bad)})") from None


def _part(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    # With a number: without one, all that is packed is unpacked at once, whatever size was announced.
    with archive.open(member) as part:
        return part.read(member.file_size + 1)


def _reason(bad: Exception) -> str:
    return (str(bad).splitlines() or [type(bad).__name__])[0][:100]


def _grasp(
    arrays: dict[str, NDArray[Any]], number: int, layout: RecordingLayout, problems: list[Problem]
) -> RecordedGrasp | None:
    names = {key: f"g{number}_{key}" for key in ("frames", "frame_time_s", "joints_deg", "joint_time_s")}
    missing = [name for name in names.values() if name not in arrays]
    if missing:
        problems.append(Problem(f"g{number}", f"lacks {', '.join(missing)}", "a grasp needs all four arrays"))
        return None
    before = len(problems)
    frames = _table(arrays, names["frames"], layout.cells, "tactile cells", problems)
    joints = _table(arrays, names["joints_deg"], len(layout.joints), "joints", problems)
    frame_time = _times(arrays, names["frame_time_s"], frames, problems)
    joint_time = _times(arrays, names["joint_time_s"], joints, problems)
    if frames is not None and frames.size and not (frames.min() >= 0 and frames.max() <= layout.full_scale):
        what = f"counts from {frames.min():g} to {frames.max():g}"
        problems.append(Problem(names["frames"], what, f"0 to {layout.full_scale}"))
    if len(problems) > before or frames is None or joints is None or frame_time is None or joint_time is None:
        return None
    frame_time, frames = _latest(frame_time, frames)
    joint_time, joints = _latest(joint_time, joints)
    pieces: dict[str, Ints] = {}
    start = 0
    for name, rows, columns in layout.arrays:
        pieces[name] = frames[:, start : start + rows * columns].reshape(-1, rows, columns).astype(np.int64)
        start += rows * columns
    return RecordedGrasp(number, layout, frame_time, pieces, joint_time, np.radians(joints))


def _table(
    arrays: dict[str, NDArray[Any]], name: str, columns: int, what: str, problems: list[Problem]
) -> Floats | None:
    value = arrays[name]
    if value.dtype.kind not in "iuf":
        problems.append(Problem(name, f"values of type {value.dtype}", "numbers"))
    elif value.ndim != 2 or value.shape[1] != columns:
        problems.append(Problem(name, f"shape {value.shape}", f"n x {columns} ({what})"))
    elif len(value) == 0:
        problems.append(Problem(name, "holds no sample", "at least one"))
    elif not np.isfinite(value).all():
        problems.append(Problem(name, "holds numbers that are not finite", "finite ones"))
    else:
        return value.astype(np.float64)
    return None


def _times(arrays: dict[str, NDArray[Any]], name: str, table: Floats | None, problems: list[Problem]) -> Floats | None:
    value = arrays[name]
    if value.dtype.kind not in "iuf" or value.ndim != 1:
        problems.append(Problem(name, f"shape {value.shape}, type {value.dtype}", "one number per sample [s]"))
    elif table is not None and len(value) != len(table):
        problems.append(Problem(name, f"{len(value)} times for {len(table)} samples", "one per sample"))
    elif not np.isfinite(value).all() or np.any(np.diff(value) < 0):
        problems.append(Problem(name, "times that go back or are not finite", "increasing seconds"))
    else:
        return value.astype(np.float64)
    return None


def _latest(time: Floats, table: Floats) -> tuple[Floats, Floats]:
    """Of samples with one and the same time stamp only the last: time must move on to be differentiated."""
    keep = np.append(np.diff(time) > 0, True)
    return time[keep], table[keep]
