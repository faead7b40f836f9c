"""The papers' vehicles: Cho09's tables."""

from __future__ import annotations

from typing import Any

from tests.benchmarks import vehicle_frames


def run() -> dict[str, Any]:
    print("  Cho09 Table 4, one evaluation of the accelerations:")
    return {"frames": vehicle_frames.run()}
