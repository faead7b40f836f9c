"""Several motions of a machine in words: ``pick=pick.csv stop.csv --weight pick=2e6``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mbd_bridge.cli import motion_file, shared
from mbd_bridge.cli.parser import NamesAction

if TYPE_CHECKING:
    from mbd_bridge.base.assumptions import Assumption
    from mbd_bridge.model import Model
    from mbd_bridge.motion import Motion, Pieces


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the motions and their repetitions."""
    parser.add_argument(
        "motion",
        nargs="+",
        metavar="[NAME=]MOTION",
        help="table or ROS bag of the motion; several are load cases, called NAME or after their "
        "files",
    )
    parser.add_argument(
        "--weight",
        nargs="+",
        action=NamesAction,
        default=[],
        metavar="NAME=N",
        help="repetitions of a load case (1)",
    )


def files(options: argparse.Namespace) -> dict[str, str]:
    """Return the files of the motions by name."""
    from os.path import exists
    from pathlib import PurePath

    from mbd_bridge.base.errors import StateError

    found: dict[str, str] = {}
    for word in options.motion:
        name, sign, path = word.partition("=")
        if not (name and sign and path) or exists(word):
            name, path = PurePath(word).stem, word
        if name in found:
            raise StateError(f"two load cases are called {name!r}; name them: NAME={path}")
        found[name] = path
    return found


def of_each(options: argparse.Namespace, named: dict[str, str]) -> dict[str, argparse.Namespace]:
    """Return the options of each load case, whose `motion` is one file."""
    return {
        name: argparse.Namespace(**{**vars(options), "motion": path, "q": None})
        for name, path in named.items()
    }


class CasePieces:
    """The motion of one load case in pieces; its file is opened when they are taken.

    Parameters
    ----------
    options : of this case (`of_each`)
    """

    def __init__(self, options: argparse.Namespace, model: Model) -> None:
        self.name, self.model, self._options = options.motion, model, options
        self._pieces: Pieces | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What was derived, held still or looks odd."""
        return () if self._pieces is None else self._pieces.notes

    @property
    def assumed(self) -> tuple[Assumption, ...]:
        """What was done to the motion."""
        return () if self._pieces is None else self._pieces.assumed

    def __iter__(self) -> Iterator[Motion]:
        with motion_file.pieces(self._options, self.model) as self._pieces:
            yield from self._pieces


def weights(options: argparse.Namespace, names: dict[str, str]) -> dict[str, float]:
    """Return the repetitions that --weight gives."""
    from mbd_bridge.base.errors import StateError, unknown_name

    found: dict[str, float] = {}
    form = "NAME=N such as pick=2e6"
    for name, text in shared.named(options.weight, "weight", form).items():
        if name not in names:
            raise StateError(f"--weight: {unknown_name('load case', name, names)}")
        try:
            found[name] = float(text)
        except ValueError:
            raise StateError(f"--weight: expected {form}, got {f'{name}={text}'!r}") from None
    return found
