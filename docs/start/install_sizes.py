"""Print what each extra of mbd_bridge adds to an environment, in MB; docs/start/install.md has it.

    python docs/start/install_sizes.py

Counts the files of packages that are installed here, so best in an environment with all extras.
"""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, files, requires
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
HIDDEN = {"docs", "test", "bench"}


def sizes(lines: list[str]) -> dict[str, float]:
    """Return the sizes in MB of what these requirements bring, by package."""
    found: dict[str, float] = {}
    left = list(lines)
    while left:
        name, inner = re.match(r"([\w.-]+)(?:\[([^]]*)\])?", left.pop()).groups()
        name = re.sub(r"[-_.]+", "-", name).lower()
        extras = (inner or "").split(",")
        if name == "mbd-bridge":
            left += [line for one in extras for line in PROJECT["optional-dependencies"][one]]
        elif name not in found or inner:
            try:
                needs = requires(name) or []
            except PackageNotFoundError:
                continue
            found[name] = size(name)
            for need in needs:
                extra = re.search(r"extra == ['\"]([^'\"]*)", need)
                if extra is None or extra[1] in extras:
                    left.append(need)
    return found


def size(package: str) -> float:
    """Return the size of a package's files, MB."""
    paths = [Path(str(file.locate())) for file in files(package) or []]
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def main() -> None:
    """Print the table."""
    core = sizes(PROJECT["dependencies"]) | {"mbd-bridge": size("mbd_bridge")}
    largest = sorted(core, key=lambda name: -core[name])[:5]
    print(f"core: {sum(core.values()):.0f}, of it", {name: round(core[name]) for name in largest})
    without = sizes([line for line in PROJECT["dependencies"] if not line.startswith("pin")])
    print(f"without pinocchio: {sum(without.values()):.0f}")
    for extra, lines in PROJECT["optional-dependencies"].items():
        if extra not in HIDDEN:
            more = {name: mb for name, mb in sizes(lines).items() if name not in core}
            print(f"{extra}: {sum(more.values()):.0f} {sorted(more, key=lambda n: -more[n])[:4]}")


if __name__ == "__main__":
    main()
