"""How loops are closed."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, TypedDict

from mbd_bridge.base.options import Option, option_group
from mbd_bridge.solve.tolerances import ASSEMBLED

if TYPE_CHECKING:
    from mbd_bridge.model.parameters import Parameters, ParameterValues
    from mbd_bridge.solve.assembly import InitialGuess, InitialGuesses


@option_group
class ClosingOptions(TypedDict, total=False):
    """How loops are closed.

    Parameters
    ----------
    fixed : names of coordinates (and so of their velocities) that stay exactly as given
    weights : how dear the movement of a coordinate is, 1 for those not named (modes of flexible
        links: 1e8)
    tolerance : residual at which a loop counts as closed, rad or sizes of the mechanism. A file
        whose lengths and axes are rounded may close to its digits only
    check : raise if a loop stays open; False returns what was reached
    """

    fixed: Annotated["Iterable[str] | str", Option((), "JOINT")]
    weights: Annotated["Mapping[str, float] | None", Option(None)]
    tolerance: Annotated[
        float,
        Option(
            ASSEMBLED,
            "RESIDUAL",
            shell="residual at which a loop counts as closed, rad or of the mechanism's size, for "
            "files whose lengths or axes are rounded",
        ),
    ]
    check: Annotated[bool, Option(True)]


@option_group
class AssemblyOptions(ClosingOptions, total=False):
    """The state that closes the loops.

    Parameters
    ----------
    velocity : given rates, by velocity name; zero where not named
    acceleration : their rates, likewise
    """

    velocity: Annotated["InitialGuess", Option(None, "NAME=VALUE")]
    acceleration: Annotated["InitialGuess", Option(None)]


@option_group
class BatchAssemblyOptions(ClosingOptions, total=False):
    """The states that close the loops of many machines or of many positions.

    Parameters
    ----------
    velocity : given rates by name, each one value or N of them; or (nv,), (N, nv); zero where not
        named
    parameters : numbers of the mechanism in which the N variants differ (`mechanism.parameters`)
    """

    velocity: Annotated["InitialGuesses", Option(None)]
    parameters: Annotated["ParameterValues | Parameters | None", Option(None)]
