"""``python -m tests.noise``: loads from noisy recordings, beside the true ones.

Without options the elbow of a UR5; with ``--count N`` random recordings, and how many of their
loads are where the stated uncertainty says.
"""

from __future__ import annotations

import argparse

from tests.noise import study, ur5

if __name__ == "__main__":
    parser = argparse.ArgumentParser("python -m tests.noise", description=__doc__)
    parser.add_argument("--count", type=int, help="random recordings")
    parser.add_argument("--first", type=int, default=0, help="seed of the first one (0)")
    options = parser.parse_args()
    if options.count is None:
        ur5.show()
    else:
        study.show(options.count, options.first)
