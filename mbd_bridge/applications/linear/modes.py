"""Eigenvalues and modes of x' = A x, block by block.

States that drive others and are not driven back make A block triangular, such as a vehicle's place
and heading behind its motion. The eigenvalues are those of the diagonal blocks, which keeps the
digits of what would be a multiple eigenvalue of the whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.model.spatial import Array

NEGLIGIBLE = 1e-13
"""Entries of A that are rounding, relative to the largest of their row and column."""

Complex = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class Mode:
    """One eigenvalue, of a pair the one whose imaginary part is positive.

    Attributes
    ----------
    eigenvalue : 1/s
    shape : (n,) of the states, the largest of those that oscillate or decay by themselves 1
    states : names of the states that the mode consists of
    names : of all states
    """

    eigenvalue: complex
    shape: Complex
    states: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def oscillates(self) -> bool:
        """Whether it is a pair."""
        return self.eigenvalue.imag != 0.0

    @property
    def frequency(self) -> float:
        """Damped frequency, Hz."""
        return float(abs(self.eigenvalue.imag) / (2.0 * np.pi))

    @property
    def natural_frequency(self) -> float:
        """Absolute value of the eigenvalue, Hz."""
        return float(abs(self.eigenvalue) / (2.0 * np.pi))

    @property
    def damping_ratio(self) -> float:
        """Minus the real part over the absolute value: 1 without oscillation, below 0 unstable."""
        size = abs(self.eigenvalue)
        return float(-self.eigenvalue.real / size + 0.0) if size else float("nan")

    @property
    def time_constant(self) -> float:
        """Time in which it decays (or grows) by a factor e, s; infinite if it does neither."""
        return float(1.0 / abs(self.eigenvalue.real)) if self.eigenvalue.real else float("inf")

    @property
    def value_text(self) -> str:
        """The eigenvalue with both signs of its imaginary part."""
        value = self.eigenvalue
        return f"{value.real:.6g}" + (f" ± {value.imag:.6g}i" if self.oscillates else "")

    def __str__(self) -> str:
        value = self.eigenvalue
        what = f"{self.frequency:.6g} Hz, damping ratio {self.damping_ratio:.6g}"
        if not self.oscillates:
            word = "decays" if value.real < 0.0 else "grows"
            what = f"{word} by e in {self.time_constant:.6g} s" if value.real else "stays"
        return f"{self.value_text} 1/s: {what}; {', '.join(self.states)}"


def modes_of(A: Array, names: tuple[str, ...]) -> tuple[Mode, ...]:
    """Return the modes, the least stable first; a pair is one."""
    found = []
    A, blocks = _blocks(A)
    for members, later in blocks:
        values, vectors = np.linalg.eig(A[np.ix_(members, members)])
        for value, vector in zip(values, vectors.T, strict=True):
            if value.imag < 0.0:
                continue
            own = vector / vector[int(np.argmax(np.abs(vector)))]
            shape = np.zeros(len(A), dtype=complex)
            shape[members] = own
            if later:  # what the block drives follows it
                driven = A[np.ix_(later, members)] @ own
                inner = A[np.ix_(later, later)] - value * np.eye(len(later))
                shape[later] = np.linalg.lstsq(inner, -driven, rcond=None)[0]
            states = tuple(names[k] for k in members)
            found.append(Mode(complex(value), shape, states, names))
    return tuple(sorted(found, key=lambda mode: (-mode.eigenvalue.real, -mode.eigenvalue.imag)))


def eigenvalues_of(A: Array) -> Complex:
    """Return the eigenvalues (n,), the least stable first."""
    A, blocks = _blocks(A)
    parts = [np.linalg.eigvals(A[np.ix_(members, members)]) for members, _ in blocks]
    values = np.concatenate([np.zeros(0, dtype=complex), *parts])
    return np.asarray(values[np.lexsort((-values.imag, -values.real))])


def _blocks(A: Array) -> tuple[Array, list[tuple[list[int], list[int]]]]:
    """Return A without rounding, states that drive each other, and those that each such block
    drives beside.
    """
    from scipy.sparse.csgraph import connected_components  # here: importing loads no SciPy

    if not len(A):
        return A, []
    size = np.abs(A)
    largest = np.maximum(size.max(axis=0)[None, :], size.max(axis=1)[:, None])
    A = np.where(size > NEGLIGIBLE * largest, A, 0.0)
    drives = A.T != 0.0  # j drives i where A_ij is not nothing
    count, label = connected_components(drives, directed=True, connection="strong")
    reach = np.linalg.matrix_power(drives.astype(float) + np.eye(len(A)), len(A)) > 0.0
    found = []
    for k in range(count):
        members = np.flatnonzero(label == k)
        later = np.flatnonzero(reach[members].any(axis=0) & (label != k))
        found.append((members.tolist(), later.tolist()))
    return A, found
