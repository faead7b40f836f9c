"""``python -m tests.benchmarks [robots|loops|loop_loads|... ...]``: figures and peers.

Ratios, printed and written as JSON to ``benchmarks.json``: one process, one thread each, the best
of several turns. Nothing here can fail on a slow day; look at the ratios, on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tests.benchmarks import (
    calls,
    compile,
    derivatives,
    dof,
    everything,
    evolution,
    guard,
    hour,
    implicit,
    kept_matrix,
    loop_loads,
    loops,
    null_space,
    operations,
    passages,
    poses,
    questions,
    reported,
    robots,
    studies,
    table3,
    vehicles,
    work_precision,
)

PARTS = {
    "robots": robots,
    "calls": calls,
    "table3": table3,
    "derivatives": derivatives,
    "dof": dof,
    "loops": loops,
    "work_precision": work_precision,
    "everything": everything,
    "evolution": evolution,
    "loop_loads": loop_loads,
    "hour": hour,
    "kept_matrix": kept_matrix,
    "null_space": null_space,
    "operations": operations,
    "passages": passages,
    "poses": poses,
    "questions": questions,
    "compile": compile,
    "guard": guard,
    "implicit": implicit,
    "reported": reported,
    "studies": studies,
    "vehicles": vehicles,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="default: all")
    parser.add_argument("--json", default="benchmarks.json", help="where the figures go")
    options = parser.parse_args()
    results = {}
    for name in options.parts or PARTS:
        print(f"\n=== {name}: {PARTS[name].__doc__.splitlines()[0]}")
        results[name] = PARTS[name].run()
    Path(options.json).write_text(json.dumps(results, indent=1), encoding="utf-8")
    print(f"\nwritten to {options.json}")


if __name__ == "__main__":
    main()
