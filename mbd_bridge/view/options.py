"""How a machine is drawn: options of all calls that show one."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, TypedDict

from mbd_bridge.base.arguments import flag, name_list
from mbd_bridge.base.options import Option, option_group

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mbd_bridge.model import Model
    from mbd_bridge.motion.external import ExternalGiven
    from mbd_bridge.view.draw_loads import Overlays


@option_group
class ExaggerateOptions(TypedDict, total=False):
    """How links that bend are drawn.

    Parameters
    ----------
    exaggerate : factor on the deflections of links that bend; joints of loops turn as they must
    """

    exaggerate: Annotated[float, Option(1.0, "X")]


@option_group
class OverlayOptions(ExaggerateOptions, total=False):
    """What is drawn beside a machine.

    Parameters
    ----------
    joints : draw pins of joints; None: of machines with loops
    centre : draw the centre of mass
    frames : names of links whose axes are drawn
    ground : draw tiles below the machine
    labels : draw numbers at the arrows
    """

    joints: Annotated["bool | None", Option(None)]
    centre: Annotated[bool, Option(False)]
    frames: Annotated["Iterable[str]", Option((), "LINK")]
    ground: Annotated[bool, Option(True)]
    labels: Annotated[bool, Option(True)]


@option_group
class LookOptions(OverlayOptions, total=False):
    """Which states are shown with which loads, from where, and what is drawn beside.

    Parameters
    ----------
    q : (nq,) where a mechanism without a motion stands; else as it assembles, or at zero
    loads : names of joints whose loads are drawn as arrows, on the child; or "all". Those of a
        mechanism without a motion are at rest under gravity
    actuated : of a mechanism with loops, the actuated joints (as for `Mechanism.joint_loads`)
    external : forces on links along `motion` (as for `Mechanism.joint_loads`), in the links' axes:
        the loads count them, and they are drawn where they act; those of a simulation, too
    view : yaw and pitch of the camera, degrees; yaw 0 looks along y. None: chosen
    """

    q: Annotated["ArrayLike | None", Option(None)]
    loads: Annotated["Iterable[str] | str", Option((), "JOINT")]
    actuated: Annotated["Iterable[str] | None", Option(None, "JOINT")]
    external: Annotated["ExternalGiven | None", Option(None)]
    view: Annotated["tuple[float, float] | None", Option(None, "YAW,PITCH")]


def overlays(model: "Model", options: OverlayOptions) -> "Overlays":
    """Return what is drawn beside the machine, checked."""
    from mbd_bridge.view.draw_loads import Overlays
    from mbd_bridge.view.scales import check_factor

    names, joints = name_list("frames", options["frames"], "links"), options["joints"]
    for name in names:
        model.link_number(name)  # or say which links there are
    return Overlays(
        None if joints is None else flag("joints", joints),
        flag("centre", options["centre"]),
        names,
        flag("ground", options["ground"]),
        flag("labels", options["labels"]),
        check_factor(model, options["exaggerate"]),
    )
