"""A linear model with names and units: x' = A x + B u, y = C x + D u."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbd_bridge.base.arguments import an_instance, finite_numbers, known_name
from mbd_bridge.base.errors import StateError, count
from mbd_bridge.base.plot_style import COLOURS, DASHES, FAINT, axes_for, legend_above, style
from mbd_bridge.base.table import Series, Table, Tabular, only
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.model.units import model_units

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Eigenvalues and modes of x' = A x, block by block.
#
# States that drive others and are not driven back make A block triangular, such as a vehicle's
# place and heading behind its motion. The eigenvalues are those of the diagonal blocks, which
# keeps the digits of what would be a multiple eigenvalue of the whole.

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
    modes = []
    A, blocks = _blocks(A)
    for members, later in blocks:
        values, vectors = np.linalg.eig(A[np.ix_(members, members)])
        for value, vector in zip(values, vectors.T, strict=True):
            if value.imag < 0.0:
                continue
            of_block = vector / vector[int(np.argmax(np.abs(vector)))]
            shape = np.zeros(len(A), dtype=complex)
            shape[members] = of_block
            if later:  # what the block drives follows it
                driven = A[np.ix_(later, members)] @ of_block
                inner = A[np.ix_(later, later)] - value * np.eye(len(later))
                shape[later] = np.linalg.lstsq(inner, -driven, rcond=None)[0]
            states = tuple(names[k] for k in members)
            modes.append(Mode(complex(value), shape, states, names))
    return tuple(sorted(modes, key=lambda mode: (-mode.eigenvalue.real, -mode.eigenvalue.imag)))


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


@dataclass(frozen=True, eq=False)
class LinearModel(Tabular):
    """Small motions of a machine about a state: made by `mbd.linear.linearise`.

    Attributes
    ----------
    name : of the machine
    A, B, C, D : of x' = A x + B u, y = C x + D u, deviations from the state
    states, inputs, outputs : names of x, u and y
    state_units, input_units, output_units : theirs
    mass, damping, stiffness : of mass η' + damping η + stiffness ξ = forces, for the independent
        velocities η and displacements ξ
    q, v, z : the state
    displacements : (nv, n) displacements of all joints by x
    unsteady : largest acceleration at the state, rad/s² or sizes of the mechanism/s²: A is constant
        along the motion where this is 0
    model : of the machine
    """

    name: str
    A: Array
    B: Array
    C: Array
    D: Array
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    state_units: tuple[str, ...]
    input_units: tuple[str, ...]
    output_units: tuple[str, ...]
    mass: Array
    damping: Array
    stiffness: Array
    q: Array
    v: Array
    z: Array
    displacements: Array = field(repr=False)
    unsteady: float
    model: Model = field(repr=False)

    @property
    def eigenvalues(self) -> Complex:
        """Eigenvalues (n,) of A, 1/s, the least stable first."""
        return eigenvalues_of(self.A)

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes, the least stable first; a complex pair is one."""
        return modes_of(self.A, self.states)

    @property
    def stable(self) -> bool:
        """Whether no eigenvalue has a positive real part."""
        return bool((self.eigenvalues.real <= 0.0).all())

    def state_space(self) -> Any:
        """Return SciPy's `scipy.signal.StateSpace`."""
        from scipy.signal import StateSpace

        return StateSpace(self.A, self.B, self.C, self.D)

    def frequency_response(self, frequency: ArrayLike) -> Complex:
        """Return C (iω - A)⁻¹ B + D at frequencies (K,) in Hz: (K, outputs, inputs).

        At an eigenvalue on the imaginary axis it is infinite.
        """
        hertz = finite_numbers("frequency", frequency)
        omega = 2.0 * np.pi * np.atleast_1d(hertz)
        out = np.empty((len(omega), *self.D.shape), dtype=complex)
        one = np.eye(len(self.A))
        for k, w in enumerate(omega):
            try:
                out[k] = self.C @ np.linalg.solve(1j * w * one - self.A, self.B) + self.D
            except np.linalg.LinAlgError:
                out[k] = np.inf
        return out

    def place(self, kind: str, name: str) -> int:
        """Return the place of a name among "states", "inputs" or "outputs"."""
        names: tuple[str, ...] = getattr(self, kind)
        more = (
            "; others by mbd.linear.linearise(..., coordinates=[...], inputs=[...], outputs=[...])"
        )
        return names.index(known_name(kind[:-1], name, names, more=more))

    def mode_motion(self, mode: Mode, size: float = 0.1, frames: int = 61) -> tuple[Array, Array]:
        """Return times (K,) and positions (K, nq) of one period of a mode, to be shown.

        The decay is left out; a mode that does not oscillate goes out and back in a time constant.

        Parameters
        ----------
        size : largest displacement, rad or sizes of the mechanism
        """
        shape = self.displacements @ mode.shape
        largest = np.abs(shape / self.model.velocity_scale).max(initial=0.0)
        if not largest > 0.0:
            raise StateError("this mode moves no joint: it consists of states of force elements")
        shape = shape * (size / largest)
        period = 1.0 / mode.frequency if mode.oscillates else min(mode.time_constant, 1.0)
        phase = np.linspace(0.0, 2.0 * np.pi, frames)
        steps = np.real(shape[None, :] * np.exp(1j * phase)[:, None])
        places = np.array([self.model.integrate(self.q, step) for step in steps])
        return phase / (2.0 * np.pi) * period, places

    def plot_bode(
        self,
        output: str,
        input: str,
        frequency: ArrayLike,
        *,
        ax: Sequence[Axes] | None = None,
    ) -> list[Axes]:
        """Draw gain and phase from an input to an output over frequencies (K,), Hz.

        Parameters
        ----------
        ax : two axes to draw into
        """
        i, j = self.place("outputs", output), self.place("inputs", input)
        hertz = np.atleast_1d(finite_numbers("frequency", frequency))
        response = self.frequency_response(hertz)[:, i, j]
        units = self.output_units[i], self.input_units[j]
        with style():
            axes = axes_for(2, 1, (7.5, 2.3), ax, sharex=True)
            axes[0].loglog(hertz, np.abs(response), color=COLOURS[0])
            axes[0].set_ylabel(f"gain [{units[0]} / ({units[1]})]")
            axes[0].set_title(f"{self.name}: {output} by {input}")
            phase = np.degrees(np.unwrap(np.angle(response)))
            axes[1].semilogx(hertz, phase, color=COLOURS[0])
            axes[1].set_ylabel("phase [deg]")
            axes[1].set_xlabel("frequency [Hz]")
        return axes

    def tables(self) -> tuple[Table, ...]:
        """Return the modes, the least stable first."""
        modes = self.modes
        moving, pairs = [x.eigenvalue.real != 0.0 for x in modes], [x.oscillates for x in modes]
        six, four = "{:.6g}".format, "{:.4g}".format
        damping = only([one.damping_ratio for one in modes], pairs)
        columns = [
            Series("frequency", "Hz", only([x.frequency for x in modes], pairs), shown=six),
            Series("damping ratio", "", damping, shown=four),
            Series(
                "time constant", "s", only([x.time_constant for x in modes], moving), shown=four
            ),
            Series("states", "", [", ".join(mode.states) for mode in modes]),
        ]
        values, shown = [mode.eigenvalue for mode in modes], [mode.value_text for mode in modes]
        return (Table("modes", Series("eigenvalue", "1/s", values, shown=shown), columns),)

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {count(len(self.states), 'state')}, {count(len(self.inputs), 'input')}, "
            f"{count(len(self.outputs), 'output')}"
        ]
        if self.unsteady > 0.0:
            lines[0] += f"; largest acceleration {self.unsteady:.2g}"
        return "\n".join([*lines, *(f"  {mode}" for mode in self.modes)])


# Names and units of displacements and velocities: states, inputs and outputs of linear models.
#
# A displacement has the name of its coordinate; of a joint with a quaternion it is "frame.x" along
# and "frame.rx" about an axis of the child, as "frame.vx" and "frame.wx" are its velocities. A
# velocity that bears its coordinate's name becomes "steer.rate"; all accelerations end so:
# "steer.acceleration", "frame.wx.acceleration".

RATE, ACCELERATION = ".rate", ".acceleration"
TURNS = {"wx": "rx", "wy": "ry", "wz": "rz", "vx": "x", "vy": "y", "vz": "z"}


def displacement_names(model: Model) -> tuple[str, ...]:
    """Return the names of displacements (nv,)."""
    names = []
    for name in model.velocity_names:
        stem, _, last = name.rpartition(".")
        plain = name in model.coordinate_names
        names.append(name if plain else f"{stem}.{TURNS.get(last, last)}")
    return tuple(names)


def rate_names(model: Model) -> tuple[str, ...]:
    """Return the names of velocities (nv,), other than those of displacements."""
    taken = set(displacement_names(model))
    return tuple(name + RATE if name in taken else name for name in model.velocity_names)


def acceleration_names(model: Model) -> tuple[str, ...]:
    """Return the names of accelerations (nv,)."""
    return tuple(name + ACCELERATION for name in model.velocity_names)


def units_of(model: Model) -> tuple[str, ...]:
    """Return "rad" or "m" of each displacement (nv,)."""
    return model_units(model)[1]


# Pictures of linear models: gain and phase, eigenvalues over a parameter such as the speed.

ZERO = 1e-9
"""Eigenvalues below this part of the largest are those of displacements that nothing resists."""


def plot_eigenvalues(
    parameter: ArrayLike,
    models: Iterable[LinearModel],
    label: str = "parameter",
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw real and imaginary parts of the eigenvalues of linear models over a parameter.

    Eigenvalues are joined from model to model by nearness; those that are zero, of displacements
    that nothing resists, are left out. Where the background is shaded, all others are stable.

    Parameters
    ----------
    parameter : (K,) such as the speed
    models : K of them, of the same states
    label : of the parameter, with its unit
    """
    x = finite_numbers("parameter", parameter)
    models = _linear_models(models)
    if x.ndim != 1 or len(x) != len(models) or not len(x):
        raise StateError(
            f"parameter, models: expected as many models as numbers, got {len(models)} models for "
            f"numbers of the shape {x.shape}"
        )
    if len({model.states for model in models}) > 1:
        raise StateError("plot_eigenvalues: the models have other states; give coordinates=")
    tracks = followed([model.eigenvalues for model in models])
    largest = np.abs(tracks).max(initial=0.0)
    tracks = tracks[:, (np.abs(tracks) > ZERO * largest).any(axis=0)]
    with style():
        (axes,) = axes_for(1, 1, (7.5, 4.2), ax)
        for k, track in enumerate(tracks.T):
            colour = COLOURS[k % len(COLOURS)]
            axes.plot(x, track.real, color=colour, label="real part" if not k else None)
            pair = np.where(track.imag > 0.0, track.imag, np.nan)
            if np.isfinite(pair).any():
                axes.plot(x, pair, color=colour, linestyle=DASHES[1], label="imaginary part")
        axes.axhline(0.0, color=FAINT, linewidth=0.8)
        stable = (tracks.real < 0.0).all(axis=1)
        low, high = axes.get_ylim()
        axes.fill_between(x, low, high, where=stable, color="0.93", zorder=0, label="stable")
        axes.set_ylim(low, high)
        axes.set_xlabel(label)
        axes.set_ylabel("eigenvalues [1/s]")
        axes.margins(x=0.01)
        legend_above(axes, f"{models[0].name}: eigenvalues")
    return axes


def _linear_models(models: Iterable[LinearModel]) -> tuple[LinearModel, ...]:
    given: tuple[object, ...] = (models,)
    with contextlib.suppress(TypeError):  # what cannot be iterated over
        given = tuple(models)
    return tuple(
        an_instance("models", one, LinearModel, "mbd.linear.linearise(robot)") for one in given
    )


def followed(values: Sequence[Complex]) -> Array:
    """Return eigenvalues (K, n) in an order in which each column goes on from row to row."""
    from scipy.optimize import linear_sum_assignment

    rows = [np.asarray(values[0])]
    for k in range(1, len(values)):
        last = rows[-1]
        ahead = 2.0 * last - rows[-2] if k > 1 else last
        cost = np.abs(ahead[:, None] - values[k][None, :])
        rows.append(values[k][linear_sum_assignment(cost)[1]])
    return np.array(rows)
