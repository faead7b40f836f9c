"""The mechanism as its user holds it.

`Mechanism` is a model together with what was prepared for it so far: the first question of a kind
makes (or finds on disk) the machine code for it, later ones use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.api.histories import HistoryOptions, HistoryRequest
from mbd_bridge.api.loops import Loops
from mbd_bridge.base.arguments import file_path, finite_numbers, flag, name_list
from mbd_bridge.base.assumptions import Assumption
from mbd_bridge.base.errors import ModelError, StateError, real_number, unknown_name, warn
from mbd_bridge.base.extensions import extension
from mbd_bridge.base.options import complete, given, options_of, part, shows_options, with_options
from mbd_bridge.base.table import Table, Tabular
from mbd_bridge.equations.cartesian import link_velocity, placement
from mbd_bridge.equations.centroid import Centroid
from mbd_bridge.equations.frames import FrameKinematics, Reference
from mbd_bridge.files.tables import read_table
from mbd_bridge.files.whole_file import inputs_kept
from mbd_bridge.forces.base import ForceElement, bound
from mbd_bridge.kernels import Kernel, is_traced
from mbd_bridge.loads import JointLoads, LoadRequest, LoadSolver, loads_from_table
from mbd_bridge.loads.convention import Plane as PlaneName
from mbd_bridge.loads.observers import Observer
from mbd_bridge.loads.options import (
    ConventionOptions,
    DynamicsOptions,
    ForceOptions,
    LoadOptions,
    RequestOptions,
    WorkspaceOptions,
    WorstPoseOptions,
)
from mbd_bridge.loads.planar import Plane
from mbd_bridge.loads.poses.workspace import Workspace
from mbd_bridge.loads.poses.worst import WorstPoses, worst_pose
from mbd_bridge.loads.streaming import LoadHistory
from mbd_bridge.loads.uncertainty import with_uncertainty
from mbd_bridge.model import RANK_TOLERANCE, Builder, Cuts, Model, build_model, rebuilt
from mbd_bridge.model.builder import with_payload
from mbd_bridge.model.description import Description
from mbd_bridge.model.flexible import FlexibleLink
from mbd_bridge.model.flexible_links import with_flexible
from mbd_bridge.model.outline import joint_table
from mbd_bridge.model.parameters import Parameters, ParameterValues
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion import Motion, Reading, motion_from_file, pieces_from_file
from mbd_bridge.motion.external import ExternalForces, external_from_file
from mbd_bridge.motion.external.forces import force_on_link
from mbd_bridge.motion.frames import Frames, centroid_at, kinematics_of
from mbd_bridge.motion.inverse import InversePath
from mbd_bridge.motion.motion import motion_from_arrays
from mbd_bridge.motion.options import (
    REACHED,
    ExternalReadingOptions,
    InverseKinematicsOptions,
    ReadingOptions,
)
from mbd_bridge.motion.partial import complete_columns
from mbd_bridge.motion.path import inverse_kinematics
from mbd_bridge.motion.reading import CompletionOptions
from mbd_bridge.motion.smoothing import Smooth, Smoothing
from mbd_bridge.solve import Assembly, ConstrainedDynamics, Dynamics, assemble
from mbd_bridge.solve.applied import Beside
from mbd_bridge.solve.assembly import Assemblies, InitialGuess, InitialGuesses, assemble_batch
from mbd_bridge.solve.closed_kernel import kernel_of
from mbd_bridge.solve.constrained import actuated_joints
from mbd_bridge.solve.dynamics import FUNCTIONS
from mbd_bridge.solve.options import AssemblyOptions, BatchAssemblyOptions
from mbd_bridge.solve.prepared import Prepared
from mbd_bridge.solve.wrenches import Axes, External

if TYPE_CHECKING:
    from mbd_bridge.applications.typed import OfMechanism as Extended
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
        return Loops(self.model)

    def tables(self) -> tuple[Table, ...]:
        """Return the joints; ``mbd info`` shows them, too."""
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
        if isinstance(q, Motion):
            if v is not None or a is not None:
                raise StateError("a motion has its own v and a: joint_loads(motion, joints=[...])")
            motion: Motion | None = q
            state: tuple[ArrayLike, ArrayLike, ArrayLike] = q.q, q.v, q.a
        elif v is None or a is None:
            raise StateError("expected q, v, a or a motion (robot.read_motion); zeros(nv) is rest")
        else:
            motion, state = None, (q, v, a)
        # a question in the words of an earlier one needs no reading
        plain = not options or options.keys() <= WORDS
        wording = (tuple(joints) if type(joints) is list else joints, *options.items())
        solver = self._asked_as(wording) if plain else None
        times = t if motion is None else motion.time
        packed: Array | None = None
        assumed: tuple[Assumption, ...] = ()
        if solver is None:
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
        return loads if motion is None else with_uncertainty(solver, loads, motion, packed, threads)

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
        """
        known = ("joint_loads", *FUNCTIONS)
        if not isinstance(what, LoadRequest) and not (isinstance(what, str) and what in known):
            raise ModelError(f"what: {unknown_name('function', what, known)}")
        if not isinstance(what, LoadRequest) and what != "joint_loads":
            named = {"joints": joints is not None, "parameters": parameters is not None}
            named |= {name: name != "links" for name in given(RequestOptions, options)}
            for name in (name for name, is_wrong in named.items() if is_wrong):
                raise StateError(f"{name}: of joint_loads; {what} has links= and q=")
            return kernel_of(self.prepared, what, name_list("links", options["links"], "links"), q)
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

    @with_options
    def load_history(
        self,
        path: str | PathLike[str],
        joints: Iterable[str] | str | None = None,
        *,
        output: str | PathLike[str] | None = None,
        plane: PlaneName | None = None,
        progress: Callable[[float], None] | None = None,
        observers: Mapping[str, Observer] = MappingProxyType({}),
        threads: int = 1,
        **options: Unpack[HistoryOptions],
    ) -> LoadHistory:
        """Read a motion of any length piece by piece; return what is kept of the loads along it.

        Parameters
        ----------
        path : a table or a bag, as `read_motion` reads it
        joints : names; None for all
        output : write the loads there, too: .parquet, .csv, .npz or .h5
        plane : of the spectra; see `applications.durability.SpectraObserver`
        progress : is called with the bytes read since the last call
        observers : of your own, by the names of their results in the history
        threads : share the rows of a piece among this many threads
        **options : of the motion and its loads
        """
        asked = HistoryRequest.of(self, joints, options, plane=plane, threads=threads)
        reading = Reading.of(**part(ReadingOptions, options))
        with inputs_kept(() if output is None else (output,)):
            pieces = pieces_from_file(path, self.model, reading, progress)
            return asked.along(self, pieces, output=output, observers=observers)

    def read_loads(self, path: str | PathLike[str]) -> JointLoads:
        """Read joint loads along time back from a file that `JointLoads.save` or ``mbd`` wrote.

        Parameters
        ----------
        path : a .csv, .parquet, .npz, .h5 or .hdf5 file; also one that holds the motion too
        """
        return loads_from_table(read_table(path), self.model)

    @with_options
    def worst_pose(
        self,
        joints: Iterable[str | int] | str | None = None,
        *,
        payload: tuple[str, float] | tuple[str, float, ArrayLike] | None = None,
        samples: int = 2**17,
        refine: bool = True,
        threads: int = 1,
        **options: Unpack[WorstPoseOptions],
    ) -> WorstPoses:
        """Return the extremes of the loads of joints over all poses at rest, and the poses.

        Parameters
        ----------
        joints : names, of loop joints too; None for all
        payload : (link, mass in kg) or (link, mass, centre in the link's frame in m): a point mass
            more
        samples : poses of a Sobol sequence, rounded up to a power of two
        refine : go on from the best samples to the extremes
        threads : share the poses among this many threads
        **options : of the loads and of the poses

        Examples
        --------
        >>> worst = robot.worst_pose(["elbow"], payload=("tool0", 5.0))    # doctest: +SKIP
        >>> worst.worst("elbow", "actuation").q                            # doctest: +SKIP
        """
        robot = self if payload is None else self.with_payload(*_payload(payload))
        sampled = samples, refine, threads
        return worst_pose(robot.prepared, robot.forces, joints, *sampled, options)

    @with_options
    def sample_poses(self, samples: int = 2**12, **options: Unpack[WorkspaceOptions]) -> Array:
        """Return positions (N, nq) that are spread evenly over the workspace, loops closed.

        Parameters
        ----------
        samples : poses of a Sobol sequence, rounded up to a power of two; those that a machine with
            loops cannot take are left out
        **options : of the poses

        Examples
        --------
        >>> q = robot.sample_poses()                                       # doctest: +SKIP
        >>> reached = robot.frame_kinematics("tool0", q).position          # doctest: +SKIP
        """
        return Workspace.of(self.prepared, options).sample(samples, options["seed"])

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
        """
        asked = _asked(Mechanism.inverse_dynamics, DynamicsOptions, options)
        elements, external_in = self.elements(asked["forces"]), asked["external_in"]
        if self.model.has_loops:
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
        numbers = tuple(map(self.model.link_number, name_list("links", links, "links")))
        return ConstrainedDynamics(self.model, numbers, actuated)

    # Kinematics

    def placement(self, q: ArrayLike, link: str, *, threads: int = 1) -> Array:
        """Return where a link is in the world, (4, 4) or (N, 4, 4).

        With P the result, x_world = P[:3, :3] @ x_link + P[:3, 3], in m: the columns of
        P[:3, :3] are the link's axes, P[:3, 3] is the origin of its frame. Symbols are taken as
        well: forces given to `simulate` as functions may ask where a link is.
        """
        if is_traced(q):
            return placement(self.model, np.asarray(q), self.model.link_number(link))
        (found,) = self.prepared.placement(link)(q, threads=threads)
        return found

    def velocity(
        self,
        q: ArrayLike,
        v: ArrayLike,
        link: str,
        point: ArrayLike = (0.0, 0.0, 0.0),
        *,
        threads: int = 1,
    ) -> Array:
        """Return the velocity of a point of a link and the link's angular velocity.

        Parameters
        ----------
        q, v : one state or N states, or symbols as for `placement`
        point : (3,) m, in the link's frame

        Returns
        -------
        (6,) or (N, 6), in world axes: m/s, then rad/s.
        """
        inside = finite_numbers("point", point, (3,))
        if is_traced(q, v):
            number = self.model.link_number(link)
            return link_velocity(self.model, np.asarray(q), np.asarray(v), number, inside)
        (found,) = self.prepared.velocity(link)(q, v, inside, threads=threads)
        return found

    def frame_kinematics(
        self,
        frame: str,
        q: ArrayLike,
        v: ArrayLike | None = None,
        *,
        reference: Reference = "local_world_aligned",
        frames: Frames = None,
        threads: int = 1,
    ) -> FrameKinematics:
        """Return position, rotation, Jacobian J and J̇ q̇ of a frame at one state or at N states.

        The twist is J v, linear part first; its derivative J a + J̇ v. Singular values of J:
        ``numpy.linalg.svd(found.jacobian, compute_uv=False)``.

        Parameters
        ----------
        frame : a link, a joint (the frame of its child) or one of `frames`
        q, v : (nq,), (nv,) or (N, ...); v counts for J̇ v only; None: at rest
        reference : "local_world_aligned": velocity of the frame's origin, world axes; "local": in
            the frame's own axes; "world": of the body's point at the world's origin. As pinocchio's
        frames : frames by name: a link, or (link, xyz) or (link, xyz, rpy)
        threads : share the states among this many threads
        """
        return kinematics_of(self.prepared, frame, q, v, reference, frames, threads)

    def centroid(self, q: ArrayLike, v: ArrayLike | None = None, *, threads: int = 1) -> Centroid:
        """Return centre of mass, its Jacobian, momentum and energy at one state or at N states.

        Parameters
        ----------
        q, v : (nq,), (nv,) or (N, ...); None: at rest
        threads : share the states among this many threads
        """
        return centroid_at(self.prepared, q, v, threads)

    @with_options
    def inverse_kinematics(
        self,
        frame: str,
        position: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        time: ArrayLike | None = None,
        **options: Unpack[InverseKinematicsOptions],
    ) -> InversePath:
        """Return positions of the joints at which a frame is where it is to be, for N rows.

        They are the nearest to `near` that can be reached, and follow each other along a path.

        Parameters
        ----------
        frame : a link, a joint (the frame of its child) or one of `frames`
        position : (3,) or (N, 3) m, of its origin in the world; None: anywhere
        orientation : (4,) or (N, 4) quaternions x, y, z, w, or (3, 3) or (N, 3, 3) rotation
            matrices; None: any
        time : (N,) s, of a path: the frame's rates are derived, and v and a follow from them
            exactly; None: at rest
        **options : of the search

        Examples
        --------
        >>> q = robot.inverse_kinematics("tool0", points).q                # doctest: +SKIP
        """
        return inverse_kinematics(self.model, frame, position, orientation, time, options)

    @with_options
    def assemble(self, near: InitialGuess = None, **options: Unpack[AssemblyOptions]) -> Assembly:
        """Return the state nearest to an initial guess that closes every loop; see
        `solve.assemble`.

        Parameters
        ----------
        near : given coordinates; those not named start from zero position
        **options : of the state

        Examples
        --------
        >>> q = bar.assemble(near={"crank": 1.0}, fixed="crank").q        # doctest: +SKIP
        """
        return assemble(self.model, near, **options)

    @with_options
    def assemble_batch(
        self, near: InitialGuesses = None, **options: Unpack[BatchAssemblyOptions]
    ) -> Assemblies:
        """Close the loops of many states, of one mechanism or of variants of it.

        Parameters
        ----------
        near : given coordinates by name, each one value or N of them, or an array (N, nq)
        **options : of the states
        """
        return assemble_batch(self.prepared, near, **options)

    # Motions and forces from files

    @with_options
    def read_motion(
        self,
        path: str | PathLike[str],
        **options: Unpack[ReadingOptions],
    ) -> Motion:
        """Read a motion from a file: a table with time and coordinates, or joint states in a bag.

        Parameters
        ----------
        path : .csv, .parquet, .npz, .h5 or .hdf5, columns named after coordinates; or a ROS bag: a
            rosbag2 folder, .mcap, .db3, .bag. Rates that it does not have come from splines,
            smoothing ones where the data are noisy (``.notes`` says so)
        **options : of the file
        """
        return motion_from_file(path, self.model, Reading.of(**options))

    def motion(
        self,
        time: ArrayLike,
        q: ArrayLike,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        *,
        smooth: Smooth = "auto",
        cutoff: float | None = None,
    ) -> Motion:
        """Return the motion of states in arrays, checked and completed as `read_motion` does.

        Parameters
        ----------
        time : (N,) s
        q, v, a : (N, nq), (N, nv), (N, nv): rad or m, and their rates; rates that are not given
            come from splines, smoothing ones where the data are noisy
        smooth, cutoff : as in `read_motion`
        """
        return motion_from_arrays(self.model, time, q, v, a, Smoothing.of(smooth, cutoff))

    def external_force(
        self,
        link: str,
        force: ArrayLike,
        *,
        moment: ArrayLike = (0.0, 0.0, 0.0),
        point: ArrayLike = (0.0, 0.0, 0.0),
        axes: Axes = "link",
        time: ArrayLike | None = None,
    ) -> ExternalForces:
        """Return a force on a link, ``external=`` of loads and simulations; several are added by +.

        Parameters
        ----------
        force, moment : (3,) N, N m; or (n, 3) at times
        point : (3,) m in the link's frame, at which it acts
        axes : of force and moment: "link" or "world"
        time : (n,) s of the rows, linear between them; None: it is always the same

        Examples
        --------
        >>> push = robot.external_force("tool0", (0, 0, -50), axes="world")  # doctest: +SKIP
        """
        return force_on_link(self.model, link, force, moment, point, axes, time)

    @with_options
    def read_external(
        self, path: str | PathLike[str], **options: Unpack[ExternalReadingOptions]
    ) -> ExternalForces:
        """Read external forces on the links: a process force, a sensor's recording.

        The first column is ``time``, a coordinate, or ``<link>.x`` (.y, .z) where the link's origin
        is in the world; the others are ``<link>.fx [N]`` ... ``<link>.mz [N m]``, with ``<link>.px
        [m]`` ... the point of action. What is not said here may be said by the file's attributes of
        the same names (in CSV ``# outside: zero``). It is linear between rows.

        Parameters
        ----------
        path : .csv, .parquet, .npz, .h5 or .hdf5
        **options : of the file

        Examples
        --------
        >>> press = machine.read_external("stroke.csv")                     # doctest: +SKIP
        >>> machine.joint_loads(motion, external=press)                     # doctest: +SKIP
        """
        return external_from_file(file_path("path", path), self.model, **options)

    def complete(
        self,
        recorded: Mapping[str, ArrayLike],
        time: ArrayLike,
        *,
        near: InitialGuess = None,
        frames: Frames = None,
        given: Iterable[str] | str | None = None,
        rest: bool = False,
        tolerance: float = REACHED,
        check: bool = True,
    ) -> Motion:
        """Return the whole motion that recorded coordinates or poses determine.

        Parameters
        ----------
        recorded : (N,) numbers by the names that columns of a motion have: coordinates ("crank"),
            their rates ("crank.vel", "crank.acc"), poses of a link or frame in the world
            ("tool.x", ..., "tool.roll", ... or "tool.qx", ...); rad, m and s. Rates that are not
            there are derived
        time : (N,) s
        near : the first position is the one nearest to these coordinates
        frames : frames by name: a link, or (link, xyz) or (link, xyz, rpy)
        given : joints and frames that determine the motion; the others are compared; None: all
        rest : hold what the recorded columns leave open where `near` has it
        tolerance : residual, rad or sizes of the mechanism, at which a position is reached
        check : raise at the first time that cannot be reached; False leaves nan there

        Examples
        --------
        >>> motion = robot.complete({"crank": angles}, time)               # doctest: +SKIP
        """
        options = CompletionOptions(near, frames, given, tolerance)
        reading = Reading(flag("rest", rest), completion=options)
        return complete_columns(self.model, recorded, time, reading, check=flag("check", check))


def _asked(function: Callable[..., Any], group: type[Group], options: Mapping[str, Any]) -> Group:
    """Return all options of a call, quickly where it has none."""
    return complete(function, group, options) if options else cast(Group, NO_OPTIONS)


def _is_plain(wording: tuple[object, ...]) -> bool:
    """Return whether nothing but the same words is equal to it: 1, True and 1.0 are."""
    joints, *options = wording
    names = joints if isinstance(joints, tuple) else () if joints is None else (joints,)
    words = [option[1] for option in options if isinstance(option, tuple)]
    return all(isinstance(word, str) for word in (*names, *words))


def _payload(payload: Any) -> tuple[str, float, ArrayLike]:
    """Return link, mass and centre of a payload."""
    match payload:
        case (str(link), mass):
            return link, real_number("payload", mass, "kg"), (0.0, 0.0, 0.0)
        case (str(link), mass, centre):
            return link, real_number("payload", mass, "kg"), finite_numbers("payload", centre, (3,))
    raise StateError(f"payload: expected (link, kg) or (link, kg, (x, y, z)), got {payload!r:.60}")
