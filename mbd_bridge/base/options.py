"""Options that several calls have: name, type, default and help of each stand in one place.

A group of options is a `TypedDict`, which type checkers and editors read::

    @option_group
    class FilmOptions(TypedDict, total=False):
        '''How a film is made.

Parameters
----------
        fps : pictures in a second
        '''

        fps: Annotated[float, Option(25.0, "N")]

    @with_options
    def film(path: str, **options: Unpack[FilmOptions]) -> None:
        '''Film it.

Parameters
----------
        path : of the film
        **options : of the pictures
        '''

The call is checked against the group, and gets all of its options. `inspect.signature`, ``help``
and the reference show each with its default; the command line (`cli.shared`) is made of the same
group. A module of groups has no ``from __future__ import annotations``; types that are imported for
type checkers alone, or have short names for something long, stand in quotes.
"""

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ForwardRef, TypeVar, cast

from mbd_bridge.base.errors import StateError, unknown_name

F = TypeVar("F", bound=Callable[..., Any])
Group = TypeVar("Group")

WIDTH = 100
"""Characters of a line of help in a docstring."""

SELF = ("self", "machine")
"""First arguments of methods, of one class and of several."""

_UNPACKED = re.compile(r"(?:typing\.)?Unpack\[(?:\w+\.)*(\w+)\]")
_REST = re.compile(r"^( *)\*\*options : .*(?:\n\1 +\S.*)*", re.M)
"""The entry of a docstring in whose place the options stand."""
_ENTRY = re.compile(r"^(\w+) : (.*(?:\n +\S.*)*)", re.M)


@dataclass(eq=False)
class Option:
    """What is said of an option beside its name and its type.

    Attributes
    ----------
    default : its value where none is given
    metavar : what stands for a value on the command line, such as its unit
    shell : its help there, where a value is written in another way than in Python; "": `help`
    choices : words of which it takes one, where its type takes other things as well
    help : what it does, from the docstring of its group
    """

    default: Any
    metavar: str | None = None
    shell: str = ""
    choices: tuple[str, ...] = ()
    help: str = ""


def option_group(group: type[Group]) -> type[Group]:
    """Decorate a `TypedDict` whose docstring says what its options do."""
    helps = {
        name: " ".join(text.split()) for name, text in _ENTRY.findall(inspect.getdoc(group) or "")
    }
    for name, option in options_of(group).items():
        option.help = option.help or helps.get(name, "")
    return group


def options_of(group: type[Any]) -> Mapping[str, Option]:
    """Return the options of a group by name."""
    known = _KNOWN.get(group)
    if known is None:
        known = _KNOWN[group] = {
            name: next(entry for entry in annotation.__metadata__ if isinstance(entry, Option))
            for name, annotation in group.__annotations__.items()
        }
    return known


_KNOWN: dict[type[Any], Mapping[str, Option]] = {}


def part(group: type[Group], options: Mapping[str, Any]) -> Group:
    """Return the options that belong to a group, with its defaults for those that are not there."""
    return cast(Group, {k: options.get(k, x.default) for k, x in options_of(group).items()})


def given(group: type[Any], options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of a group's options that have another value than the default."""
    return tuple(
        name
        for name, option in options_of(group).items()
        if (value := options.get(name, option.default)) is not option.default
        and not _alike(value, option.default)
    )


def _alike(value: Any, default: Any) -> bool:
    """Return whether a value says what the default says: [] what () does."""
    if isinstance(default, tuple) and isinstance(value, list):
        value = tuple(value)
    return type(value) is type(default) and bool(value == default)


def with_options(function: F) -> F:
    """Decorate a function with ``**options: Unpack[GROUP]``: it gets all options of the group.

    A name that it does not take is refused with those that are near it.
    """
    shows_options(function)
    base: dict[str, Any] = part(_group_of(function), {})
    known = set(inspect.signature(function).parameters)

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        if not known.issuperset(named):
            refuse_unknown(function, named)
        return function(*arguments, **{**base, **named})

    return cast(F, call)


def shows_options(function: F) -> F:
    """Decorate a function that takes ``**options: Unpack[GROUP]`` as they come, for speed.

    It is shown as one `with_options` is; it asks `complete` for checked options itself.
    """
    group = _group_of(function)
    signature = inspect.signature(function)
    plain = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    named = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=option.default,
            annotation=_as_written(group.__annotations__[name].__origin__),
        )
        for name, option in options_of(group).items()
    ]
    function.__signature__ = signature.replace(parameters=[*plain, *named])  # type: ignore[attr-defined]
    if function.__doc__:
        function.__doc__ = _REST.sub(
            lambda entry: "\n".join(_described(group, entry[1])), function.__doc__
        )
    return function


def complete(function: Callable[..., Any], group: type[Group], options: Mapping[str, Any]) -> Group:
    """Return the options that a function takes with its defaults, or refuse those it has not."""
    if not options_of(group).keys() >= options.keys():
        refuse_unknown(function, options)
    return part(group, options)


def refuse_unknown(function: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse the first of some names that a function does not take."""
    known = [name for name in inspect.signature(function).parameters if name not in SELF]
    wrong = next(name for name in options if name not in known)
    name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    raise StateError(f"{name}: {unknown_name('option', wrong, known)}")


def _described(group: type[Any], indent: str) -> Iterator[str]:
    """Yield the lines of a docstring that say what a group's options do."""
    for name, option in options_of(group).items():
        yield from textwrap.wrap(
            f"{name} : {option.help}",
            WIDTH,
            initial_indent=indent,
            subsequent_indent=indent + "    ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def _as_written(annotation: Any) -> Any:
    """Return a type as a signature shows it: short where it stands in quotes."""
    return annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else annotation


def _group_of(function: Callable[..., Any]) -> type[Any]:
    """Return the group that stands in ``**options: Unpack[GROUP]``."""
    annotation = function.__annotations__["options"]
    if not isinstance(annotation, str):
        return cast(type, annotation.__args__[0])
    match = _UNPACKED.fullmatch(annotation)
    assert match is not None, f"{function.__qualname__}: **options: {annotation}"
    return cast(type, function.__globals__[match[1]])
