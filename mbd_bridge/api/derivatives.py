"""Methods of a mechanism that derive its loads and its dynamics."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args

from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import flag, known_name
from mbd_bridge.base.errors import ModelError, StateError, one_of
from mbd_bridge.base.options import with_options
from mbd_bridge.equations.frames import Reference
from mbd_bridge.kernels import Kernel, rates_along
from mbd_bridge.loads import LoadRequest
from mbd_bridge.loads.derivatives import DerivativeRequest, DerivativeSolver, LoadDerivatives
from mbd_bridge.loads.derivatives.loops import position_rates
from mbd_bridge.loads.derivatives.request import STATE, Columns, DerivativeColumn
from mbd_bridge.loads.options import ForceOptions, LoadOptions, RequestOptions
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion import Motion
from mbd_bridge.motion.frames import Frames, traceable_frame
from mbd_bridge.simulation.derivatives import SimulationDerivativeSolver
from mbd_bridge.simulation.options import SimulationDerivativeOptions
from mbd_bridge.solve.applied import AppliedForces, check_stateless, prepare_torque_derivatives
from mbd_bridge.solve.check_states import explain, unit_quaternions
from mbd_bridge.solve.closed_kernel import function_of
from mbd_bridge.solve.derivatives import ForwardDerivatives, InverseDerivatives
from mbd_bridge.solve.dynamics import FUNCTIONS, Dynamics, Traceable
from mbd_bridge.solve.model_kernel import model_kernel
from mbd_bridge.solve.wrenches import External, check_axes, flat_external, links_of

if TYPE_CHECKING:
    from mbd_bridge.api.mechanism import Mechanism


@with_options
def load_derivatives(
    self: Mechanism,
    q: ArrayLike | Motion,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    joints: Iterable[str | int] | str | None = None,
    by: Iterable[str] | str = STATE,
    *,
    along: Iterable[str] | str | None = None,
    t: ArrayLike | None = None,
    threads: int = 1,
    check: bool = True,
    **options: Unpack[LoadOptions],
) -> LoadDerivatives:
    """Return the loads of chosen joints and their derivatives, at one state or at N states.

    Parameters
    ----------
    q, v, a, joints, t, threads, check : see `joint_loads`
    by : "q", "v", "a" (each: along all velocities; "q.elbow": one), "t", "external", and numbers
        of the machine: "rod.mass", "rod.centre", "elbow.xyz", "gravity.z", "spring.stiffness", ...
    along : of a machine with loops, what moves or is held while the rest follows: "actuated" joints
        (None), "independent" coordinates (chosen), names of coordinates; or "fixed": q, v and a
        are all fixed, and loops may open
    **options : of the loads

    See Also
    --------
    compile_derivatives, joint_loads, inverse_dynamics_derivatives

    Examples
    --------
    >>> slopes = robot.load_derivatives(q, v, a, ["elbow"], by=["q", "tool.mass"])  # doctest: +SKIP
    >>> slopes["elbow"].wrench.shape                                                # doctest: +SKIP
    (6, 8)
    """
    state: tuple[ArrayLike, ArrayLike, ArrayLike]
    if isinstance(q, Motion):
        if v is not None or a is not None or t is not None:
            raise StateError("a motion has its own v, a and t: leave them out")
        state, t = (q.q, q.v, q.a), q.time
    elif v is None or a is None:
        raise StateError("expected q, v, a or a motion (robot.read_motion); zeros(nv) is rest")
    else:
        state = q, v, a
    elements = self.elements(options["forces"])
    asked = LoadRequest.with_wrenches(self.model, joints, options, elements, t, state)
    loads, wrenches, _ = asked
    solver = _solver(self, DerivativeRequest.of(self.model, loads, by, along))
    found = solver(state[0], state[1], state[2], wrenches, t=t, threads=threads, check=check)
    return replace(found, loads=found.loads.along_motion(q)) if isinstance(q, Motion) else found


@with_options
def compile_derivatives(
    self: Mechanism,
    joints: Iterable[str | int] | str | None = None,
    by: Iterable[str] | str = STATE,
    *,
    along: Iterable[str] | str | None = None,
    **options: Unpack[RequestOptions],
) -> DerivativeSolver:
    """Prepare the derivatives of the loads of chosen joints, to evaluate them many times.

    Parameters
    ----------
    joints : names, None for all
    by, along : see `load_derivatives`
    **options : of the loads
    """
    options["forces"] = self.elements(options["forces"])
    loads = LoadRequest.of(self.model, joints, **options)
    return _solver(self, DerivativeRequest.of(self.model, loads, by, along))


@with_options
def compile_simulation_derivatives(
    self: Mechanism,
    duration: float,
    by: Iterable[str] | str,
    *,
    along: Iterable[str] | str | None = None,
    **options: Unpack[SimulationDerivativeOptions],
) -> SimulationDerivativeSolver:
    """Prepare the derivatives of a simulation, to evaluate them for many starts and values.

    Parameters
    ----------
    duration : s, of the simulation
    by : "q", "v" of the start (along velocities; "v.crank": one), numbers of the machine and of
        force elements as for `load_derivatives`: "rod.mass", "elbow.xyz", "gravity.z",
        "spring.stiffness"; "torque.crank", "external.hand.fx", where these are given as numbers;
        "torque.crank.3", a row of its table
    along : of a machine with loops, the coordinates that are independent at the start, while the
        loops carry the rest: names, or "independent" (None: chosen); "fixed": all are
    **options : of the simulation, as for `simulate`

    Examples
    --------
    >>> solver = robot.compile_simulation_derivatives(2.0, ["v", "rod.mass"])  # doctest: +SKIP
    >>> solver(q, v).d_q[-1]                            # of the final position # doctest: +SKIP
    >>> solver.gradient(lambda t, q, v: q[0])(q, v).gradient                   # doctest: +SKIP
    """
    return SimulationDerivativeSolver(self, duration, by, along, **options)


def compile_derivatives_of(
    self: Mechanism,
    what: Dynamics | Literal["frame_kinematics"],
    by: Iterable[str] | str = "q",
    *,
    frame: str = "",
    reference: Reference = "local_world_aligned",
    frames: Frames = None,
    q: ArrayLike | None = None,
) -> tuple[Kernel, tuple[DerivativeColumn, ...]]:
    """Prepare a function of the dynamics and its derivatives by states and numbers of the machine.

    Parameters
    ----------
    what : "mass_matrix", "bias_forces", "constraints", "centroid", ...; see `compile`. Force
        elements have no part in it. Or "frame_kinematics": position, rotation, Jacobian, drift and
        twist of a frame
    by : "q", "v", "q.elbow", "rod.mass", "elbow.xyz", "gravity.z", ...; see `load_derivatives`.
        Coordinates move one by one, and loops may open
    frame, reference, frames : of "frame_kinematics"; see there
    q : of "forward_dynamics" with loops; see `compile`

    Returns
    -------
    The kernel of the function's arguments, which gives its results and then their derivatives by K
    numbers, (..., K) each; and these K numbers: name, unit.

    Examples
    --------
    >>> kernel, columns = robot.compile_derivatives_of("mass_matrix", by=["q", "tool.mass"])
    ... # doctest: +SKIP
    >>> M, by_all = kernel(q)                                                       # doctest: +SKIP
    """
    known_name("function", what, (*FUNCTIONS, "frame_kinematics"), "what: ")
    of_model: Callable[[Model], Traceable]
    if what == "frame_kinematics":
        reference = one_of("reference", reference, get_args(Reference), StateError)
        of_model = partial(traceable_frame, name=frame, reference=reference, frames=frames)
        known = None  # a number of a fixed joint moves some frames on a body: the graph tells
    elif frame or frames:
        raise StateError(f"frame, frames: of frame_kinematics; {what} has none")
    else:
        of_model, rows = function_of(self.model, what, q)
        known = what, rows
    wanted = of_model(self.model)
    request = DerivativeRequest.of(self.model, LoadRequest((), open_tree=True), by)
    columns = Columns(self.model, request)
    for column in columns.columns:
        if column.input not in (*wanted.inputs, "p"):
            raise ModelError(
                f"by: {column.by!r}: {what} is a function of {', '.join(wanted.inputs)} and of "
                f"numbers of the machine"
            )

    def whole(*values: Array) -> tuple[Array, ...]:
        *state, p = values
        return of_model(columns.model_with(p)).function(*state)

    def function(*state: Array) -> tuple[Array, ...]:
        given = dict(zip(wanted.inputs, state, strict=True)) | {"p": columns.p}
        sizes = {name: len(x) for name, x in given.items()} | {"q": self.model.nv}
        rates = {name: columns.seed(name, size) for name, size in sizes.items()}
        rates["q"] = position_rates(self.model, given["q"], rates["q"])
        results, slopes = rates_along(whole, given, rates)
        return *results, *slopes

    outputs = (*wanted.outputs, *(f"d_{name}" for name in wanted.outputs))
    identity = None if known is None else (*known, request.by)
    kernel = model_kernel(self.model, f"{what}_by", wanted.inputs, outputs, function, identity)
    return kernel, columns.columns


@with_options
def inverse_dynamics_derivatives(
    self: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    external: External | None = None,
    *,
    t: ArrayLike | None = None,
    threads: int = 1,
    check: bool = True,
    **options: Unpack[ForceOptions],
) -> InverseDerivatives:
    """Return the generalised forces of `inverse_dynamics` and their derivatives by q, v and a.

    ``tau`` (nv,), ``by_q``, ``by_v``, ``by_a`` (nv, nv), or (N, ...) of N states. By q is along the
    velocities: for a small step of `Model.integrate`; by a is the mass matrix.

    Parameters
    ----------
    q, v, a, external, t, threads, check : see `inverse_dynamics`
    **options : what acts beside
    """
    if self.model.has_loops:
        raise ModelError(
            "inverse_dynamics_derivatives are those of a tree; of a machine with loops take "
            "load_derivatives, whose .actuation is derived along the actuated joints"
        )
    elements, links = self.elements(options["forces"]), links_of(external)
    check_stateless(self.model, elements)
    numbers = tuple(map(self.model.link_number, links))
    applied = AppliedForces(numbers, check_axes(options["external_in"]), elements)
    kernel = self.prepared.get(
        ("torque derivatives", applied), lambda: prepare_torque_derivatives(self.model, applied)
    )
    inputs = {"q": unit_quaternions(self.model, q) if flag("check", check) else q, "v": v, "a": a}
    pushes = [flat_external(external, links)] if external else []
    outputs, finite = kernel.run(*inputs.values(), *pushes, *applied.times(t), threads=threads)
    if check and not finite:
        explain(self.model, inputs, *outputs)
    return InverseDerivatives(*outputs)


@with_options
def forward_dynamics_derivatives(
    self: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    external: External | None = None,
    *,
    t: ArrayLike | None = None,
    threads: int = 1,
    check: bool = True,
    **options: Unpack[ForceOptions],
) -> ForwardDerivatives:
    """Return the accelerations of `forward_dynamics` and their derivatives by q, v and tau.

    ``a`` (nv,), ``by_q``, ``by_v``, ``by_tau`` (nv, nv), or (N, ...) of N states; by q as
    `inverse_dynamics_derivatives`.

    Parameters
    ----------
    q, v, tau, external, t, threads, check : see `forward_dynamics`
    **options : what acts beside
    """
    more: Any = {"t": t, "threads": threads, "check": check, **options}
    a = self.forward_dynamics(q, v, tau, external, **more)
    inverse = self.inverse_dynamics_derivatives(q, v, a, external, **more)
    return ForwardDerivatives.of(a, inverse)


def _solver(self: Mechanism, request: DerivativeRequest) -> DerivativeSolver:
    solver: DerivativeSolver = self.prepared.get(
        request, lambda: DerivativeSolver(self.model, request)
    )
    return solver
