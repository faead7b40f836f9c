"""What a system tells of one state, as functions to be traced: its outputs, and whether it is one.

    given(q, v, t, ...)      forces given along velocities
    outputs(q, v, t, ...)    accelerations, energies, requested loads and functions, force elements
    residuals(q, v, t, ...)  what the loops, prescribed motions and quaternions leave
    memory(q, v, t, ...)     that of steps of a scheme which begin there

Their further inputs are states z of force elements, if there are some, and those of a step
(`System.more`); tables must stand in the system as functions of time (`source.inlined`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mbd_bridge.kernels.graph.trace import Traceable
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.simulation.acting import Acting
from mbd_bridge.simulation.carried import CARRIED
from mbd_bridge.simulation.outputs import Outputs
from mbd_bridge.simulation.results.force_elements import element_row
from mbd_bridge.simulation.steps.by_scheme import SchemeStep
from mbd_bridge.simulation.steps.compiled import NONE, Numbers
from mbd_bridge.simulation.steps.runge_kutta import residuals, slopes
from mbd_bridge.simulation.steps.schemes import Scheme
from mbd_bridge.simulation.system import System

REPORTED = ("a", "prescribed_forces", "energy", "force", "moment", "actuation")
"""Of what `Outputs` reports, what is an output here, in this order; functions come last."""


def inputs_of_state(system: System) -> dict[str, int]:
    """Return the inputs of these functions and their sizes."""
    states = {"z": system.nz} if system.nz else {}
    return {"q": system.model.nq, "v": system.model.nv, "t": 1} | states | system.more


def outputs_function(system: System, rows: tuple[int, ...]) -> Traceable:
    """Return outputs(q, v, t, ...) -> one vector, in the order of `output_variables`."""
    asked = system.outputs or Outputs(())
    functions = [name for name, _ in asked.functions]

    def outputs(q: Array, v: Array, t: Array, *rest: Array) -> tuple[Array]:
        acts, z = _acting(system, rest)
        found = slopes(acts.model, rows, *acts.stage())(q, v, t[0], z)[1]
        now = np.concatenate([t, np.zeros(CARRIED - 1), z])
        values = dict(zip(asked.names, asked.values(acts, rows, q, v, now, found), strict=True))
        parts = [values[name].reshape(-1) for name in REPORTED if name in values]
        at = np.concatenate([t, z])
        each = zip(acts.elements, system.states.places, strict=True)
        parts += [element_row(one, place, acts.model, q, v, at) for one, place in each]
        if system.effort is not None:
            parts.append(system.effort.excess(acts.given(t[0], q, v, z)))
        return (np.concatenate([*parts, *(values[name] for name in functions)]),)

    return outputs


def given_function(system: System) -> Traceable:
    """Return given(q, v, t, ...) -> the forces (nv,) given along velocities, not held at limits."""

    def function(q: Array, v: Array, t: Array, *rest: Array) -> tuple[Array]:
        acts, z = _acting(system, rest)
        return (acts.given(t[0], q, v, z),)

    return function


def residuals_function(system: System) -> Traceable:
    """Return residuals(q, v, t, ...) -> one vector, in the order of `residual_names`.

    Positions are relative to the machine's size, velocities to that per second and to the terms
    that cancel in them.
    """
    model = system.model
    every = tuple(range(len(model.row_scale)))

    def function(q: Array, v: Array, t: Array, *rest: Array) -> tuple[Array]:
        acts, _ = _acting(system, rest)
        moved = acts.stage().motions
        phi, rate, scale = residuals(acts.model, every, q, v, moved, t[0])
        speed = np.sqrt(1.0 + ((v / model.velocity_scale) ** 2).sum())
        return (np.concatenate([phi / scale, rate / (scale * speed), _norms(model, q)]),)

    return function


def memory_function(system: System, rows: tuple[int, ...], scheme: Scheme) -> Traceable:
    """Return memory(q, v, t, ...) -> the memory of a motion that begins at a state."""
    step = SchemeStep(system, rows, scheme)

    def function(q: Array, v: Array, t: Array, *rest: Array) -> tuple[Array]:
        acts, z = _acting(system, rest)
        return (step.start(acts, q, v, t[0], z),)

    return function


def residual_names(system: System) -> tuple[str, ...]:
    """Return what each residual belongs to, in words for messages."""
    model = system.model
    rows = [f"the loop joint {cut.name!r}" for cut in model.cuts for _ in cut.rows]
    kept = [*rows, *(f"the prescribed motion of {part.name!r}" for part in system.prescribed)]
    spins = [
        f"the unit quaternion of {model.joints[body.joint].name!r}" for body in _turning(model)
    ]
    return (*kept, *(f"{one} (velocity)" for one in kept), *spins)


def _acting(system: System, rest: tuple[Array, ...]) -> tuple[Acting, Array]:
    """Return what acts, and the states z."""
    more = dict(zip([*inputs_of_state(system)][3:], rest, strict=True))
    p, held, z = (more.get(name, NONE) for name in ("p", "held", "z"))
    return Numbers(p, held, np.zeros(0)).acting(system), z


def _turning(model: Model) -> list[Any]:
    """Return the bodies whose coordinates have a quaternion."""
    return [
        body
        for body in model.bodies
        if not body.coupled and body.type.nq and body.type.nq > body.type.nv
    ]


def _norms(model: Model, q: Array) -> Array:
    bodies = _turning(model)
    out = zeros(len(bodies), q)
    for k, body in enumerate(bodies):
        part = q[body.q][-4:]
        out[k] = (part * part).sum() - 1.0
    return out
