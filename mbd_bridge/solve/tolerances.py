"""Every number that decides about trust, rank or closure: its value, unit, reason, and users.

What a user may have to set is `Model.rank_tolerance` (`mbd_bridge.load(..., rank_tolerance=)`); the
rest follows from double precision. "Relative" is to the largest singular value or row, to the
mechanism's size (rad for angles), or to the terms of an equation.

Two questions must not be mixed. *Does a row say something new?* That is a property of the machine
in general position (`row_choice`), and numbers in files are rounded: `Model.rank_tolerance`. *Is
this one position singular?* That is a property of the position, which arithmetic knows to a
billionth: `SINGULAR`.

*Risk* is what compiled code tells of a state (`solve.closed`): about 1/σ² at the distance σ,
relative, from a singular position. A position is closed to rounding, ε; it is off its branch by
ε/σ, its velocity by ε/σ², its acceleration by ε/σ³. The risk of a step is the sum of those of its
stages.
"""

from __future__ import annotations

# Rank ---------------------------------------------------------------------------------------------

SINGULAR = 1e-9
"""Singular values of independent rows below this, relative, are zero: an assembled position is good
to 1e-14, and a mechanism a nanoradian from a singular position is in it for every purpose. Reports,
assembly, starts, flags."""

ROUNDED = 1e-12
"""Singular values of independent rows below this, relative, are rounding. Near a singular position
the rows that become dependent still tell the truth down to here, while a row dropped too soon would
let the mechanism leave its branch. Accelerations in Python (`reduced`)."""

WEAK_BESIDE = 1e-3
"""Singular values below this, relative, do not help to close the loops of a position beside
another: those of rows that are redundant on the way only (Bricard) are of the order of 1e-2
squared. `loop_values`."""

SINGULAR_AT_REST = 1e-6
"""Smallest singular value of the independent rows, relative, below which a position at rest is
called singular: mechanics does not tell how it goes on. `reference_step`."""

AT_REST = 1e-9
"""rad/s, or sizes a second: a slower motion does not tell its branch. `reference_step`,
`near_singular`."""

NEAR_SINGULAR = 4e-3
"""Singular value, relative, below which a record's accelerations are taken from both sides: beyond,
eight digits are left. `near_singular`."""

SENSITIVE_MULTIPLIERS = 2e-6
"""Change of the multipliers, relative to themselves, of a record moved by `near_singular.PROBE`,
from which on its singular values are looked at: `PROBE` / σ or so."""

LARGEST_INVERSE = 1e6
"""Largest entry of a right inverse: beyond, a position is singular to a millionth. `bases`."""

NEARLY_REDUNDANT = 100.0
"""A row that counts by less than so many `Model.rank_tolerance`s may be meant to be redundant.
Report of loops."""

OPEN_ROWS = 10.0
"""How far redundant rows may be open, in `Model.rank_tolerance`s: a row whose direction is off by
one is open by so many after a turn of the machine. Assembly, checks of states, `row_choice`."""

VARIES = 10.0
"""How much more a redundant row may be off than at the positions at which rows were chosen."""

WELL_APART = 1e-3
"""Least part of a row that is its own among the rows that a motion keeps. `row_choice`."""

MASSLESS = 1e-14
"""Part of the largest inertia below which there is none: some roundings. `closed`."""

# Loads and actuators
# ---------------------------------------------------------------------------------

OPEN_LOAD = 1e-7
"""Part of an open multiplier from which on an actuator or a load is said to depend on it. Flags of
loads, `closed_inverse`."""

NOTICED = 1e-10
"""Part of an open multiplier that a passive velocity may notice, relative to the size of Φ_q:
beyond it, velocities were chosen too few. `closed_inverse`."""

# Risk of states -----------------------------------------------------------------------------------

SQUARES_IN_RISK = 1e-12
"""Weight of the squares of a pivot's shares in the risk: they outweigh the shares themselves beyond
1e12, and tell where rounding made a pivot negative. `closed`."""

ROWS_RISK = 1e7
"""Risk up to which rows chosen beforehand are good without refinement: nine digits are left.
Beyond, singular values have them all. `closed_forward`, `closed_kernel`."""

REFINED_RISK = 1e10
"""Risk up to which velocities chosen beforehand are good where the solution is refined: they are
within 1e-5 of depending on each other, and ten digits are left. `closed_inverse`."""

DOUBTFUL_RISK = 1e4
"""Risk of a state from which on what its step tells has lost digits: a hundredth from a singular
position. There accelerations and loads are computed with more care (`near_singular`). Outputs of
steps, batches."""

# Risk of steps ------------------------------------------------------------------------------------

STEP_RISK = 1e6
"""Risk of a step below which it is taken without further ado: its stages are a thousandth from a
singular position, so that rounding leaves accelerations good to 1e-7 and velocities to 1e-10. All
fixed steps."""

CORRECTED = 1e-4
"""rad, or parts of the mechanism's size: what the last correction of an acceleration with a kept
matrix may move the machine by in a step. `kept_matrix`."""

STAGE_RISK = 0.25 * STEP_RISK
"""Risk of one evaluation, of which a step has four. Methods and questions state by state."""

CONTROLLED_RISK = 1e12
"""Risk below which one may go on with control of the error: a millionth from a singular position,
where rounding leaves four digits of velocities across the branch. `passage`, SciPy's right-hand
side."""

UNCLOSED_RISK = 1e18
"""What a square of the first correction's residual adds to the risk of a step: where a thousandth
of the mechanism's size is left, the loops cannot be closed, or not by steps of this length.
`step`."""

BENT_DISTANCE = 0.05
"""Part of itself by which the distance from a singular position may lie below a straight line in
the middle of a step. Beside one that a step is over, it is 1 - 1/f for a crossing at f of it.
`step`."""

CROSSED_RISK = 1e6
"""Risk of a step whose distance is `BENT_DISTANCE` so much; it grows with the eighth power.
`step`."""

STRAYED_RISK = 1.2e14
"""Risk of what the first correction of a step takes back, squared, by that of its stages cubed: a
hundredth from a singular position 1e-11 rad are too much, and 1e-5 rad where nothing is near.
`step`, `trust`."""

HELD_STRAYED_RISK = 0.1 * STEP_RISK
"""Risk of having come off its branch below which a step is taken if its correction holds the
coordinates that were independent where it began: near a sharp turn it then leads the motion on, or
back, by a part of what it takes back. `reduced_method`."""

RETRIED_RISK = 0.2 * STEP_RISK
"""Risk of stages from which on jumps are tried once more. `passage`, as what follows."""

INSIDE_RISK = 10.0 * STEP_RISK
"""Risk of a step of no length, four times its start's, above which a state is inside."""

FAR_RISK = 1e-2 * STEP_RISK
"""Risk of stages below which a step that is not trusted is just too long."""

JUMP_RISKS = (STEP_RISK, 1e1 * STEP_RISK, 1e2 * STEP_RISK)
"""Risks that jumps may have: slow ones have to be short, and what rounding leaves is then less."""

JUMP_CORRECTION = 5e-9
"""rad, or parts of the mechanism's size: what a jump may have to be put back onto the loops by. One
over a linkage that misses a flat position by e is off by some ten e / `passage.EDGE`."""

CONTROLLED_ERROR = 1e-11
"""Error of a controlled step, relative, that halves must confirm where rounding lets them."""

# Closure ------------------------------------------------------------------------------------------

NEWTON_DONE = 1e-14
"""Residual, relative, at which nothing is left but rounding. `newton`."""

METHOD_CLOSED = 1e-13
"""Residual, relative, at which a method's corrections end: some roundings. `methods`."""

ASSEMBLED = 1e-12
"""Residual of a closed loop, relative. Assembly, starts, reports."""

CLOSED_BESIDE = 1e-11
"""Residual of a position beside another, relative. `loop_values`."""

CLOSED_ON_THE_WAY = 1e-9
"""Residual, relative, at which a step on the way to a given position is closed. `continuation`."""

NEAREST = 1e-9
"""Movement, rad or sizes, below which the position nearest to an initial guess is found.
`closing`."""

METHOD_OPEN = 1e-9
"""Residual, relative, that must not be left behind by a method's corrections. `methods`."""

CONSISTENT = 1e-6
"""How far a given state may be from the constraints, relative to the mechanism's size and to the
terms of the equation: states from files have lost digits. Checks of states, everywhere."""

OPEN_AFTER_STEP = 1e-6
"""What a step in Python past a singular position may leave open, relative. `reference_step`."""

OPEN_SQUARES = 1e-6
"""Sum of squares of residuals, relative, that the first of two corrections may leave: a thousandth,
which the second one takes to a millionth. Compiled projection run from Python."""

OPEN_LOOP = 1e-5
"""Residual, relative, from which on a loop is open: ten times what a step may leave. Runs, batches
and the stepper."""

OPENING = 1e-4
"""Φ̈ by its largest terms from which on accelerations do not belong to the loops: those of a right
step leave 1e-7, of differences. `opening`."""

# Steps that are too long --------------------------------------------------------------------------

STEP_ERROR = 1e-2
"""Error of one step, rad or parts of the mechanism's size, from which on a motion is none.
`watch`."""

RINGING = 0.25
"""Change of the velocity at the end of a step if it is taken in halves, by the largest velocity of
the motion, from which on velocities of implicit steps are none: behind stiff dampers the
trapezoidal rule's change sign from step to step. Batches: change of velocity within a step.
`step_check`."""

SLOWEST_RINGING = 1e-3
"""rad/s, or sizes a second: slower ringing moves nothing. `step_check`."""

STATE_ERROR = 0.5
"""Error of one step in a state of a force element, by the largest of its values, from which on it
has lost its course. `step_check`."""

LEAST_STATE = 1e-9
"""Error of one step in such a state that is none, in its own unit. `step_check`."""

LOST_ENERGY = 1e-2
"""Energy that may come from nowhere, by the largest of kinetic energy, change of the potential one
and work: what a coarse step errs by in its own figures. `balance`."""

GAINED_ENERGY = 0.1
"""Energy that passive force elements may seem to have given, by the largest of kinetic energy and
changes of stored energy: what coarse steps of the second order swing by; hard stops that throw a
machine back gave 0.4 and more. `passive`."""

ACTIVE_POWER = 1e-9
"""Power that an element gives, by the largest that one loses: beyond rounding it has a source."""
