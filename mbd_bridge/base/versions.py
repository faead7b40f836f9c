"""Versions of this package and of others, as results and machine code name them."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

from mbd_bridge import __version__


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the version of this package, and those of others as the index calls them."""
    found = {"mbd_bridge": __version__}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
