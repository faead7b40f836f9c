"""``python -m tests.noise``: loads from noisy recordings, beside the true ones."""

from __future__ import annotations

from tests.noise import ur5

if __name__ == "__main__":
    ur5.show()
