"""Constants as LLVM writes them."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray


def literal(value: float) -> str:
    """Return a double as LLVM writes it exactly."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def splat(value: float) -> str:
    """Return a vector constant with the same value in every lane."""
    return f"splat (double {literal(value)})"


def as_bytes(values: NDArray[np.float64]) -> str:
    """Return doubles as the bytes that they are in memory: quicker to read than numbers."""
    data = values.astype(np.float64).tobytes()
    return f'[{len(data)} x i8] c"\\{data.hex(chr(92))}"'
