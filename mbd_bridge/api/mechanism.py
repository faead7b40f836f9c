"""The mechanism as its user holds it.

`Mechanism` is a model together with what was prepared for it so far: the first question of a kind
makes (or finds on disk) the machine code for it, later ones use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import flag, name_list
from mbd_bridge.base.errors import ModelError, StateError, unknown_name, warn
from mbd_bridge.base.extensions import extension
from mbd_bridge.base.options import complete, given, options_of, part, shows_options, with_options
from mbd_bridge.base.table import Table, Tabular
from mbd_bridge.forces.base import ForceElement, bound
from mbd_bridge.loads.options import (
    ConventionOptions,
    DynamicsOptions,
    ForceOptions,
    LoadOptions,
    RequestOptions,
)
from mbd_bridge.model import RANK_TOLERANCE, Cuts, Model, build_model, rebuilt
from mbd_bridge.model.description import Description
from mbd_bridge.model.flexible_links import with_flexible
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.prepared import Prepared

if TYPE_CHECKING:
    from mbd_bridge.api.loops import Loops
    from mbd_bridge.applications.typed import OfMechanism as Extended
    from mbd_bridge.base.assumptions import Assumption
    from mbd_bridge.kernels import Kernel
    from mbd_bridge.loads import JointLoads, LoadRequest, LoadSolver
    from mbd_bridge.model import Builder
    from mbd_bridge.model.flexible import FlexibleLink
    from mbd_bridge.model.parameters import Parameters, ParameterValues
    from mbd_bridge.motion import Motion
    from mbd_bridge.solve import ConstrainedDynamics, Dynamics
    from mbd_bridge.solve.wrenches import External
else:
    from mbd_bridge.base.extensions import Extended

Group = TypeVar("Group")

WORDS = {*options_of(ConventionOptions), "external_in"}
"""Options of `Mechanism.joint_loads` under which what was prepared before is found unread."""

NO_OPTIONS = part(DynamicsOptions, {})


class Mechanism(Tabular, Extended):
    """A mechanism to which questions are put.

    Attributes
    ----------
    model : the immutable `Model`
    forces : force elements that belong to it, from ``NAME.forces.yaml`` or `with_forces`. They act
        in simulations and count in loads and dynamics unless another `forces` is given there
    stated : what else is stated of it, in sidecars or by `with_actuators`, `with_bearings`: by
        the name of an extension in the group ``sidecars``
    prepared : what was made for it so far
    """

    def __init__(
        self,
        model: Model,
        forces: Iterable[ForceElement] = (),
        stated: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.model = model
        self.forces = bound(model, forces)
        self.prepared = Prepared(model)
        self.stated: dict[str, Any] = {
            name: extension("sidecars", name).bound(model, one)
            for name, one in stated.items()
            if one is not None
        }

    @staticmethod
    def build(
        source: Builder | Description,
        *,
        floating: bool = False,
        gravity: ArrayLike | None = None,
        cuts: Cuts = "authored",
        rank_tolerance: float = RANK_TOLERANCE,
    ) -> Mechanism:
        """Return the mechanism that a `Builder` has collected, or of any description.

        For the options see `load`.
        """
        from mbd_bridge.model import Builder

        description = source.description() if isinstance(source, Builder) else source
        model = build_model(
            description,
            floating=floating,
            gravity=gravity,
            cuts=cuts,
            rank_tolerance=rank_tolerance,
        )
        return Mechanism(model)

    @staticmethod
    def from_pinocchio(
        model: Any, constraints: Sequence[Any] = (), *, rank_tolerance: float = RANK_TOLERANCE
    ) -> Mechanism:
        """Return the mechanism of a ``pinocchio.Model``, its joints and frames by name.

        ``RigidConstraintModel``s become loop joints: balls (3-D) and welds (6-D).
        """
        from mbd_bridge.engines.pinocchio import from_pinocchio

        return Mechanism(from_pinocchio(model, constraints, rank_tolerance))

    def to_pinocchio(self) -> Any:
        """Return a ``pinocchio.Model`` with the same bodies, joints and gravity.

        Joints that mimic another are independent there, as in pinocchio's own reading by default.
        """
        from mbd_bridge.engines.pinocchio import to_pinocchio

        if any(body.coupled for body in self.model.bodies):
            warn("joints that mimic another are independent in the pinocchio model")
        return to_pinocchio(self.model).model

    # What it is

    @property
    def name(self) -> str:
        """Name of the mechanism."""
        return self.model.name

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.model.nq

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return self.model.nv

    @property
    def joint_names(self) -> tuple[str, ...]:
        """All joints of the tree, fixed ones too, without the root joint."""
        return tuple(joint.name for joint in self.model.joints[1:])

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the entries of q."""
        return self.model.coordinate_names

    def neutral(self) -> Array:
        """Return the coordinates with every joint in its zero position."""
        return self.model.neutral()

    @property
    def configurations(self) -> dict[str, Array]:
        """Named configurations of the file by name, each q (nq,): an MJCF's keyframes, group states
        of ``NAME.srdf``. Joints that one does not name stand at their neutral position.

        They are as the file says: loops that they leave open are closed by `assemble`.
        """
        return self.model.configurations

    @property
    def loops(self) -> Loops:
        """The loops: ``mechanism.loops.report(q)`` has `dof`, redundancy, singularity."""
        from mbd_bridge.api.loops import Loops

        return Loops(self.model)

    def tables(self) -> tuple[Table, ...]:
        """Return the joints; ``mbd info`` shows them, too."""
        from mbd_bridge.model.outline import joint_table

        return (replace(joint_table(self.model), title=repr(self)),)

    def __repr__(self) -> str:
        elements = f"; forces {', '.join(one.name for one in self.forces)}" if self.forces else ""
        return f"Mechanism({self.model.summary}{elements})"

    # The same machine with something else

    def with_payload(
        self,
        link: str,
        mass: float,
        centre: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike = (0.0, 0.0, 0.0),
    ) -> Mechanism:
        """Return the mechanism with a rigid body more, fixed to one of its links.

        Parameters
        ----------
        mass : kg
        centre : (3,) m, of its mass, in the link's frame
        inertia : (3,) principal moments or (3, 3) matrix, kg m², about its centre of mass, along
            the link's axes; none: a point mass
        """
        from mbd_bridge.model.builder import with_payload

        described = with_payload(self.model.description, link, mass, centre, inertia)
        return self._with(rebuilt(self.model, described))

    def with_flexible(self, links: Iterable[FlexibleLink]) -> Mechanism:
        """Return the mechanism with links that bend: coordinates ``LINK.mode1``, ... more."""
        description = with_flexible(self.model.description, links)
        return self._with(rebuilt(self.model, description))

    def with_forces(self, forces: Iterable[ForceElement]) -> Mechanism:
        """Return the mechanism with these force elements as its own, in place of those it has."""
        return self._with(self.model, forces)

    def as_planar(self, planar: bool = True) -> Mechanism:
        """Return the mechanism with loads out of its plane declared to be zero, or not.

        They are then determined, not undetermined. Where zero does not satisfy the balance, loads
        are refused with the residual. As ``planar: true`` in ``NAME.loops.yaml``.
        """
        described = replace(self.model.description, planar=flag("planar", planar))
        model = replace(self.model, description=described)
        if described.planar:
            from mbd_bridge.loads.planar import Plane

            Plane(model)  # or it says which joint leaves it
        return self._with(model)

    def stating(self, stated: Mapping[str, Any]) -> Mechanism:
        """Return the mechanism with these parts stated of it (`stated`) in place of its own."""
        return Mechanism(self.model, self.forces, {**self.stated, **stated})

    def _with(self, model: Model, forces: Iterable[ForceElement] | None = None) -> Mechanism:
        """Return another model's mechanism with all that is stated of this one's."""
        return Mechanism(model, self.forces if forces is None else forces, self.stated)

    def elements(self, forces: Iterable[ForceElement] | None) -> tuple[ForceElement, ...]:
        """Return force elements bound to the model: those given, or the mechanism's own."""
        if forces is None:
            return self.forces
        listed = tuple(forces) if isinstance(forces, tuple | list) else forces
        try:
            return self.prepared.get(("bound", listed), lambda: bound(self.model, listed))
        except TypeError:  # something in it has no hash: it is no element
            return bound(self.model, listed)

    # Loads

    @shows_options
    def joint_loads(
        self,
        q: ArrayLike | Motion,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        joints: Iterable[str | int] | str | None = None,
        *,
        t: ArrayLike | None = None,
        threads: int = 1,
        check: bool = True,
        **options: Unpack[LoadOptions],
    ) -> JointLoads:
        """Return force, moment and actuation of chosen joints at one state or at N states.

        Parameters
        ----------
        q, v, a : (nq,), (nv,), (nv,) or (N, ...): rad or m, and their rates; or a motion
            (`read_motion`) in the place of q, without v and a: then the loads know their times
        joints : names, of loop joints too; None for all. ``"root_joint"`` holds the root link
        t : s or (N,) s, for elements that depend on time; a motion knows its own
        threads : share the states among this many threads
        check : raise if a result is not finite, or a motion does not satisfy the loops or cannot
            be made by the actuators; False leaves what comes out
        **options : of the loads

        See Also
        --------
        load_history, compile, load_derivatives, worst_pose, simulate
        """
        motion = _motion_in(q)
        if motion is not None:
            if v is not None or a is not None:
                raise StateError("a motion has its own v and a: joint_loads(motion, joints=[...])")
            state: tuple[ArrayLike, ArrayLike, ArrayLike] = motion.q, motion.v, motion.a
        elif v is None or a is None:
            raise StateError("expected q, v, a or a motion (robot.read_motion); zeros(nv) is rest")
        else:
            state = cast(ArrayLike, q), v, a
        # a question in the words of an earlier one needs no reading
        plain = not options or options.keys() <= WORDS
        wording = (tuple(joints) if type(joints) is list else joints, *options.items())
        solver = self._asked_as(wording) if plain else None
        times = t if motion is None else motion.time
        packed: Array | None = None
        assumed: tuple[Assumption, ...] = ()
        if solver is None:
            from mbd_bridge.loads import LoadRequest

            chosen = complete(Mechanism.joint_loads, LoadOptions, options)
            elements = self.elements(chosen["forces"])
            asked = LoadRequest.with_wrenches(self.model, joints, chosen, elements, times, state)
            request, packed, assumed = asked
            solver = self.compile(request)
            if plain and _is_plain(wording):
                self.prepared.remember(wording, request)
        loads = solver(*state, packed, t=times, threads=threads, check=check)
        if assumed:
            loads = replace(loads, assumed=assumed)
        if motion is None:
            return loads
        from mbd_bridge.loads.uncertainty import with_uncertainty

        return with_uncertainty(solver, loads, motion, packed, threads)

    def _asked_as(self, wording: tuple[object, ...]) -> LoadSolver | None:
        """Return the solver of a question that was asked in the same words before."""
        try:
            known: LoadSolver | None = self.prepared.asked_as(wording)
        except TypeError:  # something in it has no hash
            return None
        return known

    @overload
    def compile(
        self,
        what: Literal["joint_loads"] | LoadRequest,
        joints: Iterable[str | int] | str | None = None,
        *,
        parameters: ParameterValues | Parameters | None = None,
        **options: Unpack[RequestOptions],
    ) -> LoadSolver: ...
    @overload
    def compile(
        self, what: Dynamics, *, links: Iterable[str] = (), q: ArrayLike | None = None
    ) -> Kernel: ...
    @with_options
    def compile(
        self,
        what: Literal["joint_loads"] | LoadRequest | Dynamics,
        joints: Iterable[str | int] | str | None = None,
        *,
        parameters: ParameterValues | Parameters | None = None,
        q: ArrayLike | None = None,
        **options: Unpack[RequestOptions],
    ) -> LoadSolver | Kernel:
        """Prepare machine code once, to evaluate it many times.

        ``compile("joint_loads", ["elbow"])`` gives a `LoadSolver`: ``solver(q, v, a).moment``. The
        name of a function of the dynamics gives its `Kernel`: ``compile("mass_matrix")(q)``. The
        ``single().run`` of both takes one state at a time, for control loops.

        Parameters
        ----------
        what : "joint_loads", or a `LoadRequest` that says all of it; "inverse_dynamics",
            "bias_forces", "mass_matrix", "forward_dynamics", "constraints", "centroid", or
            derivatives by q (along velocities), v and a or tau, "inverse_dynamics_derivatives" and
            "forward_dynamics_derivatives"; force elements have no part in them (`mbd.Equations` has
            kernels of all that acts)
        joints : of "joint_loads"; names, None for all
        parameters : of "joint_loads" of variants of the mechanism; see `LoadSolver`
        q : of "forward_dynamics" with loops, (nq,): where independent rows are chosen (None:
            nearest to zero); see `closed_kernel.kernel_of`
        **options : of the loads; kernels have `links` alone

        See Also
        --------
        joint_loads, compile_derivatives
        """
        from mbd_bridge.loads import LoadRequest, LoadSolver

        word = what if isinstance(what, str) else ""
        if not isinstance(what, LoadRequest) and word != "joint_loads":
            from mbd_bridge.solve.closed_kernel import kernel_of
            from mbd_bridge.solve.dynamics import FUNCTIONS

            if word not in FUNCTIONS:
                known = ("joint_loads", *FUNCTIONS)
                raise ModelError(f"what: {unknown_name('function', what, known)}")
            named = {"joints": joints is not None, "parameters": parameters is not None}
            named |= {name: name != "links" for name in given(RequestOptions, options)}
            for name in (name for name, is_wrong in named.items() if is_wrong):
                raise StateError(f"{name}: of joint_loads; {what} has links= and q=")
            links = name_list("links", options["links"], "links")
            return kernel_of(self.prepared, cast("Dynamics", what), links, q)
        if q is not None:
            raise StateError("q: of forward_dynamics; joint_loads are compiled for all positions")
        if not isinstance(what, LoadRequest):
            options["forces"] = self.elements(options["forces"])
            what = LoadRequest.of(self.model, joints, **options)
        form = what.form
        if parameters is not None:
            return LoadSolver(self.model, what, parameters)
        solver = self.prepared.get(form, lambda: LoadSolver(self.model, form))
        return solver if solver.request == what else solver.at(what.convention.at)

    # Dynamics

    @shows_options
    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external: External | None = None,
        *,
        t: ArrayLike | None = None,
        threads: int = 1,
        check: bool = True,
        **options: Unpack[DynamicsOptions],
    ) -> Array:
        """Return the generalised forces (nv,) or (N, nv) that give the accelerations a.

        They are what actuators must do beside gravity, `external` and the force elements. In a
        mechanism with loops only the actuated joints have any.

        Parameters
        ----------
        q, v, a, external, t, threads, check : see `joint_loads`; of wrenches numbers alone
        **options : what acts beside

        See Also
        --------
        joint_loads, forward_dynamics, bias_forces, inverse_dynamics_derivatives
        """
        asked = _asked(Mechanism.inverse_dynamics, DynamicsOptions, options)
        elements, external_in = self.elements(asked["forces"]), asked["external_in"]
        if self.model.has_loops:
            from mbd_bridge.solve.applied import Beside
            from mbd_bridge.solve.constrained import actuated_joints

            actuators = actuated_joints(self.model, asked["actuated"])
            beside = Beside(external, external_in, elements, t)
            return self.prepared.inverse(
                (q, v, a),
                beside,
                actuators,
                threads=threads,
                check=check,
                minimum_norm=asked["minimum_norm"],
            )
        inputs = {"q": q, "v": v, "a": a}
        tau = self.prepared.run("inverse_dynamics", inputs, external, external_in, threads, check)
        return tau - self.prepared.element_forces(elements, q, v, t)[0] if elements else tau

    @shows_options
    def bias_forces(
        self,
        q: ArrayLike,
        v: ArrayLike,
        external: External | None = None,
        *,
        t: ArrayLike | None = None,
        threads: int = 1,
        check: bool = True,
        **options: Unpack[ForceOptions],
    ) -> Array:
        """Return the generalised forces that give no acceleration.

        They hold gravity, what comes from velocities, `external` and the force elements.

        Parameters
        ----------
        q, v, external, t, threads, check : see `inverse_dynamics`
        **options : what acts beside
        """
        asked = _asked(Mechanism.bias_forces, ForceOptions, options)
        elements, external_in = self.elements(asked["forces"]), asked["external_in"]
        inputs = {"q": q, "v": v}
        h = self.prepared.run("bias_forces", inputs, external, external_in, threads, check)
        return h - self.prepared.element_forces(elements, q, v, t)[0] if elements else h

    def mass_matrix(self, q: ArrayLike, *, threads: int = 1, check: bool = True) -> Array:
        """Return M (nv, nv) or (N, nv, nv)."""
        return self.prepared.run("mass_matrix", {"q": q}, None, "link", threads, check)

    @shows_options
    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external: External | None = None,
        *,
        t: ArrayLike | None = None,
        threads: int = 1,
        check: bool = True,
        **options: Unpack[ForceOptions],
    ) -> Array:
        """Return the accelerations (nv,) or (N, nv) under the generalised forces tau, loops closed.

        The multipliers of the loops come with `constrained_dynamics`.

        Parameters
        ----------
        q, v, external, t, threads, check : see `inverse_dynamics`
        **options : what acts beside

        See Also
        --------
        simulate, constrained_dynamics, inverse_dynamics, mass_matrix
        """
        asked = _asked(Mechanism.forward_dynamics, ForceOptions, options)
        elements, external_in = self.elements(asked["forces"]), asked["external_in"]
        if elements:
            tau = (
                np.asarray(tau, dtype=np.float64)
                + self.prepared.element_forces(elements, q, v, t)[0]
            )
        inputs = {"q": q, "v": v, "tau": tau}
        return self.prepared.run("forward_dynamics", inputs, external, external_in, threads, check)

    def constrained_dynamics(
        self, links: Sequence[str] = (), actuated: Iterable[str] | None = None
    ) -> ConstrainedDynamics:
        """Return forward and inverse dynamics of the mechanism with its loops closed.

        Its force elements have no part in them.
        """
        from mbd_bridge.solve import ConstrainedDynamics

        numbers = tuple(map(self.model.link_number, name_list("links", links, "links")))
        return ConstrainedDynamics(self.model, numbers, actuated)

    # Kinematics

    # Motions and forces from files


def _asked(function: Callable[..., Any], group: type[Group], options: Mapping[str, Any]) -> Group:
    """Return all options of a call, quickly where it has none."""
    return complete(function, group, options) if options else cast(Group, NO_OPTIONS)


def _motion_in(states: object) -> Motion | None:
    """Return the motion that stands in the place of positions, if one does."""
    if isinstance(states, np.ndarray):
        return None
    from mbd_bridge.motion import Motion

    return states if isinstance(states, Motion) else None


def _is_plain(wording: tuple[object, ...]) -> bool:
    """Return whether nothing but the same words is equal to it: 1, True and 1.0 are."""
    joints, *options = wording
    names = joints if isinstance(joints, tuple) else () if joints is None else (joints,)
    words = [option[1] for option in options if isinstance(option, tuple)]
    return all(isinstance(word, str) for word in (*names, *words))
