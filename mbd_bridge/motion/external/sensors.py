"""Force/torque sensors: columns of a recording that are external forces on a link.

The six columns of a sensor begin with a prefix; behind it, in any usual spelling, stands which one
it is: ``ft.fx``, ``wrench.force.x``, ``/wrist/wrench/torque/z``, ``actual_TCP_force_0`` to ``_5``.

What a sensor reads is one of two, and `reads` says which:

    "environment"   what the environment exerts on the frame, in its axes, about its origin
    "parent"        what the parent exerts on the frame, as joint loads here are given

The mass and the acceleration of what is behind the sensor are not part of what the environment
exerts: a reading must be compensated for them. That of "parent" is then the environment's force
with the other sign.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np

from mbd_bridge.base.errors import StateError, one_of
from mbd_bridge.files.table import ColumnTable
from mbd_bridge.model import Model
from mbd_bridge.motion.columns import in_si, times
from mbd_bridge.motion.external.abscissa import Abscissa
from mbd_bridge.motion.external.force import COMPONENTS, ExternalForce, Reference

Reads = Literal["environment", "parent"]

SPELLINGS = (
    re.compile(r"[._/ ]?(?P<kind>[fm])(?P<axis>[xyz])"),
    re.compile(r"[._/ ]?t(?P<axis>[xyz])"),
    re.compile(
        r"[._/ ]?(?:wrench[._/ ])?(?P<kind>force|torque|moment)[._/ ]?(?P<axis>[xyz])", re.I
    ),
    re.compile(r"[._/ ]?(?P<number>[0-5])"),
)
"""How the end of a column's name says which component it is."""


def sensor_columns(names: tuple[str, ...], prefix: str) -> dict[str, str]:
    """Return the columns with a prefix that hold components, by component."""
    found: dict[str, str] = {}
    for name in names:
        if name.startswith(prefix):
            component = _component(name[len(prefix) :])
            if component is not None:
                found.setdefault(component, name)
    return found


def _component(rest: str) -> str | None:
    for spelling in SPELLINGS:
        said = spelling.fullmatch(rest)
        if said is None:
            continue
        parts = said.groupdict()
        if parts.get("number"):
            return COMPONENTS[int(parts["number"])]
        kind = (parts.get("kind") or "m")[0].lower()
        return ("f" if kind == "f" else "m") + parts["axis"].lower()
    return None


def sensor_forces(
    table: ColumnTable,
    model: Model,
    sensors: Mapping[str, str],
    reads: Reads = "environment",
    axes: str | None = None,
    point: tuple[float, float, float] | None = None,
) -> tuple[ExternalForce, ...]:
    """Return the external forces that sensors in a recording tell.

    Parameters
    ----------
    sensors : link (the sensor's frame) -> prefix of its columns
    reads : what the columns hold; see the module's text
    axes, point : in which, and about which point of the frame, they are given
    """
    kind = one_of("reads", reads, get_args(Reads), StateError)
    time = times(table)
    found = []
    for link, prefix in sensors.items():
        model.link_number(link)
        columns = sensor_columns(table.names, prefix)
        wrench = np.zeros((len(time), 6))
        for k, component in enumerate(COMPONENTS):
            if component in columns:
                wrench[:, k] = in_si(table, columns[component], "N" if k < 3 else "N m")
        reference: Reference = "world" if axes == "world" else "link"
        found.append(
            ExternalForce.of(
                link,
                Abscissa("time", "s"),
                time,
                -wrench if kind == "parent" else wrench,
                reference=reference,
                point=point or (0.0, 0.0, 0.0),
                source=f"sensor {prefix!r}, reads {kind}",
            )
        )
    return tuple(found)
