"""The assumptions behind joint loads, from the objects that know them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mbd_bridge.base.assumptions import NONE, Assumption, Assumptions, Number
from mbd_bridge.base.errors import NAMED, count, some
from mbd_bridge.base.readable import quantity
from mbd_bridge.forces.base import ForceElement, replaced_by
from mbd_bridge.loads.planar import RESIDUAL
from mbd_bridge.loads.request import LoadRequest
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.loads.round_off import ROUND_OFF, RoundOff
from mbd_bridge.model import Model
from mbd_bridge.model.build import EARTH
from mbd_bridge.motion.table import COMPONENTS
from mbd_bridge.motion.warnings import LIMITS


@dataclass(frozen=True)
class LoadBasis:
    """What loads were computed from.

    Attributes
    ----------
    model : the machine
    convention : on which body, at which point, in which axes
    request : what was asked for; None: the loads were read from a file
    undetermined : names of components such as ``elbow.fy``
    round_off : the sizes up to which loads are rounding errors
    """

    model: Model
    convention: str
    request: LoadRequest | None = None
    undetermined: tuple[str, ...] = ()
    round_off: RoundOff = RoundOff(0.0, 0.0, 0.0)  # noqa: RUF009 - it is frozen


def assumptions_of(
    loads: JointLoads,
    undetermined: Sequence[str] | None = None,
    assumed: Iterable[Assumption] = (),
    round_off: RoundOff | None = None,
) -> Assumptions:
    """Return all assumptions behind some loads.

    Parameters
    ----------
    undetermined : names of components, of all pieces of a motion; None: those of these loads
    assumed : contributions beside `JointLoads.assumed`; they replace what is said by default
    round_off : of all pieces of a motion; None: that of these loads
    """
    assert loads.model is not None
    if undetermined is None:
        undetermined = undetermined_components(loads.joints, loads.determined)
    basis = LoadBasis(
        loads.model,
        str(loads.convention),
        loads.request,
        tuple(undetermined),
        loads.round_off if round_off is None else round_off,
    )
    every = PROVIDERS.values()
    default = Assumptions(tuple(x if isinstance(x, Assumption) else x(basis) for x in every))
    efforts = loads.effort_differences
    measured = () if efforts is None else efforts.assumed
    return default.stating(*loads.assumed, *measured).stating(*assumed)


def undetermined_components(joints: Sequence[str], sure: np.ndarray) -> tuple[str, ...]:
    """Return the names of the components of which the flags (J, 6) are false."""
    return tuple(f"{joints[j]}.{COMPONENTS[k]}" for j, k in np.argwhere(~np.asarray(sure)))


def _convention(basis: LoadBasis) -> Assumption:
    return Assumption("convention", basis.convention)


def _base(basis: LoadBasis) -> Assumption:
    root = basis.model.links[0].name
    if basis.model.floating:
        return Assumption("base", f"{root} is free (six degrees of freedom, root_joint)")
    text = f"{root} is fixed to the ground, which does not move"
    return Assumption("base", text, usual="base fixed")


def _masses(basis: LoadBasis) -> Assumption:
    mass, links = float(sum(basis.model.masses)), count(len(basis.model.links), "link")
    text = f"{mass:.6g} kg in {links}, as in the file"
    text += ", links that bend as their beams" if basis.model.flexible else ""
    text += ", with the payload" if basis.model.description.payloads else ""
    plain = not basis.model.flexible and not basis.model.description.payloads
    usual = f"{mass:.4g} kg" if plain else ""
    return Assumption("masses", text, (Number("mass", mass, "kg"),), usual=usual)


def _payload(basis: LoadBasis) -> Assumption:
    payloads = basis.model.description.payloads
    if not payloads:
        return Assumption("payload", NONE)
    each = [
        f"{one.mass:.6g} kg on {one.link} at ({', '.join(f'{x:.6g}' for x in one.centre)}) m"
        for one in payloads
    ]
    numbers = tuple(Number(f"mass on {one.link}", one.mass, "kg") for one in payloads)
    return Assumption("payload", "; ".join(each), numbers)


def _gravity(basis: LoadBasis) -> Assumption:
    values = [float(x) for x in basis.model.gravity]
    text = f"({', '.join(f'{x:.6g}' for x in values)}) m/s² in the world's axes"
    numbers = tuple(Number(x, y, "m/s²") for x, y in zip("xyz", values, strict=True))
    usual = "gravity along -z" if np.array_equal(values, EARTH) else ""
    return Assumption("gravity", text, numbers, usual=usual)


def _external(basis: LoadBasis) -> Assumption:
    if basis.request is None:
        return Assumption("external", UNKNOWN)
    links = basis.request.links
    if not links:
        return Assumption("external", NONE)
    axes = "the world's axes" if basis.request.external_in == "world" else "the link's axes"
    return Assumption("external", f"given wrenches on {some(links, NAMED)}, in {axes}")


def _elements(basis: LoadBasis) -> Assumption:
    if basis.request is None:
        return Assumption("elements", UNKNOWN)
    names = [one.name for one in (*basis.request.forces, *basis.request.known)]
    return Assumption("elements", f"{some(names, NAMED)} act" if names else NONE)


def _friction(basis: LoadBasis) -> Assumption:
    if basis.request is None:
        return Assumption("friction", UNKNOWN)
    return losses(basis.model, basis.request.forces)


def losses(model: Model, elements: Iterable[ForceElement]) -> Assumption:
    """Return what counts of the file's friction and damping, by force elements that replace it."""
    joints = model.description.joints
    stated = {(kind, j.name) for kind in KINDS for j in joints if getattr(j, kind)}
    counted = replaced_by(model, elements)
    kinds = {kind for kind, _ in counted & stated}
    acting = f"{' and '.join(k for k in KINDS if k in kinds)} of the file by force elements"
    unused = sorted(stated - counted)
    if kinds and not unused:
        return Assumption("friction", f"{acting}; no other losses")
    names = {name for _, name in unused}
    what = " and ".join(kind for kind in KINDS if any(kind == k for k, _ in unused))
    left_out = (
        f"{what} that the file gives for {count(len(names), 'joint')} left out"
        if names
        else "the file gives none"
    )
    text = f"{acting}; {left_out}" if kinds else f"not counted; {left_out}"
    usual = "" if kinds or names else "no friction"
    return Assumption("friction", text, neglected=True, usual=usual)


def _rotors(basis: LoadBasis) -> Assumption:
    model = basis.model
    names = model.description.rotors
    stated = f" (which the file gives for {count(len(names), 'joint')})" if names else ""
    text = f"not counted: actuation is at the joint, without rotor inertia{stated}, gear ratio and "
    text += "efficiency"
    if model.rotors is not None and model.has_loops:
        text += "; what loops pass on to accelerate rotors counts"
    usual = "" if names else "no rotors"
    return Assumption("rotors", text, neglected=True, usual=usual)


def _rigid(basis: LoadBasis) -> Assumption:
    model = basis.model
    bent = [f"{model.links[one.link].name} ({len(one.stiffness)} modes)" for one in model.flexible]
    if bent:
        text = f"these links bend: {', '.join(bent)}; all others and joints are rigid"
        return Assumption("rigid", f"{text}, without clearance", neglected=True)
    text = "links and joints are rigid, without clearance"
    return Assumption("rigid", text, neglected=True, usual="rigid, without clearance")


def _planar(basis: LoadBasis) -> Assumption:
    if not basis.model.description.planar:
        text = "not assumed: all six components in space"
        return Assumption("planar", text, usual="in space")
    text = "declared: loads out of the plane are zero, which the balance of all joints satisfies"
    return Assumption("planar", text, (Number("residual allowed", RESIDUAL, ""),))


def _loops(basis: LoadBasis) -> Assumption:
    model, request = basis.model, basis.request
    if not model.has_loops:
        return Assumption("loops", NONE)
    if request is not None and request.open_tree:
        return Assumption("loops", "left open: the loads are those of the tree", neglected=True)
    cuts = [f"{cut.name} ({cut.type})" for cut in model.cuts]
    text = f"closed exactly at {some(cuts, NAMED)}"
    if request is not None:
        actuated = request.actuated or model.description.actuated
        text += f"; actuated: {some(actuated, NAMED)}" if actuated else ""
        if request.minimum_norm:
            text += "; what actuators share is the smallest for the loop joints"
    return Assumption("loops", text)


def _undetermined(basis: LoadBasis) -> Assumption:
    names = basis.undetermined
    if not names:
        return Assumption("undetermined", NONE)
    return Assumption(
        "undetermined",
        f"{some(names, NAMED)}: they depend on elasticity and fit; the smallest values that agree "
        f"with the motion are shown",
        (Number("components", float(len(names)), ""),),
    )


def _round_off(basis: LoadBasis) -> Assumption:
    floors = basis.round_off
    force, moment = quantity(floors.force, "N", digits=2), quantity(floors.moment, "N m", digits=2)
    return Assumption(
        "round_off",
        f"up to {force} and {moment} ({ROUND_OFF:g} of the machine's own loads); files keep it",
        (Number("force", floors.force, "N"), Number("moment", floors.moment, "N m")),
        usual=f"zero is up to {force} and {moment}",
    )


KINDS = ("damping", "friction")
"""What a file says of losses in joints."""

UNKNOWN = "not known: the loads were read from a file that does not say"

FIXED = (
    LIMITS,
    Assumption("completed", "all as given, none held or completed", usual="all coordinates given"),
    Assumption("rates", "velocities and accelerations as given"),
    Assumption(
        "uncertainty",
        "not estimated: motion and machine are taken as exact",
        neglected=True,
        usual="motion exact",
    ),
    *(Assumption(topic, NONE) for topic in ("efforts", "smoothing", "bearings", "cases")),
)
"""What is said of all loads alike."""

PROVIDERS: dict[str, Assumption | Callable[[LoadBasis], Assumption]] = {
    "convention": _convention,
    "base": _base,
    "masses": _masses,
    "payload": _payload,
    "gravity": _gravity,
    "external": _external,
    "elements": _elements,
    "friction": _friction,
    "rotors": _rotors,
    "rigid": _rigid,
    "planar": _planar,
    "loops": _loops,
    "undetermined": _undetermined,
    "round_off": _round_off,
    **{one.topic: one for one in FIXED},
}
"""What is said of each topic unless somebody contributes something else."""
