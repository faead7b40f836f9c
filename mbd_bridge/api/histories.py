"""Load histories of a mechanism: what is computed and counted along its motions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Unpack

from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.base.arguments import an_instance, flag, name_list
from mbd_bridge.base.extensions import working
from mbd_bridge.base.options import Option, option_group, part, with_options
from mbd_bridge.files.whole_file import inputs_kept
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.loads import JointLoads, LoadRequest, LoadSolver
from mbd_bridge.loads.convention import Plane as PlaneName
from mbd_bridge.loads.observers import Needs, Observer
from mbd_bridge.loads.options import EXPONENTS, ActingOptions, ConventionOptions, RequestOptions
from mbd_bridge.loads.streaming import LoadHistory
from mbd_bridge.loads.streaming.load_history import watch_loads
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion import Motion, Pieces, Reading, pieces_from_file
from mbd_bridge.motion.external import ExternalForces, external_forces
from mbd_bridge.motion.options import ReadingOptions
from mbd_bridge.reports.title import TitleOptions
from mbd_bridge.view.options import ExaggerateOptions

if TYPE_CHECKING:
    from mbd_bridge.applications.typed import BearingsGiven
    from mbd_bridge.simulation import Simulation


@option_group
class HistoryOptions(ReadingOptions, ConventionOptions, ActingOptions, total=False):
    """How a motion is read, what acts along it, and what is counted.

    Parameters
    ----------
    exponents : Woehler exponents of the damage-equivalent ranges
    motors : compute what motors have to do, of what the file says alone if it says no more; None:
        if the machine has actuators
    bearings : by joint a `Bearing` or two: also count what they carry, and their lives; see
        `Mechanism.bearings`. None: those that the machine states (``NAME.bearings.yaml``)
    sensitivity : numbers of the machine whose change of peaks and root mean squares is counted:
        "rod.mass", "elbow.xyz", "spring.stiffness", ...; none of them: the masses of all links.
        None: not counted
    """

    exponents: Annotated["Sequence[float]", Option(EXPONENTS, "m")]
    motors: Annotated["bool | None", Option(None)]
    bearings: Annotated["BearingsGiven | None", Option(None)]
    sensitivity: Annotated["Iterable[str] | str | None", Option(None)]


@option_group
class ReportOptions(HistoryOptions, TitleOptions, ExaggerateOptions, total=False):
    """What a report is about, and what is on it.

    Parameters
    ----------
    picture : draw the machine and its loads at the largest force
    view : show the machine along the motion in 3-D, to be turned and played
    check : ask pinocchio, and pybullet where it is installed
    """

    picture: Annotated[bool, Option(True)]
    view: Annotated[bool, Option(True)]
    check: Annotated[bool, Option(True)]


@dataclass(frozen=True, eq=False)
class LoadInputs:
    """What acts on a machine along a motion, and who moves it; checked.

    It gives the loads to those who look at the motion (`loads.observers`).

    Attributes
    ----------
    mechanism : the machine
    external : forces on links
    actuated : of a machine with loops, the actuated joints; None: those that the file names
    minimum_norm : allow more; what they share is then the smallest for the loop joints
    forces : force elements that act, bound to the model
    threads : share the states among this many threads
    """

    mechanism: Mechanism
    external: ExternalForces | None = None
    actuated: tuple[str, ...] | None = None
    minimum_norm: bool = False
    forces: tuple[ForceElement, ...] = ()
    threads: int = 1

    @staticmethod
    def of(
        mechanism: Mechanism, motion: Motion, options: ActingOptions, threads: int
    ) -> "LoadInputs":
        """Return what acts along a motion, checked; see `Mechanism.joint_loads`."""
        motion = an_instance("motion", motion, Motion, "robot.read_motion(...)")
        actuated = options["actuated"]
        return LoadInputs(
            mechanism,
            external_forces(
                mechanism.model, options["external"], options["external_in"], motion.time
            ),
            actuated if actuated is None else name_list("actuated", actuated, "joints"),
            flag("minimum_norm", options["minimum_norm"]),
            mechanism.elements(options["forces"]),
            threads,
        )

    @property
    def model(self) -> Model:
        """The machine's model."""
        return self.mechanism.model

    def request(self, needs: Needs) -> LoadRequest:
        """Return the request for the loads that are needed."""
        return LoadRequest.of(
            self.model,
            needs.joints,
            on=needs.convention.on,
            at=needs.convention.at,
            in_=needs.convention.in_,
            links=() if self.external is None else self.external.links,
            reaction=needs.reaction,
            actuated=self.actuated,
            minimum_norm=self.minimum_norm,
            forces=self.forces,
        )

    def solver(self, needs: Needs) -> LoadSolver:
        """Return what gives the loads that are needed."""
        return self.mechanism.compile(self.request(needs))

    def loads(self, needs: Needs, motion: Motion, *, check: bool = True) -> JointLoads:
        """Return the loads at the states of a motion; checked ones know their times."""
        solver = self.solver(needs)
        loads = solver.at_states(motion, self.external, threads=self.threads, check=check)
        return loads.along_motion(motion) if check else loads

    def efforts(self, motion: Motion, *, check: bool = True) -> Array:
        """Return what actuators do along the velocities, (N, nv)."""
        external = self.external
        return self.mechanism.inverse_dynamics(
            motion.q,
            motion.v,
            motion.a,
            None if external is None else external.along(motion.time, motion.q, motion.v),
            threads=self.threads,
            check=check,
            actuated=self.actuated,
            minimum_norm=self.minimum_norm,
            forces=self.forces,
            t=motion.time,
        )


@dataclass(frozen=True, eq=False)
class HistoryRequest:
    """What is computed and counted along motions.

    Attributes
    ----------
    request : whose loads, in which convention
    external : forces on links
    exponents, plane : of the spectra; see `applications.durability.SpectraObserver`
    motors : count what motors have to do; None: if the machine has stated actuators
    bearings : count what these carry; None: those that the machine states, if any
    threads : share the rows of a piece
    sensitivity : count what these numbers change, () the masses of all links; None: not counted
    """

    request: LoadRequest
    external: ExternalForces | None = None
    exponents: Sequence[float] = EXPONENTS
    plane: str | None = None
    motors: bool | None = None
    bearings: "BearingsGiven | None" = None
    threads: int = 1
    sensitivity: Iterable[str] | str | None = None

    @staticmethod
    def of(
        mechanism: Mechanism,
        joints: Iterable[str] | str | None,
        options: HistoryOptions,
        *,
        plane: str | None = None,
        threads: int = 1,
    ) -> "HistoryRequest":
        """Return a checked request for the loads along motions of a mechanism."""
        forces = external_forces(mechanism.model, options["external"], options["external_in"])
        asked = part(RequestOptions, options)
        asked["links"] = () if forces is None else forces.links
        asked["external_in"] = "link"
        asked["forces"] = mechanism.elements(options["forces"])
        request = LoadRequest.of(mechanism.model, joints, **asked)
        counted = options["exponents"], plane, options["motors"], options["bearings"]
        return HistoryRequest(request, forces, *counted, threads, options["sensitivity"])

    def inputs(self, mechanism: Mechanism) -> LoadInputs:
        """Return what acts on a mechanism along the motions."""
        asked = self.request
        acting = self.external, asked.actuated, asked.minimum_norm, asked.forces, self.threads
        return LoadInputs(mechanism, *acting)

    def along(
        self,
        mechanism: Mechanism,
        pieces: Pieces,
        *,
        output: str | PathLike[str] | None = None,
        observers: Mapping[str, Observer] = MappingProxyType({}),
    ) -> LoadHistory:
        """Return what is kept of the loads along a motion.

        Parameters
        ----------
        output : file for the loads themselves
        observers : that look at the motion beside those that are asked for
        """
        every = {**self.observers(mechanism), **observers}
        system, needs = self.inputs(mechanism), Needs.of(self.request)
        return watch_loads(pieces, system, needs, every, output=output)

    def observers(
        self, mechanism: Mechanism, run: "Simulation | None" = None
    ) -> dict[str, Observer]:
        """Return what counts what is asked for along a motion, or along a simulation."""
        each = {name: one(mechanism, self, run) for name, one in working("observers")}
        return {name: observer for name, observer in each.items() if observer is not None}


@with_options
def load_history(
    machine: Mechanism,
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

    See Also
    --------
    joint_loads, read_motion, report, study
    """
    asked = HistoryRequest.of(machine, joints, options, plane=plane, threads=threads)
    reading = Reading.of(**part(ReadingOptions, options))
    with inputs_kept(() if output is None else (output,)):
        pieces = pieces_from_file(path, machine.model, reading, progress)
        return asked.along(machine, pieces, output=output, observers=observers)
