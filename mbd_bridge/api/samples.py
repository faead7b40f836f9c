"""The sample models that come with the package: files to try things with."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from types import MappingProxyType

from mbd_bridge.base.errors import MissingPackageError

FOLDER = "urdf"
"""The folder with the models, beside the package in a clone."""
SHARE = Path("share", "mbd_bridge", FOLDER)
"""Where it is when installed, in the environment's folder for data."""
KINDS = (".urdf", ".csv")
"""Endings of the files with a name of their own: machines, and motions of them."""


@functools.cache
def models() -> Mapping[str, Path]:
    """Return the paths of the sample models and motions, by name.

    A file ``NAME.urdf`` is called NAME, any other by its whole name. Sidecars (loops, force
    elements) are in the same folder and are found by `load`.

    >>> import mbd_bridge as mbd
    >>> robot = mbd.load(mbd.models()["kuka_iiwa"])
    >>> motion = robot.read_motion(mbd.models()["kuka_iiwa_motion.csv"])
    """
    found = {}
    for path in sorted(_folder().iterdir()):
        if path.suffix in KINDS:
            found[path.stem if path.suffix == ".urdf" else path.name] = path
    return MappingProxyType(found)


def _folder() -> Path:
    """Return the folder with the sample models."""
    here = Path(__file__).parents[2]
    places = [here / FOLDER] if (here / "pyproject.toml").is_file() else []
    places += [*_recorded(), here / SHARE]  # the last for ``pip install --target``
    for place in places:
        if (place / "kuka_iiwa.urdf").is_file():
            return place
    raise MissingPackageError(
        "the sample models were not found: this installation of mbd_bridge has none; install it "
        "from its wheel or from a clone ('pip install .')"
    )


def _recorded() -> Iterator[Path]:
    """Yield the folder of the first sample model in the record of what was installed."""
    try:
        files = metadata.files("mbd_bridge") or []
    except metadata.PackageNotFoundError:
        return
    for file in files:
        if file.name == "kuka_iiwa.urdf":
            yield Path(str(file.locate())).resolve().parent
