"""What a cut joint forbids: one entry a type, as a list of two kinds of elementary rows.

Of the joint's frames a (on the predecessor) and b (on the successor), whose z is the joint's
axis, with d the way from a's origin to b's:

    Along(i)       a_i · d = 0            no motion along the axis i of a
    Across(i, j)   a_i · b_j = 0          axis i of a stays perpendicular to axis j of b, or at the
                                          angle that a `cosine` tells

(Haug's dot-2 and dot-1 constraints; Lee94 (13) for the joints of his Table 1.) A universal joint's
second axis is x of b. A distance joint has a row of its own: (d · d - L²) / 2L = 0; so has a
coupling of two coordinates (`couplings`).

A wheel with a knife edge that rolls on a plane has three (`equations.cuts`): its lowest point
touches the plane, Φ = height, and slips neither along nor across the track. The latter two, `Slip`,
constrain velocities only: there is no Φ whose derivative they are, Φ_q v = 0 is all that they say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mbd_bridge.model.spatial import Frame

X, Y, Z = range(3)


class Along(NamedTuple):
    """a_i · d = 0."""

    i: int


class Across(NamedTuple):
    """a_i · b_j = cosine."""

    i: int
    j: int
    cosine: float = 0.0


class Distance(NamedTuple):
    """(d · d - L²) / 2L = 0."""

    length: float


class Height(NamedTuple):
    """The lowest point of a rim with this radius (m) is in the plane."""

    radius: float


class Slip(NamedTuple):
    """That point of the rim has no velocity in the plane: a row for velocities only.

    direction : 0 along the track, 1 across
    """

    radius: float
    direction: int


class Place(NamedTuple):
    """A coordinate: the body that its joint moves, and which of the joint's coordinates it is."""

    body: int
    coordinate: int


class Coupled(NamedTuple):
    """q_j - Σ ratio q_i - offset = 0, for coordinates whose rates are velocities."""

    own: Place
    leaders: tuple[tuple[Place, float], ...]
    offset: float


Row = Along | Across | Distance | Height | Slip | Coupled

POINT = (Along(X), Along(Y), Along(Z))
AXIS = (Across(X, Z), Across(Y, Z))
"""z of b stays along z of a (or against it: assembly tells)."""
SPIN = (Across(X, Y),)

CUT_ROWS: dict[str, tuple[Row, ...]] = {
    "planar": (Along(Z), *AXIS),
    "spherical": POINT,
    "cylindrical": (Along(X), Along(Y), *AXIS),
    "universal": (*POINT, Across(Z, X)),
    "revolute": (*POINT, *AXIS),
    "translational": (Along(X), Along(Y), *AXIS, *SPIN),
    "fixed": (*POINT, *AXIS, *SPIN),
    "floating": (),
}
"""Type name -> rows. ``distance`` has its length and ``rolling`` its radius, and so no entry here;
a free joint that does not carry the tree forbids nothing."""


def universal_rows(cosine: float) -> tuple[Row, ...]:
    """Return the rows of a universal joint whose axes have this cosine between them."""
    return (*POINT, Across(Z, X, cosine))


def rolling_rows(radius: float) -> tuple[Row, ...]:
    """Return the rows of a wheel that rolls on a plane: normal, along and across the track."""
    return (Height(radius), Slip(radius, 0), Slip(radius, 1))


def mask_rows(mask: Sequence[int]) -> tuple[Row, ...]:
    """Return the rows of a mask (x, y, z, turns about x, y, z): 1 forbids.

    With two turns forbidden the third axis of b stays along that of a; with one, about z say, x of
    a stays square to y of b.
    """
    along = [Along(i) for i in range(3) if mask[i]]
    turns = [i for i in range(3) if mask[3 + i]]
    if len(turns) == 3:
        return (*along, *AXIS, *SPIN)
    if len(turns) == 2:
        (free,) = {X, Y, Z} - set(turns)
        return (*along, *(Across(i, free) for i in turns))
    return (*along, *(Across((k + 1) % 3, (k + 2) % 3) for k in turns))


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """A joint that closes a loop, as it is cut.

    Attributes
    ----------
    name, type : as described
    predecessor, successor : body indices (of a coupling: of the first leader and of what follows;
        of one without leaders: those that its joint connects)
    links : indices of the two links
    a, b : the joint's frames in these bodies, z along its axis; of a rolling wheel, a has its
        origin in the plane and z along the plane's normal, b its origin at the wheel's centre and
        z along the wheel's axis
    rows : what the joint forbids
    described : the joint's frame on the successor as described, in the successor's body: its load
        is given at its origin
    """

    name: str
    type: str
    predecessor: int
    successor: int
    links: tuple[int, int]
    a: Frame
    b: Frame
    rows: tuple[Row, ...]
    described: Frame
