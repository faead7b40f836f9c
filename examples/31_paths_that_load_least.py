"""Which way from rest to rest loads a joint least? An arm's joint 3, and the rod in a leg."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import mbd_bridge as mbd
from mbd_bridge.loads.derivatives import KnotMotion, smallest_peak

URDF = Path(__file__).parents[1] / "urdf"
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")


def least(title, axis, load, states, begin, end, seconds, wide):
    """Draw the load along the straight way, and along the best one within a distance."""
    s, way = np.linspace(0, 1, 5), np.subtract(end, begin)
    path = KnotMotion.spline(seconds * s, np.linspace(0, seconds, 61), rest=True)
    straight = begin + np.outer(s**3 * (10 - 15 * s + 6 * s**2), way)

    def rows(x):  # the load at each state, and its derivatives by the knots between the ends
        knots = straight + np.pad(x.reshape(3, -1), ((1, 1), (0, 0)))
        found = load(*states(path(knots), path.time))
        slopes = found.gradient.reshape(61, 3, -1)
        return found.value, np.einsum("otk,toj->tkj", path.basis[..., 1:-1], slopes).reshape(61, -1)

    nothing = np.zeros(3 * way.size)
    best = smallest_peak(rows, nothing, [(-wide, wide)] * nothing.size)
    for label, x in (("straight", nothing), ("best", best.x)):
        axis.plot(path.time, rows(x)[0], label=f"{label}: {rows(x)[0].max():.1f}")
    axis.set(title=title, xlabel="t, s"), axis.legend(), axis.grid()
    print(f"{title}: {rows(nothing)[0].max():.1f} straight, {best.fun:.1f} after {best.nit} steps")


J, ends = "lbr_iiwa_joint_3", ([0, 0.6, 0, -1.2, 0, 0.9, 0], [1.4, 0.9, 0, -0.9, 0, 0.9, 0])
arm = mbd.load(URDF / "kuka_iiwa.urdf").with_payload("lbr_iiwa_link_7", 5.0, (0, 0, 0.1))
bending = arm.compile_derivatives([J]).gradient(lambda x: np.sqrt((x[J].moment[:2] ** 2).sum()))
least("bending of an arm's joint 3, N m", axes[0], bending, lambda x, t: x, *ends, 0.5, 0.3)

leg, moved = mbd.load(URDF / "knee_linkage_leg.urdf"), ("hip_pitch", "knee")
still = ("hip_yaw", "hip_roll", "ankle_pitch", "ankle_roll")


def closed(x, t):  # the states of the whole leg, whose knee is moved by a crank and a rod
    each = {
        n + e: part[:, k] for k, n in enumerate(moved) for e, part in zip(RATES, x, strict=True)
    }
    motion = leg.complete(each | dict.fromkeys(still, 0 * t), t)
    return motion.q, motion.v, motion.a


RATES, by = ("", ".vel", ".acc"), [f"{rate}.{name}" for rate in "qva" for name in moved]
motors = {"actuated": (*still, "hip_pitch", "knee_motor"), "along": (*still, *moved)}
pull = leg.compile_derivatives(["rod_pitch"], by, **motors).gradient("rod_pitch.force")
least("force of a leg's rod, N", axes[1], pull, closed, [0.2, 0.3], [-0.8, 1.0], 0.35, 0.25)
for folder in sys.argv[1:]:
    figure.savefig(Path(folder) / "least_paths.png", dpi=100)
