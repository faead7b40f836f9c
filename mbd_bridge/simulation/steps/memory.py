"""What a step that remembers hands on to the next one beside the state, and what it begins with.

Implicit steps hand on factors of Newton's matrix J, too. A step is first solved with the factors of
an earlier one. With the sizes d₁ and d₂ of its last two corrections, ratio θ = d₂ / d₁, what it
leaves is about θ d₂. It is taken so if corrections fall quickly and what is left is small beside
what is allowed and beside the error of the step itself (`good_enough`), and otherwise solved once
more with a J of its own, whose factors are handed on.

θ d₂ says nothing of directions that were stiff when J was formed and no longer are, as behind a
stop: corrections there are small from the beginning. Stiffness and damping only add to M, so what
is left is at most M⁻¹ R with the last residual R, taken here with the diagonal of M⁻¹ (and the
number of velocities, for what is beside it), and this has to be small too.

How often J is formed follows from the motion alone, so all roads have the same digits.

With constraint rows each step forms its own J: multipliers are exact to h² only if J is of the
place where a step ends, and the corrections of accelerations do not show that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.equations.mass_matrix import mass_matrix_by_bodies
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.simulation.acts import Acting
from mbd_bridge.simulation.system import System
from mbd_bridge.solve.factor import Eliminated, factorise, mass_pattern, outward


@dataclass(frozen=True)
class Memory:
    """Places in the memory of an implicit step: a, q̈ with ż behind (n each), λ, forces F.

    Parameters
    ----------
    unknowns : n
    one : whether a = q̈, which then is kept once
    rows, forces : numbers of λ and F
    room : for λ, whichever rows are kept
    kept : numbers behind all that, of `KeptFactors`
    """

    unknowns: int
    one: bool
    rows: int
    forces: int
    room: int = 0
    kept: int = 0

    @property
    def size(self) -> int:
        """Numbers in all."""
        return self._behind + self.room + self.forces + self.kept

    @property
    def _behind(self) -> int:
        return self.unknowns * (1 if self.one else 2)

    def a(self, memory: Array) -> Array:
        """Return the algorithmic accelerations a (..., n)."""
        return memory[..., : self.unknowns]

    def acceleration(self, memory: Array) -> Array:
        """Return q̈ and ż (..., n)."""
        return memory[..., self._behind - self.unknowns : self._behind]

    def lam(self, memory: Array) -> Array:
        """Return λ (..., rows)."""
        return memory[..., self._behind : self._behind + self.rows]

    def force(self, memory: Array) -> Array:
        """Return F (..., forces)."""
        return memory[..., self._behind + self.room : self.size - self.kept]

    def factors(self, memory: Array) -> Array:
        """Return what is kept of Newton's matrix (..., kept)."""
        return memory[..., self.size - self.kept :]

    def packed(
        self, a: Array, acceleration: Array, lam: Array, force: Array, factors: Array | None = None
    ) -> Array:
        """Return a memory; without factors none are kept."""
        out = zeros(self.size, a, acceleration, lam, force, *([] if factors is None else [factors]))
        self.a(out)[:] = a
        self.acceleration(out)[:] = acceleration
        self.lam(out)[:], self.force(out)[:] = lam, force
        if factors is not None:
            self.factors(out)[:] = factors
        return out

    def like(self, memory: Array, other: Array) -> Array:
        """Return a memory in which a is beside q̈ by what it is in another one, with its factors."""
        out = np.array(memory)
        self.factors(out)[:] = self.factors(other)
        apart = self.a(other) - self.acceleration(other)
        self.a(out)[:] = self.acceleration(memory) + apart
        return out

    def stretched(self, memory: Array, ratio: float) -> Array:
        """Return a memory for steps of another length: a - q̈ is proportional to it."""
        out = np.array(memory)
        accelerations = self.acceleration(memory)
        self.a(out)[:] = accelerations + ratio * (self.a(memory) - accelerations)
        return out


class Begin(NamedTuple):
    """All that is known when a step begins; t and what is given from outside are of its end."""

    q: Array
    v: Array
    z: Array
    memory: Array
    t: Array
    h: Array
    p: Array
    held: Array
    instant: Array

    @staticmethod
    def sizes(system: System, memory: Memory) -> dict[str, int]:
        """Return the sizes of its parts, by name."""
        held, _, instant = system.layout.sizes
        p = 0 if system.parameters is None else system.parameters.size
        sizes = {"q": system.model.nq, "v": system.model.nv, "z": system.nz}
        sizes |= {"memory": memory.size, "t": 1, "h": 1, "p": p, "held": held}
        return sizes | {"instant": instant}

    def acting(self, system: System) -> Acting:
        """Return what acts at the end of the step."""
        return Acting.at(system, system.machine(self.p), self.held, self.instant)


MOST_UNKNOWNS = 64
"""Accelerations and rates up to which J is kept: its factors take the square of that in a state,
which is copied at each step."""


SLOWEST = 0.1
"""θ up to which corrections are trusted to go on as they do."""


LEFT = 1e-4
"""Part of `converged` that may be left: 1e-10 rad by default. J formed in the step leaves less than
this at most steps of the papers' vehicles; they then agree to more digits than steps are exact."""


OF_CHANGE = 3e-2
"""Part of d₁²/|x| that may be left of the accelerations x. d₁ is their change in a step, of the
order of h, and this of the order of h², as the error of the step is."""


SURE = 1e-2
"""Part of `converged` that may be left if nothing is stiff any more: 1e-8 rad by default."""


SURE_OF_CHANGE = 10.0
"""Part of d₁²/|x| that may be left then: of the order of h² in accelerations, too."""


OF_SIZE = 1e-9
"""Part of |x| that may be left in any case."""


ROUNDING = 1e-9
"""Part of `converged` below which corrections are rounding errors, whose ratio says nothing."""


class KeptJacobian(NamedTuple):
    """How many J's have been formed (1,), factors of the last one, the diagonal of M⁻¹ there."""

    formed: Array
    J: Eliminated
    mobility: Array


class KeptFactors:
    """Places of how many J's have been formed, U, L, the reciprocals of L's diagonal, and the
    diagonal of M⁻¹.

    Parameters
    ----------
    unknowns, nv : n, and how many of them are accelerations
    """

    def __init__(self, unknowns: int, nv: int) -> None:
        self.unknowns = unknowns if unknowns <= MOST_UNKNOWNS else 0
        self.nv = nv

    @property
    def size(self) -> int:
        """Numbers in all; none where J is not kept."""
        return 1 + self.unknowns**2 + self.nv if self.unknowns else 0

    def packed(self, kept: KeptJacobian) -> Array:
        """Return the numbers (size,) of what is kept."""
        matrix = zeros(kept.J.matrix.shape, kept.J.matrix)
        matrix[:] = kept.J.matrix
        np.fill_diagonal(matrix, kept.J.reciprocals)
        out = zeros(self.size, matrix, *kept[::2])
        out[:1], out[1 : -self.nv], out[-self.nv :] = kept.formed, matrix.reshape(-1), kept.mobility
        return out

    def unpacked(self, numbers: Array, pattern: Array) -> KeptJacobian:
        """Return the factors among such numbers.

        Parameters
        ----------
        pattern : (size,) which of them are not structurally zero
        """
        n, inner = self.unknowns, slice(1, -self.nv)
        filled, matrix = pattern[inner].reshape(n, n), zeros((n, n), numbers)
        matrix[filled] = numbers[inner].reshape(n, n)[filled]
        above = [[i for i in range(k) if filled[i, k]] for k in range(n)]
        before = [[j for j in range(k) if filled[k, j]] for k in range(n)]
        factors = Eliminated(matrix, np.diagonal(matrix), above, before)
        return KeptJacobian(numbers[:1], factors, numbers[-self.nv :])


def mobility(model: Model, q: Array) -> Array:
    """Return the diagonal (nv,) of M⁻¹."""
    factor = factorise(mass_matrix_by_bodies(model, q), mass_pattern(model), model.velocity_names)
    unit = np.eye(model.nv)
    columns = [outward(factor, unit[k]) for k in range(model.nv)]
    return np.array(
        [sum(x * x * d for x, d in zip(c, factor.reciprocals, strict=True)) for c in columns]
    )


def good_enough(size: Any, before: Any, last: Any, bound: Any, converged: float) -> Any:
    """Return whether corrections with kept factors are small, by squares.

    Parameters
    ----------
    size, before, last : |x|, d₁ and d₂, squared
    bound : what may be left, squared, whatever J is
    """
    left = last * last  # times d₁²
    falling = last <= SLOWEST**2 * before
    closer = (left * size <= OF_CHANGE**2 * before**3) | (left <= OF_SIZE**2 * size * before)
    small = (last <= converged**2) & (left <= (LEFT * converged) ** 2 * before)
    sure = (bound <= (SURE * converged) ** 2) & (
        (bound * size <= SURE_OF_CHANGE**2 * before**2) | (bound <= OF_SIZE**2 * size)
    )
    rounding = (ROUNDING * converged) ** 2
    return ((small & falling & closer) | (last <= rounding)) & (sure | (bound <= rounding))
