"""The Magic Formula against another program, its identities, and tyres of files."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError
from mbd_bridge.files.tir import read_tir
from mbd_bridge.forces import PacejkaTyre
from mbd_bridge.forces.tyres.magic_formula import (
    MagicFormula,
    TyreCoefficients,
    TyreSlip,
    magic_tyre,
)
from tests.forces.elements import bound
from tests.forces.wheels import CAR_TYRE, free_wheel
from tests.oracles.magic_formula import PLAIN, SCALED, SCALES

FILE = read_tir(CAR_TYRE)
TYRE = magic_tyre(FILE)
TEN_DIGITS = 2e-9
"""The published values are rounded to ten digits."""


def forces(formula, load, kappa, alpha, gamma=0.0, combined=True):
    return formula.forces(
        TyreSlip(kappa, alpha, gamma, load), along=True, across=True, combined=combined
    )


@pytest.mark.parametrize("scales", [{}, SCALES], ids=["plain", "scaled"])
def test_the_magic_formula_has_the_values_of_another_program(scales):
    formula = magic_tyre(FILE, changes=scales).formula
    for load, kappa, alpha, gamma, *exact in SCALED if scales else PLAIN:
        pure = forces(formula, load, kappa, alpha, gamma, combined=False)
        both = forces(formula, load, kappa, alpha, gamma)
        found = pure.x, pure.y, pure.aligning, both.x, both.y
        assert np.abs(np.array(found) / exact - 1).max() < TEN_DIGITS


def without_shifts():
    shifts = ("PHX", "PVX", "PHY", "PVY", "RHX", "RHY", "QHZ", "RVY", "SSZ", "QDZ3", "QDZ6", "QDZ7")
    names = [key for section in FILE.sections.values() for key in section]
    more = {"PEX4": 0.0, "PEY3": 0.0, "QEZ4": 0.0, "RBY3": 0.0}
    zero = {name: 0.0 for name in names if name.startswith(shifts)}
    return magic_tyre(FILE, changes=zero | more).formula


def test_without_shifts_the_formula_is_symmetric():
    formula = without_shifts()
    for load, kappa, alpha in ((3000, 0.08, 0.05), (6000, 0.3, -0.2)):
        one, other = forces(formula, load, kappa, alpha), forces(formula, load, kappa, -alpha)
        assert abs(one.x - other.x) < 1e-9 and abs(one.y + other.y) < 1e-9
        assert abs(one.aligning + other.aligning) < 1e-9
        back = forces(formula, load, -kappa, alpha)
        assert abs(one.x + back.x) < 1e-9 and abs(one.y - back.y) < 1e-9


def test_slopes_at_no_slip_are_the_stiffnesses_of_the_coefficients():
    formula, c, load, step = without_shifts(), TYRE.formula.c, 4850.0, 1e-6
    along = forces(formula, load, step, 0.0).x / step
    across = forces(formula, load, 0.0, step).y / step
    assert abs(along / (load * c.PKX1) - 1) < 1e-5
    exact = c.PKY1 * load * np.sin(2 * np.arctan(1 / c.PKY2))
    assert abs(across / exact - 1) < 1e-5
    trail = -forces(formula, load, 0.0, step).aligning / (across * step)
    assert abs(trail / (c.QDZ1 * formula.radius) - 1) < 1e-5


def test_peaks_are_the_coefficients_of_friction_and_combined_slip_stays_in_an_ellipse():
    formula, c, load = without_shifts(), TYRE.formula.c, 4850.0
    slips = np.linspace(0.0, 1.0, 4001)
    assert abs(forces(formula, load, slips, 0.0).x.max() / (c.PDX1 * load) - 1) < 1e-6
    assert abs(forces(formula, load, 0.0, slips).y.min() / (-c.PDY1 * load) - 1) < 1e-6
    kappa, alpha = np.meshgrid(np.linspace(-1, 1, 81), np.linspace(-0.8, 0.8, 81))
    both = forces(formula, load, kappa, alpha)
    assert (
        np.hypot(both.x / (c.PDX1 * load), both.y / (c.PDY1 * load)).max() < 1.05
    )  # weights are fits


def test_no_load_is_no_force_and_nothing_is_nan():
    tyre = bound(free_wheel(floating=False), PacejkaTyre("wheel", CAR_TYRE))
    rng = np.random.default_rng(4)
    model = free_wheel(floating=False).model
    for _ in range(200):
        q, v = rng.normal(size=6) * [1, 1, 0.2, 3, 1, 9], rng.normal(size=6) * 10
        q[2] += 0.5
        does = tyre.effect(model, 0.0, q, v, rng.normal(size=2))
        numbers = [*does.report.values(), *does.rates, does.energy, does.dissipation]
        assert np.isfinite(numbers).all()
        if does.report["deflection"] == 0.0:
            assert all(does.report[name] == 0.0 for name in does.report if "force" in name)


def rolling(kappa=0.0, sideways=0.0, height=0.32, speed=20.0, **options):
    robot = free_wheel(floating=False)
    tyre = bound(robot, PacejkaTyre("wheel", CAR_TYRE, **({"use_mode": 4} | options)))
    low, peak, high = tyre.tyre.rolling
    at_nominal = 4850.0 / 210e3
    part = (tyre.tyre.formula.radius - height) / at_nominal
    radius = tyre.tyre.formula.radius - at_nominal * (peak * np.arctan(low * part) + high * part)
    rate = speed * (1.0 + kappa) / radius
    q, v = np.array([0, 0, height, 0, 0, 0.0]), np.array([speed, sideways, 0, 0, 0, rate])
    return tyre, tyre.effect(robot.model, 0.0, q, v, np.zeros(2)[: len(tyre.states(robot.model))])


def test_a_wheel_has_the_forces_of_the_formula_at_the_effective_rolling_radius():
    tyre, does = rolling(0.04, 1.5)
    report, load = does.report, 210e3 * (0.344 - 0.32)
    exact = forces(tyre.tyre.formula, load, 0.04, np.arctan(1.5 / 20))
    assert abs(report["normal_force"] - load) < 1e-8
    assert abs(report["slip_ratio"] - 0.04) < 1e-12
    for name, value in (
        ("longitudinal_force", exact.x),
        ("lateral_force", exact.y),
        ("aligning_moment", exact.aligning),
        ("overturning_moment", exact.overturning),
    ):
        assert abs(report[name] - value) < 1e-8
    c, way = tyre.tyre.formula.c, tyre.tyre.formula.radius * spin(0.04) / 16.7
    part = c.QSY1 + c.QSY2 * exact.x / 4850 + c.QSY3 * way + c.QSY4 * way**4
    assert abs(report["rolling_moment"] + load * 0.344 * part) < 1e-8


def spin(kappa):
    at_nominal = 4850.0 / 210e3
    part = 0.024 / at_nominal
    return 20.0 * (1 + kappa) / (0.344 - at_nominal * (0.27 * np.arctan(8.4 * part) + 0.07 * part))


def test_modes_choose_what_is_computed():
    reports = {mode: rolling(0.05, 1.0, use_mode=mode)[1].report for mode in (0, 1, 2, 3, 4)}
    for mode, (x, y) in {0: (0, 0), 1: (1, 0), 2: (0, 1), 3: (1, 1), 4: (1, 1)}.items():
        assert (reports[mode]["longitudinal_force"] != 0.0) == bool(x)
        assert (reports[mode]["lateral_force"] != 0.0) == bool(y)
    assert reports[3]["longitudinal_force"] == reports[1]["longitudinal_force"]
    assert reports[3]["lateral_force"] == reports[2]["lateral_force"]
    assert abs(reports[4]["lateral_force"]) < abs(reports[3]["lateral_force"])


@pytest.mark.parametrize("options", [{"side": "right"}, {"use_mode": -4}])
def test_a_tyre_on_the_other_side_is_a_mirror_image(options):
    _, one = rolling(0.03, 1.0)
    _, other = rolling(0.03, -1.0, **options)
    assert rolling(0.03, 1.0, side="left")[1].report == one.report
    for name, sign in (("longitudinal_force", 1), ("lateral_force", -1), ("aligning_moment", -1)):
        assert abs(one.report[name] - sign * other.report[name]) < 1e-9


def test_relaxation_lengths_are_those_of_the_formula_and_never_too_short():
    tyre, does = rolling(0.04, 1.5, use_mode=14)
    formula, c, load = tyre.tyre.formula, tyre.tyre.formula.c, 5040.0
    df = load / 4850.0 - 1
    along = load * (c.PTX1 + c.PTX2 * df) * np.exp(c.PTX3 * df) * 0.344 / 4850.0
    across = c.PTY1 * np.sin(2 * np.arctan(load / (c.PTY2 * 4850.0))) * 0.344
    assert np.abs(np.subtract(formula.relaxation(load, 0.0), (along, across))).max() < 1e-12
    assert abs(does.rates[0] - 20.0 * 0.04) < 1e-9 and abs(does.rates[1] - 1.5) < 1e-9
    states = np.array([0.04 * along, 1.5 / 20 * across])
    q, v = np.array([0, 0, 0.32, 0, 0, 0.0]), np.array([20, 1.5, 0, 0, 0, spin(0.04)])
    steady = tyre.effect(free_wheel(floating=False).model, 0.0, q, v, states)
    assert np.abs(steady.rates).max() < 1e-9
    exact = forces(formula, load, 0.04, np.arctan(1.5 / 20))
    assert abs(steady.report["longitudinal_force"] - exact.x) < 1e-6


def test_pressure_changes_stiffness_and_friction_as_the_coefficients_say():
    values = {"PCX1": 1.6, "PDX1": 1.0, "PKX1": 20.0, "PPX1": -0.5, "PPX3": -0.2}
    plain = MagicFormula(TyreCoefficients(values), 0.3, 4000.0)
    soft = MagicFormula(TyreCoefficients(values), 0.3, 4000.0, pressure=-0.2)
    kappa = np.append(1e-6, np.linspace(0.01, 0.5, 2001))
    one, other = (
        formula.forces(
            TyreSlip(kappa, 0.0, 0.0, 4000.0), along=True, across=False, combined=False
        ).x
        for formula in (plain, soft)
    )
    assert abs(other[0] / one[0] - 1.1) < 1e-6  # 1 + PPX1 dp
    assert abs(other.max() / one.max() - 1.04) < 1e-6  # 1 + PPX3 dp


def edited(tmp_path, *changes):
    text = CAR_TYRE.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "tyre.tir"
    path.write_text(text)
    return path


def test_a_file_of_mf_tyre_5_is_read_as_the_same_tyre(tmp_path):
    path = edited(tmp_path, ("PROPERTY_FILE_FORMAT     = 'PAC2002'", "FITTYP = 5"))
    formula = magic_tyre(read_tir(path)).formula
    assert forces(formula, 4e3, 0.1, 0.1, 0.02) == forces(TYRE.formula, 4e3, 0.1, 0.1, 0.02)


def test_a_file_in_other_units_is_the_same_tyre(tmp_path):
    path = edited(
        tmp_path,
        ("'meter'", "'mm'"),
        ("'newton'", "'kN'"),
        ("= 0.344", "= 344"),
        ("= 210000", "= 0.21"),
        ("= 4850", "= 4.85"),
        ("= 16.7", "= 16700"),
        ("VERTICAL_DAMPING         = 300", "VERTICAL_DAMPING = 300e-6"),
        ("VXLOW                    = 1", "VXLOW = 1000"),
        ("FZMAX                    = 12000", "FZMAX = 12"),
    )
    other = magic_tyre(read_tir(path))
    assert np.allclose(
        forces(other.formula, 4e3, 0.1, 0.1), forces(TYRE.formula, 4e3, 0.1, 0.1), rtol=1e-12
    )
    assert np.allclose(
        (*other.stiffness, other.damping, other.low_speed, other.limits.load),
        (*TYRE.stiffness, TYRE.damping, TYRE.low_speed, TYRE.limits.load),
        rtol=1e-12,
    )


BAD = {
    "version": ("'PAC2002'", "'FTIRE'", "PROPERTY_FILE_FORMAT = 'FTIRE'; read are PAC2002 and MF"),
    "6.1": ("'PAC2002'", "'MF-TYRE'\nFITTYP = 61", "FITTYP = 61, MF-Tyre 6.1; read are PAC2002"),
    "none": ("'PAC2002'", "''", "neither PROPERTY_FILE_FORMAT nor FITTYP"),
    "missing": ("PKY1 ", "PKY9 ", "1 keys are missing for USE_MODE 14: PKY1"),
    "nominal": ("FNOMIN ", "FNOMAX ", "keys are missing.*FNOMIN"),
    "load": ("= 4850", "= -4850", "FNOMIN: expected a number above 0, got -4850"),
    "stiffness": ("= 210000", "= -1", "VERTICAL_STIFFNESS: expected a number above 0, got -1"),
    "damping": ("VERTICAL_DAMPING         = 300", "VERTICAL_DAMPING=-1", "at least 0, got -1"),
    "friction": ("PDX1                     = 1.1", "PDX1 = 0", "PDX1: expected a number above 0"),
    "nan": ("= -17.5", "= nan", "PKY1: expected a finite number"),
    "mode": ("USE_MODE                 = 14", "USE_MODE = 24", "USE_MODE: expected 0 to 4, and 10"),
    "side": ("'LEFT'", "'MIDDLE'", "TYRESIDE: expected LEFT or RIGHT, got 'middle'"),
    "range": ("ALPMIN                   = -1.5708", "ALPMIN = 1", "expected ALPMIN < 0 < ALPMAX"),
    "radius": ("DREFF ", "DREF ", "DREFF missing: expected all of BREFF, DREFF, FREFF or none"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_wrong_file_is_refused_with_the_key(what, tmp_path):
    old, new, said = BAD[what]
    path = edited(tmp_path, (old, new))
    with pytest.raises(MbdError, match=said):
        mbd.System(free_wheel(), forces=[PacejkaTyre("wheel", path)])


def test_wrong_options_are_refused():
    for options, said in (
        ({"use_mode": 5}, "use_mode: expected 0 to 4, and 10 more with relaxation, got 5"),
        ({"side": "front"}, "side='front' is not known"),
        ({"coefficients": {"LMU": 0.5}}, "no coefficient of the Magic Formula named 'LMU'"),
        ({"coefficients": {"LMUX": "wet"}}, r"coefficients\['LMUX'\]: expected one number"),
        ({"file": 3}, "expected the path of a .tir file, got int"),
    ):
        with pytest.raises(MbdError, match=said):
            bound(free_wheel(), PacejkaTyre("wheel", **({"file": CAR_TYRE} | options)))
