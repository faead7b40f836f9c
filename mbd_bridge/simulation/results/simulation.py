"""A simulated motion: states along time, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import an_instance, finite_numbers, name_list, place_among
from mbd_bridge.base.assumptions import NONE, Assumption
from mbd_bridge.base.errors import ModelError, StateError, real_number, some
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.base.table import AlongTime, Arrays, Series, Table
from mbd_bridge.forces.base import SHOWN, named
from mbd_bridge.loads import JointLoads, LoadRequest, LoadSolver
from mbd_bridge.loads.assumed import losses
from mbd_bridge.loads.convention import Point
from mbd_bridge.loads.export import beside_motion
from mbd_bridge.loads.options import At, In, On
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.table import motion_series, save_motion, state_arrays
from mbd_bridge.simulation.guards.energy import energy_kernel
from mbd_bridge.simulation.guards.loops import closure
from mbd_bridge.simulation.outcome import Outcome
from mbd_bridge.simulation.results.accelerations import Accelerations, Answer, near_singular
from mbd_bridge.simulation.results.force_elements import ForceElements, force_elements
from mbd_bridge.simulation.results.interpolation import Between, State
from mbd_bridge.simulation.results.recorded import Recorded, notes_of, reported_loads, some_of
from mbd_bridge.simulation.run.events import Events, Watch, check_watches
from mbd_bridge.simulation.run.problem import History
from mbd_bridge.simulation.steps.compiled import independent_velocities
from mbd_bridge.simulation.steps.trusted_step import Now
from mbd_bridge.simulation.system import System
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.actuation import actuated_velocities
from mbd_bridge.solve.loops import LoopChecker

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mbd_bridge.applications.typed import OfSimulation as Extended
else:
    from mbd_bridge.base.extensions import Extended


def simulated(run: Simulation, loads: JointLoads, told: str | None = None) -> JointLoads:
    """Return loads at the records of a simulation with their times and what they assume.

    Parameters
    ----------
    told : how the steps made them, if they did
    """
    system = run.system
    pushes = system.wrenches
    external = [Assumption("external", part.said) for part in pushes if part.said]
    plain = list(dict.fromkeys(part.name for part in pushes if not part.said))
    if plain or not pushes:
        text = f"given wrenches on {some(plain, SHOWN)}" if plain else NO_EXTERNAL
        external.insert(0, Assumption("external", text))
    elements = some([element.name for element in system.forces], SHOWN)
    assumed = [
        *external,
        Assumption("elements", f"{elements} act" if elements else NONE),
        losses(run.model, system.forces),
        Assumption("rates", f"{SIMULATED}, steps of {run.step:g} s"),
    ]
    assumed += [] if told is None else [Assumption("convention", f"{loads.convention}; {told}")]
    if system.effort is not None:
        assumed.append(
            Assumption("limits", "of position and speed: compared with; of effort: held")
        )
    prescribed = some([part.name for part in system.prescribed], SHOWN)
    if prescribed:
        assumed.append(Assumption("rates", f"prescribed, whatever force that takes: {prescribed}"))
    return replace(loads.along(run.time, run.v), assumed=tuple(assumed))


def check_actuated(model: Model, actuated: Sequence[str], driven: Iterable[str]) -> None:
    """Refuse actuated joints of a machine without loops, unknown ones, and torques elsewhere.

    Parameters
    ----------
    driven : velocities along which torques are given
    """
    if not model.has_loops:
        raise ModelError(
            f"{model.name} has no loops: every joint has its actuator; no --actuated (actuated=)"
        )
    active = actuated_velocities(model, actuated)
    asked = set(driven)
    others = [
        name for k, name in enumerate(model.velocity_names) if name in asked and not active[k]
    ]
    if others:
        raise ModelError(
            f"actuated: expected all joints along which torques are given, got "
            f"{some(actuated, SHOWN)} without {some(others, SHOWN)}, whose torques these would "
            f"carry too; name them as well, or leave out --actuated (actuated=): then the loads "
            f"are those under the given torques"
        )


NO_EXTERNAL = "none beside forces and torques of joints"


SIMULATED = "simulated: accelerations satisfy the equations of motion"


EVERY = slice(None)
"""All records."""


@dataclass(frozen=True, eq=False)
class Simulation(Recorded, AlongTime, Extended):
    """States of a mechanism along time.

    Attributes
    ----------
    trajectory : the mechanism and what acted on it
    time : (K,) s
    q, v : (K, nq), (K, nv): rad or m, and their rates
    z : (K, nz) states of force elements; `states` has them by name
    steps : taken; `step` is their length, s
    outcome : how it ended; `status` is the sentence
    detours : steps with more care: past singular positions (`passage`), implicit ones in halves
    facts : about the method: rows chosen, operations of a step; `formulations`, how many of these
        loads add that the steps tell, by either formulation; `jacobians`, Newton matrices that
        implicit steps have formed where they keep them; `balance`, energy that came from nowhere,
        relative to what moves
    samples : (K, H) what was held by the steps from the records, where Python was called
    reported : what the steps reported of the records (see `outputs`), nan where they did not
    history : all steps, if they were asked for
    events : by name, where the functions that were watched changed their signs
    """

    trajectory: Trajectory
    time: Array
    q: Array
    v: Array
    z: Array
    steps: int
    step: float
    outcome: Outcome
    detours: int
    facts: dict[str, Any] = field(default_factory=dict)
    events: dict[str, Events] = field(default_factory=dict)
    samples: Array | None = None
    reported: dict[str, Array] | None = None
    history: History | None = None

    @property
    def model(self) -> Model:
        """The mechanism."""
        return self.trajectory.model

    @property
    def system(self) -> System:
        """What was integrated."""
        return self.trajectory.system

    @property
    def finished(self) -> bool:
        """Whether the whole duration was simulated, or the motion ended at an event."""
        return self.outcome.finished

    @property
    def status(self) -> str:
        """How it ended: "finished", "event", or why before its time."""
        return str(self.outcome)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What of the file has no part in the motion, and forces beyond its effort limits."""
        states = self.q[None], self.v[None], self.z[None]
        return notes_of(self.system, self.time, states, [self.trajectory.number], self.samples)

    @cached_property
    def _dynamics(self) -> Answer:
        if self.reported is None:
            return self.answer(EVERY)
        known = {name: self.reported[name].copy() for name in ("a", "lam", "prescribed_forces")}
        silent = np.flatnonzero(np.isnan(known["a"]).any(axis=1))
        recovered = np.zeros(len(self.time), dtype=bool)
        if len(silent):
            found = self.answer(silent)
            for name, array in known.items():
                array[silent] = getattr(found, name)
            recovered[silent] = False if found.recovered is None else found.recovered
        return Answer(**known, recovered=recovered)

    def answer(self, part: slice | Array) -> Answer:
        """Return accelerations, multipliers and forces of prescribed motions at some records."""
        tau, _, pushed = (x[part] for x in self._acting)
        wanted = self.trajectory.accelerations(self.time[part])
        states = self.q[part], self.v[part], tau + pushed
        return self._solver(*states, wanted, records=len(self.time))

    @cached_property
    def _solver(self) -> Accelerations:
        return Accelerations(self.model, self.system.prescribed_velocities)

    @cached_property
    def _acting(self) -> tuple[Array, Array, Array]:
        """Torques (K, nv), wrenches (K, L, 6) in the axes of their links, forces of these."""
        return self.trajectory.acting(self.time, self.q, self.v, self.samples, self.z)

    @cached_property
    def independent_velocities(self) -> Array:
        """Z' = V2ᵀ q' (K, dof), independent velocities of the records (LeeJoo90 (45)).

        V2 is an orthonormal basis of the null space of the loops, of velocities divided by
        `Model.velocity_scale`: decomposed at each record, and turned as little as can be from one
        to the next, so that records must not be far apart. Coordinates in no loop come first.
        """
        records = zip(self.time.tolist(), self.q, self.v, self.z, strict=True)
        return independent_velocities(self.trajectory, [Now(*record) for record in records])

    @cached_property
    def loads(self) -> JointLoads:
        """Loads of the joints that ``simulate(loads=)`` asked for, as the steps reported them."""
        asked, reported = self.system.outputs, self.reported
        if asked is None or not asked.joints or reported is None:
            raise StateError(
                "loads: none were asked for; robot.simulate(..., loads=[joints]) has the steps "
                "tell them, run.joint_loads(joints) computes them afterwards"
            )
        request = LoadRequest.of(self.model, asked.joint_names(self.model))
        own = {name: reported[name].copy() for name in asked.load_names}
        silent = np.flatnonzero(np.isnan(own["force"]).any(axis=(1, 2)))
        if len(silent):
            found = self._loads(request, silent)
            for name, array in own.items():
                array[silent] = getattr(found, name)
        kept = self.facts.get("rows", ()), self.system.prescribed_joints

        def exact() -> list[JointLoads]:
            return [self.part(some_of(np.arange(len(self.time)))).exact_loads(request)]

        planar = self.model.description.planar
        found = reported_loads(self.model, asked, own, self.q, *kept, exact if planar else None)
        return simulated(self, found, asked.told(self.facts.get("formulations", {})))

    @cached_property
    def near_singular(self) -> Array:
        """Which records (K,) are near a singular position, where results lose digits.

        There the smallest singular value of independent rows of Φ_q, less the columns of prescribed
        motions, is less than `NEAR_SINGULAR` (0.4 %) of the largest: `a`, `lam` and loads have
        eight digits or fewer. Where they would have fewer than the motion around them tells, they
        are taken from there: these records are `recovered`, too.
        """
        if not self.model.has_loops:
            return np.zeros(len(self.time), dtype=bool)
        return near_singular(
            self.model, self.system.prescribed_velocities, LoopChecker(self.model).at(self.q)[1]
        )

    @cached_property
    def energy(self) -> Array:
        """Kinetic and potential energy (K,) J; zero potential at the world's origin."""
        if self.reported is not None and np.isfinite(self.reported["energy"]).all():
            return np.asarray(self.reported["energy"].sum(axis=1))
        return energy_kernel(self.model)(self.q, self.v)[0][:, 0]

    @cached_property
    def force_elements(self) -> ForceElements:
        """What each force element did: its report, stored energy and dissipated power."""
        return force_elements(self.trajectory, self.time, self.q, self.v, self.z, self.samples)

    @cached_property
    def closure(self) -> Array:
        """Largest residual of the loops at each time (K,), relative to the mechanism's size."""
        return closure(self.model, self.q)

    def at(self, time: float) -> State:
        """Return q, v and a at any time of the motion, between records by polynomials.

        With records Δ apart q is off by O(Δ⁶), v by O(Δ⁵); see `interpolation`.
        """
        time = real_number("time", time, "a number of seconds")
        if not self.time[0] <= time <= self.time[-1]:
            raise StateError(
                f"t = {time!r} s is not in the motion, which goes from {self.time[0]:g} to "
                f"{self.time[-1]:g} s"
            )
        if len(self.time) == 1:
            return State(self.q[0].copy(), self.v[0].copy(), self.a[0].copy())
        k = int(np.clip(np.searchsorted(self.time, time, "right") - 1, 0, len(self.time) - 2))
        if k not in self._pieces:
            ends = slice(k, k + 2)
            q, v, t = self.q[ends], self.v[ends], self.time[ends]
            known = self.reported is not None or "_dynamics" in vars(self)
            # else only these: accelerations of loops take their time
            a = self._dynamics.a[ends] if known else self.answer(ends).a
            first, second = (State(*row) for row in zip(q, v, a, strict=True))
            self._pieces[k] = Between(self.model, first, second, float(t[1] - t[0]))
        return self._pieces[k].at(float(time - self.time[k]))

    @cached_property
    def _pieces(self) -> dict[int, Between]:
        return {}

    def watched(self, watches: Mapping[str, Watch]) -> Simulation:
        """Return the motion with its events, cut off at the first one that is terminal."""
        from mbd_bridge.simulation.run.lookout import watched  # it makes motions

        return watched(self, check_watches("watches", watches))

    def resampled(self, times: ArrayLike) -> Simulation:
        """Return the motion with its records at other times, (N,) s: loads, energies there.

        States between records come from steps of the run's own length where it was by Runge-Kutta
        with a fixed step, and from polynomials elsewhere (see `at`).
        """
        from mbd_bridge.simulation.run.lookout import resampled  # it makes motions

        chosen = np.atleast_1d(finite_numbers("times", times))
        first, last = self.time[[0, -1]]
        if chosen.ndim != 1 or not len(chosen) or (np.diff(chosen) <= 0.0).any():
            raise StateError(f"times: expected (N,) s that grow, got {times!r:.60}")
        if not first <= chosen[0] or not chosen[-1] <= last:
            raise StateError(
                f"times: expected some of the motion, which goes from {first:g} to {last:g} s, got "
                f"{chosen[0]:g} to {chosen[-1]:g} s"
            )
        return resampled(self, chosen)

    def part(self, records: Array | slice) -> Simulation:
        """Return the motion at some records only."""
        reported, samples = self.reported, self.samples
        return replace(
            self,
            time=self.time[records],
            q=self.q[records],
            v=self.v[records],
            z=self.z[records],
            samples=None if samples is None else samples[records],
            reported=None
            if reported is None
            else {name: x[records] for name, x in reported.items()},
        )

    def state(self, index: int = -1) -> tuple[Array, Array]:
        """Return q and v at one record, to start again from, with ``z=run.z[index]``."""
        place = place_among("index", index, len(self.time))
        return self.q[place].copy(), self.v[place].copy()

    def joint_loads(
        self,
        joints: Iterable[str] | str | None = None,
        *,
        on: On = "child",
        at: At | Point = "joint",
        in_: In = "child",
        reaction: bool = False,
        actuated: Iterable[str] | str | None = None,
        minimum_norm: bool = False,
    ) -> JointLoads:
        """Return the loads of joints, tree or cut, at every record; those that the steps told are.

        Parameters
        ----------
        joints : names; None for all
        on, at, in_, reaction : see `loads.LoadRequest`
        actuated : in a machine with loops, the joints whose actuation carries the loads of this
            motion, as in `Mechanism.joint_loads`; None: prescribed motions and given torques do
        minimum_norm : allow more of `actuated` than the motion determines; what they share is the
            smallest for the loop joints

        Raises
        ------
        ModelError
            The machine has no loops, or torques act along joints that are not among `actuated`.
        """
        request = LoadRequest.of(
            self.model,
            joints,
            on=on,
            at=at,
            in_=in_,
            reaction=reaction,
            actuated=actuated,
            minimum_norm=minimum_norm,
        )
        if request.actuated is None:
            if request.minimum_norm:
                raise ModelError(
                    "minimum_norm= (--minimum-norm) tells how actuated joints share what they "
                    "carry: name them, actuated= (--actuated)"
                )
            if self._told(request):
                return self.loads.among(request.joints)
            return simulated(self, self._loads(request))
        torques = self.system.torques
        places = {k for part in torques for k in part.places if self.tau[:, k].any()}
        driven = [self.model.velocity_names[k] for k in places]
        check_actuated(self.model, request.actuated, driven)
        return simulated(self, self._actuated_loads(request))

    def _told(self, request: LoadRequest) -> bool:
        """Return whether the steps have told these loads."""
        asked = self.system.outputs
        if asked is None or self.reported is None:
            return False
        plain = request == LoadRequest.of(self.model, request.joints)
        return plain and set(request.joints) <= set(asked.joint_names(self.model))

    def exact_loads(self, request: LoadRequest) -> JointLoads:
        """Return the loads at every record as `joint_loads`, without its complaints."""
        request = an_instance("request", request, LoadRequest, "LoadRequest.of(model, joints)")
        return self._loads(request, check=False)

    def _loads(
        self, request: LoadRequest, part: slice | Array = EVERY, check: bool = True
    ) -> JointLoads:
        system, closed = self.system, self.model.has_loops
        actuated = system.prescribed_joints if closed else None
        request = replace(request, links=system.links, known=self.trajectory.forces_in_cuts)
        solver = LoadSolver(self.model, replace(request, actuated=actuated))
        pushes = self._acting[1][part] if system.links else None
        lam = self.lam[part] if closed else None
        states = self.q[part], self.v[part], self.a[part]
        return solver(*states, pushes, lam=lam, t=self.time[part], check=check)

    def _actuated_loads(self, request: LoadRequest) -> JointLoads:
        """Return the loads of the motion, whatever made it, as `Mechanism.joint_loads` does."""
        external = self.external
        request = replace(request, links=tuple(external), forces=self.trajectory.acting_forces)
        pushes = np.stack(list(external.values()), axis=1) if external else None
        return LoadSolver(self.model, request)(self.q, self.v, self.a, pushes, t=self.time)

    def save(
        self,
        path: str | PathLike[str] | TextIO,
        loads: JointLoads | None = None,
        *,
        digits: int | None = None,
        notes: Sequence[str] = (),
        gaps: bool = False,
    ) -> None:
        """Write the motion to .csv, .parquet, .npz or .h5, with units; `read_motion` reads it.

        Parameters
        ----------
        path : its suffix says which kind; the file appears whole or not at all
        loads : write these of `joint_loads` beside it; `robot.read_loads` reads them
        digits : significant digits in a text; None for all. The other kinds hold all
        notes : sentences that the file is to hold
        gaps : write loads that are nan too; see `JointLoads.save`
        """
        if loads is not None:
            an_instance("loads", loads, JointLoads, "run.joint_loads()")
        notes = name_list("notes", notes, "facts, as texts")
        said = notes if self.finished else (*notes, self.status)
        parts = [self.time, self.q, self.v, self.a]
        beside = None if loads is None else beside_motion(loads)
        save_motion(path, self.model, parts, beside=beside, digits=digits, notes=said, gaps=gaps)

    def wrench_on(self, link: str) -> Array | None:
        """Return all wrenches on a link (K, 6) N and N m at its origin, in its axes; None: none."""
        parts = self.system.wrenches_on(link)
        return self._acting[1][:, parts].sum(axis=1) if parts else None

    def plot(
        self,
        names: Iterable[str] | str | None = None,
        quantities: Iterable[str] | str = ("q", "v"),
        *,
        ax: Axes | Sequence[Axes] | None = None,
    ) -> list[Axes]:
        """Draw the motion along time, with its events, and return the axes.

        Parameters
        ----------
        names : of coordinates or joints; None for all
        quantities : of "q", "v", "a" and "tau"; angles and lengths have panels of their own
        ax : axes to draw into, one a panel; None makes a figure
        """
        from mbd_bridge.motion.pictures import plot_motion
        from mbd_bridge.simulation.results.pictures import marks

        asked = name_list("quantities", quantities, "q, v, a, tau")
        parts = {what: np.asarray(getattr(self, what, ())) for what in asked}
        return plot_motion(self.model, self.time, parts, names, marks=marks(self), ax=ax)

    def plot_closure(self, *, ax: Axes | None = None) -> Axes:
        """Draw how far the loops are open along time (`closure`), and return the axes."""
        from mbd_bridge.simulation.results.pictures import plot_closure

        return plot_closure(self.model, self.time, self.q, ax=ax)

    def tables(self) -> tuple[Table, ...]:
        """Return coordinates, velocities and states of force elements."""
        columns, units = motion_series(self.model, self.q, self.v), self.state_units
        columns += [Series(name, unit, self.states[name]) for name, unit in units.items()]
        time = Series("time", "s", self.time)
        return (Table(repr(self), time, columns, long=True, notes=self.notes),)

    def _arrays(self) -> Arrays:
        states = {"q": self.q, "v": self.v, "z": self.z}
        return state_arrays(self.model, self.time, states, self.state_units)

    def __repr__(self) -> str:
        said = "; ".join([self.status, *named(self.system.forces), *self.notes])
        return (
            f"Simulation({self.model.name!r}: {self.steps} steps of {self.step:g} s, "
            f"{len(self.time)} records, {said})"
        )


def efforts(run: Simulation) -> Array:
    """Return the generalised forces (K, nv) of actuators at all records, N m or N.

    What force elements exert is not among them.
    """
    system = run.system
    tau = np.zeros_like(run.v)
    if not system.forces:
        tau += run.tau
    elif system.torques:
        inputs = Trajectory(system.without_elements(), run.trajectory.number)
        tau += inputs.acting(run.time, run.q, run.v)[0]
    if system.prescribed:
        tau[:, list(system.prescribed_velocities)] += run.prescribed_forces.force
    return tau
