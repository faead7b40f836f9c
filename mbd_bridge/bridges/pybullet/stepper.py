"""Our solver moves a body in a pybullet world; pybullet moves all others.

A step of h seconds, with pybullet and the mechanism in the same state (q, v):

1. pybullet's body gets the forces under which it would accelerate as the mechanism does without
   contact, and ``stepSimulation`` moves all bodies. Its contact solver sees our body's inertia, so
   the impulses that it finds are those of two moving bodies, not of one and a wall.
2. The contact forces of this step (impulse / h) become wrenches on our links, constant for h.
3. Our equations take (q, v) through h with them, and the state is written into pybullet.

What the other body gets, ours gives: momentum is kept to rounding. Positions differ from pybullet's
own by what its integrator of first order leaves, O(h) altogether (docs/drop_in.md has figures).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike, fsdecode, fspath
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.bridges.pybullet.client import Client
from mbd_bridge.bridges.pybullet.contacts import Touch, touches
from mbd_bridge.bridges.pybullet.loaded_body import LoadedBody
from mbd_bridge.bridges.pybullet.step_loads import StepLoads
from mbd_bridge.bridges.quiet import quiet
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.errors import ModelError, SolveError, StateError, warn, whole_number
from mbd_bridge.formats import flex_sidecar, forces_sidecar, read
from mbd_bridge.formats.sidecar import sidecar_path
from mbd_bridge.kernels import Single
from mbd_bridge.lazy import cached_property
from mbd_bridge.loads import JointLoads, LoadRequest
from mbd_bridge.loads.convention import At, In, On, Point
from mbd_bridge.mechanism import RANK_TOLERANCE, Model, build_model
from mbd_bridge.mechanism.model import ROOT_JOINT
from mbd_bridge.motions.warnings import warn_left_out
from mbd_bridge.simulate.inputs.torques import Torque as Forces
from mbd_bridge.simulate.run.start import start_state
from mbd_bridge.simulate.steps.coupled import CoupledStep
from mbd_bridge.simulate.steps.schemes import CompiledIntegrator, Scheme
from mbd_bridge.simulate.system import System
from mbd_bridge.simulate.trajectory import Trajectory
from mbd_bridge.solve.model_kernel import model_kernel
from mbd_bridge.solve.wrenches import External, check_axes, links_of, pack_external
from mbd_bridge.spatial import Array, Frame, quaternion_matrix

SAME = 1e-6
"""How far pybullet's gravity may be from the mechanism's, m/s²."""

WITHOUT_ELEMENTS = "force elements of the machine do not act in a Stepper"

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
    actuation : what pybullet's joints were given, by name
    """

    tau: Array
    wrenches: dict[int, Array]
    world: Frame
    h: float
    actuation: dict[str, Array]


class HasModel(Protocol):
    """A mechanism as its user holds it."""

    model: Model


class Stepper:
    """Steps of a mechanism in a pybullet world, in place of ``stepSimulation``.

    Parameters
    ----------
    mechanism : a `Mechanism` (or its model) of the file that the body was loaded from
    client : number of the connection, from ``pybullet.connect``
    body : number of the body, from ``pybullet.loadURDF``
    q, v : state to start from; what pybullet's body has if not given
    substeps : steps of ours in one of pybullet's
    integrator : "rk4", or an implicit one as for `simulate`, with steps of fixed length

    Attributes
    ----------
    q, v, time : the state now, read-only (`reset` puts another); s
    tau : (nv,) generalised forces of the last step
    touches : what other bodies did to ours in the last step (see `Touch`)

    Notes
    -----
    Motors, damping and stops of pybullet's body are taken away: torques come through `step`.

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
    ) -> None:
        substeps = whole_number("substeps", substeps)
        self.model = mechanism if isinstance(mechanism, Model) else mechanism.model
        self.client, self.substeps, self.time = Client(client), substeps, 0.0
        self.body = LoadedBody(self.model, self.client, body)
        self.body.need_states()
        self.body.release_joints()
        self.body.warn_of_other_inertia()
        warn_left_out(self.model)
        if getattr(mechanism, "forces", ()):
            warn(WITHOUT_ELEMENTS)
        self._put(q, v)
        self._core = CoupledStep(self.model, self.q, self.v, integrator=integrator)
        self._loads = StepLoads(self.model, self._core)
        self._core.prepare()
        self._actuation = _actuation(self.model)

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
        (``NAME.flex.yaml``) are refused.
        """
        link = Client(client)
        _check_beside(path)
        turn = np.asarray(orientation, dtype=np.float64)
        parameters = link.getPhysicsEngineParameters()
        gravity = _gravity(parameters)
        if not floating:
            gravity = quaternion_matrix(turn).T @ gravity
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
        return Stepper(model, client, body, q=q, v=v, substeps=substeps, integrator=integrator)

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
        self._pushed: _Pushed | None = None
        self._start: tuple[Array, Array, dict[int, Array]] = self.q, self.v, {}
        self.body.write(self.q, self.v)

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
        world = self.body.world()
        h = self._time_step(world)
        tau, wrenches = self._forces(torque), self._wrenches(external, external_in)
        on_bodies = self._loads.on_bodies(wrenches)
        a = self._core.accelerations(self.q, self.v, tau, on_bodies, self.time)
        (found,) = self._actuation.run(self.q, self.v, a)
        actuation = {name: found[place].copy() for name, place in self._places.items()}
        base = self._loads.placement(self.q, 0) if self.model.floating else world
        self.body.push(actuation, actuation[ROOT_JOINT], base)
        self._pushed = _Pushed(tau, wrenches, world, h, actuation)

    def take(self) -> None:
        """Do what `step` does after ``stepSimulation``."""
        if self._pushed is None:
            raise StateError("take() follows push() and pybullet's stepSimulation()")
        (tau, wrenches, world, h, _), self._pushed = self._pushed, None
        q, v = self.q, self.v
        self.touches = touches(self.body, lambda link: world @ self._loads.placement(q, link))
        for touch in self.touches:
            link = self.model.link_index[touch.link]
            wrenches[link] = wrenches.get(link, 0.0) + _about_origin(world, touch)
        self.tau, self._start = tau, (q, v, wrenches)
        on_bodies = self._loads.on_bodies(wrenches)
        if not np.all(np.isfinite(on_bodies)):
            raise SolveError(
                f"pybullet's contact forces on body {self.body.number} are not finite: a mass or a "
                f"moment of inertia is 0 there, or a shape is broken"
            )
        for k in range(self.substeps):
            part = h / self.substeps
            q, v = self._core(q, v, tau, on_bodies, part, self.time + k * part)
        self.q, self.v, self.time = _kept(q), _kept(v), self.time + h
        self.body.write(q, v)

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
        q, v, wrenches = self._start
        request = LoadRequest.of(self.model, joints, on=on, at=at, in_=in_, actuated=())
        return self._loads(q, v, self.tau, wrenches, request)

    def __repr__(self) -> str:
        return f"Stepper({self.model.name!r}: body {self.body.number}, t = {self.time:.6g} s)"

    def _time_step(self, world: Frame) -> float:
        """Return pybullet's step, s; refuse what would not be the same physics."""
        found = self.client.getPhysicsEngineParameters()
        if found["useRealTimeSimulation"]:
            raise StateError("pybullet steps by itself: setRealTimeSimulation(0)")
        if found["numSubSteps"] > 1:
            raise StateError(
                f"pybullet takes {found['numSubSteps']} substeps a step and tells the contact "
                f"forces of the last one only: setPhysicsEngineParameter(numSubSteps=0) and a "
                f"shorter setTimeStep"
            )
        gravity = world.rotation.T @ _gravity(found)
        if np.abs(gravity - self.model.gravity).max() > SAME:
            raise StateError(
                f"pybullet's gravity is {_gravity(found).tolist()} m/s², in the mechanism's axes "
                f"{gravity.round(6).tolist()}; the mechanism's {self.model.gravity.tolist()}: "
                f"pybullet.setGravity(...), or mbd.load(..., gravity=...)"
            )
        return float(found["fixedTimeStep"])

    def _forces(self, torque: Torque) -> Array:
        model = self.model
        given = torque(self.time, self.q, self.v) if callable(torque) else torque
        forces = Trajectory(
            System(model, torque=given, start=self.time, end=self.time)
        ).stage.torque
        if forces is None:
            return np.zeros(model.nv)
        tau = forces(self.time, self.q, self.v)
        bad = np.flatnonzero(~np.isfinite(tau))
        if len(bad):
            name = model.velocity_names[bad[0]]
            raise StateError(f"torque: expected finite numbers, got {tau[bad[0]]} for {name!r}")
        return tau

    def _wrenches(self, external: External | None, external_in: str) -> dict[int, Array]:
        """Return wrenches on links about the world's origin, by link."""
        names, axes = links_of(external), check_axes(external_in)
        found: dict[int, Array] = {}
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
            found[link] = np.concatenate([force, moment])
        return found

    @cached_property
    def _places(self) -> dict[str, slice]:
        """Where each moving joint's actuators are among those of all bodies."""
        found, start = {}, 0
        for body in self.model.bodies:
            found[self.model.joints[body.joint].name] = slice(start, start + body.type.nv)
            start += body.type.nv
        return found


def _actuation(model: Model) -> Single:
    """Return what tells forces along every joint's own degrees of freedom, of mimics and the root
    too.
    """
    joints = [body.joint for body in model.bodies]

    def function(q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        return (np.concatenate(recursive_loads(model, q, v, a, joints).actuation),)

    inputs, outputs = {"q": model.nq, "v": model.nv, "a": model.nv}, ("actuation",)
    what = "actuators of every joint"
    return model_kernel(model, "actuation", inputs, outputs, function, what).single()


def _kept(values: Array) -> Array:
    """Return an array that nobody writes to by mistake."""
    values.flags.writeable = False
    return values


def _check_beside(path: str | PathLike[str]) -> None:
    """Refuse links that bend, warn of force elements, in the files beside a robot's."""
    place = Path(fsdecode(path))
    if sidecar_path(place, flex_sidecar.SUFFIX).is_file():
        raise ModelError(
            f"links of {place.name} bend (its .flex.yaml), which a Stepper's do not; for the rigid "
            f"machine Stepper(mbd.load(path, flexible=()), client, pybullet.loadURDF(path, ...))"
        )
    if sidecar_path(place, forces_sidecar.SUFFIX).is_file():
        warn(WITHOUT_ELEMENTS)


def _gravity(parameters: Mapping[str, Any]) -> Array:
    return np.array([parameters[f"gravityAcceleration{axis}"] for axis in "XYZ"])


def _about_origin(world: Frame, touch: Touch) -> Array:
    """Return a touch as a wrench about the origin of the mechanism's world, in its axes."""
    turn = world.rotation.T
    force, place = turn @ touch.force, turn @ (touch.position - world.translation)
    return np.concatenate([force, turn @ touch.moment + np.cross(place, force)])
