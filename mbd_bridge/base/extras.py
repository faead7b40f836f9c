"""Other packages: imports of those that only some tasks need, what installs one, versions."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from mbd_bridge.base.errors import MissingPackageError

NAME = "mbd_bridge"


def needed(module: str, why: str, package: str) -> Any:
    """Return a module of a package that may be missing.

    Parameters
    ----------
    module : such as "pyarrow.parquet"
    why : who needs what, the first words of the message
    package : what pip installs, such as "mbd_bridge[files]" or "pin"

    Raises
    ------
    MissingPackageError
        It is not installed, or cannot be imported.
    """
    root = module.partition(".")[0]
    try:
        import_module(root)
        return import_module(module)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == root:
            advice = install(package)
        else:  # such as pinocchio where the system has no libgomp.so.1: to install it does not help
            advice = f"it is installed, but cannot be imported: {error}"
        raise MissingPackageError(f"{why}: {advice}") from None


def install(package: str) -> str:
    """Return the command that installs a package, or an extra of mbd_bridge ("mbd_bridge[files]").

    pip takes the extras of an mbd_bridge that is installed from it, also where that came from a
    clone. A clone that is used without being installed is named by its path.
    """
    import shlex
    from importlib.metadata import PackageNotFoundError, distribution

    clone = Path(__file__).parents[2]
    if package.startswith(NAME) and (clone / "pyproject.toml").is_file():
        try:
            distribution(NAME)
        except PackageNotFoundError:
            package = package.replace(NAME, str(clone), 1)
    return f"pip install {shlex.quote(package)}"


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the version of this package, and those of others as the index calls them."""
    from importlib.metadata import PackageNotFoundError, version

    from mbd_bridge import __version__

    found = {NAME: __version__}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
