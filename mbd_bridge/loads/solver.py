"""The load in chosen joints, prepared once for a mechanism and evaluated for many states.

What is not asked for is not computed: tracing the recursion for some joints leaves only the
operations that their loads need (the papers' selected joints, found by the compiler).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.equations.external import External, from_world_axes, shift_to_link
from mbd_bridge.equations.motions import body_motions
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.errors import ModelError, StateError
from mbd_bridge.kernels import Single
from mbd_bridge.kernels.layout import as_floats
from mbd_bridge.kernels.trace import Traceable
from mbd_bridge.loads.convention import Convention
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.mechanism import Model, ModelJoint, Motion
from mbd_bridge.mechanism.parameters import Parameters
from mbd_bridge.solve import explain
from mbd_bridge.solve.dynamics import external_on
from mbd_bridge.solve.quaternions import unit_quaternions
from mbd_bridge.solve.variants import Wanted
from mbd_bridge.solve.wrenches import check_axes
from mbd_bridge.spatial import Array, zeros


class LoadSolver:
    """Force, moment and drive of chosen joints of one mechanism.

    Parameters
    ----------
    model : the mechanism
    joints : names (or indices) of the joints; None for all but the root joint
    on, at, in_ : see `Convention`
    links : names of links that carry external wrenches; these are then a further argument:
        force (N), then moment (N m) on the link, at the origin of its frame
    external_in : these wrenches are given in the axes of their "link" or of the "world"
    reaction : give the load without the drive's part as well
    open_tree : of a machine with loops, give the loads of its tree with the loops left open; else
        such a machine is refused here (see `LoopLoadSolver`)
    parameters : of variants: the kernel's last input are theirs

    Examples
    --------
    >>> solver = LoadSolver(model, ["elbow"])       # doctest: +SKIP
    >>> solver(q, v, a).moment                      # doctest: +SKIP
    """

    def __init__(
        self,
        model: Model,
        joints: Iterable[str | int] | str | None = None,
        *,
        on: str = "child",
        at: str | Sequence[float] = "joint",
        in_: str = "child",
        links: Sequence[str] = (),
        external_in: str = "link",
        reaction: bool = False,
        open_tree: bool = False,
        parameters: Parameters | None = None,
    ) -> None:
        if model.has_loops and not open_tree:
            loops = ", ".join(cut.name for cut in model.cuts)
            raise ModelError(
                f"{model.name!r} has loops ({loops}): use LoopLoadSolver, or joint_loads(..., "
                f"actuated=[...]); open_tree=True gives the loads with the loops left open"
            )
        self.model = model
        self.convention = Convention.of(on, at, in_)
        numbers = model.joint_numbers(joints)
        if not numbers:
            raise ModelError("no joint was asked for; name at least one in joints=[...]")
        self.links = tuple(model.link_number(name) for name in links)
        self.joints = tuple(model.joints[j].name for j in numbers)
        names: list[str] = []
        places = []
        for joint in (model.joints[j] for j in numbers):
            start = len(names)
            if joint.moving:
                names += [joint.name + suffix for suffix in joint.type.velocities]
            places.append(slice(start, len(names)))
        self._names, self._places = tuple(names), tuple(places)
        self._unique = np.ones((len(numbers), 6), dtype=bool)
        self._unique.flags.writeable = False
        axes = check_axes(external_in)
        inputs = {"q": model.nq, "v": model.nv, "a": model.nv}
        if self.links:
            inputs["external"] = 6 * len(self.links)
        outputs = ["force", "moment", "drive"]
        if reaction:
            outputs += ["reaction_force", "reaction_moment"]

        def function_of(model: Model) -> Traceable:
            def function(q: Array, v: Array, a: Array, *rest: Array) -> tuple[Array, ...]:
                wrenches = external_on(self.links, *rest)
                if axes == "world":
                    wrenches = from_world_axes(model, q, wrenches)
                return selected_loads(model, numbers, self.convention, q, v, a, wrenches, reaction)

            return function

        what = f"loads {numbers} {self.convention!r} {self.links} {axes} {reaction}"
        wanted = Wanted(function_of, inputs, tuple(outputs), "joint_loads", what)
        self.kernel = wanted.kernel(model, parameters)

    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external: ArrayLike | None = None,
        *,
        threads: int = 1,
        check: bool = True,
    ) -> JointLoads:
        """Return the loads at one state, or at N states.

        Parameters
        ----------
        q, v, a : (n,) or (N, n) coordinates, velocities, accelerations
        external : (L, 6) or (N, L, 6) force (N) and moment (N m) on each of `links`, at the
            link's origin, in the axes that the solver was prepared for
        threads : share the states among this many threads
        check : raise if a result is not finite or a quaternion not of unit length; False leaves
            nan where it comes out
        """
        inputs = {"q": unit_quaternions(self.model, q) if check else q, "v": v, "a": a}
        if self.links:
            inputs["external"] = self._packed(external)
        elif external is not None:
            raise StateError(
                "external: this solver was prepared for no wrenches; name the links that carry "
                "them in links=[...]"
            )
        outputs, finite = self.kernel.run(*inputs.values(), threads=threads)
        if check and not finite:
            explain(self.model, inputs, *outputs)
        return self.result(outputs)

    def single(self) -> Single:
        """Return the fastest way for one state at a time, as in a control loop.

        ``run(q, v, a)`` of the result returns force (J, 3), moment (J, 3) and drive (F,): always
        the same arrays, overwritten by the next call, unchecked for nan.
        """
        return self.kernel.single()

    def _packed(self, external: ArrayLike | None) -> Array:
        count = len(self.links)
        flat = as_floats("external", np.nan if external is None else external)
        if flat.ndim not in (2, 3) or flat.shape[-2:] != (count, 6):
            got = "nothing" if external is None else f"the shape {flat.shape}"
            raise StateError(
                f"external: expected ({count}, 6) or (N, {count}, 6), a wrench for each of the "
                f"links this solver was prepared for, got {got}"
            )
        return flat.reshape(*flat.shape[:-2], 6 * count)

    def result(self, outputs: tuple[Array, ...]) -> JointLoads:
        """Return the kernel's outputs with their names and convention."""
        force, moment, drive, *reaction = outputs
        own_force, own_moment = reaction or (None, None)
        return JointLoads(
            self.joints,
            force,
            moment,
            drive,
            self._names,
            self._places,
            self._unique,
            self.convention,
            own_force,
            own_moment,
            self.model,
        )


def selected_loads(
    model: Model,
    joints: Sequence[int],
    convention: Convention,
    q: Array,
    v: Array,
    a: Array,
    external: External,
    reaction: bool,
) -> tuple[Array, ...]:
    """Return forces (J, 3), moments (J, 3), drives (F,) and, if asked for, the reactions."""
    loads = recursive_loads(model, q, v, a, joints, external)
    motions = body_motions(model, q, v)
    entries = [model.joints[j] for j in joints]

    def given(joint: ModelJoint, wrench: Array) -> Array:
        at_link = shift_to_link(model, joint.child, wrench)
        return convention.apply(model, joint, at_link, motions)

    whole = _rows([given(joint, w) for joint, w in zip(entries, loads.wrench, strict=True)])
    drive: Array = np.concatenate([np.zeros(0), *loads.drive])
    if not reaction:
        return whole[:, :3], whole[:, 3:], drive
    parts = [
        given(joint, wrench - drive_wrench(joint, motions[joint.body], own))
        for joint, wrench, own in zip(entries, loads.wrench, loads.drive, strict=True)
    ]
    rest = _rows(parts)
    return whole[:, :3], whole[:, 3:], drive, rest[:, :3], rest[:, 3:]


def drive_wrench(joint: ModelJoint, motion: Motion, drive: Array) -> Array:
    """Return the (6,) wrench with which a drive acts on the child, at its origin, in its axes.

    A rotation is driven by a moment along its axis, a translation by a force along its way; for
    a screw the moment does the work.
    """
    if not joint.moving:
        return np.zeros(6)
    turns = [k for k in range(joint.type.nv) if np.any(motion.angular[:, k] != 0.0)]
    force = sum((motion.linear[:, k] * drive[k] for k in _others(turns, len(drive))), np.zeros(3))
    moment = sum((motion.angular[:, k] * drive[k] for k in turns), np.zeros(3))
    return np.concatenate([force, moment])


def _others(some: list[int], count: int) -> list[int]:
    return [k for k in range(count) if k not in some]


def _rows(vectors: list[Array]) -> Array:
    out = zeros((len(vectors), 6), *vectors)
    for k, vector in enumerate(vectors):
        out[k] = vector
    return out
