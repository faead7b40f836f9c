"""LeeJoo90 (61)-(66): the pattern of RALF's velocity coupling, in the paper's angles and in ours.

    python docs/papers/verification/leejoo90.py

Prints C(1) to C(6) of the lower and the upper link in the paper's symbols d, and what it misprints.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2]))

import numpy as np  # noqa: E402

import mbd_bridge as mbd  # noqa: E402
from mbd_bridge.applications.formulas import structure  # noqa: E402
from mbd_bridge.files.modal import read_flexible  # noqa: E402
from tests.robots import OWN  # noqa: E402

TWO_LINKS = ("theta1", "theta2", "lower.mode1", "lower.mode2", "upper.mode1", "upper.mode2")
"""(57)"""
SYMBOLS = {
    "d11": (0, 0, 1), "d21": (0, 0, 2), "d22": (0, 0, 3), "d41": (0, 0, 4), "d42": (0, 0, 5),
    "d31": (1, 0, 2), "d32": (1, 0, 3), "d51": (1, 0, 4), "d52": (1, 0, 5),
    "-d61": (2, 0, 4), "-d62": (2, 0, 5), "-d71": (3, 0, 4), "-d72": (3, 0, 5),
}  # fmt: skip
"""Where the paper's symbols stand in C(i) at j, k, counted from 0."""
PRINTED = (
    {"01 11": "d11", "02": "d21", "03": "d22", "04 14": "d41", "05 15": "d42"},
    {"00": "-d11", "02": "d31", "03": "d32", "04 14": "d51", "05 15": "d52",
     "24": "-d61/2", "25": "-d62/2", "34": "-d71/2", "35": "-d72/2"},
    {"00": "-d21", "01 11": "-d31", "04": "-d61", "05": "-d62", "14": "-d61/2", "15": "-d62/2"},
    {"00": "-d22", "01 11": "-d32", "04": "-d71", "05": "-d72", "14": "-d71/2", "15": "-d72/2"},
    {"00": "-d41", "01 11": "-d51", "02": "d61", "03": "d71", "12": "d61/2", "13": "d71/2"},
    {"00": "-d42", "01 11": "-d52", "02": "d62", "03": "d72", "12": "d62/2", "13": "d72/2"},
)  # fmt: skip
"""(61)-(66), the upper triangles as printed."""


def arm(*, slope: bool) -> mbd.Mechanism:
    """Return RALF, its joints turning with the bent ends or in the axes of the straight links."""
    links = read_flexible(OWN / "ralf.flex.yaml")
    return mbd.load(OWN / "ralf.urdf", flexible=[replace(one, slope=slope) for one in links])


def misprints(found: Any) -> list[str]:
    """Return the entries of (61)-(66) that are not what the paper prints."""
    two = [found.names.index(name) for name in TWO_LINKS]
    C = found.C[np.ix_(two, two, two)]
    scaled, add = found.algebra.scaled, found.algebra.add
    symbols = {name.strip("-"): scaled(C[place], -1.0 if name[0] == "-" else 1.0)
               for name, place in SYMBOLS.items()}  # fmt: skip
    said = []
    for i, entries in enumerate(PRINTED):
        printed = {place: text for places, text in entries.items() for place in places.split()}
        for j in range(6):
            for k in range(j, 6):
                text = printed.get(f"{j}{k}", "")
                name, half, _ = text.strip("-").partition("/")
                factor = (-1.0 if text[:1] == "-" else 1.0) * (0.5 if half else 1.0)
                if text and not add(scaled(symbols[name], factor), C[i, j, k], -1.0):
                    continue
                if text or C[i, j, k]:
                    twice = not add(scaled(symbols[name], 2.0 * factor), C[i, j, k], -1.0)
                    right = text.partition("/")[0] if twice else "another" if C[i, j, k] else "0"
                    said.append(f"({61 + i}) C({i + 1})[{j + 1},{k + 1}]: {text}, is {right}")
    return said


def main() -> None:
    """Print counts, pattern and misprints."""
    for slope, name in ((False, "in the paper's angles"), (True, "against the bent tip")):
        found = arm(slope=slope).symbolic(())
        for part, coordinates in (("two links", TWO_LINKS), ("RALF", None)):
            said = structure(found, coordinates)
            print(f"{name}, {part}: {said.nonzero} symbols not zero, {said.kept} terms, "
                  f"(35) in {said.holds_35} of {said.of_35}")  # fmt: skip
        if not slope:
            print("\n".join(misprints(found)))


if __name__ == "__main__":
    main()
