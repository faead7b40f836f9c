"""Links that bend, as methods: how far they are deflected, and the loads inside them.

With the modes' displacement U, rotation Ψ and shortening S at the place, and modal coordinates η

    u = U η + ηᵀ S η / 2,      θ = Ψ η,      E_k = η_k (K η)_k / 2,      Σ E_k = strain energy
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.base.arguments import finite_numbers, known_name
from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.base.options import with_options
from mbd_bridge.base.plots import Panel, PlotLine, draw_panels
from mbd_bridge.loads.options import ActingOptions
from mbd_bridge.loads.sections import SectionLoads, SectionSolver
from mbd_bridge.model import Model
from mbd_bridge.model.flexible import ModalBasis
from mbd_bridge.model.flexible.integrals import StationShape, station_shape
from mbd_bridge.model.flexible_links import modes_of, root_of
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion import Motion
from mbd_bridge.simulation import Simulation
from mbd_bridge.solve.check_states import unit_quaternions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MILLI = 1e3
"""mm/m and mJ/J: deflections and their energies are small."""

NOTHING = 1e-9
"""Components that stay below this part of the largest are not drawn."""


@dataclass(frozen=True, eq=False)
class Deflections:
    """Deflections of a flexible link at a place along N states.

    Attributes
    ----------
    link, place : its name, and "tip" or where on it the deflection is
    time : (N,) s, None if there are no times
    displacement : (N, 3) m from where the place is without bending, in the link's axes
    rotation : (N, 3) rad, of the cross section there
    modes : names of the modal coordinates
    amplitudes : (N, n) modal coordinates, m (torsion: rad)
    energies : (N, n) J: each mode's share of the strain energy; their sum is that energy
    """

    link: str
    place: str
    time: Array | None
    displacement: Array
    rotation: Array
    modes: tuple[str, ...]
    amplitudes: Array
    energies: Array

    @property
    def deflection(self) -> Array:
        """Size of the displacement (N,) m."""
        return np.asarray(np.linalg.norm(self.displacement, axis=1))

    def plot(self, *, ax: Axes | Sequence[Axes] | None = None) -> list[Axes]:
        """Draw deflection and strain energy by mode along time, and return the axes.

        Parameters
        ----------
        ax : two axes to draw into; None makes a figure
        """
        if self.time is None:
            raise StateError("these deflections have no times; give a Simulation or a Motion")
        largest = np.abs(self.displacement).max(initial=0.0)
        lines = tuple(
            PlotLine(f"along {axis}", MILLI * self.displacement[:, k])
            for k, axis in enumerate("xyz")
            if np.abs(self.displacement[:, k]).max(initial=0.0) > NOTHING * largest
        )
        shares = tuple(
            PlotLine(name, MILLI * self.energies[:, k]) for k, name in enumerate(self.modes)
        )
        panels = [
            Panel(f"{self.link}: deflection of {self.place}", "deflection", "mm", lines),
            Panel(f"{self.link}: strain energy by mode", "energy", "mJ", shares),
        ]
        return draw_panels(self.time, "time [s]", panels, ax=ax)


def deflections(
    machine: Simulation | Mechanism,
    motion: Motion | None = None,
    *,
    link: str | None = None,
    x: float | None = None,
    q: ArrayLike | None = None,
) -> Deflections:
    """Return how far a flexible link is deflected, and each mode's share; `plot` draws both.

    Parameters
    ----------
    motion : of a mechanism, with its modal coordinates
    link : its name; may be left out where one link bends
    x : m along its beam (of a modal basis: number of the node); None: the far end
    q : (nq,) or (N, nq) states of a mechanism in place of a motion
    """
    if isinstance(machine, Simulation):
        if motion is not None or q is not None:
            raise StateError("a simulation has its own motion; leave out motion= and q=")
        return _of_states(machine.model, machine.q, link, x, machine.time)
    if (motion is None) == (q is None):
        raise StateError("give the mechanism a motion or q=, one of them")
    if motion is None:
        assert q is not None
        return _of_states(machine.model, q, link, x)
    if not isinstance(motion, Motion):
        raise StateError(
            f"motion: expected a Motion, as robot.read_motion returns, got {motion!r:.60}; "
            f"states go in q="
        )
    if tuple(motion.coordinates) != machine.model.coordinate_names:
        raise StateError("the motion is one of other coordinates; load it for this mechanism")
    return _of_states(machine.model, motion.q, link, x, motion.time)


@with_options
def section_loads(
    machine: Mechanism,
    link: str,
    x: ArrayLike,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    t: ArrayLike | None = None,
    check: bool = True,
    **options: Unpack[ActingOptions],
) -> SectionLoads:
    """Return axial force, shear, torsion and bending in cross sections of a flexible link.

    Parameters
    ----------
    link : that bends
    x : (K,) m along its beam. At a station the load is that just before it, on the root's side
    q, v, a : (nq,), (nv,), (nv,) or (N, ...)
    t, check : see `Mechanism.joint_loads`
    **options : of what acts
    """
    solver = SectionSolver(machine.model, link, x)
    loads = machine.joint_loads(q, v, a, solver.stations, t=t, check=check, **options)
    return solver(q, v, a, loads.wrench)


def _of_states(
    model: Model,
    q: ArrayLike,
    link: str | None = None,
    x: float | None = None,
    time: Array | None = None,
) -> Deflections:
    """Return the deflections of a flexible link.

    Parameters
    ----------
    q : (N, nq), or (nq,) for one state
    link : its name; may be left out where one link bends
    x : m along the beam (of a modal basis: number of the node); None: the far end
    time : (N,) s
    """
    known = {one.link: one for one in model.description.flexible}
    if not known:
        raise ModelError(f"no link of {model.name!r} bends: there is no deflection")
    if link is None and len(known) > 1:
        raise ModelError(f"link: several bend: {', '.join(known)}; name one")
    name = next(iter(known)) if link is None else link
    known_name("flexible link", name, known, error=ModelError)
    states = np.atleast_2d(np.asarray(unit_quaternions(model, q), dtype=np.float64))
    if states.ndim != 2 or states.shape[1] != model.nq:
        raise StateError(f"q: expected (N, {model.nq}), got {np.shape(q)}")
    part = next(one for one in model.flexible if model.links[one.link].name == name)
    place, shape = _shape(model, name, x)
    eta = states[:, part.q]
    moved = eta @ shape.displacement.T
    moved += 0.5 * np.einsum("mni,sm,sn->si", shape.shortening, eta, eta)
    return Deflections(
        name,
        place,
        time,
        moved,
        eta @ shape.rotation.T,
        model.coordinate_names[part.q],
        eta,
        0.5 * eta * (eta @ part.stiffness.T),
    )


def _shape(model: Model, name: str, x: float | None) -> tuple[str, StationShape]:
    """Return the name of a place, and what the modes do there."""
    flexible = next(one for one in model.description.flexible if one.link == name)
    source, root = flexible.beam, root_of(model.description, flexible)
    where = f"deflections of {name!r}: x"
    given = None if x is None else float(finite_numbers(where, x, (), error=ModelError))
    if given is not None:
        source.check_place(where, given)
    at = source.far_end(root) if given is None else given
    if isinstance(source, ModalBasis):
        shapes, turns = source.tangent_at(root)
        none = np.zeros((len(shapes), len(shapes), 3))
        row = source.row(at)
        found = StationShape(shapes[:, row].T, turns[:, row].T, none)
        return "the tip" if given is None else f"node {int(at)}", found
    modes = modes_of(model.description, flexible)
    found = station_shape(source, modes, root, at, stiffening=flexible.stiffening)
    return "the tip" if given is None else f"x = {at:g} m", found
