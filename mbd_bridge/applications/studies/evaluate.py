"""What a part of a study computes: numbers by name, of the variants whose factors it is given.

A factor is named after what it changes: a coordinate (``crank``) or its rate (``crank.vel``,
``crank.acc``) at the start, an input of the system, or a number of the mechanism or of a force
element (``coupler.mass``, ``spring.stiffness``; see `mechanism.parameters`). `variables` turns
factors of other names into these.

What is kept of each variant: numbers that a phrase, or a function, takes from its motion.

    [STATISTIC] QUANTITY        peak coupler_pin.force

STATISTIC, over the records of a motion: final (default), initial, peak (the largest size), minimum,
maximum, mean, rms, range. QUANTITY:

    crank, crank.vel, crank.acc                 a coordinate, its rates; rad or m, s
    pin.force, pin.moment                       N, N m: sizes; components .force.x, .moment.z
    crank.actuation                             N m or N; of several degrees of freedom the size
    energy                                      J, kinetic and potential
    closure                                     residual of the loops, relative to the size
    strut.length                                a state z of a force element, "element.state"

Components of a load that rigid-body mechanics does not determine do not count in its size; asked
for alone they are nan.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mbd_bridge.applications.studies.result import FINISHED
from mbd_bridge.base.arguments import by_name, known_name
from mbd_bridge.base.errors import ModelError, StateError, unknown_name
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.forces.base import ForceElement, by_names
from mbd_bridge.forces.parameters import owner_of
from mbd_bridge.forces.varying import Input
from mbd_bridge.loads import LoadRequest, LoadSolver
from mbd_bridge.model import Model
from mbd_bridge.model.parameters import parameter_unit
from mbd_bridge.model.spatial import Array
from mbd_bridge.model.units import (
    FORCE_UNIT,
    RATE,
    actuation_units,
    model_units,
    state_units,
)
from mbd_bridge.simulation.batch.result import SimulationBatch
from mbd_bridge.simulation.batch.run import simulate_batch
from mbd_bridge.simulation.run.problem import number_of_steps
from mbd_bridge.simulation.steps.schemes import CompiledIntegrator, Scheme
from mbd_bridge.simulation.system import HasModel, System, model_of
from mbd_bridge.simulation.trajectory import prescribed
from mbd_bridge.simulation.variables import Inputs
from mbd_bridge.solve.assembly import assemble_batch
from mbd_bridge.solve.prepared import Prepared

AXES = "xyz"
UNITS = {"force": "N", "moment": "N m", "energy": "J", "closure": ""}
LOADS = ("force", "moment", "actuation")

STATISTICS: dict[str, Callable[[Array], Array]] = {
    "final": lambda values: values[..., -1],
    "initial": lambda values: values[..., 0],
    "peak": lambda values: np.abs(values).max(axis=-1),
    "minimum": lambda values: values.min(axis=-1),
    "maximum": lambda values: values.max(axis=-1),
    "mean": lambda values: values.mean(axis=-1),
    "rms": lambda values: np.sqrt(np.mean(values**2, axis=-1)),
    "range": lambda values: np.ptp(values, axis=-1),
}
"""Of values (..., K) over K records; nan where a motion stopped."""


class Quantity(NamedTuple):
    """A phrase, read.

    Attributes
    ----------
    statistic : one of `STATISTICS`
    kind : "q", "v", "a", "force", "moment", "actuation", "energy", "closure" or "z"
    name : of the joint or state; "" where there is none
    place : column of q, v, a; component of a load, or None for its size
    """

    statistic: str
    kind: str
    name: str = ""
    place: int | None = None

    @property
    def of_load(self) -> bool:
        """Whether it is of the load of a joint."""
        return self.kind in LOADS

    def unit(self, model: Model, states: Mapping[str, str]) -> str:
        """Return its unit, of which that of a state is given by name."""
        if self.kind == "actuation":
            units = {FORCE_UNIT[unit] for unit in actuation_units(model, self.name)}
            return units.pop() if len(units) == 1 else ""
        if self.place is None or self.kind in LOADS:
            return UNITS[self.kind] if self.kind in UNITS else states[self.name]
        of_q, of_v = model_units(model)
        unit = of_q[self.place] if self.kind == "q" else of_v[self.place]
        return f"{unit}{RATE['qva'.index(self.kind)]}"

    def of(self, values: Array) -> Array:
        """Return the statistic of values (N, K)."""
        return STATISTICS[self.statistic](values)

    def sizes(self, vectors: Array, unique: Array) -> Array:
        """Return the component, or the size, of vectors (..., n); what is not determined is nan.

        Parameters
        ----------
        unique : (n,) or (..., n) which components are determined; sizes are of these alone, as in
            `BatchLoads.peaks`, and nan where none is
        """
        if self.place is not None:
            return np.where(unique[..., self.place], vectors[..., self.place], np.nan)
        if vectors.shape[-1] == 1:
            return np.where(unique[..., 0], vectors[..., 0], np.nan)
        size = np.linalg.norm(np.where(unique, vectors, 0.0), axis=-1)
        return np.where(unique.any(axis=-1), size, np.nan)


def quantity_of(phrase: str, model: Model, states: tuple[str, ...] = ()) -> Quantity:
    """Return what a phrase asks for.

    Raises
    ------
    StateError
        It asks for nothing that the machine has.
    """
    words = phrase.split()
    statistic = words[0] if len(words) == 2 else "final"
    if not 1 <= len(words) <= 2:
        raise StateError(
            f"output {phrase!r}: expected a statistic and a quantity, such as 'peak elbow.moment'"
        )
    known_name("statistic", statistic, STATISTICS)
    return _quantity(statistic, words[-1], phrase, model, states)


def _quantity(
    statistic: str, asked: str, phrase: str, model: Model, states: tuple[str, ...]
) -> Quantity:
    if asked in ("energy", "closure"):
        return Quantity(statistic, asked)
    if asked in states:
        return Quantity(statistic, "z", asked)
    if asked in model.coordinate_names:
        return Quantity(statistic, "q", asked, model.coordinate_names.index(asked))
    stem, _, last = asked.rpartition(".")
    if last in ("vel", "acc") and stem in model.velocity_names:
        return Quantity(statistic, last[0], stem, model.velocity_names.index(stem))
    place = None
    if last in AXES and stem.rpartition(".")[2] in LOADS[:2]:
        place, (stem, _, last) = AXES.index(last), stem.rpartition(".")
    loaded = [*(joint.name for joint in model.joints), *(loop.name for loop in model.loops)]
    if last in LOADS and stem in loaded:
        return Quantity(statistic, last, stem, place)
    known = [*model.coordinate_names, *states, "energy", "closure"]
    known += [f"{name}.force" for name in loaded]
    raise StateError(f"output {phrase!r}: {unknown_name('quantity', asked, known)}")


Columns: TypeAlias = Mapping[str, Array]
"""Values (N,) or (N, n) by name."""

Output: TypeAlias = str | Callable[[Any], Array]
"""A phrase (`quantities`), or a function of the motions (`SimulationBatch`) that returns (N,)."""


def factor_unit(model: Model, elements: Mapping[str, ForceElement], name: str) -> str:
    """Return the SI unit of a factor: a coordinate, a rate, a number of the mechanism or of a
    force element; "" where it has none.
    """
    owner, _ = owner_of(name)
    if owner in elements:
        return elements[owner].unit_of(name.removeprefix(f"{owner}."), model)
    return state_units(model).get(name) or parameter_unit(name)


@dataclass(frozen=True, eq=False)
class Variants:
    """A machine and what is varied of it.

    Attributes
    ----------
    machine : the mechanism, or its model
    given : what acts on it, as for `simulate`
    outputs : by name
    near : coordinates at the start by name, of all variants
    variables : from factors to what they change; None: they are called after it
    """

    machine: HasModel | Model
    given: Mapping[str, Any]
    outputs: Mapping[str, Output]
    near: Mapping[str, float]
    variables: Callable[[Columns], Columns] | None

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels to another process; what follows from it is made there."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def model(self) -> Model:
        """The mechanism as the file has it."""
        return model_of(self.machine)

    @cached_property
    def prepared(self) -> Prepared:
        """Machine code of the mechanism, which the parts of a worker share."""
        kept = getattr(self.machine, "prepared", None)
        return kept if isinstance(kept, Prepared) else Prepared(self.model)

    @cached_property
    def system(self) -> System:
        """The machine and what acts on it, of no variant in particular."""
        return System(self.machine, **self.given)

    @cached_property
    def quantities(self) -> dict[str, Quantity]:
        """The phrases among the outputs, read."""
        states = tuple(self.system.states.names)
        return {
            name: quantity_of(asked, self.model, states)
            for name, asked in self.outputs.items()
            if isinstance(asked, str)
        }

    @cached_property
    def loaded(self) -> tuple[str, ...]:
        """Joints whose loads are asked for."""
        return tuple(dict.fromkeys(one.name for one in self.quantities.values() if one.of_load))

    def units(self, factors: Iterable[str]) -> dict[str, str]:
        """Return the units of factors and outputs by name, "" where it is not known."""
        model, found = self.model, dict.fromkeys((*factors, *self.outputs), "")
        if self.variables is None:
            elements = by_names(self.given.get("forces", getattr(self.machine, "forces", ())))
            inputs = {one.name: one.unit for one in Inputs.of(self.system).inputs}
            found |= {
                name: inputs.get(name) or factor_unit(model, elements, name) for name in factors
            }
        states = dict(zip(self.system.states.names, self.system.states.units, strict=True))
        return found | {
            name: quantity.unit(model, states) for name, quantity in self.quantities.items()
        }

    def __call__(self, columns: Columns) -> dict[str, Array]:
        """Return the outputs (N,) of variants, and whether each finished."""
        return self.with_status(columns)[0]

    def with_status(
        self, columns: Columns, progress: Callable[[float], None] | None = None
    ) -> tuple[dict[str, Array], Sequence[str]]:
        """Return the same, and how each ended, as a sentence."""
        raise NotImplementedError

    def varied(self, columns: Columns) -> Varied:
        """Return the values of the variants, sorted by what they change."""
        named, number = dict(columns), len(next(iter(columns.values())))
        if self.variables is not None:
            made = by_name("variables", self.variables(columns), "{'rod.mass': masses}")
            named = {
                name: numbers_of(f"variables: {name!r}", values, number, vectors=True)
                for name, values in made.items()
            }
            if not named:
                raise StateError("variables: expected values by name of what they change, got none")
        model = self.model
        inputs = {one.signal.name for one in self.system.parts if isinstance(one.signal, Input)}
        kinds: dict[str, dict[str, Any]] = {"q": {}, "v": {}, "a": {}, "inputs": {}, "numbers": {}}
        for name, values in named.items():
            stem, _, last = name.rpartition(".")
            if name in model.coordinate_names:
                kinds["q"][name] = values
            elif last in ("vel", "acc") and stem in model.velocity_names:
                kinds[last[0]][stem] = values
            elif name in inputs:
                kinds["inputs"][name] = values
            else:
                kinds["numbers"][name] = values
        return Varied(number, **kinds)

    def acting(self, variants: Varied) -> dict[str, Any]:
        """Return what acts on the variants, and the numbers that differ in them."""
        given: dict[str, Any] = dict(self.given)
        given["parameters"] = {**(given.get("parameters") or {}), **variants.numbers} or None
        given["inputs"] = {**(given.get("inputs") or {}), **variants.inputs} or None
        return given

    def check(self, columns: Columns) -> None:
        """Refuse values that a mechanism or its force elements cannot have."""
        System(self.machine, **self.acting(self.varied(columns)))


@dataclass(frozen=True, eq=False)
class Varied:
    """Values of N variants by what they change; see `Variants.varied`."""

    number: int
    q: dict[str, Array]
    v: dict[str, Array]
    a: dict[str, Array]
    inputs: dict[str, Array]
    numbers: dict[str, Array]


@dataclass(frozen=True, eq=False)
class Motions(Variants):
    """Simulate each variant, all of a part together in vector lanes.

    Attributes
    ----------
    duration, step, every, integrator, threads : as for `simulate`
    """

    duration: float = 1.0
    step: float = 1e-3
    every: int = 1
    integrator: CompiledIntegrator | Scheme = "rk4"
    threads: int = 1

    def with_status(
        self, columns: Columns, progress: Callable[[float], None] | None = None
    ) -> tuple[dict[str, Array], Sequence[str]]:
        """Return the outputs (N,) of variants, and how their motions ended."""
        variants = self.varied(columns)
        if variants.a:
            raise StateError(
                f"factor {next(iter(variants.a))}.acc: the accelerations of a motion follow; leave "
                f"the duration out for the loads of states"
            )
        q, v = self._start(variants)
        steps = number_of_steps(self.duration, self.step)
        batch = simulate_batch(
            self.machine,
            self.duration,
            step=self.step,
            q=q,
            v=v,
            loads=self.loaded or None,
            integrator=self.integrator,
            every=self.every,
            threads=self.threads,
            progress=None if progress is None else lambda taken: progress(taken / steps),
            **self.acting(variants),
        )
        return self._kept(batch), batch.status

    def _start(self, variants: Varied) -> tuple[Array | None, Array | None]:
        """Return the states at the start, with loops closed; None where nothing is said of them."""
        if not (variants.q or variants.v or self.near):
            if not variants.number > 1 or self.system.prescribed:
                return None, None
            if not self.model.has_loops:
                return np.tile(self.model.neutral(), (variants.number, 1)), None
        near: dict[str, Any] = {**self.near, **variants.q}
        velocity, held = dict(variants.v), {**variants.q, **variants.v}
        follows = prescribed(self.system, np.zeros(1), np.zeros(1, dtype=int))[0, 0]
        for part, (f, f1, _) in zip(self.system.prescribed, follows, strict=True):
            if part.name not in held:  # `near` tells where the others are
                held[part.name] = near[part.name] = f
                velocity[part.name] = f1
        elements = {one.name for one in self.system.forces}
        of_machine = {
            name: values
            for name, values in variants.numbers.items()
            if name.partition(".")[0] not in elements
        }
        if self.model.has_loops:
            state = assemble_batch(
                self.prepared,
                near,
                fixed=tuple(held),
                velocity=velocity,
                parameters=of_machine or None,
                check=False,
            )
            return (
                np.broadcast_to(state.q, (variants.number, self.model.nq)).copy(),
                np.broadcast_to(state.v, (variants.number, self.model.nv)).copy(),
            )
        return (
            _filled(self.model.neutral(), self.model.coordinate_names, near, variants.number),
            _filled(np.zeros(self.model.nv), self.model.velocity_names, velocity, variants.number),
        )

    def _kept(self, batch: SimulationBatch) -> dict[str, Array]:
        """Return the outputs of motions; nan of those that did not finish."""
        finished = batch.finished
        motions = batch
        if not finished.all():  # what is not kept is not computed, each one's loads alone
            gone = ~finished[:, None, None]
            q, v, z = (np.where(gone, np.nan, one) for one in (batch.q, batch.v, batch.z))
            motions = replace(batch, q=q, v=v, z=z)
        outputs: dict[str, Array] = {}
        for name, output in self.outputs.items():
            if isinstance(output, str):
                quantity = self.quantities[name]
                with np.errstate(invalid="ignore"):
                    values = quantity.of(_along(motions, quantity))
            else:
                values = numbers_of(f"output {name!r}", output(batch), len(batch))
            outputs[name] = np.where(finished, values, np.nan)
        outputs[FINISHED] = finished.astype(float)
        return outputs


@dataclass(frozen=True, eq=False)
class LoadsOfStates(Variants):
    """The joint loads of each variant at one state: coordinates, rates and accelerations given."""

    def with_status(
        self, columns: Columns, progress: Callable[[float], None] | None = None
    ) -> tuple[dict[str, Array], Sequence[str]]:
        """Return the outputs (N,) of variants, and where there are none."""
        model, variants = self.model, self.varied(columns)
        number = variants.number
        wrong = [name for name, one in self.quantities.items() if not one.of_load] + [
            name for name, asked in self.outputs.items() if not isinstance(asked, str)
        ]
        if wrong:
            raise StateError(
                f"output {wrong[0]!r}: without a duration there are joint loads only, such as "
                f"'elbow.moment'; give a duration to simulate"
            )
        if variants.inputs or any(self.given.get(name) for name in ("torque", "external")):
            raise StateError("torques and wrenches act in motions only; give a duration")
        q = _filled(model.neutral(), model.coordinate_names, {**self.near, **variants.q}, number)
        v = _filled(np.zeros(model.nv), model.velocity_names, variants.v, number)
        a = _filled(np.zeros(model.nv), model.velocity_names, variants.a, number)
        loads = self._solver(variants)(q, v, a, check=False)
        outputs = {}
        for name, quantity in self.quantities.items():
            k = loads.joints.index(quantity.name)
            if quantity.kind == "actuation":
                along = loads.actuation_of[k]
                vectors, unique = (
                    loads.actuation[..., along],
                    loads.actuation_unique[..., along],
                )
            else:
                vectors = getattr(loads, quantity.kind)[..., k, :]
                half = slice(0, 3) if quantity.kind == "force" else slice(3, 6)
                unique = loads.unique[..., k, half]
            outputs[name] = quantity.sizes(vectors, unique)
        without = np.array([~np.isfinite(values) for values in outputs.values()])
        sentences = [FINISHED] * number
        for variant in np.flatnonzero(without.any(axis=0)).tolist():
            names = ", ".join(itertools.compress(outputs, without[:, variant]))
            sentences[variant] = f"no number: {names}"
        outputs[FINISHED] = (~without.any(axis=0)).astype(float)
        return outputs, sentences

    def _solver(self, variants: Varied) -> LoadSolver:
        model = self.model
        if variants.numbers and model.has_loops:
            raise ModelError(
                "the loads of variants with loops come from their simulation: give a duration"
            )
        request = LoadRequest.of(model, self.loaded, forces=self.system.forces)
        if variants.numbers:
            return LoadSolver(model, request, variants.numbers)
        return self.prepared.get(("study", request), partial(LoadSolver, model, request))


def _along(batch: SimulationBatch, quantity: Quantity) -> Array:
    """Return a quantity (N, K) along the motions of a batch."""
    kind, place = quantity.kind, quantity.place
    if kind in ("q", "v", "a"):
        return np.asarray(getattr(batch, kind)[:, :, place])
    if kind == "z":
        return batch.states[quantity.name]
    if kind in ("energy", "closure"):
        return np.asarray(getattr(batch, kind))
    loads = batch.loads
    k = loads.joints.index(quantity.name)
    if kind == "actuation":
        own = loads.actuation_of[k]
        return quantity.sizes(loads.actuation[..., own], loads.actuation_unique[own])
    half = slice(0, 3) if kind == "force" else slice(3, 6)
    return quantity.sizes(getattr(loads, kind)[:, :, k], loads.unique[k, half])


def _filled(base: Array, names: tuple[str, ...], given: Mapping[str, Any], number: int) -> Array:
    """Return vectors (N, n): `base`, with what is given by name."""
    found = np.tile(base, (number, 1))
    for name, values in given.items():
        found[:, names.index(known_name("coordinate", name, names))] = values
    return found


def numbers_of(what: str, values: Any, number: int, *, vectors: bool = False) -> Array:
    """Return what a user's function gave of so many variants, (N,) floats or, if so, (N, ...)."""
    try:
        found = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError) as problem:
        raise StateError(f"{what}: expected ({number},) numbers, got {values!r:.60}") from problem
    if found.shape[:1] != (number,) or (found.ndim > 1 and not vectors):
        raise StateError(
            f"{what}: expected ({number},) numbers, one for each variant, got the shape "
            f"{found.shape}"
        )
    return found
