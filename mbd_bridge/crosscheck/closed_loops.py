"""The loads of a mechanism with its loops closed, beside pybullet's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mbd_bridge.crosscheck.report import Row
from mbd_bridge.crosscheck.states import closed_states
from mbd_bridge.errors import ModelError
from mbd_bridge.loads import LoadRequest, LoadSolver
from mbd_bridge.mechanism import Model
from mbd_bridge.solve import ConstrainedDynamics, prepare

TOLERANCE = 1e-6
"""Of loads relative to the largest: pybullet turns inertias to principal axes, its loops close to
1e-12, and its solver iterates; it was found 1e-11 to 4e-8 off."""


def closed_loop_rows(model: Model, states: int, seed: int) -> tuple[list[Row], str]:
    """Compare determined loads of tree and loop joints, in motion and under random forces.

    What a planar declaration alone determines is compared with nobody: others know nothing of it.

    Returns
    -------
    rows, and the referee's name

    Raises
    ------
    ModelError
        pybullet cannot be asked about this mechanism.
    """
    from mbd_bridge.bridges.pybullet.loop_referee import PybulletLoopReferee

    referee = PybulletLoopReferee(model)
    model = replace(model, description=replace(model.description, planar=False))
    try:
        rng = np.random.default_rng(seed)
        qs, vs = closed_states(model, states, rng)
        if not len(qs):
            raise ModelError("no random position closes the loops, or only singular ones")
        dynamics = ConstrainedDynamics(model, (), ())
        names = (*referee.joints, *referee.cuts)
        solver = LoadSolver(model, LoadRequest.of(model, names, actuated=()))
        (bias,) = prepare(model, "bias_forces")(qs, vs)
        worst: dict[str, tuple[float, str]] = {}
        for q, v, size in zip(qs, vs, np.abs(bias).max(axis=-1), strict=True):
            tau = rng.normal(size=model.nv) * size
            theirs = referee.loads(q, v, tau)
            q, v = theirs.q, theirs.v
            a, lam = dynamics.forward(q, v, tau, check=False)
            found = solver(q, v, a, lam=lam)
            ours, unique = found.wrench, found.unique
            difference = ours - np.vstack([theirs.joints, theirs.cuts])
            relative = np.where(unique, np.abs(difference), 0.0)
            relative = relative.max(axis=-1) / max(np.abs(ours[unique]).max(initial=0.0), 1e-300)
            tree = len(referee.joints)
            for what, part in (("joint loads", slice(tree)), ("loop loads", slice(tree, None))):
                if not unique[part].any():
                    continue
                k = int(np.argmax(relative[part]))
                error = float(relative[part][k])
                if not error <= worst.get(what, (-1.0, ""))[0]:
                    worst[what] = error, names[part][k]
    finally:
        referee.close()
    note = f"loops closed, {len(qs)} states, determined components"
    rows = [
        Row(what, referee.name, error, TOLERANCE, name, bool(error <= TOLERANCE), note)
        for what, (error, name) in worst.items()
    ]
    return rows, referee.name
