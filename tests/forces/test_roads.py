"""Roads: heights and slopes agree, machine code and floats agree, bad numbers are refused."""

from itertools import pairwise

import numpy as np
import pytest

from mbd_bridge.errors import MbdError
from mbd_bridge.forces.roads import (
    Bump,
    Flat,
    MovingRoad,
    Profile,
    Ramp,
    RandomRoad,
    Road,
    Sine,
    TwoTracks,
    enveloped,
)
from mbd_bridge.functions import Table
from mbd_bridge.kernels import compile_kernel
from tests.tolerances import DIFFERENCE, KERNEL

X = np.linspace(0.0, 3.0, 101) + 1e-3
PLACES = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5])
HEIGHTS = np.array([0.0, 0.03, -0.02, 0.05, 0.04, 0.01])

ROADS = {
    "flat": Flat(0.2),
    "ellipse": Bump(1.5, 1.0, 0.1),
    "arc": Bump(1.5, 1.0, 0.1, "arc"),
    "pothole": Bump(1.5, 1.0, -0.1, "arc"),
    "sine bump": Bump(1.5, 1.0, 0.1, "sine"),
    "versine": Bump(1.5, 1.0, 0.1, "versine"),
    "ramp": Ramp(1.0, 0.5, 0.2),
    "step": Ramp(1.0, 0.05, 0.1, smooth=True),
    "waves": Sine(0.02, 0.7, 0.1),
    "lines": Profile(PLACES, HEIGHTS),
    "spline": Profile(PLACES, HEIGHTS, "cubic"),
    "random": RandomRoad("E", seed=4, length=20.0, coherence="isotropic"),
    "tracks": TwoTracks(Sine(0.02, 0.7), Bump(1.5, 1.0, 0.1, "sine")),
    "sum": Sine(0.02, 0.7) + Ramp(1.0, 0.5, 0.2),
    "belt": MovingRoad(Sine(0.02, 0.7), (-3.0, 0.5)),
    "enveloped": enveloped(Bump(1.5, 1.0, 0.1), 0.3, 0.0, 3.0, 0.02),
}
EACH = pytest.mark.parametrize("name", ROADS)


@EACH
@pytest.mark.parametrize("y", [0.8, -0.8])
def test_slopes_are_those_of_the_height_by_differences(name, y):
    road, step = ROADS[name], 1e-6
    found = road.surface(X, y, 0.1)
    for slope, (dx, dy) in ((found.slope_x, (step, 0.0)), (found.slope_y, (0.0, step))):
        rise = np.subtract(road(X + dx, y + dy, 0.1), road(X - dx, y - dy, 0.1)) / (2 * step)
        assert np.abs(rise - slope).max() < DIFFERENCE


def test_machine_code_of_all_roads_has_the_heights_and_slopes_of_the_reference():
    def all_of_them(p):
        out = np.empty((len(ROADS), 3), dtype=object)
        for k, road in enumerate(ROADS.values()):
            out[k] = [0.0 * p[0] + part for part in road.surface(p[0], p[1], p[2])]
        return (out,)

    states = np.column_stack([X - 0.5, np.where(X > 1.7, 1.0, -1.0), 0.1 * X])
    (found,) = compile_kernel(all_of_them, {"p": 3})(states)
    for k, road in enumerate(ROADS.values()):
        for part, column in zip(road.surface(*states.T), found[:, k].T, strict=True):
            assert np.abs(part - column).max() <= KERNEL


@EACH
def test_a_road_is_told_from_others_by_its_numbers(name):
    road = ROADS[name]
    others = [other.digest for key, other in ROADS.items() if key != name]
    assert road.digest not in others
    assert isinstance(road, Road) and road + road != road and {road: 1}[road] == 1


def test_the_derivative_of_a_table_that_holds_is_zero_outside():
    slope = Table(PLACES, HEIGHTS, "cubic").derivative()
    assert np.all(slope(np.array([-7.0, -0.1, 2.6, 9.0])) == 0.0)
    line = Table(PLACES, HEIGHTS, outside="extend").derivative()
    assert abs(line(-7.0) - 0.06) < 1e-15


def test_a_random_road_has_the_variance_and_the_slope_of_its_class():
    road = RandomRoad("C", seed=3, length=1000.0, coherence=0.5)
    first, last = 2 * np.pi / 20.0, 2 * np.pi / 0.3
    x = np.linspace(0.0, 1000.0, 50_000, endpoint=False)
    omega = 2 * np.pi * np.fft.rfftfreq(len(x), x[1])
    bands = np.geomspace(0.5, 15.0, 13)
    for track in (road.tracks.left, road.tracks.right):
        z = track(x)
        assert abs(z.var() / (16e-6 * (1 / first - 1 / last)) - 1) < 1e-4  # the spline's share
        power = 2 * np.abs(np.fft.rfft(z) / len(x)) ** 2 * (1000.0 / (2 * np.pi))
        mean = [power[(omega > a) & (omega < b)].mean() for a, b in pairwise(bands)]
        exact = 16e-6 / (bands[:-1] * bands[1:])
        assert np.abs(mean / exact - 1).max() < 0.02  # bands begin and end between waves
        slope = np.polyfit(np.log(bands[1:] * bands[:-1]) / 2, np.log(mean), 1)[0]
        assert abs(slope + 2) < 0.01


def spectra(road, x):
    left, right = (np.fft.rfft(track(x)) for track in (road.tracks.left, road.tracks.right))
    return 2 * np.pi * np.fft.rfftfreq(len(x), x[1]), left, right


@pytest.mark.parametrize("coherence", [0.0, 0.5, 1.0])
def test_the_tracks_of_a_random_road_have_the_coherence_that_is_stated(coherence):
    road = RandomRoad("D", seed=5, length=2000.0, coherence=coherence)
    omega, left, right = spectra(road, np.linspace(0.0, 2000.0, 40_000, endpoint=False))
    some = (omega > 0.5) & (omega < 10.0)  # 3,000 waves: a mean is good to 1/√3000
    cross = (left * right.conj())[some] / np.abs(left[some]) ** 2
    assert abs(np.abs(cross.mean()) ** 2 - coherence) < 0.04


def test_an_isotropic_road_has_tracks_alike_in_long_waves_only():
    road = RandomRoad("D", seed=5, length=5000.0, coherence="isotropic", track=1.2)
    omega, left, right = spectra(road, np.linspace(0.0, 5000.0, 100_000, endpoint=False))
    share = (left * right.conj()).real / np.maximum(np.abs(left) ** 2, 1e-300)
    alone = share[(omega > 5.0) & (omega < 10.0)]
    assert abs(alone.mean()) < 0.03
    from scipy.special import k1

    some = (omega > 0.4) & (omega < 0.6)
    exact = 1.2 * omega[some] * k1(1.2 * omega[some])
    assert abs(share[some].mean() - exact.mean()) < 0.06


def test_a_random_road_is_that_of_its_seed():
    one, same, other = (RandomRoad("B", seed=k, length=30.0) for k in (1, 1, 2))
    assert np.all(one(X, 1.0) == same(X, 1.0)) and one.digest == same.digest
    assert np.abs(one(X, 1.0) - other(X, 1.0)).max() > 1e-3 and one.digest != other.digest
    assert np.abs(one(X, 1.0) - one(X, -1.0)).max() > 1e-3


def test_an_enveloped_half_circle_is_a_circle_of_the_sum_of_the_radii():
    r, bump = 0.3, 0.2
    road = enveloped(Bump(0.0, 2 * bump, bump), r, -1.0, 1.0, 1e-3)
    reach = np.sqrt((r + bump) ** 2 - r**2)  # there the disc leaves the ground
    x = np.linspace(-1.0, 1.0, 401)
    exact = np.where(np.abs(x) < reach, np.sqrt(np.maximum((r + bump) ** 2 - x**2, 0)) - r, 0.0)
    assert np.abs(road(x) - exact).max() < 1e-5  # places 1 mm apart


BAD = {
    "nan": (lambda: Profile([0.0, 1.0, 2.0], [0.0, np.nan, 0.0]), "Profile: z: "),
    "not increasing": (lambda: Profile([0.0, 2.0, 1.0], [0.0, 1.0, 0.0]), "increase"),
    "other sizes": (lambda: Profile([0.0, 1.0], [0.0]), "as many values as places"),
    "length": (lambda: Bump(0.0, -1.0, 0.1), "Bump: length: expected a number above 0, m, got -1"),
    "shape": (lambda: Bump(0.0, 1.0, 0.1, "box"), "shape='box' is not known; use one of ellipse"),
    "too high an arc": (lambda: Bump(0.0, 1.0, 0.6, "arc"), "at most half as high"),
    "class": (lambda: RandomRoad("Z"), "roughness='Z' is not known; use one of A, B"),
    "roughness": (lambda: RandomRoad(-1.0), "roughness: expected a number above 0, m³"),
    "seed": (lambda: RandomRoad("A", seed=-1), "seed: expected a whole number from 0"),
    "coherence": (lambda: RandomRoad("A", coherence=2.0), "expected 0 ... 1, got 2"),
    "waves": (lambda: RandomRoad("A", wavelengths=(3.0, 1.0)), "expected shortest, longest"),
    "too long": (lambda: RandomRoad("A", length=1e9), "length: expected at most"),
    "no road": (lambda: TwoTracks(Flat(), 3.0), "expected two roads, got 3.0"),
    "a belt on a road": (lambda: MovingRoad(Flat(), (1, 0)) + Flat(), "move alike"),
    "a belt on a belt": (lambda: MovingRoad(MovingRoad(Flat(), (1, 0)), (1, 0)), "that stays"),
    "an envelope across": (lambda: enveloped(RandomRoad("A"), 0.3, 0, 1), "same at any y"),
    "an endless envelope": (lambda: enveloped(Flat(), 0.3, 0, 1e9), "wider spacing"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_wrong_road_is_refused(what):
    make, said = BAD[what]
    with pytest.raises(MbdError, match=said):
        make()
