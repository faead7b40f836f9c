"""Loads of joints at one state under wrenches on links that somebody else found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mbd_bridge.kernels import Single
from mbd_bridge.loads import JointLoads, LoadRequest, LoadSolver
from mbd_bridge.mechanism import Model
from mbd_bridge.simulate.coupled_step import CoupledStep
from mbd_bridge.solve.dynamics import prepare_placement
from mbd_bridge.spatial import Array, Frame

Wrenches = Mapping[int, Array]
"""Link index -> (6,) force and moment about the world's origin, in the world's axes."""


class StepLoads:
    """Loads of one mechanism; each choice of joints is prepared when it is first asked for."""

    def __init__(self, model: Model, core: CoupledStep) -> None:
        self.model, self._core = model, core
        self._solvers: dict[LoadRequest, LoadSolver] = {}
        self._placements: dict[int, Single] = {}
        self._touched: tuple[int, ...] = ()

    def placement(self, q: Array, link: int) -> Frame:
        """Return the frame of a link in the mechanism's world."""
        if link not in self._placements:
            self._placements[link] = prepare_placement(self.model, link).single()
        (found,) = self._placements[link].run(q)
        return Frame(found[:3, :3], found[:3, 3])

    def on_bodies(self, wrenches: Wrenches) -> Array:
        """Return the sums (bodies, 6) of wrenches on links, about the world's origin."""
        out = np.zeros((len(self.model.bodies), 6))
        for link, wrench in wrenches.items():
            out[self.model.links[link].body] += wrench
        return out

    def __call__(
        self,
        q: Array,
        v: Array,
        tau: Array,
        wrenches: Wrenches,
        request: LoadRequest,
    ) -> JointLoads:
        """Return the loads asked for at the accelerations that forces and wrenches give."""
        model = self.model
        answer = self._core.answer(q, v, tau, self.on_bodies(wrenches))
        # Links once touched stay in the code: contacts come and go, machine code should not.
        self._touched = tuple(sorted({*self._touched, *wrenches}))
        links = tuple(model.links[k].name for k in self._touched)
        form = replace(request, links=links).form
        if form not in self._solvers:
            self._solvers[form] = LoadSolver(model, form)
        solver = self._solvers[form]
        if form.convention != request.convention:
            solver = solver.at(request.convention.at)
        packed = self._in_links(q, wrenches) if links else None
        lam = answer.lam[0] if model.has_loops else None
        return solver(q, v, answer.a[0], packed, lam=lam)

    def _in_links(self, q: Array, wrenches: Wrenches) -> Array:
        """Return the wrenches (L, 6) at their links' origins, in their axes."""
        out = np.zeros((len(self._touched), 6))
        for k, link in enumerate(self._touched):
            if link in wrenches:
                frame, wrench = self.placement(q, link), wrenches[link]
                moment = wrench[3:] - np.cross(frame.translation, wrench[:3])
                out[k, :3] = frame.rotation.T @ wrench[:3]
                out[k, 3:] = frame.rotation.T @ moment
        return out
