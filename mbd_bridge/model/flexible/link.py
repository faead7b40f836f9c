"""What a user says of a flexible link: beam, modes, damping, stations. Frozen, checked here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, get_args

from mbd_bridge.base.arguments import finite_numbers, flag
from mbd_bridge.base.errors import ModelError, unknown_name
from mbd_bridge.model.flexible.beam import Beam
from mbd_bridge.model.flexible.finite_element import DIRECTIONS, Direction
from mbd_bridge.model.flexible.modal_basis import ModalBasis

Kind = Literal[
    "clamped-free",
    "pinned-pinned",
    "clamped-clamped",
    "clamped-pinned",
    "polynomial",
    "finite-element",
    "craig-bampton",
]
MOST = 24
"""Most modes in one direction: closed forms and polynomials keep their digits up to here."""
MOST_ELEMENTS = 1000


@dataclass(frozen=True)
class Modes:
    """Which modes a link has.

    Attributes
    ----------
    kind : closed forms of a uniform beam by its ends ("clamped-free", "pinned-pinned",
        "clamped-clamped", "clamped-pinned"); "polynomial": (x - root)^2, ^3, ... and their natural
        modes; "finite-element": natural modes of the beam held at its root; "craig-bampton": static
        modes of each station, and natural modes with all stations held
    bending_y, bending_z, torsion, axial : how many in each direction. Torsion and axial modes of
        "pinned-pinned", "clamped-clamped" and "clamped-pinned" hold *both* ends about and along the
        axis: the end of a rod that is pressed does not move; with "craig-bampton" it does (there
        they are beside the static ones, which all directions named with 0 or more have; None:
        none at all)
    elements : of "finite-element" and "craig-bampton"
    """

    kind: Kind = "finite-element"
    bending_y: int | None = 2
    bending_z: int | None = None
    torsion: int | None = None
    axial: int | None = None
    elements: int = 24

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ModelError(f"modes: {unknown_name('kind', self.kind, get_args(Kind))}")
        for name in DIRECTIONS:
            number = getattr(self, name)
            if number is not None and (type(number) is not int or not 0 <= number <= MOST):
                raise ModelError(f"modes: {name}: expected 0 to {MOST}, got {number!r:.60}")
        if type(self.elements) is not int or not 1 <= self.elements <= MOST_ELEMENTS:
            raise ModelError(
                f"modes: elements: expected 1 to {MOST_ELEMENTS}, got {self.elements!r:.60}"
            )
        if not self.directions:
            raise ModelError(
                "modes: none in any direction: a link without modes is rigid; leave it out, or "
                "give bending_y, bending_z, torsion or axial"
            )

    @property
    def directions(self) -> tuple[Direction, ...]:
        """Directions that have modes."""
        least = 0 if self.kind == "craig-bampton" else 1
        counts = {name: self.count(name) for name in DIRECTIONS}
        return tuple(name for name, n in counts.items() if n is not None and n >= least)

    def count(self, direction: Direction) -> int | None:
        """Return how many modes a direction has, None where it is rigid."""
        number: int | None = getattr(self, direction)
        return number


@dataclass(frozen=True)
class Damping:
    """Damping of the modes: D = α M + β K, and a ratio of critical damping for all of them.

    Attributes
    ----------
    ratio : of critical, for each natural mode of the link alone
    alpha : 1/s, of the mass matrix; `beta` : s, of the stiffness matrix (Rayleigh)
    """

    ratio: float = 0.0
    alpha: float = 0.0
    beta: float = 0.0

    def __post_init__(self) -> None:
        for name in ("ratio", "alpha", "beta"):
            number = float(
                finite_numbers(f"damping: {name}", getattr(self, name), (), error=ModelError)
            )
            if number < 0.0:
                raise ModelError(f"damping: {name}: expected 0 or more, got {number:g}")
            object.__setattr__(self, name, number)


@dataclass(frozen=True)
class FlexibleLink:
    """A link that bends.

    Attributes
    ----------
    link : its name. The beam's mass takes the place of the link's inertia
    beam : where it is, material and section; or a `ModalBasis` from elsewhere
    modes : of deflection
    damping : of the modes
    stiffening : whether the shortening of the bent axis, second order in the coordinates, is
        kept: stiffening by rotation, softening by pressure
    stations : name -> m along the beam (of a modal basis: number of the node, from 0): links
        LINK.NAME without mass that move with the section there, to which forces, loads and loops
        can be attached. Joints on the link, its loop ends and its end (LINK.tip) have stations
        without being named
    slope : whether what is attached turns with the section there; False: it moves with the section
        but keeps the axes of the undeformed link, so that a joint's angle counts from these
        (LeeJoo90 (52)), and a moment there does no work on the modes
    """

    link: str
    beam: Beam | ModalBasis
    modes: Modes = Modes()
    damping: Damping = Damping()
    stiffening: bool = False
    stations: Mapping[str, float] = field(default_factory=dict)
    slope: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.link, str):
            raise ModelError(f"flexible link: expected a link's name, got {self.link!r:.60}")
        kinds = (("beam", Beam | ModalBasis), ("modes", Modes), ("damping", Damping))
        for name, kind in kinds:
            if not isinstance(getattr(self, name), kind):
                raise ModelError(
                    f"flexible link {self.link!r}: {name}: expected a {name.title()}, "
                    f"got {getattr(self, name)!r:.60}"
                )
        for name in ("stiffening", "slope"):
            object.__setattr__(self, name, flag(name, getattr(self, name)))
        if isinstance(self.beam, ModalBasis) and (self.stiffening or self.modes != Modes()):
            raise ModelError(
                f"flexible link {self.link!r}: a modal basis has its own modes, and its shortening "
                f"is not known; leave modes and stiffening out"
            )
        places = {}
        for name, x in dict(self.stations).items():
            where = f"flexible link {self.link!r}: station {name!r}"
            number = float(finite_numbers(where, x, (), error=ModelError))
            if not isinstance(name, str) or not name or name in ("tip", "flex"):
                raise ModelError(f"{where}: expected a name other than 'tip' and 'flex'")
            self.beam.check_place(where, number)
            places[name] = number
        object.__setattr__(self, "stations", MappingProxyType(places))

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, for another process: a mapping proxy does not travel."""
        return self.__dict__ | {"stations": dict(self.stations)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the fields."""
        self.__dict__.update(state, stations=MappingProxyType(state["stations"]))
