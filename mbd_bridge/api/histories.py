"""Load histories of a mechanism: what is counted along its motions, asked for once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from mbd_bridge.api.load_inputs import LoadInputs
from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.applications.durability.spectrum import EXPONENTS
from mbd_bridge.loads import JointLoads, LoadRequest
from mbd_bridge.loads.streaming import LoadHistory, stream_loads
from mbd_bridge.motion import Motion, Pieces
from mbd_bridge.motion.external import ExternalForces

if TYPE_CHECKING:
    from mbd_bridge.applications.bearings import BearingSet

Look = Callable[[Motion, JointLoads], None]
"""Sees each piece of a motion with its loads."""


@dataclass(frozen=True, eq=False)
class HistoryRequest:
    """What is computed and counted along motions.

    Attributes
    ----------
    request : whose loads, in which convention
    external : forces on links
    exponents, plane : of the spectra; see `LoadSpectraCounter`
    motors : count what motors have to do; None: if the machine has stated actuators
    bearings : count what these carry; None: those that the machine states, if any
    threads : share the rows of a piece
    """

    request: LoadRequest
    external: ExternalForces | None = None
    exponents: Sequence[float] = EXPONENTS
    plane: str | None = None
    motors: bool | None = None
    bearings: BearingSet | None = None
    threads: int = 1

    @property
    def inputs(self) -> LoadInputs:
        """What acts along the motions."""
        asked = self.request
        return LoadInputs(
            self.external, asked.actuated, asked.minimum_norm, asked.forces, self.threads
        )

    def along(
        self,
        mechanism: Mechanism,
        pieces: Pieces,
        *,
        output: str | PathLike[str] | None = None,
        look: Look | None = None,
    ) -> LoadHistory:
        """Return what is kept of the loads along a motion.

        Parameters
        ----------
        output : file for the loads themselves
        look : sees each piece
        """
        solver, counters = mechanism.solver(self.request), dict[str, Any]()
        if self.motors or (self.motors is None and mechanism.has_motors):
            counters["motors"] = mechanism.motors_counter(self.inputs)
        known = mechanism.stated_bearings if self.bearings is None else self.bearings
        if known is not None and len(known):
            counters["bearings"] = mechanism.bearings_counter(self.inputs, known.by_joint, known)

        def answer(motion: Motion) -> JointLoads:
            loads = solver.along(motion, self.external, threads=self.threads)
            if look is not None:
                look(motion, loads)
            return loads

        return stream_loads(
            answer, pieces, output=output, exponents=self.exponents, plane=self.plane, **counters
        )
