"""Claims: numbers of a motion, such as its damage, change by its knots as differences say."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.applications.durability import equivalent_range, rainflow, spectrum
from mbd_bridge.applications.durability.cycles import cycle_places
from mbd_bridge.base.errors import StateError
from mbd_bridge.loads.derivatives import KnotMotion, smallest_peak
from tests.robots import OWN

ARM, MOTION = OWN / "kuka_iiwa.urdf", OWN / "kuka_iiwa_motion.csv"
OF = "lbr_iiwa_joint_4.mx"


def test_cycles_have_their_places_in_the_signal():
    rng = np.random.default_rng(0)
    for count in (1, 2, 3, 50, 400):
        values = np.repeat(rng.integers(-9, 9, count), 2).astype(float)
        places, counts = cycle_places(values)
        found = rainflow(values)
        ranges = np.abs(values[places[:, 1]] - values[places[:, 0]])
        np.testing.assert_array_equal(np.sort(ranges), np.sort(found.ranges))
        assert counts.sum() == found.counts.sum()
        assert len(np.unique(places[counts == 1.0])) == 2 * (counts == 1.0).sum()
    assert len(cycle_places(np.zeros(0))[0]) == 0


@pytest.mark.parametrize("m", [1.0, 3.0, 10.0])
def test_the_equivalent_range_and_its_slopes(m):
    rng = np.random.default_rng(1)
    values, way = rng.normal(size=(2, 300))
    found = equivalent_range(values, m, cycles=20.0)
    whole = spectrum(values, 20.0, exponents=[m])
    np.testing.assert_allclose(found.value, whole.damage_equivalent(m), rtol=1e-13)
    h = 1e-6
    ahead, behind = (equivalent_range(values + s * way, m, 20.0).value for s in (h, -h))
    np.testing.assert_allclose(found.slopes @ way, (ahead - behind) / (2.0 * h), rtol=1e-7)
    assert not equivalent_range(np.ones(9), m).slopes.any()
    with pytest.raises(StateError, match="1 or more"):
        equivalent_range(values, 0.5)


def test_damage_peak_and_rms_change_by_knots_and_masses_as_differences_say():
    robot = mbd.load(ARM)
    mass = "lbr_iiwa_link_6.mass"
    load = robot.compile_derivatives([OF.rpartition(".")[0]], ["q", "v", "a", mass]).gradient(OF)
    path = KnotMotion.spline(np.linspace(0, 2, 6), np.linspace(0, 2, 101), rest=True)
    rng = np.random.default_rng(2)
    knots, way = rng.normal(size=(2, 6, 7))

    def numbers(step):
        """Return three numbers of the motion, and their derivatives along the direction."""
        p = {mass: 1.8 + 0.3 * step}
        found = load(*path(knots + step * way), parameters=p)
        x, rows = found.value, []
        rms, top = np.sqrt((x * x).mean()), np.abs(x).argmax()
        peak = np.sign(x) * (np.arange(len(x)) == top)
        weights = peak, x / (len(x) * rms), equivalent_range(x, 5.0).slopes
        for own in weights:
            by_knots = path.gradient(found.columns, own[:, None] * found.gradient)
            rows.append((by_knots * way).sum() + 0.3 * own @ found.gradient[:, -1])
        return np.array([np.abs(x).max(), rms, equivalent_range(x, 5.0).value]), np.array(rows)

    h = 1e-5
    expected = (numbers(h)[0] - numbers(-h)[0]) / (2.0 * h)
    np.testing.assert_allclose(numbers(0.0)[1], expected, rtol=1e-6)


def test_a_recorded_motion_is_the_spline_through_its_positions():
    robot = mbd.load(ARM)
    motion = robot.read_motion(MOTION)
    states = KnotMotion.spline(motion.time, motion.time)(motion.q)
    np.testing.assert_allclose(states.v, motion.v, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(states.a, motion.a, rtol=1e-7, atol=1e-6)


def test_a_motion_at_rest_begins_and_ends_still():
    path = KnotMotion.spline([0.0, 2.0], np.linspace(0.0, 2.0, 9), rest=True)
    s = path.time / 2.0
    states = path([[1.0], [4.0]])
    np.testing.assert_allclose(states.q[:, 0], 1.0 + 3.0 * (10 * s**3 - 15 * s**4 + 6 * s**5))
    np.testing.assert_allclose([states.v[0], states.v[-1], states.a[0]], 0.0, atol=1e-12)


def test_knots_that_do_not_fit_are_refused():
    robot = mbd.load(ARM)
    columns = robot.compile_derivatives(["lbr_iiwa_joint_4"], ["q", "v"]).columns
    path = KnotMotion.spline(np.arange(5.0), np.arange(9.0) / 2.0)
    for call, said in (
        (lambda: path(np.zeros((4, 7))), r"expected \(5, n\)"),
        (
            lambda: path.gradient(columns, np.zeros((9, 14))),
            "as many by q, by v and by a, got 7, 7, 0",
        ),
        (lambda: path.gradient(3 * columns[:7], np.zeros((9, 21))), "got 21, 0, 0"),
        (lambda: KnotMotion.spline([0.0, 1.0], [0.0]), "4 or more increasing times"),
        (
            lambda: KnotMotion.spline([0.0, 0.0, 1.0], [0.0], rest=True),
            "2 or more increasing times",
        ),
    ):
        with pytest.raises(StateError, match=said):
            call()


def test_the_smallest_peak_is_where_two_loads_tie():
    centre = np.array([1.0, -2.0, 0.5])

    def rows(x):  # |x0 - c| of three: least at 1.5, half way between the outer ones
        return x[0] - centre, np.ones((3, 1))

    best = smallest_peak(rows, [3.0], [(-5.0, 5.0)])
    np.testing.assert_allclose([best.x[0], best.fun], [-0.5, 1.5], atol=1e-7)
    np.testing.assert_allclose(smallest_peak(rows, [0.3], [(0.0, 5.0)]).x, [0.0], atol=1e-9)


def test_the_smallest_peak_does_not_depend_on_units():
    rng = np.random.default_rng(3)
    A, b = rng.normal(size=(40, 2)), rng.normal(size=40)

    def found(unit, size):
        bounds = [(-9.0 * unit, 9.0 * unit)] * 2
        best = smallest_peak(
            lambda x: (size * (A @ x / unit - b), size * A / unit), [unit, 0], bounds
        )
        return best.x / unit, best.fun / size

    np.testing.assert_allclose(found(1e-4, 1e5)[0], found(1.0, 1.0)[0], atol=1e-6)
    np.testing.assert_allclose(found(1e-4, 1e5)[1], found(1.0, 1.0)[1], rtol=1e-7)


def test_loads_that_do_not_fit_their_numbers_are_refused():
    for bounds in ([(0.0, 1.0)], [(0.0, 1.0), (1.0, 1.0)]):
        with pytest.raises(StateError, match=r"\(least, largest\) for each of 2 numbers"):
            smallest_peak(lambda x: (x, np.eye(2)), [0.0, 0.5], bounds)
    with pytest.raises(StateError, match=r"slopes \(N, 1\), got \(3,\) and \(3, 2\)"):
        smallest_peak(lambda x: (np.zeros(3), np.zeros((3, 2))), [0.5], [(0.0, 1.0)])
