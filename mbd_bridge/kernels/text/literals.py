"""Constants as LLVM writes them."""

from __future__ import annotations

import struct


def literal(value: float) -> str:
    """Return a double as LLVM writes it exactly."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def splat(value: float, lanes: int) -> str:
    """Return a vector constant with the same value in every lane."""
    return f"splat (double {literal(value)})"
