"""``NAME.bearings.yaml`` beside ``NAME.urdf``: rolling bearings of joints, as catalogues give them.

::

    units: SI                      # N, m; contact angles in degrees
    bearings:
      - joint: elbow
        C: 15.9e3                  # dynamic load rating
        C0: 11e3                   # static load rating
        kind: deep groove          # or angular contact, cylindrical roller, tapered roller, factors
        position: -0.05            # on the joint's axis, from its origin
      - {joint: elbow, C: 15.9e3, C0: 11e3, position: 0.05}      # once more: a pair
    located: first                 # which of a pair carries the axial force: first, second, each
    reliability: 90                # percent
    aiso: 1                        # lubrication and cleanliness

The keys of a bearing are the parameters of `mbd_bridge.applications.bearings.Bearing`.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from mbd_bridge.files.yaml_text import Node, read_yaml

SUFFIX = ".bearings.yaml"

OPTIONS = ("located", "reliability", "aiso")
KEYS = ("units", "bearings", *OPTIONS)
WORDS = ("kind", "located")
NUMBERS = ("C", "C0", "angle", "f0", "X", "Y", "e", "X0", "Y0", "exponent", "position")
ENTRY_KEYS = ("joint", "kind", *NUMBERS)


class BearingEntry(NamedTuple):
    """A bearing as the file says it: its joint, its other keys with their values, the entry."""

    joint: Node
    values: dict[str, float | str]
    node: Node


class BearingsFile(NamedTuple):
    """What a file says; `options` holds what it mentions of all bearings."""

    entries: tuple[BearingEntry, ...]
    options: dict[str, Node]


def read_bearings_file(path: str | Path) -> BearingsFile:
    """Return the entries of a file of bearings.

    Raises
    ------
    FileError
        It cannot be read, or does not have the form above: file, line and element are named.
    """
    root = read_yaml(path)
    table = root.in_si(KEYS, "N, m; contact angles in degrees")
    entries = tuple(_entry(node) for node in root.listed("bearings"))
    return BearingsFile(entries, {key: table[key] for key in OPTIONS if key in table})


def _entry(node: Node) -> BearingEntry:
    table = node.table(ENTRY_KEYS)
    joint = node.required("joint")
    whole = node.named(f"bearing of {joint.text()!r}")
    whole.required("C")
    values = {key: value(one) for key, one in table.items() if key != "joint"}
    return BearingEntry(joint, values, whole)


def value(node: Node) -> float | str:
    """Return a word or a number, by the name of its key."""
    return node.text() if node.name in WORDS else node.number()
