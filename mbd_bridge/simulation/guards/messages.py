"""What a motion that cannot go on says: which loop, which prescribed motion, which joint, and what
to try.
"""

from __future__ import annotations

import numpy as np

from mbd_bridge.base.errors import SolveError, count
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.model.units import RATE, model_units
from mbd_bridge.simulation.signals.prescribed import PrescribedMotions

SHARE = 0.1
"""Part of the largest entry from which on a joint is named."""


SHORTER = "take shorter steps (step=), or integrator='abm', which chooses its own"


SHORTER_IMPLICIT = (
    "take shorter steps (step=), or steps whose length is chosen and that begin short, such as "
    "integrator=mbd.integrators.HHT(tolerance=1e-6): velocities that a stiff damper does not "
    "allow are gone after some of these"
)


class StepLengthError(SolveError):
    """A step is too long, or may be.

    Attributes
    ----------
    finding : the message up to the advice, which callers whose steps have another length replace
    """

    def __init__(self, finding: str, advice: str = SHORTER) -> None:
        super().__init__(f"{finding}{advice}")
        self.finding = finding


def step_too_long(h: float, found: str = "") -> StepLengthError:
    """Say that steps of h seconds are too long, after what was found, and what to try."""
    return StepLengthError(f"{found}the step of {h:.3g} s is too long for this motion; ")


def stays_open(
    model: Model, motions: PrescribedMotions | None, phi: Array, h: float
) -> StepLengthError:
    """Say which loops and prescribed motions a step has left open.

    Parameters
    ----------
    phi : (m + D,) residuals, relative to `size` for lengths: of the cuts, then of the prescribed
        motions
    h : length of the step, s
    """
    largest = SHARE * np.abs(phi).max()
    found = [
        f"loop {name!r} stays open by {_amount(model, phi[part])}"
        for name, part in loop_rows(model).items()
        if np.abs(phi[part]).max(initial=0.0) >= largest
    ]
    if motions is None:
        return step_too_long(h, f"{', '.join(found)}: ")
    count_rows = len(model.row_scale)
    found += [
        f"{name!r} stays off its prescribed course by {_amount(model, phi[count_rows + k :][:1])}"
        for k, name in enumerate(motions.names)
        if abs(phi[count_rows + k]) >= largest
    ]
    return StepLengthError(
        f"{', '.join(found)}: {_prescribed(motions)} leads out of what the mechanism can reach, or "
        f"into a singular position, or the step of {h:.3g} s is too long. Change the course of "
        f"the prescribed motion, prescribe another joint, or "
    )


def at_rest(model: Model, J: Array, rows: tuple[int, ...], more: int) -> str:
    """Say that a singular position at rest leaves open how the motion goes on."""
    names = ", ".join(repr(name) for name in dependent_loops(model, J, rows))
    return (
        f"a singular position, at rest: rows of {names} depend on each other here, "
        f"{count(more, 'degree of freedom')} more than beside it, so mechanics does not tell which "
        f"way the motion goes on. Start with a velocity, or a little beside this position"
    )


def dependent_loops(model: Model, J: Array, rows: tuple[int, ...]) -> list[str]:
    """Return the loops that share in the combination of the chosen rows that is nearest to zero.

    Parameters
    ----------
    J : (m, nv) dimensionless Φ_q
    """
    if not rows:
        return []
    U, _, _ = np.linalg.svd(J[list(rows)], full_matrices=True)
    share = np.zeros(len(model.row_scale))
    share[list(rows)] = np.abs(U[:, -1])
    return [
        name
        for name, part in loop_rows(model).items()
        if share[part].max(initial=0.0) > SHARE * share.max()
    ]


def runs_away(model: Model, v: Array) -> StepLengthError:
    """Say which joint was the fastest when numbers ceased to be finite."""
    worst = int(np.argmax(np.abs(v / model.velocity_scale)))
    unit = model_units(model)[1][worst] + RATE[1]
    return StepLengthError(
        f"the motion runs away: numbers overflow, with {model.velocity_names[worst]!r} at "
        f"{v[worst]:.3g} {unit} before. Look at the forces that act on it, or "
    )


def named(model: Model, phi: Array, per: str = "") -> str:
    """Return the loops with the largest residuals, each with its own."""
    found = []
    for name, part in loop_rows(model).items():
        worst = float(np.abs(phi[part]).max(initial=0.0))
        if worst >= SHARE * np.abs(phi).max():
            found.append(f"{name!r} by {worst * model.size:.3g} m{per} (or {worst:.3g} rad{per})")
    return ", ".join(found)


def loop_rows(model: Model) -> dict[str, slice]:
    """Return the rows of each loop."""
    found, k = {}, 0
    for cut in model.cuts:
        found[cut.name] = slice(k, k + len(cut.rows))
        k += len(cut.rows)
    return found


def _prescribed(motions: PrescribedMotions) -> str:
    names = ", ".join(repr(name) for name in motions.names)
    return (
        f"the prescribed motion of {names}"
        if len(motions) == 1
        else f"one of the prescribed motions of {names}"
    )


def _amount(model: Model, phi: Array) -> str:
    worst = float(np.abs(phi).max())
    return f"{worst * model.size:.3g} m (or {worst:.3g} rad)"
