"""Arrays of plain numbers to and from the bytes of a .npy file, without any trust in what they say about themselves.

NumPy's own reader makes room for the shape that a file claims before it looks whether the numbers are there, and knows
kinds that execute what they hold. Here the claim is compared with the bytes first, and only numbers are read.
"""

from __future__ import annotations

import ast
import io
import math
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_DIMENSIONS = 4
LONGEST_HEADER = 4096
"""Of the text in front of the numbers; NumPy itself writes 118 bytes."""


def array_bytes(array: NDArray[np.generic]) -> bytes:
    """An array as a .npy file of version 1.0."""
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array, order="C"), version=(1, 0), allow_pickle=False)
    return out.getvalue()


def array_from_bytes(
    data: bytes, *, dtype: str | None = None, shape: tuple[int | None, ...] | None = None
) -> NDArray[Any]:
    """The numbers (whole or floating) of a .npy file; ValueError where they are none, not all there or not expected.

    Args:
        dtype: the only kind that is allowed, such as ``<f8``; any kind of numbers by default.
        shape: the only shape that is allowed (None: any length); any shape by default.
    """
    descr, found, start = _header(data)
    if dtype is not None and descr != dtype:
        raise ValueError(f"it holds numbers of kind '{descr[:20]}'; expected '{dtype}'")
    try:
        kind = np.dtype(descr)
    except (TypeError, ValueError):
        raise ValueError(f"it holds values of an unknown kind '{descr[:20]}'") from None
    if kind.kind not in "fiu":
        raise ValueError(f"it holds values of kind '{descr[:20]}', not numbers")
    if shape is not None and (
        len(found) != len(shape) or any(s is not None and s != n for s, n in zip(shape, found, strict=True))
    ):
        raise ValueError(
            f"it has the shape {found}; expected {' x '.join('n' if s is None else str(s) for s in shape)}"
        )
    if math.prod(found) * kind.itemsize != len(data) - start:
        raise ValueError(f"its shape {found} does not fit its {len(data) - start} bytes")
    return np.frombuffer(data, dtype=kind, offset=start).reshape(found).astype(kind.newbyteorder("="))


def _header(data: bytes) -> tuple[str, tuple[int, ...], int]:
    """Kind, shape and the offset of the numbers of a .npy file of version 1.0; ValueError for anything else."""
    if data[:8] != b"\x93NUMPY\x01\x00" or len(data) < 10:
        raise ValueError("not a .npy file of version 1.0")
    (length,) = struct.unpack("<H", data[8:10])
    if length > LONGEST_HEADER:
        raise ValueError(f"its header has {length} bytes")
    try:
        header = ast.literal_eval(data[10 : 10 + length].decode("latin1").strip())
    except (SyntaxError, MemoryError, RecursionError, TypeError):
        raise ValueError("its header cannot be read") from None
    if not isinstance(header, dict) or set(header) != {"descr", "fortran_order", "shape"}:
        raise ValueError("its header is not that of an array")
    descr, shape = header["descr"], header["shape"]
    if header["fortran_order"] is not False or not isinstance(descr, str) or not isinstance(shape, tuple):
        raise ValueError("its header is not that of a plain array in C order")
    if len(shape) > MOST_DIMENSIONS or not all(type(n) is int and 0 <= n < 2**40 for n in shape):
        raise ValueError(f"its shape is {str(shape)[:60]}")
    return descr, shape, 10 + length
