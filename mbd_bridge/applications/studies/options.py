"""What a study computes, and where."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from mbd_bridge.base.options import Option, option_group
from mbd_bridge.simulation.options import GivenActsOptions, LaneOptions, RecordOptions

if TYPE_CHECKING:
    from os import PathLike

    from mbd_bridge.applications.studies.evaluate import Columns, Output
    from mbd_bridge.applications.studies.run import Executor

BATCH = 4096
"""Variants of a part: some tenths of a second of work, and 256 full sets of vector lanes."""


@option_group
class StudyOptions(GivenActsOptions, LaneOptions, RecordOptions, total=False):
    """What a study computes, and where.

    Parameters
    ----------
    outputs : phrases such as "peak coupler_pin.force" (see `studies.quantities`), by names of your
        choice or in a list; or functions of the motions (`SimulationBatch`) that return (N,)
    duration : s, of the motions; without it the joint loads of one state each are computed
    near : coordinates at the start by name, of all variants; loops are closed from there
    variables : turns values (N,) of the factors into those of what they change, where one factor
        changes several things: ``lambda f: {"rod.mass": f["d"] ** 2 * 100}``
    executor : runs parts elsewhere: a `concurrent.futures` executor, a Dask client, or what has
        their ``submit``; None: here, one after the other
    batch : variants of a part
    ahead : parts that wait in the executor, more than it has workers; None: 64, or more for a Dask
        cluster of more than 32 threads
    folder : keep the parts there, as Parquet; those that are there already are not computed again
    progress : is called with the number of variants done since the last call
    """

    outputs: Annotated["Mapping[str, Output] | Sequence[str] | None", Option(None)]
    duration: Annotated[float | None, Option(None, "s")]
    near: Annotated["Mapping[str, float] | None", Option(None)]
    variables: Annotated["Callable[[Columns], Columns] | None", Option(None)]
    executor: Annotated["Executor | None", Option(None)]
    batch: Annotated[int, Option(BATCH, "N")]
    ahead: Annotated[int | None, Option(None, "N")]
    folder: Annotated["str | PathLike[str] | None", Option(None, "FOLDER")]
    progress: Annotated["Callable[[int], None] | None", Option(None)]
