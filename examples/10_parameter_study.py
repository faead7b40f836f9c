"""How long and how heavy should a coupler be? A thousand variants of a linkage, in one call."""

from pathlib import Path

import numpy as np

import mbd_bridge as mbd

linkage = mbd.load(Path(__file__).parents[1] / "urdf" / "crank_rocker.urdf")

# Every variant has a coupler of its own: its length is where its far pin sits, its mass goes with
# the length, its centre is in the middle, and its inertia that of a rod.
rng = np.random.default_rng(0)
length = rng.uniform(0.42, 0.52, 1000)  # m
thickness = rng.uniform(0.5, 2.0, 1000)  # kg/m
mass = thickness * length
moment = mass * length**2 / 12
nothing = np.zeros_like(length)
parameters = {
    "coupler_pin.predecessor.xyz": np.column_stack([length, nothing, nothing]),
    "coupler.mass": mass,
    "coupler.centre": np.column_stack([length / 2, nothing, nothing]),
    "coupler.inertia": np.column_stack([nothing, moment, moment]),
}

# One second at three turns a second; every variant starts from a position that closes its loop.
prescribed = {"crank": lambda t: 0.5 + 6.0 * np.pi * t}
batch = linkage.simulate(1.0, prescribed=prescribed, parameters=parameters, every=10)
print(batch)
force, _ = batch.joint_loads(["coupler_pin"]).peaks("coupler_pin")
torque = np.abs(batch.prescribed_forces["crank"]).max(axis=1)

best = int(np.argmin(force))
for name, value in (("lightest loaded", best), ("heaviest loaded", int(np.argmax(force)))):
    print(
        f"{name}: {length[value]:.3f} m, {mass[value]:.3f} kg: pin {force[value]:.2f} N, "
        f"crank {torque[value]:.3f} N m"
    )

# A variant is a mechanism like any other.
own = mbd.Mechanism(batch.model_of(best))
run = own.simulate(1.0, prescribed=prescribed, every=10)
alone = np.linalg.norm(run.joint_loads("coupler_pin").force[:, 0, [0, 2]], axis=1).max()
print("simulated alone, its pin carries the same:", np.isclose(alone, force[best], rtol=1e-9))
