"""The lowest versions that pyproject.toml accepts: ``python -m tests.lowest > lowest.txt``.

A file of constraints: ``pip install -c lowest.txt -e '.[test]'`` installs them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)(\[[\w,]+\])?>=(?P<bound>\d+(\.\d+)*)(,<[\d.]+)?(?P<marker>;.+)?"
)
"""A requirement with a lower bound, such as "dask[distributed]>=2024.5"."""

WITHOUT_CODE = ("mbd_bridge", "types-", "-stubs")
"""This project's own extras, and types for mypy, which follow what is installed."""


def requirements() -> Iterator[str]:
    """Yield what the project and its extras require, without its own extras and types."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    for group in (project["dependencies"], *project["optional-dependencies"].values()):
        yield from (line for line in group if not any(part in line for part in WITHOUT_CODE))


def lowest() -> Iterator[str]:
    """Yield a constraint ``name==bound`` for each requirement; one without a bound is an error."""
    for line in dict.fromkeys(requirements()):
        found = REQUIREMENT.fullmatch(line)
        if found is None:
            raise ValueError(f"{line!r}: expected name>=version, perhaps ,<version and ; marker")
        yield f"{found['name']}=={found['bound']}{found['marker'] or ''}"


ROOT = Path(__file__).parents[1]

IMPORTED_AS = {
    "imageio-ffmpeg": ("imageio_ffmpeg",), "pillow": ("PIL",), "pin": ("pinocchio",),
    "pyyaml": ("yaml",), "usd-core": ("pxr",), "dask[distributed]": ("distributed",),
    "nbclient": ("nbclient", "nbformat"), "pybullet": ("pybullet", "pybullet_data"),
}  # fmt: skip
"""Packages whose modules have other names than they."""


def declared(extra: str) -> set[str]:
    """Return the modules of the packages that ``pip install mbd_bridge[extra]`` brings."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found, open_lists = set(project["dependencies"]), [extra]
    while open_lists:
        for line in project["optional-dependencies"][open_lists.pop()]:
            if line.startswith("mbd_bridge["):
                open_lists += line[len("mbd_bridge[") : -1].split(",")
            else:
                found.add(line)
    names = {line.split(">")[0].lower() for line in found}
    return {module for name in names for module in IMPORTED_AS.get(name, (name,))}


if __name__ == "__main__":
    print("\n".join(lowest()))
