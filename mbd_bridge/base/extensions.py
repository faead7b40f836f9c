"""What extends the package, by group and name: imported when it is used, not before.

Each is a line ``name = module:attribute`` under its ``[group]``. The lines of an application are in
``applications/NAME/entry_points.txt``, so that its folder can be deleted, methods that several
classes have in ``api/entry_points.txt``; those of an installed package are its entry points
(``mbd_bridge.formats``, ...); a script calls `register`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from mbd_bridge.base.errors import ExtensionError, one_of, unknown_name, warn
from mbd_bridge.base.lazy import import_late

GROUPS = {
    "commands": "commands of mbd",
    "forces": "force elements, by the name of their class",
    "formats": "formats of robots' files, by suffix",
    "tables": "kinds of tables, by suffix",
    "integrators": "integrators, by name",
    "methods": "methods and attributes, CLASS.NAME",
    "exports": "what mbd export writes",
    "options": "options that say more of a machine, of mbd report",
    "observers": "what is counted along motions",
    "cases": "what observers tell of several load cases, by their names",
    "sections": "sections of a report",
    "summaries": "what mbd loads tells beside the loads",
    "sidecars": "files beside a robot's file",
}
"""What can be added, in words."""

PACKAGE = Path(__file__).parents[1]
APPLICATIONS = PACKAGE / "applications"

_of_scripts: dict[tuple[str, str], Extension] = {}


class Extension(NamedTuple):
    """A named thing that is imported when it is used.

    Attributes
    ----------
    group : one of `GROUPS`
    name : in its group
    target : ``module:attribute``, a module's name alone, or the thing itself
    source : who brings it, in words; "" for an application of ours
    """

    group: str
    name: str
    target: Any
    source: str = ""

    def load(self) -> Any:
        """Return the thing.

        Raises
        ------
        ExtensionError
            It cannot be imported, and is none of ours.
        """
        if not isinstance(self.target, str):
            return self.target
        module, _, attribute = self.target.partition(":")
        try:
            found = import_late(module)
            return attrgetter(attribute)(found) if attribute else found
        except Exception as error:
            if not self.source:
                raise
            raise ExtensionError(
                f"{self.group}: {self.name!r} of {self.source} cannot be used: {self.target!r} "
                f"says {type(error).__name__}: {error}; update or uninstall it"
            ) from error


def register(group: str, name: str, target: Any) -> None:
    """Add something to a group, in place of what has its name.

    Parameters
    ----------
    group : one of `GROUPS`
    target : the thing itself, or ``module:attribute`` to import it later
    """
    group = one_of("group", group, GROUPS, ExtensionError)
    _of_scripts[group, name] = Extension(group, name, target, "a script")


def extensions(group: str) -> dict[str, Extension]:
    """Return all that there is of a group by name: of applications, installed packages, scripts."""
    of_scripts = {name: one for (own, name), one in _of_scripts.items() if own == group}
    return {**of_applications(group), **_installed(group), **of_scripts}


def extension(group: str, name: str) -> Any:
    """Return one thing; installed packages are searched if no application has its name."""
    known = of_applications(group)
    if name not in known:
        known = extensions(group)
    if name not in known:
        raise ExtensionError(f"{group}: {unknown_name('name', name, known)}; is its folder there?")
    return known[name].load()


def working(group: str) -> Iterator[tuple[str, Any]]:
    """Yield name and thing of all in a group; what cannot be imported is named in a warning."""
    for name, one in extensions(group).items():
        try:
            found = one.load()
        except ExtensionError as error:
            warn(str(error))
        else:
            yield name, found


def of_applications(group: str) -> dict[str, Extension]:
    """Return what the applications bring to a group, by name."""
    return _by_group().get(group, {})


@cache
def _by_group() -> dict[str, dict[str, Extension]]:
    found: dict[str, dict[str, Extension]] = {}
    own = PACKAGE / "api" / "entry_points.txt"
    for file in (own, *sorted(APPLICATIONS.glob("*/entry_points.txt"))):
        group = ""
        for line in file.read_text(encoding="utf-8").splitlines():
            name, equals, target = line.partition(" = ")
            if equals:
                found.setdefault(group, {})[name] = Extension(group, name, target)
            elif line.startswith("["):
                group = line.strip("[]")
    return found


@cache
def _installed(group: str) -> dict[str, Extension]:
    from importlib.metadata import entry_points

    return {
        one.name: Extension(group, one.name, one.value, one.dist.name if one.dist else one.value)
        for one in entry_points(group=f"mbd_bridge.{group}")
    }


class Extended:
    """A class to which applications add methods and attributes (group ``methods``)."""

    __slots__ = ()

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        for name, one in of_applications("methods").items():
            owner, _, attribute = name.partition(".")
            if owner == cls.__name__:
                setattr(cls, attribute, _Late(attribute, one))


class _Late:
    """Stands for a method until it is used, which imports it."""

    def __init__(self, name: str, extension: Extension) -> None:
        self._name, self._extension = name, extension

    def __get__(self, instance: object, owner: type) -> Any:
        method = self._extension.load()
        for cls in owner.__mro__:
            if cls.__dict__.get(self._name) is self:
                setattr(cls, self._name, method)
        return method.__get__(instance, owner)
