"""OpenCRG road files (``.crg``), by the package pyopencrg, as heights over an even grid.

The file's grid is curved along its reference line. It is moved and scaled by the file's modifiers,
as by every simulator, and evaluated at the places of a grid in x and y.
"""

from __future__ import annotations

import os
import warnings

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.errors import FileError, StateError, real_number
from mbd_bridge.base.extras import needed
from mbd_bridge.files.input_files import regular_file

Floats = NDArray[np.float64]

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
