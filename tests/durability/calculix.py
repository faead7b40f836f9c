"""What CalculiX finds of our load cards: the reaction where a free body's bar is held.

    python -m tests.durability.calculix          with `ccx` installed (apt install calculix-ccx)

The bar of 40 beams goes from the joint before a link over its centre of mass to the next joint, and
is held in between. All that acts on the link is in equilibrium, so nothing is left for the hold.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np

import mbd_bridge as mbd

NAMES = ("FX", "FY", "FZ", "MX", "MY", "MZ")
BEAMS = 40
END = (1.0, 0.0, 0.0)
"""Of the link, m; its centre of mass is half way."""


def wrenches(text, suffix):
    """Return places (3,) and wrenches (6,) in load cards, by the number of the point."""
    places, loads = {}, {}
    if suffix == ".inp":
        for row in re.findall(r"^(\d+), (\S+), (\S+), (\S+)$", text, re.M):
            places[int(row[0])] = np.array(row[1:], dtype=float)
        for node, k, value in re.findall(r"^(\d+), ([1-6]), (\S+)$", text, re.M):
            loads.setdefault(int(node), np.zeros(6))[int(k) - 1] += float(value)
        return places, loads
    for point, row in re.findall(r"^# P(\d+) at \((.*?)\)", text, re.M):
        places[int(point)] = np.array(row.split(", "), dtype=float)
    for point, row in re.findall(r"GROUP_NO='P(\d+)', (.*?)\)", text):
        found = dict(pair.split("=") for pair in row.split(", "))
        loads[int(point)] = np.array([float(found.get(name, 0.0)) for name in NAMES])
    return places, loads


def arm() -> mbd.Mechanism:
    """Return two links, the first on a universal joint."""
    parts = mbd.Builder("arm").link("one", 20.0, (0.5, 0, 0.0), (0.02, 1.6, 1.7))
    parts.link("two", 10.0, (0.5, 0, 0), (0.01, 0.8, 0.8))
    parts.joint("a", "universal", "base", "one", axis=(0, 0, 1), axis2=(0, 1, 0))
    parts.joint("c", "revolute", "one", "two", END, axis=(0, 1, 0))
    return mbd.Mechanism.build(parts)


def bar() -> str:
    """Return nodes, beams and the hold of a bar from the cards' point 1 over 3 to 2."""
    places = np.linspace(np.zeros(3), END, BEAMS + 1)
    numbers = [1, *range(101, 100 + BEAMS), 2]
    numbers[BEAMS // 2] = 3
    lines = ["*NODE"]
    lines += [
        f"{k}, {', '.join(map(repr, at))}"
        for k, at in zip(numbers, places.tolist(), strict=True)
        if k > 100
    ]
    lines.append("*ELEMENT, TYPE=B31, ELSET=EALL")
    lines += [f"{k}, {a}, {b}" for k, (a, b) in enumerate(pairwise(numbers), 1)]
    lines += ["*MATERIAL, NAME=STEEL", "*ELASTIC", "2.1e11, 0.3"]
    lines += ["*BEAM SECTION, ELSET=EALL, MATERIAL=STEEL, SECTION=RECT", "0.05, 0.05", "0, 1, 0"]
    return "\n".join([*lines, "*NSET, NSET=HELD", "110", "*BOUNDARY", "HELD, 1, 6", ""])


def main() -> None:
    """Solve it and print the reaction."""
    body = arm().free_body("one", [0.3, 0.4, 0.2], [2.0, 1.0, -3.0], [5.0, -7.0, 3.0])
    with tempfile.TemporaryDirectory() as folder:
        cards, deck = Path(folder, "one.inp"), Path(folder, "bar.inp")
        body.write(cards)
        points, step, loads = cards.read_text().partition("*STEP")
        output = "*NODE PRINT, NSET=HELD\nRF\n*END STEP"
        deck.write_text(points + bar() + step + loads.replace("*END STEP", output))
        done = subprocess.run(["ccx", "bar"], cwd=folder, capture_output=True, text=True)
        version = re.search(r"Version ([\d.]+)", done.stdout)
        assert version and done.returncode == 0, done.stdout[-2000:]
        text = deck.with_suffix(".dat").read_text()
        acting = wrenches(cards.read_text(), ".inp")[1]
    (row,) = re.findall(r"^ +110 +(\S+) +(\S+) +(\S+)$", text, re.M)
    reaction = np.linalg.norm(np.array(row, dtype=float))
    largest = max(np.linalg.norm(wrench[:3]) for wrench in acting.values())
    print(f"CalculiX {version[1]}: a reaction of {reaction / largest:.1e} of the largest force")


if __name__ == "__main__":
    main()
