"""Whether a motor is large enough: only said where all that loads it was counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mbd_bridge.motion.limit_use import Use

State = Literal["fits", "exceeded", "open"]


@dataclass(frozen=True)
class Verdict:
    """The verdict on a motor, in one line.

    Attributes
    ----------
    state : "fits": no limit is exceeded and all that it takes to say so is known; "exceeded": one
        is, and the motion's noise alone does not explain it; "open": no known limit is exceeded for
        certain, but something is not known or not counted, or noise leaves it open
    text : the whole sentence, with what was not counted
    noisy : the motion's noise leaves it open
    """

    state: State
    text: str
    noisy: bool = False

    @property
    def mark(self) -> str:
        """How it is shown: good, bad or in doubt."""
        return {"fits": "good", "exceeded": "bad", "open": "doubt"}[self.state]

    @property
    def reason(self) -> Literal["fits", "exceeded", "noise", "unknown"]:
        """Why: of "open" whether noise leaves it open, or something is unknown or not counted."""
        if self.state != "open":
            return self.state
        return "noise" if self.noisy else "unknown"

    def __str__(self) -> str:
        return self.text


def verdict(uses: Sequence[Use], missing: Sequence[str], not_counted: Sequence[str]) -> Verdict:
    """Return the verdict.

    Parameters
    ----------
    uses : of the limits that are known
    missing : limits that are not
    not_counted : "friction", "rotor inertia"
    """
    shares = ", ".join(map(str, uses))
    gaps = [f"{' and '.join(not_counted)} NOT counted"] if not_counted else []
    gaps += [f"limits of {', '.join(missing)} not given"] if missing else []
    over = [use for use in uses if use.exceeded]
    if over:
        rest = [use for use in uses if not use.exceeded]
        said = ["exceeded: " + ", ".join(map(str, over)), *map(str, rest), *gaps]
        return Verdict("exceeded", "; ".join(said))
    near = [use for use in uses if not use.kept]
    if near:
        rest = [use for use in uses if use.kept]
        names = ", ".join(map(str, near))
        said = [f"no verdict: the motion's noise leaves open whether {names} is kept"]
        return Verdict("open", "; ".join([*said, *map(str, rest), *gaps]), noisy=True)
    if gaps:
        return Verdict(
            "open", "; ".join(["no verdict: " + "; ".join(gaps), *([shares] * bool(uses))])
        )
    return Verdict("fits", f"fits: {shares}; friction and rotor inertia counted")
