"""How close is equal, and why."""

ROUNDING = 1e-13
"""Two roads through the same arithmetic: some hundred roundings, relative to the largest entry."""

REFEREE = 1e-11
"""Independent programs, relative to the largest entry (they agree to 1e-14 on most robots)."""

KERNEL = 1e-12
"""Machine code against the readable reference, relative to the largest entry."""

DIFFERENCE = 1e-7
"""Central differences with a step of 1e-6: half of the digits."""

LOOPS = 1e-9
"""Other cuts, rows or factorisations of a loop, relative to the largest entry: the loops of tests
lose up to some thousand roundings where they are near a singular position."""

ADAMS = 2e-5
"""The published values carry about 5e-6 of the solver that made them."""
