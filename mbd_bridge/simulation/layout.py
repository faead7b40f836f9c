"""Where the numbers of signals are in what the machine code of a system takes.

held      (H,)  what stays during a step: constants, inputs, samples; a motion's place
stream    (S,)  of tables at a step's start, middle and end: forces 3 times; of a prescribed
                motion f'' at these three, then f and f' at the end
instant   (I,)  of tables at one time: forces once, motions f, f', f''
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mbd_bridge.simulation.inputs.signal import HELD, PolynomialSignal, Signal

OF_MOTION = 5
"""Numbers of a prescribed motion that a step takes."""


@dataclass(frozen=True)
class SystemLayout:
    """Places of the parts of a system, by their numbers.

    Attributes
    ----------
    held, stream, instant : slices of the parts that have some
    sizes : of the three
    """

    held: dict[int, slice]
    stream: dict[int, slice]
    instant: dict[int, slice]
    sizes: tuple[int, int, int]

    @staticmethod
    def of(parts: Sequence[tuple[Signal, int, bool]]) -> SystemLayout:
        """Return the layout for signals, the numbers they have, and whether they are motions."""
        held: dict[int, slice] = {}
        stream: dict[int, slice] = {}
        instant: dict[int, slice] = {}
        ends = [0, 0, 0]

        def put(places: dict[int, slice], kind: int, part: int, size: int) -> None:
            places[part] = slice(ends[kind], ends[kind] + size)
            ends[kind] += size

        for k, (signal, size, moves) in enumerate(parts):
            if isinstance(signal, HELD):
                put(held, 0, k, size)
            elif isinstance(signal, PolynomialSignal):
                put(stream, 1, k, OF_MOTION if moves else 3 * size)
                put(instant, 2, k, 3 if moves else size)
        return SystemLayout(held, stream, instant, (ends[0], ends[1], ends[2]))
