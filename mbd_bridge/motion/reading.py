"""How a file with a motion is read: names, units, gaps, smoothing, completion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

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
    def of(
        *,
        rest: bool = False,
        rename: Mapping[str, str | None] | None = None,
        unit: Sequence[str] | str = (),
        ignore: Sequence[str] | str = (),
        gaps: Gaps = "refuse",
        unwrap: Iterable[str] | str | None = None,
        near: InitialGuess = None,
        frames: Frames = None,
        given: Iterable[str] | str | None = None,
        smooth: Smooth = "auto",
        cutoff: float | None = None,
        topic: str | None = None,
        clock: Clock | None = None,
    ) -> Reading:
        """Return a checked reading; the arguments are those of `mbd.load_motion`."""
        naming = Naming.of(rename, ignore, unit, gaps, unwrap)
        smoothing = Smoothing.of(smooth, cutoff)
        said = {
            "rest": rest is not False,
            "rename": rename is not None,
            "unit": bool(naming.units),
            "ignore": bool(naming.ignore),
            "gaps": naming.drop_gaps,
            "unwrap": unwrap is not None,
            "near": near is not None,
            "frames": frames is not None,
            "given": given is not None,
            "smooth": smoothing != Smoothing(),
        }
        return Reading(
            rest,
            naming,
            smoothing,
            CompletionOptions(near, frames, given),
            topic,
            clock,
            tuple(name for name, was_given in said.items() if was_given),
        )
