"""The options of a run, checked together."""

from __future__ import annotations

from mbd_bridge.arguments import flag
from mbd_bridge.errors import StateError, one_of, real_number
from mbd_bridge.simulate.integrators import INTEGRATORS, SCIPY
from mbd_bridge.simulate.results.history import check_correction
from mbd_bridge.simulate.run.methods import METHODS
from mbd_bridge.simulate.run.problem import RunOptions
from mbd_bridge.simulate.steps.schemes import SCHEMES, Scheme, scheme_name


def run_options(
    method: str,
    integrator: str | Scheme,
    tolerance: float,
    evaluations: int,
    correction: str,
    history: bool,
    kept: bool,
) -> RunOptions:
    """Return the options of a run, or say what does not go together."""
    one_of("method", method, METHODS, StateError)
    scheme: Scheme | None
    if isinstance(integrator, Scheme):
        name, scheme = scheme_name(integrator), integrator
    else:
        known = (*INTEGRATORS, *SCHEMES, *(f"scipy:{one}" for one in SCIPY))
        name = one_of("integrator", integrator, known, StateError)
        scheme = SCHEMES.get(name)
    corrected, history = check_correction(correction), flag("history", history)
    tolerance = real_number("tolerance", tolerance, "a positive number", positive=True)
    options = RunOptions(method, name, tolerance, evaluations, corrected, history, scheme)
    if name not in INTEGRATORS and method != "projection":
        raise StateError(f"integrator={name!r} goes with method='projection' only")
    if history and (name not in INTEGRATORS or kept):
        ours = ", ".join(INTEGRATORS)
        raise StateError(f"history=True goes with integrator= one of {ours}, without checkpoint=")
    if correction != "state" and method == "projection":
        others = ", ".join(METHODS[1:])
        raise StateError(f"correction={correction!r} goes with method= one of {others}")
    return options
