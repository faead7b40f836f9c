"""The variables of a system by name: inputs, parameters, states, outputs, each with its unit.

    INPUT, INPUT.VELOCITY, INPUT.fx ... INPUT.mz      of `Input`s along one velocity, along all, on
                                                      a link
    torque.VELOCITY, external.LINK.fx ... .mz         constants, as parameters
    LINK.mass, JOINT.xyz.x, gravity.z, ...            parameters of the mechanism
    q.COORDINATE, v.VELOCITY, z.ELEMENT.STATE         states
    a.VELOCITY, energy.kinetic, energy.potential      outputs
    prescribed_force.COORDINATE                       force that a prescribed motion takes
    load.JOINT.fx ... .mz, load.JOINT.actuation       requested joint loads
    element.NAME.NUMBER                               reports of force elements
    effort_excess.VELOCITY                            what an effort limit takes off a given force
    NAME, NAME[1], NAME[2], ...                       requested functions of the state

Programs that know no Python see a machine through these: FMUs, and what drives it in real time.
What a system tells of one state are functions to be traced:

    given(q, v, t, ...)      forces given along velocities
    outputs(q, v, t, ...)    accelerations, energies, requested loads and functions, force elements
    residuals(q, v, t, ...)  what the loops, prescribed motions and quaternions leave
    memory(q, v, t, ...)     that of steps of a scheme which begin there

Their further inputs are states z of force elements, if there are some, and those of a step
(`System.more`); tables must stand in the system as functions of time (`source.inlined`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.varying import Input
from mbd_bridge.kernels.tracing import Traceable
from mbd_bridge.loads.selected import actuation_names
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.model.units import FORCE_UNIT, RATE, actuation_units, model_units
from mbd_bridge.motion.table import ACTUATION, COMPONENTS, FORCES
from mbd_bridge.simulation.acts import NONE, Acting, Numbers
from mbd_bridge.simulation.outputs import CONVENTION, Outputs
from mbd_bridge.simulation.results.force_elements import ENERGY
from mbd_bridge.simulation.signals.parts import ElementPart, TorquePart, WrenchPart
from mbd_bridge.simulation.signals.prescribed import MotionPart
from mbd_bridge.simulation.signals.signal import Constant
from mbd_bridge.simulation.steps.compiled import SystemStep
from mbd_bridge.simulation.steps.runge_kutta import residuals, slopes
from mbd_bridge.simulation.steps.schemes import Scheme
from mbd_bridge.simulation.steps.trusted_step import CARRIED
from mbd_bridge.simulation.system import System
from mbd_bridge.simulation.trajectory import held

UNDETERMINED = (
    "undetermined at the start: rigid-body mechanics does not determine it, the smallest solution "
    "stands here"
)
"""Description of load components that depend on elasticity and fit."""


class Variable(NamedTuple):
    """One number of a system.

    Attributes
    ----------
    name, unit, description : unit "" where it is not known
    start : its value before the first step; None for outputs
    places : where it is among the numbers of its kind
    """

    name: str
    unit: str
    description: str
    start: float | None = None
    places: tuple[int, ...] = ()


class Inputs(NamedTuple):
    """What is held during a step: `Input`s, and constants.

    Attributes
    ----------
    inputs, constants : their places are those in `held`
    """

    inputs: tuple[Variable, ...]
    constants: tuple[Variable, ...]

    @staticmethod
    def of(system: System) -> Inputs:
        """Return the inputs and constants of a system."""
        values = held(system, np.array([0]))[0]
        inputs: dict[str, Variable] = {}
        constants: dict[str, Variable] = {}
        for number, part in enumerate(system.parts):
            if isinstance(part, MotionPart):
                continue
            if not isinstance(part.signal, Input | Constant):
                continue
            known = inputs if isinstance(part.signal, Input) else constants
            place = system.layout.held[number].start
            for k, (name, unit, text) in enumerate(_numbers(system, part)):
                old = known.get(name)
                if old is not None and "" in (unit, old.unit):  # inside an element
                    unit, text = max((unit, text), (old.unit, old.description))
                elif old is not None and old.unit != unit:
                    raise StateError(f"input {name!r}: it stands for {old.unit} and for {unit}")
                places = (*(old.places if old else ()), place + k)
                known[name] = Variable(name, unit, text, float(values[place + k]), places)
        return Inputs(tuple(inputs.values()), tuple(constants.values()))


def _numbers(
    system: System, part: TorquePart | ElementPart | WrenchPart
) -> list[tuple[str, str, str]]:
    """Return name, unit and description of each number of an input or a constant."""
    signal = part.signal
    prefix = signal.name if isinstance(signal, Input) else None
    if isinstance(part, WrenchPart):
        stem = prefix or f"external.{part.name}"
        axes = "the link's axes" if part.reference == "link" else "the world's axes"
        text = f"wrench on {part.name}, in {axes}"
        return [(f"{stem}.{name}", _component_unit(name), text) for name in COMPONENTS]
    if isinstance(part, ElementPart):
        return [(prefix or part.field, "", "number of a force element")]
    names, units = system.model.velocity_names, model_units(system.model)[1]
    whole = len(part.places) != 1
    found = []
    for place in part.places:
        name = f"{prefix or 'torque'}.{names[place]}" if whole or not prefix else prefix
        found.append((name, FORCE_UNIT[units[place]], f"generalised force along {names[place]}"))
    return found


def _component_unit(name: str) -> str:
    return "N" if name in FORCES else "N m"


def parameter_variables(system: System) -> tuple[Variable, ...]:
    """Return the parameters of the mechanism that are inputs of the machine code."""
    parameters = system.parameters
    if parameters is None:
        return ()
    live = np.flatnonzero(parameters.live)
    columns = parameters.columns
    return tuple(
        Variable(
            columns[k].name,
            columns[k].unit,
            "parameter of the mechanism",
            float(parameters.values[0, k]),
            (place,),
        )
        for place, k in enumerate(live)
    )


def state_variables(system: System, start: Array) -> tuple[Variable, ...]:
    """Return coordinates, velocities and states of force elements, with their start values.

    Parameters
    ----------
    start : (nq + nv + nz,)
    """
    model, own = system.model, system.states
    of_q, of_v = model_units(model)
    names = [*(f"q.{name}" for name in model.coordinate_names)]
    names += [f"v.{name}" for name in model.velocity_names]
    names += [f"z.{name}" for name in own.names]
    units = [*of_q, *(unit + RATE[1] for unit in of_v), *own.units]
    texts = ["coordinate"] * model.nq + ["velocity"] * model.nv
    texts += ["state of a force element"] * len(own)
    rows = zip(names, units, texts, start.tolist(), strict=True)
    return tuple(
        Variable(name, unit, text, value, (place,))
        for place, (name, unit, text, value) in enumerate(rows)
    )


def output_variables(
    system: System, sizes: dict[str, int], undetermined: Collection[str] = ()
) -> tuple[Variable, ...]:
    """Return the outputs, in the order of `steps.state_functions.outputs_function`.

    Parameters
    ----------
    sizes : of the requested functions of the state, by name
    undetermined : load components of which it is to be said (`undetermined_loads`)
    """
    model = system.model
    _, of_v = model_units(model)
    found = [
        (f"a.{name}", unit + RATE[2], "acceleration")
        for name, unit in zip(model.velocity_names, of_v, strict=True)
    ]
    found += [
        (f"prescribed_force.{part.name}", FORCE_UNIT[of_v[part.v]], "of a prescribed motion")
        for part in system.prescribed
    ]
    found += [("energy.kinetic", "J", "of the bodies"), ("energy.potential", "J", "of gravity")]
    if system.outputs is not None:
        asked = system.outputs
        joints = asked.joint_names(model)
        text = f"joint load: {CONVENTION}"
        for kind in ("f", "m"):
            parts = [name for name in COMPONENTS if name.startswith(kind)]
            found += [
                (f"load.{j}.{part}", _component_unit(part), text) for j in joints for part in parts
            ]
        found += _actuations(system)
    for element in system.forces:
        found += [
            (f"element.{element.name}.{name}", unit, element.label)
            for name, unit in (element.units(model) | ENERGY).items()
        ]
    found += excess_variables(system)
    for name, size in sizes.items():
        several = [f"{name}[{k + 1}]" for k in range(size)] if size != 1 else [name]
        found += [(one, "", "function of the state") for one in several]
    lost = {f"load.{name}" for name in undetermined}
    return tuple(
        Variable(name, unit, f"{UNDETERMINED}; {text}" if name in lost else text, None, (place,))
        for place, (name, unit, text) in enumerate(found)
    )


def excess_variables(system: System) -> list[tuple[str, str, str]]:
    """Return name, unit and description of what effort limits take off the given forces."""
    if system.effort is None:
        return []
    units = model_units(system.model)[1]
    text = "what the effort limit of the file takes off the given force"
    named = zip(system.effort.names, system.effort.places, strict=True)
    return [(f"effort_excess.{name}", FORCE_UNIT[units[place]], text) for name, place in named]


def _actuations(system: System) -> list[tuple[str, str, str]]:
    asked, model = system.outputs, system.model
    if asked is None or not asked.joints:
        return []
    names, places = actuation_names(model, asked.joints)
    found = []
    for joint, place in zip(asked.joint_names(model), places, strict=True):
        units = actuation_units(model, joint) if names[place] else ()
        for name, unit in zip(names[place], units, strict=True):
            suffix = name.removeprefix(joint)
            text = "generalised force along the joint's own degree of freedom"
            found.append((f"load.{joint}.{ACTUATION}{suffix}", FORCE_UNIT[unit], text))
    return found


def check_names(variables: Iterable[Variable]) -> None:
    """Refuse names that stand for two variables."""
    number = Counter(one.name for one in variables)
    several = [name for name, count in number.items() if count > 1]
    if several:
        raise StateError(
            f"two variables are called {several[0]!r}; rename the mbd.Input, the output or the "
            f"force element that is called so"
        )


def places_of(variables: Sequence[Variable], size: int) -> list[int]:
    """Return for each number of a kind which variable sets it, -1 where none does."""
    found = [-1] * size
    for k, one in enumerate(variables):
        for place in one.places:
            found[place] = k
    return found


REPORTED = ("a", "prescribed_forces", "energy", "force", "moment", "actuation")
"""Of what `Outputs` reports, what is an output here, in this order; functions come last."""


def inputs_of_state(system: System) -> dict[str, int]:
    """Return the inputs of these functions and their sizes."""
    states = {"z": system.nz} if system.nz else {}
    return {"q": system.model.nq, "v": system.model.nv, "t": 1} | states | system.more


def outputs_function(system: System, rows: tuple[int, ...]) -> Traceable:
    """Return outputs(q, v, t, ...) -> one vector, in the order of `output_variables`."""
    asked = system.outputs or Outputs(())
    functions = [name for name, _ in asked.functions]

    def outputs(q: Array, v: Array, t: Array, *rest: Array) -> tuple[Array]:
        acts, z = _acting(system, rest)
        found = slopes(acts.model, rows, *acts.stage())(q, v, t[0], z)[1]
        now = np.concatenate([t, np.zeros(CARRIED - 1), z])
        values = dict(zip(asked.names, asked.values(acts, rows, q, v, now, found), strict=True))
        parts = [values[name].reshape(-1) for name in REPORTED if name in values]
        at = np.concatenate([t, z])
        numbers = range(len(system.forces))
        parts += [acts.acts.row(number, acts.model, q, v, at) for number in numbers]
        if system.effort is not None:
            parts.append(system.effort.excess(acts.given(t[0], q, v, z)))
        return (np.concatenate([*parts, *(values[name] for name in functions)]),)

    return outputs


def given_function(system: System) -> Traceable:
    """Return given(q, v, t, ...) -> the forces (nv,) given along velocities, not held at limits."""

    def function(q: Array, v: Array, t: Array, *rest: Array) -> tuple[Array]:
        acts, z = _acting(system, rest)
        return (acts.given(t[0], q, v, z),)

    return function


def residuals_function(system: System) -> Traceable:
    """Return residuals(q, v, t, ...) -> one vector, in the order of `residual_names`.

    Positions are relative to the machine's size, velocities to that per second and to the terms
    that cancel in them.
    """
    model = system.model
    every = tuple(range(len(model.row_scale)))

    def function(q: Array, v: Array, t: Array, *rest: Array) -> tuple[Array]:
        acts, _ = _acting(system, rest)
        moved = acts.stage().motions
        phi, rate, scale = residuals(acts.model, every, q, v, moved, t[0])
        speed = np.sqrt(1.0 + ((v / model.velocity_scale) ** 2).sum())
        return (np.concatenate([phi / scale, rate / (scale * speed), _norms(model, q)]),)

    return function


def memory_function(system: System, rows: tuple[int, ...], scheme: Scheme) -> Traceable:
    """Return memory(q, v, t, ...) -> that of a motion that begins at a state, but for a basis."""
    step = SystemStep(system, rows, scheme)
    size = step.memory.size - (step.memory.kept if step.basis else 0)

    def function(q: Array, v: Array, t: Array, *rest: Array) -> tuple[Array]:
        acts, z = _acting(system, rest)
        return (step.start(acts, q, v, t[0], z)[:size],)

    return function


def residual_names(system: System) -> tuple[str, ...]:
    """Return what each residual belongs to, in words for messages."""
    model = system.model
    rows = [f"the loop joint {cut.name!r}" for cut in model.cuts for _ in cut.rows]
    kept = [*rows, *(f"the prescribed motion of {part.name!r}" for part in system.prescribed)]
    spins = [
        f"the unit quaternion of {model.joints[body.joint].name!r}" for body in _turning(model)
    ]
    return (*kept, *(f"{one} (velocity)" for one in kept), *spins)


def _acting(system: System, rest: tuple[Array, ...]) -> tuple[Acting, Array]:
    """Return what acts, and the states z."""
    more = dict(zip([*inputs_of_state(system)][3:], rest, strict=True))
    p, held, z = (more.get(name, NONE) for name in ("p", "held", "z"))
    return Numbers(p, held, np.zeros(0)).acting(system), z


def _turning(model: Model) -> list[Any]:
    """Return the bodies whose coordinates have a quaternion."""
    return [
        body
        for body in model.bodies
        if not body.coupled and body.type.nq and body.type.nq > body.type.nv
    ]


def _norms(model: Model, q: Array) -> Array:
    bodies = _turning(model)
    out = zeros(len(bodies), q)
    for k, body in enumerate(bodies):
        part = q[body.q][-4:]
        out[k] = (part * part).sum() - 1.0
    return out
