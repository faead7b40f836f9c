"""What force elements exert, as parts of a system: wrenches on links, forces along velocities.

So all that acts on a machine goes the same way: into the steps, the loads of joints, the energy
balance and the C source.
"""

from __future__ import annotations

from mbd_bridge.forces.base import ForceElement
from mbd_bridge.forces.general_force import GeneralForce, is_sampled
from mbd_bridge.forces.states import ElementStates
from mbd_bridge.mechanism import Model
from mbd_bridge.simulate.inputs.element_forces import ElementForces
from mbd_bridge.simulate.inputs.signal import Sampled
from mbd_bridge.simulate.inputs.torques import TorquePart
from mbd_bridge.simulate.inputs.wrenches import WrenchPart


def element_parts(
    model: Model, elements: tuple[ForceElement, ...], states: ElementStates
) -> tuple[tuple[TorquePart, ...], tuple[WrenchPart, ...]]:
    """Return the parts of bound elements: one along velocities, one or two for each link."""
    pairs = list(zip(elements, states.places, strict=True))
    each = [(one, place) for one, place in pairs if not is_sampled(one)]
    along = [(one, place) for one, place in each if one.velocity_numbers(model)]
    places = tuple(sorted({k for one, _ in along for k in one.velocity_numbers(model)}))
    torques = [TorquePart(places, _together(along, None, places))] if along else []
    pushes: list[WrenchPart] = []
    for element in elements:
        if isinstance(element, GeneralForce) and element.sampled:
            called = Sampled(element.function, element=element.name)
            if element.link:
                number, axes = model.link_number(element.link), element.axes
                pushes.append(WrenchPart(element.link, number, axes, called))
            else:
                torques.append(TorquePart(element.velocity_numbers(model), called))
    on_links: dict[tuple[int, bool], list[tuple[ForceElement, slice]]] = {}
    for one, place in each:
        for link in one.link_numbers(model):
            on_links.setdefault((link, bool(one.cut_numbers(model))), []).append((one, place))
    pushes += [
        WrenchPart(
            model.links[link].name,
            link,
            "link",
            _together(on_links[link, within], link, (), within),
        )
        for link, within in sorted(on_links)
    ]
    return tuple(torques), tuple(pushes)


def _together(
    some: list[tuple[ForceElement, slice]],
    link: int | None,
    places: tuple[int, ...] = (),
    within: bool = False,
) -> ElementForces:
    elements, states = zip(*some, strict=True)
    return ElementForces(elements, states, link, places, within)
