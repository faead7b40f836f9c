"""Where the numbers of a batch lie in memory: checks of the caller's arrays, without copies.

Memory for large results, used again once nobody holds them.

Freed blocks of some megabytes go back to the system, and the next ones are mapped and cleared page
by page: 15 ns a state for two results of (100000, 3), more than the computation. A few blocks are
therefore kept. One is given out again only when no array looks at it any more.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbd_bridge.base.arguments import as_floats
from mbd_bridge.base.errors import StateError
from mbd_bridge.base.forking import hold_over_forks

KEPT_BYTES = 2**26
"""Most memory that is kept while nobody uses it: 64 MiB."""
KEPT_BLOCKS = 4

_kept: list[NDArray[np.float64]] = []
_lock = threading.Lock()

hold_over_forks(lambda: _lock)


def take(size: int) -> NDArray[np.float64]:
    """Return a vector of `size` doubles that nobody else holds; its content is left over."""
    with _lock:
        for index in range(len(_kept)):
            # the list's own reference and the argument's: no view, no caller
            if _kept[index].size >= size and sys.getrefcount(_kept[index]) == _UNUSED:
                if _kept[index].size > 2 * size:
                    continue  # too large to be bound by a small result
                block = _kept.pop(index)
                _kept.append(block)
                return block[:size]
        block = np.empty(size)
        _kept.append(block)
        while len(_kept) > KEPT_BLOCKS or (
            len(_kept) > 1 and sum(b.nbytes for b in _kept) > KEPT_BYTES
        ):
            _kept.pop(0)
        if block.nbytes > KEPT_BYTES:
            _kept.clear()
        return block[:size]


def _unused() -> int:
    """Return what `sys.getrefcount` says of an array that only a list holds."""
    one = [np.empty(1)]
    return sys.getrefcount(one[0])


_UNUSED = _unused()


Floats = NDArray[np.float64]
_FLOAT64 = np.dtype(np.float64)

_SHARE_FROM = 2**17
"""Doubles (1 MiB) from which on results share a block of memory."""

_ALIGNED_TO = 8
"""Doubles in a cache line."""


def are_floats(values: Sequence[ArrayLike], shapes: Sequence[tuple[int, ...]]) -> bool:
    """Return whether there is a float64 array of each shape: then nothing is to be converted."""
    if len(values) != len(shapes):
        return False
    for value, shape in zip(values, shapes, strict=True):
        if type(value) is not np.ndarray or value.dtype is not _FLOAT64 or value.shape != shape:
            return False
    return True


def check_inputs(
    values: Sequence[ArrayLike], sizes: Mapping[str, int]
) -> tuple[list[Floats], int | None]:
    """Return the input arrays and the number of states, None for a single state.

    Parameters
    ----------
    values : one (n,) or (N, n) array an input; an (n,) array is the same for all N states
    sizes : n of each input, by name
    """
    if len(values) != len(sizes):
        raise StateError(
            f"expected {len(sizes)} input arrays ({', '.join(sizes) or 'none'}), got {len(values)}"
        )
    arrays: list[Floats] = []
    number: int | None = None
    first = ""
    for (name, size), value in zip(sizes.items(), values, strict=True):
        array = as_floats(name, value)
        arrays.append(array)
        shape = array.shape
        if len(shape) not in (1, 2) or shape[-1] != size:
            raise StateError(
                f"{name}: expected shape ({size},) for one state or (N, {size}) for N states, "
                f"got {shape}"
            )
        if len(shape) == 2:
            if number is None:
                number, first = shape[0], name
            elif number != shape[0]:
                raise StateError(
                    f"{name}: expected {number} states, as in {first}, got {shape[0]}; an input "
                    f"that is the same for all states has shape ({size},)"
                )
    return arrays, number


def check_outputs(
    out: Sequence[Floats | None] | None, shapes: Sequence[tuple[int, ...]], number: int | None
) -> list[Floats]:
    """Return the arrays that the results go to: the caller's, or new ones in C order."""
    lead = () if number is None else (number,)
    if out is None:
        return new_arrays([lead + shape for shape in shapes])
    if not isinstance(out, (tuple, list)) or len(out) != len(shapes):
        raise StateError(f"out: expected a tuple of {len(shapes)} arrays, got {out!r:.80}")
    found = []
    for k, (array, shape) in enumerate(zip(out, shapes, strict=True)):
        if array is None:
            found.append(np.empty(lead + shape))
            continue
        if not isinstance(array, np.ndarray) or array.dtype != _FLOAT64:
            raise StateError(
                f"out[{k}]: expected a float64 array or None, got "
                f"{getattr(array, 'dtype', type(array).__name__)}"
            )
        if array.shape != lead + shape:
            raise StateError(f"out[{k}]: expected shape {lead + shape}, got {array.shape}")
        if not array.flags.writeable:
            raise StateError(f"out[{k}]: the array is read-only; pass a writeable one")
        found.append(array)
    return found


def new_arrays(shapes: Sequence[tuple[int, ...]]) -> list[Floats]:
    """Return new arrays; large ones share one block of memory (see `blocks`)."""
    sizes = [prod(shape) for shape in shapes]
    starts = [0]
    for size in sizes:
        starts.append(starts[-1] + -(-size // _ALIGNED_TO) * _ALIGNED_TO)
    if starts[-1] < _SHARE_FROM:
        return [np.empty(shape) for shape in shapes]
    block = take(starts[-1])
    return [
        block[start : start + size].reshape(shape)
        for start, size, shape in zip(starts, sizes, shapes, strict=False)
    ]


class Layout:
    """The description of all arrays of one call, as the machine code reads it.

    For each array: its address, the bytes from state to state, and the address of the byte offsets
    of its components, 0 where they stand side by side.

    Attributes
    ----------
    address : of the description; valid as long as this object
    """

    __slots__ = ("_keep", "_table", "address")

    def __init__(self, arrays: Sequence[Floats], ranks: Sequence[int]) -> None:
        """Describe arrays whose last ``ranks[k]`` axes are the components of one state."""
        facts: list[int] = []
        keep: list[Any] = [*arrays]
        for array, rank in zip(arrays, ranks, strict=True):
            many = array.ndim > rank
            strides = array.strides
            offsets = 0
            if not array.flags.c_contiguous:
                shape, inner = array.shape[many:], strides[many:]
                if not _side_by_side(shape, inner):
                    table = component_offsets(shape, inner)
                    keep.append(table)
                    offsets = table.ctypes.data
            facts += (array.ctypes.data, strides[0] if many else 0, offsets)
        self._table = (ctypes.c_int64 * len(facts))(*facts)
        self._keep = keep
        self.address = ctypes.addressof(self._table)


def _side_by_side(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether components follow each other in C order without gaps."""
    expected = 8
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != expected:
            return prod(shape) == 0
        expected *= size
    return True


def component_offsets(shape: tuple[int, ...], strides: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the byte offset of each component, in C order."""
    offsets = np.zeros(1, dtype=np.int64)
    for size, stride in zip(shape, strides, strict=True):
        steps = np.arange(size, dtype=np.int64) * stride
        offsets = (offsets[:, None] + steps).ravel()
    return offsets
