"""Joint loads as a user gets them: arrays, with names, units and convention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mbd_bridge.errors import StateError, count, unknown_name
from mbd_bridge.loads.convention import Convention
from mbd_bridge.spatial import Array


class OneJoint(NamedTuple):
    """The load of one joint: force (..., 3) N, moment (..., 3) N m, drive (..., its freedoms)."""

    force: Array
    moment: Array
    drive: Array
    unique: Array

    def __repr__(self) -> str:
        states = count(1 if self.force.ndim == 1 else len(self.force), "state")
        return f"OneJoint({states}; force, moment, {count(self.drive.shape[-1], 'drive')})"


@dataclass(frozen=True, eq=False)
class JointLoads:
    """Loads of some joints at one state or at N states.

    Attributes
    ----------
    joints : names, in the order asked for
    force : (J, 3) or (N, J, 3) N
    moment : (J, 3) or (N, J, 3) N m
    drive : (F,) or (N, F): along each freedom of the joints asked for, N m or N
    drive_names : names of these freedoms; a fixed joint has none
    unique : (J, 6) booleans: whether rigid-body mechanics determines the component of the load
        (force, then moment). Always true in a tree
    convention : on whom, where, in which axes
    reaction_force, reaction_moment : the part of the load that the drive does not give, shaped
        as force and moment; None unless asked for with ``reaction=True``
    """

    joints: tuple[str, ...]
    force: Array
    moment: Array
    drive: Array
    drive_names: tuple[str, ...]
    drive_of: tuple[slice, ...]
    unique: Array
    convention: Convention
    reaction_force: Array | None = None
    reaction_moment: Array | None = None

    def __getitem__(self, joint: str) -> OneJoint:
        """Return the load of one joint by name."""
        if joint not in self.joints:
            raise StateError(unknown_name("joint in these loads", joint, self.joints))
        k = self.joints.index(joint)
        return OneJoint(
            self.force[..., k, :],
            self.moment[..., k, :],
            self.drive[..., self.drive_of[k]],
            self.unique[k],
        )

    def wrench(self) -> Array:
        """Return force and moment in one array, (..., J, 6)."""
        return np.concatenate([self.force, self.moment], axis=-1)

    def __repr__(self) -> str:
        states = count(1 if self.force.ndim == 2 else len(self.force), "state")
        names = ", ".join(self.joints[:6]) + (", ..." if len(self.joints) > 6 else "")
        return f"JointLoads({states}; {names}; {self.convention})"
