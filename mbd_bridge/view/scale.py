"""How long loads are drawn: one round scale for a whole motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mbd_bridge.base.readable import quantity
from mbd_bridge.loads import JointLoads
from mbd_bridge.loads.round_off import RoundOff
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.view.applied import AppliedWrench
from mbd_bridge.view.joints import single_actuation


class Scale(NamedTuple):
    """Lengths of arrows: m/N and m/(N m), and parts of the largest arc a N m."""

    force: float
    moment: float
    actuation: float

    @staticmethod
    def of(
        model: Model,
        loads: JointLoads | None,
        longest: float,
        applied: Sequence[AppliedWrench] = (),
    ) -> Scale:
        """Return round scales at which the largest load (determined or not) has a long arrow.

        Parameters
        ----------
        loads : of all states
        longest : m, not reached by any
        applied : external wrenches, drawn at the same scale
        """
        force = moment = actuation = 0.0
        if loads is not None:
            force, moment = _largest(loads.force), _largest(loads.moment)
            for k in range(len(loads.joints)):
                found = single_actuation(model, loads, k)
                if found is None:
                    continue
                size, turns = float(np.abs(found[0]).max(initial=0.0)), found[1]
                actuation, force = (
                    (max(actuation, size), force) if turns else (actuation, max(force, size))
                )
        for one in applied:
            force = max(force, _largest(one.wrench[:, :3]))
            moment = max(moment, _largest(one.wrench[:, 3:]))
        least = RoundOff.of(model, force, max(moment, actuation))
        return Scale(
            round_number(longest / force) if force > least.force else 0.0,
            round_number(longest / moment) if moment > least.moment else 0.0,
            1.0 / actuation if actuation > least.moment else 0.0,
        )

    def shorter(self, other: Scale) -> Scale:
        """Return the smaller of both scales, of which either may be none (0)."""
        both = zip(self, other, strict=True)
        return Scale(*(min(a, b) if a and b else max(a, b) for a, b in both))


def in_words(scale: float, unit: str, longest: float) -> str:
    """Return a scale in words: how long a round load is drawn."""
    size = round_number(longest / scale)
    return f"{size * scale:.3g} m = {quantity(size, unit)}"


def round_number(value: float) -> float:
    """Return the largest of 1, 2, 5, 10, 20, ... (and of 0.5, 0.2, ...) that is not above."""
    power = 10.0 ** np.floor(np.log10(value))
    digit = max((k for k in (1.0, 2.0, 5.0) if k * power <= value * (1.0 + 1e-9)), default=1.0)
    return float(digit * power)


def _largest(vectors: Array) -> float:
    return float(np.linalg.norm(vectors, axis=-1).max(initial=0.0))
