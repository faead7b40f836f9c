"""A system as the C files of an FMU: its equations, its variables, and what joins the two.

    equations.c    the step, the outputs and the residuals of the start, traced from the system
    model.h        sizes and names; model.c: tables of variables, and calls of equations.c
    instance.c     one instance: get, set, steps, saved states; fmi2.c or fmi3.c: the interface

The files of the last line are the same for all machines.

Pieces of the C files that are made for each machine: tables, texts, calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal, TypeAlias

from mbd_bridge.base.errors import StateError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.kernels import c_source, trace
from mbd_bridge.kernels.c_text import literal
from mbd_bridge.kernels.tracing import Graph
from mbd_bridge.model.units import model_notes
from mbd_bridge.simulation.equations import Equations
from mbd_bridge.simulation.guards.step_length import EACH
from mbd_bridge.simulation.results.recorded import undetermined_loads
from mbd_bridge.simulation.steps.compiled import SystemStep
from mbd_bridge.simulation.steps.halves import MOST_HALVINGS
from mbd_bridge.simulation.steps.schemes import RK4, NullSpace, Scheme
from mbd_bridge.simulation.steps.source import StepGraph, inlined, start_memory, step_graph
from mbd_bridge.simulation.system import System
from mbd_bridge.simulation.variables import (
    Inputs,
    Variable,
    check_names,
    inputs_of_state,
    memory_function,
    output_variables,
    outputs_function,
    parameter_variables,
    places_of,
    residual_names,
    residuals_function,
    state_variables,
)
from mbd_bridge.solve.tolerances import LEAST_STATE, OPEN_LOOP, STATE_ERROR, STEP_RISK


def prototype(function: str, inputs: int, outputs: int) -> str:
    """Return the declaration of a function of equations.c."""
    arguments = ", ".join(["const double *"] * inputs + ["double *"] * outputs)
    return f"void {function}({arguments});"


def called(what: str, own: str) -> str:
    """Return what is called for the step, the outputs or the residuals; see `dispatch`."""
    return f"CALL({own}_{what})"


def dispatch(prototypes: Sequence[str]) -> str:
    """Return the choice between two compilations of equations.c.

    With fused multiply-adds it gives the same digits several times faster.
    """
    fast = [one.replace("(", "_fma(", 1) for one in prototypes]
    return "\n".join(
        [
            "#ifdef MODEL_WITH_FMA",
            "/* equations.c is there twice: also compiled for fused multiply-adds. */",
            *fast,
            '#define CALL(name) (__builtin_cpu_supports("fma") ? name##_fma : name)',
            "#else",
            "#define CALL(name) name",
            "#endif\n",
        ]
    )


def table(head: str, rows: Sequence[str]) -> str:
    """Return the definition of an array."""
    return f"{head} = {{\n" + "".join(f"    {row},\n" for row in rows) + "};\n"


def text_literal(text: str) -> str:
    """Return a C string literal of UTF-8."""
    found = "".join(
        chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode()
    )
    return f'"{found}"'


def comment(text: str) -> str:
    """Return a text that may stand in a C comment."""
    return text.replace("*/", "* /").replace("\n", " ").replace("??", "? ?")


Kind: TypeAlias = Literal["time", "input", "tunable", "fixed", "state", "output"]

SETTABLE: dict[Kind, str] = {
    "time": "MODEL_COMPUTED",
    "input": "MODEL_ANY_TIME",
    "tunable": "MODEL_ANY_TIME",
    "fixed": "MODEL_START",
    "state": "MODEL_START",
    "output": "MODEL_COMPUTED",
}
"""When the importer may set a variable, as instance.c calls it."""

GEOMETRY = ("xyz", "rpy", "length")
"""Last words of parameters that would open loops if they changed during a motion."""

SHARED = """
instance_matches instance_new instance_free instance_fail instance_setup
instance_enter_initialization instance_exit_initialization instance_terminate instance_reset
instance_get instance_set instance_step instance_save instance_restore instance_serialize
instance_deserialize instance_free_saved instance_serialized_size model_step model_outputs
model_residuals model_memory model_start_values model_hidden_start model_kinds model_names
model_knots model_residual_names
"""
"""Functions and tables that get the model's name in front: several FMUs may be in one program."""

UNFUSED = """\
/* The step, the outputs and the residuals of the start. Products and sums must not be fused by the
   compiler: that would change last digits. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif
"""

LONGEST_NAME = 128
"""Characters of an instance's name that messages show."""


@dataclass(frozen=True, eq=False)
class FmuModel:
    """A system with what its FMU says and does.

    Attributes
    ----------
    equations : of the system, at its start
    name, identifier : of the model, and in C
    step : s, fixed
    scheme : of the steps
    """

    equations: Equations
    name: str
    identifier: str
    step: float
    scheme: Scheme = RK4

    @cached_property
    def system(self) -> System:
        """The system, whose tables are functions of time."""
        system = self.equations.system
        if system.sampled:
            raise StateError(
                "an FMU has no Python: what is mbd.Sampled must be a function that is traced, "
                "or an mbd.Input that the importer sets"
            )
        return inlined(system)

    @cached_property
    def step_graph(self) -> StepGraph:
        """The step."""
        return step_graph(self.equations, self.scheme)

    @cached_property
    def outputs_graph(self) -> Graph:
        """The outputs at a state."""
        function = outputs_function(self.system, self.equations.rows)
        return trace(function, inputs_of_state(self.system), calls=True)

    @cached_property
    def residuals_graph(self) -> Graph:
        """What the start leaves open."""
        return trace(residuals_function(self.system), inputs_of_state(self.system), calls=True)

    @cached_property
    def state_graphs(self) -> dict[str, Graph]:
        """The functions of a state by name; that of the memory where steps have one."""
        found = {"outputs": self.outputs_graph, "residuals": self.residuals_graph}
        if self.scheme.remembers:
            function = memory_function(self.system, self.equations.rows, self.scheme)
            found["memory"] = trace(function, inputs_of_state(self.system), calls=True)
        return found

    @cached_property
    def variables(self) -> tuple[tuple[Kind, Variable], ...]:
        """All variables, in the order of their value references."""
        system = self.system
        outputs = output_variables(system, self._function_sizes, self.undetermined)
        states = state_variables(system, self.equations.start)
        groups: tuple[tuple[Kind, Iterable[Variable]], ...] = (
            ("time", (Variable("time", "s", "simulation time", 0.0),)),
            ("input", self._inputs.inputs),
            ("tunable", self._inputs.constants),
            *(((_kind(one), (one,))) for one in self._parameters),
            ("state", states),
            ("output", outputs),
        )
        found = tuple((kind, one) for kind, group in groups for one in group)
        check_names(one for _, one in found)
        return found

    @cached_property
    def undetermined(self) -> tuple[str, ...]:
        """Load components that rigid-body mechanics does not determine at the start."""
        start = self.equations.start[: self.system.model.nq]
        return undetermined_loads(self.system, self.equations.rows, start)

    @cached_property
    def _inputs(self) -> Inputs:
        return Inputs.of(self.system)

    @cached_property
    def _parameters(self) -> tuple[Variable, ...]:
        return parameter_variables(self.system)

    @property
    def _function_sizes(self) -> dict[str, int]:
        asked = self.system.outputs
        if asked is None or not asked.functions:
            return {}
        step = self.step_graph
        shapes = dict(zip(step.outputs, step.graph.shapes, strict=True))
        return {name: prod(shapes[name]) for name, _ in asked.functions}

    def first(self, kind: Kind) -> int:
        """Return the value reference of the first variable of a kind."""
        return [one for one, _ in self.variables].index(kind)

    def sources(self, token: str) -> dict[str, str]:
        """Return the generated C files, by name."""
        return {
            "equations.c": self._equations,
            "model.h": self._header(token),
            "model.c": self._model,
        }

    @cached_property
    def _equations(self) -> str:
        step = self.step_graph
        named = {"held": "u"}
        arguments = [named.get(one, one) for one in inputs_of_state(self.system)]
        own = self.identifier
        return "\n".join(
            [
                UNFUSED,
                c_source(
                    step.graph,
                    f"{own}_step",
                    inputs=step.inputs,
                    outputs=step.outputs,
                    notes=model_notes(self.system.model),
                    batch=False,
                ),
                *(
                    c_source(
                        graph, f"{own}_{what}", inputs=arguments, outputs=["values"], batch=False
                    )
                    for what, graph in self.state_graphs.items()
                ),
            ]
        )

    def _header(self, token: str) -> str:
        step, own = self.step_graph, self.identifier
        states = sum(kind == "state" for kind, _ in self.variables)
        scratch = max(
            sum(map(prod, step.graph.shapes)), sum(map(prod, self.residuals_graph.shapes))
        )
        unknowns, acceleration, factors = self._memory_places
        numbers = {
            "VALUES": len(self.variables),
            "FIRST_STATE": self.first("state"),
            "STATES": states,
            "FIRST_OUTPUT": self.first("output"),
            "HIDDEN": len(self._hidden),
            "WATCHED": 0 if self.scheme.remembers else self.system.nz,
            "UNKNOWNS": unknowns,
            "ACCELERATION": acceleration,
            "FACTORS": factors,
            "BASIS": int(isinstance(self.scheme, NullSpace) and factors > 0),
            "PARTS": 2**MOST_HALVINGS,
            "LOOK": EACH,
            "SCRATCH": scratch,
            "RESIDUALS": prod(self.residuals_graph.shapes[0]),
            "KNOTS": len(self._knots),
            "NAME_SIZE": LONGEST_NAME,
        }
        reals = {"STEP": self.step, "RISK": STEP_RISK, "CLOSED": OPEN_LOOP}
        reals |= {"STATE_ERROR": STATE_ERROR, "LEAST_STATE": LEAST_STATE}
        return "\n".join(
            [
                f"/* Sizes and names of the machine {comment(self.name)}. */",
                "#ifndef MACHINE_MODEL_H",
                "#define MACHINE_MODEL_H",
                "",
                f"#define MODEL_NAME {text_literal(self.name)}",
                f"#define MODEL_TOKEN {text_literal(token)}",
                *(f"#define MODEL_{name} {number}" for name, number in numbers.items()),
                *(f"#define MODEL_{name} {literal(real)}" for name, real in reals.items()),
                "",
                "/* When a variable may be set. */",
                "enum { MODEL_ANY_TIME, MODEL_START, MODEL_COMPUTED };",
                "",
                *(f"#define {name} {own}_{name}" for name in SHARED.split()),
                "",
                "extern const double model_start_values[MODEL_VALUES];",
                "extern const double model_hidden_start[MODEL_HIDDEN + 1];",
                "extern const unsigned char model_kinds[MODEL_VALUES];",
                "extern const char *const model_names[MODEL_VALUES];",
                "extern const double model_knots[MODEL_KNOTS + 1];",
                "extern const char *const model_residual_names[MODEL_RESIDUALS + 1];",
                "",
                "/* Writes the states after a step; returns its risk. */",
                "double model_step(const double *value, const double *hidden, double length,",
                "                  double *next, double *scratch);",
                "void model_outputs(const double *value, const double *hidden, double *outputs);",
                "void model_residuals(const double *value, const double *hidden,",
                "                     double *residuals);",
                "/* The memory of steps that begin at a state, where steps have one. */",
                "void model_memory(const double *value, const double *hidden, double *memory);",
                "",
                "#endif\n",
            ]
        )

    @cached_property
    def _model(self) -> str:
        kinds = [SETTABLE[kind] for kind, _ in self.variables]
        names = [text_literal(one.name) for _, one in self.variables]
        start = [literal(one.start or 0.0) for _, one in self.variables]
        blamed = [text_literal(name) for name in residual_names(self.system)]
        parts = [
            '/* Tables of variables, and the calls of equations.c. */\n\n#include "model.h"\n',
            table("const double model_start_values[MODEL_VALUES]", start),
            table("const double model_hidden_start[MODEL_HIDDEN + 1]", self._hidden_start),
            table("const unsigned char model_kinds[MODEL_VALUES]", kinds),
            table("const char *const model_names[MODEL_VALUES]", names),
            table("const double model_knots[MODEL_KNOTS + 1]", [*self._knots, "0.0"]),
            table("const char *const model_residual_names[MODEL_RESIDUALS + 1]", [*blamed, '""']),
            self._gather(),
            self._calls(),
        ]
        return "\n".join(parts)

    @cached_property
    def _knots(self) -> list[str]:
        """Times at which steps must end, since tables of forces jump or bend there."""
        knots = self.equations.system.knots(0.0, self.step, self.scheme)
        return [literal(float(t)) for t in knots.times]

    @cached_property
    def _fed_back(self) -> dict[str, int]:
        """Sizes of the inputs that a step gives to the next one, time and work apart."""
        step = self.step_graph
        sizes = dict(zip(step.outputs, map(prod, step.graph.shapes), strict=True))
        return {one: sizes[next_one] for one, next_one in step.fed_back.items() if one != "t"}

    @property
    def _hidden(self) -> list[str]:
        """Names of the numbers among them that are no variables."""
        known = sum(kind == "state" for kind, _ in self.variables)
        every = [name for name, size in self._fed_back.items() for _ in range(size)]
        return every[known:]

    @property
    def _hidden_start(self) -> list[str]:
        """Numbers that these begin with; a basis that of the state that the FMU was made for."""
        memory = []
        if isinstance(self.scheme, NullSpace):
            memory = [literal(x) for x in start_memory(self.equations, self.scheme)]
        return ["0.0"] * (len(self._hidden) - len(memory)) + memory + ["0.0"]

    @property
    def _memory_places(self) -> tuple[int, int, int]:
        """How many numbers a of the memory there are, where the accelerations q̈ begin, and how many
        numbers of Newton's matrix, or of a basis, are at its end.
        """
        memory = SystemStep(self.system, self.equations.rows, self.scheme).memory
        return memory.unknowns, 0 if memory.one else memory.unknowns, memory.kept

    def _gather(self) -> str:
        """Return the function that takes inputs and parameters from the variables."""
        lines = ["static void gather(const double *value, double *u, double *p)", "{"]
        held = [*self._inputs.inputs, *self._inputs.constants]
        values = self.equations.held
        first_held = 1
        for place, source in enumerate(places_of(held, len(values))):
            number = f"value[{first_held + source}]" if source >= 0 else literal(values[place])
            lines.append(f"    u[{place}] = {number};")
        first = first_held + len(held)
        lines += [f"    p[{k}] = value[{first + k}];" for k in range(len(self._parameters))]
        lines += [f"    (void){name};" for name in ("value", "u", "p")]
        return "\n".join([*lines, "}\n"])

    def _calls(self) -> str:
        step, own = self.step_graph, self.identifier
        places: dict[str, str] = {"t": "t", "h": "h", "u": "u", "p": "p"}
        fed: dict[str, str] = {}
        first, states = self.first("state"), sum(kind == "state" for kind, _ in self.variables)
        offset = 0
        for name, size in self._fed_back.items():
            hidden = offset >= states
            places[name] = f"hidden + {offset - states}" if hidden else f"value + {first + offset}"
            fed[step.fed_back[name]] = f"next + {offset}"
            offset += size
        results, used = [], 0
        for name, shape in zip(step.outputs[:-1], step.graph.shapes, strict=False):
            results.append(fed.get(name, f"scratch + {used}"))
            used += 0 if name in fed else prod(shape)
        state_inputs = ["u" if one == "held" else one for one in inputs_of_state(self.system)]
        sizes = self.system.more
        room = f"    double t[2], u[{sizes.get('held', 0) + 1}], p[{sizes.get('p', 0) + 1}];"
        begin = ["    gather(value, u, p);", "    t[0] = value[0];", "    t[1] = 0.0;"]
        step_call = [*(places[one] for one in step.inputs), *results, "&risk"]
        state_call = ", ".join(places[one] for one in state_inputs)
        prototypes = [
            prototype(f"{own}_step", len(step.inputs), len(step.graph.shapes)),
            *(prototype(f"{own}_{what}", len(state_inputs), 1) for what in self.state_graphs),
        ]
        functions = [
            "double model_step(const double *value, const double *hidden, double length,",
            "                  double *next, double *scratch)",
            "{",
            room,
            "    double h[1], risk;",
            *begin,
            "    h[0] = length;",
            "    (void)hidden;",
            "    (void)scratch;",
            f"    {called('step', own)}({', '.join(step_call)});",
            "    return risk;",
            "}\n",
        ]
        for what in self.state_graphs:
            head = f"void model_{what}(const double *value, const double *hidden, double *{what})"
            call = f"    {called(what, own)}({state_call}, {what});"
            functions += [head, "{", room, *begin, "    (void)hidden;", call, "}\n"]
        return "\n".join([*prototypes, "", dispatch(prototypes), *functions])


def _kind(parameter: Variable) -> Kind:
    """Return whether a parameter may change during a motion."""
    return "fixed" if any(word in GEOMETRY for word in parameter.name.split(".")) else "tunable"
