"""Every number that decides something about loops: its value, its unit, why, and who uses it.

What a user may have to set is `Model.rank_tolerance` (`mbd_bridge.load(..., rank_tolerance=)`); the
rest follows from double precision. All are relative: to the largest singular value or row, to the
mechanism's size, to the terms of an equation.

Two questions must not be mixed. *Does a row say something new?* That is a property of the machine
in general position (`row_choice`), and numbers in files are rounded: `Model.rank_tolerance`. *Is
this one position singular?* That is a property of the position, which arithmetic knows to a
billionth: `SINGULAR`.
"""

from __future__ import annotations

SINGULAR = 1e-9
"""Singular values of independent rows below this, relative to the largest, are zero: an assembled
position is good to 1e-14, and a mechanism a nanoradian from a singular position is in it for every
purpose. Reports, assembly, starts, flags."""

ROUNDED = 1e-12
"""Singular values of independent rows below this, relative to the largest, are rounding. Near a
singular position the rows that become dependent still tell the truth down to here, while a row
dropped too soon would let the mechanism leave its branch. Accelerations in Python (`reduced`)."""

CONSISTENT = 1e-6
"""How far a given state may be from the constraints, relative to the mechanism's size and to the
terms of the equation: states from files have lost digits. Checks of states, everywhere."""

OPEN_ROWS = 10.0
"""How far redundant rows may be open, in `Model.rank_tolerance`s: a row whose direction is off by
one is open by so many after a turn of the machine. Assembly, checks of states, `row_choice`."""

VARIES = 10.0
"""How much more a redundant row may be off than at the positions at which rows were chosen."""

WELL_APART = 1e-3
"""Least part of a row that is its own among the rows that a motion keeps. `row_choice`."""

OPEN_LOAD = 1e-7
"""Part of an open multiplier from which on a drive or a load is said to depend on it. Flags of
loads, `closed_inverse`."""

NOTICED = 1e-10
"""Part of an open multiplier that a passive velocity may notice, relative to the size of Φ_q:
beyond it, velocities were chosen too few. `closed_inverse`."""

TRUSTED_REFINED = 1e10
"""Risk (condition squared) up to which velocities chosen beforehand are good where the solution is
refined: they are within 1e-5 of depending on each other, and ten digits are left.
`closed_inverse`."""

TRUSTED = 1e7
"""Risk (condition squared) up to which rows chosen beforehand are good without refinement: nine
digits are left. Beyond, singular values have them all. `closed_forward`."""
