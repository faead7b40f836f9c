"""The mechanism as its user holds it: ask it for loads, dynamics, referees.

`Mechanism` is a model together with what was prepared for it so far: the first question of a
kind makes (or finds on disk) the machine code for it, later ones use it. To decide yourself what
is prepared and when, hold a `LoadSolver` or a `Kernel`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.api.loops import Loops
from mbd_bridge.arguments import finite_numbers, flag, name_list
from mbd_bridge.crosscheck import Report
from mbd_bridge.crosscheck import crosscheck as compare
from mbd_bridge.equations.cartesian import link_velocity, placement
from mbd_bridge.errors import ModelError, StateError, unknown_name, warn
from mbd_bridge.formats import Description
from mbd_bridge.kernels import Kernel, is_traced
from mbd_bridge.loads import (
    Convention,
    JointLoads,
    LoadSolver,
    Motion,
)
from mbd_bridge.loads.free_body import FreeBody, free_body, joints_of
from mbd_bridge.loads.selected import asked_for
from mbd_bridge.mechanism import EARTH, RANK_TOLERANCE, Builder, Cuts, Model, build_model, rebuilt
from mbd_bridge.mechanism.payload import with_payload
from mbd_bridge.solve import (
    Assembly,
    ConstrainedDynamics,
    Dynamics,
    assemble,
)
from mbd_bridge.solve.assembly import Wish
from mbd_bridge.solve.closed_kernel import kernel_of
from mbd_bridge.solve.constrained import actuated_joints
from mbd_bridge.solve.dynamics import FUNCTIONS
from mbd_bridge.solve.prepared import Prepared, in_link_axes
from mbd_bridge.solve.wrenches import External, check_axes, links_of, pack_external
from mbd_bridge.spatial import Array


class Mechanism:
    """A mechanism to which questions are put.

    Attributes
    ----------
    model : the immutable `Model`
    prepared : what was made for it so far
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.prepared = Prepared(model)

    @staticmethod
    def build(
        source: Builder | Description,
        *,
        floating: bool = False,
        gravity: ArrayLike = EARTH,
        cuts: Cuts = "authored",
        rank_tolerance: float = RANK_TOLERANCE,
    ) -> Mechanism:
        """Return the mechanism that a `Builder` has collected, or of any description.

        For the options see `load`.
        """
        description = source.description() if isinstance(source, Builder) else source
        model = build_model(
            description,
            floating=floating,
            gravity=gravity,
            cuts=cuts,
            rank_tolerance=rank_tolerance,
        )
        return Mechanism(model)

    @staticmethod
    def from_pinocchio(
        model: Any, constraints: Sequence[Any] = (), *, rank_tolerance: float = RANK_TOLERANCE
    ) -> Mechanism:
        """Return the mechanism of a ``pinocchio.Model``, its joints and frames by name.

        ``RigidConstraintModel``s become loop joints: balls (3-D) and welds (6-D).
        """
        from mbd_bridge.bridges.pinocchio import from_pinocchio

        return Mechanism(from_pinocchio(model, constraints, rank_tolerance))

    def to_pinocchio(self) -> Any:
        """Return a ``pinocchio.Model`` with the same bodies, joints and gravity.

        Joints that mimic another are independent there, as in pinocchio's own reading by default.
        """
        from mbd_bridge.bridges.pinocchio import to_pinocchio

        if any(body.coupled for body in self.model.bodies):
            warn("joints that mimic another are independent in the pinocchio model")
        return to_pinocchio(self.model).model

    @property
    def name(self) -> str:
        """Name of the mechanism."""
        return self.model.name

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.model.nq

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return self.model.nv

    @property
    def joint_names(self) -> tuple[str, ...]:
        """All joints of the tree, fixed ones too, without the root joint."""
        return tuple(joint.name for joint in self.model.joints[1:])

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the entries of q."""
        return self.model.coordinate_names

    def neutral(self) -> Array:
        """Return the coordinates with every joint in its zero position."""
        return self.model.neutral()

    def joint_loads(
        self,
        q: ArrayLike | Motion,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        joints: Iterable[str | int] | str | None = None,
        *,
        on: str = "child",
        at: str | Sequence[float] = "joint",
        in_: str = "child",
        external: External | None = None,
        external_in: str = "link",
        reaction: bool = False,
        threads: int = 1,
        check: bool = True,
        actuated: Iterable[str] | str | None = None,
        minimum_norm: bool = False,
    ) -> JointLoads:
        """Return force, moment and drive of chosen joints at one state or at N states.

        Parameters
        ----------
        q, v, a : (nq,), (nv,), (nv,) or (N, ...): rad or m, and their rates; or a motion
            (`mbd.load_motion`) in the place of q, without v and a: then the loads know their times
        joints : names, of loop joints too; None for all. ``"root_joint"`` is what holds the root
            link
        on : "child": the load of the parent on the child (as pinocchio's ``data.f``);
            "parent": the opposite
        at : "joint": at the joint's origin, which moves with the child; "parent": at its origin
            on the parent; or at a point (x, y, z) m in the child link's frame
        in_ : axes of the "child" link, of the "parent" link or of the "world"
        external : link name -> wrench that acts on it from outside, (6,) or (N, 6): force (N),
            then moment (N m), at the origin of the link's frame. Links that are not named are
            free of them
        external_in : these are given in the axes of their "link" or of the "world"
        reaction : give the load without the drive's part as well
        threads : share the states among this many threads
        check : raise if a result is not finite, or a motion does not satisfy the loops or cannot
            be made by the drives; False leaves what comes out
        actuated : in a mechanism with loops, the joints that have a drive, as many as it has
            freedoms; None: those that the file names
        minimum_norm : allow more; what they share is then the smallest for the loop joints
        """
        if isinstance(q, Motion):
            if v is not None or a is not None:
                raise StateError("a motion has its own v and a: joint_loads(motion, joints=[...])")
            own: dict[str, Any] = {"on": on, "at": at, "in_": in_, "reaction": reaction}
            own |= {"external": external, "external_in": external_in, "actuated": actuated}
            own |= {"minimum_norm": minimum_norm, "threads": threads, "check": check}
            return self.joint_loads(q.q, q.v, q.a, joints, **own).along(q.time, q.v)
        if v is None or a is None:
            raise StateError("expected q, v and a, or a motion; zeros(nv) is a state at rest")
        wanted, places = asked_for(self.model, joints, cuts=self.model.has_loops)
        drives = actuated if actuated is None else name_list("actuated", actuated, "joints")
        links, axes = links_of(external), check_axes(external_in)
        options: dict[str, Any] = {
            "on": on,
            "at": at,
            "in_": in_,
            "links": links,
            "external_in": axes,
        }
        reaction = flag("reaction", reaction)
        minimum_norm = flag("minimum_norm", minimum_norm)
        options |= {"reaction": reaction, "actuated": drives, "minimum_norm": minimum_norm}
        how = Convention.of(on, at, in_)
        solver = self.prepared.get(
            ("loads", places, how, links, axes, reaction, drives, minimum_norm),
            lambda: self.load_solver(wanted, **options),
        )
        packed = pack_external(external, links) if external else None
        return solver(q, v, a, packed, threads=threads, check=check)

    def free_body(
        self,
        link: str,
        q: ArrayLike | Motion,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        *,
        external: External | None = None,
        external_in: str = "link",
        **options: Any,
    ) -> FreeBody:
        """Return all that acts on a link: its joints, gravity, inertia; see `joint_loads`.

        Examples
        --------
        >>> robot.free_body("forearm", motion).at("peak").write("forearm.bdf")   # doctest: +SKIP
        """
        states: tuple[Any, Any, Any] = (q.q, q.v, q.a) if isinstance(q, Motion) else (q, v, a)
        pushes = in_link_axes(self.prepared, states[0], external, external_in)
        names = joints_of(self.model, link)
        loads = self.joint_loads(q, v, a, names, external=pushes, **options)
        own = pushes.get(link) if pushes else None
        own_q, own_v, given = states
        rates = given if loads.a is None else loads.a
        body = free_body(self.model, link, own_q, own_v, rates, loads, external=own)
        if options.get("check", True) and not np.isfinite(body.sum).all():
            raise StateError("q, v, a, external: so large that the forces on the link overflow")
        return body

    def assemble(self, near: Wish = None, **options: Any) -> Assembly:
        """Return the state nearest to a wish at which every loop is closed; see `solve.assemble`.

        Examples
        --------
        >>> q = bar.assemble(near={"crank": 1.0}, fixed="crank").q        # doctest: +SKIP
        """
        return assemble(self.model, near, **options)

    @property
    def loops(self) -> Loops:
        """The loops: ``mechanism.loops.report(q)`` has freedoms, redundancy, singularity."""
        return Loops(self.model)

    def load_solver(
        self, joints: Iterable[str | int] | str | None = None, **options: Any
    ) -> LoadSolver:
        """Return a `LoadSolver` for chosen joints: prepare once, evaluate many times."""
        return LoadSolver(self.model, joints, **options)

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external: External | None = None,
        *,
        external_in: str = "link",
        threads: int = 1,
        check: bool = True,
        actuated: Iterable[str] | str | None = None,
        minimum_norm: bool = False,
    ) -> Array:
        """Return the generalised forces (nv,) or (N, nv) that give the accelerations a.

        In a mechanism with loops only the actuated joints have any. For `external`, `external_in`,
        `actuated` and `minimum_norm`, here and below, see `joint_loads`.
        """
        if self.model.has_loops:
            drives = actuated_joints(self.model, actuated)
            options = {"threads": threads, "check": check, "minimum_norm": minimum_norm}
            return self.prepared.drives((q, v, a), external, external_in, drives, **options)
        inputs = {"q": q, "v": v, "a": a}
        return self.prepared.run("inverse_dynamics", inputs, external, external_in, threads, check)

    def bias_forces(
        self,
        q: ArrayLike,
        v: ArrayLike,
        external: External | None = None,
        *,
        external_in: str = "link",
        threads: int = 1,
        check: bool = True,
    ) -> Array:
        """Return the generalised forces of gravity and velocity: they give no acceleration."""
        inputs = {"q": q, "v": v}
        return self.prepared.run("bias_forces", inputs, external, external_in, threads, check)

    def mass_matrix(self, q: ArrayLike, *, threads: int = 1, check: bool = True) -> Array:
        """Return M (nv, nv) or (N, nv, nv)."""
        return self.prepared.run("mass_matrix", {"q": q}, None, "link", threads, check)

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external: External | None = None,
        *,
        external_in: str = "link",
        threads: int = 1,
        check: bool = True,
    ) -> Array:
        """Return the accelerations (nv,) or (N, nv) under the generalised forces tau, loops closed.

        The multipliers of the loops come with `constrained_dynamics`.
        """
        inputs = {"q": q, "v": v, "tau": tau}
        return self.prepared.run("forward_dynamics", inputs, external, external_in, threads, check)

    def constrained_dynamics(
        self, links: Sequence[str] = (), actuated: Iterable[str] | None = None
    ) -> ConstrainedDynamics:
        """Return forward and inverse dynamics of the mechanism with its loops closed."""
        numbers = tuple(map(self.model.link_number, name_list("links", links, "links")))
        return ConstrainedDynamics(self.model, numbers, actuated)

    def kernel(
        self, what: Dynamics, links: Sequence[str] = (), *, at: ArrayLike | None = None
    ) -> Kernel:
        """Return the kernel of one of the functions above; `at`: see `closed_kernel.kernel_of`."""
        if not isinstance(what, str) or what not in FUNCTIONS:
            raise ModelError(f"what: {unknown_name('function', what, FUNCTIONS)}")
        return kernel_of(self.prepared, what, name_list("links", links, "links"), at)

    def placement(self, q: ArrayLike, link: str, *, threads: int = 1) -> Array:
        """Return where a link is in the world, (4, 4) or (N, 4, 4).

        With P the result, x_world = P[:3, :3] @ x_link + P[:3, 3], in m: the columns of
        P[:3, :3] are the link's axes, P[:3, 3] is the origin of its frame. Symbols are taken as
        well: forces given to `simulate` as functions may ask where a link is.
        """
        if is_traced(q):
            return placement(self.model, np.asarray(q), self.model.link_number(link))
        (found,) = self.prepared.placement(link)(q, threads=threads)
        return found

    def velocity(
        self,
        q: ArrayLike,
        v: ArrayLike,
        link: str,
        point: ArrayLike = (0.0, 0.0, 0.0),
        *,
        threads: int = 1,
    ) -> Array:
        """Return the velocity of a point of a link and the link's angular velocity.

        Parameters
        ----------
        q, v : one state or N states, or symbols as for `placement`
        point : (3,) m, in the link's frame

        Returns
        -------
        (6,) or (N, 6), in world axes: m/s, then rad/s.
        """
        inside = finite_numbers("point", point, (3,))
        if is_traced(q, v):
            number = self.model.link_number(link)
            return link_velocity(self.model, np.asarray(q), np.asarray(v), number, inside)
        (found,) = self.prepared.velocity(link)(q, v, inside, threads=threads)
        return found

    def with_payload(
        self,
        link: str,
        mass: float,
        centre: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike = (0.0, 0.0, 0.0),
    ) -> Mechanism:
        """Return the mechanism with a rigid body more, fixed to one of its links.

        Parameters
        ----------
        mass : kg
        centre : (3,) m, of its mass, in the link's frame
        inertia : (3,) principal moments or (3, 3) matrix, kg m², about its centre of mass, along
            the link's axes; none: a point mass
        """
        described = with_payload(self.model.description, link, mass, centre, inertia)
        return Mechanism(rebuilt(self.model, described))

    def crosscheck(self, **options: Any) -> Report:
        """Compare with pinocchio and, where it is installed, pybullet; see `crosscheck`."""
        return compare(self.model, **options)

    def __repr__(self) -> str:
        return f"Mechanism({self.model.summary})"
