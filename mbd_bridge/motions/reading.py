"""How a file with a motion is read: names, units, gaps, smoothing, completion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath

from mbd_bridge.formats.bags import is_bag
from mbd_bridge.formats.tables import open_table
from mbd_bridge.kinematics.frames import Frames
from mbd_bridge.mechanism import Model
from mbd_bridge.motions.completed_pieces import motion_pieces
from mbd_bridge.motions.file import motion_from_file
from mbd_bridge.motions.names import Gaps, Naming
from mbd_bridge.motions.partial import CompletionOptions
from mbd_bridge.motions.pieces import MotionParts, Pieces
from mbd_bridge.motions.smoothing import Smooth, Smoothing
from mbd_bridge.solve.assembly import InitialGuess


@dataclass(frozen=True, eq=False)
class Reading:
    """What is said of a file with a motion, checked.

    Attributes
    ----------
    rest : hold coordinates that the file does not have at their zero position
    naming, smoothing, completion : of its columns, its noise, and of what it leaves open
    given : which of these were given, by the names of the arguments
    """

    rest: bool
    naming: Naming
    smoothing: Smoothing
    completion: CompletionOptions
    given: tuple[str, ...] = ()

    @staticmethod
    def of(
        *,
        rest: bool = False,
        rename: Mapping[str, str | None] | None = None,
        unit: Sequence[str] | str = (),
        ignore: Sequence[str] | str = (),
        gaps: Gaps = "refuse",
        near: InitialGuess = None,
        frames: Frames = None,
        given: Iterable[str] | str | None = None,
        smooth: Smooth = "auto",
        cutoff: float | None = None,
    ) -> Reading:
        """Return a checked reading; the arguments are those of `mbd.load_motion`."""
        naming = Naming.of(rename, ignore, unit, gaps)
        smoothing = Smoothing.of(smooth, cutoff)
        said = {
            "rest": rest is not False,
            "rename": rename is not None,
            "unit": bool(naming.units),
            "ignore": bool(naming.ignore),
            "gaps": naming.drop_gaps,
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
            tuple(name for name, was_given in said.items() if was_given),
        )

    def pieces(
        self,
        path: str | PathLike[str],
        model: Model,
        progress: Callable[[float], None] | None = None,
    ) -> Pieces:
        """Return the motion in a file in pieces, a table's as they are read."""
        if is_bag(path):
            motion = motion_from_file(
                path,
                model,
                rest=self.rest,
                smoothing=self.smoothing,
                naming=self.naming,
                completion=self.completion,
                progress=progress,
            )
            return MotionParts(motion, fspath(path))
        return motion_pieces(
            open_table(path),
            model,
            rest=self.rest,
            naming=self.naming,
            smoothing=self.smoothing,
            progress=progress,
            completion=self.completion,
        )
