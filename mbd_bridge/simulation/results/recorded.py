"""What follows from recorded states alike for one motion and for the motions of a batch.

The forces that prescribed motions take; what of the file has no part in motions, and whether given
forces were beyond its limits; the loads of joints that the steps reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd_bridge.base.errors import StateError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.base.named import Named
from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.loads import JointLoads, LoadRequest
from mbd_bridge.loads.selected import actuation_names, changes
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.table import ACTUATION, COMPONENTS
from mbd_bridge.motion.warnings import motion_notes
from mbd_bridge.simulation.acts import given_kernel
from mbd_bridge.simulation.outputs import CONVENTION, Outputs
from mbd_bridge.simulation.results.accelerations import Answer
from mbd_bridge.simulation.signals.effort import EffortLimits
from mbd_bridge.simulation.system import System
from mbd_bridge.simulation.trajectory import held, instants
from mbd_bridge.solve.actuation import actuated_velocities
from mbd_bridge.solve.constrained import undetermined_multipliers
from mbd_bridge.solve.loop_terms import PROBES, probes
from mbd_bridge.solve.row_choice import row_choice


@dataclass(frozen=True, eq=False)
class PrescribedForces(Named[Array], entries="prescribed coordinate"):
    """Forces along prescribed coordinates: N m or N, positive along the coordinate.

    Attributes
    ----------
    coordinates : names
    force : (K, D), of a batch (N, K, D)
    """

    coordinates: tuple[str, ...]
    force: Array

    @property
    def names(self) -> tuple[str, ...]:
        """The prescribed coordinates."""
        return self.coordinates

    def _entry(self, name: str) -> Array:
        return np.asarray(self.force[..., self.names.index(name)])


class Recorded:
    """States q (K, nq), v (K, nv), z (K, nz) at K records; of a batch (N, K, ...), as all below."""

    time: Array
    q: Array
    v: Array
    z: Array
    reported: dict[str, Array] | None
    _acting: tuple[Array, Array, Array]
    _dynamics: Answer

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels to another process; what follows from it is computed there."""
        own: Any = self
        return {one.name: getattr(self, one.name) for one in fields(own)}

    if TYPE_CHECKING:

        @property
        def system(self) -> System:
            """What was integrated."""

    @property
    def states(self) -> dict[str, Array]:
        """States z of force elements by name, "element.state", (K,) each."""
        return self.system.states.by_name(self.z)

    @property
    def state_units(self) -> dict[str, str]:
        """Units of `states` by name."""
        return dict(zip(self.states, self.system.states.units, strict=True))

    @property
    def external(self) -> dict[str, Array]:
        """External wrenches by link, (K, 6) N and N m at the link's origin, in the link's axes."""
        parts, wrenches = self.system.external_links.items(), self._acting[1]
        return {name: wrenches[..., k, :].sum(axis=-2) for name, k in parts}

    @property
    def tau(self) -> Array:
        """Generalised forces (K, nv) that moved it, N m or N, of force elements on joints too.

        Those of external wrenches and of prescribed motions are not among them.
        """
        return self._acting[0]

    @property
    def a(self) -> Array:
        """Accelerations (K, nv)."""
        return self._dynamics.a

    @property
    def lam(self) -> Array:
        """Multipliers of the cut joints' rows (K, m), the smallest where they are not unique."""
        return self._dynamics.lam

    @property
    def prescribed_forces(self) -> PrescribedForces:
        """Forces (K,) N m or N that the prescribed motions take, by coordinate, beside `tau`."""
        names = tuple(part.name for part in self.system.prescribed)
        return PrescribedForces(names, self._dynamics.prescribed_forces)

    @cached_property
    def outputs(self) -> dict[str, Array]:
        """Functions that were asked for with ``outputs=``, (K,) or (K, n), by name.

        They are called where the steps did not report them.
        """
        asked, found = self.system.outputs, dict[str, Array]()
        if asked is None or self.reported is None:
            return found
        there = np.isfinite(self.q).all(axis=-1)
        for name, function in asked.functions:
            values = self.reported[name].copy()
            for place in map(tuple, np.argwhere(there & np.isnan(values).any(axis=-1))):
                values[place] = function(float(self.time[place[-1]]), self.q[place], self.v[place])
            found[name] = values[..., 0] if values.shape[-1] == 1 else values
        return found

    @property
    def recovered(self) -> Array:
        """Which records (K,) are so near a singular position that `a`, `lam` are interpolated."""
        found = self._dynamics.recovered
        return np.zeros(self.q.shape[:-1], dtype=bool) if found is None else found


def notes_of(
    system: System,
    time: Array,
    states: tuple[Array, Array, Array],
    members: Sequence[int] | Array,
    samples: Array | None = None,
) -> tuple[str, ...]:
    """Return sentences about damping, friction, limits and efforts of the file.

    Parameters
    ----------
    time, states : (K,) s; q, v, z (N, K, ...) of N trajectories; nan where there is none
    members : (N,) numbers of these trajectories
    samples : (K, H) what one trajectory held, where Python was called; without them nothing is said
        of efforts
    """
    q, v, _ = states
    times = np.tile(time, len(q))
    flat = q.reshape(-1, q.shape[2]), v.reshape(-1, v.shape[2])
    said = motion_notes(system.model, times, *flat, system.replaced)
    return (*said, *_efforts(system, time, states, members, samples))


def limits_of(system: System) -> EffortLimits | None:
    """Return the effort limits of the joints along which forces are given; None of none."""
    given = {k for part in system.torques for k in part.places}
    found = EffortLimits.of(system.model) if given else None
    return found if found is not None and given.intersection(found.places) else None


def _efforts(
    system: System,
    time: Array,
    states: tuple[Array, Array, Array],
    members: Sequence[int] | Array,
    samples: Array | None,
) -> tuple[str, ...]:
    """Return a sentence about given forces beyond the effort limits of the file, if some were."""
    limits = limits_of(system)
    if limits is None or (system.sampled and samples is None):
        return ()
    count, members = states[0].shape[1], np.asarray(members)
    own = (
        np.repeat(held(system, members)[:, None], count, axis=1)
        if samples is None
        else samples[None]
    )
    now = instants(system, time, members).transpose(1, 0, 2)
    times = np.broadcast_to(time[:, None], (len(members), count, 1))
    q, v, z = states
    rows = [q, v, np.concatenate([times, z], axis=2), own, now]
    if system.parameters is not None:
        p = system.parameters.inputs[members]
        rows.append(np.repeat(p[:, None], count, axis=1))
    there = np.asarray(np.isfinite(q).all(axis=2))
    try:
        kernel = given_kernel(system)
    except StateError:  # methods in Python take functions that cannot be traced
        return ()
    (given,) = kernel(*(np.ascontiguousarray(row[there]) for row in rows))
    return limits.note(system.effort is not None, times[there][:, 0], given)


SAMPLES = 9
"""Records at which is looked which load components are determined."""


def reported_loads(
    model: Model,
    outputs: Outputs,
    reported: Mapping[str, Array],
    q: Array,
    rows: Sequence[int],
    prescribed_joints: Sequence[str],
    exact: Callable[[], Iterable[JointLoads]] | None = None,
) -> JointLoads:
    """Return the loads at all records.

    Parameters
    ----------
    rows : independent ones that the motion has kept: if these are all, all is determined
    prescribed_joints : joints all of whose motions are prescribed
    exact : of a machine that is declared planar: gives loads of some of the records by the balance
        of all joints, which tells whether loads out of the plane are zero

    Notes
    -----
    A component counts as determined if it is so at all of the records that are looked at: where
    there is none (no motion took a step), all are.
    """
    asked = outputs.joints
    names, places = actuation_names(model, asked)
    force, moment, actuation = reported["force"], reported["moment"], reported["actuation"]
    flags: Sequence[Array] = [np.ones((), dtype=bool)] * 2
    if len(rows) < len(model.row_scale) and len(q):
        if exact is not None:
            flags = determined_everywhere(exact())
        else:
            each = [_determined(model, outputs, at, prescribed_joints) for at in some_of(q)]
            flags = [np.logical_and.reduce(column) for column in zip(*each, strict=True)]
    whole = np.broadcast_to(flags[0], (*force.shape[:-1], 6))
    actuation_unique = np.broadcast_to(flags[1], actuation.shape)
    return JointLoads(
        outputs.joint_names(model),
        force,
        moment,
        actuation,
        names,
        places,
        whole,
        actuation_unique,
        CONVENTION,
        model=model,
        request=LoadRequest.of(model, outputs.joint_names(model)),
    )


def determined_everywhere(loads: Iterable[JointLoads]) -> tuple[Array, ...]:
    """Return which components (J, 6) and actuators (F,) are determined in all of some loads."""
    flags = [(one.determined, np.atleast_2d(one.actuation_unique).all(axis=0)) for one in loads]
    return tuple(np.logical_and.reduce(column) for column in zip(*flags, strict=True))


def undetermined_loads(system: System, rows: Sequence[int], q: Array) -> tuple[str, ...]:
    """Return the reported load components that rigid-body mechanics does not determine at q.

    Named as variables are, without "load.": ``pin.fy``, ``crank.actuation``. `rows` are the
    independent ones that the steps keep.
    """
    model, outputs = system.model, system.outputs
    if outputs is None or not outputs.joints or len(rows) == len(model.row_scale):
        return ()
    wrench, actuation = _determined(model, outputs, q, system.prescribed_joints)[:2]
    names, places = actuation_names(model, outputs.joints)
    found = []
    for joint, sure, place in zip(outputs.joint_names(model), wrench, places, strict=True):
        found += [f"{joint}.{name}" for name, one in zip(COMPONENTS, sure, strict=True) if not one]
        found += [
            f"{joint}.{ACTUATION}{name.removeprefix(joint)}"
            for name, one in zip(names[place], actuation[place], strict=True)
            if not one
        ]
    return tuple(found)


def some_of(records: Array) -> Array:
    """Return `SAMPLES` of the records, at most, from the first to the last."""
    count = len(records)
    return np.asarray(records[np.linspace(0, count - 1, min(SAMPLES, count)).astype(int)])


def _determined(
    model: Model, outputs: Outputs, q: Array, prescribed_joints: Sequence[str]
) -> tuple[Array, ...]:
    """Return which components (J, 6) and actuators (F,) are determined at a position."""
    scale = model.row_scale
    phi_q = constraints(model, state_vectors(model, q, np.zeros(model.nv))).phi_q
    basis = undetermined_multipliers(
        model, phi_q, actuated_velocities(model, tuple(prescribed_joints))
    )
    free = np.linalg.qr(basis * scale[:, None])[0]
    opened = probes(len(scale)) @ free @ free.T / scale
    each = list(opened.reshape(PROBES, len(scale)))
    squares = changes(model, outputs.selection, q, each)
    noticed = row_choice(model).noticed
    return tuple(~(np.asarray(square, dtype=np.float64) > noticed**2) for square in squares)
