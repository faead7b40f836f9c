"""What is integrated: a mechanism and all that acts on it.

    M(q) q̈ + Φ_qᵀ λ + Eᵀ λ_d = h(q, v) + τ(t, q, v) + Σ J_linkᵀ w(t, q, v),    Φ = 0,  q_d = f(t)

Every way of integrating it, and every look at a motion, takes from here what acts (`acts`). What
varies is a `Signal`; the layout says where its numbers are in what machine code takes:

held      (H,)  what stays during a step: constants, inputs, samples; a motion's place
stream    (S,)  of tables at a step's start, middle and end: forces 3 times; of a prescribed
                motion f'' at these three, then f and f' at the end
instant   (I,)  of tables at one time: forces once, motions f, f', f''
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, Unpack

from mbd_bridge.base.arguments import by_name, flag
from mbd_bridge.base.errors import ModelError, StateError, warn
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.base.options import given, part as group_part, with_options
from mbd_bridge.forces.acts import Acts, ElementStates, does_as_stated
from mbd_bridge.forces.base import ForceElement, bound, by_names, replaced_by
from mbd_bridge.forces.parameters import ElementParameters, parameters_of
from mbd_bridge.forces.varying import Input, Sampled
from mbd_bridge.kernels import Kernel
from mbd_bridge.model import Model, address
from mbd_bridge.model.parameters import Parameters
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.warnings import left_out
from mbd_bridge.simulation.acts import Machine, acting_kernel
from mbd_bridge.simulation.options import (
    GivenActsOptions,
    GivenOptions,
    OutputOptions,
    SystemOptions,
)
from mbd_bridge.simulation.outputs import Outputs
from mbd_bridge.simulation.signals.effort import EffortLimits
from mbd_bridge.simulation.signals.parts import (
    ElementPart,
    TorquePart,
    WrenchPart,
    check_numbers,
    element_parts,
    resolved,
    torque_parts,
    wrench_parts,
)
from mbd_bridge.simulation.signals.prescribed import (
    MotionPart,
    fully_prescribed,
    motion_parts,
)
from mbd_bridge.simulation.signals.signal import HELD, Signal, TracedSignal
from mbd_bridge.simulation.signals.tables import Knots, PolynomialSignal, check_covers
from mbd_bridge.simulation.steps.schemes import RK4, Scheme
from mbd_bridge.simulation.steps.trusted_step import fed_back
from mbd_bridge.solve.prepared import Prepared

if TYPE_CHECKING:
    from mbd_bridge.applications.typed import OfSystem as Extended
else:
    from mbd_bridge.base.extensions import Extended


class HasModel(Protocol):
    """A mechanism as its user holds it."""

    @property
    def model(self) -> Model:
        """The immutable model."""


def agreed(numbers: Mapping[str, int]) -> int:
    """Return the number of trajectories that all that is given agrees on, or 1."""
    several = set(numbers.values()) - {1}
    if len(several) > 1:
        listed = ", ".join(f"{name}: {count}" for name, count in numbers.items())
        raise StateError(f"expected the same N everywhere, or one for all, got {listed}")
    return max(several, default=1)


def model_of(mechanism: HasModel | Model) -> Model:
    """Return the model of what a user holds."""
    if isinstance(mechanism, Model):
        return mechanism
    model = getattr(mechanism, "model", None)
    if not isinstance(model, Model):
        raise ModelError(
            f"expected a Mechanism or a System, got {type(mechanism).__name__}; load it first: "
            f'mbd.load("robot.urdf")'
        )
    return model


OF_MOTION = 5
"""Numbers of a prescribed motion that a step takes."""


@dataclass(frozen=True)
class SystemLayout:
    """Places of the parts of a system, by their numbers.

    Attributes
    ----------
    held, stream, instant : slices of the parts that have some
    sizes : of the three
    """

    held: dict[int, slice]
    stream: dict[int, slice]
    instant: dict[int, slice]
    sizes: tuple[int, int, int]

    @staticmethod
    def of(parts: Sequence[tuple[Signal, int, bool]]) -> SystemLayout:
        """Return the layout for signals, the numbers they have, and whether they are motions."""
        held: dict[int, slice] = {}
        stream: dict[int, slice] = {}
        instant: dict[int, slice] = {}
        ends = [0, 0, 0]

        def put(places: dict[int, slice], kind: int, part: int, size: int) -> None:
            places[part] = slice(ends[kind], ends[kind] + size)
            ends[kind] += size

        for k, (signal, size, moves) in enumerate(parts):
            if isinstance(signal, HELD):
                put(held, 0, k, size)
            elif isinstance(signal, PolynomialSignal):
                put(stream, 1, k, OF_MOTION if moves else 3 * size)
                put(instant, 2, k, 3 if moves else size)
        return SystemLayout(held, stream, instant, (ends[0], ends[1], ends[2]))


def identity_of(system: System) -> str | None:
    """Return what tells the machine code of what acts; None where only its graph does."""
    texts = [
        signal.text if isinstance(signal, TracedSignal) else "" for _, signal in system.signals
    ]
    if None in system.element_identities or None in texts:
        return None
    named = [(type(signal).__name__, name) for name, signal in system.signals]
    return address(
        system.element_identities,
        system.states.places,
        (named, texts),
        [part.places for part in system.torques],
        [(part.field, part.element) for part in system.element_parts],
        [(part.link, part.reference, part.point) for part in system.wrenches],
        system.prescribed_velocities,
        (system.layout.held, system.layout.stream, system.layout.instant, system.layout.sizes),
        system.parameters,
        system.effort,
    )


class System(Extended):
    """A mechanism, what acts on it, and the numbers in which its N trajectories differ.

    Attributes
    ----------
    model : the mechanism
    torques, element_parts, wrenches : what is given along velocities, inside force elements, on
        links
    prescribed : what follows a function
    parameters : numbers of the mechanism that are inputs of the machine code, or none
    outputs : what a step tells of the state that it begins with, or none
    forces : force elements, bound to the model; `states` has the names of their states z
    effort : limits at which given forces are held, or none
    elements : numbers of force elements among the parameters, or none
    prepared : machine code of the mechanism

    Examples
    --------
    >>> pushed = mbd.System(arm, external={"hand": [0, 0, -9.81, 0, 0, 0]})     # doctest: +SKIP
    >>> run = pushed.simulate(2.0)                                              # doctest: +SKIP
    """

    model: Model
    torques: tuple[TorquePart, ...]
    element_parts: tuple[ElementPart, ...]
    wrenches: tuple[WrenchPart, ...]
    prescribed: tuple[MotionPart, ...]
    parameters: Parameters | None
    outputs: Outputs | None
    forces: tuple[ForceElement, ...]
    effort: EffortLimits | None
    elements: ElementParameters | None
    prepared: Prepared

    @with_options
    def __init__(self, mechanism: HasModel | Model, **options: Unpack[SystemOptions]) -> None:
        """Check what acts, and bind it to the mechanism.

        Parameters
        ----------
        mechanism : a `Mechanism`, or its model
        **options : what acts, what steps tell, and over which time
        """
        model = model_of(mechanism)
        effort_limits = flag("effort_limits", options["effort_limits"])
        acts: dict[str, Any] = {**group_part(GivenActsOptions, options)}
        acts["effort_limits"] = effort_limits or None
        self._made_of = mechanism, {name: act for name, act in acts.items() if act is not None}
        own: tuple[ForceElement, ...] = getattr(mechanism, "forces", ())
        elements = by_names(own if options["forces"] is None else options["forces"])
        self.forces = bound(model, elements.values())
        named = by_name("parameters", options["parameters"], "{'rod.mass': 2.0}")
        self.elements = ElementParameters.of(model, elements, named)
        kept = getattr(mechanism, "prepared", None)
        self.prepared = kept if isinstance(kept, Prepared) else Prepared(model)
        self.effort = EffortLimits.asked(model, effort_limits)
        self.model, self.parameters = model, parameters_of(model, named, self.elements)
        wrenches = wrench_parts(model, options["external"], options["external_in"])
        parts = torque_parts(model, options["torque"]), element_parts(self.forces), wrenches
        self.torques, self.element_parts, self.wrenches = resolved(model, parts, options["inputs"])
        self.prescribed = motion_parts(model, options["prescribed"], options["start"])
        if self.elements is not None:
            self.forces = self.elements.bound(self.forces, self.elements.values[0])
        check_numbers(self)
        self.outputs = Outputs.of(model, group_part(OutputOptions, options))
        if options["end"] is not None:
            self.check_covers(options["start"], options["end"])
        if self.parameters is not None:
            self.parameters = self.parameters.repeated(self.number)

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels to another process: machine code is found or made there."""
        return {name: getattr(self, name) for name in System.__annotations__}

    @property
    def made_of(self) -> tuple[HasModel | Model, dict[str, Any]] | None:
        """The mechanism and what was given with it; None of one that came from another process."""
        found: tuple[HasModel | Model, dict[str, Any]] | None = vars(self).get("_made_of")
        return found

    def with_parts(
        self,
        *,
        torques: tuple[TorquePart, ...] | None = None,
        wrenches: tuple[WrenchPart, ...] | None = None,
        prescribed: tuple[MotionPart, ...] | None = None,
        parameters: Parameters | None = None,
    ) -> System:
        """Return the system with other parts."""
        parts: dict[str, Any] = {"torques": torques, "wrenches": wrenches}
        parts |= {"prescribed": prescribed, "parameters": parameters}
        return self._with({name: part for name, part in parts.items() if part is not None})

    def derived_by(
        self, parameters: Parameters | None, elements: ElementParameters | None
    ) -> System:
        """Return the system with other numbers as inputs of its machine code."""
        return self._with({"parameters": parameters, "elements": elements})

    def without_elements(self) -> System:
        """Return the system without its force elements."""
        return self._with({"forces": (), "elements": None, "element_parts": ()})

    def _with(self, attributes: dict[str, Any]) -> System:
        other = System.__new__(System)
        vars(other).update(self.__getstate__() | attributes)
        return other

    def current(self) -> System:
        """Return the system with its functions as they are now: they may use what has changed."""
        if self.identity is not None:
            return self
        other = self._with({})
        vars(other)["_made_of"] = self.made_of
        return other

    def check_covers(self, start: float, end: float) -> None:
        """Complain of tables that do not reach from start to end, s."""
        for name, signal in self.signals:
            if isinstance(signal, PolynomialSignal):
                check_covers(name, *signal.span, start, end)

    @cached_property
    def element_identities(self) -> tuple[str | None, ...]:
        """What tells each force element from others; see `ForceElement.identity`."""
        told = self.forces if self.elements is None else self.elements.symbolic
        return tuple(element.identity for element in told)

    @cached_property
    def passive(self) -> frozenset[int]:
        """The force elements that store and lose energy only, as they state.

        Relaxing tyres, whose states hold some that they do not state, do not; a user's element is
        tried (`forces.stated`).
        """
        each = enumerate(zip(self.forces, self.states.places, strict=True))
        return frozenset(
            k
            for k, (element, at) in each
            if element.passive
            and (does_as_stated(element, self.model) if element.foreign else at.start == at.stop)
        )

    def machine(self, p: Array | None = None) -> Machine:
        """Return model and force elements with the symbols p of their parameters."""
        if self.parameters is None or p is None:
            return self.model, self._acts
        return self.parameters.model_with(p), self.acts_with(p)

    def acts_with(self, p: Array | None) -> Acts:
        """Return the force elements with their parameters from p, floats or symbols."""
        if self.elements is None or self.parameters is None or p is None:
            return self._acts
        forces = self.elements.bound(self.forces, self.parameters.numbers_beside(p))
        return replace(self._acts, elements=forces)

    @cached_property
    def _acts(self) -> Acts:
        return Acts.of(self.model, self.forces)

    def holding(self, acts: Acts, held: Array) -> Acts:
        """Return force elements with the numbers that they hold, from those (H,) of a step."""
        numbers: dict[int, list[Array]] = {}
        for k, part in enumerate(self.element_parts, len(self.torques)):
            numbers.setdefault(part.element, []).append(held[self.layout.held[k]])
        if not numbers:
            return acts
        each = enumerate(acts.elements)
        holding = (one.holding(numbers[k]) if k in numbers else one for k, one in each)
        return replace(acts, elements=tuple(holding))

    @property
    def states(self) -> ElementStates:
        """Names and places of the states z of the force elements."""
        return self._acts.states

    @property
    def nz(self) -> int:
        """Number of states of force elements."""
        return len(self.states)

    @cached_property
    def kept(self) -> dict[Hashable, Any]:
        """What has been made for it: steps and their machine code, by what tells them."""
        return {}

    @property
    def fed_back(self) -> dict[str, int]:
        """What a Runge-Kutta step gives to the next one; see `trusted_step`."""
        return fed_back(self.model, self.nz)

    @cached_property
    def parts(self) -> tuple[TorquePart | ElementPart | WrenchPart | MotionPart, ...]:
        """All that is given, in the order of their numbers."""
        return (*self.torques, *self.element_parts, *self.wrenches, *self.prescribed)

    @property
    def pushed(self) -> bool:
        """Whether forces act on it."""
        return bool(self.torques or self.wrenches or self.forces)

    @cached_property
    def part_names(self) -> tuple[str, ...]:
        """What each part is given for, in words for messages."""
        names = self.model.velocity_names
        found = []
        for part in self.parts:
            if isinstance(part, WrenchPart):
                found.append(f"external[{part.name!r}]")
            elif isinstance(part, MotionPart):
                found.append(f"prescribed motion {part.name!r}")
            elif isinstance(part, ElementPart):
                name = part.field.rpartition(".")[0]
                found.append(f"forces {name!r}" if isinstance(part.own, Sampled) else part.field)
            else:
                whole = len(part.places) != 1 or len(names) == 1
                found.append("torque" if whole else f"torque {names[part.places[0]]!r}")
        return tuple(found)

    @cached_property
    def signals(self) -> tuple[tuple[str, Signal], ...]:
        """What each part is given for, and its signal; two may be given for the same."""
        signals = (part.signal for part in self.parts)
        return tuple(zip(self.part_names, signals, strict=True))

    @property
    def numbers_of(self) -> dict[str, int]:
        """For how many trajectories each thing is given, where that is more than one."""
        found: dict[str, int] = {}
        for name, signal in self.signals:
            found[name] = max(signal.number, found.get(name, 1))
        if self.parameters is not None:
            found["parameters"] = len(self.parameters)
        return {name: number for name, number in found.items() if number > 1}

    @property
    def number(self) -> int:
        """N, the number of trajectories that all that is given agrees on, or 1."""
        return agreed(self.numbers_of)

    @cached_property
    def layout(self) -> SystemLayout:
        """Where the numbers of the signals are."""
        sizes = [len(part.places) for part in self.torques]
        sizes += [part.size for part in self.element_parts]
        sizes += [6] * len(self.wrenches) + [1] * len(self.prescribed)
        parts = zip(self.parts, sizes, strict=True)
        return SystemLayout.of(
            [(part.signal, n, isinstance(part, MotionPart)) for part, n in parts]
        )

    @cached_property
    def sampled(self) -> bool:
        """Whether Python is called at each step."""
        return any(isinstance(signal, Sampled) for _, signal in self.signals)

    @property
    def inputs_by_name(self) -> dict[str, tuple[slice, ...]]:
        """Where in `held` the inputs from outside are: one may act in several places."""
        found: dict[str, tuple[slice, ...]] = {}
        for k, part in enumerate(self.parts):
            if isinstance(part.signal, Input):
                name = part.signal.name
                found[name] = (*found.get(name, ()), self.layout.held[k])
        return found

    @property
    def common(self) -> bool:
        """Whether the stream is the same for all trajectories."""
        return all(self.parts[k].signal.number == 1 for k in self.layout.stream)

    def knots(self, start: float, h: float, scheme: Scheme = RK4) -> Knots:
        """Return where steps of h from `start` have to end, since tables of forces jump there."""
        parts: tuple[TorquePart | WrenchPart, ...] = (*self.torques, *self.wrenches)
        tables = [part.signal for part in parts if isinstance(part.signal, PolynomialSignal)]
        knots = Knots.of(tables, start, h)
        return knots.jumps if scheme.remembers else knots

    @cached_property
    def prescribed_velocities(self) -> tuple[int, ...]:
        """Velocities that are prescribed."""
        return tuple(part.v for part in self.prescribed)

    @property
    def prescribed_joints(self) -> tuple[str, ...]:
        """Joints all of whose degrees of freedom are prescribed."""
        return fully_prescribed(self.model, self.prescribed_velocities)

    @property
    def links(self) -> tuple[str, ...]:
        """Links that carry wrenches: given ones, then those of force elements."""
        names = (self.model.links[link].name for link, _ in self.element_links)
        return (*(part.name for part in self.wrenches), *names)

    @cached_property
    def element_links(self) -> tuple[tuple[int, bool], ...]:
        """Links on which force elements exert wrenches, and whether these pass cut joints."""
        model = self.model
        return tuple(
            sorted(
                {
                    (link, bool(one.cut_numbers(model)))
                    for one in self.forces
                    for link in one.link_numbers(model)
                }
            )
        )

    @property
    def external_links(self) -> dict[str, list[int]]:
        """Links that carry external wrenches, and the numbers of these."""
        names = [part.name for part in self.wrenches]
        return {name: [k for k, link in enumerate(names) if link == name] for name in names}

    @cached_property
    def replaced(self) -> frozenset[tuple[str, str]]:
        """What force elements stand for in the file; see `ForceElement.replaces`."""
        return replaced_by(self.model, self.forces)

    @cached_property
    def _left_out(self) -> str:
        return left_out(self.model, "this motion", self.replaced)

    def warn_left_out(self) -> None:
        """Warn that a motion is computed without what the file gives, if it gives something."""
        if self._left_out:
            warn(self._left_out)

    def wrenches_on(self, link: str) -> list[int]:
        """Return the numbers of the wrenches on a link, less those that pass through cut joints."""
        within = [False] * len(self.wrenches) + [within for _, within in self.element_links]
        places = enumerate(zip(self.links, within, strict=True))
        return [k for k, (name, passes) in places if name == link and not passes]

    @property
    def forces_in_cuts(self) -> tuple[ForceElement, ...]:
        """The force elements that act in cut joints.

        Raises
        ------
        StateError
            One has states of its own: then only the steps tell the loads of its joint.
        """
        found = tuple(one for one in self.forces if one.cut_numbers(self.model))
        if self.nz and any(one.states(self.model) for one in found):
            raise StateError(
                "a force element with states acts in a cut joint: loads after the run do not know "
                "them; have the steps tell the loads, simulate(..., loads=[joints])"
            )
        return found

    def moves(self, part: int) -> bool:
        """Return whether a part is a prescribed motion."""
        return part >= len(self.parts) - len(self.prescribed)

    @cached_property
    def more(self) -> dict[str, int]:
        """Inputs of a step beside what is fed back and h, and their sizes."""
        held, stream, _ = self.layout.sizes
        sizes = {"held": held, "p": 0 if self.parameters is None else self.parameters.size}
        return {name: size for name, size in (sizes | {"stream": stream}).items() if size}

    @cached_property
    def identity(self) -> str | None:
        """What of the machine code depends on what acts; None where only its graph tells."""
        return identity_of(self)

    @cached_property
    def step_identity(self) -> str | None:
        """The same for a step, which tells the outputs."""
        if self.outputs is None or self.identity is None:
            return self.identity
        return address(self, self.outputs)

    @cached_property
    def acting(self) -> Kernel:
        """The kernel of what acts; see `acts.acting_kernel`."""
        return acting_kernel(self)


def system_of(
    machine: HasModel | Model | System, start: float, end: float, options: Mapping[str, Any]
) -> System:
    """Return the system that is held, or that of a mechanism and what acts on it, over a time.

    Parameters
    ----------
    options : of a call, `GivenOptions` among them
    """
    if not isinstance(machine, System):
        acts = group_part(GivenOptions, options)
        prepared, forces = (getattr(machine, name, None) for name in ("prepared", "forces"))
        alone = isinstance(prepared, Prepared) and not any(one.foreign for one in forces or ())
        if not alone or given(GivenOptions, acts):
            return System(machine, start=start, end=end, **acts)
        assert prepared is not None
        made: System = prepared.get(("system", forces), lambda: System(machine))
        return made
    for name in given(GivenOptions, options):
        if name != "external_in":
            raise StateError(
                f"{name}: a System has its own; give it there, mbd.System(robot, {name}=...)"
            )
    machine.check_covers(start, end)
    return machine.current()
