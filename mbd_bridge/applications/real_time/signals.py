"""What a machine tells between its steps: outputs, and the forces that are given."""

from __future__ import annotations

from mbd_bridge.base.lazy import cached_property
from mbd_bridge.kernels import Single, compile_kernel
from mbd_bridge.kernels.tracing import Traceable
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.results.recorded import limits_of
from mbd_bridge.simulation.signals.effort import EffortLimits
from mbd_bridge.simulation.steps.source import inlined
from mbd_bridge.simulation.steps.stepping import Stepping
from mbd_bridge.simulation.variables import given_function, inputs_of_state, outputs_function


class StateSignals:
    """Functions of the state that a stepping is at."""

    def __init__(self, stepping: Stepping) -> None:
        self._stepping, self._system = stepping, inlined(stepping.system)
        self._inputs = tuple(inputs_of_state(self._system))

    def prepare(self) -> None:
        """Compile all."""
        _ = self._outputs
        if self.limits is not None:
            _ = self._given_forces

    def outputs(self) -> Array:
        """Return the outputs, in the order of `output_variables`: the next call overwrites them."""
        return self._value(self._outputs, self._stepping.held)

    def given(self) -> Array:
        """Return the forces (nv,) that are given: the next call overwrites them."""
        return self._value(self._given_forces, self._stepping.held_now)

    @cached_property
    def limits(self) -> EffortLimits | None:
        """The effort limits of the joints along which forces are given, or none."""
        return limits_of(self._stepping.system)

    def _value(self, function: Single, held: Array) -> Array:
        now = self._stepping
        given = {"q": now.q, "v": now.v, "t": now.t, "z": now.z, "held": held}
        if now.trajectory.p is not None:
            given["p"] = now.trajectory.p
        (values,) = function.run(*(given[name] for name in self._inputs))
        return values

    @cached_property
    def _outputs(self) -> Single:
        return self._single(outputs_function(self._system, self._stepping.rows), "outputs")

    @cached_property
    def _given_forces(self) -> Single:
        return self._single(given_function(self._system), "given")

    def _single(self, function: Traceable, name: str) -> Single:
        return compile_kernel(function, inputs_of_state(self._system), name=name).single()
