"""The options of systems and runs, each spelled once: what acts, where it starts, how it goes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from mbd_bridge.base.options import Option, option_group
from mbd_bridge.loads.options import Formulation
from mbd_bridge.simulation.steps.schemes import CompiledIntegrator, Coordinates, MethodName, Scheme
from mbd_bridge.solve.wrenches import Axes

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import ArrayLike

    from mbd_bridge.forces.acts import StartStates
    from mbd_bridge.forces.base import ForceElement
    from mbd_bridge.model.parameters import ParameterValues
    from mbd_bridge.simulation.run.events import Watch
    from mbd_bridge.simulation.run.problem import Correction, IntegratorName
    from mbd_bridge.simulation.signals.parts import External, Torque
    from mbd_bridge.simulation.signals.prescribed import Prescribed
    from mbd_bridge.simulation.signals.signal import StateFunction

TOLERANCE = 1e-8
"""Error of a step that is allowed where steps are variable, relative and absolute."""

EVALUATIONS = 10_000
"""Evaluations of variable steps in a place that needs many: a second or two."""

STABILISATION = 20.0
"""α, 1/s: what is open is a millionth after 0.8 s."""


@option_group
class GivenActsOptions(TypedDict, total=False):
    """What acts on a machine.

    Parameters
    ----------
    torque : generalised forces by velocity name, each a number, a formula of t ("5*sin(t)", see
        `formula`), a table (times, values) of any length with straight lines from row to row, which
        jumps where a time stands twice (steps end where it bends or jumps), or a function of
        (t, q, v); or a vector (nv,); or a function of (t, q, v) that returns one. Functions are
        traced, and so made of + - * / and those of `mbd_bridge.functions`; any other Python is
        called step by step as `mbd.Sampled(function)`; `mbd.Input(name)` is what `inputs` gives
    effort_limits : hold the forces of `torque` at the ``<limit effort>`` of the file; the motion's
        notes say where they are held, and without this option where they are beyond
    external : link name -> wrench that acts on it from outside, (6,): force (N), then moment (N m),
        at the origin of the link's frame; or a table (times, (n, 6)), a function of (t, q, v), a
        `Sampled` one, an `Input`. A function may ask `Mechanism.placement` and `Mechanism.velocity`
        where the link is and how it moves. The loads of the motion count these wrenches
    external_in : these are given in the axes of their "link" or of the "world"
    forces : force elements: springs, bushings, friction, stops, drag (see `mbd_bridge.forces`);
        None: those of the mechanism (`Mechanism.forces`), () none. `Simulation.force_elements`
        reports what they did
    prescribed : motions prescribed by coordinate name, whatever force they take: a number (0 locks
        the joint), a formula of t as a text or as a function made like that of the torque, or a
        table (times, values), through which a cubic spline goes. `Simulation.prescribed_forces` has
        the forces
    parameters : masses, lengths, gravity of this run by name (see `mechanism.parameters`), numbers
        of force elements, "spring.stiffness": the machine code is the same for all values
    inputs : what each `mbd.Input` of torque and external gets, whatever may be given there itself
    """

    torque: Annotated[
        "Torque",
        Option(
            None,
            "NAME=WHAT",
            "forces along velocities, N m or N, given in the same ways (crank=5)",
        ),
    ]
    effort_limits: Annotated[
        bool, Option(False, shell="hold the forces of --torque at the <limit effort> of the file")
    ]
    external: Annotated["External | None", Option(None)]
    external_in: Annotated[Axes, Option("link")]
    forces: Annotated["Iterable[ForceElement] | None", Option(None)]
    prescribed: Annotated[
        "Mapping[str, Prescribed] | None",
        Option(
            None,
            "NAME=WHAT",
            "prescribed motions, whatever force they take: a formula of t (crank=2*pi*t, "
            "slide=20mm*sin(3t)), a number, or a table with a column 'time' (crank=motion.csv, or "
            "crank=motion.csv:COLUMN)",
        ),
    ]
    parameters: Annotated["ParameterValues | None", Option(None)]
    inputs: Annotated["Mapping[str, Any] | None", Option(None)]


@option_group
class OutputOptions(TypedDict, total=False):
    """What steps tell of the states that they begin with.

    Parameters
    ----------
    loads : joints, tree or cut, whose loads the steps tell while they run: `Simulation.loads`
    outputs : functions of (t, q, v) by name, traced into the step: `Simulation.outputs`
    formulation : of these loads: from the terms of M and h ("non-recursive", Kim and You 1997), by
        the recursive Newton-Euler equations, or what needs fewer operations
    """

    loads: Annotated["Sequence[str] | str | None", Option(None)]
    outputs: Annotated["Mapping[str, StateFunction] | None", Option(None)]
    formulation: Annotated["Formulation", Option("auto")]


class GivenOptions(GivenActsOptions, OutputOptions, total=False):
    """What a `System` holds, and so is not given beside one."""


@option_group
class SystemOptions(GivenOptions, total=False):
    """A machine with what acts on it, over a time.

    Parameters
    ----------
    start : s, from which tables must cover
    end : s, up to which they must; without an end they are taken as they are
    """

    start: Annotated[float, Option(0.0, "s")]
    end: Annotated[float | None, Option(None, "s")]


@option_group
class StateOptions(TypedDict, total=False):
    """Where a motion starts.

    Parameters
    ----------
    q : coordinates at the start (nq,), rad or m; without them zero position, or what is prescribed
        and the nearest to it that closes the loops
    v : velocities at the start (nv,); without them rest, or what is prescribed and the smallest
        that keeps the loops closed
    z : states of force elements at the start, (nz,) or by name {"tyre.deflection": 0.01}; zero
        where none is given
    """

    q: Annotated["ArrayLike | None", Option(None)]
    v: Annotated["ArrayLike | None", Option(None)]
    z: Annotated["StartStates | None", Option(None)]


@option_group
class RightHandSideOptions(StateOptions, GivenActsOptions, total=False):
    """Equations of motion for other integrators.

    Parameters
    ----------
    span : s, from start to end (a table must cover it; a time beyond a table is refused)
    stabilisation : α, 1/s, with which open loops and prescribed motions are closed
    """

    span: Annotated[tuple[float, float], Option((0.0, 0.0), "s")]
    stabilisation: Annotated[float, Option(STABILISATION, "1/s")]


@option_group
class StepOptions(TypedDict, total=False):
    """Steps of fixed length.

    Parameters
    ----------
    step : s, of one step
    """

    step: Annotated[float, Option(1e-3, "s")]


@option_group
class LoopOptions(TypedDict, total=False):
    """How loops are kept closed.

    Parameters
    ----------
    method : "multipliers" of all loops, the quickest (Lee94); or equations in the null space of the
        loops, by a basis of it that is kept from step to step: "svd" (LeeJoo90), "qr", "projection"
        (KimYoo97). See `mbd.integrators.NullSpace`
    coordinates : of these: "all" velocities are integrated, or "independent" ones alone, z', from
        which all others follow
    """

    method: Annotated[
        MethodName,
        Option("multipliers", "NAME", "how loops are kept: multipliers, svd, qr, projection"),
    ]
    coordinates: Annotated[
        Coordinates, Option("all", "NAME", "of svd, qr, projection: all velocities, or independent")
    ]


@option_group
class CompiledStepOptions(StepOptions, LoopOptions, total=False):
    """Compiled steps.

    Parameters
    ----------
    integrator : "rk4", "newmark", "hht", "generalised_alpha", "explicit_newmark", or one with its
        numbers as `mbd.integrators.HHT(alpha=-0.1)`, as for `simulate`, or your own; with steps of
        fixed length
    """

    integrator: Annotated[
        CompiledIntegrator | Scheme, Option("rk4", "NAME", "rk4, or an implicit one")
    ]


@option_group
class RecordOptions(TypedDict, total=False):
    """Records of a motion.

    Parameters
    ----------
    every : record every so many steps (the start and the end are always recorded)
    """

    every: Annotated[int, Option(1, "N")]


@option_group
class TimeOptions(StepOptions, RecordOptions, total=False):
    """Times of the steps and records of a motion.

    Parameters
    ----------
    start : s, the time at which it starts
    """

    start: Annotated[float, Option(0.0, "s")]


@option_group
class ThreadOptions(TypedDict, total=False):
    """Many trajectories at once.

    Parameters
    ----------
    threads : that share the trajectories, of several
    """

    threads: Annotated[int, Option(1, "N")]


class LaneOptions(CompiledStepOptions, ThreadOptions, total=False):
    """Compiled steps of many trajectories."""


@option_group
class ProgressOptions(TypedDict, total=False):
    """What is called meanwhile.

    Parameters
    ----------
    progress : is called with the number of steps taken since the last call, over all trajectories
    """

    progress: Annotated["Callable[[int], None] | None", Option(None)]


class BatchOptions(
    TimeOptions, StateOptions, GivenOptions, LaneOptions, ProgressOptions, total=False
):
    """How a batch is run."""


@option_group
class MethodOptions(LoopOptions, total=False):
    """How the motion of one trajectory is found.

    Parameters
    ----------
    integrator : "rk4" is compiled, and so are the implicit "newmark", "hht" and
        "generalised_alpha" for stiff machines, and "explicit_newmark" (with method "multipliers"
        only); their numbers are given as `mbd.integrators.HHT(alpha=-0.1)` in place of the name,
        and so is one of your own (`mbd.integrators.Integrator`). "ab3" has fixed steps;
        "abm" and SciPy's ("scipy:RK45", "scipy:LSODA", ...) choose their own, with records every
        `every` * `step` seconds
    tolerance : error of a step, relative and absolute, where steps are variable
    most_evaluations : of accelerations, beside 200 for each `step` seconds, where steps are
        variable: the run ends where it needs more, such as at dry friction
    correction : what is put back onto loops and prescribed motions after each step: "state",
        position and velocity; to compare, "velocity" or "none" (run in Python, our integrators):
        what stays open then drifts
    history : keep length, order and residual of every step in `Simulation.history` (our
        integrators, run from Python: some hundred microseconds a step)
    reference : run method and integrator in Python, one readable state after the other: to compare,
        some 1000 times slower
    """

    integrator: Annotated[
        "IntegratorName | Scheme",
        Option(
            "rk4",
            "NAME",
            "rk4 or ab3 with steps of --step, and so newmark, hht, generalised_alpha for stiff "
            "machines; abm, scipy:RK45, scipy:LSODA, ... choose their own",
        ),
    ]
    tolerance: Annotated[float, Option(TOLERANCE, "E", "of steps of their own")]
    most_evaluations: Annotated[int, Option(EVALUATIONS, "N")]
    correction: Annotated["Correction", Option("state")]
    history: Annotated[bool, Option(False)]
    reference: Annotated[bool, Option(False)]


@option_group
class AloneOptions(TypedDict, total=False):
    """How one trajectory is run.

    Parameters
    ----------
    check : raise if the motion cannot be continued; False returns what there is, with a status
    checkpoint : file that the run is kept in, and from which it goes on if it is there, to the same
        digits. A file of anything else than this very problem is refused; functions are told by
        what they compute, so they must be traceable
    checkpoint_every : steps between two checkpoints; without it 100000, of steps that are not
        compiled or implicit 2000
    events : functions (t, q, v) -> number by name, any Python, looked at as records come;
        `Simulation.events` tells where they change their signs. One with an attribute
        ``terminal = True`` ends the motion there; one with an attribute ``action``, a function
        (t, q, v) -> (q, v), has it go on from the state that this returns (the time stands twice
        then); ``direction = 1`` or -1 minds only where it grows or falls
    """

    check: Annotated[bool, Option(True)]
    checkpoint: Annotated[
        "str | PathLike[str] | None",
        Option(
            None,
            "FILE",
            "keep the run in this .npz file as it goes; if it was killed, the same command with "
            "--resume goes on from there, to the same digits",
        ),
    ]
    checkpoint_every: Annotated[int | None, Option(None, "N")]
    events: Annotated["Mapping[str, Watch] | None", Option(None)]


class SingleOptions(
    TimeOptions,
    StateOptions,
    GivenOptions,
    MethodOptions,
    ProgressOptions,
    AloneOptions,
    total=False,
):
    """All options of one trajectory."""


class SimulateOptions(SingleOptions, ThreadOptions, total=False):
    """All options of one trajectory or many."""


@option_group
class SimulationDerivativeOptions(TimeOptions, GivenActsOptions, CompiledStepOptions, total=False):
    """How the motion is found that is derived.

    Parameters
    ----------
    until : function (t, q, v) -> number, made of + - * / and `mbd_bridge.functions`: the motion
        ends where it first changes its sign, as at a terminal event (with ``direction = 1`` or -1
        where it grows or falls), and its end moves with what it is derived by. It is looked at
        after each step: two changes within one step go unseen; take shorter ones
    """

    until: Annotated["Callable[[Any, Any, Any], Any] | None", Option(None)]


class OwnStepOptions(CompiledStepOptions, StateOptions, total=False):
    """A machine whose steps are taken one by one, in another program or at wall-clock pace."""
