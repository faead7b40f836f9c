"""The rows of a benchmark: each one a work of ours and one of pinocchio's on the same states.

pinocchio's side is what its wheel offers from Python: ``rneaInParallel`` and ``abaInParallel``
with one thread on arrays in its own order, ``crba`` and ``rnea`` once a state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from mbd_bridge.base.errors import ModelError
from mbd_bridge.engines.crosscheck.states import random_states
from mbd_bridge.engines.crosscheck.timing import Timing, Work, in_turns
from mbd_bridge.engines.pinocchio import Twin, rival, to_pinocchio
from mbd_bridge.kernels import Kernel
from mbd_bridge.loads import LoadRequest, LoadSolver
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve import Dynamics, prepare

DIFFERENT = 2000
"""Different random states; larger batches repeat them."""
MATRIX_NUMBERS = 8_000_000
"""Entries in a batch of matrices: 64 MB, whatever the number of states."""
SINGLE_CALLS = 2000
"""Calls in one turn of a row that calls once a state."""

Call = Callable[[Array, Array, Array], object]


class BenchRows:
    """Kernels, states in both orders, and the rows to measure."""

    def __init__(self, model: Model, states: int, seed: int, joints: tuple[str, ...]) -> None:
        self.model, self.joints, self.count = model, joints, states
        if model.nv == 0:
            raise ModelError(
                f"{model.name!r} has no degrees of freedom: nothing to measure; try --floating"
            )
        q, v, a = random_states(model, min(states, DIFFERENT), np.random.default_rng(seed))
        twin: Twin = to_pinocchio(model)
        peer = twin.q(q), twin.v(q, v), twin.a(q, v, a)
        self.ours = tuple(np.resize(x, (states, x.shape[1])) for x in (q, v, a))
        # pinocchio wants a state a column: columns of contiguous memory are what it reads fastest
        self.peer = tuple(np.resize(x, (states, x.shape[1])).T for x in peer)
        self.twin = twin
        self.kernels: dict[Dynamics, Kernel] = {
            what: prepare(model, what)
            for what in ("inverse_dynamics", "forward_dynamics", "mass_matrix")
        }
        self.solver = LoadSolver(model, LoadRequest.of(model, joints, open_tree=True))

    def rows(self) -> Iterator[tuple[str, Callable[[], Timing]]]:
        """Yield a title and the measuring of each row."""
        yield "inverse dynamics", self._inverse
        yield "forward dynamics", self._forward
        yield "mass matrix", self._mass
        yield "joint loads", self._loads
        yield "one state at a time", self._single
        yield "one state at a time, read and named", self._single_read

    def _inverse(self) -> Timing:
        kernel = self.kernels["inverse_dynamics"]
        out, tau = np.empty_like(self.ours[2]), np.empty_like(self.peer[2])
        return self._row(
            "inverse dynamics",
            partial(kernel, *self.ours, out=(out,)),
            "rneaInParallel",
            rival.rnea_in_parallel(self.twin, *self.peer, tau),
            lambda: (out, self._back(tau.T)),
        )

    def _forward(self) -> Timing:
        kernel = self.kernels["forward_dynamics"]
        out = tuple(np.empty((self.count, *shape)) for shape in kernel.shapes)
        a = np.empty_like(self.peer[2])
        return self._row(
            "forward dynamics",
            partial(kernel, *self.ours, out=out),
            "abaInParallel",
            rival.aba_in_parallel(self.twin, *self.peer, a),
            lambda: (out[0], self._back(a.T)),
        )

    def _mass(self) -> Timing:
        kernel, calls = self.kernels["mass_matrix"], min(self.count, SINGLE_CALLS)
        nv = self.model.nv
        count = min(self.count, max(1, MATRIX_NUMBERS // nv**2))
        out = np.empty((count, nv, nv))
        states = list(self.peer[0].T[:calls])
        ours = partial(kernel, self.ours[0][:count], out=(out,))
        best = in_turns([ours, rival.crba_each(self.twin, states)])
        apart, order = None, self.twin.order()
        if order is not None:
            other = rival.mass_matrix(self.twin, states[0])
            apart = float(np.abs(out[0][np.ix_(order, order)] - other).max() / np.abs(other).max())
        mine, others = best[0] / count, best[1] / calls
        return Timing("mass matrix", mine, "crba, a call a state", others, apart)

    def _loads(self) -> Timing:
        tau = np.empty_like(self.peer[2])
        return self._row(
            f"joint loads of {', '.join(self.joints)}: force, moment, actuation, new arrays",
            partial(self.solver, *self.ours),
            "rneaInParallel, torques only",
            rival.rnea_in_parallel(self.twin, *self.peer, tau),
        )

    def _single(self) -> Timing:
        return self._calls(
            f"one call from Python, prepared: loads of {', '.join(self.joints)}",
            self.solver.kernel.single().run,
            "rnea, data.f not read",
            rival.rnea_once(self.twin),
        )

    def _single_read(self) -> Timing:
        return self._calls(
            "one call from Python, checked and named: LoadSolver",
            self.solver,
            "rnea, then data.f of one joint",
            rival.rnea_and_load(self.twin, self.joints[0]),
        )

    def _calls(self, what: str, ours: Call, peer: str, theirs: Call) -> Timing:
        """Time calls with one state each."""
        calls = min(self.count, SINGLE_CALLS)
        sides = [(ours, self.ours), (theirs, [x.T for x in self.peer])]

        def work(call: Call, states: list[tuple[Array, Array, Array]]) -> None:
            for q, v, a in states:
                call(q, v, a)

        best = in_turns(
            [
                partial(work, call, list(zip(*(list(x[:calls]) for x in arrays), strict=True)))
                for call, arrays in sides
            ]
        )
        return Timing(what, best[0] / calls, peer, best[1] / calls)

    def _row(
        self,
        what: str,
        ours: Work,
        peer: str,
        theirs: Work,
        results: Callable[[], tuple[Array, Array | None]] | None = None,
    ) -> Timing:
        best = in_turns([ours, theirs])
        apart = None
        if results is not None:
            mine, others = results()
            if others is not None:
                apart = float(np.abs(mine - others).max() / np.abs(others).max())
        return Timing(what, best[0] / self.count, peer, best[1] / self.count, apart)

    def _back(self, values: Array) -> Array | None:
        """Return forces or accelerations of pinocchio in our order, None if that is not enough."""
        order = self.twin.order()
        if order is None:
            return None
        out = np.empty_like(values)
        out[:, order] = values
        return out
