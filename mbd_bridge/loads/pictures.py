"""Pictures of joint loads: along time, torque over speed, directions in a plane."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.arguments import chosen_names, flag, known_name, name_list
from mbd_bridge.base.errors import StateError, one_of
from mbd_bridge.base.plot_style import axes_for, explain, style
from mbd_bridge.base.plots import (
    Panel,
    PlotLine,
    Rose,
    TorqueSpeed,
    draw_panels,
    draw_rose,
    draw_torque_speed,
)
from mbd_bridge.loads.convention import PLANES
from mbd_bridge.model.description import Joint, Limits
from mbd_bridge.model.units import FORCE_UNIT, actuation_units
from mbd_bridge.motion.smoothing import BAND
from mbd_bridge.motion.table import ACTUATION, FORCES, MOMENTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mbd_bridge.loads.result import JointLoads

QUANTITIES = ("force", "moment", "actuation")
ALONG = 1e-9
"""Cosine's distance from 1 of a joint's axis that is an axis of its frame."""
STATE = "number of the state"
ALONG_JOINT = "actuation and speed along the joint's own degree of freedom, child against parent"


def plot_loads(
    loads: JointLoads,
    joints: Iterable[str] | str | None = None,
    quantities: Iterable[str] | str = QUANTITIES,
    *,
    resultant: bool = False,
    ax: Axes | Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw force, moment and actuators along time; see `JointLoads.plot`."""
    places = _places(loads, joints)
    asked = name_list("quantities", quantities, "force, moment, actuation")
    resultant = flag("resultant", resultant)
    for name in asked:
        known_name("quantity", name, QUANTITIES)
    x, label = _along(loads)
    panels, columns = [], 1 if len(places) == 1 or len(asked) == 1 else len(asked)
    for k in places:
        for name in asked:
            if (
                name == "actuation"
                and not loads.actuation_names[loads.actuation_of[k]]
                and columns == 1
            ):
                continue  # a fixed joint; beside others it keeps its empty place
            panels += _panels(loads, k, name, resultant)
    if not panels:
        raise StateError("there is nothing to draw: fixed joints have no actuator")
    text = str(loads.convention)
    if loads.uncertainty is not None:
        text += "\nshaded: bands of 95 % from the noise of the motion"
    return draw_panels(x, label, panels, columns=columns, text=text, ax=ax)


def plot_torque_speed(
    loads: JointLoads,
    actuations: Iterable[str] | str | None = None,
    *,
    ax: Axes | Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw torque over speed of actuators; see `JointLoads.plot_torque_speed`."""
    if loads.speed is None or loads.time is None or loads.model is None:
        raise StateError(
            "the speeds of these actuators are not known: take joint_loads(motion) or "
            "run.joint_loads(), or loads.along(time, v)"
        )
    names = _names("actuation", actuations, loads.actuation_names)
    if not names:
        raise StateError("there is nothing to draw: these joints have no actuator")
    limits = {joint.name: joint.limits for joint in loads.model.description.joints}
    units = _units(loads)
    with style():
        columns = min(len(names), 3)
        axes = axes_for(len(names), columns, (4.2, 5.0), ax)
        for one, name in zip(axes, names, strict=True):
            place = loads.actuation_names.index(name)
            unit = units[place]
            limit = limits.get(name, Limits())
            actuation = TorqueSpeed(
                name,
                loads.time,
                loads.round_off.cleaned(loads.actuation[:, place], FORCE_UNIT[unit]),
                loads.speed[:, place],
                FORCE_UNIT[unit],
                f"{unit}/s",
                limit.effort,
                limit.velocity,
            )
            draw_torque_speed(one, actuation)
        if ax is None:
            explain(axes, ALONG_JOINT, own_figure=True)
    return axes


def plot_polar(
    loads: JointLoads,
    joints: Iterable[str] | str | None = None,
    plane: str | None = None,
    *,
    ax: Axes | Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw where forces point in a plane; see `JointLoads.plot_polar`."""
    places = _places(loads, joints)
    if joints is None and plane is None:
        names = [loads.joints[k] for k in places if _with_axis(loads, loads.joints[k])]
        places = _places(loads, names or None)
    x, _ = _along(loads)
    sure, text = loads.determined, str(loads.convention)
    roses = []
    for k in places:
        directions, axes_names = _plane(loads, loads.joints[k], plane)
        parts = loads.round_off.cleaned(loads.force[:, k] @ directions.T, "N")
        used = np.any(np.abs(directions) > ALONG, axis=0)
        flag = bool(sure[k, :3][used].all())
        roses.append(Rose(loads.joints[k], x, parts[:, 0], parts[:, 1], axes_names, flag))
    with style():
        columns = min(len(roses), 3)
        options = {"subplot_kw": {"projection": "polar"}}
        axes: list[Any] = axes_for(len(roses), columns, (4.0, 4.9), ax, **options)
        for one, rose in zip(axes, roses, strict=True):
            if one.name != "polar":
                raise StateError('expected polar axes in ax=: subplot_kw={"projection": "polar"}')
            draw_rose(one, rose, "" if ax is None else text)
        if ax is None:
            explain(axes, text, own_figure=True)
    return axes


def _places(loads: JointLoads, joints: Iterable[str] | str | None) -> list[int]:
    if loads.force.ndim != 3:
        raise StateError(
            "expected loads along a motion, (N, joints, 3), got one state; there is nothing to "
            "draw over time"
        )
    return [loads.joints.index(name) for name in _names("joint", joints, loads.joints)]


def _names(kind: str, asked: Iterable[str] | str | None, there: Sequence[str]) -> tuple[str, ...]:
    """Return the names that are asked for, all if none are."""
    names = chosen_names(f"{kind}s", asked, there, f"{kind} in these loads", kinds=f"{kind}s")
    if asked is not None and not names:
        raise StateError(f"{kind}s: expected names, got none; None stands for all")
    return names


def _along(loads: JointLoads) -> tuple[NDArray[np.float64], str]:
    if loads.time is None:
        return np.arange(len(loads.force), dtype=np.float64), STATE
    return loads.time, "time [s]"


def _units(loads: JointLoads) -> list[str]:
    """Return "rad" or "m" for each actuator."""
    if loads.model is None:
        raise StateError(
            "these loads do not know their mechanism, so the units of actuators neither"
        )
    found: list[str] = []
    for joint, place in zip(loads.joints, loads.actuation_of, strict=True):
        if place.stop > place.start:
            found += actuation_units(loads.model, joint)
    return found


def _panels(loads: JointLoads, k: int, quantity: str, resultant: bool) -> list[Panel]:
    joint, rows, known = loads.joints[k], len(loads.force), loads.uncertainty
    if quantity == "actuation":
        place = loads.actuation_of[k]
        names = loads.actuation_names[place]
        units = [FORCE_UNIT[unit] for unit in _units(loads)[place]]
        title = f"{joint}: {ACTUATION}" if names else f"{joint}: no {ACTUATION}"
        mixed = len(set(units)) > 1
        bands: list[NDArray[np.float64] | None] = [None] * len(names)
        if known is not None:
            bands = list(BAND * known.actuation[:, place].T)
        lines = tuple(
            PlotLine(
                (name.removeprefix(joint).strip(".") or ACTUATION) + f" [{unit}]" * mixed,
                values,
                band=band,
            )
            for name, unit, values, band in zip(
                names, units, loads.actuation[:, place].T, bands, strict=True
            )
        )
        found = list(dict.fromkeys(units))
        floor = loads.round_off.floor(found[0]) if len(found) == 1 else 0.0
        return [Panel(title, ACTUATION, " or ".join(found), lines, floor=floor)]
    first = 0 if quantity == "force" else 3
    vectors = (loads.force if quantity == "force" else loads.moment)[:, k]
    names = FORCES if quantity == "force" else MOMENTS
    flags = np.broadcast_to(np.asarray(loads.unique)[..., k, first : first + 3], (rows, 3))
    off, lengths = None, None
    if known is not None:
        off = BAND * (known.force if quantity == "force" else known.moment)[:, k]
        lengths = known.force_length if quantity == "force" else known.moment_length
    lines = tuple(
        PlotLine(names[i], vectors[:, i], flags[:, i], band=None if off is None else off[:, i])
        for i in range(3)
    )
    if resultant:
        length, whole = np.linalg.norm(vectors, axis=1), np.asarray(flags.all(axis=1))
        band = None if lengths is None else BAND * lengths[:, k]
        lines = (*lines, PlotLine("length", length, whole, band=band))
    unit = "N" if quantity == "force" else "N m"
    floor = loads.round_off.floor(unit)
    return [Panel(f"{joint}: {quantity}", quantity, unit, lines, floor=floor)]


def _plane(
    loads: JointLoads, joint: str, plane: str | None
) -> tuple[NDArray[np.float64], tuple[str, str]]:
    """Return two unit vectors (2, 3) in the axes of the loads, and their names."""
    if plane is not None:
        first, second = PLANES[one_of("plane", plane, PLANES, StateError)]
        return np.eye(3)[[first, second]], (plane[0], plane[1])
    axis = _axis(loads, joint)
    for name, (first, second) in PLANES.items():
        if np.linalg.norm(np.cross(np.eye(3)[first], np.eye(3)[second]) @ axis) > 1.0 - ALONG:
            return np.eye(3)[[first, second]], (name[0], name[1])
    start = np.eye(3)[int(np.argmin(np.abs(axis)))]
    one = start - (start @ axis) * axis
    one /= np.linalg.norm(one)
    return np.array([one, np.cross(axis, one)]), (f"{'xyz'[int(np.argmax(start))]}'", "across")


def _axis(loads: JointLoads, joint: str) -> NDArray[np.float64]:
    """Return the joint's axis in the axes of the loads, where it stays the same."""
    found = _with_axis(loads, joint)
    if found is None:
        why = f"{joint!r} has no axis of its own"
    elif loads.convention.in_ == "world":
        why = "in the world's axes the axis of a joint turns"
    else:
        frame = found.origin if loads.convention.in_ == "parent" else found.child_frame
        return np.asarray(frame.rotation @ np.array(found.axis))
    raise StateError(f"{why}: name the plane, plane={' or '.join(map(repr, PLANES))}")


def _with_axis(loads: JointLoads, joint: str) -> Joint | None:
    """Return the description of a joint that has one axis, and keeps it."""
    joints = () if loads.model is None else loads.model.description.joints
    found = next((each for each in joints if each.name == joint), None)
    without = found is None or found.turned or found.type in ("fixed", "floating", "spherical")
    return None if without else found
