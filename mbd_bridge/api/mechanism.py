"""The mechanism as its user holds it: ask it for loads, dynamics, referees.

`Mechanism` is a model together with what was prepared for it so far: the first question of a
kind makes (or finds on disk) the machine code for it, later ones use it. To decide yourself what
is prepared and when, hold a `LoadSolver` or a `Kernel`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

from numpy.typing import ArrayLike

from mbd_bridge.api.kinematics import MechanismKinematics
from mbd_bridge.api.loops import Loops
from mbd_bridge.api.options import HistoryOptions
from mbd_bridge.base.arguments import an_instance, file_path, finite_numbers, flag
from mbd_bridge.base.assumptions import Assumption
from mbd_bridge.base.errors import StateError, warn
from mbd_bridge.base.options import complete, options_of, part, shows_options, with_options
from mbd_bridge.engines.crosscheck import Report, crosscheck as compare
from mbd_bridge.files import Description
from mbd_bridge.files.tables import read_table
from mbd_bridge.files.whole_file import inputs_kept
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.loads import JointLoads, LoadRequest, LoadSolver, loads_from_table
from mbd_bridge.loads.convention import Plane as PlaneName
from mbd_bridge.loads.options import ConventionOptions, LoadOptions, RequestOptions
from mbd_bridge.loads.planar import Plane
from mbd_bridge.loads.streaming import LoadHistory
from mbd_bridge.loads.uncertainty import with_uncertainty
from mbd_bridge.model import RANK_TOLERANCE, Builder, Cuts, Model, build_model, rebuilt
from mbd_bridge.model.builder import with_payload
from mbd_bridge.model.flexible import FlexibleLink
from mbd_bridge.model.flexible_links import with_flexible
from mbd_bridge.model.parameters import Parameters, ParameterValues
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion import Motion, Reading, motion_from_file, pieces_from_file
from mbd_bridge.motion.external import ExternalForces, external_from_file, wrenches_at
from mbd_bridge.motion.external.files import ForceNaming, How
from mbd_bridge.motion.options import ExternalReadingOptions, ReadingOptions
from mbd_bridge.solve import Assembly, assemble
from mbd_bridge.solve.assembly import Assemblies, InitialGuess, InitialGuesses, assemble_batch
from mbd_bridge.solve.tolerances import ASSEMBLED
from mbd_bridge.solve.wrenches import check_axes, links_of, pack_external

WORDS = {*options_of(ConventionOptions), "external_in"}
"""Options of `Mechanism.joint_loads` under which what was prepared before is found unread."""

if TYPE_CHECKING:
    from mbd_bridge.applications.typed import OfMechanism as Extended
else:
    from mbd_bridge.base.extensions import Extended


class Mechanism(MechanismKinematics, Extended):
    """A mechanism to which questions are put.

    Attributes
    ----------
    model : the immutable `Model`
    forces : force elements that belong to it, from ``NAME.forces.yaml`` or `with_forces`. They act
        in simulations and count in loads and dynamics unless another `forces` is given there
    prepared : what was made for it so far
    """

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
        packed, assumed = None, tuple[Assumption, ...]()
        if solver is None:
            chosen = complete(Mechanism.joint_loads, LoadOptions, options)
            external, axes = chosen["external"], chosen["external_in"]
            wrenches = wrenches_at(self.model, external, axes, times, state[0], state[1])
            asked = part(RequestOptions, chosen)
            asked["links"], asked["external_in"] = links_of(wrenches.by_link), wrenches.axes
            asked["forces"] = ()
            request = LoadRequest.of(self.model, joints, **asked)
            request = replace(request, forces=self.elements(chosen["forces"]))
            solver = self.solver(request)
            if plain and _is_plain(wording):
                self.prepared.remember(wording, request)
            if wrenches.by_link:
                packed = pack_external(wrenches.by_link, request.links)
            assumed = wrenches.assumed
        loads = solver(*state, packed, t=times, threads=threads, check=check)
        if assumed:
            loads = replace(loads, assumed=assumed)
        return loads if motion is None else with_uncertainty(solver, loads, motion, packed, threads)

    def solver(self, request: LoadRequest) -> LoadSolver:
        """Return what gives the loads of a request, prepared when it is first asked for."""
        request = an_instance("request", request, LoadRequest, "mbd.loads.LoadRequest.of(...)")
        form = request.form
        solver = self.prepared.get(form, lambda: LoadSolver(self.model, form))
        return solver if solver.request == request else solver.at(request.convention.at)

    def _asked_as(self, wording: tuple[object, ...]) -> LoadSolver | None:
        """Return the solver of a question that was asked in the same words before."""
        try:
            known: LoadSolver | None = self.prepared.asked_as(wording)
        except TypeError:  # something in it has no hash
            return None
        return known

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
        axes, point = options["axes"], options["point"]
        place: tuple[float, float, float] | None = None
        if point is not None:
            x, y, z = finite_numbers("point", point, (3,)).tolist()
            place = x, y, z
        axes = None if axes is None else check_axes(axes)
        return external_from_file(
            file_path("path", path),
            self.model,
            how=How(axes, place, options["outside"], options["direction"]),
            sensors=options["sensors"],
            reads=options["reads"],
            naming=ForceNaming.of(options["rename"], options["unit"]),
        )

    @with_options
    def load_history(
        self,
        path: str | PathLike[str],
        joints: Iterable[str] | str | None = None,
        *,
        output: str | PathLike[str] | None = None,
        plane: PlaneName | None = None,
        progress: Callable[[float], None] | None = None,
        threads: int = 1,
        **options: Unpack[HistoryOptions],
    ) -> LoadHistory:
        """Read a motion of any length piece by piece; return what is kept of the loads along it.

        Parameters
        ----------
        path : a table or a bag, as `read_motion` reads it
        joints : names; None for all
        output : write the loads there, too: .parquet, .csv, .npz or .h5
        plane : of the spectra; see `loads.durability.LoadSpectraCounter`
        progress : is called with the bytes read since the last call
        threads : share the rows of a piece among this many threads
        **options : of the motion and its loads
        """
        from mbd_bridge.api.histories import HistoryRequest

        asked = HistoryRequest.of(self, joints, options, plane=plane, threads=threads)
        reading = Reading.of(**part(ReadingOptions, options))
        with inputs_kept(() if output is None else (output,)):
            pieces = pieces_from_file(path, self.model, reading, progress)
            return asked.along(self, pieces, output=output)

    def read_loads(self, path: str | PathLike[str]) -> JointLoads:
        """Read joint loads along time back from a file that `JointLoads.save` or ``mbd`` wrote.

        Parameters
        ----------
        path : a .csv, .parquet, .npz, .h5 or .hdf5 file; also one that holds the motion too
        """
        return loads_from_table(read_table(path), self.model)

    def assemble_batch(
        self,
        near: InitialGuesses = None,
        *,
        fixed: Iterable[str] | str = (),
        weights: Mapping[str, float] | None = None,
        velocity: InitialGuesses = None,
        parameters: ParameterValues | Parameters | None = None,
        tolerance: float = ASSEMBLED,
        check: bool = True,
    ) -> Assemblies:
        """Close the loops of many states, of one mechanism or of variants of it.

        Parameters
        ----------
        near : given coordinates by name, each one value or N of them, or an array (N, nq)
        fixed, weights, velocity, parameters, tolerance, check : see
            `mbd_bridge.solve.assembly.assemble_batch`
        """
        return assemble_batch(
            self.prepared,
            near,
            fixed=fixed,
            weights=weights,
            velocity=velocity,
            parameters=parameters,
            tolerance=tolerance,
            check=check,
        )

    def assemble(
        self,
        near: InitialGuess = None,
        *,
        fixed: Iterable[str] | str = (),
        weights: Mapping[str, float] | None = None,
        velocity: InitialGuess = None,
        acceleration: InitialGuess = None,
        tolerance: float = ASSEMBLED,
        check: bool = True,
    ) -> Assembly:
        """Return the state nearest to an initial guess that closes every loop; see
        `solve.assemble`.

        Examples
        --------
        >>> q = bar.assemble(near={"crank": 1.0}, fixed="crank").q        # doctest: +SKIP
        """
        return assemble(
            self.model,
            near,
            fixed=fixed,
            weights=weights,
            velocity=velocity,
            acceleration=acceleration,
            tolerance=tolerance,
            check=check,
        )

    @property
    def loops(self) -> Loops:
        """The loops: ``mechanism.loops.report(q)`` has `dof`, redundancy, singularity."""
        return Loops(self.model)

    @with_options
    def load_solver(
        self,
        joints: Iterable[str | int] | str | None = None,
        *,
        parameters: ParameterValues | Parameters | None = None,
        **options: Unpack[RequestOptions],
    ) -> LoadSolver:
        """Return a `LoadSolver` for chosen joints: prepare once, evaluate many times.

        Parameters
        ----------
        joints : see `joint_loads`
        parameters : of variants of the mechanism; see `LoadSolver`
        **options : of the loads
        """
        options["forces"] = self.elements(options["forces"])
        return LoadSolver(self.model, LoadRequest.of(self.model, joints, **options), parameters)

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

    def crosscheck(
        self, *, states: int = 20, seed: int = 0, pybullet: bool | None = None
    ) -> Report:
        """Compare with pinocchio and, where it is installed, pybullet; see `crosscheck`."""
        return compare(self.model, states=states, seed=seed, pybullet=pybullet)

    def __repr__(self) -> str:
        elements = f"; forces {', '.join(one.name for one in self.forces)}" if self.forces else ""
        return f"Mechanism({self.model.summary}{elements})"


def _is_plain(wording: tuple[object, ...]) -> bool:
    """Return whether nothing but the same words is equal to it: 1, True and 1.0 are."""
    joints, *options = wording
    names = joints if isinstance(joints, tuple) else () if joints is None else (joints,)
    words = [option[1] for option in options if isinstance(option, tuple)]
    return all(isinstance(word, str) for word in (*names, *words))
