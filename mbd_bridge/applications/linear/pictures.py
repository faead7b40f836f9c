"""Pictures of linear models: gain and phase, eigenvalues over a parameter such as the speed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import an_instance, finite_numbers
from mbd_bridge.base.errors import StateError
from mbd_bridge.base.plot_style import COLOURS, DASHES, FAINT, axes_for, legend_above, style
from mbd_bridge.model.spatial import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mbd_bridge.applications.linear.model import Complex, LinearModel

ZERO = 1e-9
"""Eigenvalues below this part of the largest are those of displacements that nothing resists."""


def plot_bode(
    model: LinearModel,
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
    i, j = model.place("outputs", output), model.place("inputs", input)
    hertz = np.atleast_1d(finite_numbers("frequency", frequency))
    response = model.frequency_response(hertz)[:, i, j]
    units = model.output_units[i], model.input_units[j]
    with style():
        axes = axes_for(2, 1, (7.5, 2.3), ax, sharex=True)
        axes[0].loglog(hertz, np.abs(response), color=COLOURS[0])
        axes[0].set_ylabel(f"gain [{units[0]} / ({units[1]})]")
        axes[0].set_title(f"{model.name}: {output} by {input}")
        phase = np.degrees(np.unwrap(np.angle(response)))
        axes[1].semilogx(hertz, phase, color=COLOURS[0])
        axes[1].set_ylabel("phase [deg]")
        axes[1].set_xlabel("frequency [Hz]")
    return axes


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
    from mbd_bridge.applications.linear.model import LinearModel  # which draws with this module

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
