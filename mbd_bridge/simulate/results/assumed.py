"""What the loads of a simulation assume beside what their request says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mbd_bridge.assumptions import NONE, Assumption
from mbd_bridge.errors import some
from mbd_bridge.forces.base import SHOWN
from mbd_bridge.loads import JointLoads
from mbd_bridge.loads.assumed import losses

if TYPE_CHECKING:
    from mbd_bridge.simulate.results.simulation import Simulation


def simulated(run: Simulation, loads: JointLoads) -> JointLoads:
    """Return loads at the records of a simulation with their times and what they assume."""
    system = run.system
    pushes = [part for part in system.wrenches if not part.of_element]
    external = [Assumption("external", part.said) for part in pushes if part.said]
    plain = list(dict.fromkeys(part.name for part in pushes if not part.said))
    if plain or not pushes:
        text = f"given wrenches on {some(plain, SHOWN)}" if plain else NO_EXTERNAL
        external.insert(0, Assumption("external", text))
    elements = some([element.name for element in system.forces], SHOWN)
    assumed = [
        *external,
        Assumption("elements", f"{elements} act" if elements else NONE),
        losses(run.model, system.forces),
        Assumption("rates", f"{SIMULATED}, steps of {run.step:g} s"),
    ]
    if system.effort is not None:
        assumed.append(
            Assumption("limits", "of position and speed: compared with; of effort: held")
        )
    prescribed = some([part.name for part in system.prescribed], SHOWN)
    if prescribed:
        assumed.append(Assumption("rates", f"prescribed, whatever force that takes: {prescribed}"))
    return replace(loads.along(run.time, run.v), assumed=tuple(assumed))


NO_EXTERNAL = "none beside forces and torques of joints"
SIMULATED = "simulated: accelerations satisfy the equations of motion"
