"""External wrenches as a user gives them: by the link's name, in the link's axes or the world's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats, by_name
from mbd_bridge.base.errors import ModelError, StateError, one_of
from mbd_bridge.model.spatial import Array

External = Mapping[str, ArrayLike]
"""Link name -> force (N) and moment (N m) on it, (6,) or (N, 6), at the origin of its frame."""

Axes = Literal["link", "world"]
"""Whose axes the wrenches are given in."""

AXES: tuple[Axes, ...] = get_args(Axes)


def check_axes(external_in: str) -> Axes:
    """Return the axes, or say which there are."""
    return one_of("external_in", external_in, AXES, ModelError)


def links_of(external: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the names of the links that carry external wrenches."""
    return tuple(by_name("external", external, "{'hand': (fx, fy, fz, mx, my, mz)}"))


def pack_external(external: External, links: Sequence[str]) -> Array:
    """Return the wrenches as (L, 6) or (N, L, 6), in the order of `links`."""
    arrays = []
    for link in links:
        wrench = as_floats(f"external[{link!r}]", external[link])
        if wrench.shape[-1:] != (6,) or wrench.ndim > 2:
            raise StateError(
                f"external[{link!r}] has the shape {wrench.shape}; a wrench is (6,) or (N, 6): "
                f"force in N, then moment in N m, about the link's origin, in the link's axes "
                f"(external_in='world': in the world's)"
            )
        arrays.append(wrench)
    try:
        return np.stack(np.broadcast_arrays(*arrays), axis=-2)
    except ValueError:
        shapes = {link: a.shape for link, a in zip(links, arrays, strict=True)}
        raise StateError(
            f"external wrenches are for different numbers of states: {shapes}"
        ) from None


def flat_external(external: External, links: Sequence[str]) -> Array:
    """Return the wrenches as kernels take them, (6 L,) or (N, 6 L)."""
    packed = pack_external(external, links)
    return packed.reshape(*packed.shape[:-2], 6 * len(links))
