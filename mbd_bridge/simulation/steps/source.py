"""One step of a system as a C file: for control loops and programs without Python.

The step is that of `SystemStep`, so its digits are those of a run. A C file has no streams:
tables stand in it as tables, looked up at the three times of a step.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.base.arguments import an_instance
from mbd_bridge.base.errors import StateError
from mbd_bridge.kernels import c_source, trace
from mbd_bridge.kernels.expression import operate
from mbd_bridge.kernels.table import PolynomialTable as Lookup
from mbd_bridge.kernels.tracing import Graph
from mbd_bridge.model.spatial import Array
from mbd_bridge.model.units import model_notes
from mbd_bridge.simulation.equations import Equations
from mbd_bridge.simulation.outputs import CONVENTION, REPORTED, STATE
from mbd_bridge.simulation.results.recorded import undetermined_loads
from mbd_bridge.simulation.signals.signal import TracedSignal
from mbd_bridge.simulation.signals.tables import PolynomialSignal
from mbd_bridge.simulation.steps.compiled import Start, SystemStep
from mbd_bridge.simulation.steps.schemes import CompiledIntegrator, Scheme, compiled_scheme
from mbd_bridge.simulation.steps.trusted_step import CARRIED, Now, carried
from mbd_bridge.simulation.system import System
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.tolerances import STEP_RISK

NEXT = ("q_next", "v_next", "t_next", "a")
"""Outputs of every step."""


def step_source(
    equations: Equations, name: str = "step", *, integrator: CompiledIntegrator | Scheme = "rk4"
) -> str:
    """Return a C99 file with one step of a system, put back onto its loops.

    Parameters
    ----------
    equations : of the system, which choose the independent rows
    name : of the C function; ``NAME_batch`` takes rows of states
    integrator : Runge-Kutta, or an implicit one as for `simulate`, whose steps hand on a ``memory``

    Notes
    -----
    The head of the file lists arguments, units, and what each number of ``u`` and ``p`` is. Values
    of `Input`s and `Sampled` functions are numbers of ``u``, held during the step. A step whose
    ``risk`` is not below the number stated there is not to be taken: see `robot.simulate`.
    """
    try_this = "mbd.Equations(mbd.System(robot, ...), q=...)"
    equations = an_instance("equations", equations, Equations, try_this)
    if not isinstance(name, str):
        raise StateError(f"name: expected a text, got {name!r:.60}")
    found, scheme = step_graph(equations, integrator), compiled_scheme(integrator)
    notes = _notes(equations, inlined(equations.system), scheme)
    return c_source(found.graph, name, inputs=found.inputs, outputs=found.outputs, notes=notes)


class StepGraph(NamedTuple):
    """The graph of a step, and the names of its arguments in C.

    Attributes
    ----------
    graph : of a system whose tables are functions of time
    inputs, outputs : names; the last output is the risk
    fed_back : by the name of an input, the output of the step before that it takes; "t" holds the
        time and the work
    """

    graph: Graph
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    fed_back: dict[str, str]


def step_graph(equations: Equations, integrator: CompiledIntegrator | Scheme = "rk4") -> StepGraph:
    """Return the graph of a step of a system."""
    system = inlined(equations.system)
    code = SystemStep(system, equations.rows, compiled_scheme(integrator))
    step, sizes = code.traceable()
    beside = {part: n for part, n in (("z", system.nz), ("memory", code.memory.size)) if n}
    inputs = _apart(sizes, beside)
    reported = () if system.outputs is None else system.outputs.names
    kept = [k for k, one in enumerate(reported) if one not in (*STATE, "a", "risk")]

    def exported(*values: Array) -> tuple[Array, ...]:
        given = dict(zip(inputs, values, strict=True))
        given["t"] = np.concatenate([given["t"], *(given.pop(part) for part in beside)])
        q, v, t, a, *found = step(*given.values())
        states = np.split(carried(t), np.cumsum([*beside.values()])[:-1]) if beside else ()
        asked = (found[REPORTED - len(NEXT) + k] for k in kept)
        return (q, v, t[:CARRIED], a, *states, *asked, found[-1])

    outputs = (*NEXT, *(f"{part}_next" for part in beside), *(reported[k] for k in kept), "risk")
    names = {"held": "u"}
    graph = trace(exported, inputs, calls=True)  # as machine code does: the same digits
    arguments = tuple(names.get(one, one) for one in inputs)
    fed_back = {name: f"{name}_next" for name in arguments if f"{name}_next" in outputs}
    return StepGraph(graph, arguments, outputs, fed_back)


def _apart(inputs: dict[str, int], beside: dict[str, int]) -> dict[str, int]:
    """Return the inputs of a step, with what t carries behind it."""
    found: dict[str, int] = {}
    for name, size in inputs.items():
        found |= {name: CARRIED} | beside if name == "t" else {name: size}
    return found


def inlined(system: System) -> System:
    """Return the system with its tables as functions of time."""
    return system.with_parts(
        torques=tuple(part._replace(signal=_inlined(part.signal)) for part in system.torques),
        wrenches=tuple(part._replace(signal=_inlined(part.signal)) for part in system.wrenches),
        prescribed=tuple(
            part._replace(signal=_inlined(part.signal, moves=True)) for part in system.prescribed
        ),
    )


def _inlined(signal: Any, moves: bool = False) -> Any:
    """Return what is traced in the place of a table, and any other signal as it is."""
    if not isinstance(signal, PolynomialSignal):
        return signal
    knots, end = signal.times[:-1], float(signal.times[-1])
    columns = np.moveaxis(signal.pieces[::-1, :, 0], -1, 0)  # size, power, piece
    lookups = tuple(Lookup(knots, column, end, hold=False) for column in columns)
    return TracedSignal(_OfTime(lookups, single=moves), of_time=moves)


@dataclass(frozen=True, eq=False)
class _OfTime:
    """The columns of a table as a function of time, and of a state that does not matter."""

    columns: tuple[Lookup, ...]
    single: bool

    def __call__(self, t: Any, *state: Array) -> Any:
        """Return a value, or an array of one for each column."""
        found = [operate("table", t, data=column) for column in self.columns]
        return found[0] if self.single else np.array(found)


def start_memory(equations: Equations, scheme: Scheme) -> Array:
    """Return the memory of a motion that begins at the state of equations."""
    model = equations.system.model
    q, v, z = np.split(equations.start, [model.nq, model.nq + model.nv])
    step = SystemStep(equations.system, equations.rows, scheme)
    begun = Start(Trajectory(equations.system), step).begun(Now(equations.time, q, v, z))
    return begun.carried[len(z) :]


def _notes(equations: Equations, system: System, scheme: Scheme) -> str:
    """Return the head of the file."""
    model = system.model
    lines = [*model_notes(model).splitlines(), ""]
    lines += ["One step of h[0] seconds from t[0] = the time, s; t[1] adds up the work, J."]
    if system.nz:
        units = zip(system.states.names, system.states.units, strict=True)
        names = ", ".join(f"{name} ({unit})" for name, unit in units)
        lines += [f"z: states of force elements, {names}."]
    if model.has_loops:
        kept = f"{len(equations.rows)} of {len(model.row_scale)}"
        lines += [f"{kept} constraint rows are kept: {list(equations.rows)}."]
        numbers = equations.start.tolist()
        first, end = numbers[: model.nq], numbers[model.nq : model.nq + model.nv]
        text = f"They are independent at a start that closes the loops: q = {first}, v = {end}."
        lines += textwrap.wrap(text, 100)
    lines += [f"A step with a risk of {STEP_RISK:g} or more is not to be taken: it is near a"]
    lines += [
        "singular position, or has not converged." if scheme.remembers else "singular position."
    ]
    step = SystemStep(equations.system, equations.rows, scheme)
    if step.memory.size:
        zeros = 0 if step.basis else step.memory.kept
        numbers = start_memory(equations, scheme).tolist()
        said = ", ".join(map(repr, numbers[: len(numbers) - zeros]))
        said = f"memory of a motion that begins where the equations do: [{said}]"
        said += f" and {zeros} zeros, places of Newton's matrix" if zeros else ""
        lines += ["", repr(scheme), *textwrap.wrap(said, 100)]
    for part, place in system.layout.held.items():
        places = f"u[{place.start}]" if place.stop - place.start == 1 else ""
        places = places or f"u[{place.start}] ... u[{place.stop - 1}]"
        kind = type(system.parts[part].signal).__name__.lower()
        value = equations.held[place].tolist()
        lines += [f"{places}  {system.part_names[part]}, {kind}: {value}"]
    if system.parameters is not None:
        values = system.parameters.inputs[0].tolist()
        lines += [f"p: {', '.join(system.parameters.names)} (without zeros): {values}"]
    if system.outputs is not None and system.outputs.joints:
        lines += ["", f"load: {CONVENTION}"]
        lines += [
            "force and moment, a row a joint: " + ", ".join(system.outputs.joint_names(model))
        ]
        lost = undetermined_loads(system, equations.rows, equations.start[: model.nq])
        if lost:
            text = "undetermined by rigid-body mechanics at the start, the smallest solution: "
            lines += textwrap.wrap(text + ", ".join(lost), 100)
    return "\n".join(lines)
