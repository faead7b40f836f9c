"""Numbers of flexible links as parameters: machines built anew with other ones are the referee."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import ModelError

NOW = {
    "E": 70e9, "G": 26e9, "density": 2700.0, "A": 2e-4, "Iy": 3e-8, "Iz": 5e-8, "J": 6e-8,
    "damping_ratio": 0.02, "alpha": 0.3, "beta": 1e-4,
}  # fmt: skip
EIGHTH = {1: 672.0, 2: -168.0, 3: 32.0, 4: -3.0}
"""Weights of differences of the eighth order, times 840."""
RUN = {"step": 2e-5, "every": 100}
CHANGE = 5e-3


def arm(kind="clamped-free", rotary=True, stiffening=False, **changed):
    x = NOW | changed
    section = mbd.flexible.Section(*(x[name] for name in ("A", "Iy", "Iz", "J")))
    beam = mbd.flexible.Beam(
        (0, 0, 0), (1, 0, 0), x["E"], x["G"], x["density"], section, rotary_inertia=rotary
    )
    modes = mbd.flexible.Modes(
        kind, bending_y=2, bending_z=1, axial=1, torsion=1 if rotary else None
    )
    damping = mbd.flexible.Damping(x["damping_ratio"], x["alpha"], x["beta"])
    parts = mbd.Builder("pendulum").joint("hinge", "revolute", "base", "rod", axis=(0, 0, 1))
    parts.link("bob", mass=0.5).joint("screw", "fixed", "rod", "bob", xyz=(1, 0, 0))
    parts.flexible(mbd.flexible.FlexibleLink("rod", beam, modes, damping, stiffening))
    return mbd.Mechanism.build(parts, gravity=(0, -9.81, 0))


def state(robot):
    q, v, a = np.random.default_rng(0).normal(size=(3, robot.model.nv)) * [[0.1], [1.0], [1.0]]
    q[1:] *= 0.01
    return q, v, a


def difference(values, now):
    """Return the derivative by a number, of the eighth order, of values (8, n) at `places`."""
    total = sum(c / 840.0 * (values[3 + k] - values[4 - k]) for k, c in EIGHTH.items())
    return total / (CHANGE * now)


def places(now):
    """Return the eight values of a number that `difference` is of."""
    return now * (1.0 + CHANGE * np.array([-4, -3, -2, -1, 1, 2, 3, 4]))


def flat(loads):
    return np.concatenate([x.ravel() for x in (loads.force, loads.moment)])


@pytest.mark.parametrize("word", ["density", "A", "Iy", "Iz"])
def test_loads_have_derivatives_by_sections(word):
    given = {"damping_ratio": 0.0, "stiffening": True}
    robot, joints = arm(**given), ["hinge", "screw"]
    slopes = robot.load_derivatives(*state(robot), joints, f"rod.{word}")
    machines = [arm(**given, **{word: x}) for x in places(NOW[word])]
    values = [flat(one.joint_loads(*state(robot), joints)) for one in machines]
    expected = difference(values, NOW[word])
    np.testing.assert_allclose(flat(slopes), expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (("E", "G", "J", "damping_ratio", "alpha", "beta"), {}),
        (("density", "A", "Iy", "Iz", "damping_ratio"), {"rotary": False}),
        (("E", "density"), {"kind": "finite-element"}),
    ],
)
def test_simulations_have_derivatives_by_stiffness_and_damping(words, options):
    robot = arm(**options)
    q, v, _ = state(robot)
    solver = robot.compile_simulation_derivatives(2e-3, [f"rod.{word}" for word in words], **RUN)
    found = solver(q, v)

    for k, word in enumerate(words):
        run = robot.simulate(2e-3, q=q, v=v, parameters={f"rod.{word}": places(NOW[word])}, **RUN)
        slopes = np.concatenate([found.d_q[-1, :, k], found.d_v[-1, :, k]])
        values = np.concatenate([run.q[:, -1], run.v[:, -1]], axis=1)
        rounding = 1e-12 * np.abs(values).max() / (CHANGE * NOW[word])
        np.testing.assert_allclose(slopes, difference(values, NOW[word]), rtol=0.0, atol=rounding)
    other = {word: 1.3 * NOW[word] for word in words}
    named = {f"rod.{word}": value for word, value in other.items()}
    varied = robot.simulate(2e-3, q=q, v=v, parameters=named, **RUN)
    anew = arm(**options, **other).simulate(2e-3, q=q, v=v, **RUN)
    np.testing.assert_allclose(varied.v[-1], anew.v[-1], atol=1e-9)


def read_arm(frequency=12.0, coupled=0.0, ratio=0.02):
    basis = mbd.flexible.ModalBasis(
        nodes=[[0, 0, 0], [0.5, 0, 0], [1, 0, 0]],
        masses=[0.2, 0.4, 0.2],
        displacement=[
            [[0, 0, 0], [0, 0.34, 0], [0, 1, 0]],
            [[0, 0, 0], [0, 0, 0.34], [0, coupled, 1]],
        ],
        rotation=[
            [[0, 0, 0], [0, 0, 1.16], [0, 0, 1.38]],
            [[0, 0, 0], [0, -1.16, 0], [0, -1.38, 0]],
        ],
        stiffness=[frequency, 20.0],
        numbers=[1, 2, 3],
    )
    parts = mbd.Builder("arm").joint("hinge", "revolute", "base", "arm", axis=(0, 0, 1))
    damping = mbd.flexible.Damping(ratio, 0.1)
    parts.flexible(mbd.flexible.FlexibleLink("arm", basis, damping=damping))
    return mbd.Mechanism.build(parts, gravity=(0, -9.81, 0))


def test_a_modal_basis_has_frequencies_and_damping():
    robot = read_arm()
    q, v, _ = state(robot)
    by = ["arm.mode1.frequency", "arm.damping_ratio"]
    solver = robot.compile_simulation_derivatives(0.02, by, step=1e-3)
    found = solver(q, v)
    np.testing.assert_allclose(solver.columns[0].value, 12.0, rtol=1e-12)

    for k, (word, name, now) in enumerate([("frequency", by[0], 12.0), ("ratio", by[1], 0.02)]):
        run = robot.simulate(0.02, q=q, v=v, step=1e-3, parameters={name: places(now)})
        values = np.concatenate([run.q[:, -1], run.v[:, -1]], axis=1)
        slopes = np.concatenate([found.d_q[-1, :, k], found.d_v[-1, :, k]])
        expected = difference(values, now)
        np.testing.assert_allclose(slopes, expected, atol=1e-9 * np.abs(expected).max())
        anew = read_arm(**{word: places(now)[-1]}).simulate(0.02, q=q, v=v, step=1e-3)
        np.testing.assert_allclose(run.v[-1, -1], anew.v[-1], atol=1e-12)


@pytest.mark.parametrize(
    ("robot", "name", "message"),
    [
        (arm, "rod.Iz", "with the rotary inertia"),
        (arm, "rod.mode1.frequency", "follow from its numbers"),
        (arm, "rod.mass", r"vary rod\.density or rod\.A"),
        (arm, "bob.E", "no flexible link named 'bob'. Available: rod"),
        (read_arm, "arm.E", "a modal basis has no E"),
        (read_arm, "arm.mode3.frequency", r"no mode3\.frequency"),
        (lambda: read_arm(coupled=0.05), "arm.mode1.frequency", "couple"),
    ],
)
def test_numbers_that_shapes_depend_on_are_refused(robot, name, message):
    with pytest.raises(ModelError, match=message):
        robot().compile_derivatives(["hinge"], name)


def test_values_that_no_beam_has_are_refused():
    with pytest.raises(ModelError, match=r"rod.E.*a number above 0, got 0"):
        arm().simulate(2e-3, parameters={"rod.E": 0.0}, **RUN)
    with pytest.raises(ModelError, match="the frequencies of the modes overflow"):
        arm().simulate(2e-3, parameters={"rod.density": 1e-300}, **RUN)
