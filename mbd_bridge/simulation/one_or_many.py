"""Simulate a machine, with or without loops: one trajectory, or many at once."""

from __future__ import annotations

from typing import Any, Unpack

from mbd_bridge.base.arguments import as_floats
from mbd_bridge.base.errors import StateError, whole_number
from mbd_bridge.base.options import given, part, with_options
from mbd_bridge.model import Model
from mbd_bridge.simulation.batch.run import simulate_batch
from mbd_bridge.simulation.options import (
    AloneOptions,
    BatchOptions,
    GivenOptions,
    MethodOptions,
    SimulateOptions,
    SingleOptions,
    StateOptions,
)
from mbd_bridge.simulation.results.simulation import Simulation
from mbd_bridge.simulation.run.problem import check_start, number_of_steps
from mbd_bridge.simulation.run.single import simulate_single
from mbd_bridge.simulation.system import HasModel, System, model_of, system_of

OF_ALL = {"integrator", "method", "coordinates", "check"}
"""Options of one trajectory that a batch takes as well."""


@with_options
def simulate(
    machine: HasModel | Model | System, duration: float, **options: Unpack[SimulateOptions]
) -> Simulation | Any:
    """Return the motion of a machine from a state that satisfies its loops, or from N at once.

    Parameters
    ----------
    machine : a `Mechanism`, its model, or a `System`, which has what acts on it
    duration : s; the last step ends at start + duration
    **options : what acts, where it starts, how it goes

    Returns
    -------
    A `Simulation`; of N trajectories a `SimulationBatch`, all in the lanes of vectors and over
    `threads` (for type checkers: ``assert isinstance(batch, mbd.simulation.SimulationBatch)``).

    Notes
    -----
    What may differ from trajectory to trajectory has one more dimension in front, or is the same
    for all: states q (N, nq), v (N, nv), z (N, nz); numbers (N,) of torques, inputs and prescribed
    motions, a vector (N, nv), a wrench (N, 6), the values of a table (N, n), of one of wrenches
    (N, n, 6); and parameters, masses, centres, inertias, places of joints, gravity, numbers of
    force elements, by name: ``{"coupler.mass": (N,), "elbow.xyz": (N, 3), "spring.stiffness":
    (N,)}``. A batch of one has q (1, nq) or v (1, nv).

    Trouble of one trajectory of many is not raised: see `SimulationBatch.status`.
    """
    start = check_start(options["start"], duration / number_of_steps(duration, options["step"]))
    model_of(machine)
    system = system_of(machine, start, start + float(duration), options)
    options = {**options, **part(GivenOptions, {})}  # the system has them now
    whole_number("threads", options["threads"])
    many = _given_for_many(system, options)
    if not many:
        return simulate_single(system, duration, **part(SingleOptions, options))
    for name in (*given(MethodOptions, options), *given(AloneOptions, options)):
        if name not in OF_ALL:
            raise StateError(
                f"{name}: of one trajectory, and {', '.join(many)} are given for many: leave it "
                f"out, or simulate them one after the other"
            )
    return simulate_batch(system, duration, **part(BatchOptions, options))


def _given_for_many(system: System, options: StateOptions) -> list[str]:
    """Return the names of what is given for several trajectories."""
    state = {"q": options["q"], "v": options["v"]}
    several = [
        name
        for name, value in state.items()
        if value is not None and as_floats(name, value).ndim == 2
    ]
    return [*several, *system.numbers_of, *system.states.numbers(options["z"])]
