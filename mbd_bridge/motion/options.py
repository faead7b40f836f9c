"""How a file with a motion is read and smoothed: options of all calls that read one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, TypedDict, get_args

from mbd_bridge.base.errors import StateError, real_number
from mbd_bridge.base.options import Option, option_group
from mbd_bridge.solve.wrenches import Axes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mbd_bridge.motion.frames import Frames
    from mbd_bridge.solve.assembly import InitialGuess

REACHED = 1e-9
"""Residual, rad or of the machine's size, at which a position is what is recorded: it is closed to
rounding; this tells it from one that is not there."""

Gaps = Literal["refuse", "drop"]
"""What is done with rows that have gaps."""

Clock = Literal["header", "bag"]
"""Times of a bag: the stamps in its messages, or when they were recorded."""

Outside = Literal["zero", "hold", "repeat"]
"""What acts beyond the ends of a table of forces: nothing, the end's value, the table again."""

Direction = Literal["rising", "falling"]
"""While the coordinate grows, or falls."""

Reads = Literal["environment", "parent"]
"""Whose force on its link a sensor reads."""

SmoothMethod = Literal["auto", "spline", "savgol", "lowpass", "off"]
"""How positions are smoothed before rates are derived."""


@option_group
class ReadingOptions(TypedDict, total=False):
    """How a file with a motion is read.

    Parameters
    ----------
    rest : hold coordinates that the file does not have at their zero position, at rest
    rename : names of columns (of a bag: of joints) there and here; None leaves one out. A * stands
        for any characters: {"/arm/*/pos": "*"}. Usual spellings need none (``.notes`` says what was
        taken for what)
    unit : of columns that do not say theirs: "deg" for angles and their rates, "mm" for lengths,
        "rpm" for angular velocities alone
    ignore : names of columns that are no part of the motion; * and ? stand for any characters
    gaps : "refuse" rows in which a cell holds no number, or with the time stamp of the row before,
        or "drop" them
    unwrap : joints whose angles are counted on where they jump by more than half a turn; "all", or
        "none"; without it continuous joints, as far as their angles are within one turn (an
        encoder's)
    near : of a file with a part of the coordinates of a machine with loops, or poses of frames: the
        motion starts at the configuration nearest to these coordinates
    frames : frames whose poses the file has: name -> link, or (link, xyz) or (link, xyz, rpy)
    given : joints and frames whose columns determine the motion; the others' are compared
    smooth : how noise is kept out of velocities and accelerations: by smoothing splines where data
        are noisy ("auto") or everywhere ("spline"), by Savitzky-Golay ("savgol") or low-pass
        filters ("lowpass"), or not at all ("off"). None is "off", a `Smoothing` has both
    cutoff : at which frequency, Hz, the smoothing halves a sine; without it what noise and
        motion ask for
    topic : of a bag: with joint states, if it has several
    clock : of a bag: times are the stamps in the messages ("header", the default), or when messages
        were recorded ("bag")
    """

    rest: Annotated[bool, Option(False)]
    rename: Annotated[
        "Mapping[str, str | None] | None",
        Option(
            None,
            "THERE=HERE",
            "names of columns (of a bag: of joints) and of coordinates here; a * stands for any "
            "characters ('/arm/*/pos=*'); THERE= leaves one out",
        ),
    ]
    unit: Annotated["Sequence[str] | str", Option((), "UNIT")]
    ignore: Annotated["Sequence[str] | str", Option((), "COLUMN")]
    gaps: Annotated[Gaps, Option("refuse")]
    unwrap: Annotated["Iterable[str] | str | None", Option(None, "JOINT")]
    near: Annotated["InitialGuess", Option(None, "NAME=VALUE")]
    frames: Annotated[
        "Frames",
        Option(
            None,
            "NAME=LINK[,x,y,z[,r,p,y]]",
            "a frame whose pose the file has: in a link, at a place (m), turned (rad); repeatable",
        ),
    ]
    given: Annotated["Iterable[str] | str | None", Option(None, "NAME")]
    smooth: Annotated["Smooth", Option("auto", choices=get_args(SmoothMethod))]
    cutoff: Annotated[float | None, Option(None, "Hz")]
    topic: Annotated[str | None, Option(None, "TOPIC")]
    clock: Annotated[Clock | None, Option(None)]


@option_group
class InverseKinematicsOptions(TypedDict, total=False):
    """How positions are found at which a frame is where it is to be.

    Parameters
    ----------
    near : the reference, by coordinate name or (nq,); of a redundant machine the position nearest
        to it
    frames : frames by name: a link, or (link, xyz) or (link, xyz, rpy)
    limits : keep joints within the limits of the file
    weights : cost of moving a coordinate away from the reference, 1 where not named
    tolerance : residual, rad or sizes of the mechanism, at which a row is reached
    check : raise at the first row that cannot be reached; False returns the positions of least
        residual
    """

    near: Annotated["InitialGuess", Option(None)]
    frames: Annotated["Frames", Option(None)]
    limits: Annotated[bool, Option(True)]
    weights: Annotated["Mapping[str, float] | None", Option(None)]
    tolerance: Annotated[float, Option(REACHED)]
    check: Annotated[bool, Option(True)]


@option_group
class PartialMotionOptions(TypedDict, total=False):
    """How the whole motion is found that a part of its coordinates determines.

    Parameters
    ----------
    near : the first position is the one nearest to these coordinates
    frames : frames by name: a link, or (link, xyz) or (link, xyz, rpy)
    given : joints and frames that determine the motion; the others are compared; None: all
    rest : hold what the recorded columns leave open where `near` has it
    tolerance : residual, rad or sizes of the mechanism, at which a position is reached
    check : raise at the first time that cannot be reached; False leaves nan there
    """

    near: Annotated["InitialGuess", Option(None)]
    frames: Annotated["Frames", Option(None)]
    given: Annotated["Iterable[str] | str | None", Option(None)]
    rest: Annotated[bool, Option(False)]
    tolerance: Annotated[float, Option(REACHED)]
    check: Annotated[bool, Option(True)]


@option_group
class ExternalReadingOptions(TypedDict, total=False):
    """How a file with external forces is read.

    Parameters
    ----------
    axes : of columns that do not say them: "link" (the default), or "world" as ``<link>.world.fx``
    point : (x, y, z) m in the link's frame where forces act; None: its origin
    outside : beyond the table's ends: "zero", "hold" (the end's value) or "repeat" (a table over a
        whole turn); None: zero where it ends with zero, else a motion that goes there is refused
    direction : "rising" or "falling": it acts only while the coordinate grows, or falls
    sensors : link -> prefix of the columns of a force/torque sensor in its frame, compensated for
        the weight and inertia of what is behind it; then nothing else is read of the file
    reads : what sensors read: the force of the "environment" on the link, or that of its "parent"
    rename : names of columns there -> here, {"F1": "ram.fz"}; None leaves a column out
    unit : of columns that do not say theirs, such as ["mm", "kN"]: of angles, lengths, forces and
        moments
    """

    axes: Annotated[
        Axes | None,
        Option(
            None,
            shell="axes of columns that do not say them (link, or what the file says: "
            "# axes: world)",
        ),
    ]
    point: Annotated[
        "ArrayLike | None",
        Option(
            None,
            "x,y,z",
            "point of action in the link's frame, m (its origin, or what the file says)",
        ),
    ]
    outside: Annotated[
        Outside | None,
        Option(
            None,
            shell="beyond the ends of a table: no force, that of the end, or once more from its "
            "beginning (of a whole turn); default: zero where it ends with zero, else refused",
        ),
    ]
    direction: Annotated[Direction | None, Option(None)]
    sensors: Annotated[
        "Mapping[str, str] | None",
        Option(
            None,
            "LINK=PREFIX",
            "columns of MOTION that begin with PREFIX (PREFIX.fx, PREFIX.force.x, PREFIX_0 ...) "
            "are those of a force/torque sensor in LINK's frame, compensated for what is behind "
            "it, and act as an external force",
        ),
    ]
    reads: Annotated[
        Reads,
        Option(
            "environment",
            shell="what sensors read: the force of the environment on LINK, or that of the part "
            "before it, which has the other sign",
        ),
    ]
    rename: Annotated[
        "Mapping[str, str | None] | None",
        Option(
            None,
            "THERE=HERE",
            "names of columns of --external, such as F1=ram.fz; F1= leaves one out",
        ),
    ]
    unit: Annotated[
        "Sequence[str] | str",
        Option(
            (),
            "UNIT",
            "units of columns of --external that do not say theirs, such as mm kN: of angles, "
            "lengths, forces and moments",
        ),
    ]


# How positions are smoothed before rates are derived: what a user may ask for.

METHODS = get_args(SmoothMethod)


@dataclass(frozen=True, slots=True)
class Smoothing:
    """How noise is kept out of velocities and accelerations.

    Attributes
    ----------
    method : "auto", smoothing splines where the data are noisy, interpolation where they are not;
        "spline", smoothing splines for everything that is derived; "savgol", Savitzky-Golay
        filters; "lowpass", Butterworth filters run forwards and backwards; "off", interpolation
    cutoff : Hz, at which a sine is halved; None: what noise and motion ask for
    """

    method: SmoothMethod = "auto"
    cutoff: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.method, str) or self.method not in METHODS:
            raise StateError(
                f"smooth: expected one of {', '.join(METHODS)}, got {self.method!r:.60}"
            )
        if self.cutoff is None:
            return
        cutoff = real_number("cutoff", self.cutoff, "a positive frequency in Hz", positive=True)
        object.__setattr__(self, "cutoff", cutoff)
        if self.method == "off":
            raise StateError('cutoff: nothing is smoothed with smooth="off"; leave one of them out')

    @staticmethod
    def of(smooth: "Smooth" = "auto", cutoff: float | None = None) -> "Smoothing":
        """Return the checked options that a call gives."""
        if isinstance(smooth, Smoothing):
            if cutoff is not None:
                raise StateError("cutoff: stands in smooth=Smoothing(...) already")
            return smooth
        method = "off" if smooth is None or smooth is False else smooth
        return Smoothing("auto" if method is True else method, cutoff)


Smooth: TypeAlias = Smoothing | SmoothMethod | bool | None
"""What callers may give for `smooth`: None and False are "off"."""
OFF = Smoothing("off")
