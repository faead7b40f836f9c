"""Whether force elements that store and lose energy gave some, by steps too long for them.

    G = T + V + Σ U - W,   dG/dt = -Σ D,   D >= 0

with the energies U of passive elements and the work W of all else that acts, summed up by the steps
themselves: G cannot grow. The work of the elements themselves would not tell: implicit steps sum up
work as displacement times the mean of the forces at both ends; for the trapezoidal rule that is the
gain of kinetic energy, however wrong the forces are, as in an impact within a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mbd_bridge.forces.states import effect_at
from mbd_bridge.kernels import Kernel
from mbd_bridge.kernels.graph.trace import Traceable
from mbd_bridge.mechanism import Model
from mbd_bridge.simulate.checks.balance import FEW, LOOKS, Energy, energies, lifted, no_motion
from mbd_bridge.simulate.checks.diagnosis import step_too_long
from mbd_bridge.simulate.checks.watch import spread
from mbd_bridge.simulate.kernel import Forces, system_kernel
from mbd_bridge.simulate.run.problem import Records
from mbd_bridge.simulate.system import System
from mbd_bridge.simulate.trajectory import Trajectory
from mbd_bridge.solve.tolerances import ACTIVE_POWER, GAINED_ENERGY
from mbd_bridge.spatial import Array, zeros


class Gain(NamedTuple):
    """Energy (..., K) that was given until each record, J; and the energy (...) that moves."""

    gain: Array
    scale: Array

    @property
    def part(self) -> Array:
        """The largest gain (...), by what moves."""
        most = self.gain.max(axis=-1)
        return np.where(self.scale > 0.0, most / np.where(self.scale > 0.0, self.scale, 1.0), 0.0)


def gains(kinetic: Array, potential: Array, stored: Array, lost: Array, work: Array) -> Gain:
    """Return what passive elements gave along motions.

    Where one of them gives power in its own account, as a road does by its slopes, that is none.

    Parameters
    ----------
    kinetic, potential, stored, work : (..., K) T, V, Σ U and W, J, at the records
    lost : (..., K, n) D of each element, W
    """
    total = kinetic + potential + stored - work
    held = potential + stored
    scale = np.maximum(kinetic.max(axis=-1), np.ptp(held, axis=-1))
    scale = np.maximum(scale, np.ptp(work, axis=-1))
    gain = total - np.minimum.accumulate(total, axis=-1)
    most = np.abs(lost).max(axis=(-2, -1), initial=0.0)
    sources = (lost < -ACTIVE_POWER * most[..., None, None]).any(axis=(-2, -1))
    gain[sources] = 0.0
    return Gain(gain, scale)


def given(trajectory: Trajectory, found: Records, h: float) -> tuple[float, tuple[int, str] | None]:
    """Return the largest gain, by what moves, and the record from which on it is too large.

    The second result has the last record that is good, and what is to be said.

    Parameters
    ----------
    found : records of implicit steps, whose work is that of all but passive elements
    """
    model = trajectory.model
    if found.work is None or len(found.time) < 2:
        return 0.0, None
    looks = spread(len(found.time), LOOKS)
    states = found.q[looks], found.v[looks], found.z[looks]
    stored, lost = passive_energies(trajectory.system, found.time[looks], states, trajectory.p)
    kinetic, potential = energies(model, found, looks)
    gain = gains(kinetic, potential, stored, lost, found.work[looks])
    scale = float(gain.scale)
    if not no_motion(model) or not scale > no_motion(model):
        return 0.0, None
    bad = np.flatnonzero(~(gain.gain <= GAINED_ENERGY * scale))
    if len(bad) and model.has_loops:
        bad = np.flatnonzero(~(gain.gain <= GAINED_ENERGY * scale + lifted(model, found.q[looks])))
    if not len(bad):
        return float(gain.part), None
    first = int(bad[0])
    return float(gain.part), (
        int(looks[max(0, first - 1)]),
        f"force elements that only store and lose energy gave {gain.gain[first]:.3g} J where "
        f"{scale:.3g} J move, by t = {found.time[looks[first]]:.6g} s; {step_too_long(h)}",
    )


def keep_gained(
    system: System,
    p: Array | None,
    energy: Energy,
    records: tuple[Array, Array, Array, Array],
    work: Array,
) -> Array:
    """Return which of many motions (N,) got no energy from passive elements, as a few records tell.

    Parameters
    ----------
    p : (N, P) parameters
    records : times (K,), q, v, z (N, K, ...)
    work : (N,) J in all: where there is some, the ends are compared
    """
    time, *states = records
    looks = spread(len(time), 2 if work.any() else FEW)
    q, v, z = (x[:, looks] for x in states)
    whole, still = energy(q, v)
    flat = [x.reshape(len(q) * len(looks), x.shape[2]) for x in (q, v, z)]
    p = None if p is None else np.repeat(p, len(looks), axis=0)
    stored, lost = passive_energies(system, np.tile(time[looks], len(q)), flat, p)
    done = np.zeros_like(whole)
    done[:, -1] = work
    lost = lost.reshape(*whole.shape, -1)
    gain = gains(whole - still, still, stored.reshape(whole.shape), lost, done)
    return np.asarray(gain.part <= GAINED_ENERGY)


def passive_energies(
    system: System, time: Array, states: Sequence[Array], p: Array | None
) -> tuple[Array, Array]:
    """Return Σ U (K,) and D (K, n) of the n passive elements.

    Parameters
    ----------
    time, states : (K,); q, v, z (K, ...)
    p : parameters (P,) of one trajectory, or (K, P)
    """
    q, v, z = states
    kernel = _kernel(system)
    more = [] if p is None else [np.broadcast_to(p, (len(time), np.shape(p)[-1]))]
    stored, lost = kernel(q, v, np.column_stack([time, z]), *more)
    return stored[:, 0], lost


def _kernel(system: System) -> Kernel:
    members = [one for one in system.members if one.passive]
    told = [(one.identity, one.states) for one in members]
    identity = None if None in (one.identity for one in members) else f"passive {told}"

    def of(own: Model, forces: Forces) -> Traceable:
        def report(q: Array, v: Array, t: Array) -> tuple[Array, ...]:
            energy, lost = zeros(1, q, v, t), zeros(len(members), q, v, t)
            for k, one in enumerate(members):
                effect = effect_at(forces[one.number], one.states, own, t[0], q, v, t[1:])
                energy[0] = energy[0] + effect.energy
                lost[k] = effect.dissipation
            return energy, lost

        return report

    inputs = {"q": system.model.nq, "v": system.model.nv, "t": 1 + system.nz}
    return system_kernel(system, of, inputs, ("energy", "lost"), "passive", identity)
