"""Loads of joints at one state under wrenches on links that somebody else found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mbd_bridge.kernels import Single
from mbd_bridge.loads import JointLoads, LoadRequest, LoadSolver
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, Frame
from mbd_bridge.simulation.steps.coupled import CoupledStep
from mbd_bridge.solve.dynamics import prepare_placements

Wrenches = Mapping[int, Array]
"""Link index -> (6,) force and moment about the world's origin, in the world's axes."""


class StepLoads:
    """Loads of one mechanism under wrenches on any of its links.

    Which links will be touched is not known before, so machine code takes wrenches on all of them
    (it is hardly longer). Each choice of joints is prepared when it is first asked for.
    """

    def __init__(self, model: Model, core: CoupledStep) -> None:
        self.model, self._core = model, core
        self._links = tuple(link.name for link in model.links)
        self._solvers: dict[LoadRequest, LoadSolver] = {}
        self._placements: Single = prepare_placements(model).single()

    def placement(self, q: Array, link: int) -> Frame:
        """Return the frame of a link in the mechanism's world."""
        (found,) = self._placements.run(q)
        here = self.model.links[link]
        body = found[here.body]
        return Frame(body[:3, :3], body[:3, 3]) @ here.frame

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
        form = replace(request, links=self._links).form
        if form not in self._solvers:
            self._solvers[form] = LoadSolver(model, form)
        solver = self._solvers[form]
        if form.convention != request.convention:
            solver = solver.at(request.convention.at)
        lam = answer.lam[0] if model.has_loops else None
        return solver(q, v, answer.a[0], self._in_links(q, wrenches), lam=lam)

    def _in_links(self, q: Array, wrenches: Wrenches) -> Array:
        """Return the wrenches (L, 6) at their links' origins, in their axes."""
        out = np.zeros((len(self._links), 6))
        for link, wrench in wrenches.items():
            frame = self.placement(q, link)
            moment = wrench[3:] - np.cross(frame.translation, wrench[:3])
            out[link, :3] = frame.rotation.T @ wrench[:3]
            out[link, 3:] = frame.rotation.T @ moment
        return out
