"""The bearings of a mechanism, as its user asks for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Self

from mbd_bridge.api.load_inputs import LoadInputs
from mbd_bridge.api.motors import MechanismMotors
from mbd_bridge.base.arguments import an_instance, flag, name_list
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.loads import LoadRequest, LoadSolver
from mbd_bridge.loads.planar import Plane
from mbd_bridge.model import Model
from mbd_bridge.motion import Motion
from mbd_bridge.motion.external import ExternalGiven
from mbd_bridge.solve.wrenches import Axes

if TYPE_CHECKING:
    from mbd_bridge.applications.bearings import Bearings, BearingsCounter, BearingSet
    from mbd_bridge.applications.bearings.bearing_set import BearingsGiven, Located


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
        return self._with(model)

    def with_bearings(
        self,
        bearings: BearingsGiven,
        *,
        located: Located | None = None,
        reliability: int | None = None,
        aiso: float | None = None,
    ) -> Self:
        """Return the mechanism with these bearings, in place of those it has stated.

        Parameters
        ----------
        bearings : by joint a `Bearing`, or two of them at a distance
        located, reliability, aiso : see `bearings`
        """
        known = self._bearings(bearings, located, reliability, aiso)
        return type(self)(self.model, self.forces, self.stated_actuators, known)

    def _with(self, model: Model, forces: Iterable[ForceElement] | None = None) -> Self:
        """Return another model's mechanism with all that is stated of this one's."""
        own = self.forces if forces is None else forces
        return type(self)(model, own, self.stated_actuators, self.stated_bearings)

    def _bearings(
        self,
        given: BearingsGiven | None,
        located: Located | None,
        reliability: int | None,
        aiso: float | None,
    ) -> BearingSet:
        """Return checked bearings: those given or stated, with the options that are given."""
        from mbd_bridge.applications.bearings import BearingOptions, BearingSet

        known = self.stated_bearings if given is None else given
        base = known.options if isinstance(known, BearingSet) else BearingOptions()
        options = BearingOptions(
            base.located if located is None else located,
            base.reliability if reliability is None else reliability,
            base.aiso if aiso is None else aiso,
        )
        return BearingSet.of(self.model, known, options)

    def bearings(
        self,
        motion: Motion,
        joints: Iterable[str] | str | None = None,
        bearings: BearingsGiven | None = None,
        *,
        located: Located | None = None,
        reliability: int | None = None,
        aiso: float | None = None,
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
        bearings : by joint a `Bearing`, or two of them at a distance; None: those that the machine
            has stated (`stated_bearings`)
        located : which of two carries the axial force: "first", "second", "each" (opposed)
        reliability, aiso : of the modified life; see `loads.bearings.duty`. None: as stated with
            the machine's bearings, or "first", 90 and 1
        external, external_in, actuated, minimum_norm, threads : see `joint_loads`

        Examples
        --------
        >>> life = Bearing(C=55.3e3, C0=31.5e3)                                # doctest: +SKIP
        >>> robot.bearings(motion, "elbow", {"elbow": life})["elbow"][0].life  # doctest: +SKIP
        """
        motion = an_instance("motion", motion, Motion, "mbd.load_motion(...)")
        inputs = self._load_inputs(
            motion, external, external_in, actuated, minimum_norm, None, threads
        )
        known = self._bearings(bearings, located, reliability, aiso)
        if bearings is None and joints is not None:
            known = known.among(name_list("joints", joints, "joints"))
        counter = self.bearings_counter(inputs, joints, known)
        counter.add(motion)
        return counter.bearings()

    def bearings_counter(
        self,
        inputs: LoadInputs,
        joints: Iterable[str] | str | None = None,
        bearings: BearingSet | None = None,
    ) -> BearingsCounter:
        """Return what counts the duties of bearings along a motion in pieces; see `bearings`."""
        from mbd_bridge.applications.bearings import BearingsCounter
        from mbd_bridge.applications.bearings.bearings import joints_of

        named = None if joints is None else name_list("joints", joints, "joints")
        names = joints_of(self.model, named)
        request = LoadRequest.of(
            self.model,
            names,
            links=() if inputs.external is None else inputs.external.links,
            reaction=True,
            actuated=inputs.actuated,
            minimum_norm=inputs.minimum_norm,
            forces=inputs.forces,
        )
        solver = LoadSolver(self.model, request)
        answer = partial(solver.along, external=inputs.external, threads=inputs.threads)
        known = self._bearings(bearings, None, None, None)
        return BearingsCounter(self.prepared, names, known, answer)
