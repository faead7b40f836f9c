"""Linkages whose positions are known functions of one angle s, through flat positions too.

The joints of a tree turn by angles whose cosines and sines are formulas of s. Textbook kinematics
of each link, in complex numbers for the derivatives, gives kinetic energy I(s) s'²/2 and potential
V(s); they go on as Fourier series, and Lagrange's equation is

    I s'' + I' s'²/2 + V' = 0

which knows nothing of loops: s goes through a flat position, where other branches cross, as through
any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

import mbd_bridge as mbd
from mbd_bridge.model.spatial import Frame
from tests.machines import four_bar

Turn = tuple[np.ndarray, np.ndarray]
"""Cosine and sine of an angle, analytic in s."""

SAMPLES = 512
ROUNDING = 1e-14
"""Harmonics below, relative to the largest, are rounding."""

GRAVITY = np.array([0.0, 0.0, -9.81])
TILT = (0.4, 0.3, -0.7)


def turned(s: np.ndarray) -> Turn:
    """Return an angle's cosine and sine."""
    return np.cos(s), np.sin(s)


def plus(*turns: Turn) -> Turn:
    """Return the sum of angles."""
    c, s = turns[0]
    for c2, s2 in turns[1:]:
        c, s = c * c2 - s * s2, s * c2 + c * s2
    return c, s


def minus(turn: Turn) -> Turn:
    """Return the angle to the other side."""
    return turn[0], -turn[1]


def twice(x: np.ndarray, y: np.ndarray) -> Turn:
    """Return the double of the angle whose tangent is y/x."""
    square = x * x + y * y
    return (x * x - y * y) / square, 2 * x * y / square


QUARTER = 0.0, 1.0


class Curve:
    """A branch of a machine.

    Parameters
    ----------
    turns : cosine and sine of each joint's angle at s, by the joint's name
    flat : values of s at which the machine is flat
    """

    def __init__(
        self,
        machine: mbd.Mechanism,
        turns: Callable[[np.ndarray], dict[str, Turn]],
        flat: tuple[float, ...],
    ) -> None:
        self.machine, self.flat, self._turns = machine, flat, turns
        places = 2 * np.pi * np.arange(SAMPLES) / SAMPLES
        energies = np.array([self.energies(s) for s in places])
        series = np.fft.rfft(energies, axis=0) / SAMPLES
        kept = (np.abs(series) > ROUNDING * np.abs(series).max(axis=0)).any(axis=1)
        assert not kept[SAMPLES // 4 :].any(), "too few harmonics"
        self._order = 1j * np.flatnonzero(kept)
        self._series = series[kept] * np.where(self._order == 0.0, 1.0, 2.0)[:, None]

    def state(self, s: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
        """Return q and v, in the machine's order."""
        h = 1e-30
        here = self._turns(np.array(s + h * 1j))
        found = []
        for name in self.machine.coordinate_names:
            cosine, sine = (np.asarray(x, dtype=complex) for x in here[name])
            slope = (cosine.real * sine.imag - sine.real * cosine.imag) / h
            found.append((np.arctan2(sine.real, cosine.real), slope * rate))
        q, v = np.array(found).T
        return q, v

    def motion(self, s: float, rate: float, time: float) -> tuple[float, float]:
        """Return s and s' after a time (it may be negative)."""

        def rates(_: float, y: np.ndarray) -> list[float]:
            waves = np.exp(self._order * y[0])
            inertia = (waves @ self._series[:, 0]).real
            slope, push = ((self._order * waves) @ self._series).real
            return [y[1], -(0.5 * slope * y[1] ** 2 + push) / inertia]

        options = {"rtol": 1e-13, "atol": 1e-13, "method": "DOP853"}
        return tuple(solve_ivp(rates, (0.0, time), [s, rate], **options).y[:, -1])

    def apart(self, q: np.ndarray, s: float) -> float:
        """Return how far (rad) coordinates are from those at s, up to whole turns."""
        return float(np.abs((q - self.state(s, 0.0)[0] + np.pi) % (2 * np.pi) - np.pi).max())

    def energies(self, s: float) -> tuple[float, float]:
        """Return I(s) and V(s): each link carried along the joints that the file describes."""
        h = 1e-30
        described = self.machine.model.description
        turns = self._turns(np.array(s + h * 1j))
        inertias = {link.name: link.inertia for link in described.links}
        places = {described.links[0].name: (np.eye(3), np.zeros(3))}
        inertia = potential = 0.0
        for joint in described.joints:
            R, p = places[joint.parent]
            p = p + R @ joint.origin.translation
            R = R @ joint.origin.rotation
            if joint.type != "fixed":
                R = R @ rotation(joint.axis, *turns[joint.name])
            places[joint.child] = R, p
            own = inertias[joint.child]
            if own is not None:
                centre, still = p + R @ own.centre, np.real(R)
                w = np.imag(R) / h @ still.T
                w = still.T @ np.array([w[2, 1], w[0, 2], w[1, 0]])
                inertia += own.mass * (np.imag(centre) / h) @ (np.imag(centre) / h)
                inertia += w @ own.central @ w
                potential -= own.mass * self.machine.model.gravity @ np.real(centre)
        return inertia, potential


def rotation(axis: tuple[float, ...], cosine: np.ndarray, sine: np.ndarray) -> np.ndarray:
    """Return the rotation about a unit axis (Rodrigues)."""
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + sine * K + (1.0 - cosine) * (K @ K)


# -- machines -------------------------------------------------------------------------------------


def row(
    windows: int, tilt: tuple[float, ...] = (0.0, 0.0, 0.0), cut: str = "revolute"
) -> mbd.Mechanism:
    """Parallelograms side by side, links of 1 m and 1 kg, in a tilted plane."""
    b, y = mbd.Builder(f"{windows} windows", root="world"), (0, 1, 0)
    b.link("ground", 1).joint("foot", "fixed", "world", "ground", (0.3, -0.2, 0.5), tilt)
    for k in range(windows + 1):
        b.link(f"crank{k}", 1, (0, 0, 0.5), (1 / 12, 1 / 12, 0))
        b.joint(f"crank{k}", "revolute", "ground", f"crank{k}", (k, 0, 0), axis=y)
    for k in range(windows):
        b.link(f"bar{k}", 1, (0.5, 0, 0), (0, 1 / 12, 1 / 12))
        b.joint(f"bar{k}", "revolute", f"crank{k}", f"bar{k}", (0, 0, 1), axis=y)
        ends = (f"bar{k}", Frame.from_rpy((1, 0, 0))), (f"crank{k + 1}", Frame.from_rpy((0, 0, 1)))
        b.loop(f"pin{k}", cut, *ends, axis=y)
    return mbd.Mechanism.build(b)


def side_by_side(windows: int, *more: object) -> Curve:
    """Return all cranks at the angle s from upright."""

    def turns(s: np.ndarray) -> dict[str, Turn]:
        cranks = {f"crank{k}": turned(s) for k in range(windows + 1)}
        return cranks | {f"bar{k}": turned(-s) for k in range(windows)}

    return Curve(row(windows, *more), turns, (np.pi / 2, -np.pi / 2))


def folded(windows: int, *more: object) -> Curve:
    """Return the first window folded: its bar lies on the next crank, at s from the ground's line.

    Its first crank lies on the ground.
    """

    def turns(s: np.ndarray) -> dict[str, Turn]:
        found = {"crank0": QUARTER, "bar0": plus(turned(-s), minus(QUARTER))}
        found |= {f"crank{k}": plus(QUARTER, turned(-s)) for k in range(1, windows + 1)}
        return found | {f"bar{k}": plus(turned(s), minus(QUARTER)) for k in range(1, windows)}

    return Curve(row(windows, *more), turns, (0.0, np.pi))


def crossed(a: float = 1.0, d: float = 2.0) -> Curve:
    """Return the crossed branch of a parallelogram of sides a < d, s the crank's angle to d.

    With the rocker at φ, tan(φ/2) = -(d + a)/(d - a) tan(s/2).
    """

    def turns(s: np.ndarray) -> dict[str, Turn]:
        crank = turned(s)
        rocker = twice((d - a) * np.cos(s / 2), -(d + a) * np.sin(s / 2))
        bar = tuple((a * (r - c) + x) / d for r, c, x in zip(rocker, crank, (d, 0.0), strict=True))
        return {
            "crank": plus(QUARTER, minus(crank)),
            "elbow": plus(minus(bar), crank, minus(QUARTER)),
            "wrist": plus(QUARTER, minus(rocker), bar),
        }

    return Curve(four_bar(a, d, a, d), turns, (0.0, np.pi))


SPHERE = 0.7, 1.2
"""rad between the axes of crank and rocker, and of coupler and ground."""


def on_a_sphere(crossing: bool) -> Curve:
    """Return a linkage whose four axes meet, opposite links alike: angles s, t, ±s, ±t.

    tan(t/2) tan(s/2) = cos((α + β)/2) / cos((α - β)/2), or minus the same of sines.
    """
    alpha, beta = SPHERE
    z, up = (0, 0, 1), (0.4, -0.3, 0.2)
    b = mbd.Builder("on a sphere", root="world").link("ground", 1)
    b.joint("foot", "fixed", "world", "ground", (0.1, 0.2, 0.3), TILT)
    b.link("crank", 1.0, (0.3, -0.1, 0.2), (0.1, 0.2, 0.25))
    b.link("coupler", 2.0, (0.1, 0.4, 0.3), (0.3, 0.2, 0.15))
    b.link("rocker", 1.5, up, (0.2, 0.15, 0.1))
    b.joint("crank", "revolute", "ground", "crank", axis=z)
    b.joint("elbow", "revolute", "crank", "coupler", rpy=(alpha, 0, 0), axis=z)
    b.joint("wrist", "revolute", "coupler", "rocker", rpy=(beta, 0, 0), axis=z)
    ends = (
        ("rocker", Frame.from_rpy((0, 0, 0), (alpha, 0, 0))),
        ("ground", Frame.from_rpy((0, 0, 0), (-beta, 0, 0))),
    )
    b.loop("pin", "revolute", *ends, axis=z)
    ratio = np.cos((alpha + beta) / 2) / np.cos((alpha - beta) / 2)
    if crossing:
        ratio = -np.sin((alpha + beta) / 2) / np.sin((alpha - beta) / 2)

    def turns(s: np.ndarray) -> dict[str, Turn]:
        other = twice(np.sin(s / 2), ratio * np.cos(s / 2))
        return {"crank": turned(s), "elbow": other, "wrist": turned(-s if crossing else s)}

    return Curve(mbd.Mechanism.build(b), turns, (0.0, np.pi))


class Branch(NamedTuple):
    """How a curve is made."""

    make: Callable[..., Curve]
    given: tuple[object, ...]


MACHINES = {
    "parallelogram": Branch(side_by_side, (1,)),
    "three windows": Branch(side_by_side, (3,)),
    "tilted, with a ball": Branch(side_by_side, (1, TILT, "spherical")),
    "parallelogram, folded": Branch(folded, (1,)),
    "three windows, folded": Branch(folded, (3,)),
    "crossed": Branch(crossed, ()),
    "on a sphere": Branch(on_a_sphere, (False,)),
    "on a sphere, crossed": Branch(on_a_sphere, (True,)),
}

FLAT = {"crank0": np.pi / 2, "bar0": -np.pi / 2, "crank1": np.pi / 2}
"""The parallelogram with all bars in one line."""
