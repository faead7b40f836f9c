"""Which loads are asked for: read and checked once, where the user's call comes in.

Everything behind the door passes the one `LoadRequest` on; it says what is compiled, and is the
key under which what was prepared is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats, flag, name_list
from mbd_bridge.base.assumptions import Assumption
from mbd_bridge.base.errors import StateError
from mbd_bridge.base.options import part, with_options
from mbd_bridge.forces.base import ForceElement, bound
from mbd_bridge.loads.convention import Convention
from mbd_bridge.loads.options import LoadOptions, RequestOptions
from mbd_bridge.loads.selected import select_joints
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.external import wrenches_at
from mbd_bridge.solve.wrenches import Axes, check_axes, links_of, pack_external


@dataclass(frozen=True)
class LoadRequest:
    """The loads of some joints of a mechanism, and under what they are computed. Hashable.

    Attributes
    ----------
    joints : names, of the tree or cut
    convention : on which body, at which point, in which axes
    links : names of links that carry external wrenches, which are then a further argument: force
        (N), then moment (N m) on the link, at the origin of its frame
    external_in : these wrenches are given in the axes of their "link" or of the "world"
    reaction : give the load without the actuation's part as well
    open_tree : of a machine with loops, give the loads of its tree with the loops left open
    actuated : in a machine with loops, the actuated joints; None: those that the file
        names
    minimum_norm : more actuators than the motion determines are allowed; the loads are then the
        smallest for the loop joints, with flags at all that is not determined
    forces : force elements that act, bound to the model
    known : elements in cut joints that act already, as external wrenches: what they exert is part
        of the loads of these joints
    """

    joints: tuple[str, ...]
    convention: Convention = Convention()  # noqa: RUF009 - it is frozen
    links: tuple[str, ...] = ()
    external_in: Axes = "link"
    reaction: bool = False
    open_tree: bool = False
    actuated: tuple[str, ...] | None = None
    minimum_norm: bool = False
    forces: tuple[ForceElement, ...] = ()
    known: tuple[ForceElement, ...] = ()

    @staticmethod
    @with_options
    def of(
        model: Model,
        joints: Iterable[str | int] | str | None = None,
        **options: Unpack[RequestOptions],
    ) -> LoadRequest:
        """Return a checked request.

        Parameters
        ----------
        joints : names (or indices, of the tree); None for all but the root joint
        **options : of the loads
        """
        open_tree, actuated = flag("open_tree", options["open_tree"]), options["actuated"]
        convention = Convention.of(options["on"], options["at"], options["in_"])
        names, _ = select_joints(model, joints, cuts=model.has_loops and not open_tree)
        return LoadRequest(
            names,
            convention,
            name_list("links", options["links"], "links"),
            check_axes(options["external_in"]),
            flag("reaction", options["reaction"]),
            open_tree,
            actuated if actuated is None else name_list("actuated", actuated, "joints"),
            flag("minimum_norm", options["minimum_norm"]),
            bound(model, options["forces"] or ()),
        )

    @staticmethod
    def with_wrenches(
        model: Model,
        joints: Iterable[str | int] | str | None,
        options: LoadOptions,
        elements: tuple[ForceElement, ...],
        t: ArrayLike | None,
        state: Sequence[ArrayLike],
    ) -> tuple[LoadRequest, Array | None, tuple[Assumption, ...]]:
        """Return a request under which wrenches are given as well.

        Parameters
        ----------
        options : all of them
        elements : force elements that act, bound
        t, state : where wrenches are given along a motion: s, and q, v

        Returns
        -------
        The request, the wrenches on its links ((L, 6) or (N, L, 6); None without), and what is
        assumed of them.
        """
        external, axes = options["external"], options["external_in"]
        wrenches = wrenches_at(model, external, axes, t, state[0], state[1])
        asked = part(RequestOptions, options)
        asked["links"], asked["external_in"] = links_of(wrenches.by_link), wrenches.axes
        asked["forces"] = ()
        request = replace(LoadRequest.of(model, joints, **asked), forces=elements)
        packed = pack_external(wrenches.by_link, request.links) if wrenches.by_link else None
        return request, packed, wrenches.assumed

    def packed(self, external: ArrayLike | None) -> Array:
        """Return the wrenches on `links`, (6 L,) or (N, 6 L), of (L, 6) or (N, L, 6)."""
        count = len(self.links)
        flat = as_floats("external", np.nan if external is None else external)
        if flat.ndim not in (2, 3) or flat.shape[-2:] != (count, 6):
            got = "nothing" if external is None else f"the shape {flat.shape}"
            raise StateError(
                f"external: expected ({count}, 6) or (N, {count}, 6), a wrench for each of the "
                f"links this solver was prepared for, got {got}"
            )
        return flat.reshape(*flat.shape[:-2], 6 * count)

    @property
    def form(self) -> LoadRequest:
        """The same for any point: what is compiled, since a point is an input of the kernel."""
        return replace(self, convention=self.convention.form)
