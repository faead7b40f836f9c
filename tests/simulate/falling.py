"""A ball that falls to the ground, and integrators that find when."""

import mbd_bridge as mbd

G = 9.81


def falling():
    b = mbd.Builder("ball", root="ground").link("ball", 2.0, inertia=(1, 1, 1))
    return mbd.Mechanism.build(b.joint("z", "prismatic", "ground", "ball", axis=(0, 0, 1)))


def ground(**attributes):
    def height(t, q, v):
        return q[0]

    for name, value in attributes.items():
        setattr(height, name, value)
    return height


WAYS = [{}, {"method": "svd"}, {"integrator": "abm"}, {"integrator": "scipy:RK45"}]
