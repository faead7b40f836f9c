"""The gradient of one number that is made of loads: a component, a length, a user's function.

It is formed backwards, from the number to all that it is derived by, at the cost of a few loads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats, by_name
from mbd_bridge.base.errors import ModelError, StateError, unknown_name
from mbd_bridge.base.options import with_options
from mbd_bridge.kernels import Kernel, pulled_back, trace
from mbd_bridge.kernels.derive import colouring
from mbd_bridge.loads.derivatives.evaluation import Evaluation
from mbd_bridge.loads.derivatives.loops import OPENED, position_rates
from mbd_bridge.loads.derivatives.request import STATE, WRENCH, DerivativeColumn, put_numbers
from mbd_bridge.loads.options import DerivativesAtStates
from mbd_bridge.loads.result import JointLoads, OneJoint
from mbd_bridge.loads.solver import MotionState
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.derivatives import DEGREE, degree
from mbd_bridge.solve.tolerances import REFINED_RISK

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

    from mbd_bridge.loads.derivatives.solver import DerivativeSolver

LoadFunction = Callable[[Mapping[str, OneJoint]], Any]
"""Gives one number of loads by joint: ``lambda loads: loads["pin"].force @ loads["pin"].force``."""

PARTS = (*WRENCH, "force", "moment", "actuation")


@dataclass(frozen=True, eq=False)
class NumberGradient:
    """A number made of loads and its derivatives by K others, at one state or at N states.

    Attributes
    ----------
    value : () or (N,)
    gradient : (K,) or (N, K), nan where it is not `trusted`, and by numbers whose change would open
        loops that are redundant
    columns : the K numbers: name, unit
    loads : that the number is made of
    trusted : () or (N,) False near singular positions, where the number is made of components that
        rigid-body mechanics does not determine, and where it has no slope: a length at zero
    """

    value: Array
    gradient: Array
    columns: tuple[DerivativeColumn, ...]
    loads: JointLoads
    trusted: Array


class _LoadsByJoint(dict[str, OneJoint]):
    """What a user's function of loads takes."""

    def __missing__(self, name: str) -> OneJoint:
        raise ModelError(f"of: {unknown_name('joint', name, self)}")


class GradientSolver:
    """Value and gradient of one number made of loads, prepared once.

    Parameters
    ----------
    solver : of the loads' derivatives: its joints, and what is derived by
    of : "JOINT.fx" ... "JOINT.mz"; "JOINT.force", "JOINT.moment": their lengths;
        "JOINT.actuation"; or a function of the loads by joint that can be traced; None: a sum whose
        weights are further inputs

    Attributes
    ----------
    kernel : of the inputs of the loads' kernel; it gives value (1,) and gradient (K,)
    """

    def __init__(self, solver: DerivativeSolver, of: str | LoadFunction | None) -> None:
        self._solver, self._given = solver, of
        loads = solver.loads
        shapes = zip(("force", "moment", "actuation"), loads.kernel.shapes, strict=False)
        self._shapes = dict(shapes)
        self._sizes = {name: int(np.prod(shape)) for name, shape in self._shapes.items()}
        self._of: Callable[[Array], Any] = lambda flat: flat
        if of is not None:
            self._of = self._named(of) if isinstance(of, str) else self._of_function(of)
        names: tuple[str, ...] = "value", "gradient"
        if solver.loops is not None:
            names = *names, "risk", "open"
        request = (solver.request, of) if isinstance(of, str | None) else None
        more, name = ({}, "load_gradient") if of is not None else (self._sizes, "load_products")
        self._used: Array = np.ones(0, dtype=bool)
        if of is not None:
            graph = trace(self._number, self._sizes)
            if [len(indices) for indices in graph.outputs] != [1]:
                raise ModelError("of: expected a function that returns one number")
            (used,) = colouring(graph, tuple(self._sizes)).pattern
            self._used = np.isin(np.arange(sum(self._sizes.values())), list(used))
        self._formed = Evaluation(solver, name, names, self._derived, request, more)

    @property
    def kernel(self) -> Kernel:
        """The machine code."""
        return self._formed.kernel

    def __reduce__(self) -> tuple[type[GradientSolver], tuple[Any, ...]]:
        """Return what makes it again: machine code does not travel, it is found or made there."""
        return GradientSolver, (self._solver, self._given)

    @with_options
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external: ArrayLike | None = None,
        **options: Unpack[DerivativesAtStates],
    ) -> NumberGradient:
        """Return the number and its gradient at one state, or at N states.

        Parameters
        ----------
        q, v, a, external : see `LoadSolver`
        **options : of the call
        """
        return self._result(*self._formed((q, v, a), external, options), self._used)

    def along(
        self,
        state: MotionState,
        weights: Mapping[str, ArrayLike],
        external: ArrayLike | None,
        options: DerivativesAtStates,
    ) -> NumberGradient:
        """Return a weighted sum of the loads and its gradient; see `DerivativeSolver.vjp`."""
        states, total = np.shape(state[0])[:-1], sum(self._sizes.values())
        flat = np.zeros((*states, total))
        for name, value in by_name("weights", weights, "{'elbow.moment': (3,)}").items():
            put_numbers(flat, self._places("weights", name), f"weights[{name!r}]", value)
        parts = np.split(flat, np.cumsum(list(self._sizes.values()))[:-1], axis=-1)
        return self._result(*self._formed(state, external, options, *parts), flat != 0.0)

    def _result(self, loads: JointLoads, formed: tuple[Array, ...], used: Array) -> NumberGradient:
        value, gradient, *loops = formed
        states = loads.force.shape[:-2]
        flags = loads.unique[..., :3], loads.unique[..., 3:], loads.actuation_unique
        sized = zip(flags, self._sizes.values(), strict=True)
        known = np.concatenate([flag.reshape(*states, size) for flag, size in sized], axis=-1)
        trusted: Array = np.asarray((known | ~used).all(axis=-1))
        trusted = np.asarray(trusted & np.isfinite(gradient).all(axis=-1))
        sound = trusted[..., None]
        if loops:
            risk, opened = loops
            trusted = np.asarray(trusted & (risk[..., 0] < REFINED_RISK))
            sound = trusted[..., None] & (opened < OPENED**2)
        gradient = np.where(sound, gradient, np.nan)
        return NumberGradient(value[..., 0], gradient, self._solver.columns, loads, trusted)

    def _places(self, what: str, name: str) -> list[int]:
        """Return where numbers of a joint's load are among all: forces, moments, actuations."""
        loads = self._solver.loads
        joint, part = (name, "") if name in loads.joints else name.rpartition(".")[::2]
        if joint not in loads.joints:
            raise ModelError(f"{what}: {unknown_name('joint', joint or name, loads.joints)}")
        k, moments = loads.joints.index(joint), self._sizes["force"]
        wrench = [*range(3 * k, 3 * k + 3), *range(moments + 3 * k, moments + 3 * k + 3)]
        place = loads.places[k]
        parts = {name: [at] for name, at in zip(WRENCH, wrench, strict=True)}
        parts |= {"": wrench, "force": wrench[:3], "moment": wrench[3:]}
        parts["actuation"] = list(range(2 * moments + place.start, 2 * moments + place.stop))
        if part not in parts:
            raise ModelError(f"{what}: {unknown_name('part of a load', part, PARTS)}")
        return parts[part]

    def _named(self, of: str) -> Callable[[Array], Any]:
        """Return the function of all numbers of loads that a name stands for."""
        places = self._places("of", of)
        length = of.rpartition(".")[2] in ("force", "moment")
        if len(places) != 1 and not length:
            raise ModelError(
                f"of: {of!r} are {len(places)} numbers; give one of {', '.join(PARTS)} of a joint, "
                f"or a function of loads"
            )
        if length:
            return lambda flat: np.sqrt((flat[places] * flat[places]).sum())
        return lambda flat: flat[places[0]]

    def _of_function(self, function: LoadFunction) -> Callable[[Array], Any]:
        """Return a user's function of loads as one of all their numbers."""
        loads, cuts = self._solver.loads, np.cumsum(list(self._sizes.values()))[:-1]
        sure = np.ones(6, dtype=bool)

        def number(flat: Array) -> Any:
            each = zip(np.split(flat, cuts), self._shapes.values(), strict=True)
            force, moment, actuation = (x.reshape(shape) for x, shape in each)
            by_joint = _LoadsByJoint(
                (joint, OneJoint(force[k], moment[k], actuation[place], sure, sure))
                for k, (joint, place) in enumerate(zip(loads.joints, loads.places, strict=True))
            )
            return function(by_joint)

        return number

    def _number(self, *parts: Array) -> tuple[Array, ...]:
        """Return the number (1,) of force, moment, actuation, flat or not."""
        flat = np.concatenate([part.reshape(-1) for part in parts])
        return (np.array(self._of(flat)).reshape(-1),)

    def _derived(self, given: dict[str, Array], *weights: Array) -> tuple[Array, ...]:
        solver, function = self._solver, self._number
        names = [name for name in given if name != "point"]

        def number(*values: Array) -> tuple[Array, ...]:
            loads = solver.function(*values)[:3]
            return function(*loads) if not weights else tuple(x.reshape(-1) for x in loads)

        results, slopes = pulled_back(number, given, list(weights) or [np.ones(1)], names)
        value = results[0] if not weights else _weighted(weights, results)
        state: tuple[Array, ...] = ()
        if solver.loops is None:
            unit = position_rates(solver.model, given["q"], np.eye(solver.model.nv))
            slopes["q"] = unit.T @ slopes["q"]
        else:
            slopes, risk = solver.loops.gradient(given, slopes, solver.variant)
            opened = solver.loops.opened(given, solver.seed("p", len(given["p"])), solver.variant)
            state = np.array([risk]), opened
        total = sum(solver.seed(name, len(x)).T @ x for name, x in slopes.items())
        return (value, np.asarray(total), *state)


def _weighted(weights: Sequence[Array], results: Sequence[Array]) -> Array:
    """Return the sum (1,) of results, each times its weight."""
    return np.array([sum(w @ x for w, x in zip(weights, results, strict=True))])


# Motions that are linear in some numbers, such as the knots of a spline: loads by these numbers.
#
# With functions of time B_k and factors c (K, n) of n coordinates
#
#     q = Σ B_k c_k,     v = Σ B'_k c_k,     a = Σ B''_k c_k
#
# so that what is derived by q, v and a is derived by c: Σ_t (B_k ∂/∂q + B'_k ∂/∂v + B''_k ∂/∂a).


class KnotStates(NamedTuple):
    """Coordinates, velocities and accelerations (N, n)."""

    q: Array
    v: Array
    a: Array


@dataclass(frozen=True, eq=False)
class KnotMotion:
    """How the states of a motion depend on its knots.

    Attributes
    ----------
    time : (N,) s
    basis : (3, N, K) B, B', B'' at these times: of a spline, of polynomials, of sines

    Examples
    --------
    >>> path = KnotMotion.spline([0, 0.5, 1], np.linspace(0, 1, 101), rest=True)  # doctest: +SKIP
    >>> found = solver.gradient("elbow.moment")(*path(knots))                     # doctest: +SKIP
    >>> path.gradient(found.columns, weights[:, None] * found.gradient)           # doctest: +SKIP
    """

    time: Array
    basis: Array

    @staticmethod
    def spline(knots: ArrayLike, time: ArrayLike, *, rest: bool = False) -> KnotMotion:
        """Return the interpolating spline through positions at the times of the knots.

        Of degree 5, of fewer than 6 knots 3: that which gives a recorded motion its velocities.

        Parameters
        ----------
        knots, time : times (K,) and (N,), s
        rest : of degree 5, at rest and without acceleration at both ends, with 2 knots or more
        """
        from scipy.interpolate import make_interp_spline

        own, at = as_floats("knots", knots), as_floats("time", time)
        least = 2 if rest else 4
        if own.ndim != 1 or len(own) < least or not (np.diff(own) > 0.0).all():
            raise StateError(f"knots: expected {least} or more increasing times, got {knots!r:.60}")
        still = [(1, np.zeros(len(own))), (2, np.zeros(len(own)))]
        ends: Any  # of SciPy's types only words and numbers are known
        k, ends = (DEGREE, (still, still)) if rest else (degree(len(own)), None)
        spline = make_interp_spline(own, np.eye(len(own)), k=k, bc_type=ends)
        return KnotMotion(at, np.stack([spline(at, nu=order) for order in range(3)]))

    def __call__(self, knots: ArrayLike) -> KnotStates:
        """Return the states (N, n) with knots (K, n)."""
        factors = as_floats("knots", knots)
        if factors.ndim != 2 or len(factors) != self.basis.shape[2]:
            raise StateError(
                f"knots: expected ({self.basis.shape[2]}, n), a row for each, got {factors.shape}"
            )
        return KnotStates(*(self.basis @ factors))

    def gradient(self, columns: Sequence[DerivativeColumn], slopes: ArrayLike) -> Array:
        """Return derivatives of a sum over the states by the knots (K, n).

        Parameters
        ----------
        columns, slopes : of a load's derivatives by q, v and a of n coordinates (N, C), those of
            each state multiplied by its weight in the sum; other columns are passed over
        """
        rates = as_floats("slopes", slopes)
        places = [[k for k, one in enumerate(columns) if one.input == name] for name in STATE]
        if len({len(own) for own in places}) != 1 or not places[0]:
            raise StateError(
                f"columns: expected as many by q, by v and by a, got "
                f"{', '.join(str(len(own)) for own in places)}; derive by ['q', 'v', 'a']"
            )
        if rates.shape != (len(self.time), len(columns)):
            raise StateError(
                f"slopes: expected {(len(self.time), len(columns))}, the states and the columns, "
                f"got {rates.shape}"
            )
        parts = [rates[:, own] for own in places]
        return np.asarray(sum(B.T @ part for B, part in zip(self.basis, parts, strict=True)))


# The numbers with which the largest of many loads is smallest.
#
# A peak is not smooth: where two loads are the largest its slope jumps. With a bound s it is
#
#     minimise s over (x, s),     -s <= y_i(x) <= s,
#
# which is, and SciPy's SLSQP solves it, with the slopes of all loads.

LoadRows = Callable[[Array], tuple[ArrayLike, ArrayLike]]
"""Loads (N,) of all states and joints that count, and their slopes (N, K), at numbers (K,)."""


def smallest_peak(
    rows: LoadRows,
    start: ArrayLike,
    bounds: Sequence[tuple[float, float]],
    *,
    tolerance: float = 1e-8,
    most: int = 200,
) -> OptimizeResult:
    """Return SciPy's result: ``x`` (K,) with the smallest peak that is near, ``fun``, its peak.

    Parameters
    ----------
    rows : gives loads and their derivatives
    start : (K,) numbers to begin with
    bounds : least and largest of each; they also say how large changes are
    tolerance : change of the peak, as a part of it, at which it ends
    most : iterations

    Examples
    --------
    >>> smallest_peak(lambda x: (y(x), dy(x)), [1.0, 0.2], [(0, 2), (0, 1)]).x  # doctest: +SKIP
    """
    from scipy import optimize

    x0, limits = as_floats("start", start), as_floats("bounds", bounds)
    if x0.ndim != 1 or limits.shape != (len(x0), 2) or not (limits[:, 0] < limits[:, 1]).all():
        raise StateError(
            f"bounds: expected (least, largest) for each of {x0.size} numbers, got {bounds!r:.60}"
        )
    unit = limits[:, 1] - limits[:, 0]
    known: list[Any] = [None, None, None]

    def scaled(z: Array) -> tuple[Array, Array]:
        """Return loads (N,) and slopes (N, K) by the scaled numbers; once for each place."""
        if known[0] is None or not np.array_equal(known[0], z):
            y, slopes = rows(z * unit)
            known[:] = z.copy(), as_floats("loads", y), as_floats("slopes", slopes) * unit
        if known[2].shape != (*known[1].shape, len(z)) or known[1].ndim != 1:
            raise StateError(
                f"rows: expected loads (N,) and slopes (N, {len(z)}), got {known[1].shape} and "
                f"{known[2].shape}"
            )
        return known[1], known[2]

    size = float(np.abs(scaled(x0 / unit)[0]).max(initial=0.0)) or 1.0

    def room(z: Array) -> Array:
        y = scaled(z[:-1])[0] / size
        return np.concatenate([z[-1] - y, z[-1] + y])

    def slopes_of_room(z: Array) -> Array:
        slopes = scaled(z[:-1])[1] / size
        return np.column_stack([np.concatenate([-slopes, slopes]), np.ones(2 * len(slopes))])

    last = np.eye(len(x0) + 1)[-1]
    minimize: Any = optimize.minimize  # its types know fewer constraints than it
    found = minimize(
        lambda z: (z[-1], last),
        np.append(x0 / unit, 1.0),
        jac=True,
        method="SLSQP",
        bounds=[*(limits / unit[:, None]), (0.0, None)],
        constraints={"type": "ineq", "fun": room, "jac": slopes_of_room},
        options={"maxiter": most, "ftol": tolerance},
    )
    found.x = np.clip(found.x[:-1] * unit, *limits.T)
    found.fun = float(np.abs(as_floats("loads", rows(found.x)[0])).max(initial=0.0))
    found.jac = None  # SciPy's is of the bound
    result: OptimizeResult = found
    return result
