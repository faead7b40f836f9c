"""Joint loads as a user gets them: arrays, with names, units and convention."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats
from mbd_bridge.base.assumptions import Assumption, Assumptions
from mbd_bridge.base.errors import StateError, count
from mbd_bridge.base.named import Named
from mbd_bridge.base.table import Arrays, Table, Tabular
from mbd_bridge.loads.convention import Convention, Plane
from mbd_bridge.loads.round_off import RoundOff
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mbd_bridge.applications.typed import OfJointLoads as Extended
    from mbd_bridge.loads.efforts import EffortDifferences
    from mbd_bridge.loads.request import LoadRequest
    from mbd_bridge.loads.uncertainty import LoadUncertainty
    from mbd_bridge.motion import Motion
    from mbd_bridge.motion.external.forces import ExternalUse
else:
    from mbd_bridge.base.extensions import Extended


ACTUATED = ("actuation", "actuation_unique", "speed", "measured_efforts")
"""Arrays of `JointLoads` along the degrees of freedom of the joints."""


class OneJoint(NamedTuple):
    """The load of one joint, with a flag beside each number: whether it is determined.

    Attributes
    ----------
    force, moment : (..., 3) N, N m
    actuation : (..., degrees of freedom of the joint) N m or N
    unique : (..., 6) booleans, of force and moment
    actuation_unique : shaped as `actuation`
    reaction_force, reaction_moment : the load without the actuation's part, if asked for
    """

    force: Array
    moment: Array
    actuation: Array
    unique: Array
    actuation_unique: Array
    reaction_force: Array | None = None
    reaction_moment: Array | None = None

    @property
    def wrench(self) -> Array:
        """Force and moment in one array, (..., 6)."""
        return np.concatenate([self.force, self.moment], axis=-1)

    def __repr__(self) -> str:
        states = count(1 if self.force.ndim == 1 else len(self.force), "state")
        return f"OneJoint({states}; force, moment, {count(self.actuation.shape[-1], 'actuator')})"


@dataclass(frozen=True, eq=False)
class JointLoads(Tabular, Named[OneJoint], Extended, entries="joint in these loads"):
    """Loads of some joints at one state or at N states.

    Attributes
    ----------
    joints : names, in the order asked for
    force : (J, 3) or (N, J, 3) N
    moment : (J, 3) or (N, J, 3) N m
    actuation : (F,) or (N, F): along each degree of freedom of the joints asked for, N m or N
    actuation_names : names of these degrees of freedom; a fixed joint has none
    unique : (J, 6) or (N, J, 6) booleans, shaped as `wrench`: whether rigid-body mechanics
        determines the component of the load (force, then moment). Always true in a tree
    actuation_unique : the same for `actuation`, and shaped like it
    convention : on whom, where, in which axes
    reaction_force, reaction_moment : the part of the load that the actuation does not give, shaped
        as force and moment; None unless asked for with ``reaction=True``
    reaction_unique : whether its components are determined, shaped as `unique`
    model : whose joints these are
    time : (N,) s, where they are loads along a motion
    speed : (N, F) rates along the degrees of freedom of `actuation`, rad/s or m/s, likewise
    spins : links that spin about themselves without an actuator, such as rods between two balls.
        No loop determines the acceleration of such a spin; it was solved for, from zero moment
    a : (nv,) or (N, nv) accelerations that the loads belong to, where spins were solved for; None:
        those given
    request : what was asked for; None: the loads were read from a file
    assumed : contributions to `assumptions` of the motion and of what acted during it
    uncertainty : standard deviations from the noise of the motion; None: nothing is known of it
    measured_efforts : shaped as `actuation`, of the motion's recording, nan where not measured;
        None: none. They are compared with `actuation` (`effort_differences`) and not used
    external_use : how much of external forces from tables acted; None: not counted
    efforts : (nv,) or (N, nv) what actuators do along the velocities, N m or N: of a machine with
        loops, whose multipliers come with it, and where an observer needs it; else None
    """

    joints: tuple[str, ...]
    force: Array
    moment: Array
    actuation: Array
    actuation_names: tuple[str, ...]
    actuation_of: tuple[slice, ...]
    unique: Array
    actuation_unique: Array
    convention: Convention
    reaction_force: Array | None = None
    reaction_moment: Array | None = None
    reaction_unique: Array | None = None
    model: Model | None = None
    time: Array | None = None
    speed: Array | None = None
    spins: tuple[str, ...] = ()
    a: Array | None = None
    request: LoadRequest | None = None
    assumed: tuple[Assumption, ...] = ()
    uncertainty: LoadUncertainty | None = None
    measured_efforts: Array | None = None
    external_use: ExternalUse | None = None
    efforts: Array | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The joints."""
        return self.joints

    def _entry(self, joint: str) -> OneJoint:
        k = self.joints.index(joint)
        return OneJoint(
            self.force[..., k, :],
            self.moment[..., k, :],
            self.actuation[..., self.actuation_of[k]],
            self.unique[..., k, :],
            self.actuation_unique[..., self.actuation_of[k]],
            None if self.reaction_force is None else self.reaction_force[..., k, :],
            None if self.reaction_moment is None else self.reaction_moment[..., k, :],
        )

    def among(self, joints: Sequence[str], *, reaction: bool = False) -> JointLoads:
        """Return the loads of some of these joints, with or without their reactions."""
        if tuple(joints) == self.joints and reaction == (self.reaction_force is not None):
            return self
        rows = [self.joints.index(joint) for joint in joints]
        places = [self.actuation_of[k] for k in rows]
        columns = [k for place in places for k in range(place.start, place.stop)]
        ends = np.cumsum([0, *(place.stop - place.start for place in places)]).tolist()

        def of(array: Array | None, chosen: list[int], axis: int) -> Any:
            return None if array is None else np.take(array, chosen, axis)

        def some(result: Any, names: tuple[str, ...]) -> dict[str, Any]:
            along = [name for name in names if name in ACTUATED]
            parts = {name: of(getattr(result, name), columns, -1) for name in along}
            others = (name for name in names if name not in ACTUATED)
            lengths = ("force_length", "moment_length")
            return parts | {
                name: of(getattr(result, name), rows, -1 if name in lengths else -2)
                for name in others
            }

        names = ("force", "moment", "unique", "actuation", "actuation_unique", *ACTUATED[2:])
        reactions = ("reaction_force", "reaction_moment", "reaction_unique")
        changed = some(self, (*names, *reactions) if reaction else names)
        changed |= {} if reaction else dict.fromkeys(reactions)
        if self.uncertainty is not None:
            known = ("force", "moment", "force_length", "moment_length", "actuation", "speed")
            changed["uncertainty"] = replace(self.uncertainty, **some(self.uncertainty, known))
        request = self.request
        if request is not None:
            request = replace(request, joints=tuple(joints), reaction=reaction)
        return replace(
            self,
            joints=tuple(joints),
            actuation_names=tuple(self.actuation_names[k] for k in columns),
            actuation_of=tuple(map(slice, ends[:-1], ends[1:])),
            request=request,
            **changed,
        )

    @property
    def determined(self) -> Array:
        """Which components (J, 6) are determined at all states: what a column may be called."""
        return np.asarray(self.unique.reshape(-1, len(self.joints), 6).all(axis=0))

    @property
    def wrench(self) -> Array:
        """Force and moment in one array, (..., J, 6)."""
        return np.concatenate([self.force, self.moment], axis=-1)

    def along(self, time: ArrayLike, v: ArrayLike) -> JointLoads:
        """Return these loads with their times (N,) s, and the velocities (N, nv) at these times."""
        times, states = as_floats("time", time), self.force.shape[:-2]
        if times.ndim != 1 or states != times.shape:
            raise StateError(
                f"time: expected as many times as states: loads of {states}, got times "
                f"{times.shape}"
            )
        speed, nv = as_floats("v", v), 0 if self.model is None else self.model.nv
        if speed.shape != (*states, nv):
            raise StateError(f"v: expected {(*states, nv)}, got {speed.shape}")
        return replace(self, time=times, speed=actuation_speeds(self, speed))

    def along_motion(self, motion: Motion) -> JointLoads:
        """Return these loads with the times, velocities and assumptions of their motion."""
        from mbd_bridge.loads.efforts import measured_actuation

        return replace(
            self.along(motion.time, motion.v),
            assumed=(*self.assumed, *motion.assumed),
            measured_efforts=measured_actuation(self, motion),
        )

    @property
    def effort_differences(self) -> EffortDifferences | None:
        """How far the efforts of the recording are from `actuation`; None: none were measured."""
        from mbd_bridge.loads.efforts import effort_differences

        return effort_differences(self)

    @property
    def round_off(self) -> RoundOff:
        """The sizes up to which these loads are rounding errors."""
        return RoundOff.of(self.model, *(_largest(part) for part in (self.force, self.moment)))

    @property
    def assumptions(self) -> Assumptions:
        """Everything that these loads assume, topic by topic."""
        from mbd_bridge.loads.assumed import assumptions_of

        return assumptions_of(self)

    def save(
        self,
        path: str | PathLike[str],
        time: ArrayLike | None = None,
        *,
        digits: int | None = None,
        notes: Sequence[str] = (),
        gaps: bool = False,
    ) -> None:
        """Write the loads along a motion to .csv, .parquet, .npz or .h5, with units and convention.

        Parameters
        ----------
        path : its suffix says which kind; the file appears whole or not at all
        time : (N,) s; that of the motion where it is known
        digits : significant digits in a text; None for all. The other kinds hold all
        notes : sentences that the file is to hold
        gaps : write nan and inf too, of states that ``check=False`` let pass; refused without it,
            since nothing here reads them back
        """
        from mbd_bridge.loads.export import save_loads

        save_loads(self, path, time, digits=digits, notes=notes, gaps=gaps)

    def plot(
        self,
        joints: Iterable[str] | str | None = None,
        quantities: Iterable[str] | str = ("force", "moment", "actuation"),
        *,
        resultant: bool = False,
        ax: Axes | Sequence[Axes] | None = None,
    ) -> list[Axes]:
        """Draw loads along time and return the axes; ``matplotlib.pyplot.show()`` shows them.

        What rigid-body mechanics does not determine is dashed and grey. Of many states the peaks
        are drawn, and as many points between as can be seen.

        Parameters
        ----------
        joints : names; None for all
        quantities : of "force", "moment" and "actuation": a panel each
        resultant : draw the lengths of force and moment, too
        ax : axes to draw into, one a panel; None makes a figure
        """
        from mbd_bridge.loads.pictures import plot_loads

        return plot_loads(self, joints, quantities, resultant=resultant, ax=ax)

    def plot_torque_speed(
        self,
        actuations: Iterable[str] | str | None = None,
        *,
        ax: Axes | Sequence[Axes] | None = None,
    ) -> list[Axes]:
        """Draw torque over speed for each actuator: peak, RMS, power, and the limits of the file.

        The loads must be those along a motion: ``joint_loads(motion)``, ``run.joint_loads()``.

        Parameters
        ----------
        actuations : their names (`actuation_names`); None for all
        ax : axes to draw into, one an actuator; None makes a figure
        """
        from mbd_bridge.loads.pictures import plot_torque_speed

        return plot_torque_speed(self, actuations, ax=ax)

    def plot_polar(
        self,
        joints: Iterable[str] | str | None = None,
        plane: Plane | None = None,
        *,
        ax: Axes | Sequence[Axes] | None = None,
    ) -> list[Axes]:
        """Draw where the force points in a plane: which side of a bearing carries it.

        Parameters
        ----------
        joints : names; None for all, of those with an axis if no plane is named
        plane : "xy", "yz" or "zx" of the axes that the loads are given in; None for that across
            the joint's own axis
        ax : polar axes to draw into, one a joint; None makes a figure
        """
        from mbd_bridge.loads.pictures import plot_polar

        return plot_polar(self, joints, plane, ax=ax)

    def tables(self) -> tuple[Table, ...]:
        """Return the loads, of one state a joint each; of N states columns as files have them."""
        from mbd_bridge.loads.export import load_table

        return (load_table(self),)

    def _arrays(self) -> Arrays:
        from mbd_bridge.loads.export import load_arrays

        return load_arrays(self)

    def __repr__(self) -> str:
        states = count(1 if self.force.ndim == 2 else len(self.force), "state")
        names = ", ".join(self.joints[:6]) + (", ..." if len(self.joints) > 6 else "")
        return f"JointLoads({states}; {names}; {self.convention})"


def _largest(vectors: Array) -> float:
    return math.sqrt(np.einsum("...i,...i", vectors, vectors).max(initial=0.0))


def actuation_speeds(loads: JointLoads, v: Array) -> Array:
    """Return the rates (..., F) along the degrees of freedom of the actuators, from the velocities
    (..., nv).
    """
    model = loads.model
    assert model is not None
    moved = {coupling.name: coupling.joint for coupling in model.description.couplings}
    out = np.empty((*v.shape[:-1], len(loads.actuation_names)))
    for joint, place in zip(loads.joints, loads.actuation_of, strict=True):
        if joint in moved:
            out[..., place.start] = v[..., model.velocity_names.index(moved[joint])]
        elif place.stop > place.start:
            body = model.bodies[model.joint(joint).body]
            out[..., place] = body.ratio * v[..., body.v]
    return out
