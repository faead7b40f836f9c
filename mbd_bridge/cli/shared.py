"""Options of commands: those that several have, and those of the groups that the calls take."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterable, Mapping
from types import NoneType
from typing import TYPE_CHECKING, Any, ForwardRef, Literal, TypeVar, cast, get_args, get_origin

from mbd_bridge.base.options import Option, options_of
from mbd_bridge.cli.parser import NamesAction, from_zero, whole_number
from mbd_bridge.loads.options import EXPONENTS

if TYPE_CHECKING:
    from mbd_bridge.model import Model


def add_joints(parser: argparse.ArgumentParser, text: str, *, required: bool = False) -> None:
    """Declare which joints; `text` says of what, and what is the default."""
    add_names(parser, "--joints", "JOINT", text, required=required)


def add_names(
    parser: argparse._ActionsContainer, flag: str, metavar: str, text: str, **more: Any
) -> None:
    """Declare an option that takes names, with blanks or commas between them."""
    parser.add_argument(flag, nargs="+", action=NamesAction, metavar=metavar, help=text, **more)


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


def add_sensitivity(parser: argparse.ArgumentParser) -> None:
    """Declare by which numbers of the machine changes of loads are counted."""
    parser.add_argument(
        "--sensitivity",
        nargs="*",
        action=NamesAction,
        metavar="NAME",
        help="tell what changes the peaks and the root mean squares, in %% per %% of numbers of "
        "the machine: rod.mass, elbow.xyz, spring.stiffness, ...; alone: of its links' masses. "
        "In loops the motion of the actuated joints is held",
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


# Options of commands, made of the groups that the calls take: names, types, choices, help.

Group = TypeVar("Group")

NAMES = ("Iterable[str]", "Sequence[str]")
"""How types of lists of names begin."""


def add_options(
    parser: argparse._ActionsContainer,
    group: type[Any],
    names: Iterable[str] | None = None,
    **changes: Mapping[str, Any],
) -> None:
    """Declare the options of a group.

    Parameters
    ----------
    names : which of them, in their order on the page; None for all
    changes : arguments of `add_argument` by option, where the command line takes it in words of its
        own (``type``, ``action``); ``flag`` is its name there
    """
    known = options_of(group)
    for name in known if names is None else names:
        option, annotation = known[name], group.__annotations__[name].__origin__
        words = {**_words(option, annotation), **changes.get(name, {})}
        if "action" in words and words["action"] == "store_true":
            words.pop("metavar", None)
        off = "no-" if words.get("action") == "store_false" else ""
        flag = words.pop("flag", f"--{off}{name.strip('_').replace('_', '-')}")
        parser.add_argument(flag, **{"dest": name, **words})


def _words(option: Option, annotation: Any) -> dict[str, Any]:
    """Return the arguments of `add_argument` that type, default and help of an option give.

    Of the help the first sentence is taken: what follows is for Python.
    """
    text = option.shell or re.sub(r'["`]', "", re.split(r"\. (?=[A-Z])", option.help)[0])
    text = text.replace("%", "%%")
    if annotation is bool:
        return {"action": f"store_{str(not option.default).lower()}", "help": text}
    types = [kind for kind in get_args(annotation) or (annotation,) if kind is not NoneType]
    choices = option.choices
    if get_origin(annotation) is Literal:
        choices = get_args(annotation)
    elif types and get_origin(types[0]) is Literal:
        choices = get_args(types[0])
    words: dict[str, Any] = {"default": option.default}
    if choices:
        words["choices"] = choices
    else:
        words["metavar"] = option.metavar
        if isinstance(annotation, ForwardRef) and annotation.__forward_arg__.startswith(NAMES):
            words |= {"nargs": "+", "action": NamesAction, "default": None}
        elif types[0] is int:
            words["type"] = from_zero if option.default == 0 else whole_number
        elif types[0] is float:
            words["type"] = float
    known = option.default not in (None, "", ()) and f"default {option.default}" not in text
    return {**words, "help": f"{text} (default {option.default})" if known else text}


def values(options: argparse.Namespace, group: type[Group], **read: Any) -> Group:
    """Return the options of a group as a command line gives them, for a call.

    Parameters
    ----------
    read : values of those that the command line takes in words of its own
    """
    chosen = {
        name: vars(options)[name]
        for name, option in options_of(group).items()
        if vars(options).get(name) is not None
    }
    return cast(Group, {**chosen, **read})
