"""Loads in cross sections of flexible links: axial force, shear, torsion, bending, stress."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import finite_numbers, known_name
from mbd_bridge.base.errors import ModelError
from mbd_bridge.equations.section_loads import SectionCut, section_loads
from mbd_bridge.kernels import Kernel
from mbd_bridge.model import Model
from mbd_bridge.model.flexible import Beam, ModalBasis, Section, SectionTable
from mbd_bridge.model.flexible.integrals import mass_integrals, station_shape
from mbd_bridge.model.flexible_links import held_stations, in_body, modes_of, root_of, station_type
from mbd_bridge.model.spatial import Array, Frame
from mbd_bridge.solve.model_kernel import model_kernel


@dataclass(frozen=True, eq=False)
class SectionLoads:
    """Loads in cross sections of a beam, for one state or N.

    Attributes
    ----------
    link : its name
    x : (K,) m along the beam
    force, moment : ([N,] K, 3) N, N m: what the side of the root (where the link is held) exerts on
        the part beyond, at the section's centre, in its axes: x along the beam, y and z the
        section's
    outward : (K,) 1 where the part beyond is towards the beam's end, -1 where towards its start
    """

    link: str
    x: Array
    force: Array
    moment: Array
    outward: Array
    beam: Beam

    @property
    def axial(self) -> Array:
        """Axial force ([N,] K) N, tension positive."""
        return np.asarray(-self.outward * self.force[..., 0])

    @property
    def shear(self) -> Array:
        """Shear force ([N,] K) N: the size of both components."""
        return np.asarray(np.hypot(self.force[..., 1], self.force[..., 2]))

    @property
    def torsion(self) -> Array:
        """Torque ([N,] K) N m."""
        return np.asarray(self.moment[..., 0])

    @property
    def bending(self) -> Array:
        """Bending moment ([N,] K) N m: the size of both components."""
        return np.asarray(np.hypot(self.moment[..., 1], self.moment[..., 2]))

    def normal_stress(self, y: ArrayLike = 0.0, z: ArrayLike = 0.0) -> Array:
        """Return the normal stress ([N,] K) Pa, tension positive, at a point of the sections.

        σ = N / A + (My z / Iy - Mz y / Iz), with the moments of the side beyond on that of the root
        at an outward normal along x.

        Parameters
        ----------
        y, z : m from the centre, along the section's axes
        """
        at = self.beam.at(self.x)
        A, Iy, Iz = (part / self.beam.E for part in (at.EA, at.EIy, at.EIz))
        My, Mz = (-self.outward * self.moment[..., k] for k in (1, 2))
        return np.asarray(self.axial / A + My * np.asarray(z) / Iy - Mz * np.asarray(y) / Iz)

    @property
    def largest_stress(self) -> Array:
        """Largest normal stress ([N,] K) Pa, by size: at the corners (half_y, half_z), for round
        sections at the fibre that bends most.

        Between a round section and one with corners (`SectionTable`) corners are assumed.
        """
        section, sections = self.beam.section, sections_of(self.beam)
        if not has_fibres(self.beam):
            raise ModelError(
                f"link {self.link!r}: its section has no outermost fibres; give half_y and half_z "
                f"of the Section, or ask for normal_stress(y, z)"
            )
        places = section.x if isinstance(section, SectionTable) else (0.0,)
        y = np.interp(self.x, places, [one.half_y or 0.0 for one in sections])
        z = np.interp(self.x, places, [one.half_z or 0.0 for one in sections])
        corners = [self.normal_stress(a * y, b * z) for a in (-1, 1) for b in (-1, 1)]
        largest = np.abs(corners).max(axis=0)
        cornered = np.interp(self.x, places, [0.0 if one.round else 1.0 for one in sections])
        at = self.beam.at(self.x)
        A, Iy, Iz = (part / self.beam.E for part in (at.EA, at.EIy, at.EIz))
        bent = np.hypot(self.moment[..., 1] * z / Iy, self.moment[..., 2] * y / Iz)
        return np.where(cornered > 0.0, largest, np.abs(self.axial / A) + bent)


def sections_of(beam: Beam) -> tuple[Section, ...]:
    """Return the sections that a beam is given by."""
    return beam.section.sections if isinstance(beam.section, SectionTable) else (beam.section,)


def has_fibres(beam: Beam) -> bool:
    """Return whether the outermost fibres of all sections are known, as stresses need."""
    return all(one.half_y is not None and one.half_z is not None for one in sections_of(beam))


class SectionSolver:
    """The loads of some sections of a flexible link, prepared once.

    Attributes
    ----------
    stations : joints of the stations whose loads (parent on child, at the joint, in child axes) the
        call takes
    """

    def __init__(self, model: Model, link: str, x: ArrayLike) -> None:
        known = {one.link: one for one in model.description.flexible}
        known_name("flexible link", link, known, error=ModelError)
        flexible, beam = known[link], known[link].beam
        if isinstance(beam, ModalBasis):
            raise ModelError(
                f"sections of {link!r}: its modal basis says nothing of sections; they need a Beam"
            )
        self.x = np.atleast_1d(finite_numbers(f"sections of {link!r}: x", x, error=ModelError))
        length = beam.length
        if self.x.ndim > 1 or not ((self.x >= 0.0) & (self.x <= length)).all():
            raise ModelError(
                f"sections of {link!r}: expected places from 0 to the beam's length, {length:g} m, "
                f"got {x!r:.60}"
            )
        self.model, self.flexible, self.beam = model, flexible, beam
        self.root = root_of(model.description, flexible)
        held = held_stations(model.description, link)
        self.stations = tuple(one.name for one in held)
        places = [beam.place(one.origin.translation) for one in held]
        bodies = [model.joint(name).body for name in self.stations]
        number = model.link_index[link]
        part = next(one for one in model.flexible if one.link == number)
        modes = modes_of(model.description, flexible)
        frame = beam.frame()
        self.outward = np.where(self.x >= self.root, 1.0, -1.0)
        self._cuts = []
        for place, side in zip(self.x.tolist(), self.outward, strict=True):
            between = (place, length) if side > 0 else (0.0, place)
            own = mass_integrals(beam, modes, self.root, between, stiffening=flexible.stiffening)
            beyond = replace(part, integrals=in_body(own, model.links[number].frame))
            far = tuple(
                body
                for body, at in zip(bodies, places, strict=True)
                if (at - place) * side > 0.0 or beam.same(at, place)
            )
            shape = station_shape(beam, modes, self.root, place, stiffening=flexible.stiffening)
            motion = station_type(shape, tuple(one.direction != "torsion" for one in modes))
            undeformed = Frame(frame.rotation, beam.point(place))
            self._cuts.append(SectionCut(beyond, motion, undeformed, far))
        self._bodies = bodies

    def kernel(self) -> Kernel:
        """Return the kernel of (q, v, a, loads of the stations) -> (K, 6)."""
        model = self.model

        def function(q: Array, v: Array, a: Array, loads: Array) -> tuple[Array, ...]:
            of = {body: loads[6 * k : 6 * k + 6] for k, body in enumerate(self._bodies)}
            return (section_loads(model, self._cuts, q, v, a, of),)

        sizes = {"q": model.nq, "v": model.nv, "a": model.nv, "loads": 6 * len(self._bodies)}
        what = self.flexible.link, self.x
        return model_kernel(model, "section_loads", sizes, ("loads",), function, what)

    def __call__(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, wrench: Array) -> SectionLoads:
        """Return the loads for one state or N.

        Parameters
        ----------
        wrench : ([N,] stations, 6) loads of `stations`
        """
        packed = wrench.reshape(*wrench.shape[:-2], -1)
        (found,) = self.kernel()(q, v, a, packed)
        return SectionLoads(
            self.flexible.link, self.x, found[..., :3], found[..., 3:], self.outward, self.beam
        )
