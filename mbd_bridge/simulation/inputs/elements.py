"""What force elements exert, as parts of a system: wrenches on links, forces along velocities.

So all that acts on a machine goes the same way: into the steps, the loads of joints, the energy
balance and the C source.
"""

from __future__ import annotations

from collections.abc import Sequence

from mbd_bridge.forces.general_force import GeneralForce, is_sampled
from mbd_bridge.model import Model
from mbd_bridge.simulation.inputs.element_forces import ElementForces, Member
from mbd_bridge.simulation.inputs.signal import Sampled
from mbd_bridge.simulation.inputs.torques import TorquePart
from mbd_bridge.simulation.inputs.wrenches import WrenchPart


def element_parts(
    model: Model, members: Sequence[Member]
) -> tuple[tuple[TorquePart, ...], tuple[WrenchPart, ...]]:
    """Return the parts of bound elements: along velocities and for each link, those of passive
    elements by themselves, and what passes through cut joints by itself.
    """
    each = [one for one in members if not is_sampled(one.element)]
    torques: list[TorquePart] = []
    for passive in (True, False):
        along = tuple(
            one for one in each if one.passive == passive and one.element.velocity_numbers(model)
        )
        places = tuple(sorted({k for one in along for k in one.element.velocity_numbers(model)}))
        torques += [TorquePart(places, ElementForces(along, None, places))] if along else []
    pushes: list[WrenchPart] = []
    for element in (one.element for one in members):
        if isinstance(element, GeneralForce) and element.sampled:
            called = Sampled(element.function, element=element.name)
            if element.link:
                number, axes = model.link_number(element.link), element.axes
                pushes.append(WrenchPart(element.link, number, axes, called))
            else:
                torques.append(TorquePart(element.velocity_numbers(model), called))
    on_links: dict[tuple[int, bool, bool], list[Member]] = {}
    for one in each:
        for link in one.element.link_numbers(model):
            within = bool(one.element.cut_numbers(model))
            on_links.setdefault((link, within, not one.passive), []).append(one)
    pushes += [
        WrenchPart(
            model.links[link].name,
            link,
            "link",
            ElementForces(tuple(on_links[link, within, active]), link, (), within),
        )
        for link, within, active in sorted(on_links)
    ]
    return tuple(torques), tuple(pushes)
