"""Numbers that come from outside while a machine moves."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False)
class Input:
    """Numbers that come from outside under a name: from a control loop, a stepper, C.

    Attributes
    ----------
    name : of the input
    value : until another one is given, in N, N m: one number, or as many as act

    Examples
    --------
    >>> mbd.simulate(arm, 1.0, torque={"grip": mbd.Input("grip")},
    ...              inputs={"grip": 2.0})                              # doctest: +SKIP
    """

    name: str
    value: ArrayLike = 0.0
    number = 1
