"""Load histories of a mechanism: what is counted along its motions, asked for once."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

from mbd_bridge.api.load_inputs import LoadInputs
from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.api.options import HistoryOptions
from mbd_bridge.base.extensions import of_applications
from mbd_bridge.base.options import part
from mbd_bridge.loads import JointLoads, LoadRequest
from mbd_bridge.loads.options import RequestOptions
from mbd_bridge.loads.streaming import EXPONENTS, LoadHistory, Observer, stream_loads
from mbd_bridge.motion import Motion, Pieces
from mbd_bridge.motion.external import ExternalForces, external_forces

if TYPE_CHECKING:
    from mbd_bridge.applications.typed import BearingsGiven
    from mbd_bridge.simulation import Simulation

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
    bearings: "BearingsGiven | None" = None
    threads: int = 1

    @staticmethod
    def of(
        mechanism: Mechanism,
        joints: Iterable[str] | str | None,
        options: HistoryOptions,
        *,
        plane: str | None = None,
        threads: int = 1,
    ) -> "HistoryRequest":
        """Return a checked request for the loads along motions of a mechanism."""
        forces = external_forces(mechanism.model, options["external"], options["external_in"])
        asked = part(RequestOptions, options)
        asked["links"] = () if forces is None else forces.links
        asked["external_in"] = "link"
        asked["forces"] = mechanism.elements(options["forces"])
        request = LoadRequest.of(mechanism.model, joints, **asked)
        counted = options["exponents"], plane, options["motors"], options["bearings"]
        return HistoryRequest(request, forces, *counted, threads)

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
        solver, observers = mechanism.solver(self.request), self.observers(mechanism)

        def answer(motion: Motion) -> JointLoads:
            loads = solver.along(motion, self.external, threads=self.threads)
            if look is not None:
                look(motion, loads)
            return loads

        return stream_loads(answer, pieces, output=output, observers=observers)

    def observers(
        self, mechanism: Mechanism, run: "Simulation | None" = None
    ) -> dict[str, Observer]:
        """Return what counts what is asked for along a motion, or along a simulation."""
        each = {
            name: one.load().of(mechanism, self, run)
            for name, one in of_applications("observers").items()
        }
        return {name: observer for name, observer in each.items() if observer is not None}
