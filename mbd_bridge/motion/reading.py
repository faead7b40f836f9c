"""How a file with a motion is read: names, units, gaps, smoothing, completion."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Unpack

from mbd_bridge.base.options import given, with_options
from mbd_bridge.motion.frames import Frames
from mbd_bridge.motion.match_columns import Naming
from mbd_bridge.motion.options import REACHED, Clock, ReadingOptions
from mbd_bridge.motion.smoothing import Smoothing
from mbd_bridge.solve.assembly import InitialGuess


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
