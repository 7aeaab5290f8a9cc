"""Arrays of plain numbers out of the bytes of a .npy file, without any trust in what they say about themselves.

NumPy's own reader makes room for the shape that a file claims before it looks whether the numbers are there, and knows
kinds that execute what they hold. Here the claim is compared with the bytes first, and only numbers are read.
"""

from __future__ import annotations

import ast
import math
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_DIMENSIONS = 4
LONGEST_HEADER = 4096
"""Of the text in front of the numbers; NumPy itself writes 118 bytes."""


def array_header(data: bytes) -> tuple[str, tuple[int, ...], int]:
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


def array_from_bytes(data: bytes) -> NDArray[Any]:
    """The numbers (whole or floating) of a .npy file; ValueError where they are none or not all there."""
    descr, shape, start = array_header(data)
    try:
        kind = np.dtype(descr)
    except (TypeError, ValueError):
        raise ValueError(f"it holds values of an unknown kind '{descr[:20]}'") from None
    if kind.kind not in "fiu":
        raise ValueError(f"it holds values of kind '{descr[:20]}', not numbers")
    if math.prod(shape) * kind.itemsize != len(data) - start:
        raise ValueError(f"its shape {shape} does not fit its {len(data) - start} bytes")
    return np.frombuffer(data, dtype=kind, offset=start).reshape(shape).astype(kind.newbyteorder("="))
