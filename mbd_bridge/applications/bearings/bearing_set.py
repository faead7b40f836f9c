"""The bearings of a machine, from and to ``NAME.bearings.yaml`` beside ``NAME.urdf``.

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

The keys of a bearing are the parameters of `Bearing`, as catalogues give them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeAlias, get_args

from mbd_bridge.applications.bearings.catalogue import RELIABILITY, Bearing
from mbd_bridge.applications.bearings.terms import RingFrames
from mbd_bridge.base.arguments import an_instance, by_name, file_path
from mbd_bridge.base.errors import StateError, one_of, real_number, whole_number
from mbd_bridge.files.sidecars import EntryList, StatedParts
from mbd_bridge.files.whole_file import whole_file
from mbd_bridge.files.yaml_text import Node, yaml_text
from mbd_bridge.forces.base import model_in
from mbd_bridge.model import Model

Located = Literal["first", "second", "each"]
"""Which bearing of a pair carries the axial force; "each": the first what pushes the child along
the joint's axis, the second what pushes it back (an opposed pair, without preload)."""

WORDS = ("kind", "located")
NUMBERS = ("C", "C0", "angle", "f0", "X", "Y", "e", "X0", "Y0", "exponent", "position")

BEARINGS_FILE = EntryList(
    "bearings",
    "N, m; contact angles in degrees",
    "joint",
    "bearing of",
    ("kind", *NUMBERS),
    ("located", "reliability", "aiso"),
)
"""The form of such a file."""


@dataclass(frozen=True)
class BearingOptions:
    """How lives are computed.

    Parameters
    ----------
    located : which bearing of a pair carries the axial force
    reliability : percent, one of 90, 95, 96, 97, 98, 99
    aiso : factor of lubrication and cleanliness
    """

    located: Located = "first"
    reliability: int = 90
    aiso: float = 1.0

    def checked(self) -> BearingOptions:
        """Return the options with their values checked."""
        located = one_of("located", self.located, get_args(Located), StateError)
        if whole_number("reliability", self.reliability) not in RELIABILITY:
            raise StateError(
                f"reliability: expected one of {', '.join(map(str, RELIABILITY))} percent, got "
                f"{self.reliability!r}"
            )
        aiso = real_number("aiso", self.aiso, "a number above 0", positive=True)
        return BearingOptions(located, self.reliability, aiso)


@dataclass(frozen=True, eq=False)
class BearingSet:
    """Bearings of the joints of a machine, checked.

    Attributes
    ----------
    by_joint : one bearing, or the two of a pair, by joint
    options : of their lives
    """

    by_joint: Mapping[str, tuple[Bearing, ...]]
    options: BearingOptions = BearingOptions()

    @staticmethod
    def of(
        model: Model, given: BearingsGiven | None, options: BearingOptions | None = None
    ) -> BearingSet:
        """Return the bearings of a model.

        Parameters
        ----------
        options : of the lives; None: those of `given`
        """
        named = given.by_joint if isinstance(given, BearingSet) else given
        if options is None:
            options = given.options if isinstance(given, BearingSet) else BearingOptions()
        by_joint = {}
        for name, some in by_name("bearings", named, '{"elbow": Bearing(C=15e3)}').items():
            each = tuple(some) if isinstance(some, list | tuple) else (some,)
            if not 1 <= len(each) <= 2 or not all(isinstance(one, Bearing) for one in each):
                raise StateError(
                    f"bearings of {name!r}: expected one Bearing or two, got {some!r:.60}"
                )
            where = f"bearing of {name!r}"
            RingFrames.of(model, name)
            by_joint[name] = tuple(one.checked(where) for one in each)
            if len(each) == 2 and by_joint[name][0].position == by_joint[name][1].position:
                raise StateError(f"{where}: position: two bearings need two places on the axis")
        return BearingSet(by_joint, options.checked())

    def among(self, joints: Sequence[str]) -> BearingSet:
        """Return those of some joints."""
        kept = {name: some for name, some in self.by_joint.items() if name in joints}
        return BearingSet(kept, self.options)

    def beside(self, others: Mapping[str, Any]) -> BearingSet:
        """Return these with others beside them, or in place of those of the same joints."""
        return BearingSet({**self.by_joint, **others}, self.options)

    def __len__(self) -> int:
        return len(self.by_joint)


BearingsGiven: TypeAlias = "Mapping[str, Bearing | Sequence[Bearing]] | BearingSet"
"""One bearing or two of each joint, by name."""


def load_bearings(path: str | os.PathLike[str], machine: Any) -> BearingSet:
    """Return the bearings in a file, checked with a machine.

    Parameters
    ----------
    path : ``NAME.bearings.yaml``
    machine : a `Mechanism`, or its model

    Raises
    ------
    FileError
        The file cannot be read, or an entry does not fit the machine: file, line, element.
    """
    model = model_in(machine, "bearings.load")
    entries, beside = BEARINGS_FILE.read(file_path("path", path))
    bearings: dict[str, tuple[Bearing, ...]] = {}
    for entry in entries:
        name = entry.name.text()
        entry.node.required("C")
        values = {key: _value(node) for key, node in entry.fields.items()}
        bearings[name] = (*bearings.get(name, ()), Bearing(**values))
        with entry.node.placed():
            BearingSet.of(model, {name: bearings[name]})
    options = BearingOptions()
    for key, node in beside.items():
        option = _value(node)
        whole = int(option) if key == "reliability" and option == int(option) else option
        known: dict[str, Any] = {key: whole}
        with node.placed():
            options = replace(options, **known).checked()
    return BearingSet.of(model, bearings, options)


def _value(node: Node) -> Any:
    """Return a word or a number, by the name of its key."""
    return node.text() if node.name in WORDS else node.number()


def save_bearings(path: str | os.PathLike[str], bearings: BearingSet) -> None:
    """Write bearings to a file that `load_bearings` reads, numbers to the last digit."""
    bearings = an_instance("bearings", bearings, BearingSet, "BearingSet.of(model, {...})")
    rows = [
        {"joint": joint}
        | {f.name: x for f in fields(one) if (x := getattr(one, f.name)) != f.default}
        for joint, some in bearings.by_joint.items()
        for one in some
    ]
    options = {f.name: getattr(bearings.options, f.name) for f in fields(BearingOptions)}
    content = {"units": "SI", "bearings": rows, **options}
    with whole_file(file_path("path", path)) as out:
        out.write(yaml_text(content))


SIDECAR = StatedParts(BearingSet.of, load_bearings, save_bearings)
