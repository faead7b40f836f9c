"""The papers' vehicles: Cho09's tables, and Lee94's tracked vehicle beside Exudyn."""

from __future__ import annotations

from typing import Any

from tests.benchmarks import vehicle_frames, vehicle_tracked


def run() -> dict[str, Any]:
    print("  Cho09 Table 4, one evaluation of the accelerations:")
    frames = vehicle_frames.run()
    print("  Lee94 7.1, 3.5 s over the bump:")
    return {"frames": frames, "tracked": vehicle_tracked.run()}
