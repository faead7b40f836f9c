"""What a step reports of the state that it begins with: joint loads, energy, users' functions.

The step has formed the equations there: M has carried the columns K B past the joints, h the loads
without accelerations, and q̈ is known. KimYou97 (30), (31), (36) make the load of a chosen joint of
these (`equations.sections`), without a recursion over what it carries. Near the tip, or of many
joints at once, the recursion may need fewer operations: both are counted, the fewer are taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from mbd_bridge.base.arguments import by_name
from mbd_bridge.base.errors import KernelError, StateError, one_of
from mbd_bridge.equations.energy import energies_of
from mbd_bridge.equations.sections import JointSection
from mbd_bridge.loads.convention import Convention
from mbd_bridge.loads.options import Formulation
from mbd_bridge.loads.selected import (
    JointPlace,
    LoadSelection,
    actuation_names,
    fewest_loads,
    select_joints,
    selected_loads,
)
from mbd_bridge.model import Model, address
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.simulation.acts import Acting
from mbd_bridge.simulation.options import OutputOptions
from mbd_bridge.simulation.signals.signal import StateFunction
from mbd_bridge.simulation.steps.trusted_step import carried
from mbd_bridge.solve.closed import Closed
from mbd_bridge.solve.factor import minimum_norm_multipliers
from mbd_bridge.solve.tolerances import DOUBTFUL_RISK

REPORTED = 5
"""Outputs of a step before those that are reported (see `step.staged_step`)."""

CONVENTION = Convention()
"""Of the loads."""

EXACT = ("risk", "energy")
"""What is reported with all digits everywhere."""

STATE = ("time", "q", "v")
"""Of what is reported, what is not computed."""


@dataclass(frozen=True)
class Outputs:
    """What is asked of each recorded state.

    Attributes
    ----------
    joints : places of the joints whose loads are wanted, in the default `CONVENTION`
    functions : of (t, q, v), traceable, by name
    formulation : of the loads
    """

    joints: tuple[JointPlace, ...]
    functions: tuple[tuple[str, StateFunction], ...] = ()
    formulation: Formulation = "auto"

    @staticmethod
    def of(
        model: Model,
        options: OutputOptions,
    ) -> Outputs | None:
        """Return what a caller asks for, checked; None for nothing."""
        loads, formulation = options["loads"], options["formulation"]
        one_of("formulation", formulation, get_args(Formulation), StateError)
        functions = options["outputs"]
        named = by_name("outputs", functions, "{'tip': lambda t, q, v: q[0]}")
        for name, function in named.items():
            if not callable(function):
                raise StateError(
                    f"outputs[{name!r}]: expected a function of (t, q, v), got {function!r:.60}"
                )
        if loads is None and not named:
            return None
        joints = () if loads is None else select_joints(model, loads, cuts=model.has_loops)[1]
        return Outputs(joints, tuple(named.items()), formulation)

    @property
    def tree_joints(self) -> tuple[int, ...]:
        """The joints of the tree among them."""
        return tuple(self.selection.tree_joints)

    @property
    def selection(self) -> LoadSelection:
        """The loads among it."""
        return LoadSelection(self.joints, CONVENTION)

    def joint_names(self, model: Model) -> tuple[str, ...]:
        """Return the names of the joints."""
        return tuple(model.cuts[k].name if cut else model.joints[k].name for cut, k in self.joints)

    @property
    def identity(self) -> str | None:
        """What of the machine code depends on it; None where only its graph tells."""
        if self.functions:
            return None
        return address(self.joints, self.formulation)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arrays that are reported."""
        return (
            *STATE,
            "a",
            "lam",
            "prescribed_forces",
            "risk",
            "energy",
            *self.load_names,
            *dict(self.functions),
        )

    @property
    def load_names(self) -> tuple[str, ...]:
        """Names of the arrays of loads."""
        return ("force", "moment", "actuation") if self.joints else ()

    def told(self, added: Mapping[str, int]) -> str:
        """Return in which formulation the loads are told, with the operations that each adds."""
        taken: str = self.formulation
        if taken == "auto":
            taken = min(added, key=lambda name: added[name], default="recursive")
        how = (
            "by recursion"
            if taken == "recursive"
            else "from the terms of M and h (Kim and You 1997)"
        )
        counts = ", ".join(f"{number} {name}" for name, number in added.items())
        return f"told by the steps {how}" + (f"; operations more in a step: {counts}" * bool(added))

    def load_shapes(self, model: Model) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the arrays of loads at one state."""
        joints, actuations = len(self.joints), len(actuation_names(model, self.joints)[0])
        return {
            name: (actuations,) if name == "actuation" else (joints, 3) for name in self.load_names
        }

    def values(
        self,
        acting: Acting,
        rows: Sequence[int],
        q: Array,
        v: Array,
        t: Array,
        found: Closed,
        beside: Sequence[Array] = (),
    ) -> tuple[Array, ...]:
        """Return the arrays, in the order of the names, from the acceleration that a step found.

        Parameters
        ----------
        beside : what the step computes anyway: all of its stages have what one of them needs
        """
        model = acting.model
        lam = minimum_norm_multipliers(
            model, rows, acting.system.prescribed_velocities, q, v, found.lam
        )
        cut = len(model.row_scale)
        energy = zeros(2, q, v)
        energy[:] = energies_of(model, q, v)
        risk = zeros(1, q, v)
        risk[0] = found.risk
        out = [t, q, v, found.a, lam[:cut], -lam[cut:], risk, energy]
        if self.joints:
            z = carried(t)[: acting.system.nz]
            wrenches = acting.wrenches(t[0], q, v, z)
            external = acting.on_links(wrenches)
            own = lam[:cut] if model.has_loops else None
            within = acting.acts.within_cuts(model, t[0], q, v, z)

            def loads(sections: Sequence[JointSection] | None) -> tuple[Array, ...]:
                known = q, v, found.a, external, own, within
                return selected_loads(model, self.selection, *known, sections)

            known_anyway = found.a, lam, *beside
            out += fewest_loads(self.formulation, known_anyway, found.sections, loads)
        out += [_flat(name, function(t[0], q, v)) for name, function in self.functions]
        return tuple(out)


def without_doubt(reported: dict[str, Array]) -> dict[str, Array]:
    """Return what is reported with nan where digits were lost."""
    doubtful = ~(reported["risk"][..., 0] < DOUBTFUL_RISK)
    for name, array in reported.items():
        if name not in EXACT:
            array[doubtful] = np.nan
    return reported


def _flat(name: str, reported: Any) -> Array:
    array = np.asarray(reported)
    if array.ndim > 1:
        raise KernelError(f"outputs[{name!r}]: expected a number or a vector, got {array.shape}")
    return array.reshape(-1)
