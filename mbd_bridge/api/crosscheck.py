"""The cross-check: our numbers beside those of other engines."""

from dataclasses import replace
from os import PathLike
from typing import Unpack

from mbd_bridge.api.histories import HistoryOptions, HistoryRequest, LoadInputs
from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.base.errors import StateError
from mbd_bridge.base.options import given, part, with_options
from mbd_bridge.engines.crosscheck import Report, crosscheck as at_random_states
from mbd_bridge.engines.crosscheck.motion import MotionCheck
from mbd_bridge.loads.observers import watch
from mbd_bridge.loads.options import ActingOptions
from mbd_bridge.model import Model
from mbd_bridge.motion import Motion, MotionParts, Pieces, Reading, pieces_from_file
from mbd_bridge.motion.options import ReadingOptions

OneMotion = Motion | Pieces | str | PathLike[str]
"""A motion, a motion in pieces, or a file with one."""


class CheckOptions(ReadingOptions, ActingOptions, total=False):
    """How a motion is read, and what acts along it."""


@with_options
def crosscheck(
    machine: Mechanism,
    motion: OneMotion | None = None,
    *,
    states: int | None = None,
    seed: int = 0,
    pybullet: bool | None = None,
    threads: int = 1,
    **options: Unpack[CheckOptions],
) -> Report:
    """Compare with pinocchio, and with pybullet and MuJoCo where they can be asked.

    At random states loads, M, bias and accelerations. Along a motion the load of each joint and
    what actuators do, with all that acts there: external forces, payloads, force elements, loops.

    Parameters
    ----------
    motion : a motion or a file with one; None: random states
    states : random states (20); or rows of each piece of the motion, evenly (1000), beside those of
        the largest loads
    seed : of the random states
    pybullet : ask pybullet too; None: if it can be asked
    threads : share the states among this many threads
    **options : of the motion and its loads

    See Also
    --------
    joint_loads, report, to_pinocchio

    Examples
    --------
    >>> robot.crosscheck("pick.csv", external=forces).passed            # doctest: +SKIP
    """
    if motion is None:
        for name in given(CheckOptions, options):
            raise StateError(f"{name}: along a motion, crosscheck(motion, {name}=...)")
        return at_random_states(machine.model, states=states, seed=seed, pybullet=pybullet)
    if isinstance(motion, Motion):
        inputs = LoadInputs.of(machine, motion, part(ActingOptions, options), threads)
    else:
        asked = HistoryRequest.of(machine, None, part(HistoryOptions, options), threads=threads)
        inputs = asked.inputs(machine)
    reading = Reading.of(**part(ReadingOptions, options))
    return check_motion(inputs, motion_pieces(machine.model, motion, reading), states, pybullet)


def check_motion(
    inputs: LoadInputs, pieces: Pieces, rows: int | None = None, pybullet: bool | None = None
) -> Report:
    """Return how the loads along a motion compare with those of other engines."""
    acting = inputs.mechanism.prepared, inputs.external, inputs.forces
    with MotionCheck(*acting, rows, pybullet) as check:
        report: Report = watch(pieces, inputs, {"check": check})["check"]
    return report


def motion_pieces(model: Model, motion: OneMotion, reading: Reading) -> Pieces:
    """Return a motion in pieces, however it was given."""
    if isinstance(motion, str | PathLike):
        return pieces_from_file(motion, model, reading)
    if reading.given:
        raise StateError(
            f"{reading.given[0]}: for files; this motion was read already: ("
            f"robot).read_motion(path, {reading.given[0]}=...)"
        )
    if isinstance(motion, Motion):
        known = motion if motion.model is not None else replace(motion, model=model)
        return MotionParts(known, "a motion")
    if not hasattr(motion, "assumed"):
        raise StateError(
            f"motion: expected a Motion, a file, or several by name, got {motion!r:.60}"
        )
    return motion
