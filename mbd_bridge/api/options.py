"""How load histories are made: options of all calls that go along a motion."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from mbd_bridge.base.options import Option, option_group
from mbd_bridge.loads.options import ActingOptions, ConventionOptions
from mbd_bridge.loads.streaming import EXPONENTS
from mbd_bridge.motion.options import ReadingOptions

if TYPE_CHECKING:
    from mbd_bridge.applications.typed import BearingsGiven


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
    """

    exponents: Annotated["Sequence[float]", Option(EXPONENTS, "m")]
    motors: Annotated["bool | None", Option(None)]
    bearings: Annotated["BearingsGiven | None", Option(None)]
