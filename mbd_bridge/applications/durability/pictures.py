"""Pictures of load spectra."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mbd_bridge.base.arguments import chosen_names
from mbd_bridge.base.plots import SpectrumPanel, Steps, draw_spectra
from mbd_bridge.motion.table import ACTUATION, FORCES, MOMENTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mbd_bridge.applications.durability.load_spectra import LoadSpectra
    from mbd_bridge.applications.durability.spectrum import Spectrum
    from mbd_bridge.loads.signals import LoadSignal


def plot_spectra(
    spectra: LoadSpectra,
    joints: Iterable[str] | str | None = None,
    *,
    ax: Axes | Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw the spectra of force and of moment of joints; see `LoadSpectra.plot`."""
    known = list(dict.fromkeys(signal.joint for signal in spectra.signals))
    asked = chosen_names("joints", joints, known, "joint in these spectra", kinds="joints")
    panels = [panel for joint in asked for panel in joint_panels(spectra, joint)]
    text = f"{spectra.convention}; rainflow cycles in {spectra.duration:g} s"
    return draw_spectra(panels, columns=2, text=text, ax=ax)


def joint_panels(spectra: LoadSpectra, joint: str) -> tuple[SpectrumPanel, SpectrumPanel]:
    """Return the spectra of a joint's force and moment, without those of rounding errors."""
    pairs = zip(spectra.signals, spectra.spectra, strict=True)
    own = [(signal, one) for signal, one in pairs if signal.joint == joint]
    floors = spectra.round_off
    force = _panel(joint, own, "force", FORCES, floors.force)
    return force, _panel(joint, own, "moment", MOMENTS, floors.moment)


def _panel(
    joint: str,
    own: list[tuple[LoadSignal, Spectrum]],
    what: str,
    components: tuple[str, ...],
    floor: float,
) -> SpectrumPanel:
    unit = "N" if what == "force" else "N m"
    shown = [
        (signal, one)
        for signal, one in own
        if signal.quantity in components
        or (signal.quantity.split(".")[0] == ACTUATION and signal.unit == unit)
    ]
    steps = []
    for signal, one in shown:
        reached, name = one.exceedance, signal.quantity
        if one.largest > floor:
            steps.append(Steps(name, reached.range, reached.cycles, one.largest, one.determined))
        else:  # its colour stays its own
            steps.append(Steps(name, np.empty(0), np.empty(0), 0.0))
    return SpectrumPanel(f"{joint}: {what}", unit, tuple(steps))
