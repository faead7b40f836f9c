"""A tyre of tables: against SciPy's interpolation, against the tyre that filled its table."""

import numpy as np
import pytest
from scipy.interpolate import RegularGridInterpolator

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError
from mbd_bridge.forces import PacejkaTyre, TableTyre
from mbd_bridge.forces.tyres.magic_formula import TyreSlip
from tests.forces.elements import bound
from tests.forces.wheels import CAR_TYRE, RADIUS, RIG, STIFFNESS, free_wheel, rig


def tyre(table=RIG, **options):
    return TableTyre("wheel", RADIUS, STIFFNESS, table, name="tyre", **options)


def test_between_its_places_forces_are_scipys_and_beyond_them_they_stay():
    found = bound(free_wheel(), tyre())
    sides = [np.unique(RIG[name]) for name in ("slip", "angle", "load")]
    loads = np.append(0.0, sides[2])
    rng = np.random.default_rng(4)
    at = rng.uniform([-0.8, -0.6, -50.0], [0.9, 0.7, 12e3], (200, 3))
    held = np.clip(at, [sides[0][0], sides[1][0], 0.0], [sides[0][-1], sides[1][-1], loads[-1]])
    forces = np.transpose([found.slip_forces(*place)[:3] for place in at])
    for name, own in zip(("longitudinal", "lateral", "aligning"), forces, strict=True):
        values = RIG[name].reshape([len(side) for side in sides])
        values = np.concatenate([np.zeros((*values.shape[:2], 1)), values], axis=2)
        expected = RegularGridInterpolator((sides[0], sides[1], loads), values)(held)
        assert np.abs(own - expected).max() < 1e-12 * np.abs(expected).max(), name


def test_rows_may_stand_in_any_order_and_no_load_may_be_among_them():
    zero = rig(*(np.unique(RIG[k]) for k in ("slip", "angle")), [0.0, 2e3, 3e3, 9e3])
    order = np.random.default_rng(0).permutation(len(zero["slip"]))
    other = {name: column[order] for name, column in zero.items()}
    one, two = (bound(free_wheel(), tyre(table)) for table in (RIG, other))
    assert np.allclose(one.slip_forces(0.03, 0.2, 1e3)[:3], two.slip_forces(0.03, 0.2, 1e3)[:3])


def test_a_table_of_the_magic_formula_tends_to_it():
    """The error of straight lines falls with the square of their length."""
    magic = PacejkaTyre("wheel", CAR_TYRE, use_mode=4).bind(free_wheel().model).tyre.formula

    def forces(kappa, alpha, load):
        slip = TyreSlip(kappa, alpha, 0.0, load)
        found = magic.forces(slip, along=True, across=True, combined=True)
        return np.array([found.x, found.y, found.aligning])

    errors = []
    for count in (9, 17):
        sides = np.linspace(-0.2, 0.2, count), np.linspace(-0.15, 0.15, count), [3e3, 4e3, 5e3]
        places = np.stack(np.meshgrid(*sides, indexing="ij"), -1).reshape(-1, 3)
        values = np.array([forces(*place) for place in places])
        names = "slip", "angle", "load", "longitudinal", "lateral", "aligning"
        columns = np.hstack([places, values]).T
        own = bound(free_wheel(), tyre(dict(zip(names, columns, strict=True))))
        rng = np.random.default_rng(1)
        tries = rng.uniform([-0.2, -0.15, 3e3], [0.2, 0.15, 5e3], (100, 3))
        away = [np.subtract(own.slip_forces(*at)[:3], forces(*at)) for at in tries]
        errors.append(np.sqrt(np.mean(np.square(away), axis=0)))
        at = places[len(places) // 3]
        assert np.allclose(own.slip_forces(*at)[:3], forces(*at), rtol=1e-12)
    assert (errors[1] < 0.4 * errors[0]).all() and errors[1][0] < 100.0


def test_a_file_of_columns_is_read_in_its_units_and_written(tmp_path):
    lines = ["aligning [N m],slip,angle [deg],load [kN],longitudinal [N],lateral [N]"]
    order = "aligning", "slip", "angle", "load", "longitudinal", "lateral"
    scaled = RIG | {"angle": np.degrees(RIG["angle"]), "load": RIG["load"] / 1e3}
    lines += [
        ",".join(map(repr, map(float, row))) for row in zip(*map(scaled.get, order), strict=True)
    ]
    (tmp_path / "rig.csv").write_text("\n".join(lines))
    path = tmp_path / "wheel.forces.yaml"
    path.write_text(
        "units: SI\nforces:\n  - {name: tyre, type: TableTyre, wheel: wheel, radius: 0.3,"
        " stiffness: 150000, table: rig.csv}\n"
    )
    (read,) = mbd.forces.load_forces(path, free_wheel())
    own = bound(free_wheel(), tyre())
    assert np.allclose(read.slip_forces(0.05, 0.1, 4e3), own.slip_forces(0.05, 0.1, 4e3))
    mbd.forces.save_forces(tmp_path / "again.forces.yaml", [read])
    (again,) = mbd.forces.load_forces(tmp_path / "again.forces.yaml", free_wheel())
    assert again.identity == read.identity != own.identity


def without(name):
    return {key: column for key, column in RIG.items() if key != name}


BAD = {
    "no column": (without("lateral"), "table: no column named 'lateral'"),
    "another": (RIG | {"camber": RIG["slip"]}, "table: no column named 'camber'"),
    "lengths": (RIG | {"slip": RIG["slip"][1:]}, "columns of one length"),
    "a hole": ({k: x[1:] for k, x in RIG.items()}, "one row for each of 5 x 4 x 3.*got 59 rows"),
    "twice": ({k: x[[0, 0, *range(2, 60)]] for k, x in RIG.items()}, "60 rows at 59 places"),
    "no slips": (rig([0.1], [0.0, 0.1], [1e3]), "two slips and two angles or more.*got 1 slips"),
    "below zero": (RIG | {"load": RIG["load"] - 3e3}, "loads from -1000 to 6000 N"),
    "from no load": (RIG | {"load": RIG["load"] - 2e3}, "no force at load 0"),
    "empty": ({name: [] for name in RIG}, "got 0 slips, 0 angles and no loads"),
    "nan": (RIG | {"slip": np.nan * RIG["slip"]}, "slip: expected finite numbers"),
    "no file": ("nothing.csv", "nothing.csv"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_wrong_table_is_refused(what):
    table, said = BAD[what]
    with pytest.raises(MbdError, match=said):
        mbd.System(free_wheel(), forces=[tyre(table)])
