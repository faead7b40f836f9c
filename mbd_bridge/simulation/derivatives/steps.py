"""One step with its derivatives, marched in machine code: forward with them, backward with weights.

With x = (q, v, t) (`trusted_step`), u what is held and the machine's numbers, the step is
x' = f(x, u, h), as it is computed, with its projection onto constraints.

*Forward*, each lane of a vector carries one direction:

    dx' = f_x dx + f_u du

*Backward*, over states that are known, w = ∂g/∂x of what is looked at on the way:

    x̄ = f_xᵀ x̄' + w,   ū = ū' + f_uᵀ x̄'

Of implicit steps Newton's iterations are derived as they are written out, with a matrix that each
step forms: the derivative is that of the numbers that come out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from mbd_bridge.base.lazy import cached_property
from mbd_bridge.kernels import Kernel, compile_kernel, jacobian, pulled_back, rates_along
from mbd_bridge.kernels.march import MOST_LANES, March, compile_march
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.acts import Acting
from mbd_bridge.simulation.steps.compiled import SystemStep
from mbd_bridge.simulation.steps.schemes import ImplicitScheme, Scheme
from mbd_bridge.simulation.system import System

STATE = ("q", "v", "t")
"""What a step gives to the next one."""

NO_RISK = np.zeros(1)
"""Last output of a march that goes back where another one has gone."""


def _parted(given: dict[str, Array], name: str, sizes: Mapping[str, int]) -> dict[str, Array]:
    """Return inputs with the parts of one of them, if there are any."""
    if not sizes:
        return given
    parts = np.split(given[name], np.cumsum(list(sizes.values()))[:-1])
    return given | dict(zip(sizes, parts, strict=True))


class StepDerivatives:
    """The marches of a system's step.

    Parameters
    ----------
    rows : independent rows of the loops
    moving : what moves beside the state: of "held", "p" and "stream", the tables

    Attributes
    ----------
    sizes : of the inputs of the step, by name
    moving : see above
    """

    def __init__(
        self, system: System, rows: tuple[int, ...], scheme: Scheme, moving: Sequence[str]
    ) -> None:
        if isinstance(scheme, ImplicitScheme):
            scheme = replace(scheme, jacobian="fresh")
        self.step, self._system = SystemStep(system, rows, scheme), system
        self._function, self.sizes = self.step.traceable()
        self.moving = tuple(moving)
        self._state, self._constant, self._stream = (
            {name: size for name, size in self.sizes.items() if name in names}
            for names in (STATE, ("held", "p"), ("stream",))
        )

    @cached_property
    def run(self) -> March:
        """The step itself, all of whose state is recorded."""
        if not self.step.memory.size:
            return self.step.march()
        return self._march("recorded_step", self._function, self.sizes, self._stream)

    @cached_property
    def memory(self) -> Kernel:
        """The memory (size,) with which a motion begins, and its rates by q, v and what moves.

        Of the inputs of `acts.kernel_of`.
        """
        system, (held, _, instant) = self._system, self._system.layout.sizes
        sizes = {"q": self.sizes["q"], "v": self.sizes["v"], "t": 1 + system.nz, "held": held}
        sizes["instant"] = instant
        if "p" in self.sizes:
            sizes["p"] = self.sizes["p"]

        def start(q: Array, v: Array, t: Array, held: Array, now: Array, *p: Array) -> tuple[Array]:
            acting = Acting.at(system, system.machine(*p), held, now)
            return (self.step.start(acting, q, v, t[0], t[1:]),)

        derived = jacobian(start, sizes, ["q", "v", *self._sums])
        identity = self.step.told(self.step.identity("memory", self.moving))
        return compile_kernel(derived, sizes, outputs=("memory", "rates"), identity=identity)

    @cached_property
    def by_length(self) -> Kernel:
        """The derivatives of q and v after a step by its length, of all inputs of the step."""

        def rates(*values: Array) -> tuple[Array, ...]:
            given = dict(zip(self.sizes, values, strict=True))
            _, slopes = rates_along(self._end, given, {"h": np.ones((1, 1))})
            return slopes[0][:, 0], slopes[1][:, 0]

        identity = self.step.told(self.step.identity("by_length"))
        return compile_kernel(rates, self.sizes, outputs=("q", "v"), identity=identity)

    @cached_property
    def forward(self) -> March:
        """The step and its rates along one direction a lane: after x its rates, after u its own."""
        rates = {f"d_{name}": size for name, size in self._state.items()}
        sums, tables = self._sums, self._stream | self._moving_tables("d_")
        others = {f"d_{name}": size for name, size in sums.items()}
        streamed = {"tables": sum(tables.values())} if tables else {}
        sizes = {**self._state, **rates, "h": 1, **self._constant, **others, **streamed}

        def step(*values: Array) -> tuple[Array, ...]:
            given = _parted(dict(zip(sizes, values, strict=True)), "tables", tables)
            moved = {name: given[f"d_{name}"][:, None] for name in (*STATE, *self.moving)}
            results, slopes = rates_along(self._trusted_end, self._arguments(given), moved)
            rates_after = (x[:, 0] for x in slopes[:-1])
            return (*results[:-1], *rates_after, results[-1])

        return self._march("forward_step", step, sizes, streamed, 2 * len(STATE), MOST_LANES)

    @cached_property
    def backward(self) -> March:
        """The weights of x' to those of x, those of u summed up; the states are streamed.

        The stream has, side by side, x, tables, and the weights w of q and v. The weights of tables
        that move are given at each step, behind the sums.
        """
        record = {**self._state, **self._stream, "w_q": self.sizes["q"], "w_v": self.sizes["v"]}
        sums, tables = self._sums, self._moving_tables("w_")
        streamed = {"record": sum(record.values())}
        sizes = {f"w_{name}": size for name, size in (self._state | sums).items()}
        sizes = {**sizes, "h": 1, **self._constant, **streamed}

        def step(*values: Array) -> tuple[Array, ...]:
            given = dict(zip(sizes, values, strict=True))
            now = _parted(given, "record", record)
            weights, by = [given[f"w_{name}"] for name in STATE], [*STATE, *self.moving]
            _, slopes = pulled_back(self._end, self._arguments(now), weights, by)
            before = slopes["q"] + now["w_q"], slopes["v"] + now["w_v"], slopes["t"]
            summed = [given[f"w_{name}"] + slopes[name] for name in sums]
            return (*before, *summed, *([slopes["stream"]] if tables else []), NO_RISK)

        return self._march("backward_step", step, sizes, streamed, len(STATE) + len(sums))

    @property
    def _sums(self) -> dict[str, int]:
        """What moves and stays the same in all steps."""
        return {name: size for name, size in self._constant.items() if name in self.moving}

    def _moving_tables(self, word: str) -> dict[str, int]:
        """Return the size of the tables' rates or weights, if they move."""
        return {f"{word}stream": self.sizes["stream"]} if "stream" in self.moving else {}

    def _end(self, *values: Array) -> tuple[Array, ...]:
        return self._function(*values)[: len(STATE)]

    def _trusted_end(self, *values: Array) -> tuple[Array, ...]:
        results = self._function(*values)
        return *results[: len(STATE)], results[-1]

    def _arguments(self, given: Mapping[str, Array]) -> dict[str, Array]:
        return {name: given[name] for name in self.sizes}

    def _march(
        self,
        name: str,
        function: Callable[..., tuple[Array, ...]],
        sizes: Mapping[str, int],
        streamed: Mapping[str, int],
        state: int = len(STATE),
        lanes: int = 1,
    ) -> March:
        """Return the machine code of such a step, kept with the mechanism."""
        identity = self.step.identity(name, self.moving)

        def make() -> March:
            return compile_march(
                function,
                sizes,
                state,
                name=name,
                identity=self.step.told(identity),
                lanes=lanes,
                streamed=bool(streamed),
            )

        return make() if identity is None else self._system.prepared.get(identity, make)
