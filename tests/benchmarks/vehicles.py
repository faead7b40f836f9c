"""The papers' vehicles: Cho09's Table 4; the tracked vehicle and the 6x6 beside Exudyn."""

from __future__ import annotations

from typing import Any

from tests.benchmarks import vehicle_frames, vehicle_six, vehicle_tracked


def run() -> dict[str, Any]:
    print("  Cho09 Table 4, one evaluation of the accelerations:")
    frames = vehicle_frames.run()
    print("  Cho09, 5.5 s over a bump:")
    six = vehicle_six.run()
    print("  Lee94 7.1, 3.5 s over the bump:")
    return {"frames": frames, "six_wheeler": six, "tracked": vehicle_tracked.run()}
