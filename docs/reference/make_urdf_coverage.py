"""Write docs/reference/urdf_coverage.md: how we and pinocchio read the URDFs of two wheels.

    python docs/reference/make_urdf_coverage.py

Needs the packages of the `test` extra.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

import pinocchio as pin  # noqa: E402

from mbd_bridge.base.errors import FileError, MbdWarning  # noqa: E402
from mbd_bridge.files import document, read  # noqa: E402
from mbd_bridge.model.description import Description  # noqa: E402
from tests.robots import random_objects, robots, wheel_urdfs  # noqa: E402

TARGET = HERE / "urdf_coverage.md"

ALL = 10**9
"""Places of a remark that the page names: no warning names so many."""

HEAD = """# Which URDFs are read

Written by `docs/reference/make_urdf_coverage.py`; do not edit. The tests in
`tests/formats/test_wheel_robots.py` check it: mbd_bridge reads everything
that pinocchio reads, with the same links, joints, placements, axes, limits and composite inertia.

Read with example-robot-data {erd}, pybullet {pybullet}, pin {pin}. A file is named by its
package (`erd` or `pb`), the folders that distinguish it, and its name.
"""

ODD = """
## Read unchanged, with a warning

These files are read in spite of the warning. The headings are the texts of the `MbdWarning` (and of
`Description.notes`). A warning names three places or four; this page names all.
Missing meshes are left out.
"""

TYPES = """
## Joint types

The number of joints of each type in the files outside `random_urdfs`, and the number of files.

| type | joints | files |
|---|---|---|
"""


def ours(path: Path) -> Description | FileError:
    """Return what our reader says of a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MbdWarning)
        try:
            return read(path)
        except FileError as error:
            return error


def pinocchio_reads(path: Path) -> bool:
    """Return whether pinocchio reads a file."""
    try:
        pin.buildModelFromUrdf(str(path))
    except ValueError:
        return False
    return True


def reason(error: FileError) -> str:
    """Return an error without the path, for a table."""
    where = f"line {error.line}, " if error.line else ""
    message = error.message.replace("<", "&lt;").replace("|", "\\|")
    return f"{where}`{error.element}`: {message}"


def counts(descriptions: dict[str, Description | FileError], theirs: dict[str, bool]) -> list[str]:
    """Return the table of how many files are read."""
    rows = ["", "| files | all | we read | pinocchio reads |", "|---|---|---|---|"]
    groups = {
        "example-robot-data": [n for n in robots() if n.startswith("erd/")],
        "pybullet, outside `random_urdfs`": [n for n in robots() if n.startswith("pb/")],
        "pybullet, `random_urdfs`": list(random_objects()),
    }
    for title, names in groups.items():
        read_by_us = sum(isinstance(descriptions[n], Description) for n in names)
        rows.append(f"| {title} | {len(names)} | {read_by_us} | {sum(theirs[n] for n in names)} |")
    return rows


def exceptions(
    descriptions: dict[str, Description | FileError], theirs: dict[str, bool]
) -> list[str]:
    """Return the table of files that not everyone reads."""
    rows = ["", "## Exceptions", "", "| file | we | pinocchio | reason |", "|---|---|---|---|"]
    for name, description in descriptions.items():
        is_read = isinstance(description, Description)
        if is_read and theirs[name]:
            continue
        if isinstance(description, Description):
            kinds = sorted({joint.type for joint in description.joints} & {"spherical"})
            why = f"valid; urdfdom does not know {', '.join(kinds)} joints"
        else:
            why = reason(description)
        answers = ["reads" if answer else "refuses" for answer in (is_read, theirs[name])]
        rows.append(f"| {name} | {answers[0]} | {answers[1]} | {why} |")
    return rows


def findings(descriptions: dict[str, Description | FileError]) -> list[str]:
    """Return one table for each kind of warning."""
    by_kind: dict[str, list[str]] = {}
    for name, description in descriptions.items():
        if isinstance(description, FileError):
            continue
        for note in description.notes:
            kind, _, places = note.removeprefix(f"{description.source}: ").partition(": ")
            if not kind.startswith("meshes"):
                by_kind.setdefault(kind, []).append(f"| {name} | {places} |".replace("<", "&lt;"))
    rows = [ODD.rstrip("\n")]
    for kind, lines in by_kind.items():
        rows += ["", f"### {kind}", "", "| file | where |", "|---|---|", *lines]
    return rows


def joint_types(descriptions: dict[str, Description | FileError]) -> list[str]:
    """Return the table of joint types."""
    joints: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for name in robots():
        description = descriptions[name]
        if isinstance(description, Description):
            kinds = Counter(joint.type for joint in description.joints)
            joints += kinds
            files.update(kinds.keys())
    rows = [f"| {kind} | {count} | {files[kind]} |" for kind, count in joints.most_common()]
    return [TYPES.rstrip("\n"), *rows]


def main() -> None:
    """Write the page."""
    document.SHOWN = ALL
    paths = wheel_urdfs()
    descriptions = {name: ours(path) for name, path in paths.items()}
    theirs = {name: pinocchio_reads(path) for name, path in paths.items()}
    head = HEAD.format(
        erd=version("example-robot-data"), pybullet=version("pybullet"), pin=version("pin")
    )
    lines = [
        head.rstrip("\n"),
        *counts(descriptions, theirs),
        *exceptions(descriptions, theirs),
        *findings(descriptions),
        *joint_types(descriptions),
    ]
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"wrote {TARGET.name}: {len(paths)} files")


if __name__ == "__main__":
    main()
