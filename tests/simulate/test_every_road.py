"""Every road of a motion can do what the table of develop/architecture.md says, cell by cell."""

import contextlib
import re
from pathlib import Path

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError
from tests.simulate.roads import (
    CASES,
    CLOSE,
    GUARDS,
    NO_STEPS,
    NOT_OF_RUNS,
    NOT_THERE,
    OF_RUNS,
    ROADS,
    ROUNDED,
    RUNS,
    STEPS,
    UNGUARDED,
    VARIABLE,
    ended,
    fresh_bar,
    of_bar,
    of_steps,
    run,
    table,
    wrong_gamma,
)

PAGE = Path(__file__).parents[2] / "docs" / "develop" / "architecture.md"


@pytest.fixture(scope="module")
def expected():
    """The ends of single runs."""
    return {name: (done.q[-1], done.v[-1]) for name, case in CASES.items() for done in [run(case)]}


CAN = [(road, case) for road in ROADS for case in CASES if (case, road) not in NOT_THERE]
SEES = [(road, guard) for road in ROADS for guard in GUARDS if (guard, road) not in UNGUARDED]


@pytest.mark.parametrize(("case", "road"), [key for key, said in NOT_THERE.items() if said])
def test_a_road_refuses_with_the_reason(road, case):
    assert re.search(NOT_THERE[case, road], ended(road, CASES[case]))


@pytest.mark.parametrize(("road", "case"), CAN)
def test_a_road_has_the_digits_of_a_run(expected, road, case):
    apart = [
        np.abs(one - other).max()
        for one, other in zip(ROADS[road](CASES[case]), expected[case], strict=True)
    ]
    assert max(apart) <= ROUNDED.get(road, CLOSE), apart


ON_A_BASIS = [(road, case) for road, case in CAN if road != "run" and road in ROUNDED]


@pytest.mark.parametrize(("road", "case"), ON_A_BASIS)
def test_a_road_has_the_digits_of_a_run_in_the_null_space_too(road, case):
    method = "svd" if len(case) % 2 else "projection"
    on_basis = CASES[case] | {"method": method}
    alone = run(on_basis)
    for one, other in zip(ROADS[road](on_basis), (alone.q[-1], alone.v[-1]), strict=True):
        assert np.abs(one - other).max() <= ROUNDED[road]


@pytest.mark.parametrize(("road", "case"), ON_A_BASIS)
def test_a_road_has_the_digits_of_a_run_with_a_kept_matrix_too(road, case):
    kept = CASES[case] | {"integrator": mbd.integrators.KeptMatrix()}
    alone = run(kept)
    for one, other in zip(ROADS[road](kept), (alone.q[-1], alone.v[-1]), strict=True):
        assert np.abs(one - other).max() <= ROUNDED[road]


OF_STEPS = [(road, kind) for road in ROADS for kind in STEPS if road != "run"]


@pytest.mark.parametrize(("road", "kind"), OF_STEPS)
def test_a_road_takes_a_kind_of_steps_or_refuses_it(road, kind):
    if (kind, road) in NO_STEPS:
        with pytest.raises((MbdError, TypeError), match=NO_STEPS[kind, road]):
            of_steps(road, kind)
        return
    for one, other in zip(of_steps(road, kind), of_steps("run", kind), strict=True):
        assert np.abs(one - other).max() <= ROUNDED.get(road, CLOSE)


@pytest.mark.parametrize(("road", "guard"), SEES)
def test_a_road_sees_what_is_wrong(road, guard):
    case, said = GUARDS[guard]
    broken = contextlib.nullcontext()
    if "accelerations" in guard:
        case, broken = fresh_bar(), wrong_gamma()
    with broken:
        assert re.search(said, ended(road, case))


def test_an_fmu_whose_steps_are_too_long_is_refused_a_step_at_last():
    case, _ = GUARDS["step too long, or energy from nowhere"]
    assert re.search("the step from .* is not taken .* for steps of 0.02 s", ended("FMU", case))


def test_steps_of_variable_length_keep_the_energy_of_what_fixed_ones_blow_up():
    case, _ = GUARDS["step too long, or energy from nowhere"]
    (q,), (v,) = ROADS["variable"](case | {"steps": 10})
    inertia = float(case["machine"].mass_matrix(case["q"])[0, 0])
    assert 2e4 * q**2 + 0.5 * inertia * v**2 == pytest.approx(2e4 * case["q"][0] ** 2, rel=2e-3)


def test_an_fmu_says_nothing_of_accelerations_off_the_loops_and_is_put_back_onto_them():
    """What they are off is orthogonal to what may move: the projection takes it away."""
    with wrong_gamma():
        end = ROADS["FMU"](fresh_bar())
    apart = np.abs(np.subtract(end, ROADS["run"](of_bar()))).max()
    assert 1e-10 < apart < 1e-5


def test_another_loop_does_not_start_where_the_loops_are_open():
    case, said = GUARDS["loops open at the start"]
    assert ended("other loop", case) and not re.search(said, ended("other loop", case))


def test_steps_of_variable_length_have_the_states_of_elements_that_are_stiff():
    case, _ = GUARDS["states of force elements diverge"]
    short = case | {"h": 0.1 * case["h"], "steps": 10 * case["steps"]}
    apart = np.subtract(ROADS["variable"](case), ROADS["run"](short))
    assert np.abs(apart).max() < 1e-5


@pytest.mark.parametrize("what", OF_RUNS)
@pytest.mark.parametrize("road", NOT_OF_RUNS)
def test_events_and_checkpoints_are_of_single_runs_and_others_say_so(road, what):
    option = OF_RUNS[what]
    with pytest.raises((MbdError, TypeError), match=NOT_OF_RUNS[road]) as raised:
        ROADS[road](of_bar(), **{option: {"run": lambda t, q, v: 1.0}})
    assert option in str(raised.value)


def test_each_cell_has_a_test():
    """A guard that a road does not have has one of its own, above."""
    assert {*RUNS, *NOT_OF_RUNS} == {*ROADS}
    assert {*UNGUARDED.values()} == {"late", "none", "unseen"} and len(UNGUARDED) == 5


@pytest.mark.parametrize("road", RUNS)
def test_a_run_of_any_kind_has_events_and_checkpoints(tmp_path, road):
    def faster(t, q, v):
        return v[0] - 4.2

    faster.action = lambda t, q, v: (q, 0.9 * v)
    case, every = CASES["inputs"], {"every": 10} if road == "variable" else {}
    options = {"run": {}, "variable": VARIABLE, "Python": {"method": "svd"}}[road] | every
    acted = run(case, events={"faster": faster}, **options)
    assert len(acted.events["faster"]) >= 1 and acted.finished
    file = {"checkpoint": tmp_path / "run.npz", "checkpoint_every": 20}
    with pytest.raises(ZeroDivisionError):
        run(case, progress=lambda _: 1 / (not file["checkpoint"].exists()), **file, **options)
    other = file | {"checkpoint": tmp_path / "other.npz"}
    assert np.array_equal(run(case, **file, **options).q, run(case, **other, **options).q)


def test_the_table_stands_in_the_page():
    assert table() in PAGE.read_text(encoding="utf-8"), table()
