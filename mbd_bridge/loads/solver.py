"""The load in chosen joints, prepared once for a mechanism and evaluated for many states.

What is not asked for is not computed: tracing the recursion for some joints leaves only the
operations that their loads need (the papers' selected joints, found by the compiler).

In a mechanism with loops the multipliers of the cut joints come first (`solve.closed_inverse`), and
a component of a load is determined if no multiplier that the equations leave open changes it
(Wojtyra 2005; Wojtyra and Fraczek 2013).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.arguments import an_instance, as_floats, flag, name_list
from mbd_bridge.equations.external import External, from_world_axes
from mbd_bridge.errors import ModelError, StateError
from mbd_bridge.kernels import Kernel, Single
from mbd_bridge.kernels.graph.trace import Traceable
from mbd_bridge.lazy import cached_property
from mbd_bridge.loads.convention import Convention
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.loads.selected import Sizes, asked_for, changes, drive_names, selected_loads
from mbd_bridge.mechanism import Model
from mbd_bridge.mechanism.parameters import Given, Parameters
from mbd_bridge.solve import explain
from mbd_bridge.solve.closed_inverse import ClosedInverse
from mbd_bridge.solve.constrained import actuated_joints
from mbd_bridge.solve.dynamics import external_on
from mbd_bridge.solve.loop_terms import PROBES, probes
from mbd_bridge.solve.quaternions import unit_quaternions
from mbd_bridge.solve.row_choice import row_choice
from mbd_bridge.solve.variants import Wanted
from mbd_bridge.solve.wrenches import check_axes
from mbd_bridge.spatial import Array


class LoadSolver:
    """Force, moment and drive of chosen joints of one mechanism, with or without loops.

    Parameters
    ----------
    model : the mechanism
    joints : names (or indices) of the joints, tree or cut; None for all but the root joint
    on, at, in_ : see `Convention`
    links : names of links that carry external wrenches; these are then a further argument:
        force (N), then moment (N m) on the link, at the origin of its frame
    external_in : these wrenches are given in the axes of their "link" or of the "world"
    reaction : give the load without the drive's part as well
    open_tree : of a machine with loops, give the loads of its tree with the loops left open
    actuated : in a machine with loops, the joints that have a drive; None: those that the file
        names
    minimum_norm : more drives than the motion determines are allowed; the loads are then the
        smallest for the loop joints, with flags at all that is not determined
    parameters : masses, lengths and the like by name, (N,) or (N, 3) for N variants of the
        mechanism (`mechanism.parameters`); the last input of the kernels are theirs. Of a tree a
        call then gives the loads of all variants, at one state or each at its own

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
        actuated: Iterable[str] | str | None = None,
        minimum_norm: bool = False,
        parameters: Given | Parameters | None = None,
    ) -> None:
        an_instance("model", model, Model, "mechanism.model")
        if parameters is not None and not isinstance(parameters, Parameters):
            parameters = Parameters.of(model, parameters)
        self.parameters = parameters
        reaction, open_tree = flag("reaction", reaction), flag("open_tree", open_tree)
        self.model, self._reaction = model, reaction
        self._minimum_norm = flag("minimum_norm", minimum_norm)
        self.convention = Convention.of(on, at, in_)
        closed = model.has_loops and not open_tree
        self.joints, self._asked = asked_for(model, joints, cuts=closed)
        self._names, self._places = drive_names(model, self._asked)
        self.links = tuple(model.link_number(name) for name in name_list("links", links, "links"))
        self._axes = check_axes(external_in)
        inputs = {"q": model.nq, "v": model.nv, "a": model.nv}
        if closed:
            inputs["lam"] = len(model.row_scale)
        if self.links:
            inputs["external"] = 6 * len(self.links)
        outputs = ["force", "moment", "drive"]
        if reaction:
            outputs += ["reaction_force", "reaction_moment"]

        def function_of(model: Model) -> Traceable:
            def function(q: Array, v: Array, a: Array, *rest: Array) -> tuple[Array, ...]:
                lam, rest = (rest[0], rest[1:]) if closed else (None, rest)
                wrenches: External = external_on(self.links, *rest)
                if self._axes == "world":
                    wrenches = from_world_axes(model, q, wrenches)
                asked, how = self._asked, self.convention
                return selected_loads(model, asked, how, q, v, a, wrenches, reaction, lam)

            return function

        # Names have no part in the digest, so they must not choose the kernel either.
        places = [tuple(place) for place in self._asked]
        self._what = f"{places} {self.convention!r} {reaction}"
        what = f"{self._what} loads {closed} {self.links} {self._axes}"
        wanted = Wanted(function_of, inputs, tuple(outputs), "joint_loads", what)
        self.kernel = wanted.kernel(model, parameters)
        self._drives: tuple[str, ...] | None = None
        if closed:
            self._drives = actuated_joints(model, actuated)
            self._changes = self._changes_kernel(parameters)
            self._noticed = row_choice(model).noticed

    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external: ArrayLike | None = None,
        *,
        lam: ArrayLike | None = None,
        threads: int = 1,
        check: bool = True,
    ) -> JointLoads:
        """Return the loads at one state, or at N states.

        Parameters
        ----------
        q, v, a : (n,) or (N, n) coordinates, velocities, accelerations; they satisfy the loops
        external : (L, 6) or (N, L, 6) force (N) and moment (N m) on each of `links`, at the
            link's origin, in the axes that the solver was prepared for
        lam : (m,) or (N, m) multipliers of the loops, where they are known (of a simulation, in
            which forces along passive coordinates are given); None: they follow from the motion
        threads : share the states among this many threads
        check : raise if a result is not finite, a quaternion not of unit length, a loop not
            closed, or a motion not possible with the drives; False leaves what comes out
        """
        check = flag("check", check)
        own_q = unit_quaternions(self.model, q) if check else q
        inputs: dict[str, ArrayLike] = {"q": own_q, "v": v, "a": a}
        pushes: tuple[Array, ...] = ()
        if self.links:
            pushes = (self._packed(external),)
        elif external is not None:
            raise StateError(
                "external: this solver was prepared for no wrenches; name the links that carry "
                "them in links=[...]"
            )
        flags: tuple[Array, ...] | None = None
        solved: Array | None = None
        if self._drives is not None and self.parameters is not None:
            raise ModelError(
                "the multipliers of variants with loops come from their simulation: ask "
                "simulate_batch(..., parameters=...).joint_loads(joints)"
            )
        if self._drives is not None:
            found = self._inverse(
                own_q,
                v,
                a,
                *pushes,
                threads=threads,
                check=check and lam is None,
                minimum_norm=self._minimum_norm,
            )
            inputs["lam"] = found.lam if lam is None else lam
            if lam is None and self._inverse.spins:
                inputs["a"] = solved = found.a
            flags = self._flags(own_q, found.open, threads)
        elif lam is not None:
            raise StateError("lam: this mechanism has no loops (or they were left open)")
        if pushes:
            inputs["external"] = pushes[0]
        variants = [] if self.parameters is None else [self.parameters.inputs]
        outputs, finite = self.kernel.run(*inputs.values(), *variants, threads=threads)
        if check and not finite:
            explain(self.model, inputs, *outputs)
        result = self.result(outputs, flags)
        if solved is None:
            return result
        return replace(result, spins=tuple(spin.name for spin in self._inverse.spins), a=solved)

    def single(self) -> Single:
        """Return the fastest way for one state at a time, as in a control loop.

        ``run(q, v, a)`` of the result returns force (J, 3), moment (J, 3) and drive (F,): always
        the same arrays, overwritten by the next call, unchecked for nan. Of a machine with loops
        it takes the multipliers of the loops too: ``run(q, v, a, lam)``.
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

    @cached_property
    def _inverse(self) -> ClosedInverse:
        assert self._drives is not None, "there are loops"
        return ClosedInverse(self.model, self._drives, self.links, self._axes)

    def _changes_kernel(self, parameters: Parameters | None) -> Kernel:
        """Return the kernel of the squares of what open multipliers do (`changes`)."""
        rows, sizes = len(self.model.row_scale), Sizes.of(self.model, self._asked)

        def function_of(model: Model) -> Traceable:
            def function(q: Array, opened: Array) -> tuple[Array, ...]:
                each = [opened[k * rows : (k + 1) * rows] for k in range(PROBES)]
                asked, how = self._asked, self.convention
                return changes(model, asked, how, q, self._reaction, each, sizes)

            return function

        inputs = {"q": self.model.nq, "open": PROBES * rows}
        outputs = ("wrench", "drive", "reaction")[: 3 if self._reaction else 2]
        wanted = Wanted(function_of, inputs, outputs, "open_loads", f"{self._what} open")
        return wanted.kernel(self.model, parameters)

    def flags(self, q: ArrayLike, basis: Array, *more: ArrayLike) -> tuple[Array, ...]:
        """Return which components (J, 6), drives (F,) and reactions are determined at one position.

        Parameters
        ----------
        basis : (m, r) of the multipliers that are open there (`solve.constrained.left_open`)
        more : parameters of the variant, where the solver was made for variants
        """
        scale = self.model.row_scale
        free = np.linalg.qr(basis * scale[:, None])[0]
        opened = probes(len(scale)) @ free @ free.T / scale
        squares = self._changes(q, opened.reshape(-1), *more)
        return tuple(~(square > self._noticed**2) for square in squares)

    def _flags(self, q: ArrayLike, opened: Array, threads: int) -> tuple[Array, ...]:
        """Return which components (..., J, 6), drives (..., F) and reactions are determined."""
        flat = opened.reshape(*opened.shape[:-2], PROBES * opened.shape[-1])
        squares = self._changes(q, flat, threads=threads)
        return tuple(~(square > self._noticed**2) for square in squares)

    def result(
        self, outputs: tuple[Array, ...], flags: tuple[Array, ...] | None = None
    ) -> JointLoads:
        """Return the kernel's outputs with their names, flags (None: all true) and convention."""
        force, moment, drive, *reaction = outputs
        shapes = (*force.shape[:-1], 6), drive.shape, (*force.shape[:-1], 6)
        given = flags or (np.ones((), dtype=bool),) * 3
        flags = tuple(map(np.broadcast_to, given, shapes))
        own_force, own_moment, own_flags = (*reaction, flags[2]) if reaction else (None,) * 3
        return JointLoads(
            self.joints,
            force,
            moment,
            drive,
            self._names,
            self._places,
            flags[0],
            flags[1],
            self.convention,
            own_force,
            own_moment,
            own_flags,
            self.model,
        )
