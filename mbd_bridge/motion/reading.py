"""How a file with a motion is read: names, units, gaps, smoothing, completion."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, TypedDict, Unpack

from mbd_bridge.base.options import Option, given, option_group, with_options
from mbd_bridge.files.bags import Clock
from mbd_bridge.motion.frames import Frames
from mbd_bridge.motion.names import Gaps, Naming
from mbd_bridge.motion.smoothing import Smooth, Smoothing
from mbd_bridge.solve.assembly import InitialGuess

REACHED = 1e-9
"""Residual, rad or of the machine's size, at which a position is what is recorded: it is closed to
rounding; this tells it from one that is not there."""


@dataclass(frozen=True)
class CompletionOptions:
    """How a partial motion is completed.

    Attributes
    ----------
    near : given coordinates of the configuration to which the first position is nearest
    frames : frames of the caller's, by name
    given : names of joints and frames whose columns are used; None: all. The others' are compared
    tolerance : residual at which a position is reached, rad or sizes of the machine
    """

    near: InitialGuess = None
    frames: Frames = None
    given: Iterable[str] | str | None = None
    tolerance: float = REACHED


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
        "none". Without it continuous joints, as far as their angles are within one turn (an
        encoder's)
    near : of a file with a part of the coordinates of a machine with loops, or poses of frames: the
        motion starts at the configuration nearest to these coordinates
    frames : frames whose poses the file has: name -> link, or (link, xyz) or (link, xyz, rpy)
    given : joints and frames whose columns determine the motion; the others' are compared
    smooth : how noise is kept out of velocities and accelerations: by smoothing splines where data
        are noisy ("auto") or everywhere ("spline"), by Savitzky-Golay ("savgol") or low-pass
        filters ("lowpass"), or not at all ("off" or None); or a `Smoothing`
    cutoff : Hz, at which the smoothing halves a sine; without it what noise and motion ask for
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
    gaps: Annotated["Gaps", Option("refuse")]
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
    smooth: Annotated["Smooth", Option("auto")]
    cutoff: Annotated[float | None, Option(None, "Hz")]
    topic: Annotated[str | None, Option(None, "TOPIC")]
    clock: Annotated["Clock | None", Option(None)]


@dataclass(frozen=True, eq=False)
class Reading:
    """What is said of a file with a motion, checked.

    Attributes
    ----------
    rest : hold coordinates that the file does not have at their zero position
    naming, smoothing, completion : of its columns, its noise, and of what it leaves open
    topic, clock : of a bag; see `formats.bags.read_bag`
    given : which of these were given, by the names of the arguments
    """

    rest: bool = False
    naming: Naming = Naming()  # noqa: RUF009 - it is frozen
    smoothing: Smoothing = Smoothing()  # noqa: RUF009 - it is frozen
    completion: CompletionOptions = CompletionOptions()
    topic: str | None = None
    clock: Clock | None = None
    given: tuple[str, ...] = ()

    @staticmethod
    @with_options
    def of(**options: Unpack[ReadingOptions]) -> "Reading":
        """Return a checked reading.

        Parameters
        ----------
        **options : of the file
        """
        return Reading(
            options["rest"],
            Naming.of(
                options["rename"],
                options["ignore"],
                options["unit"],
                options["gaps"],
                options["unwrap"],
            ),
            Smoothing.of(options["smooth"], options["cutoff"]),
            CompletionOptions(options["near"], options["frames"], options["given"]),
            options["topic"],
            options["clock"],
            given(ReadingOptions, options),
        )
