"""Numbers of a flexible link that may vary: of its beam, its damping, a modal basis' frequencies.

With the shapes of the modes fixed, mass integrals and stiffness are sums of parts, each of which
is proportional to one property of the beam: EA, E Iy, E Iz, G J, and ρ A, ρ Iy, ρ Iz. So they are
known for all values, for floats and symbols, from one calculation with each property alone.
What would change the shapes is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import known_name
from mbd_bridge.base.errors import ModelError
from mbd_bridge.model.description import Description
from mbd_bridge.model.flexible import Beam, Damping, FlexibleLink, ModalBasis, Section
from mbd_bridge.model.flexible.basis import matrices
from mbd_bridge.model.flexible.beam import Properties
from mbd_bridge.model.flexible.finite_element import Direction
from mbd_bridge.model.flexible.integrals import (
    MassIntegrals,
    cleaned,
    damping_matrix,
    deformation,
    mass_integrals,
)
from mbd_bridge.model.flexible_links import (
    FREQUENCY,
    OF_BEAM,
    OF_DAMPING,
    OF_SECTION,
    FlexibleBody,
    held_stations,
    in_body,
    modes_of,
    root_of,
)
from mbd_bridge.model.spatial import Array, Frame, zeros

STIFF = {
    "EA": ("E", "A"), "EIy": ("E", "Iy"), "EIz": ("E", "Iz"), "GJ": ("G", "J")
}  # fmt: skip
HEAVY = {"mass": ("density", "A"), "rotary_y": ("density", "Iy"), "rotary_z": ("density", "Iz")}
"""Properties of a beam, with the numbers that they are the products of."""

BENT_BY: dict[str, tuple[Direction, ...]] = {
    "A": ("bending_y", "bending_z"),
    "Iy": ("bending_z",),
    "Iz": ("bending_y",),
}
"""Directions where, with rotary inertia, a number changes the natural modes' shapes."""

COUPLED = 1e-9
"""Part of the modes' own masses and stiffnesses below which what couples them is rounding."""


@dataclass(frozen=True)
class OneProperty(Beam):
    """A beam that has one of its properties only."""

    only: str = ""

    def at(self, x: ArrayLike) -> Properties:
        """Return the properties at places x (N,): zeros but for one."""
        whole = super().at(x)._asdict()
        return Properties(*(y if name == self.only else 0.0 * y for name, y in whole.items()))


def number_named(description: Description, name: str) -> tuple[int, str]:
    """Return which flexible link a number is of, and its word: "density", "mode1.frequency"."""
    links = [flexible.link for flexible in description.flexible]
    owner, _, word = name.rpartition(".")
    stem, _, mode = owner.rpartition(".")
    if word == FREQUENCY and mode.startswith("mode"):
        stems = {held_stations(description, link)[0].name: link for link in links}
        owner, word = stems.get(stem, stem), f"{mode}.{word}"
    known_name("flexible link", owner, links, f"parameter {name!r}: ", ModelError)
    k = links.index(owner)
    check_numbers(description, description.flexible[k], [word])
    return k, word


def flexible_number(description: Description, flexible: FlexibleLink, word: str) -> float:
    """Return a number of a flexible link; `word` as in `OF_FLEXIBLE`, or "mode1.frequency"."""
    beam, (mode, _, _) = flexible.beam, word.rpartition(".")
    if word in OF_DAMPING:
        return float(getattr(flexible.damping, word.removeprefix("damping_")))
    if mode:
        assert isinstance(beam, ModalBasis)
        k, M = int(mode.removeprefix("mode")) - 1, _modal_mass(_held(description, flexible))
        return float(np.sqrt(beam.stiffness[k, k] / M[k, k]) / (2.0 * np.pi))
    assert isinstance(beam, Beam)
    return float(getattr(beam if word in OF_BEAM else beam.section, word))


def with_number(
    description: Description, flexible: FlexibleLink, word: str, value: float
) -> FlexibleLink:
    """Return a flexible link with another number, to build its mechanism anew."""
    beam, (mode, _, _) = flexible.beam, word.rpartition(".")
    change: dict[str, Any] = {word.removeprefix("damping_"): value}
    if word in OF_DAMPING:
        return replace(flexible, damping=replace(flexible.damping, **change))
    if mode:
        assert isinstance(beam, ModalBasis)
        k, stiffness = int(mode.removeprefix("mode")) - 1, beam.stiffness.copy()
        stiffness[k, k] *= (value / flexible_number(description, flexible, word)) ** 2
        return replace(flexible, beam=replace(beam, stiffness=stiffness))
    assert isinstance(beam, Beam)
    if word in OF_BEAM:
        return replace(flexible, beam=replace(beam, **change))
    assert isinstance(beam.section, Section)
    return replace(flexible, beam=replace(beam, section=replace(beam.section, **change)))


def check_numbers(description: Description, flexible: FlexibleLink, words: Iterable[str]) -> None:
    """Raise for numbers that a flexible link does not have, or that change the shapes of its modes.

    Parameters
    ----------
    words : all that vary together
    """
    beam, asked, whose = flexible.beam, set(words), f"flexible link {flexible.link!r}: "
    damped = flexible.damping.ratio > 0.0 or "damping_ratio" in asked
    if isinstance(beam, ModalBasis):
        of_modes = sorted(word for word in asked if word.endswith(f".{FREQUENCY}"))
        known = {f"mode{k + 1}.{FREQUENCY}" for k in range(len(beam.stiffness))}
        if wrong := sorted(asked - {*OF_DAMPING, *known}):
            raise ModelError(
                f"{whose}a modal basis has no {wrong[0]}: its numbers are {', '.join(OF_DAMPING)}, "
                f"and frequencies, as {flexible.link}.mode1.{FREQUENCY}; all else is in the "
                f"shapes, masses and stiffness that were read"
            )
        coupled = [_modal_mass(_held(description, flexible)), beam.stiffness]
        if of_modes and damped and any(map(_couples, coupled)):
            raise ModelError(
                f"{whose}{of_modes[0]}: a damping ratio of modes that mass or stiffness couple "
                f"follows from all frequencies at once; give damping as alpha and beta"
            )
        return
    if wrong := sorted(asked - {*OF_BEAM, *OF_SECTION, *OF_DAMPING}):
        raise ModelError(
            f"{whose}{wrong[0]}: the frequencies of a beam follow from its numbers, "
            f"{', '.join([*OF_BEAM, *OF_SECTION])}; name these"
        )
    of_section = [word for word in OF_SECTION if word in asked]
    if of_section and not isinstance(beam.section, Section):
        raise ModelError(
            f"{whose}{of_section[0]}: a table of sections has one at each place; vary "
            f"{', '.join(OF_BEAM)}, or make a mechanism for each table"
        )
    modes = flexible.modes
    shaped = modes.kind in ("polynomial", "finite-element", "craig-bampton") or damped
    for word in of_section if shaped and beam.rotary_inertia else ():
        if any(modes.count(name) is not None for name in BENT_BY.get(word, ())):
            raise ModelError(
                f"{whose}{word}: with the rotary inertia of its sections it changes the shapes of "
                f"natural modes, and what a damping ratio is of: take rotary_inertia=False, or "
                f"modes of a closed form, such as 'clamped-free', and damping as alpha and beta"
            )


def varied(
    description: Description,
    flexible: FlexibleLink,
    part: FlexibleBody,
    frame: Frame,
    values: Mapping[str, Any],
) -> FlexibleBody:
    """Return what a flexible link adds to its body with other numbers, floats or symbols.

    Parameters
    ----------
    description : with stations
    part : as it is
    frame : of the link in its body
    values : by word, see `flexible_number`
    """
    check_numbers(description, flexible, values)
    now = {word: flexible_number(description, flexible, word) for word in {**OF_DAMPING, **values}}
    shares = {word: values[word] * (1.0 / now[word]) for word in values if word not in OF_DAMPING}
    damping = {word: values.get(word, now[word]) for word in OF_DAMPING}
    integrals, stiffness, beam = part.integrals, part.stiffness, flexible.beam
    count = len(stiffness)
    like = [np.zeros(0), *(np.array([share]) for share in shares.values())]
    M, K, roots = (zeros(shape, *like) for shape in ((count, count), (count, count), count))
    if isinstance(beam, ModalBasis):
        M[:], K[:], roots[:] = _modal_mass(part.integrals), stiffness, 1.0
        for word, share in shares.items():
            k = int(word.rpartition(".")[0].removeprefix("mode")) - 1
            K[k, k], roots[k] = stiffness[k, k] * (share * share), share
    else:
        modes, root = modes_of(description, flexible), root_of(description, flexible)
        mass: Any = 0.0
        first, second = (zeros(x.shape, *like) for x in (integrals.first, integrals.second))
        scale = dict[str, Any]()
        for name, (material, section) in (STIFF | HEAVY).items():
            one = OneProperty(**vars(beam), only=name)
            scale[name] = shares.get(material, 1.0) * shares.get(section, 1.0)
            M_one, K_one = matrices(one, modes)
            M, K = M + scale[name] * cleaned(M_one), K + scale[name] * cleaned(K_one)
            if name in HEAVY:
                own = in_body(
                    mass_integrals(one, modes, root, stiffening=flexible.stiffening), frame
                )
                mass = mass + scale[name] * own.mass
                first, second = first + scale[name] * own.first, second + scale[name] * own.second
        integrals = MassIntegrals(mass, first, second, integrals.pairs)
        roots[:] = [_root(beam, mode.direction, scale) for mode in modes]
    D = damping["alpha"] * M + damping["beta"] * K
    if flexible.damping.ratio or "damping_ratio" in values:
        unit = cleaned(damping_matrix(Damping(1.0), _modal_mass(part.integrals), stiffness))
        D = D + damping["damping_ratio"] * (unit * roots[:, None])
    return replace(part, integrals=integrals, stiffness=K, damping=np.asarray(D))


def _root(beam: Beam, direction: str, scale: Mapping[str, Any]) -> Any:
    """Return what ω m of the modes of a direction is multiplied by: sqrt(k m), by their shares."""
    stiff = {"axial": "EA", "bending_y": "EIz", "bending_z": "EIy", "torsion": "GJ"}[direction]
    heavy = scale["mass"]
    if direction == "torsion":
        at = beam.at(np.zeros(1))
        whole = float(at.rotary_y[0] + at.rotary_z[0])
        heavy = (
            scale["rotary_y"] * (float(at.rotary_y[0]) / whole)
            + scale["rotary_z"] * (float(at.rotary_z[0]) / whole)
        )  # fmt: skip
    return np.sqrt(scale[stiff] * heavy)


def _held(description: Description, flexible: FlexibleLink) -> MassIntegrals:
    """Return the mass integrals of a link in its frame."""
    return deformation(flexible, root_of(description, flexible), ()).integrals


def _modal_mass(integrals: MassIntegrals) -> Array:
    """Return the mass matrix (n, n) of a link's modes, its frame at rest."""
    modes = slice(1, len(integrals.first) - len(integrals.pairs))
    return np.asarray(np.trace(integrals.second[modes, modes], axis1=2, axis2=3))


def _couples(matrix: Array) -> bool:
    """Return whether modes are coupled by a matrix (n, n) of theirs, by more than rounding."""
    size = np.sqrt(np.diag(matrix))
    return bool(np.abs(matrix / np.outer(size, size) - np.eye(len(matrix))).max() > COUPLED)
