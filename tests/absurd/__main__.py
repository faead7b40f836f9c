"""All public calls with absurd arguments: ``python -m tests.absurd [--count N] [--only TEXT]``."""

from __future__ import annotations

import argparse
import collections
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.absurd.sweep import cases, try_case


def main() -> int:
    """Try cases, print faults, return how many kinds there are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--count", type=int, default=None, help="cases, at random; all if not given"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="calls whose name holds this")
    parser.add_argument("--unnamed", action="store_true", help="refusals that name nothing, too")
    parser.add_argument("--accepted", action="store_true", help="what was taken, too")
    options = parser.parse_args()
    os.environ.pop("DISPLAY", None)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        chosen = cases(Path(folder), options.count, options.seed, options.only)
        tally: collections.Counter[str] = collections.Counter()
        begin = time.perf_counter()
        for case in chosen:
            if os.environ.get("LOUD"):
                print(case, file=sys.stderr, flush=True)
            start = time.perf_counter()
            found = try_case(case)
            took = time.perf_counter() - start
            tally[found.kind] += 1
            loud = found.kind not in ("result", "refused", "unnamed")
            loud |= found.kind == "unnamed" and options.unnamed
            loud |= found.kind == "result" and options.accepted
            if loud or took > 5.0:
                said = str(found.what).replace("\n", " ")[:150]
                print(f"{found.kind:10} {case} [{took:.1f} s]: {said}", flush=True)
        print(dict(tally), f"{time.perf_counter() - begin:.0f} s", file=sys.stderr)
    return sum(n for kind, n in tally.items() if kind not in ("result", "refused", "unnamed"))


if __name__ == "__main__":
    sys.exit(main() > 0)
