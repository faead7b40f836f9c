"""One step at a time under forces that somebody else decides: coupling with another simulator.

A system of its own: the given one, with inputs for generalised forces and for wrenches on all
bodies, constant within a step. A wrench is given about the *world's origin*, so that the momentum
that the mechanism takes from the other side, about any point, is the wrench times the step, however
the body moves meanwhile.
"""

from __future__ import annotations

import numpy as np

from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.acts import StartStates
from mbd_bridge.forces.varying import Input
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.results.accelerations import Accelerations, Answer
from mbd_bridge.simulation.right_hand_side import Rate
from mbd_bridge.simulation.signals.parts import TorquePart, WrenchPart
from mbd_bridge.simulation.steps.schemes import CompiledIntegrator, Scheme, compiled_scheme
from mbd_bridge.simulation.steps.stepping import SAME_TIME, Stepping
from mbd_bridge.simulation.system import System
from mbd_bridge.solve.tolerances import STAGE_RISK

OWN = "coupled step: "
"""Begin of the names of inputs that a step in another loop adds: a user's may be called alike."""


def coupled(system: System) -> System:
    """Return the system with inputs for forces along all velocities and wrenches on all bodies."""
    model = system.model
    first = {link.body: number for number, link in reversed([*enumerate(model.links)])}
    wrenches = [
        WrenchPart(model.links[first[body]].name, first[body], "origin", Input(f"{OWN}body {body}"))
        for body in range(len(model.bodies))
        if body in first
    ]
    torques = TorquePart(tuple(range(model.nv)), Input(f"{OWN}torque"))
    return system.with_parts(
        torques=(*system.torques, torques),
        wrenches=(*system.wrenches, *wrenches),
    )


class CoupledStep:
    """Compiled steps, one at a time.

    Parameters
    ----------
    system : a mechanism and what acts on it beside; or the mechanism alone
    q, v : (nq,), (nv,) a state that satisfies its loops; rows of them are chosen there
    z : states of force elements there, as for `simulate`
    integrator : "rk4", or an implicit one as for `simulate`, with steps of fixed length

    Attributes
    ----------
    z : (nz,) states of force elements where the next step begins: each step carries them on
    work : J, that all forces did in the last step
    """

    def __init__(
        self,
        system: System | Model,
        q: Array,
        v: Array | None = None,
        z: StartStates | None = None,
        integrator: CompiledIntegrator | Scheme = "rk4",
    ) -> None:
        given = System(system) if isinstance(system, Model) else system
        if given.number > 1:
            raise StateError("a step is that of one trajectory; give one value of each")
        self.system, self.z = coupled(given), given.states.start(z)[0]
        # where nothing depends on time, callers need not tell it
        timeless = not (given.parts or given.forces)
        leeway = np.inf if timeless else SAME_TIME
        rest = np.zeros(self.system.model.nv) if v is None else v
        start, scheme = np.concatenate([q, rest, self.z]), compiled_scheme(integrator)
        self._stepping = Stepping(self.system, start, None, scheme, leeway)
        self.trajectory = self._stepping.trajectory
        self.model = self.trajectory.model
        inputs = self.system.inputs_by_name
        self._places = inputs[f"{OWN}torque"][0], inputs[f"{OWN}body 0"][0].start
        self._accelerations = Accelerations(self.model, self.system.prescribed_velocities)
        self._rates: dict[tuple[int, ...], Rate] = {}
        self.work = 0.0

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of the loops that steps keep."""
        return self._stepping.rows

    def keep(self, rows: tuple[int, ...]) -> None:
        """Keep such rows in the steps that follow."""
        self._stepping.keep(rows)

    def choose(self, q: Array, v: Array | None = None) -> None:
        """Choose rows for steps that go on from another state."""
        self._stepping.choose(q, v)

    def prepare(self) -> None:
        """Compile all that steps and questions may need, past singular positions too.

        Only where other rows come to matter on the way is a step compiled once more.
        """
        self._stepping.prepare()
        self._compiled_rate()
        self._accelerations.prepare()
        _ = self.system.acting

    def __call__(
        self, q: Array, v: Array, tau: Array, wrenches: Array, h: float, t: float = 0.0
    ) -> tuple[Array, Array]:
        """Return q and v after h seconds under forces tau (nv,) and wrenches (bodies, 6).

        Raises
        ------
        SolveError
            The step cannot be taken: which loop or joint, and what to try.
        """
        self._hold(tau, wrenches)
        stepping = self._stepping
        stepping.put(t, q, v, self.z, h)
        stepping.guards.energy.begin(q, v, self.z)
        stepping.advance()
        self.z, self.work = stepping.z.copy(), float(stepping.work[0])
        return stepping.q.copy(), stepping.v.copy()

    def forces(self, q: Array, v: Array, tau: Array, wrenches: Array, t: float = 0.0) -> Array:
        """Return all generalised forces (nv,): tau, those of wrenches, what the system has."""
        self._hold(tau, wrenches)
        whole, _, pushed = self.trajectory.acting(np.array([t]), q[None], v[None], z=self.z[None])
        return np.asarray((whole + pushed)[0])

    def accelerations(
        self, q: Array, v: Array, tau: Array, wrenches: Array, t: float = 0.0
    ) -> Array:
        """Return the accelerations (nv,) under forces and wrenches, loops closed."""
        self._hold(tau, wrenches)
        rate, risk = self._compiled_rate()(t, q, v, self.z)
        a = rate[self.model.nq :][: self.model.nv]
        if risk < STAGE_RISK and np.isfinite(a).all():
            return a.copy()
        return np.asarray(self.answer(q, v, tau, wrenches, t).a[0])

    def answer(self, q: Array, v: Array, tau: Array, wrenches: Array, t: float = 0.0) -> Answer:
        """Return accelerations (1, nv) and multipliers (1, m), at singular positions too."""
        whole = self.forces(q, v, tau, wrenches, t)
        wanted = self.trajectory.accelerations(np.array([t]))
        return self._accelerations(q[None], v[None], whole[None], wanted)

    def _hold(self, tau: Array, wrenches: Array) -> None:
        held, (torque, first) = self.trajectory.held, self._places
        held[torque] = tau
        held[first : first + wrenches.size] = wrenches.reshape(-1)

    def _compiled_rate(self) -> Rate:
        if self.rows not in self._rates:
            self._rates[self.rows] = Rate(self.trajectory, self.rows)
        return self._rates[self.rows]
