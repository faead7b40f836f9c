"""What is formed, or imported, at the first question for it, and kept."""

from __future__ import annotations

import ast
import functools
import gc
import importlib
import sys
from collections.abc import Callable
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


def import_late(module: str) -> Any:
    """Return a module, imported without a look for unreachable objects: modules make many, and all
    of them stay. It takes a sixth of the time otherwise.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        return importlib.import_module(module)
    finally:
        if enabled:
            gc.enable()


def public_names(
    package: str, init: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package that imports names at first use.

    The names and their modules are the imports of ``__init__.pyi``, which type checkers and editors
    read.

    Parameters
    ----------
    package, init : its ``__name__`` and ``__file__``
    """
    stub = init.removesuffix("c").removesuffix(".py") + ".pyi"
    with open(stub, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    places = {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = places[name]
        here = module == package  # a subpackage or module of it: to ask it would ask us again
        value = None if here else getattr(import_late(module), attribute, None)
        if value is None:  # which its package does not import
            value = import_late(f"{module}.{attribute}")
        setattr(sys.modules[package], name, value)
        return value

    public = sorted(places)
    return get, lambda: public, public
