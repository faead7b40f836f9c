"""Implicit integrators and their numbers: Newmark, HHT, generalised alpha; and explicit Newmark.

With the accelerations q̈ that satisfy the equations of motion at both ends of a step, and the
algorithmic ones, a (Arnold and Brüls 2007):

    (1 - α_m) a' + α_m a = (1 - α_f) q̈' + α_f q̈
    q' = q ⊕ δ,   δ = h v + h² ((1/2 - β) a + β a')
    v' = v + h ((1 - γ) a + γ a')

Newmark has α_m = α_f = 0: a = q̈. HHT has α_m = 0, α_f = -α. With γ = 1/2 + α_f - α_m the order is
two, with β = (γ + 1/2)² / 4 the damping of the highest frequencies is the largest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from mbd_bridge.base.errors import (
    ExtensionError,
    StateError,
    one_of,
    real_number,
    whole_number,
)
from mbd_bridge.base.extensions import extensions
from mbd_bridge.model.spatial import Array

CONVERGED = 1e-6
"""rad, or parts of the mechanism's size: a step whose last Newton correction moves the machine by
more is not taken. The error that is left is a small part of that correction."""

MOST_ITERATIONS = 20
"""Newton iterations of a step, at most: they are written out in the machine code."""


class Coefficients(NamedTuple):
    """α_m, α_f, β and γ of a scheme."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float

    @property
    def share(self) -> float:
        """κ = ∂a'/∂q̈'."""
        return (1.0 - self.alpha_f) / (1.0 - self.alpha_m)

    @property
    def one_acceleration(self) -> bool:
        """Whether a = q̈."""
        return self.alpha_m == self.alpha_f == 0.0


class Scheme:
    """An integrator whose steps are compiled.

    Attributes
    ----------
    remembers : whether a step hands on more than the state, its memory: it then starts anew where
        forces jump, and a step that is not trusted is taken in halves. Other steps end where
        forces bend, too, and go past singular positions
    """

    remembers = True

    @property
    def damps(self) -> bool:
        """Whether it takes energy away, so that only a gain of energy is a fault."""
        return False

    def _number(self, name: str, least: float, most: float) -> None:
        where = f"{type(self).__name__}: {name}"
        expected = f"a number from {least:.4g} to {most:.4g}"
        value = real_number(where, getattr(self, name), expected)
        if not least <= value <= most:
            raise StateError(f"{where}: expected {expected}, got {value:g}")

    @property
    def formula(self) -> Scheme:
        """What it does with time, whichever way loops are kept."""
        return self

    @property
    def varies(self) -> bool:
        """Whether its steps are as long as a tolerance asks for."""
        formula = self.formula
        return isinstance(formula, ImplicitScheme) and formula.tolerance is not None


Rate: TypeAlias = Callable[[float, Array], Array]
"""f(c, x) = x' after the part c of a step; c is 0 at its start, 1 at its end."""


class Integrator(Scheme, ABC):
    """A method for x' = f that is written down as a formula, as yours may be; a frozen dataclass.

    x holds coordinates, velocities, states of force elements and the work that was done. The
    formula is traced into machine code, so it may branch on structure only; run from Python it
    takes floats. After each step x is put onto loops and prescribed motions.

    Attributes
    ----------
    order : of the method
    remembers : whether a step hands on a memory, which `start` makes
    """

    remembers = False
    order: ClassVar[int]

    def start(self, f: Rate, x: Array) -> Array:
        """Return the memory (n,) of a motion that begins at x, or goes on where forces jumped."""
        return np.zeros(0)

    @abstractmethod
    def step(self, f: Rate, x: Array, h: float, memory: Array) -> tuple[Array, Array]:
        """Return x after h seconds, and the memory for a step that follows and is as long."""


@dataclass(frozen=True)
class RungeKutta4(Integrator):
    """The classical method of the fourth order, with projection (`runge_kutta`)."""

    order = 4

    def step(self, f: Rate, x: Array, h: float, memory: Array) -> tuple[Array, Array]:
        """Return x after h seconds."""
        one = f(0.0, x)
        two = f(0.5, x + h / 2 * one)
        three = f(0.5, x + h / 2 * two)
        four = f(1.0, x + h * three)
        return x + h / 6 * (one + 2 * (two + three) + four), memory


@dataclass(frozen=True)
class ImplicitScheme(Scheme, ABC):
    """An implicit integrator of the second order; concrete ones are final.

    Parameters
    ----------
    iterations : Newton iterations of each step
    refresh : the Jacobian is formed anew every so many iterations; 0: at the first one only (Cho09)
    converged : rad, or parts of the mechanism's size, that the last Newton correction may move
    jacobian : "kept": that of an earlier step serves as long as corrections with it fall quickly
        enough (see `memory`), of machines without loops and prescribed motions; "fresh": each step
        forms its own
    tolerance : None: steps of fixed length. Else the length of steps is chosen so that the error of
        one is below this, rad or parts of the mechanism's size
    """

    iterations: int = field(default=2, kw_only=True)
    refresh: int = field(default=0, kw_only=True)
    converged: float = field(default=CONVERGED, kw_only=True)
    jacobian: Literal["kept", "fresh"] = field(default="kept", kw_only=True)
    tolerance: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        kind = type(self).__name__
        whole_number(f"{kind}: iterations", self.iterations)
        if self.iterations > MOST_ITERATIONS:
            raise StateError(
                f"{kind}: iterations: expected at most {MOST_ITERATIONS}, got {self.iterations}"
            )
        if isinstance(self.refresh, bool) or not isinstance(self.refresh, int) or self.refresh < 0:
            raise StateError(f"{kind}: refresh: expected 0, 1, 2, ..., got {self.refresh!r:.60}")
        expected = "a positive number"
        real_number(f"{kind}: converged", self.converged, expected, positive=True)
        one_of(f"{kind}: jacobian", self.jacobian, ("kept", "fresh"), StateError)
        if self.tolerance is not None:
            real_number(f"{kind}: tolerance", self.tolerance, expected, positive=True)
        self._check()

    @abstractmethod
    def _check(self) -> None:
        """Refuse numbers that the scheme cannot have."""

    @property
    @abstractmethod
    def coefficients(self) -> Coefficients:
        """The numbers of the formulas."""

    @property
    def damps(self) -> bool:
        """Whether it takes energy away."""
        return self.coefficients.gamma > 0.5 or self.coefficients.alpha_f > 0.0


@dataclass(frozen=True)
class Newmark(ImplicitScheme):
    """Newmark's method; by default the trapezoidal rule, which damps nothing.

    Parameters
    ----------
    beta, gamma : β, γ. Order two needs γ = 1/2; what is stable at any step, 2 β >= γ >= 1/2
    """

    beta: float = 0.25
    gamma: float = 0.5

    def _check(self) -> None:
        self._number("beta", 1e-3, 1.0)
        self._number("gamma", 0.5, 1.0)

    @property
    def coefficients(self) -> Coefficients:
        """α_m = α_f = 0."""
        return Coefficients(0.0, 0.0, float(self.beta), float(self.gamma))


@dataclass(frozen=True)
class HHT(ImplicitScheme):
    """The method of Hilber, Hughes and Taylor.

    Parameters
    ----------
    alpha : from -1/3, the most damping, to 0, the trapezoidal rule
    """

    alpha: float = -0.2

    def _check(self) -> None:
        self._number("alpha", -1.0 / 3.0, 0.0)

    @property
    def coefficients(self) -> Coefficients:
        """α_f = -α."""
        return _second_order(0.0, -float(self.alpha))


@dataclass(frozen=True)
class GeneralisedAlpha(ImplicitScheme):
    """The generalised α method of Chung and Hulbert.

    Parameters
    ----------
    rho : spectral radius at infinite frequency: 1 damps nothing, 0 takes it away in one step
    """

    rho: float = 0.9

    def _check(self) -> None:
        self._number("rho", 0.0, 1.0)

    @property
    def coefficients(self) -> Coefficients:
        """α_m = (2 ρ - 1) / (ρ + 1), α_f = ρ / (ρ + 1)."""
        rho = float(self.rho)
        return _second_order((2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0))


@dataclass(frozen=True)
class ExplicitNewmark(Scheme):
    """Newmark's method with β = 0, γ = 1/2, as Cho09 compares it: one acceleration a step.

        q' = q ⊕ (h v + h²/2 q̈),   q̈' = q̈(q', v + h q̈),   v' = v + h/2 (q̈ + q̈')

    It is stable for h ω < 2.
    """


@dataclass(frozen=True)
class KeptMatrix(Scheme):
    """Runge-Kutta steps with one matrix each, with which accelerations, positions and velocities
    are corrected (Lee94 (22) to (30)).

    Parameters
    ----------
    corrections : of the accelerations at the second stage; later ones have one fewer, at least one.
        Two keep the fourth order, one leaves the third
    """

    corrections: int = 2

    remembers = False

    def __post_init__(self) -> None:
        whole_number("KeptMatrix: corrections", self.corrections)


RATIO = 0.95
"""Part of the velocity's norm that must be independent: the motion is within 18° of V2."""

LOSS = 0.5
"""Part of a pivot of Φ_q V1 that may be left before Φ_q is decomposed anew."""

Basis: TypeAlias = Literal["svd", "qr", "projection"]
"""Of the null space of the loops: LeeJoo90, its rival, KimYoo97."""

MethodName: TypeAlias = Literal["multipliers", "svd", "qr", "projection"]
"""How loops are kept: all velocities and multipliers (Lee94), or a null space."""

Coordinates: TypeAlias = Literal["all", "independent"]
"""Whether steps in a null space integrate all velocities, or the independent ones."""

Form: TypeAlias = Literal["corrected", "printed"]
"""Of KimYoo97's equations: without its two errors, or with them."""

METHODS: tuple[MethodName, ...] = get_args(MethodName)

KIMYOO97: tuple[Basis, Coordinates] = "projection", "independent"
"""What the paper has together."""


@dataclass(frozen=True)
class NullSpace(Scheme):
    """Steps in the null space of the loops, whose multipliers vanish; machines without loops are
    integrated as they are.

    Parameters
    ----------
    basis : "svd" (LeeJoo90), "qr", "projection" (KimYoo97): which decomposition, and when it is
        renewed
    integrator : explicit and without a memory, or implicit; its stages and iterations have the
        basis of the step's start
    coordinates : "all": all velocities are integrated; "independent": z' = V2ᵀ q̇, as the papers do
    ratio : svd: part of the velocity that must be in the directions kept (Mani's criterion)
    loss : svd and qr: part of a pivot that may be left of what it was
    form : "printed": KimYoo97 (4.8), (5.2), (A3) to the letter, of its basis and its coordinates:
        what (4.8) leaves out is left out, and each projection takes speed away
    """

    basis: Basis
    integrator: Integrator | ImplicitScheme = field(default_factory=RungeKutta4)
    coordinates: Coordinates = "all"
    ratio: float = RATIO
    loss: float = LOSS
    form: Form = "corrected"

    def __post_init__(self) -> None:
        one_of("NullSpace: basis", self.basis, get_args(Basis), StateError)
        one_of("NullSpace: coordinates", self.coordinates, get_args(Coordinates), StateError)
        inner = self.integrator
        explicit = isinstance(inner, Integrator) and not inner.remembers
        if not explicit and not isinstance(inner, ImplicitScheme):
            raise StateError(
                f"NullSpace: integrator: expected an explicit one without a memory, as mbd."
                f"integrators.Integrator, or an implicit one, as mbd.integrators.HHT(), got "
                f"{inner!r:.60}; 'rk4' is there by default"
            )
        one_of("NullSpace: form", self.form, get_args(Form), StateError)
        kind = self.basis, self.coordinates
        if self.form == "printed" and not (explicit and kind == KIMYOO97):
            raise StateError(
                "NullSpace: form='printed' is KimYoo97's: give NullSpace('projection', "
                "coordinates='independent', form='printed')"
            )
        for name in ("ratio", "loss"):
            self._number(name, 0.0, 1.0)

    @property
    def formula(self) -> Integrator | ImplicitScheme:
        """Its integrator."""
        return self.integrator

    @property
    def remembers(self) -> bool:  # type: ignore[override]
        """Whether its integrator does."""
        return self.integrator.remembers

    @property
    def damps(self) -> bool:
        """Whether its integrator does, or what is projected."""
        return self.integrator.damps or self.form == "printed"


def _second_order(alpha_m: float, alpha_f: float) -> Coefficients:
    gamma = 0.5 + alpha_f - alpha_m
    return Coefficients(alpha_m, alpha_f, 0.25 * (gamma + 0.5) ** 2, gamma)


RK4 = RungeKutta4()
"""What is taken by default."""

SCHEMES: dict[str, Scheme] = {
    "rk4": RK4,
    "newmark": Newmark(),
    "hht": HHT(),
    "generalised_alpha": GeneralisedAlpha(),
    "explicit_newmark": ExplicitNewmark(),
}
"""By the names of `simulate`."""


CompiledIntegrator: TypeAlias = Literal[
    "rk4", "newmark", "hht", "generalised_alpha", "explicit_newmark"
]
"""Names of integrators whose steps are compiled."""


def compiled_scheme(
    integrator: str | Scheme,
    method: MethodName = METHODS[0],
    coordinates: Coordinates = "all",
) -> Scheme:
    """Return the scheme of a compiled integrator with steps of fixed length, by a method."""
    scheme = scheme_of(integrator)
    if scheme is None and isinstance(integrator, str):
        known = dict.fromkeys((*SCHEMES, *extensions("integrators")))
        one_of("integrator", integrator, known, StateError)
    if scheme is None:
        raise StateError(
            "integrator: expected a name, or mbd.integrators.HHT(alpha=-0.1), got "
            f"{integrator!r:.60}"
        )
    if scheme.varies:
        raise StateError("integrator: its tolerance= goes with simulate; here steps are fixed")
    return with_method(scheme, one_of("method", method, METHODS, StateError), coordinates)


def with_method(scheme: Scheme, method: MethodName, coordinates: Coordinates = "all") -> Scheme:
    """Return the scheme whose steps keep loops by a method."""
    one_of("coordinates", coordinates, get_args(Coordinates), StateError)
    if isinstance(scheme, NullSpace):
        if method not in ("multipliers", scheme.basis):
            raise StateError(
                f"method={method!r}: the integrator has {scheme.basis!r}; leave one of them out"
            )
        return scheme if coordinates == "all" else replace(scheme, coordinates=coordinates)
    if method == "multipliers":
        if coordinates != "all":
            others = ", ".join(METHODS[1:])
            raise StateError(f"coordinates={coordinates!r} goes with method= one of {others}")
        return scheme
    if not isinstance(scheme, Integrator | ImplicitScheme):
        name = scheme_name(scheme)
        raise StateError(f"integrator={name!r} goes with method='multipliers' only")
    return NullSpace(method, scheme, coordinates)


def scheme_name(scheme: Scheme) -> str:
    """Return the name of a scheme; in a null space that of its integrator."""
    kind = type(scheme.formula)
    return next((name for name, one in SCHEMES.items() if type(one) is kind), kind.__name__)


def scheme_of(integrator: str | Scheme) -> Scheme | None:
    """Return the scheme of a name, of a script or package too, or itself; None if it has none."""
    if isinstance(integrator, Scheme):
        return integrator
    if not isinstance(integrator, str):
        return None
    if integrator in SCHEMES:
        return SCHEMES[integrator]
    others = extensions("integrators")
    if integrator not in others:
        return None
    found = others[integrator].load()
    if not isinstance(found, Scheme):
        raise ExtensionError(
            f"integrators: {integrator!r}: expected an integrator, a value such as Heun(), got "
            f"{found!r:.60}; derive its class from mbd.integrators.Integrator"
        )
    return found
