"""Whether a motor is large enough: only said where all that loads it was counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

State = Literal["fits", "exceeded", "open"]


@dataclass(frozen=True)
class Use:
    """How much of a limit is used.

    Attributes
    ----------
    name : "continuous torque", "peak torque", "speed", "joint effort" or "joint velocity"
    share : what is used by what is allowed; inf where nothing is
    time : when most is used, s; nan of what is used over the whole motion
    """

    name: str
    share: float
    time: float = float("nan")

    def __str__(self) -> str:
        return f"{self.name} {self.share:.0%}" if self.share < 100.0 else f"{self.name} too fast"


@dataclass(frozen=True)
class Verdict:
    """The verdict on a motor, in one line.

    Attributes
    ----------
    state : "fits": no limit is exceeded and all that it takes to say so is known; "exceeded";
        "open": no known limit is exceeded, but something is not known or not counted
    text : the whole sentence, with what was not counted
    """

    state: State
    text: str

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
    over = [use for use in uses if use.share > 1.0]
    if over:
        rest = [use for use in uses if use.share <= 1.0]
        said = ["exceeded: " + ", ".join(map(str, over)), *map(str, rest), *gaps]
        return Verdict("exceeded", "; ".join(said))
    if gaps:
        return Verdict(
            "open", "; ".join(["no verdict: " + "; ".join(gaps), *([shares] * bool(uses))])
        )
    return Verdict("fits", f"fits: {shares}; friction and rotor inertia counted")
