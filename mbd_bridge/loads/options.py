"""How loads are given, what acts, who moves the machine: options of all calls that give loads."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict

from mbd_bridge.base.options import Option, option_group

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mbd_bridge.forces.base import ForceElement
    from mbd_bridge.loads.convention import Point
    from mbd_bridge.loads.poses.workspace import Ranges
    from mbd_bridge.model.parameters import ParameterValues
    from mbd_bridge.motion.external import ExternalGiven
    from mbd_bridge.solve.assembly import InitialGuess
    from mbd_bridge.solve.wrenches import Axes

CLEARANCE = 1e-2
"""Distance from a singular position, relative: nearer, loads are a hundred times the weights."""

On = Literal["child", "parent"]
At = Literal["joint", "parent"]
In = Literal["child", "parent", "world"]
Formulation = Literal["auto", "non-recursive", "recursive"]

EXPONENTS = (3.0, 5.0, 10.0)
"""Woehler exponents unless others are asked for: welded steel, machined steel, composites."""


@option_group
class ConventionOptions(TypedDict, total=False):
    """On which body, at which point and in whose axes loads are given.

    Parameters
    ----------
    on : the load of the parent on the "child" (as pinocchio's data.f), or the opposite, on the
        "parent"
    at : moment about the joint's origin on the child ("joint"), on the parent ("parent", which a
        sliding child leaves behind), or about a point (x, y, z) m in the child link's frame
    in_ : axes of the "child" link, of the "parent" link or of the "world". The child of a joint
        that closes a loop is its successor
    """

    on: Annotated[On, Option("child")]
    at: Annotated[
        "At | Point",
        Option(
            "joint",
            "joint|parent|x,y,z",
            "moment about the joint's origin on the child (joint), on the parent (which a sliding "
            "child leaves behind), or about a point of the child link, m; a negative x needs the "
            "sign =: --at=-0.1,0,0",
        ),
    ]
    in_: Annotated[In, Option("child")]


@option_group
class ReactionOptions(ConventionOptions, total=False):
    """A convention, and whether actuation is left out.

    Parameters
    ----------
    reaction : give the load without the actuation's part as well: what the bearing carries
    """

    reaction: Annotated[bool, Option(False)]


@option_group
class ActuationOptions(TypedDict, total=False):
    """Who moves a machine with loops.

    Parameters
    ----------
    actuated : in a mechanism with loops, the actuated joints, as many as it has degrees of freedom;
        without it those that the file names
    minimum_norm : allow more actuators than the motion determines: the loads are then the smallest
        for the loop joints, and what is not determined is called so
    """

    actuated: Annotated["Iterable[str] | str | None", Option(None, "JOINT")]
    minimum_norm: Annotated[bool, Option(False)]


@option_group
class ForceOptions(TypedDict, total=False):
    """Force elements, and the axes of what acts from outside.

    Parameters
    ----------
    external_in : wrenches on links are given in the axes of their "link" or of the "world"
    forces : force elements that act; None: the mechanism's own (`Mechanism.forces`), () none. What
        an element exerts in a joint, such as a torsion bar, is part of that joint's load and
        actuation
    """

    external_in: Annotated["Axes", Option("link")]
    forces: Annotated["Iterable[ForceElement] | None", Option(None)]


class DynamicsOptions(ActuationOptions, ForceOptions, total=False):
    """What acts beside the wrenches of a call, and who moves the machine."""


@option_group
class ActingOptions(DynamicsOptions, total=False):
    """All that acts on a machine along a motion, and who moves it.

    Parameters
    ----------
    external : link name -> wrench that acts on it from outside, (6,) or (N, 6): force (N), then
        moment (N m), at the origin of the link's frame; or (times, (n, 6)), a table; or
        `robot.read_external(...)`, a file of such forces, or a list of these
    """

    external: Annotated["ExternalGiven | None", Option(None)]


class LoadOptions(ReactionOptions, ActingOptions, total=False):
    """How loads are given, and what acts."""


@option_group
class WorkspaceOptions(TypedDict, total=False):
    """Which poses of a machine are sampled.

    Parameters
    ----------
    ranges : (lowest, highest) by coordinate, or one value; others: the limits of the file
    near : coordinates that are not sampled, such as those of a base; in a machine with loops where
        the others are looked for
    actuated : of a machine with loops, the actuated joints, which are sampled; None: those that the
        file names
    clearance : of a machine with loops, poses nearer to a singular position or a dead centre are
        left out: there loads have no bound. 0 is singular, 1 as far as can be
    seed : of the sequence
    """

    ranges: Annotated[
        "Ranges",
        Option(
            None,
            "NAME=LOW:HIGH",
            "of a coordinate, rad or m, or with units: elbow=-30deg:90deg; or one value",
        ),
    ]
    near: Annotated["InitialGuess", Option(None)]
    actuated: Annotated["Iterable[str] | str | None", Option(None)]
    clearance: Annotated[
        float,
        Option(
            CLEARANCE,
            "X",
            "with loops: poses nearer to a singular position or a dead centre are left out, as "
            "loads have no bound there; 0 is singular",
        ),
    ]
    seed: Annotated[int, Option(0, "N")]


class WorstPoseOptions(ConventionOptions, WorkspaceOptions, total=False):
    """How loads are given, and at which poses."""


@option_group
class RequestOptions(ReactionOptions, DynamicsOptions, total=False):
    """What a `LoadRequest` says beside the joints.

    Parameters
    ----------
    links : that carry external wrenches, a further argument of the solver
    open_tree : of a machine with loops, give the loads of its tree with the loops left open
    """

    links: Annotated["Iterable[str]", Option(())]
    open_tree: Annotated[bool, Option(False)]


@option_group
class AtStates(TypedDict, total=False):
    """How what is prepared is asked at states.

    Parameters
    ----------
    t : s or (N,) s, where force elements depend on time
    threads : share the states among this many threads
    check : raise if a result is not finite, a quaternion not of unit length, a loop not closed, or
        a motion not possible with the actuators; False leaves what comes out
    """

    t: Annotated["ArrayLike | None", Option(None)]
    threads: Annotated[int, Option(1, "N")]
    check: Annotated[bool, Option(True)]


@option_group
class LoadsAtStates(AtStates, total=False):
    """How prepared loads are asked at states.

    Parameters
    ----------
    lam : (m,) or (N, m) multipliers of the loops, where they are known (of a simulation, in which
        forces along passive coordinates are given); None: they follow from the motion
    """

    lam: Annotated["ArrayLike | None", Option(None)]


@option_group
class DerivativesAtStates(AtStates, total=False):
    """How prepared derivatives are asked at states.

    Parameters
    ----------
    parameters : other values of the machine's numbers that loads are derived by, by name, of one
        variant or of N; or an array of them (K,) or (N, K), in the order of the columns. All values
        share the machine code, which the first call with any makes
    """

    parameters: Annotated["ParameterValues | ArrayLike | None", Option(None)]
