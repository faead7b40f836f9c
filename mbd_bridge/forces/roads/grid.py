"""A road whose height is given over a grid of x and y, or by an OpenCRG file.

    z(x, y) = (1 - f) z_j(x) + f z_j+1(x),   y_j <= y <= y_j+1,  f = (y - y_j)/(y_j+1 - y_j)

The rows z_j(x) are lines or cubic splines. They stand one behind the other in one table, of which
the row's number chooses a part: a look-up for the number, two for heights, two for slopes.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field
from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import FileError, StateError, one_of, real_number
from mbd_bridge.base.extras import needed
from mbd_bridge.files.input_files import regular_file
from mbd_bridge.forces.roads.profile import MOST_KNOTS
from mbd_bridge.forces.roads.shapes import Road, RoadSurface
from mbd_bridge.functions import Lookup, clip, equal, where
from mbd_bridge.model.spatial import Array

# OpenCRG road files (``.crg``), by the package pyopencrg, as heights over an even grid.
#
# The file's grid is curved along its reference line. It is moved and scaled by the file's
# modifiers, as by every simulator, and evaluated at the places of a grid in x and y.


MOST_BYTES = 2**30
"""A file of a gigabyte has a hundred times as many heights as a road of ours may have."""


def road_heights(
    path: str | os.PathLike[str],
    spacing: float,
    x: tuple[float, float] | None,
    y: tuple[float, float] | None,
    most: int,
) -> tuple[Floats, Floats, Floats]:
    """Return x (n,), y (m,) and heights (n, m), m.

    Parameters
    ----------
    spacing : of x and y, m
    x, y : from, to; None for what the file covers
    most : heights

    Raises
    ------
    FileError
        The file cannot be read, or has no height somewhere in the region.
    """
    step = real_number("spacing", spacing, "a number above 0, m", positive=True)
    if not isinstance(path, str | os.PathLike):
        raise FileError(f"expected the path of a .crg file, got {type(path).__name__}")
    name = os.fspath(path)
    pyopencrg = needed("pyopencrg", f"{name}: OpenCRG files need pyopencrg", "mbd_bridge[roads]")
    try:
        size = os.stat(regular_file(name)).st_size
        if size > MOST_BYTES:
            raise FileError(f"the file has {size} bytes; expected at most {MOST_BYTES}", name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its remarks on the file's form
            road = pyopencrg.read(name, apply_mods=True)
    except (
        OSError,
        ValueError,
        KeyError,
        IndexError,
        TypeError,
        pyopencrg.CrgCheckError,
    ) as problem:
        raise FileError(f"cannot be read as an OpenCRG file: {problem}", name) from None
    if x is None or y is None:
        grid_x, grid_y = road.grid_xy()
        x = x or (float(grid_x.min()), float(grid_x.max()))
        y = y or (float(grid_y.min()), float(grid_y.max()))
    places = [_places(axis, ends, step, most) for axis, ends in (("x", x), ("y", y))]
    count = len(places[0]) * len(places[1])
    if count > most:
        raise StateError(
            f"expected at most {most} heights, got {count}; give x=, y= or a wider spacing"
        )
    for border in ("border_mode_u", "border_mode_v"):
        road.set_option(border, NO_HEIGHT)
    heights = np.asarray(road.xy_to_z(places[0][:, None], places[1][None, :]), dtype=np.float64)
    empty = int(np.count_nonzero(~np.isfinite(heights)))
    if empty:
        ends = " to ".join(f"({road.x[k]:.4g}, {road.y[k]:.4g})" for k in (0, -1))
        raise FileError(
            f"no height at {empty} of {count} places; give x= and y= inside of the road, which "
            f"goes from {ends} m and is {road.width:.4g} m wide",
            name,
        )
    return places[0], places[1], heights


NO_HEIGHT = 0
"""OpenCRG's border mode NONE: beyond the border there is no height."""


def _places(axis: str, ends: tuple[float, float], step: float, most: int) -> Floats:
    start, stop = (real_number(axis, end, "from, to, m") for end in ends)
    count = np.floor((stop - start) / step + 1e-9) + 1
    if not 2 <= count <= most:
        raise StateError(
            f"{axis}: expected from < to, m, at most {most} spacings, got {start:g} and {stop:g}"
        )
    return np.asarray(start + step * np.arange(int(count)))


EVEN = 1e-6
"""Largest deviation from an even grid, in spacings: far below what a file rounds to."""


@final
@dataclass(frozen=True, eq=False)
class Grid(Road):
    """A road of heights over an even grid; beyond its edges it goes on as at the edge.

    Parameters
    ----------
    x : (n,) m, along the road, evenly spaced
    y : (m,) m, across, to the left, evenly spaced
    z : (n, m) m, heights
    kind : straight lines or cubic splines along x; across they are lines

    See Also
    --------
    Grid.from_crg : of an OpenCRG file
    """

    x: ArrayLike = field(repr=False)
    y: ArrayLike = field(repr=False)
    z: ArrayLike = field(repr=False)
    kind: Literal["linear", "cubic"] = "linear"
    _rows: Lookup = field(init=False, repr=False)
    _row_slopes: Lookup = field(init=False, repr=False)
    _numbers_of_rows: Lookup = field(init=False, repr=False)

    def __post_init__(self) -> None:
        one_of("Grid: kind", self.kind, ("linear", "cubic"), StateError)
        x, y = (_even(f"Grid: {name}", getattr(self, name)) for name in ("x", "y"))
        z = finite_numbers("Grid: z", self.z, (len(x), len(y)))
        if z.size > MOST_KNOTS:
            raise StateError(f"Grid: expected at most {MOST_KNOTS} heights, got {z.size}")
        rows = joined(z, self.kind)
        values = {
            "x": x,
            "y": y,
            "z": z,
            "_rows": rows,
            "_row_slopes": rows.derivative(),
            "_numbers_of_rows": Lookup.of_polynomials(
                y[:-1], np.arange(len(y) - 1.0)[None], float(y[-1])
            ),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_crg(
        cls,
        path: str | os.PathLike[str],
        spacing: float = 0.05,
        x: tuple[float, float] | None = None,
        y: tuple[float, float] | None = None,
        kind: Literal["linear", "cubic"] = "linear",
    ) -> Self:
        """Return the road of an OpenCRG file, resampled over x and y; it needs ``pyopencrg``.

        Parameters
        ----------
        path : of the ``.crg`` file
        spacing : of the grid, m
        x, y : from, to, m; by default all that the file covers
        """
        return cls(*road_heights(path, spacing, x, y, MOST_KNOTS), kind)

    def surface(self, x: Any, y: Any, t: Any = 0.0) -> RoadSurface:
        """Return height and slopes between the two rows beside y."""
        along, across = np.asarray(self.x), np.asarray(self.y)
        dx = (along[-1] - along[0]) / (len(along) - 1)
        dy = (across[-1] - across[0]) / (len(across) - 1)
        here = clip(x, along[0], along[-1])
        inside_x = equal(here, x)
        beside = clip(y, across[0], across[-1])
        inside_y = equal(beside, y)
        j = self._numbers_of_rows(beside)
        f = (beside - across[0]) * (1.0 / dy) - j
        place = clip((here - along[0]) * (1.0 / dx), 0.0, len(along) - 1.0) + len(along) * j
        near, far = self._rows(place), self._rows(place + len(along))
        slope = self._row_slopes(place)
        slope = (1.0 / dx) * (slope + f * (self._row_slopes(place + len(along)) - slope))
        return RoadSurface(
            near + f * (far - near),
            where(inside_x, slope, 0.0),
            where(inside_y, (1.0 / dy) * (far - near), 0.0),
        )

    @property
    def digest(self) -> str:
        """The tables'."""
        ends = [np.asarray(at)[[0, -1]].tolist() for at in (self.x, self.y)]
        return f"Grid {ends} {self._rows.digest}"

    @property
    def varies_across(self) -> bool:
        """Yes."""
        return True


def _even(name: str, value: ArrayLike) -> Array:
    """Return places (n,) that increase evenly."""
    places = finite_numbers(name, value)
    steps = np.diff(places) if places.ndim == 1 else np.zeros(0)
    if len(steps) < 1 or not steps.min() > 0.0:
        raise StateError(f"{name}: expected two places or more, m, that increase")
    mean = (places[-1] - places[0]) / len(steps)
    if np.abs(places - places[0] - mean * np.arange(len(places))).max() > EVEN * mean:
        raise StateError(f"{name}: expected evenly spaced places; resample them")
    return places


def joined(z: Array, kind: str) -> Lookup:
    """Return the rows one behind the other, over the number of the place; each ends level."""
    count, rows = z.shape
    if kind == "cubic":
        from scipy.interpolate import CubicSpline  # here: importing mbd_bridge loads no SciPy

        inner = np.asarray(CubicSpline(np.arange(count), z).c)[::-1]
    else:
        inner = np.array([z[:-1], np.diff(z, axis=0)])
    coefficients = np.zeros((len(inner), count, rows))
    coefficients[:, :-1] = inner
    coefficients[0, -1] = z[-1]
    flat = coefficients.transpose(0, 2, 1).reshape(len(inner), -1)
    return Lookup.of_polynomials(np.arange(float(count * rows)), flat, float(count * rows))
