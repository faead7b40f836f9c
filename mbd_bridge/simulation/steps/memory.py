"""What a step that remembers hands on to the next one beside the state, and what it begins with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.simulation.acting import Acting
from mbd_bridge.simulation.system import System


@dataclass(frozen=True)
class Memory:
    """Places in the memory of an implicit step: a, q̈ with ż behind (n each), λ, forces F.

    Parameters
    ----------
    unknowns : n
    one : whether a = q̈, which then is kept once
    rows, forces : numbers of λ and F
    room : for λ, whichever rows are kept
    kept : numbers behind all that, of `kept.KeptFactors`
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
        own = system.forces_with(self.p)
        return Acting.at(system, system.model_with(self.p), self.held, self.instant, own)
