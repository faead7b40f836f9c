"""The papers' vehicles: Cho09's Tables 4 and 5; 6x6, tracked vehicle and car beside Exudyn."""

from __future__ import annotations

from typing import Any

from tests.benchmarks import (
    vehicle_car,
    vehicle_frames,
    vehicle_six,
    vehicle_steps,
    vehicle_tracked,
)


def run() -> dict[str, Any]:
    print("  Cho09 Table 4, one evaluation of the accelerations:")
    frames = vehicle_frames.run()
    print("  Cho09 Table 5, steps of the 6x6 with tyres:")
    steps = vehicle_steps.run()
    print("  Cho09, 5.5 s over a bump:")
    six = vehicle_six.run()
    print("  Lee94 7.1, 3.5 s over the bump:")
    tracked = vehicle_tracked.run()
    print("  KimYoo97, 8 s with the lane change:")
    car = vehicle_car.run()
    tables = {"frames": frames, "steps": steps}
    return {**tables, "six_wheeler": six, "tracked": tracked, "car": car}
