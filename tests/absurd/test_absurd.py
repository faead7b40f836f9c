"""Every public call, given what nobody can mean, gives a right result or refuses it by name."""

from __future__ import annotations

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError, StateError
from tests.absurd.judge import SECONDS, outcome
from tests.absurd.sweep import cases, try_case
from tests.machines import four_bar, turning

PARTS = 16
"""Workers share the 43,000 cases, which take a minute (``python -m tests.absurd``); the first part
is one of the quick tests."""

FINE = ("result", "refused", "unnamed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("absurd")


@pytest.mark.parametrize("part", range(PARTS))
def test_absurd_arguments_give_a_right_result_or_a_refusal(folder, monkeypatch, part):
    monkeypatch.chdir(folder)
    monkeypatch.delenv("DISPLAY", raising=False)
    wrong = []
    for case in cases(folder)[part::PARTS]:
        found = try_case(case)
        if found.kind not in FINE:
            wrong.append(f"{case}: {found.kind}: {found.what!s:.80}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.filterwarnings("error")
def test_tables_of_numbers_at_the_end_of_the_range_are_read_without_a_warning(folder):
    path = folder / "large.csv"
    path.write_text("time,coupler.fz\n" + "".join(f"{k},1e308\n" for k in range(20)))
    force = four_bar(1, 2, 1.5, 2.5).read_external(path).forces[0]
    assert force.wrenches.max() == 1e308


def test_the_sweep_sees_what_it_is_to_see():
    def foreign():
        raise ValueError("not ours")

    def leaks():
        return np.float64(1e308) * 10.0

    def unnamed():
        raise StateError("something is wrong")

    assert outcome(foreign, "q", True).kind == "foreign"
    assert outcome(leaks, "q", True).kind == "warning"
    assert outcome(lambda: np.array([np.nan]), "q", True).kind == "not finite"
    assert outcome(lambda: np.array([np.nan]), "q", False).kind == "result"
    assert outcome(unnamed, "q", True).kind == "unnamed"
    assert SECONDS < 60


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("speed", [1e155, 1e300])
@pytest.mark.parametrize(
    "ask",
    [
        lambda bar, q, v: bar.joint_loads(q, v, 0 * v, actuated="crank"),
        lambda bar, q, v: bar.inverse_dynamics(q, v, 0 * v, actuated="crank"),
        lambda bar, q, v: bar.forward_dynamics(q, v, 0 * v),
        lambda bar, q, v: bar.simulate(0.01, q=q, v=v),
        lambda bar, q, v: bar.assemble(near={"crank": speed_of(v)}),
        lambda bar, q, v: bar.assemble_batch({"crank": [0.5, speed_of(v)]}),
        lambda bar, q, v: bar.assemble(velocity=v),
    ],
)
def test_numbers_that_overflow_are_refused_without_a_warning(ask, speed):
    bar, start = turning(four_bar(1, 2, 1.5, 2.5), 1.0)
    with pytest.raises(MbdError):
        ask(bar, start.q, start.v * speed)


def speed_of(v):
    return float(np.abs(v).max())


def test_a_quaternion_that_is_none_does_not_start_a_simulation():
    b = mbd.Builder("top").link("top", 1.0, inertia=(0.1, 0.1, 0.2))
    top = mbd.Mechanism.build(b.joint("ball", "spherical", "base", "top"))
    with pytest.raises(StateError, match="unit quaternion"):
        top.simulate(0.01, q=[0.0, 0.0, 0.0, 1.3])
    batch = top.simulate(0.01, q=[[0.0, 0.0, 0.0, 1.3], [0.0, 0.0, 0.0, 1.0]])
    assert "unit quaternion" in batch.status[0]
    assert batch.status[1] == "finished"


def test_masked_numbers_are_not_taken_for_numbers():
    bar = four_bar(1, 2, 1.5, 2.5)
    q = np.ma.masked_array(np.zeros(3), [True, False, False])
    with pytest.raises(StateError, match=r"q: .*masked"):
        bar.mass_matrix(q)


def test_variants_whose_parameters_are_all_zero_are_simulated():
    bar = four_bar(1, 2, 1.5, 2.5)
    start = bar.assemble({"crank": 0.5}, fixed="crank")
    run = bar.simulate(0.01, q=start.q[None], parameters={"gravity": np.zeros(3)})
    assert run.status == ("finished",)
    assert np.abs(run.q[0, -1] - start.q).max() < 1e-15  # what assembling left is projected off
