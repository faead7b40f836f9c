"""A machine in the browser: a page that can be saved, shown in a notebook, or served locally."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbd_bridge.errors import FileError, StateError
from mbd_bridge.formats.whole_file import check_place, whole_path
from mbd_bridge.lazy import cached_property
from mbd_bridge.mechanism.units import model_units
from mbd_bridge.view.posing import Poser
from mbd_bridge.view.source import Rest, Source
from mbd_bridge.view.take import Overlays, Take
from mbd_bridge.view.web.description import Description, describe, state_of
from mbd_bridge.view.web.page import viewer_page

if TYPE_CHECKING:
    from mbd_bridge.view.web.server import ViewServer

HEIGHT = 560
"""Of the frame in a notebook, pixels."""

ENDINGS = (".html", ".htm")


class Look(NamedTuple):
    """How a page shows a machine at first; for the fields see `description.describe`."""

    ground: bool = True
    labels: bool = True
    view: tuple[float, float] | None = None
    playing: bool = False
    speed: float = 1.0
    exaggerate: float = 1.0
    joints: bool | None = None
    centre: bool = False
    frames: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class WebView:
    """A machine, its motion and its loads, as a page for a browser that needs no network.

    In a notebook it shows itself. `save` writes the page; `serve` shows it from this process, with
    a slider for each degree of freedom of a machine without a motion.

    Attributes
    ----------
    source : the states that are shown
    rest : how loads at rest are found when the machine is posed; None: it is not posed
    look : how it is shown at first
    """

    source: Source
    rest: Rest | None = None
    title: str = ""
    look: Look = field(default_factory=Look)

    @cached_property
    def scene(self) -> Description:
        """What the page shows, as plain data."""
        return describe(self.source, title=self.title, **self.look._asdict())

    def page(self) -> str:
        """Return the page, of one piece."""
        return viewer_page(self.scene)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page; a machine without a motion stands where it is.

        Parameters
        ----------
        path : ends with .html
        """
        check_page(path)
        with whole_path(path) as part:
            part.write_text(self.page(), encoding="utf-8")

    def serve(self, *, port: int = 0) -> ViewServer:
        """Return a server of the page, which runs until it is closed, for this computer only.

        Parameters
        ----------
        port : of 127.0.0.1; 0 for a free one
        """
        from mbd_bridge.view.web.server import ViewServer

        return ViewServer(self, port)

    def posing(self) -> Posing | None:
        """Return the machine as it is posed by sliders; None of a motion."""
        if self.rest is None:
            return None
        return Posing(Take(self.source, Overlays(exaggerate=self.look.exaggerate)), self.rest)

    def _repr_html_(self) -> str:
        """Return the page in a frame, as notebooks show it."""
        return (
            f'<iframe srcdoc="{escape(self.page())}" title="{escape(self.scene["title"])}" '
            f'style="width:100%;height:{HEIGHT}px;border:0" sandbox="allow-scripts"></iframe>'
        )

    def __repr__(self) -> str:
        records = len(self.source.time)
        states = "a pose" if records == 1 else f"{records} states"
        return f"WebView({self.scene['title']!r}: {states}; .save('page.html'), .serve())"


class Posing:
    """A machine that the sliders of a page move."""

    def __init__(self, take: Take, rest: Rest) -> None:
        self._rest, self._take = rest, take
        self._poser = Poser(take.model, take.source.q[0])

    def knobs(self) -> list[dict[str, Any]]:
        """Return the sliders: name, unit and range."""
        _, units = model_units(self._poser.model)
        return [
            {
                "name": knob.name,
                "unit": units[knob.index],
                "low": knob.low,
                "high": knob.high,
            }
            for knob in self._poser.knobs
        ]

    def values(self) -> list[float]:
        """Return where the sliders stand."""
        return self._poser.values()

    def turn(self, values: Sequence[float], moved: int) -> Description:
        """Move to where the sliders stand; return the state and the sliders there.

        Parameters
        ----------
        moved : the slider that was moved
        """
        knobs = self._poser.knobs
        numbers = np.asarray(values, dtype=np.float64)
        if numbers.shape != (len(knobs),) or not np.isfinite(numbers).all():
            raise StateError(f"values: expected {len(knobs)} numbers, one a slider")
        if not 0 <= moved < len(knobs):
            raise StateError(f"moved: expected a slider from 0 to {len(knobs) - 1}, got {moved}")
        closed = self._poser.turn(numbers.tolist(), moved)
        state = self._rest.at(self._poser.q)
        self._take = self._take.followed_by(state)
        message = "" if closed else "no position near closes the loops there"
        return {**state_of(self._take), "values": self.values(), "message": message}


def check_page(path: str | os.PathLike[str]) -> None:
    """Refuse a name that is not one of a page, and a place where none can be written."""
    name = os.fspath(path)
    if not str(name).lower().endswith(ENDINGS):
        raise FileError("expected a name that ends with .html", str(name))
    check_place(path)


def is_page(path: str | os.PathLike[str] | None) -> bool:
    """Return whether a name is one of a page for the browser."""
    return path is not None and str(os.fspath(path)).lower().endswith(ENDINGS)
