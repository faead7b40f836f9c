"""The bearings of a mechanism, as its user asks for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Self

from numpy.typing import ArrayLike

from mbd_bridge.api.motors import MechanismMotors
from mbd_bridge.arguments import an_instance, flag, name_list
from mbd_bridge.external import ExternalGiven, external_forces
from mbd_bridge.loads import LoadRequest, LoadSolver
from mbd_bridge.loads.planar import Plane
from mbd_bridge.motions import Motion
from mbd_bridge.solve.wrenches import Axes

if TYPE_CHECKING:
    from mbd_bridge.loads.bearings import Bearings, BearingsCounter
    from mbd_bridge.loads.bearings.bearings import Given, Located


class MechanismBearings(MechanismMotors):
    """What bearings carry as a mechanism moves."""

    def as_planar(self, planar: bool = True) -> Self:
        """Return the mechanism with loads out of its plane declared to be zero, or not.

        They are then determined, not undetermined. Where zero does not satisfy the balance, loads
        are refused with the residual. As ``planar: true`` in ``NAME.loops.yaml``.
        """
        described = replace(self.model.description, planar=flag("planar", planar))
        model = replace(self.model, description=described)
        if described.planar:
            Plane(model)  # or it says which joint leaves it
        return type(self)(model, self.forces, self.stated_actuators)

    def bearings(
        self,
        motion: Motion,
        joints: Iterable[str] | str | None = None,
        bearings: Given | None = None,
        *,
        located: Located = "first",
        reliability: int = 90,
        aiso: float = 1.0,
        external: ExternalGiven | None = None,
        external_in: Axes = "link",
        actuated: Iterable[str] | str | None = None,
        minimum_norm: bool = False,
        threads: int = 1,
    ) -> Bearings:
        """Return radial, axial and tilting loads of joints with one axis, and rating lives.

        Parameters
        ----------
        joints : names, of loop joints too; None for all with one axis
        bearings : by joint a `Bearing`, or two of them at a distance
        located : which of two carries the axial force: "first", "second", "each" (opposed)
        reliability, aiso : of the modified life; see `loads.bearings.duty`
        external, external_in, actuated, minimum_norm, threads : see `joint_loads`

        Examples
        --------
        >>> life = Bearing(C=55.3e3, C0=31.5e3)                                # doctest: +SKIP
        >>> robot.bearings(motion, "elbow", {"elbow": life})["elbow"][0].life  # doctest: +SKIP
        """
        motion = an_instance("motion", motion, Motion, "mbd.load_motion(...)")
        counter = self.bearings_counter(
            joints,
            bearings,
            located=located,
            reliability=reliability,
            aiso=aiso,
            external=external,
            external_in=external_in,
            actuated=actuated,
            minimum_norm=minimum_norm,
            threads=threads,
            time=motion.time,
        )
        counter.add(motion)
        return counter.bearings()

    def bearings_counter(
        self,
        joints: Iterable[str] | str | None = None,
        bearings: Given | None = None,
        *,
        located: Located = "first",
        reliability: int = 90,
        aiso: float = 1.0,
        external: ExternalGiven | None = None,
        external_in: Axes = "link",
        actuated: Iterable[str] | str | None = None,
        minimum_norm: bool = False,
        threads: int = 1,
        time: ArrayLike | None = None,
    ) -> BearingsCounter:
        """Return what counts the duties of bearings along a motion in pieces; see `bearings`."""
        from mbd_bridge.loads.bearings import BearingOptions, BearingsCounter
        from mbd_bridge.loads.bearings.bearings import joints_of

        named = None if joints is None else name_list("joints", joints, "joints")
        names = joints_of(self.model, named)
        forces = external_forces(self.model, external, external_in, time)
        request = LoadRequest.of(
            self.model,
            names,
            links=() if forces is None else forces.links,
            reaction=True,
            actuated=actuated,
            minimum_norm=minimum_norm,
        )
        solver = LoadSolver(self.model, replace(request, forces=self.forces))
        options = BearingOptions(located, reliability, aiso)
        answer = partial(solver.along, external=forces, threads=threads)
        return BearingsCounter(self.prepared, names, bearings, options, answer)
