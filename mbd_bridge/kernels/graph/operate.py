"""An operation of whatever it is asked of: floats, arrays, symbols."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mbd_bridge.kernels.graph.ops import OPERATIONS
from mbd_bridge.kernels.graph.symbol import Symbolic


def operate(op: str, *operands: Any, data: Any = None) -> Any:
    """Return an operation of scalars, of arrays entry by entry, or of symbols."""
    symbols = [x for x in operands if isinstance(x, Symbolic)]
    arrays = [x for x in operands if isinstance(x, np.ndarray | list | tuple) and np.ndim(x)]
    if symbols and not arrays:
        return max(symbols, key=lambda x: x.rank).operate(op, *operands, data=data)
    if any(np.asarray(x).dtype == object for x in operands):
        one = np.frompyfunc(functools.partial(operate, op, data=data), len(operands), 1)
        return one(*operands)
    evaluate = OPERATIONS[op].evaluate
    assert evaluate is not None
    return evaluate(*operands) if data is None else evaluate(*operands, data)
