"""Effort limits of the file, at which the forces that a user gives along velocities are held.

    u_i = max(-e_i, min(given_i, e_i))

e is ``<limit effort>``, N m or N, of joints with one degree of freedom; 0 stands for none, as in
many files. What force elements exert and what prescribed motions take is not held.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mbd_bridge.base.arguments import flag
from mbd_bridge.base.errors import NAMED, StateError, count, some
from mbd_bridge.functions import clip
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array


@dataclass(frozen=True)
class EffortLimits:
    """Largest efforts of a machine's joints.

    Attributes
    ----------
    names : of the velocities that have one
    places : their indices
    most : e, N m or N
    """

    names: tuple[str, ...]
    places: tuple[int, ...]
    most: tuple[float, ...]

    @staticmethod
    def of(model: Model) -> EffortLimits:
        """Return the limits that the file of a machine gives."""
        limits = {joint.name: joint.limits.effort for joint in model.description.joints}
        found = []
        for joint in model.joints:
            effort = limits.get(joint.name)
            if effort and joint.type.nv == 1 and joint.follows is None:
                place = model.bodies[joint.body].v.start
                found.append((model.velocity_names[place], place, float(effort)))
        names, places, most = zip(*found, strict=True) if found else ((), (), ())
        return EffortLimits(names, places, most)

    @staticmethod
    def asked(model: Model, effort_limits: bool) -> EffortLimits | None:
        """Return the limits of a machine if they are to be used."""
        if not flag("effort_limits", effort_limits):
            return None
        found = EffortLimits.of(model)
        if not found.names:
            raise StateError(
                f"effort_limits: {model.name!r} gives none; expected <limit effort='...'> above 0 "
                f"in a joint with one degree of freedom, or leave the option out"
            )
        return found

    def held(self, given: Array) -> Array:
        """Return forces (nv,) held at the limits."""
        out = given.copy()
        for place, most in zip(self.places, self.most, strict=True):
            out[place] = clip(given[place], -most, most)
        return out

    def excess(self, given: Array) -> Array:
        """Return what the limits take off given forces, (n,)."""
        return np.asarray((given - self.held(given))[list(self.places)])

    def beyond(self, given: Array) -> Array:
        """Return which given forces (..., nv) are beyond the limits, (..., n)."""
        return np.asarray(np.abs(given[..., list(self.places)]) > np.array(self.most))

    def note(self, used: bool, time: Array, given: Array) -> tuple[str, ...]:
        """Return a sentence about forces beyond the limits, if some are.

        Parameters
        ----------
        used : whether forces are held there
        time, given : (K,) s and (K, nv), at the records of a motion, or of several
        """
        beyond = self.beyond(given)
        found = []
        for k in np.flatnonzero(beyond.any(axis=0)):
            rows = np.flatnonzero(beyond[:, k])
            most = np.abs(given[rows, self.places[k]]).max()
            found.append(
                f"{self.names[k]} ({most:.4g} for {self.most[k]:.4g}, in {len(rows)} of "
                f"{count(len(given), 'record')}, first at {time[rows].min():.6g} s)"
            )
        if not found:
            return ()
        listed = some(found, NAMED)
        if used:
            return (f"forces held at the effort limits of the file: {listed}",)
        return (
            f"forces beyond the effort limits of the file: {listed}; effort_limits=True "
            f"(--effort-limits) holds them there",
        )
