"""Whether a motion keeps its energy: what it has more than at the start is the work done on it.

    E(t) - E(0) = W(t) = ∫ v·τ - λ_d·v_d dt                  Runge-Kutta, explicit Newmark

with the forces τ of all that acts and the forces of prescribed motions -λ_d, summed up by the steps
themselves. What is left is the error of the steps; a motion that is off by more than `LOST_ENERGY`
is none. Implicit steps sum up work as displacement times the mean of the forces at both ends; for
the trapezoidal rule that is the gain of kinetic energy, however wrong the forces are, as in an
impact within a step. There the energies U that force elements state are counted instead, and W is
the work of all else:

    G = E + Σ U - W,   dG/dt = -Σ D,   D >= 0

so that G cannot grow. Actuators, functions, moving roads and relaxing tyres count as work, and so
does an element of a user's that does not do what it states (`forces.stated`).

A start may be given with lost digits, and redundant rows are as open as a file's rounded numbers
leave them: putting such a state onto its loops lifts the machine a little, which no force did.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.equations.energy import energies_of
from mbd_bridge.kernels import Kernel
from mbd_bridge.kernels.tracing import Traceable
from mbd_bridge.model import Model
from mbd_bridge.model.model import once_a_model
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.simulation.acts import system_kernel
from mbd_bridge.simulation.guards.loops import allowed_opening, spread
from mbd_bridge.simulation.guards.messages import StepLengthError, step_too_long
from mbd_bridge.simulation.run.problem import Records
from mbd_bridge.simulation.steps.schemes import RK4, ImplicitScheme, Scheme
from mbd_bridge.simulation.system import System
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.loops import LoopChecker
from mbd_bridge.solve.model_kernel import shared_kernel, variants_kernel
from mbd_bridge.solve.tolerances import ACTIVE_POWER, GAINED_ENERGY, LOST_ENERGY

EnergyAt = Callable[..., tuple[Array, ...]]
"""Energy and its potential part, (1,) J each, or (K, 1), at q and v."""


@once_a_model
def energy_kernel(model: Model) -> EnergyAt:
    """Return the energy of a model in machine code that variants of one mechanism share."""
    return shared_kernel(model, *_described(model), _energy_of, ())


def kept_energy(system: System) -> Kernel:
    """Return the kernel of a system's energy, which is kept with its mechanism.

    The parameters of a variant are its last input.
    """
    model, variants = system.model, system.parameters
    key = "energy", "" if variants is None else variants.identity
    return system.prepared.get(
        key, lambda: variants_kernel(model, variants, *_described(model), _energy_of, ())
    )


def _described(model: Model) -> tuple[str, dict[str, int], tuple[str, ...]]:
    return "energy", {"q": model.nq, "v": model.nv}, ("energy", "potential")


def _energy_of(model: Model) -> Traceable:
    def energy(q: Array, v: Array) -> tuple[Array, ...]:
        whole, still = np.empty(1, dtype=object), np.empty(1, dtype=object)
        kinetic, still[0] = energies_of(model, q, v)
        whole[0] = kinetic + still[0]
        return whole, still

    return energy


def stored_energies(
    system: System, time: Array, states: Sequence[Array], p: Array | None
) -> tuple[Array, Array]:
    """Return Σ U (K,), J, and D (K, n), W, of the n elements whose energies count.

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
    passive = sorted(system.passive)
    told = [(system.element_identities[k], system.states.places[k]) for k in passive]
    what = None if any(identity is None for identity, _ in told) else told

    def stored(q: Array, v: Array, t: Array, *p: Array) -> tuple[Array, ...]:
        energy, lost = zeros(1, q, v, t), zeros(len(passive), q, v, t)
        own, acts = system.machine(*p)
        for place, number in enumerate(passive):
            effect = acts.effect(number, own, t[0], q, v, t[1:])
            energy[0] = energy[0] + effect.energy
            lost[place] = effect.dissipation
        return energy, lost

    inputs = {"q": system.model.nq, "v": system.model.nv, "t": 1 + system.nz}
    return system_kernel(system, stored, inputs, ("energy", "lost"), "stored", what)


LOOKS = 500
"""Records that are looked at, if there are more."""


FEW = 6
"""Records of a trajectory of a batch that are looked at: what seems wrong is run again alone."""


REST = 1e-10
"""Energy that is no motion, relative to what lifting the machine by its own size takes."""


SLANTED = 10.0
"""How much further a projection may move a machine than the shortest way onto its loops."""


STILL = 1e-8
"""1/s: a machine that moves by so many of its sizes a second, or rad, is at rest."""


class Balance(NamedTuple):
    """What counts in the balance of a system's steps, and what is too much.

    Attributes
    ----------
    nothing : energy, J, that is no motion; 0 where nothing has inertia
    elements : whether energies of force elements count; W is then the work of all else
    grows : whether only what it has more counts, since the steps or force elements take some away
    allowed : energy that may come from nowhere, by what moves
    """

    system: System
    nothing: float
    elements: bool
    grows: bool
    allowed: float

    @staticmethod
    def of(system: System, scheme: Scheme, variant: Model | None = None) -> Balance:
        """Return the balance for steps of a scheme, of a variant of the mechanism."""
        nothing = no_motion(variant or system.model)
        if isinstance(scheme.formula, ImplicitScheme) and system.passive:
            return Balance(system, nothing, True, True, GAINED_ENERGY)
        return Balance(system, nothing, False, scheme.damps, LOST_ENERGY)

    def energies(
        self, time: Array, states: Sequence[Array], p: Array | None
    ) -> tuple[Array, Array, Array]:
        """Return kinetic energy (K,) and all other, J, and D (K, n) of elements that count, W.

        Parameters
        ----------
        time, states : (K,); q, v, z (K, ...), or all of one state
        p : parameters (P,) of one trajectory, or (K, P)
        """
        q, v, _ = states
        whole, still = kept_energy(self.system)(q, v, *([] if p is None else [p]))
        moves, held = (whole - still)[..., 0], still[..., 0]
        if not self.elements:
            return moves, held, np.zeros((*q.shape[:-1], 0))
        stored, lost = stored_energies(self.system, time, states, p)
        return moves, held + stored, lost

    def part(self, imbalance: Any, scale: Any, sources: Any, lifted: float = 0.0) -> Array:
        """Return the energy that came from nowhere, by what moves; 0 where nothing moves.

        Parameters
        ----------
        imbalance, scale : J that came from nowhere, J that move
        sources : whether elements give power in their own account
        lifted : J that putting states onto their loops may make
        """
        with np.errstate(all="ignore"):  # energies beyond all numbers: nan is bad
            part = np.maximum(np.abs(imbalance) - lifted, 0.0) / scale
        return np.where(
            sources | (not self.nothing) | np.logical_not(scale > self.nothing), 0.0, part
        )

    def imbalance(self, total: Array) -> Array:
        """Return what motions with energies less work (..., K) got from nowhere, J."""
        if self.grows:
            return np.asarray(total - np.minimum.accumulate(total, axis=-1))
        return np.asarray(total - total[..., :1])

    def said(self, imbalance: float, scale: float, when: str, h: float) -> StepLengthError:
        """Return what is to be said of a motion that is off."""
        if self.elements:
            found = "force elements that only store and lose energy gave"
        else:
            found = "energy comes from nowhere:"
        return step_too_long(h, f"{found} {imbalance:.3g} J where {scale:.3g} J move, {when}; ")


def unbalanced(
    trajectory: Trajectory, found: Records, h: float, scheme: Scheme = RK4
) -> tuple[float, tuple[int, object] | None]:
    """Return the largest relative imbalance, and the record from which on it is too large.

    The second result has the last record that is good, and what is to be said.
    """
    if found.work is None or len(found.time) < 2:
        return 0.0, None
    model, looks = trajectory.model, spread(len(found.time), LOOKS)
    terms, work = Balance.of(trajectory.system, scheme, model), found.work[looks]
    states, told = [x[looks] for x in (found.q, found.v, found.z)], None
    if found.reported is not None and not terms.elements:
        told = found.reported["energy"][looks]
    if told is not None and np.isfinite(told).all():
        (kinetic, held), sources = told.T, False
    else:
        kinetic, held, lost = terms.energies(found.time[looks], states, trajectory.p)
        sources = bool(gives(lost))
    scale = max(float(kinetic.max()), float(np.ptp(held)), float(np.ptp(work)))
    imbalance = terms.imbalance(kinetic + held - work)
    part = terms.part(imbalance, scale, sources)
    bad = np.flatnonzero(~(part <= terms.allowed))
    if len(bad) and model.has_loops:
        part = terms.part(imbalance, scale, sources, lifted(model, states[0]))
        bad = np.flatnonzero(~(part <= terms.allowed))
    if not len(bad):
        return float(part.max()), None
    first = bad[0]
    when = f"by t = {found.time[looks[first]]:.6g} s"
    said = terms.said(imbalance[first], scale, when, h)
    return float(part[first]), (int(looks[max(0, first - 1)]), said)


def keep_energy(
    system: System,
    scheme: Scheme,
    records: tuple[Array, Array, Array, Array],
    work: Array,
    p: Array | None = None,
) -> Array:
    """Return which of many motions (N,) keep their energy, as a few of their records tell.

    Parameters
    ----------
    records : times (K,), q, v, z (N, K, ...)
    work : (N,) J done on each in all: where there is some, the ends are compared
    p : (N, P) parameters
    """
    time, *states = records
    terms, looks = Balance.of(system, scheme), spread(len(time), FEW)
    shape = len(work), len(looks)
    flat = [x[:, looks].reshape(shape[0] * shape[1], x.shape[2]) for x in states]
    each = None if p is None else np.repeat(p, len(looks), axis=0)
    found = terms.energies(np.tile(time[looks], len(work)), flat, each)
    kinetic, held, lost = (x.reshape(*shape, *x.shape[1:]) for x in found)
    sources = gives(lost)
    scale = np.maximum(kinetic.max(axis=1), np.ptp(held, axis=1))
    scale = np.maximum(scale, np.abs(work))
    total = kinetic + held
    total[:, -1] -= work
    if work.any() or not terms.grows:
        total = total[:, [0, -1]]
    imbalance = np.abs(terms.imbalance(total)).max(axis=1)
    return np.asarray(terms.part(imbalance, scale, sources) <= terms.allowed)


def gives(lost: Array) -> Array:
    """Return in which motions (...) an element gives power in its own account, as a road may.

    Parameters
    ----------
    lost : (..., K, n) D of each element, W
    """
    most = np.abs(lost).max(axis=(-2, -1), initial=0.0)
    return np.asarray((lost < -ACTIVE_POWER * most[..., None, None]).any(axis=(-2, -1)))


def lifted(model: Model, q: Array) -> float:
    """Return the energy, J, that putting records q (K, nq) onto their loops may make.

    That of the way from the start, given with lost digits, onto its loops, and of the ways between
    the positions at which imprecise rows are closed in turn.
    """
    loops = LoopChecker(model)
    phi, J = loops.at(q[0])
    if not np.isfinite(J).all():
        return 0.0
    way = float(np.linalg.norm(np.linalg.pinv(J, rcond=model.rank_tolerance) @ phi))
    open_by = np.abs(loops.values(q, np.zeros((len(q), model.nv)))[0] / model.row_scale)
    between = min(float(np.nan_to_num(open_by, nan=0.0).max()), loops.choice().leeway)
    return SLANTED * (way + between) * lift(model)


@once_a_model
def no_motion(model: Model) -> float:
    """Return the energy, J, that is no motion of a machine."""
    mass = float(sum(model.masses))
    turning = sum(float(np.trace(body.inertia.central)) for body in model.bodies)
    return max(REST * lift(model), STILL**2 * (mass * model.size**2 + turning))


@once_a_model
def lift(model: Model) -> float:
    """Return the energy, J, that lifting a machine by its own size takes."""
    mass = float(sum(model.masses))
    return mass * float(np.linalg.norm(model.gravity)) * model.size


EACH = 20
"""Steps between two looks at the energy."""


class Account:
    """Energy and work of a motion whose steps are taken one by one, in somebody else's loop.

    Parameters
    ----------
    trajectory : whose motion it is
    scheme : of the steps
    """

    def __init__(self, trajectory: Trajectory, scheme: Scheme = RK4) -> None:
        model, self._trajectory = trajectory.model, trajectory
        self._terms = Balance.of(trajectory.system, scheme, model)
        _ = kept_energy(trajectory.system)
        self._lifted = SLANTED * allowed_opening(model) * lift(model)
        self._reached: tuple[Array, Array] | None = None
        self._steps, self._sources = 0, False
        self._work = self._start = self._scale = 0.0
        self._held = self._worked = (0.0, 0.0)

    def begin(self, q: Array, v: Array, z: Array) -> None:
        """Open the account anew, if these are not the state that the last step came to."""
        if self._reached is not None:
            same = zip(self._reached, (q, v), strict=True)
            if all(np.array_equal(one, two) for one, two in same):
                return
        self.open(q, v, z)

    def open(self, q: Array, v: Array, z: Array) -> None:
        """Open the account at a state."""
        self._scale, held = self._energies(q, v, z)
        self._work, self._steps, self._sources = 0.0, 0, False
        self._start, self._held, self._worked = self._scale + held, (held, held), (0.0, 0.0)

    def enter(self, q: Array, v: Array, z: Array, work: float, h: float) -> None:
        """Enter a step of h seconds that came to a state.

        Raises
        ------
        SolveError
            The machine has more energy, or less, than was worked.
        """
        self._reached = q.copy(), v.copy()
        self._work += work
        self._steps += 1
        if self._steps % EACH:
            return
        kinetic, held = self._energies(q, v, z)
        self._held = min(self._held[0], held), max(self._held[1], held)
        self._worked = min(self._worked[0], self._work), max(self._worked[1], self._work)
        ranges = (high - low for low, high in (self._held, self._worked))
        self._scale = max(self._scale, kinetic, *ranges)
        imbalance = kinetic + held - self._start - self._work
        if self._terms.grows and imbalance < 0.0:
            self._start += imbalance
            imbalance = 0.0
        terms, scale = self._terms, self._scale
        if abs(imbalance) <= terms.allowed * scale:
            return
        if not terms.part(imbalance, scale, self._sources, self._lifted) <= terms.allowed:
            self._reached = None
            when = f"within {self._steps} steps"
            raise self._terms.said(imbalance, self._scale, when, h)

    def _energies(self, q: Array, v: Array, z: Array) -> tuple[float, float]:
        """Return the kinetic energy at a state, and all other, J."""
        states = (q[None], v[None], z[None]) if self._terms.elements else (q, v, z)
        kinetic, held, lost = self._terms.energies(np.zeros(1), states, self._trajectory.p)
        self._sources |= self._terms.elements and bool(gives(lost))
        return float(kinetic.item()), float(held.item())
