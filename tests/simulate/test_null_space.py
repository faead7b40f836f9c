"""Compiled steps in the null space of the loops: svd (LeeJoo90), qr, projection (KimYoo97)."""

import re
from pathlib import Path

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import StateError
from mbd_bridge.integrators import Integrator, NullSpace
from mbd_bridge.simulation.start import independent_rows
from mbd_bridge.simulation.steps.compiled import Start, SystemStep, one_step
from mbd_bridge.simulation.steps.null_space import NullSpaceMemory
from mbd_bridge.simulation.steps.trusted_step import Now
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.closed import by_multipliers, closed_acceleration, rows_of
from tests import independent
from tests.benchmarks import null_space
from tests.forces.relaxing import Maxwell
from tests.machines import FIVE_BAR_NEAR, five_bar, four_bar, rssr, turning
from tests.robots import OWN
from tests.simulate.starts import STARTS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "speed.md").read_text(encoding="utf-8")
BASES = ("svd", "qr", "projection")
MACHINES = ("crank_rocker", "bricard", "rssr", "stewart", "ralf")
H = {"ralf": 2.5e-4}
"""s; others 1 ms."""


def moving(name):
    machine = mbd.load(OWN / f"{name}.urdf")
    at = machine.assemble(**STARTS[name])
    return machine, {"q": at.q, "v": at.v, "step": H.get(name, 1e-3)}


@pytest.mark.parametrize("name", MACHINES)
def test_bases_keep_loops_and_energy_and_come_to_one_motion(name):
    machine, start = moving(name)
    whole = machine.simulate(0.2, **start)
    finer = machine.simulate(0.2, **start | {"step": start["step"] / 2}, every=2)
    error = np.abs(whole.q - finer.q).max()  # of the default's steps
    for basis in BASES:
        run = machine.simulate(0.2, method=basis, **start)
        assert np.abs(run.q - finer.q).max() < 3.0 * error + 1e-12
        assert run.closure.max() < 3.0 * whole.closure.max() + 1e-15
        assert run.facts["balance"] < 7.0 * whole.facts["balance"] + 1e-11


@pytest.mark.parametrize("name", ["crank_rocker", "rssr", "ralf"])
@pytest.mark.parametrize("basis", BASES)
def test_machine_code_and_python_reference_give_one_motion(name, basis):
    """To what one correction more leaves, and rounding: both hold the same V2ᵀ q."""
    machine, start = moving(name)
    run, reference = (
        machine.simulate(20 * start["step"], method=basis, reference=r, **start)
        for r in (False, True)
    )
    assert np.abs(run.q - reference.q).max() < 1e-12
    assert np.abs(run.v - reference.v).max() < 1e-8 * np.abs(run.v).max()


def test_a_stage_finds_accelerations_and_multipliers_of_the_whole_system():
    """Far from where Φ_q was decomposed, too."""
    machine, start = moving("stewart")
    model, rng = machine.model, np.random.default_rng(0)
    system = mbd.System(machine)
    rows = independent_rows(model, start["q"], None, start["v"])
    kept = NullSpaceMemory(system, rows, NullSpace("svd"))
    still = np.zeros(model.nv)
    there = np.asarray(rows_of(model, rows, start["q"], still, (), None)[0], dtype=float)
    by = kept.solver(kept.first(there.reshape(-1)))
    for _ in range(5):
        near = start["q"].copy()
        near[:] += rng.normal(0.0, 0.1, model.nq)
        q, v, tau = machine.assemble(near).q, rng.normal(size=model.nv), rng.normal(size=model.nv)
        one, other = (
            closed_acceleration(model, rows, q, v, tau, by=b) for b in (by, by_multipliers)
        )
        assert np.allclose(one.a, other.a, rtol=1e-9, atol=1e-9 * np.abs(other.a).max())
        assert np.allclose(one.lam, other.lam, rtol=1e-9, atol=1e-9 * np.abs(other.lam).max())


def independent_velocities(basis, turns, h=1e-3):
    """Return z' of a four-bar's steps for some turns of its crank, and the decompositions."""
    bar, at = turning(four_bar(1, 2, 1.7, 2.5), 9.0)
    trajectory = Trajectory(mbd.System(bar))
    rows = independent_rows(bar.model, at.q, None, at.v)
    step = SystemStep(trajectory.system, rows, NullSpace(basis))
    begin, once = Start(trajectory, step), one_step(trajectory, step.march())
    now, rates = begin.begun(Now(0.0, at.q, at.v)), []
    while abs(now.q[0] - 0.5) < turns * 2 * np.pi:
        kept = step.basis.kept(now.carried)
        rates.append(step.basis.independent(now.carried, now.v))
        assert np.allclose(kept.V2.T @ kept.V2, 1.0, atol=1e-7)  # no velocity is lost with it
        now = now.after(h, once(now, h))
    return np.array(rates), begin.counted(now)["decompositions"]


@pytest.mark.parametrize("basis", BASES)
def test_independent_velocities_go_on_through_full_turns(basis):
    """A basis that had jumped to its opposite would change the sign of z'."""
    rates, count = independent_velocities(basis, 3)
    assert (np.sign(rates) == np.sign(rates[0])).all()
    jump = np.abs(np.diff(rates, axis=0)).max() / np.abs(rates).max()
    if basis == "qr":  # V2 turns far before a pivot is lost
        assert 1 < count < 10
        return
    assert jump < (0.06 if basis == "svd" else 0.02)  # 1 - ratio, and how much z' changes in a step
    assert count == 1 if basis == "projection" else count > 10


@pytest.mark.parametrize("basis", BASES)
def test_independent_velocities_alone_are_integrated(basis):
    """What a velocity has beside them does not come to the end of a step; all of it does else."""
    bar, at = turning(four_bar(1, 2, 1.7, 2.5), 4.0)
    trajectory = Trajectory(mbd.System(bar))
    rows = independent_rows(bar.model, at.q, None, at.v)
    differ = {}
    for coordinates in ("all", "independent"):
        scheme = NullSpace(basis, coordinates=coordinates)
        step = SystemStep(trajectory.system, rows, scheme)
        begin, once = Start(trajectory, step), one_step(trajectory, step.march())
        now = begin.begun(Now(0.0, at.q, at.v))
        beside = step.basis.kept(now.carried).V1 @ np.array([1e-3, 2e-3])
        other = now._replace(v=now.v + beside)
        differ[coordinates] = np.abs(once(now, 1e-2).q - once(other, 1e-2).q).max()
    assert differ["independent"] < 1e-13 < 1e-9 < differ["all"]


@pytest.mark.parametrize("basis", BASES)
def test_independent_velocities_give_one_motion_of_the_fourth_order(basis):
    bar, start = moving("crank_rocker")
    exact = bar.simulate(0.4, **start | {"step": 2.5e-4}).q[-1]
    given = {"method": basis, "coordinates": "independent"} | start
    ends = [bar.simulate(0.4, **given | {"step": h}).q[-1] for h in (4e-3, 2e-3)]
    errors = [np.abs(q - exact).max() for q in ends]
    assert 3.5 < np.log2(errors[0] / errors[1]) < 5.0
    run = bar.simulate(1.0, **given)
    assert run.closure.max() < 5e-15
    assert run.facts["balance"] < 1e-7


def test_independent_velocities_are_those_of_the_papers_form():
    """KimYoo97's rival, held and integrated in Python (tests/independent.py)."""
    bar, at = turning(four_bar(1, 2, 1.7, 2.5), 4.0)
    printed = independent.simulate(bar.model, (at.q, at.v), (0.0, 1.0), 0.01, projected=False)
    given = {"step": 5e-4, "every": 20, "q": at.q, "v": at.v}
    run = bar.simulate(1.0, method="svd", coordinates="independent", **given)
    assert np.allclose(run.q, [q for _, q, _ in printed.records], atol=1e-6)
    assert np.allclose(run.v, [v for _, _, v in printed.records], atol=1e-5)


PRINTED = NullSpace("projection", coordinates="independent", form="printed")


@pytest.mark.parametrize("prescribed", [False, True])
def test_the_printed_form_errs_as_the_paper_s_does_in_python(prescribed):
    """As tests/independent.py, which goes by other steps: what both lack is not of the steps."""
    if prescribed:
        machine, given = five_bar(), {"prescribed": {"crank": "-1.2 + 2*t"}}
        given["q"] = machine.assemble(FIVE_BAR_NEAR, fixed="crank").q
        system = mbd.System(machine, prescribed={"crank": lambda t: -1.2 + 2.0 * t})
        motions = Trajectory(system).motions
    else:
        machine, motions = four_bar(1, 2, 1.7, 2.5), None
        at = machine.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 4.0})
        given = {"q": at.q, "v": at.v}
    exact = machine.simulate(0.5, step=1e-4, every=5000, **given)
    lost = {}
    for h in (4e-3, 2e-3):
        run = machine.simulate(0.5, step=h, integrator=PRINTED, every=250, **given)
        state = exact.q[0], exact.v[0]
        options = {"motions": motions, "tolerance": 1e-3}
        steps = independent.simulate(machine.model, state, (0.0, 0.5), h, **options)
        paper = steps.records[-1][2] - exact.v[-1]
        lost[h] = np.abs(run.v[-1] - exact.v[-1]).max()
        assert np.allclose(run.v[-1] - exact.v[-1], paper, atol=5e-3 * np.abs(paper).max())
        assert run.closure.max() < 1e-14
    ratio = lost[4e-3] / lost[2e-3]
    assert abs(ratio - (1.0 if prescribed else 2.0)) < 0.1  # what (4.8) lacks, no step reduces


def test_the_printed_form_is_that_of_its_paper_alone():
    for given in ({}, {"coordinates": "independent", "basis": "svd"}):
        with pytest.raises(
            StateError, match=r"printed' is KimYoo97's: give NullSpace\('projection'"
        ):
            NullSpace(**{"basis": "projection", "form": "printed"} | given)
    with pytest.raises(StateError, match="form='paper' is not known; use one of corrected"):
        NullSpace("svd", form="paper")


@pytest.mark.parametrize("course", ["0.5 + 2*t + t^2", ([0, 0.1, 0.3, 1.0], [0.5, 0.7, 0.9, 2.0])])
def test_independent_velocities_go_with_prescribed_motions(course):
    m = rssr()
    given = {"step": 1e-3, "prescribed": {"crank": course}}
    one, other = (
        m.simulate(0.2, method=method, coordinates=coordinates, **given)
        for method, coordinates in (("multipliers", "all"), ("qr", "independent"))
    )
    assert np.abs(one.q - other.q).max() < 1e-8
    assert other.closure.max() < 1e-14


def test_independent_velocities_may_be_asked_for_beside_a_basis():
    """A scheme that says nothing of coordinates takes those of the option."""
    bar, start = moving("crank_rocker")
    whole = NullSpace("qr", loss=0.3)
    alone = NullSpace("qr", loss=0.3, coordinates="independent")
    given = [{"integrator": whole, "coordinates": "independent"}, {"integrator": alone}]
    given += [given[0] | {"method": "qr"}, {"integrator": whole}]
    asked, same, third, other = (bar.simulate(0.1, **start, **one).q for one in given)
    assert np.array_equal(asked, same) and np.array_equal(asked, third)
    assert not np.array_equal(asked, other)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "multipliers", "coordinates": "independent"},
        {"method": "svd", "coordinates": "independent", "reference": True},
        {"integrator": NullSpace("svd", coordinates="independent"), "reference": True},
        {"integrator": NullSpace("svd", coordinates="independent"), "history": True},
    ],
)
def test_independent_velocities_are_refused_where_nobody_integrates_them(options):
    bar, start = moving("crank_rocker")
    with pytest.raises(StateError, match="coordinates='independent' goes with"):
        bar.simulate(0.1, **options, **start)


@pytest.mark.parametrize(("name", "seconds"), [("crank_rocker", 4.0), ("ralf", 0.3), ("rssr", 1.0)])
def test_independent_velocities_of_a_motion_are_smooth_and_hold_all_of_it(name, seconds):
    """Full turns of a four-bar, and the fall of RALF."""
    machine, start = moving(name)
    run = machine.simulate(seconds, every=4, **start)
    rates, sizes = run.independent_velocities, run.v / machine.model.velocity_scale
    assert rates.shape == (len(run.time), run.facts["dof"])
    assert np.allclose((rates**2).sum(axis=1), (sizes**2).sum(axis=1), rtol=1e-9, atol=1e-12)
    if name == "crank_rocker":
        assert np.ptp(run.q[:, 0]) > 2 * np.pi
        assert len(set(np.sign(rates[:, 0]))) == 1
    jumps, moves = (np.abs(np.diff(x, axis=0)).max() for x in (rates, sizes))
    assert jumps < 2.0 * moves


def test_the_criteria_are_settings():
    bar, found = moving("crank_rocker"), {}
    for ratio in (0.5, 0.95, 0.999):
        run = bar[0].simulate(1.0, integrator=NullSpace("svd", ratio=ratio), **bar[1])
        found[ratio] = run.facts["decompositions"]
    assert found[0.5] < found[0.95] < found[0.999]
    with pytest.raises(StateError, match="NullSpace: ratio: expected a number from 0 to 1, got 2"):
        NullSpace("svd", ratio=2.0)
    with pytest.raises(StateError, match="use one of svd, qr, projection"):
        NullSpace("svg")
    with pytest.raises(StateError, match=r"explicit one without a memory, .* or an implicit one"):
        NullSpace("svd", mbd.integrators.KeptMatrix())
    with pytest.raises(StateError, match="has 'svd'; leave one of them out"):
        bar[0].simulate(1.0, integrator=NullSpace("svd"), method="qr", **bar[1])


@pytest.mark.parametrize(("basis", "setting"), [("svd", {"ratio": 0.999}), ("qr", {"loss": 0.99})])
def test_the_python_reference_has_the_criteria_too(basis, setting):
    (bar, start), count = moving("crank_rocker"), []
    for given in ({}, setting):
        scheme = NullSpace(basis, **given)
        run = bar.simulate(0.3, integrator=scheme, reference=True, **start)
        count.append(run.facts["decompositions"])
    assert count[0] < count[1]


class Midpoint(Integrator):
    order = 2

    def step(self, f, x, h, memory):
        return x + h * f(0.5, x + h / 2 * f(0.0, x)), memory


def test_other_integrators_take_a_basis():
    """With errors of its order: the corrections differ, and with them the errors."""
    bar, start = moving("crank_rocker")
    exact = bar.simulate(0.4, **start | {"step": 2.5e-4}).q[-1]
    for h in (2e-3, 1e-3, 5e-4):
        given = {**start, "step": h, "integrator": Midpoint()}
        one, other = (bar.simulate(0.4, method=m, **given).q[-1] for m in ("multipliers", "svd"))
        assert 1e-6 < np.abs(one - exact).max() < 50.0 * h**2
        assert np.abs(other - exact).max() < 50.0 * h**2
        assert not np.array_equal(one, other)


@pytest.mark.parametrize("basis", BASES)
def test_lanes_have_the_digits_of_single_runs(basis):
    bar = four_bar(1, 2, 1.7, 2.5)
    at = [
        bar.assemble({"crank": angle}, fixed="crank", velocity={"crank": 4.0})
        for angle in np.linspace(0.1, 6.0, 11)
    ]
    many = bar.simulate(1.0, q=[a.q for a in at], v=[a.v for a in at], method=basis, every=50)
    assert not many.alone
    for k, state in enumerate(at):
        run = bar.simulate(1.0, q=state.q, v=state.v, method=basis, every=50)
        assert np.array_equal(run.q, many.q[k])


@pytest.mark.parametrize("basis", BASES)
def test_loads_of_the_steps_are_those_of_their_states(basis):
    bar, start = moving("crank_rocker")
    run = bar.simulate(0.2, method=basis, loads=["elbow", "rocker"], every=10, **start)
    of_states = run.joint_loads(["elbow", "rocker"])
    assert np.allclose(run.loads.force, of_states.force, rtol=1e-8, atol=1e-8)
    assert np.allclose(run.loads.moment, of_states.moment, rtol=1e-8, atol=1e-8)


def test_machines_without_loops_go_as_they_do():
    arm = mbd.load(OWN / "pendulum.urdf")
    one, other = (arm.simulate(1.0, q=[1.0], method=m) for m in ("multipliers", "svd"))
    assert np.array_equal(one.q, other.q)


def test_a_stage_needs_no_more_operations_than_was_promised():
    """Of one by multipliers; the prototype of this needed 1.17, 1.04, 1.23, 3.0 and 2.8 times."""
    for name in null_space.MACHINES:
        system, rows = counted(name)
        one, other = (null_space.stage(system, rows, method) for method in ("multipliers", "svd"))
        assert other / one < null_space.PROTOTYPE[name], name
        printed = re.search(
            rf"^\| `{name}`[^|]*: [^|]* \| (\d+) \| (\S+) times", PAGE, re.MULTILINE
        )
        assert (int(printed[1]), float(printed[2])) == (one, round(other / one, 2))


@pytest.mark.parametrize("name", ["crank_rocker", "bricard", "rssr", "ralf"])
def test_implicit_steps_by_a_basis_need_what_the_page_prints(name):
    one, *others = null_space.implicit(*counted(name))
    printed = re.search(rf"^\| `{name}` \| (\d+) \| (\S+) times \| (\S+) \|$", PAGE, re.MULTILINE)
    assert int(printed[1]) == one
    assert [float(printed[2]), float(printed[3])] == [round(other / one, 2) for other in others]


@pytest.mark.parametrize("name", ["crank_rocker", "bricard", "rssr", "ralf"])
@pytest.mark.parametrize("basis", BASES)
def test_implicit_steps_by_a_basis_have_the_digits_of_multipliers(name, basis):
    machine, start = moving(name)
    given = {"integrator": "newmark", **start}
    whole, run = (machine.simulate(0.1, method=m, **given) for m in ("multipliers", basis))
    assert np.abs(run.q - whole.q).max() < 1e-11
    assert np.abs(run.v - whole.v).max() < 1e-9 * np.abs(run.v).max()
    assert run.closure.max() < 3.0 * whole.closure.max() + 1e-15
    assert run.facts["decompositions"] >= 1
    assert "jacobians" not in run.facts


@pytest.mark.parametrize("name", ["crank_rocker", "bricard", "rssr"])
@pytest.mark.parametrize("basis", BASES)
def test_implicit_steps_of_independent_velocities_are_of_the_second_order(name, basis):
    machine, start = moving(name)
    exact, errors = machine.simulate(0.4, **start | {"step": 2.5e-4}).q[-1], []
    scheme = NullSpace(basis, mbd.integrators.Newmark(), coordinates="independent")
    for h in (1e-3, 5e-4):
        run = machine.simulate(0.4, integrator=scheme, **start | {"step": h})
        errors.append(np.abs(run.q[-1] - exact).max())
        assert run.closure.max() < 1e-12
    assert 3.5 < errors[0] / errors[1] < 4.6


@pytest.mark.parametrize("coordinates", ["all", "independent"])
def test_implicit_steps_by_a_basis_take_prescribed_motions_and_stiff_elements(coordinates):
    """Beside the same steps by multipliers, and short explicit ones."""
    bar = four_bar(1, 2, 1.7, 2.5)
    given = {"prescribed": {"crank": "0.5 + 4*t"}, "forces": [Maxwell("elbow", 300.0, 2.0)]}
    formula = mbd.integrators.Newmark(iterations=4)
    scheme = NullSpace("qr", formula, coordinates=coordinates)
    exact, whole, run = (
        bar.simulate(0.3, step=h, every=round(1e-3 / h), integrator=s, loads=["elbow"], **given)
        for h, s in ((1e-4, "rk4"), (1e-3, formula), (1e-3, scheme))
    )
    assert np.abs(run.q - exact.q).max() < 1e-9
    one, other = (found.joint_loads("elbow").force for found in (run, whole))
    assert np.abs(one - other).max() < 1e-9 * np.abs(other).max()


def counted(name):
    """Return a benchmark's system and its rows."""
    found, q, v = null_space.machine(name)
    return mbd.System(found), independent_rows(found.model, q, None, v)


def test_steps_of_a_four_bar_keep_more_than_exudyns():
    """Of the same length; the page's table, in short."""
    rows = null_space.beside_exudyn(0.2)
    ours, peers = rows[:4], rows[4:]
    assert len(peers) == 2
    for key in ("step", "error", "open", "energy"):
        assert 5.0 * max(abs(row[key]) for row in ours) < min(abs(row[key]) for row in peers)
