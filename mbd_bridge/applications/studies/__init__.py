"""Studies: thousands to millions of variants of a machine, in parts that survive interruptions."""

from mbd_bridge.applications.studies.design import (
    Design,
    grid,
    latin_hypercube,
    saltelli,
    sobol,
    table,
)
from mbd_bridge.applications.studies.evaluate import LoadsOfStates, Motions
from mbd_bridge.applications.studies.result import StudyResult
from mbd_bridge.applications.studies.run import study

__all__ = [
    "Design",
    "LoadsOfStates",
    "Motions",
    "StudyResult",
    "grid",
    "latin_hypercube",
    "saltelli",
    "sobol",
    "study",
    "table",
]
