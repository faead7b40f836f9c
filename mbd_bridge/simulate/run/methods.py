"""The methods of `simulate` by name."""

from __future__ import annotations

from mbd_bridge.simulate.methods.compiled_method import CompiledMethod
from mbd_bridge.simulate.methods.equations import Equations
from mbd_bridge.simulate.methods.method import Method
from mbd_bridge.simulate.methods.multiplier_method import MultiplierMethod
from mbd_bridge.simulate.methods.reduced_method import ReducedMethod
from mbd_bridge.simulate.right_hand_side import STABILISATION
from mbd_bridge.simulate.run.problem import Problem, RunOptions
from mbd_bridge.solve.bases import BASES

METHODS = ("projection", *BASES, "multipliers")
"""Names of the methods."""


def make_method(problem: Problem, options: RunOptions) -> Method:
    """Return the requested method."""
    if options.method == "projection":
        pull = STABILISATION if options.integrator.startswith("scipy:") else 0.0
        return CompiledMethod(problem.trajectory, pull)
    equations = Equations(problem.model, problem.forces, problem.motions)
    if options.method == "multipliers":
        return MultiplierMethod(equations, options.correction)
    return ReducedMethod(equations, BASES[options.method], options.correction)
