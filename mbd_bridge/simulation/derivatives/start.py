"""What a simulation is derived by, and how its start moves with each of these numbers.

In a machine with loops chosen velocities I are independent at the start; what depends on them, D,
follows so that the loops stay closed, Φ(q, p) = 0 and Φ_q v = 0:

    Φ_q,D δ_D = -(Φ_q,I δ_I + Φ_p dp),   dq = E(q) δ
    Φ_q,D dv_D = -(Φ_q,I dv_I + ∂(Φ_q v)/∂q dq + ∂(Φ_q v)/∂p dp)

Prescribed coordinates start as their motions do: they are among I, and do not move.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats, by_name, name_list
from mbd_bridge.base.errors import ModelError, StateError, unknown_name
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.forces.varying import Input
from mbd_bridge.kernels import Kernel, jacobian
from mbd_bridge.loads.derivatives.loops import (
    OPENED,
    independent_velocities,
    position_rates,
    velocities_named,
)
from mbd_bridge.loads.derivatives.request import (
    INERTIAL_WORD,
    WRENCH,
    Columns,
    DerivativeColumn,
    DerivativeRequest,
)
from mbd_bridge.loads.request import LoadRequest
from mbd_bridge.model.parameters import ParameterValues, value_rows
from mbd_bridge.model.spatial import Array
from mbd_bridge.model.units import FORCE_UNIT, model_units
from mbd_bridge.simulation.signals.parts import TorquePart, WrenchPart
from mbd_bridge.simulation.signals.signal import Constant
from mbd_bridge.simulation.signals.tables import PolynomialSignal
from mbd_bridge.simulation.system import System
from mbd_bridge.solve.model_kernel import model_kernel
from mbd_bridge.solve.rank import pivoted
from mbd_bridge.solve.row_choice import row_choice
from mbd_bridge.solve.tolerances import SINGULAR

GIVEN = ("torque", "external")
"""First words of what is given from outside, the same at all times."""

FIRST = np.zeros(1, dtype=np.int64)
"""The number of the only trajectory."""

FIXED = "fixed"
"""As `along`: all of q and v are independent, and loops may open."""


class StartColumns:
    """The numbers that a simulation is derived by.

    Parameters
    ----------
    system : without parameters
    by, along : see `Mechanism.compile_simulation_derivatives`

    Attributes
    ----------
    system : the same, with the numbers of the machine as parameters
    columns : the K numbers
    along : the independent velocities, None for all
    tables : those of torques, by the number of their part
    """

    def __init__(
        self, system: System, by: Iterable[str] | str, along: Iterable[str] | str | None
    ) -> None:
        names = tuple(dict.fromkeys(name_list("by", by, "what a simulation is derived by")))
        if not names:
            raise ModelError("by: expected at least one name, such as 'v' or 'LINK.mass'")
        self._given, prescribed = system, set(system.prescribed_velocities)
        self.tables = {
            k: part.signal
            for k, part in enumerate(system.torques)
            if isinstance(part.signal, PolynomialSignal)
        }
        self.along = self._independent(along)
        whole = range(system.model.nv) if self.along is None else self.along
        free = tuple(system.model.velocity_names[k] for k in whole if k not in prescribed)
        others = [name for name in names if name.partition(".")[0] not in GIVEN]
        request = DerivativeRequest(LoadRequest((), forces=system.forces), tuple(others), free)
        self._columns = Columns(system.model, request)
        listed = {column.name: column for column in self._columns.columns}
        for name in request.by:
            if {column.input for column in listed.values() if column.by == name} - set("qvp"):
                raise ModelError(
                    f"by: {name!r}: a simulation is derived by q and v of its start, by numbers "
                    f"of the machine and of force elements, torque and external"
                )
            if INERTIAL_WORD in name.split("."):
                raise ModelError(
                    f"by: {name!r}: of a simulation take LINK.mass, LINK.centre, LINK.inertia"
                )
        for name in names:
            if name not in others:
                listed |= {column.name: column for column in self._of_given(name)}
        order = {name: k for k, name in enumerate(names)}
        self.columns = tuple(sorted(listed.values(), key=lambda column: order[column.by]))

    @cached_property
    def system(self) -> System:
        """The system whose steps take the numbers of the machine as an input."""
        own, elements = self._columns.own, self._columns.elements
        if elements is not None:
            own = own.with_beside(elements.names, elements.columns, elements.values)
        own = replace(own, live=np.ones(len(own.live), dtype=bool))
        return self._given.derived_by(own if own.size else None, elements)

    @property
    def moving(self) -> tuple[str, ...]:
        """What moves of what a step takes beside the state."""
        kinds = {column.input for column in self.columns}
        return tuple(name for name in ("held", "p", "stream") if name in kinds)

    @property
    def held(self) -> tuple[str, ...] | None:
        """The independent velocities by name, None for all."""
        names = self._given.model.velocity_names
        return None if self.along is None else tuple(names[k] for k in self.along)

    @property
    def _rows(self) -> int:
        """T, the rows of all tables."""
        return sum(len(table.times) for table in self.tables.values())

    def values(
        self, held: Array, given: ParameterValues | ArrayLike | None
    ) -> tuple[Array, Array, Array]:
        """Return what is held (H,), the numbers of the machine (P,), changes of tables' rows (T,).

        Parameters
        ----------
        held : as it was given
        given : by name, or an array (K',) of all those among the columns but q and v
        """
        changes = np.zeros(self._rows)
        if given is None:
            return held, self._columns.p, changes
        if not isinstance(given, Mapping):
            names = [column.name for column in self.columns if column.input not in ("q", "v")]
            array = as_floats("parameters", given, ModelError)
            if array.shape != (len(names),):
                raise ModelError(
                    f"parameters: expected values by name, or an array ({len(names)},) of "
                    f"{', '.join(names) or 'nothing'}; got {array.shape}"
                )
            given = dict(zip(names, array.tolist(), strict=True))
        listed, out = dict(by_name("parameters", given, "{'rod.mass': 2.0}")), held.copy()
        known = {column.name: column for column in self.columns if column.input not in ("q", "v")}
        one_each = True
        for name in [*listed]:
            named = [known[x] for x in known if f"{x}.".startswith(f"{name}.")]
            if not named:
                unknown = unknown_name("number", name, known)
                raise ModelError(f"parameters: {unknown}; name it in by=")
            if named[0].input not in ("held", "stream"):
                continue
            rows = value_rows(name, listed.pop(name), len(named))
            one_each &= len(rows) == 1
            for column, value in zip(named, rows[0].tolist(), strict=True):
                if column.input == "held":
                    out[column.number] = value
                else:
                    changes[column.number] = value - column.value
        p = np.atleast_2d(self._columns.values(listed) if listed else self._columns.p)
        if not one_each or len(p) > 1:
            raise ModelError("parameters: one simulation has one value of each, not several")
        return out, p[0], changes

    def table_slopes(self, times: Array, h: float) -> Array:
        """Return how the stream of steps of h between times moves with tables' rows (steps, S, T).

        Parameters
        ----------
        times : (steps + 1,) s
        """
        steps, parts = len(times) - 1, []
        at = np.empty(2 * steps + 1)
        at[0::2], at[1::2] = times, times[:-1] + 0.5 * h
        for k, table in self.tables.items():
            count = len(table.times)
            unit = PolynomialSignal.lines("", (table.times, np.eye(count)), count)
            shares = unit.at(at, FIRST)[0][:, 0]
            out = np.zeros((steps, self._given.layout.sizes[1], count))
            place = self._given.layout.stream[k].start
            for i, rows in enumerate((shares[:-1:2], shares[1::2], shares[2::2])):
                out[:, place + i] = rows
            parts.append(out)
        return np.concatenate(parts, axis=2)

    def rates(
        self, rows: Sequence[int], q: Array, v: Array, p: Array
    ) -> tuple[dict[str, Array], Array]:
        """Return the rates (n, K) of q, v, held and p at a start, and which columns are sound.

        Parameters
        ----------
        rows : independent ones of the loops
        p : the numbers of the machine
        """
        model, number = self._given.model, len(self.columns)
        held = self._given.layout.sizes[0]
        sizes = {"q": model.nv, "v": model.nv, "held": held, "p": len(p)}
        sizes["stream"] = self._rows
        seeds = {name: np.zeros((size, number)) for name, size in sizes.items()}
        for k, column in enumerate(self.columns):
            seeds[column.input][column.number, k] = 1.0
        trusted = np.ones(number, dtype=bool)
        if self.along is not None:
            trusted = self._close(list(rows), q, v, p, seeds)
        return seeds | {"q": position_rates(model, q, seeds["q"]).astype(np.float64)}, trusted

    def rows(self, q: Array, v: Array, p: Array) -> tuple[int, ...] | None:
        """Return independent rows of the loops at a start that closes them.

        None where it does not, or is near a singular position: `start_state` says more.
        """
        model, choice = self._given.model, row_choice(self._given.model)
        phi, rate, *_, phi_q, _ = self._opened(q, v, p[: len(self._columns.own.live)])
        scaled = model.scaled_jacobian(phi_q)
        speed = max(1.0, float(np.abs(v / model.velocity_scale).max(initial=0.0)))
        for left in (phi, rate / speed):
            if not choice.closed(scaled[None], (left / model.row_scale)[None]).all():
                return None
        return choice.fitting(scaled)

    def _close(
        self, chosen: list[int], q: Array, v: Array, p: Array, seeds: dict[str, Array]
    ) -> Array:
        """Let dependent velocities follow; return which columns keep all rows closed."""
        model, own = self._given.model, p[: len(self._columns.own.live)]
        _, _, phi_p, rate_q, rate_v, rate_p = self._opened(q, v, own)
        dp, rows = seeds["p"][: len(own)], 1.0 / model.row_scale[:, None]
        kept = (*(self.along or ()), *self._given.prescribed_velocities)
        moved = [k for k in range(model.nv) if k not in kept]
        J = model.scaled_jacobian(rate_v)
        A = J[np.ix_(chosen, moved)]
        if len(chosen) != len(moved) or pivoted(A, SINGULAR).rank < len(moved):
            raise StateError(
                f"along: at this start the other coordinates do not follow from "
                f"{', '.join(self.held or ()) or 'nothing'}: it is singular for them; start "
                f"elsewhere, or take along= of others"
            )
        trusted = np.ones(len(self.columns), dtype=bool)
        scale = model.velocity_scale[:, None]
        terms = phi_p @ dp
        for name in "qv":
            change = seeds[name]
            left = terms * rows + J @ (change / scale)
            change[moved] -= scale[moved] * np.linalg.solve(A, left[chosen])
            left = terms * rows + J @ (change / scale)
            size = 1.0 + np.linalg.norm(change / scale, axis=0)
            trusted &= np.abs(left).max(axis=0, initial=0.0) < OPENED * size
            if name == "q":
                terms = rate_q @ position_rates(model, q, change).astype(np.float64) + rate_p @ dp
        return trusted

    @cached_property
    def _opened(self) -> Kernel:
        """Φ and Φ_q v, the derivatives of the first by p, and of the second by q, v and p."""
        model, own = self._given.model, self._columns.own
        sizes = {"q": model.nq, "v": model.nv, "p": len(own.live)}

        def opened(q: Array, v: Array, p: Array) -> tuple[Array, ...]:
            variant = own.model_with(p)
            found = constraints(variant, state_vectors(variant, q, v))
            return found.phi, found.phi_q @ v

        def derived(*values: Array) -> tuple[Array, ...]:
            *left, phi, rate = jacobian(opened, sizes)(*values)
            parts = np.cumsum(list(sizes.values()))[:-1]
            return *left, phi[:, parts[-1] :], *np.split(rate, parts, axis=1)

        names = ("phi", "rate", "phi_p", "rate_q", "rate_v", "rate_p")
        return model_kernel(model, "loop_rates", sizes, names, derived, ("loop rates", own))

    def _independent(self, along: Iterable[str] | str | None) -> tuple[int, ...] | None:
        """Return the independent velocities, None for all."""
        system, model = self._given, self._given.model
        if not model.has_loops:
            if along not in (None, FIXED):
                raise ModelError(f"along={along!r}: without loops all coordinates are independent")
            return None
        if along == FIXED:
            return None
        if model.velocity_rows.any():
            raise ModelError(
                "along: a wheel that rolls constrains velocities, so that positions do not follow "
                "from others; take along='fixed'"
            )
        prescribed = system.prescribed_velocities
        if along in (None, "independent"):
            return independent_velocities(model, prescribed)
        found = velocities_named(model, name_list("along", along, "coordinates"))
        wanted = model.nv - len(row_choice(model, prescribed).rows) - len(prescribed)
        if len(found) != wanted or set(found) & set(prescribed):
            raise ModelError(
                f"along: expected as many coordinates that are not prescribed as there are degrees "
                f"of freedom, {wanted}, got {', '.join(model.velocity_names[k] for k in found)}"
            )
        return found

    def _of_given(self, name: str) -> list[DerivativeColumn]:
        """Return the columns of torques and wrenches that are given and stay as they are."""
        system, model = self._given, self._given.model
        listed: list[DerivativeColumn] = []
        units = [FORCE_UNIT[unit] for unit in model_units(model)[1]]
        first = 0
        for k, table in self.tables.items():
            (j,), own = system.torques[k].places, table.at(table.times, FIRST)[0][:, 0, 0]
            word = f"torque.{model.velocity_names[j]}"
            listed += [
                DerivativeColumn(f"{word}.{row}", units[j], name, "stream", first + row, x)
                for row, x in enumerate(own.tolist())
            ]
            first += len(own)
        for k, place in system.layout.held.items():
            part = system.parts[k]
            if not isinstance(part.signal, Constant | Input):
                continue
            if isinstance(part, TorquePart):
                words = [(f"torque.{model.velocity_names[j]}", units[j]) for j in part.places]
            elif isinstance(part, WrenchPart):
                words = [(f"external.{part.name}.{word}", x) for word, x in WRENCH.items()]
            else:
                continue
            numbers = range(place.start, place.stop)
            listed += [
                DerivativeColumn(word, unit, name, "held", number)
                for (word, unit), number in zip(words, numbers, strict=True)
            ]
        places = [k for k, x in enumerate(listed) if f"{x.name}.".startswith(f"{name}.")]
        if not places:
            raise ModelError(
                f"by: {unknown_name('number', name, [column.name for column in listed])}; of "
                f"torque= and external= numbers can be named that stay the same, "
                f"and rows of torques' tables"
            )
        return [listed[k] for k in places]
