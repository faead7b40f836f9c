"""The load in chosen joints, prepared once for a mechanism and evaluated for many states.

Only requested outputs are computed: tracing the recursion for some joints leaves only the
operations that their loads need (the papers' selected joints, found by the compiler).

In a mechanism with loops the multipliers of the cut joints come first (`solve.closed_inverse`), and
a component of a load is determined if no multiplier that the equations leave open changes it
(Wojtyra 2005; Wojtyra and Fraczek 2013).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import an_instance, flag
from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.base.options import complete, shows_options
from mbd_bridge.kernels import Kernel, Single
from mbd_bridge.kernels.tracing import Traceable
from mbd_bridge.loads.convention import Convention, Point
from mbd_bridge.loads.options import At, LoadsAtStates
from mbd_bridge.loads.planar import all_joints, declared_planar
from mbd_bridge.loads.request import LoadRequest
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.loads.selected import (
    LoadSelection,
    actuation_names,
    changes,
    select_joints,
    selected_loads,
)
from mbd_bridge.loads.uncertainty import with_uncertainty
from mbd_bridge.model import Model
from mbd_bridge.model.parameters import Parameters, ParameterValues
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.external import ExternalForces
from mbd_bridge.motion.motion import Motion
from mbd_bridge.solve import explain
from mbd_bridge.solve.applied import AppliedForces, check_stateless
from mbd_bridge.solve.check_states import unit_quaternions
from mbd_bridge.solve.closed_inverse import ClosedInverse
from mbd_bridge.solve.constrained import actuated_joints
from mbd_bridge.solve.loop_terms import PROBES, probes
from mbd_bridge.solve.model_kernel import variants_kernel
from mbd_bridge.solve.prepared import Answer, one_state
from mbd_bridge.solve.row_choice import row_choice
from mbd_bridge.solve.wrenches import pack_external

MotionState = tuple[ArrayLike, ArrayLike, ArrayLike]
"""q, v, a."""


class LoadSolver:
    """Force, moment and actuation of chosen joints of one mechanism, with or without loops.

    Parameters
    ----------
    model : the mechanism
    request : which loads (`Mechanism.compile` makes one of its arguments)
    parameters : masses, lengths and the like by name, (N,) or (N, 3) for N variants of the
        mechanism (`mechanism.parameters`); the last input of the kernels are theirs. Of a tree a
        call then gives the loads of all variants, at one state or each at its own

    Attributes
    ----------
    kernel : forces, moments, actuators, reactions. Its inputs are q, v, a; lam of loops; external
        of wrenches; t, s, of force elements that depend on time; point (3,), m, where the loads are
        given at a point; p of variants
    joints : names
    places : of each joint, its slice of the actuation
    links : link indices that carry external wrenches

    Examples
    --------
    >>> solver = robot.compile("joint_loads", ["elbow"])       # doctest: +SKIP
    >>> solver(q, v, a).moment                      # doctest: +SKIP
    """

    def __init__(
        self,
        model: Model,
        request: LoadRequest,
        parameters: ParameterValues | Parameters | None = None,
    ) -> None:
        an_instance("model", model, Model, "mechanism.model")
        an_instance("request", request, LoadRequest, "LoadRequest.of(model, joints, ...)")
        if parameters is not None and not isinstance(parameters, Parameters):
            parameters = Parameters.of(model, parameters)
        self.model, self.request, self.parameters = model, request, parameters
        closed = model.has_loops and not request.open_tree
        self.joints, asked = select_joints(model, request.joints, cuts=closed)
        self._selection = LoadSelection(asked, request.convention.form, request.reaction)
        self._names, self.places = actuation_names(model, asked)
        self.links = tuple(map(model.link_number, request.links))
        inputs = {"q": model.nq, "v": model.nv, "a": model.nv}
        if closed:
            inputs["lam"] = len(model.row_scale)
        self._applied = AppliedForces(
            self.links, request.external_in, request.forces, request.known
        )
        check_stateless(model, request.forces)
        inputs |= self._applied.inputs
        inputs |= {} if self.point is None else {"point": 3}
        outputs = ["force", "moment", "actuation"]
        if request.reaction:
            outputs += ["reaction_force", "reaction_moment"]

        self._what = asked, request.convention.form, request.reaction
        what = self._what, closed, self._applied
        self.kernel = variants_kernel(
            model, parameters, "joint_loads", inputs, outputs, self.function_of, what
        )
        self._actuated_joints: tuple[str, ...] | None = None
        if closed:
            self._actuated_joints = actuated_joints(model, request.actuated)
            self._changes = self._changes_kernel(parameters)
            self._noticed = row_choice(model).noticed

    def __reduce__(self) -> tuple[type[LoadSolver], tuple[Any, ...]]:
        """Return what makes it again: machine code does not travel, it is found or made there."""
        return LoadSolver, (self.model, self.request, self.parameters)

    @property
    def applied(self) -> AppliedForces:
        """What acts beside the actuators."""
        return self._applied

    def function_of(self, model: Model, applied: AppliedForces | None = None) -> Traceable:
        """Return the traceable function that gives the kernel's outputs, of a variant of the model.

        Parameters
        ----------
        applied : what acts; None: the solver's own
        """
        acts = self._applied if applied is None else applied
        closed = self.model.has_loops and not self.request.open_tree

        def function(q: Array, v: Array, a: Array, *rest: Array) -> tuple[Array, ...]:
            lam, rest = (rest[0], rest[1:]) if closed else (None, rest)
            external, _, within = acts.at(model, q, v, *rest)
            return selected_loads(model, self._at(*rest), q, v, a, external, lam, within)

        return function

    @property
    def convention(self) -> Convention:
        """On which body, at which point, in which axes the loads are given."""
        return self.request.convention

    def at(self, point: At | Point) -> LoadSolver:
        """Return the solver for loads at another point of the child links, with the same code.

        Parameters
        ----------
        point : (x, y, z) m, in the child link's frame; of a solver that was made for a point
        """
        how = self.convention
        moved = Convention.of(how.on, point, how.in_)
        if isinstance(how.at, str) or isinstance(moved.at, str):
            raise ModelError(
                f"at: this solver gives loads at {how.at!r}, not at a point of the child; prepare "
                f"one with robot.compile('joint_loads', ..., at=(x, y, z))"
            )
        other = object.__new__(LoadSolver)
        own = {"request": replace(self.request, convention=moved), "_one_state": self._one_state}
        other.__dict__.update(self.__dict__ | own)
        other.__dict__.pop("_quick", None)  # it has the point
        return other

    @property
    def point(self) -> Array | None:
        """The point (3,) at which the loads are given, an input of the kernels; None: no point."""
        place = self.convention.at
        return None if isinstance(place, str) else np.array(place)

    @property
    def more(self) -> list[Array]:
        """What the kernels take behind the state."""
        return [] if self.point is None else [self.point]

    def _at(self, *inputs: Array) -> LoadSelection:
        """Return the selection at the point that is the last of some inputs, if it has one."""
        selection = self._selection
        if isinstance(selection.convention.at, str):
            return selection
        x, y, z = inputs[-1]
        return replace(selection, convention=replace(selection.convention, at=(x, y, z)))

    @shows_options
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external: ArrayLike | None = None,
        **options: Unpack[LoadsAtStates],
    ) -> JointLoads:
        """Return the loads at one state, or at N states.

        Parameters
        ----------
        q, v, a : (n,) or (N, n) coordinates, velocities, accelerations; they satisfy the loops
        external : (L, 6) or (N, L, 6) force (N) and moment (N m) on each of `links`, at the
            link's origin, in the axes that the solver was prepared for
        **options : of the call
        """
        threads = options.get("threads", 1)
        plain = options.get("lam") is None and options.get("check", True) is True
        plain = plain and external is None and type(threads) is int and threads == 1
        if plain and self._quick is not None:
            loads = self._quick(q, v, a)
            if loads is not None:
                return loads
        return self.with_inputs((q, v, a), external, options)[0]

    def with_inputs(
        self, state: MotionState, external: ArrayLike | None, given: LoadsAtStates
    ) -> tuple[JointLoads, tuple[ArrayLike, ...]]:
        """Return the loads as a call gives them, and the inputs of the kernel that they are of."""
        options = complete(LoadSolver.__call__, LoadsAtStates, given)
        lam, threads = options["lam"], options["threads"]
        (_, v, a), t = state, options["t"]
        check = flag("check", options["check"])
        inputs = self.inputs(state, external, t, check)
        own_q, pushes = inputs["q"], {name: inputs.pop(name) for name in self._applied.inputs}
        flags: tuple[Array, ...] | None = None
        solved: Array | None = None
        efforts: Array | None = None
        if self._actuated_joints is not None and self.parameters is not None:
            raise ModelError(
                "the multipliers of variants with loops come from their simulation: ask "
                "robot.simulate(..., parameters=...).joint_loads(joints)"
            )
        if self._actuated_joints is not None:
            found = self.inverse(
                own_q,
                v,
                a,
                *pushes.values(),
                threads=threads,
                check=check and lam is None,
                minimum_norm=self.request.minimum_norm,
            )
            inputs["lam"] = found.lam if lam is None else lam
            efforts = found.tau if lam is None else None
            if lam is None and self.inverse.spins:
                inputs["a"] = solved = found.a
            flags = self._flags(own_q, found.open, threads)
        elif lam is not None:
            raise StateError("lam: this mechanism has no loops (or they were left open)")
        inputs |= pushes
        more = self.more
        if self.parameters is not None:
            more.append(self.parameters.inputs)
        outputs, finite = self.kernel.run(*inputs.values(), *more, threads=threads)
        if check and not finite:
            explain(self.model, inputs, *outputs)
        result = self.result(outputs, flags)
        if self.all_joints is not None:
            whole, _ = self.all_joints.kernel.run(*inputs.values(), threads=threads)
            result = declared_planar(self.all_joints, result, whole, check)
        result = result if efforts is None else replace(result, efforts=efforts)
        result = result if solved is None else self.with_spins(result, solved)
        return result, (*inputs.values(), *more)

    def with_spins(self, loads: JointLoads, a: Array) -> JointLoads:
        """Return loads that name the links that spin freely, if some do, with all accelerations."""
        spins = tuple(spin.name for spin in self.inverse.spins)
        return replace(loads, spins=spins, a=a) if spins else loads

    def inputs(
        self, state: MotionState, external: ArrayLike | None, t: ArrayLike | None, check: bool
    ) -> dict[str, ArrayLike]:
        """Return the inputs of the kernel by name, but for multipliers, point and parameters."""
        q, v, a = state
        own_q = unit_quaternions(self.model, q) if flag("check", check) else q
        pushes: tuple[Array, ...] = ()
        if self.links:
            pushes = (self.request.packed(external),)
        elif external is not None:
            raise StateError(
                "external: this solver was prepared for no wrenches; name the links that carry "
                "them in links=[...]"
            )
        pushes += self._applied.times(t)
        return {"q": own_q, "v": v, "a": a, **dict(zip(self._applied.inputs, pushes, strict=True))}

    def along(
        self, motion: Motion, external: ExternalForces | None = None, *, threads: int = 1
    ) -> JointLoads:
        """Return the loads along a motion, with their times.

        Parameters
        ----------
        external : forces on `links`, for which the solver was made in the links' axes
        """
        loads = self.at_states(motion, external, threads=threads)
        pushes = partial(self.pushes, external)
        return with_uncertainty(self, loads, motion, pushes, threads)

    def at_states(
        self,
        motion: Motion,
        external: ExternalForces | None = None,
        *,
        threads: int = 1,
        check: bool = True,
    ) -> JointLoads:
        """Return the loads at the states of a motion, as those of `along` without its noise."""
        motion = an_instance("motion", motion, Motion, "robot.read_motion(...)")
        pushes, states = self.pushes(external, motion), (motion.q, motion.v, motion.a)
        loads = self(*states, pushes, t=motion.time, threads=threads, check=check)
        if external is None or not check:
            return loads
        use = external.use(motion.time, motion.q, motion.v)
        return replace(loads, assumed=use.assumed, external_use=use)

    def pushes(self, external: ExternalForces | None, motion: Motion) -> Array | None:
        """Return the wrenches on `links` along a motion."""
        if external is None:
            return None
        an_instance("external", external, ExternalForces, "robot.read_external(...)")
        wrenches = external.along(motion.time, motion.q, motion.v)
        return pack_external(wrenches, self.request.links)

    @property
    def closed(self) -> Model | None:
        """The machine whose loops all states close; None: there are none, or they are left open."""
        return self.model if self._actuated_joints is not None else None

    def single(self) -> Single:
        """Return the fastest way for one state at a time, as in a control loop.

        ``run(q, v, a)`` of the result returns force (J, 3), moment (J, 3) and actuation (F,):
        always the same arrays, overwritten by the next call, unchecked for nan. Of a machine with
        loops it takes the multipliers of the loops too: ``run(q, v, a, lam)``; then the wrenches on
        `links` and the point, where the solver was made for them (see `kernel`).
        """
        return self.kernel.single()

    @cached_property
    def all_joints(self) -> LoadSolver | None:
        """What gives the loads of all joints, of a machine that is declared planar: those out of
        its plane are zero. Of an open tree they are determined.
        """
        planar = self.model.description.planar and not self.request.open_tree
        if not planar or self.parameters is not None:
            return None
        return LoadSolver(self.model, all_joints(self.model, self.request))

    @cached_property
    def _one_state(self) -> Answer:
        return one_state(self.model, self.kernel, 3)

    @cached_property
    def _quick(self) -> Callable[[ArrayLike, ArrayLike, ArrayLike], JointLoads | None] | None:
        """What gives the loads at one state if nothing is to be solved, converted or explained."""
        if (
            self._actuated_joints is not None
            or self._applied.inputs
            or self.parameters
            or self.request.reaction
            or self.all_joints is not None
        ):
            return None
        shared = vars(self.result(tuple(map(np.zeros, self.kernel.shapes))))
        run, more = self._one_state, self.more

        def quick(q: ArrayLike, v: ArrayLike, a: ArrayLike) -> JointLoads | None:
            found = run(q, v, a, *more)
            if found is None:
                return None
            loads = object.__new__(JointLoads)  # the frozen one's own way takes a microsecond
            facts = loads.__dict__
            facts.update(shared)
            facts["force"], facts["moment"], facts["actuation"] = found
            return loads

        return quick

    @cached_property
    def inverse(self) -> ClosedInverse:
        """What gives the multipliers of closed loops."""
        assert self._actuated_joints is not None, "there are loops"
        return ClosedInverse(self.model, self._actuated_joints, self._applied)

    def _changes_kernel(self, parameters: Parameters | None) -> Kernel:
        """Return the kernel of the squares of what open multipliers do (`changes`)."""
        rows = len(self.model.row_scale)
        inputs = {"q": self.model.nq, "open": PROBES * rows}
        inputs |= {} if self.point is None else {"point": 3}
        outputs = ("wrench", "actuation", "reaction")[: 3 if self.request.reaction else 2]
        name, what = "open_loads", self._what
        make = self.changes_of
        return variants_kernel(self.model, parameters, name, inputs, outputs, make, what)

    def changes_of(self, model: Model) -> Traceable:
        """Return the traceable function of q, open multipliers and the point: `changes`."""
        rows = len(self.model.row_scale)

        def function(q: Array, opened: Array, *point: Array) -> tuple[Array, ...]:
            each = [opened[k * rows : (k + 1) * rows] for k in range(PROBES)]
            return changes(model, self._at(*point), q, each)

        return function

    def flags(self, q: ArrayLike, basis: Array, *more: ArrayLike) -> tuple[Array, ...]:
        """Return which components (J, 6), actuators (F,) and reactions are determined at one
        position.

        Parameters
        ----------
        basis : (m, r) of the multipliers that are open there
            (`solve.constrained.undetermined_multipliers`)
        more : parameters of the variant, where the solver was made for variants
        """
        scale = self.model.row_scale
        free = np.linalg.qr(basis * scale[:, None])[0]
        opened = probes(len(scale)) @ free @ free.T / scale
        return self.determined(self._changes(q, opened.reshape(-1), *self.more, *more))

    def _flags(self, q: ArrayLike, opened: Array, threads: int) -> tuple[Array, ...]:
        """Return which components (..., J, 6), actuators (..., F) and reactions are determined."""
        flat = opened.reshape(*opened.shape[:-2], PROBES * opened.shape[-1])
        return self.determined(self._changes(q, flat, *self.more, threads=threads))

    def determined(self, squares: tuple[Array, ...]) -> tuple[Array, ...]:
        """Return which components, actuators and reactions are determined, of their `changes`."""
        return tuple(~(square > self._noticed**2) for square in squares)

    def result(
        self, outputs: tuple[Array, ...], flags: tuple[Array, ...] | None = None
    ) -> JointLoads:
        """Return the kernel's outputs with their names, flags (None: all true) and convention."""
        force, moment, actuation, *reaction = outputs
        shapes = (*force.shape[:-1], 6), actuation.shape, (*force.shape[:-1], 6)
        given = flags or (np.ones((), dtype=bool),) * 3
        flags = tuple(map(np.broadcast_to, given, shapes))
        own_force, own_moment, own_flags = (*reaction, flags[2]) if reaction else (None,) * 3
        return JointLoads(
            self.joints,
            force,
            moment,
            actuation,
            self._names,
            self.places,
            flags[0],
            flags[1],
            self.convention,
            own_force,
            own_moment,
            own_flags,
            self.model,
            request=self.request,
        )
