"""What a step gives to the next one, and where in it each part is.

    q, v    position, velocity
    t       (time, work, z, memory):
            time    s
            work    J, that forces and prescribed motions have done
            z       (nz,) states of force elements
            memory  what a method remembers beside; Runge-Kutta: nothing

Records, lanes of batches, checkpoints and steps in other loops pass t on as it is. A method with a
memory declares it in `fed_back`, makes it where a motion starts, and finds it behind z.
"""

from __future__ import annotations

from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array

WORK, CARRIED = 1, 2
"""Places in t: of the work, and from where on z and memory are."""


def fed_back(model: Model, nz: int, memory: int = 0) -> dict[str, int]:
    """Return the sizes of what a step gives to the next one, in this order."""
    return {"q": model.nq, "v": model.nv, "t": CARRIED + nz + memory}


def carried(t: Array) -> Array:
    """Return z, and the memory behind it, from t or from records of it (..., size)."""
    return t[..., CARRIED:]
