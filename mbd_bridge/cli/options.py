"""Options of commands, made of the groups that the calls take: names, types, choices, help."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Any, ForwardRef, Literal, TypeVar, cast, get_args, get_origin

from mbd_bridge.base.options import Option, options_of
from mbd_bridge.cli.parser import NamesAction, from_zero, whole_number

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
