"""What is formed, or imported, at the first question for it, and kept."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar, overload

T = TypeVar("T")

PYTHONS_OWN = functools.cached_property
"""To tell those of users' classes by; ours are of this kind, too."""


class cached_property(functools.cached_property[T]):  # noqa: N801 - it reads like the one it replaces
    """A `functools.cached_property` that takes no lock, as Python's own from 3.12.

    Up to 3.11 that one holds a lock for all objects of a class while one of them computes: threads
    wait for each other, and a child that is forked meanwhile waits for ever. Of two threads that
    ask at once both compute, and the first answer stays.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...
    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Self | T:
        if instance is None:
            return self
        assert self.attrname is not None
        kept = instance.__dict__
        if self.attrname in kept:
            found: T = kept[self.attrname]
            return found
        made: T = kept.setdefault(self.attrname, self.func(instance))
        return made


def imported_at_first_use(
    package: str, places: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package whose names are imported when they are asked.

    Parameters
    ----------
    package : its ``__name__``
    places : by public name the module that has it, or is it
    """

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(places[name])
        found = module if places[name] == f"{package}.{name}" else getattr(module, name)
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *places})

    return get, names
