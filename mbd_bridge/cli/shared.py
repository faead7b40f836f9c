"""Options that several commands have, declared once."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mbd_bridge.cli.parser import NamesAction, whole_number
from mbd_bridge.loads.options import EXPONENTS

if TYPE_CHECKING:
    from mbd_bridge.model import Model


def add_joints(parser: argparse.ArgumentParser, text: str, *, required: bool = False) -> None:
    """Declare which joints; `text` says of what, and what is the default."""
    parser.add_argument(
        "--joints", nargs="+", action=NamesAction, required=required, metavar="JOINT", help=text
    )


def joints(options: argparse.Namespace) -> tuple[str, ...] | None:
    """Return the joints that are named; None for all."""
    return None if options.joints in (None, ["all"]) else tuple(options.joints)


def add_exponents(parser: argparse.ArgumentParser) -> None:
    """Declare the Woehler exponents."""
    parser.add_argument(
        "--exponents",
        nargs="+",
        type=positive,
        default=list(EXPONENTS),
        metavar="m",
        help="Woehler exponents of the damage-equivalent ranges "
        f"({' '.join(f'{m:g}' for m in EXPONENTS)})",
    )


def add_threads(parser: argparse.ArgumentParser, what: str = "rows") -> None:
    """Declare among how many threads the work is shared."""
    parser.add_argument(
        "--threads",
        type=whole_number,
        default=1,
        metavar="N",
        help=f"share the {what} among threads",
    )


def check_table(options: argparse.Namespace) -> None:
    """Refuse a table that cannot be written, before anything is computed for it."""
    from mbd_bridge.files.tables import check_output

    if options.output is not None:
        check_output(options.output)


def check_columns(output: str | None, model: Model, joints: Iterable[str] = ()) -> None:
    """Refuse names that make two columns of a motion's table the same, before it is computed.

    Parameters
    ----------
    joints : whose loads stand beside the motion
    """
    from mbd_bridge.files.table import Column, check_columns
    from mbd_bridge.loads.export import load_names
    from mbd_bridge.motion.table import motion_columns

    columns = [Column(name) for joint in joints for name in load_names(model, joint)]
    check_columns([*motion_columns(model), *columns], output or "stdout")


def named(words: Iterable[str], option: str, form: str) -> dict[str, str]:
    """Return the texts that NAME=TEXT words give, by name.

    Parameters
    ----------
    form : of the words, with an example, for the message
    """
    from mbd_bridge.base.errors import StateError

    found: dict[str, str] = {}
    for word in words:
        name, _, text = (part.strip() for part in word.partition("="))
        if not (name and text):
            raise StateError(f"--{option}: expected {form}, got {word!r}")
        if name in found:
            raise StateError(f"--{option}: {name!r} is given twice; keep one")
        found[name] = text
    return found


def positive(text: str) -> float:
    """Return a positive number."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number > 0.0):
        raise argparse.ArgumentTypeError(f"expected a positive number, got {text!r}")
    return number
