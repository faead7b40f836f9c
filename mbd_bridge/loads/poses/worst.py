"""The worst pose at rest: where each component of the load of each joint is largest.

Poses are points of a Sobol sequence over the workspace (`workspace`), evaluated in blocks, so that
memory does not grow with their number. From the best pose of each component a compass search goes
on: it looks a step up and down along each coordinate, goes where the component is largest, and
halves the step where none is better. What it finds is a local extreme; how far the samples were
from it is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from mbd_bridge.base.arguments import flag
from mbd_bridge.base.errors import StateError, unknown_name, whole_number
from mbd_bridge.base.options import part
from mbd_bridge.base.table import Series, Table, Tabular
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.loads.options import ConventionOptions, WorstPoseOptions
from mbd_bridge.loads.poses.workspace import Workspace
from mbd_bridge.loads.request import LoadRequest
from mbd_bridge.loads.round_off import RoundOff
from mbd_bridge.loads.selected import LoadSelection, actuation_names, select_joints, selected_loads
from mbd_bridge.loads.solver import LoadSolver
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.model.units import FORCE_UNIT, actuation_units
from mbd_bridge.motion.table import COMPONENTS
from mbd_bridge.solve.model_kernel import model_kernel
from mbd_bridge.solve.prepared import Prepared

LAST_STEP = 1e-6
"""Part of a range at which the search ends: of a smooth extreme 1e-12 of the load is left."""

MOST_STEPS = 400

AT_ENDS = 0.125
"""Part of a range by which samples are stretched beyond each end, and put there: extremes are often
at ends, in faces and corners that an even sequence does not come near to."""

ELSEWHERE = (0.09, 0.38, 0.71)
"""Parts of a coordinate's range at which it is tried whether a load depends on it."""

MATTERS = 1e-5
"""Part of a load: what changes it by less does not show in its five digits."""

LENGTHS = {"force": "N", "moment": "N m"}
"""Columns that are lengths of vectors."""

Loads = Callable[[Array], Array]
"""Components of poses (n, nq) in the columns of `columns_of`, nan where they are not determined."""


@dataclass(frozen=True, eq=False)
class PoseExtreme:
    """An extreme of one component of a joint's load at rest.

    Attributes
    ----------
    joint, component : which; "force" and "moment" are lengths of the vectors
    value, unit : with its sign
    q : (nq,) the pose
    matters : coordinates on which it depends there; the others may be anywhere
    sampled : the best value among the samples, before it was refined
    """

    joint: str
    component: str
    value: float
    unit: str
    q: Array
    matters: tuple[str, ...]
    sampled: float


@dataclass(frozen=True, eq=False)
class WorstPoses(Tabular):
    """Extremes of the loads of a machine at rest.

    Attributes
    ----------
    name : of the mechanism
    joints : whose loads they are
    coordinates : names of the entries of a pose
    samples, existing : poses that were looked at, and those that the machine can take
    highest, lowest : by (joint, component): the envelope. Lengths have no lowest
    """

    name: str
    joints: tuple[str, ...]
    coordinates: tuple[str, ...]
    samples: int
    existing: int
    highest: Mapping[tuple[str, str], PoseExtreme]
    lowest: Mapping[tuple[str, str], PoseExtreme]

    def worst(self, joint: str, component: str) -> PoseExtreme:
        """Return the extreme of a component that is larger without its sign."""
        both = [
            found[joint, component]
            for found in (self.highest, self.lowest)
            if (joint, component) in found
        ]
        if not both:
            known = [f"{one}.{part}" for one, part in self.highest]
            raise StateError(unknown_name("load", f"{joint}.{component}", known))
        return max(both, key=lambda one: abs(one.value))

    def tables(self) -> tuple[Table, ...]:
        """Return the value farthest from zero of each load, lowest and highest, and the pose."""
        worst = [one for key in self.highest if (one := self.worst(*key)).value]
        units = [one.unit for one in worst]
        keys = [(one.joint, one.component) for one in worst]
        low = [self.lowest.get(key) for key in keys]

        def place(one: PoseExtreme, name: str) -> float:
            return float(one.q[self.coordinates.index(name)])

        poses = [
            ", ".join(f"{name} {place(one, name):.4g}" for name in one.matters) or "any pose"
            for one in worst
        ]
        columns = [
            Series("worst", units, [one.value for one in worst]),
            Series("lowest", units, [None if one is None else one.value for one in low]),
            Series("highest", units, [self.highest[key].value for key in keys]),
            Series("at (rad, m)", "", poses),
        ]
        joints, loads = [joint for joint, _ in keys], [load for _, load in keys]
        labels = Series("joint", "", joints), Series("load", "", loads)
        return (Table(f"worst poses of {self.name}", labels, columns),)

    def __str__(self) -> str:
        lines = [f"{self.name}: worst of {self.samples} poses at rest ({self.existing} exist)"]
        for joint in self.joints:
            for component in (load for name, load in self.highest if name == joint):
                found = self.worst(joint, component)
                lines.append(f"  {joint} {component}: {found.value:.5g} {found.unit}")
        return "\n".join(lines)


def worst_pose(
    prepared: Prepared,
    forces: tuple[ForceElement, ...],
    joints: Iterable[str | int] | str | None,
    samples: int,
    refine: bool,
    threads: int,
    options: WorstPoseOptions,
) -> WorstPoses:
    """Return the extremes of all components of some joints; see `Mechanism.worst_pose`."""
    model, workspace = prepared.model, Workspace.of(prepared, options)
    request = LoadRequest.of(
        model,
        joints,
        **part(ConventionOptions, options),
        actuated=workspace.sampled,
        forces=forces,
    )
    names, asked = select_joints(model, request.joints, cuts=model.has_loops)
    loads = static_loads(model, request, whole_number("threads", threads))
    columns = columns_of(model, names, actuation_names(model, asked))
    lengths = 2 * len(names)
    search = _Search(len(columns) - lengths, lengths, loads, workspace)
    number = workspace.number(samples)
    search.sample(number, options["seed"])
    sampled = search.values.copy()
    if flag("refine", refine) and workspace.size:
        search.refine(number)
    q, matters = workspace.poses(search.points)[0], search.matters()
    round_off = _round_off(model, columns, search.values)
    highest: dict[tuple[str, str], PoseExtreme] = {}
    lowest: dict[tuple[str, str], PoseExtreme] = {}
    for k, (joint, component, unit) in enumerate(columns):
        squared = component in LENGTHS
        for found, place, sign in ((highest, k, 1.0), (lowest, k + len(columns), -1.0)):
            if not np.isfinite(search.values[place]) or (squared and sign < 0.0):
                continue
            value, best = sign * search.values[place], sign * sampled[place]
            if squared:
                value, best = np.sqrt(value), np.sqrt(best)
            both = (0.0 if abs(x) <= round_off.floor(unit) else float(x) for x in (value, best))
            found[joint, component] = PoseExtreme(
                joint,
                component,
                next(both),
                unit,
                q[place],
                workspace.named(matters[place]),
                next(both),
            )
    return WorstPoses(
        model.name, names, model.coordinate_names, number, search.existing, highest, lowest
    )


def columns_of(
    model: Model, joints: tuple[str, ...], actuations: tuple[tuple[str, ...], tuple[slice, ...]]
) -> list[tuple[str, str, str]]:
    """Return joint, component and unit of each column.

    Six components of each joint, all actuations, then the squared lengths of force and moment of
    each joint (which have the unit of the length here).
    """
    units = ("N",) * 3 + ("N m",) * 3
    found = [
        (joint, part, unit)
        for joint in joints
        for part, unit in zip(COMPONENTS, units, strict=True)
    ]
    for joint, places in zip(joints, actuations[1], strict=True):
        names = actuations[0][places]
        for name, unit in zip(names, actuation_units(model, joint) if names else (), strict=True):
            found.append((joint, f"actuation{name.removeprefix(joint)}", FORCE_UNIT[unit]))
    for joint in joints:
        found += [(joint, part, unit) for part, unit in LENGTHS.items()]
    return found


def _round_off(model: Model, columns: list[tuple[str, str, str]], values: Array) -> RoundOff:
    """Return what is zero beside the largest lengths that were found."""
    largest = {"N": 0.0, "N m": 0.0}
    for (_, component, unit), value in zip(columns, values, strict=False):
        if component in LENGTHS and value > 0.0:
            largest[unit] = max(largest[unit], float(np.sqrt(value)))
    return RoundOff.of(model, largest["N"], largest["N m"])


class _Search:
    """The largest and the smallest values of columns over points of a cube.

    Attributes
    ----------
    values, points : (2 C,), (2 C, size): the largest values of the C columns, and of the negative
        ones. Lengths are squared; their smallest are not looked for
    existing : poses that exist
    """

    def __init__(self, signed: int, lengths: int, loads: Loads, workspace: Workspace) -> None:
        self._loads, self._workspace = loads, workspace
        self._signed, self._count = signed, signed + lengths
        self.values = np.full(2 * self._count, -np.inf)
        self.points = np.zeros((2 * self._count, workspace.size))
        self.existing = 0

    def sample(self, number: int, seed: int) -> None:
        """Take in a Sobol sequence, stretched so that a part of it is at the ends of ranges."""
        for points in self._workspace.points(number, seed):
            self._take(np.clip((1.0 + 2.0 * AT_ENDS) * points - AT_ENDS, 0.0, 1.0))

    def refine(self, number: int) -> None:
        """Go from the best samples to local extremes."""
        size, count = self._workspace.size, self._count
        step = np.full(len(self.values), 0.5 * number ** (-1.0 / size))
        step[count + self._signed :] = 0.0
        ways = np.vstack([np.eye(size), -np.eye(size)])
        for _ in range(MOST_STEPS):
            going = np.flatnonzero((step > LAST_STEP) & np.isfinite(self.values))
            if not len(going):
                break
            places = self.points[going][:, None] + step[going][:, None, None] * ways
            places = np.clip(places, 0.0, 1.0)
            found = self._evaluated(places.reshape(-1, size))[0]
            rows = np.arange(len(going))
            own = found.reshape(len(going), len(ways), count)[rows, :, going % count]
            own = np.where(
                np.isfinite(own), np.where(going < count, 1.0, -1.0)[:, None] * own, -np.inf
            )
            best = np.argmax(own, axis=1)
            value = own[rows, best]
            better = value > self.values[going]
            some = going[better]
            self.values[some], self.points[some] = value[better], places[better, best[better]]
            step[going] *= np.where(better, 1.5, 0.5)

    def matters(self) -> Array:
        """Return on which numbers of a point each extreme depends (2 C, size).

        Those on which it does not are tried together, too: else all count.
        """
        size, rows = self._workspace.size, np.arange(len(self.values))
        if not size:  # nothing moves: there is one pose
            return np.zeros(self.points.shape, dtype=bool)
        own = np.where(rows < self._count, 1.0, -1.0) * self.values

        def change(points: Array) -> Array:
            found = self._evaluated(points.reshape(-1, size))[0]
            values = found.reshape(*points.shape[:-1], self._count)[..., rows, rows % self._count]
            return np.asarray(~(np.abs(values - own) <= MATTERS * np.abs(own)).all(axis=0))

        found = np.zeros(self.points.shape, dtype=bool)
        for k in range(size):
            tried = np.repeat(self.points[None], len(ELSEWHERE), axis=0)
            tried[..., k] = np.array(ELSEWHERE)[:, None]
            found[:, k] = change(tried)
        others = np.array([[[part] * size] for part in ELSEWHERE])
        return np.asarray(found | change(np.where(found, self.points, others))[:, None])

    def _take(self, u: Array) -> None:
        found, exist = self._evaluated(u)
        self.existing += exist
        for first, sign, reduce in ((0, 1.0, np.fmax), (self._count, -1.0, np.fmin)):
            value = sign * reduce.reduce(found, axis=0)
            for k in np.flatnonzero(value > self.values[first : first + self._count]):
                best = int(np.nanargmax(sign * found[:, k]))
                self.values[first + k], self.points[first + k] = value[k], u[best]

    def _evaluated(self, u: Array) -> tuple[Array, int]:
        """Return columns (n, C) at points, nan where there are none, and how many poses exist."""
        q, exist = self._workspace.poses(u)
        found = self._loads(q)
        if not exist.all():
            found[~exist] = np.nan
        return found, int(exist.sum())


# Loads at rest as a function of the pose alone: velocities are zero, and the kernel has none.


def static_loads(model: Model, request: LoadRequest, threads: int) -> Loads:
    """Return the loads of a request at rest as a function of poses (n, nq); see `Loads`."""
    if model.has_loops or request.forces or not isinstance(request.convention.at, str):
        return _of_solver(model, request, threads)
    _, asked = select_joints(model, request.joints, cuts=False)
    selection = LoadSelection(asked, request.convention)
    still = np.zeros(model.nv)

    def function(q: Array) -> tuple[Array, ...]:
        force, moment, actuation = selected_loads(model, selection, q, still, still, {})
        six = np.concatenate([force, moment], axis=1).reshape(-1)
        squares = [part[k] @ part[k] for k in range(len(force)) for part in (force, moment)]
        return (np.concatenate([six, actuation, np.array(squares)]),)

    kernel = model_kernel(model, "static_loads", {"q": model.nq}, ("loads",), function, selection)
    return lambda q: np.asarray(kernel.run(q, threads=threads)[0][0])


def _of_solver(model: Model, request: LoadRequest, threads: int) -> Loads:
    solver = LoadSolver(model, request)

    def loads(q: Array) -> Array:
        n, still = len(q), np.zeros((len(q), model.nv))
        with np.errstate(all="ignore"):  # singular poses: what is not finite does not count
            found = solver(q, still, still, threads=threads, check=False)
            six = np.where(found.unique, np.concatenate([found.force, found.moment], -1), np.nan)
            acting = np.where(found.actuation_unique, found.actuation, np.nan)
            squares = (six.reshape(n, -1, 3) ** 2).sum(axis=2)
            out = np.hstack([six.reshape(n, -1), acting, squares])
        out[~np.isfinite(out)] = np.nan
        return out

    return loads
