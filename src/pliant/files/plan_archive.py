"""The container of a plan file: a zip of one JSON document, texts, meshes and arrays.

Arrays are plain numbers of known kinds; everything else is said in `pliant.files.zip_parts`.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pliant.errors import PlanError, Problem
from pliant.file_bytes import read_bytes
from pliant.files.zip_parts import BROKEN, PartsKind, ZipParts
from pliant.plain_arrays import array_header

MOST_BYTES = 1_000_000_000
"""Of the file, and of everything in it once unpacked."""
MOST_TEXT = 50_000_000
"""Of plan.json: a hundred times what a large plan has."""
LARGEST = 1e12
"""Of the numbers in arrays: far larger ones cannot even be squared."""
DTYPES = {"<f8": 8, "<f4": 4, "<i8": 8}
NAME = re.compile(r"plan\.json|task\.yaml|robot\.urdf|meshes/[0-9a-f]{64}\.[a-z]{2,5}|arrays/[a-z0-9_]{1,40}\.npy")
ALLOWED_NAMES = "plan.json, task.yaml, robot.urdf, meshes/HASH.SUFFIX, arrays/NAME.npy"


class Archive(ZipParts):
    """The members of a plan file, each read when asked for."""

    def __init__(self, path: Path) -> None:
        data = read_bytes(path, most=MOST_BYTES, kind="a plan", error=PlanError, suffixes=(".plan",))
        kind = PartsKind("plan", "plan.json", NAME, ALLOWED_NAMES, MOST_BYTES, MOST_TEXT, PlanError)
        super().__init__(data, str(path), kind)

    def array(self, name: str, dtype: str, shape: tuple[int | None, ...]) -> NDArray[np.generic]:
        """The array ``arrays/name.npy``, refused unless kind and shape are those expected (None: any length)."""
        where = f"arrays/{name}.npy"
        data = self.bytes(where)
        try:
            found, got, start = array_header(data)
        except BROKEN as bad:
            raise self.damaged(where, bad) from None
        problem = None
        if found not in DTYPES or found != dtype:
            problem = Problem(where, f"holds numbers of kind '{found[:20]}'", f"expected '{dtype}'")
        elif len(got) != len(shape) or any(s is not None and s != g for s, g in zip(shape, got, strict=True)):
            wanted = " x ".join("n" if s is None else str(s) for s in shape)
            problem = Problem(where, f"has the shape {got}", f"expected {wanted}")
        elif int(np.prod(got, dtype=object)) * DTYPES[dtype] != len(data) - start:
            problem = Problem(
                where, f"holds {len(data) - start} bytes", f"its shape {got} needs another number of them"
            )
        if problem is not None:
            raise PlanError(self.source, problem)
        array = np.frombuffer(data, dtype=dtype, offset=start).reshape(got).copy()
        if not np.isfinite(array).all():
            place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise PlanError(self.source, Problem(where, f"the value at {place} is {array[place]}", "finite numbers"))
        if array.dtype.kind == "f" and (far := np.abs(array) > LARGEST).any():
            place = tuple(int(i) for i in np.argwhere(far)[0])
            allowed = f"metres, radians, seconds, newtons and pascals up to {LARGEST:g}"
            raise PlanError(self.source, Problem(where, f"the value at {place} is {array[place]:g}", allowed))
        return array
