"""Roads: heights and slopes agree, machine code and floats agree, bad numbers are refused."""

from itertools import pairwise

import numpy as np
import pytest

from mbd_bridge.base.errors import MbdError
from mbd_bridge.forces.roads import (
    Bump,
    Flat,
    Grid,
    MovingRoad,
    Profile,
    RandomRoad,
    Road,
    TwoTracks,
    enveloped,
)
from mbd_bridge.functions import Lookup
from mbd_bridge.kernels import compile_kernel
from tests.forces.roads import GRID_X, GRID_Y, GRID_Z, HEIGHTS, PLACES, ROADS
from tests.tolerances import DIFFERENCE, KERNEL

X = np.linspace(0.0, 3.0, 101) + 1e-3

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
    slope = Lookup(PLACES, HEIGHTS, "cubic").derivative()
    assert np.all(slope(np.array([-7.0, -0.1, 2.6, 9.0])) == 0.0)
    line = Lookup(PLACES, HEIGHTS, outside="extend").derivative()
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


def test_a_grid_has_its_heights_and_lies_between_them():
    for kind in ("linear", "cubic"):
        road = Grid(GRID_X, GRID_Y, GRID_Z, kind)
        assert np.abs(road(GRID_X[:, None], GRID_Y) - GRID_Z).max() < 1e-14
        half = road(GRID_X, 0.5 * (GRID_Y[1] + GRID_Y[2]))
        assert np.abs(half - 0.5 * (GRID_Z[:, 1] + GRID_Z[:, 2])).max() < 1e-14
        assert np.abs(road(np.array([-9.0, 9.0]), 9.0) - GRID_Z[[0, -1], -1]).max() < 1e-14
        assert np.all(np.array(road.surface(9.0, -9.0)[1:]) == 0.0)


@pytest.mark.parametrize("heading", [0.0, 0.4])
def test_an_open_crg_file_is_the_road_that_it_describes(tmp_path, heading):
    import pyopencrg

    u, v = np.arange(0, 10.01, 0.1), np.arange(-1, 1.01, 0.1)
    z = 0.05 * np.sin(u[:, None]) + 0.02 * v**2
    file = pyopencrg.CrgRoad(z, u_inc=0.1, v=v, heading=heading)
    file.mods = {}
    path = tmp_path / "road.crg"
    file.save(path)
    middle = 3.0 * np.tan(heading)
    road = Grid.from_crg(path, spacing=0.02, x=(2.5, 3.5), y=(middle - 0.3, middle + 0.3))
    for x, y in ((2.9, middle), (3.4, middle + 0.2)):
        along = np.cos(heading) * x + np.sin(heading) * y
        aside = np.cos(heading) * y - np.sin(heading) * x
        assert abs(road(x, y) - 0.05 * np.sin(along) - 0.02 * aside**2) < 2e-4
    with pytest.raises(MbdError, match=r"no height at \d+ of \d+ places; give x= and y= inside"):
        Grid.from_crg(path, spacing=0.1, x=(-5.0, 4.0), y=(-0.3, 0.3))


def test_what_is_no_open_crg_file_is_refused(tmp_path):
    path = tmp_path / "no.crg"
    for text in (
        b"",
        b"$CT\nhello",
        b"\0" * 5000,
        b"$ROAD_CRG\nREFERENCE_LINE_INCREMENT = 0.01\n$",
    ):
        path.write_bytes(text)
        with pytest.raises(MbdError, match=r"no.crg: cannot be read as an OpenCRG file"):
            Grid.from_crg(path)
    with pytest.raises(MbdError, match="there is no such file"):
        Grid.from_crg(tmp_path / "nowhere.crg")


BAD = {
    "uneven grid": (lambda: Grid([0, 1, 3], [0, 1], np.zeros((3, 2))), "x: expected evenly spaced"),
    "grid of one row": (lambda: Grid([0, 1, 2], [0], np.zeros((3, 1))), "y: expected two places"),
    "grid of nan": (lambda: Grid([0, 1], [0, 1], np.full((2, 2), np.nan)), "Grid: z: "),
    "grid's shape": (lambda: Grid([0, 1], [0, 1], np.zeros((2, 3))), r"expected \(2, 2\)"),
    "grid's kind": (lambda: Grid([0, 1], [0, 1], np.zeros((2, 2)), "step"), "kind='step'"),
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
