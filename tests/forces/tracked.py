"""A tracked vehicle: hull, road wheels, and a track."""

import functools

import mbd_bridge as mbd
from mbd_bridge.forces import Track

PLACES = (1.2, 0.4, -0.4, -1.2)

RADIUS, TENSION, STIFFNESS = 0.3, 20e3, 8e6


@functools.cache
def vehicle(floating=True):
    """Return a hull with four road wheels that move up and down on it."""
    builder = mbd.Builder("tracked", root="hull").link("hull", 3000.0, inertia=(900, 2500, 3000))
    for k, x in enumerate(PLACES, start=1):
        builder = builder.link(f"wheel_{k}", 80.0, inertia=(3, 4, 3)).joint(
            f"station_{k}", "prismatic", "hull", f"wheel_{k}", (x, 0, -0.5), axis=(0, 0, 1)
        )
    return mbd.Mechanism.build(builder, floating=floating)


def track(**options):
    numbers = {
        "wheels": [(f"wheel_{k}", (0, 0, 0)) for k in (1, 2, 3, 4)],
        "radius": RADIUS,
        "pad_stiffness": 9e5,
        "pad_damping": 3e3,
        "front": ("hull", (1.9, 0, -0.3)),
        "rear": ("hull", (-1.9, 0, -0.25)),
        "tension": TENSION,
        "stiffness": STIFFNESS,
        "damping": 4e3,
        "name": "track",
    }
    return Track(**(numbers | options))
