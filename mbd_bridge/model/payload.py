"""A load that a mechanism picks up: a rigid body fixed to one of its links."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import ModelError, unknown_name
from mbd_bridge.model.builder import inertia_of
from mbd_bridge.model.description import Description, Payload
from mbd_bridge.model.spatial import lump


def with_payload(
    description: Description,
    link: str,
    mass: float,
    centre: ArrayLike = (0.0, 0.0, 0.0),
    inertia: ArrayLike = (0.0, 0.0, 0.0),
) -> Description:
    """Return a description with a body more on a link; see `Builder.link` for the arguments.

    It has no source: other readers of the file would not know of the body.
    """
    names = [entry.name for entry in description.links]
    if not isinstance(link, str) or link not in names:
        raise ModelError(unknown_name("link", link, names))
    if any(flexible.link == link for flexible in description.flexible):
        raise ModelError(
            f"the payload of {link!r}: that link bends, and a payload moves with one place of it: "
            f"give it to a station, such as '{link}.tip', or to a link that is fixed to it"
        )
    body = inertia_of(f"the payload of {link!r}", mass, centre, inertia)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows, the model refuses
        links = tuple(
            replace(entry, inertia=lump([x for x in (entry.inertia, body) if x is not None]))
            if entry.name == link
            else entry
            for entry in description.links
        )
    x, y, z = body.centre.tolist()
    payloads = (*description.payloads, Payload(link, body.mass, (x, y, z)))
    return replace(description, links=links, source=None, payloads=payloads)
