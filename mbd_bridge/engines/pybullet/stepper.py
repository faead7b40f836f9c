"""Our solver moves a body in a pybullet world; pybullet moves all others.

A step of h seconds, with pybullet and the mechanism in the same state (q, v):

1. pybullet's body gets the forces under which it would accelerate as the mechanism does without
   contact, and ``stepSimulation`` moves all bodies. Its contact solver sees our body's inertia, so
   the impulses that it finds are those of two moving bodies, not of one and a wall.
2. The contact forces of this step (impulse / h) become wrenches on our links, constant for h.
3. What else pybullet did to the body, its motors above all (`solver_forces`), acts on ours too.
4. Our equations take (q, v) through h with it, and the state is written into pybullet. What a
   script resets there before the next step is where that begins.

pybullet's motors bring their joints to a velocity, with which these go through the whole step. As
forces that are constant in a step they would reach it at its end, half a step late, and gains that
are stable there would not be. So the joints S that they drive jump at the step's begin by
Δv_S = h a_S, the others as M Δv = J, J_U = 0 has it; what remains of the motors' forces, which is
what holds the joints, is constant.

What the other body gets, ours gives: momentum is kept to rounding. Positions differ from pybullet's
own by what its integrator of first order leaves, O(h) altogether (guides/drop_in.md has figures).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from os import PathLike, fsdecode, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import flag
from mbd_bridge.base.errors import ModelError, SolveError, StateError, some, warn, whole_number
from mbd_bridge.engines.pybullet.client import Client
from mbd_bridge.engines.pybullet.loaded_body import SAME_STATE, LoadedBody
from mbd_bridge.engines.pybullet.solver_forces import Begun, Touch, TreeForces, inside, touches
from mbd_bridge.engines.quiet import quiet
from mbd_bridge.files import read
from mbd_bridge.files.sidecars import FLEXIBLE, FORCES, sidecar_path
from mbd_bridge.kernels import Single
from mbd_bridge.loads import JointLoads, LoadRequest, LoadSolver
from mbd_bridge.loads.convention import Point
from mbd_bridge.loads.options import At, In, On
from mbd_bridge.model import RANK_TOLERANCE, Model, build_model
from mbd_bridge.model.model import ROOT_JOINT
from mbd_bridge.model.spatial import Array, Frame, quaternion_matrix
from mbd_bridge.motion.warnings import left_out
from mbd_bridge.simulation.guards.messages import StepLengthError
from mbd_bridge.simulation.signals.parts import Torque as Forces
from mbd_bridge.simulation.start import start_state
from mbd_bridge.simulation.steps.schemes import CompiledIntegrator, Scheme
from mbd_bridge.simulation.steps.stepping import CoupledStep
from mbd_bridge.simulation.system import HasModel, System
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.dynamics import prepare, prepare_placements
from mbd_bridge.solve.wrenches import External, check_axes, links_of, pack_external

if TYPE_CHECKING:
    from mbd_bridge.applications.typed import OfStepper as Extended
else:
    from mbd_bridge.base.extensions import Extended

# Loads of joints at one state under wrenches on links that somebody else found.

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
        t: float,
    ) -> JointLoads:
        """Return the loads asked for at the accelerations that forces and wrenches give."""
        model = self.model
        answer = self._core.answer(q, v, tau, self.on_bodies(wrenches), t)
        form = replace(request, links=self._links).form
        if form not in self._solvers:
            self._solvers[form] = LoadSolver(model, form)
        solver = self._solvers[form]
        if form.convention != request.convention:
            solver = solver.at(request.convention.at)
        lam = answer.lam[0] if model.has_loops else None
        return solver(q, v, answer.a[0], self._in_links(q, wrenches), lam=lam, t=t)

    def _in_links(self, q: Array, wrenches: Wrenches) -> Array:
        """Return the wrenches (L, 6) at their links' origins, in their axes."""
        out = np.zeros((len(self._links), 6))
        for link, wrench in wrenches.items():
            frame = self.placement(q, link)
            moment = wrench[3:] - np.cross(frame.translation, wrench[:3])
            out[link, :3] = frame.rotation.T @ wrench[:3]
            out[link, 3:] = frame.rotation.T @ moment
        return out


SAME = 1e-6
"""How far pybullet's gravity may be from the mechanism's, m/s²."""

WITHOUT_ELEMENTS = (
    "the force elements of the machine's .forces.yaml do not act here; in "
    "Stepper(mbd.load(path), client, body) they do"
)

KEPT = "to let those of pybullet's body act: Stepper(..., release=False)"

SHORTER_HERE = "take more steps in one of pybullet's (substeps=), or a shorter setTimeStep"

FOLLOWS = 1e-6
"""How far a joint that mimics another may be from where that leads it, rad or m: files' digits."""

Torque = Forces | Callable[[float, Array, Array], ArrayLike]
"""Generalised forces: as for a simulation, or any function of (t, q, v), called once a step."""


class _Pushed(NamedTuple):
    """What a step was begun with.

    Attributes
    ----------
    tau : (nv,) generalised forces
    wrenches : that are given, on links
    world : frame of the mechanism's world in pybullet's
    h : s, the step
    begun : pybullet's tree, and the forces that it was given
    actuation : the same forces, by joint
    """

    tau: Array
    wrenches: dict[int, Array]
    world: Frame
    h: float
    begun: Begun
    actuation: dict[str, Array]


class Stepper(Extended):
    """Steps of a mechanism in a pybullet world, in place of ``stepSimulation``.

    Parameters
    ----------
    mechanism : a `Mechanism` (or its model) of the file that the body was loaded from; its force
        elements act (`Mechanism.forces`)
    client : number of the connection, from ``pybullet.connect``
    body : number of the body, from ``pybullet.loadURDF``
    q, v : state to start from; what pybullet's body has if not given
    substeps : steps of ours in one of pybullet's
    integrator : "rk4", or an implicit one as for `simulate`, with steps of fixed length
    release : take away the motors, damping and stops that pybullet's body has now; False: they act

    Attributes
    ----------
    body : pybullet's number of it, which all functions of pybullet take, and how its joints and
        links are numbered (`LoadedBody`)
    q, v, time : the state now, read-only (`reset` puts another); s
    tau : (nv,) generalised forces of the last step, those of pybullet's motors among them
    touches : what other bodies did to ours in the last step (see `Touch`)
    places : where each joint's forces are among those of pybullet's tree (`LoadedBody.tree`)
    after_step : functions of the stepper that are called after each step
    unread : by joint, forces of the last step that pybullet did not tell: torques and forces that
        a script applies there. They move the mechanism; `joint_loads` refuses after them

    Notes
    -----
    Motors that are set afterwards (``setJointMotorControl2`` and so on) act, with pybullet's gains
    and limits; states that are reset in pybullet are taken over before the next step.

    All that steps may need is compiled here, whatever they will touch; only loads are compiled at
    the first `joint_loads` of each choice of joints, which may come before the first step.

    Examples
    --------
    >>> stepper = Stepper(mbd.load("arm.urdf"), client, body)       # doctest: +SKIP
    >>> stepper.step(torque={"shoulder": 3.0})                      # doctest: +SKIP
    >>> stepper.joint_loads(["elbow"]).moment                       # doctest: +SKIP
    """

    def __init__(
        self,
        mechanism: HasModel | Model,
        client: int,
        body: int,
        *,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        substeps: int = 1,
        integrator: CompiledIntegrator | Scheme = "rk4",
        release: bool = True,
    ) -> None:
        substeps = whole_number("substeps", substeps)
        self.model = mechanism if isinstance(mechanism, Model) else mechanism.model
        self.client, self.substeps, self.time = Client(client), substeps, 0.0
        self.body = LoadedBody(self.model, self.client, body)
        self.body.need_states()
        system = System(mechanism)
        if flag("release", release):
            self.body.release_joints()
            unused = left_out(self.model, "this motion", system.replaced)
            if unused:
                warn(f"{unused}; {KEPT}")
        _check_elements(system, release)
        self.body.take_away_air()
        alike = self.body.warn_of_other_inertia()
        self._put(q, v)
        self._core = CoupledStep(system, self.q, self.v, integrator=integrator)
        self._loads = StepLoads(self.model, self._core)
        self._core.prepare()
        self._tree = TreeForces(self.body, released=release, alike=alike)
        self.places = self._tree.places
        self.after_step: list[Callable[[Stepper], object]] = []
        self._mass = prepare(self.model, "mass_matrix").single()

    @staticmethod
    def load(
        path: str | PathLike[str],
        client: int,
        *,
        floating: bool = False,
        position: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = (0.0, 0.0, 0.0, 1.0),
        flags: int = 0,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        substeps: int = 1,
        integrator: CompiledIntegrator | Scheme = "rk4",
        release: bool = True,
        rank_tolerance: float = RANK_TOLERANCE,
    ) -> Stepper:
        """Load a file into pybullet, with the inertia that it says, and step it.

        Parameters
        ----------
        path : URDF; loops come with it as everywhere
        position, orientation : of the root link in pybullet's world, m and (x, y, z, w)
        flags : of ``loadURDF``, besides URDF_USE_INERTIA_FROM_FILE, which is always set
        rank_tolerance : see `mbd_bridge.load`

        Notes
        -----
        The mechanism gets the gravity that pybullet has now: set it before. Links that bend
        (``NAME.flex.yaml``) are refused, and force elements (``NAME.forces.yaml``) do not act.
        """
        link = Client(client)
        check_beside(path)
        turn = np.asarray(orientation, dtype=np.float64)
        parameters = link.getPhysicsEngineParameters()
        frame = Frame.identity() if floating else Frame(quaternion_matrix(turn), np.zeros(3))
        gravity = gravity_in(frame, parameters)
        model = build_model(
            read(path), floating=floating, gravity=gravity, rank_tolerance=rank_tolerance
        )
        with quiet():
            body = link.loadURDF(
                fspath(path),
                basePosition=np.asarray(position, dtype=np.float64).tolist(),
                baseOrientation=turn.tolist(),
                useFixedBase=not floating,
                flags=flags | link.engine.URDF_USE_INERTIA_FROM_FILE,
            )
        return Stepper(
            model, client, body, q=q, v=v, substeps=substeps, integrator=integrator, release=release
        )

    def reset(self, q: ArrayLike | None = None, v: ArrayLike | None = None) -> None:
        """Put the mechanism into a state, in pybullet too; what is not given is read there."""
        self._put(q, v)
        self._core.choose(self.q, self.v)

    def _put(self, q: ArrayLike | None, v: ArrayLike | None) -> None:
        self.body.check()
        there = self.body.read()
        q, v = (x if given is None else given for x, given in zip(there, (q, v), strict=True))
        self.q, self.v = map(_kept, start_state(self.model, q, v))
        self.tau = np.zeros(self.model.nv)
        self.touches: tuple[Touch, ...] = ()
        self.unread: dict[str, Array] = {}
        self._pushed: _Pushed | None = None
        self._start: tuple[Array, Array, dict[int, Array], float] = self.q, self.v, {}, self.time
        self._write(self.q, self.v)

    def _write(self, q: Array, v: Array) -> None:
        self.body.write(q, v)
        self._written = self.body.opened(q, v)

    def _take_over(self) -> None:
        """Go on from the state that somebody has put pybullet's body into."""
        written, state = self._written, self.body.tree_state()
        moved = [np.abs(x - y) > SAME_STATE for x, y in zip(state, written, strict=False)]
        if not (moved[0].any() or moved[1].any()):
            return
        q, v = (
            np.where(other[lead], x[lead], own)
            for other, x, own, lead in zip(
                moved, state, (self.q, self.v), self.body.leaders, strict=False
            )
        )
        where = f"pybullet's body {self.body.number} was put into a state that the machine has not"
        for name, k in self.body.followers.items():
            follows = self.body.opened(q, v)[0][k]
            if moved[0][k] and abs(state.q[k] - follows) > FOLLOWS:
                raise StateError(
                    f"{where}: joint {name!r} is at {state.q[k]:.6g} and follows another one to "
                    f"{follows:.6g} (<mimic>); reset both, or the other one alone"
                )
        try:
            self.reset(q, v)
        except StateError as problem:
            raise StateError(f"{where}: {problem}") from None

    def step(
        self,
        torque: Torque = None,
        external: External | None = None,
        external_in: str = "link",
    ) -> None:
        """Advance the whole pybullet world by its time step.

        Parameters
        ----------
        torque : generalised forces along the velocities, constant in this step: by name, as (nv,),
            from a function of (t, q, v); a formula or a table of time by name, as for `simulate`
        external, external_in : wrenches on links beside those of contacts, as in `joint_loads`,
            at the place where the links are now; constant in this step
        """
        self.push(torque, external, external_in)
        self.client.stepSimulation()
        self.take()

    def push(
        self,
        torque: Torque = None,
        external: External | None = None,
        external_in: str = "link",
    ) -> None:
        """Do what `step` does before ``stepSimulation``; for worlds with several steppers."""
        self.body.check()
        self._take_over()
        world = self.body.world()
        h = self._time_step(world)
        tau, wrenches = self._forces(torque), self._wrenches(external, external_in)
        on_bodies = self._loads.on_bodies(wrenches)
        a = self._core.accelerations(self.q, self.v, tau, on_bodies, self.time)
        begun = self._tree.begin(self.q, self.v, a)
        actuation = {name: begun.forces[place] for name, place in self.places.items()}
        floating = self.model.floating
        base = self._loads.placement(self.q, 0) if floating else world
        self.body.push(actuation, actuation[ROOT_JOINT] if floating else np.zeros(0), base)
        self._pushed = _Pushed(tau, wrenches, world, h, begun, actuation)

    def take(self) -> None:
        """Do what `step` does after ``stepSimulation``."""
        if self._pushed is None:
            raise StateError("take() follows push() and pybullet's stepSimulation()")
        (tau, wrenches, world, h, begun, _), self._pushed = self._pushed, None
        q, v = self.q, self.v
        self.touches = touches(self.body, lambda link: world @ self._loads.placement(q, link))
        from_others: dict[int, Array] = {}
        for touch in self.touches:
            link = self.model.link_index[touch.link]
            from_others[link] = from_others.get(link, 0.0) + _about_origin(world, touch)
        touched = self._loads.on_bodies(from_others)
        if not np.all(np.isfinite(touched)):
            raise SolveError(
                f"pybullet's contact forces on body {self.body.number} are not finite: a mass or a "
                f"moment of inertia is 0 there, or a shape is broken"
            )
        driving = self._driving(begun, touched, h)
        on_bodies = self._loads.on_bodies(wrenches) + touched
        for link, wrench in from_others.items():
            wrenches[link] = wrenches.get(link, 0.0) + wrench
        self.tau, self._start = tau + driving, (q, v, wrenches, self.time)
        if driving.any():
            jump, impulse = self._jump(driving, on_bodies, h)
            v, tau = v + jump, self.tau - impulse / h
        for k in range(self.substeps):
            part = h / self.substeps
            try:
                q, v = self._core(q, v, tau, on_bodies, part, self.time + k * part)
            except StepLengthError as problem:
                raise StepLengthError(problem.finding, SHORTER_HERE) from None
        self.q, self.v, self.time = _kept(q), _kept(v), self.time + h
        self._write(q, v)
        for function in self.after_step:
            function(self)

    def _driving(self, begun: Begun, touched: Array, h: float) -> Array:
        """Return the generalised forces (nv,) of pybullet's solver in its last step."""
        state = self.body.tree_state()
        if not np.isfinite(state.v).all():
            raise SolveError(
                f"pybullet's velocities of body {self.body.number} are not finite: a moment of "
                f"inertia on which a motor acts is 0 there (it sets impossible ones to 0)"
            )
        given = inside(self.body)
        forces, self.unread = self._tree.after(begun, state, touched, h, given)
        return self.body.rates.T @ forces

    def _jump(self, driving: Array, on_bodies: Array, h: float) -> tuple[Array, Array]:
        """Return Δv (nv,) at the step's begin, and the impulse (nv,) that does it (see above)."""
        q, v, driven, free = self.q, self.v, driving != 0.0, driving == 0.0
        jump = h * self._core.accelerations(q, v, self.tau, on_bodies, self.time)
        if self.model.has_loops:
            units, still = np.eye(len(v))[driven], np.zeros_like(on_bodies)
            rest = self._core.accelerations(q, v, np.zeros_like(v), still, self.time)
            found = [
                self._core.accelerations(q, v, unit, still, self.time) - rest for unit in units
            ]
            response = np.array(found).T
            sizes, *_ = np.linalg.lstsq(response[driven], jump[driven], rcond=None)
            return response @ sizes, sizes @ units
        (M,) = self._mass.run(q)
        if free.any():
            jump[free] = -np.linalg.solve(M[free][:, free], M[free][:, driven] @ jump[driven])
        impulse = M @ jump
        impulse[free] = 0.0
        return jump, impulse

    def joint_loads(
        self,
        joints: Iterable[str] | str | None = None,
        *,
        on: On = "child",
        at: At | Point = "joint",
        in_: In = "child",
    ) -> JointLoads:
        """Return the loads of joints, tree or cut, under the forces of the last step.

        They belong to the state at which that step began, where pybullet has found its contacts.

        Parameters
        ----------
        joints : names; None for all
        on, at, in_ : see `loads.Convention`
        """
        if self.unread:
            raise StateError(
                f"pybullet moved body {self.body.number} by forces that it does not tell, along "
                f"{some(list(self.unread), 4)}, so where they act is not known: "
                f"give torques and forces by step(torque=, external=) instead of TORQUE_CONTROL "
                f"and applyExternalForce, or import mbd_bridge.engines.pybullet as pybullet"
            )
        q, v, wrenches, t = self._start
        forces = self._core.system.forces
        request = LoadRequest.of(
            self.model, joints, on=on, at=at, in_=in_, actuated=(), forces=forces
        )
        return self._loads(q, v, self.tau, wrenches, request, t)

    def __repr__(self) -> str:
        return f"Stepper({self.model.name!r}: body {self.body.number}, t = {self.time:.6g} s)"

    def _time_step(self, world: Frame) -> float:
        """Return pybullet's step, s; refuse what would not be the same physics."""
        settings = self.client.getPhysicsEngineParameters()
        if settings["useRealTimeSimulation"]:
            raise StateError("pybullet steps by itself: setRealTimeSimulation(0)")
        if settings["numSubSteps"] > 1:
            raise StateError(
                f"pybullet takes {settings['numSubSteps']} substeps a step and tells the contact "
                f"forces of the last one only: setPhysicsEngineParameter(numSubSteps=0) and a "
                f"shorter setTimeStep"
            )
        gravity = gravity_in(world, settings)
        if np.abs(gravity - self.model.gravity).max() > SAME:
            raise StateError(
                f"pybullet's gravity is {gravity.round(6).tolist()} m/s² in the mechanism's axes; "
                f"the mechanism's {self.model.gravity.tolist()}: "
                f"pybullet.setGravity(...), or mbd.load(..., gravity=...)"
            )
        return float(settings["fixedTimeStep"])

    def _forces(self, torque: Torque) -> Array:
        model = self.model
        given = torque(self.time, self.q, self.v) if callable(torque) else torque
        tau = np.zeros(model.nv)
        if isinstance(given, np.ndarray) and given.shape == tau.shape and given.dtype == float:
            tau[:] = given
        elif given is not None:
            system = System(model, torque=given, start=self.time, end=self.time)
            forces = Trajectory(system).stage.torque
            tau = tau if forces is None else forces(self.time, self.q, self.v)
        bad = np.flatnonzero(~np.isfinite(tau))
        if len(bad):
            name = model.velocity_names[bad[0]]
            raise StateError(f"torque: expected finite numbers, got {tau[bad[0]]} for {name!r}")
        return tau

    def _wrenches(self, external: External | None, external_in: str) -> dict[int, Array]:
        """Return wrenches on links about the world's origin, by link."""
        names, axes = links_of(external), check_axes(external_in)
        wrenches: dict[int, Array] = {}
        packed = pack_external(external or {}, names) if names else ()
        for name, wrench in zip(names, packed, strict=True):
            if wrench.shape != (6,) or not np.all(np.isfinite(wrench)):
                raise StateError(
                    f"external[{name!r}]: expected (6,) finite numbers, got {wrench!r:.80}"
                )
            link = self.model.link_number(name)
            frame = self._loads.placement(self.q, link)
            turn = frame.rotation if axes == "link" else np.eye(3)
            force = turn @ wrench[:3]
            moment = turn @ wrench[3:] + np.cross(frame.translation, force)
            wrenches[link] = np.concatenate([force, moment])
        return wrenches


def _kept(values: Array) -> Array:
    """Return an array that nobody writes to by mistake."""
    values.flags.writeable = False
    return values


def _check_elements(system: System, release: bool) -> None:
    """Refuse force elements that would act twice, or whose states loads cannot ask for."""
    if system.nz:
        raise ModelError(
            f"force elements with states of their own ({some([*system.states.names], 4)}) cannot "
            f"act in a Stepper: mechanism.with_forces(...) without them"
        )
    if system.replaced and not release:
        raise ModelError(
            "with release=False pybullet's damping and stops act, and force elements stand for "
            "those of the file: mechanism.with_forces(...) without these, or release=True"
        )


def check_beside(path: str | PathLike[str]) -> None:
    """Refuse links that bend, warn of force elements, in the files beside a robot's."""
    place = Path(fsdecode(path))
    if sidecar_path(place, FLEXIBLE).is_file():
        raise ModelError(
            f"links of {place.name} bend (its .flex.yaml), which a Stepper's do not; for the rigid "
            f"machine Stepper(mbd.load(path, flexible=()), client, pybullet.loadURDF(path, ...))"
        )
    if sidecar_path(place, FORCES).is_file():
        warn(WITHOUT_ELEMENTS)


def gravity_in(world: Frame, parameters: Mapping[str, Any]) -> Array:
    """Return pybullet's gravity (3,) in the axes of a mechanism's world, m/s²."""
    theirs = [parameters[f"gravityAcceleration{axis}"] for axis in "XYZ"]
    return np.asarray(world.rotation.T @ theirs)


def _about_origin(world: Frame, touch: Touch) -> Array:
    """Return a touch as a wrench about the origin of the mechanism's world, in its axes."""
    turn = world.rotation.T
    force, place = turn @ touch.force, turn @ (touch.position - world.translation)
    return np.concatenate([force, turn @ touch.moment + np.cross(place, force)])
