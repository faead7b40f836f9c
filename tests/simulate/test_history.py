"""Steps one by one, corrections left out, and KimYoo97's own form of the equations."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError
from mbd_bridge.simulation.system import System
from mbd_bridge.simulation.trajectory import Trajectory
from tests import car, independent
from tests.machines import FIVE_BAR_NEAR, five_bar, four_bar, turning

METHODS = ("svd", "qr", "projection", "multipliers")


@pytest.fixture(scope="module")
def bar():
    found, at = turning(four_bar(1, 2, 1.7, 2.5), 4.0)
    return found, {"q": at.q, "v": at.v}


@pytest.mark.parametrize(("integrator", "order"), [("rk4", 4), ("ab3", 3)])
@pytest.mark.parametrize("method", METHODS)
def test_what_a_step_leaves_open_has_its_order_and_one(bar, method, integrator, order):
    machine, at = bar
    left = []
    for h in (4e-3, 2e-3):
        run = machine.simulate(
            0.4, step=h, method=method, integrator=integrator, history=True, **at
        )
        assert len(run.history) == run.steps == round(0.4 / h)
        assert np.allclose(run.history.size, h) and np.isclose(run.history.time[-1], 0.4)
        assert run.history.order[-1] == order
        left.append(np.median(run.history.left))
        assert run.closure.max() < 1e-12
    assert abs(np.log2(left[0] / left[1]) - (order + 1)) < 0.5


def test_variable_steps_tell_lengths_and_orders(bar):
    machine, at = bar
    run = machine.simulate(1.0, step=0.05, integrator="abm", history=True, **at)
    assert len(run.history) == run.steps
    assert np.isclose(run.history.size.sum(), 1.0)
    assert run.history.size.max() <= 0.05 + 1e-12
    assert run.history.size.min() == pytest.approx(run.facts["shortest_step"], rel=1e-9)
    assert run.history.order.max() == run.facts["highest_order"]
    assert run.history.order[0] == 1


def test_a_terminal_event_ends_the_history_too(bar):
    def half(t, q, v):
        return t - 0.5

    half.terminal = True
    run = mbd.simulation.simulate(
        bar[0], 1.0, step=0.01, integrator="abm", history=True, events={"half": half}, **bar[1]
    )
    assert run.history.time[-1] <= run.time[-1] < 0.51
    assert run.history.size.sum() == pytest.approx(run.history.time[-1])


@pytest.mark.parametrize("method", METHODS)
def test_without_correction_loops_drift_and_with_it_they_do_not(bar, method):
    machine, at = bar
    open_by, parting = {}, {}
    for correction in ("state", "velocity", "none"):
        run = machine.simulate(
            2.0, step=5e-3, every=100, method=method, correction=correction, **at
        )
        _, phi_q, _ = machine.compile("constraints")(run.q, run.v)
        open_by[correction] = run.closure[-1]
        parting[correction] = np.abs(np.einsum("kij,kj->ki", phi_q, run.v)).max()
    assert open_by["state"] < 1e-12 and parting["state"] < 1e-12
    assert 1e-9 < open_by["velocity"] < open_by["none"] < 1e-3
    assert parting["velocity"] < 1e-12 < 1e-8 < parting["none"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"correction": "positions"}, "use one of state, velocity, none"),
        ({"correction": "none", "integrator": "hht"}, "correction='none' goes with integrator="),
        ({"reference": True, "integrator": "scipy:RK45"}, "reference=True goes with integrator="),
        ({"history": True, "integrator": "scipy:RK45"}, "integrator= one of rk4"),
        ({"history": True, "checkpoint": "x.npz"}, "without checkpoint"),
    ],
)
def test_what_does_not_go_together_is_explained(bar, options, message):
    with pytest.raises(MbdError, match=message):
        mbd.simulation.simulate(bar[0], 0.1, **bar[1], **options)


def test_bases_do_not_matter_for_steps_where_all_velocities_are_integrated(bar):
    machine, at = bar
    options = {"step": 0.01, "integrator": "abm", "tolerance": 1e-8, "history": True, **at}
    runs = [machine.simulate(1.0, method=m, **options).history for m in METHODS]
    for other in runs[1:]:
        assert len(other) == len(runs[0])
        assert np.allclose(other.size, runs[0].size, rtol=1e-3)


def last(bar, longest, projected, tolerance):
    """Error of the last velocity of KimYoo97's form, and its steps."""
    machine, at = bar
    state = at["q"], at["v"]
    exact = machine.simulate(1.0, step=1e-4, every=10_000, **at).v[-1]
    options = {"projected": projected, "tolerance": tolerance}
    steps = independent.simulate(machine.model, state, (0.0, 1.0), longest, **options)
    return np.abs(steps.records[-1][2] - exact).max(), steps


def test_the_printed_form_with_a_held_basis_is_exact(bar):
    error, steps = last(bar, 0.01, False, 1e-10)
    assert error < 1e-8
    assert steps.restarts > 0


def test_the_printed_form_with_a_projected_basis_loses_speed_with_the_first_order(bar):
    """Each projection shortens N by O(h^2), while z' goes on unchanged."""
    errors = [last(bar, h, True, 1e-3)[0] for h in (4e-3, 2e-3, 1e-3)]
    assert np.allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 1.0, atol=0.2)


def test_the_printed_form_with_a_projected_basis_takes_more_steps(bar):
    projected, held = (last(bar, 0.01, projected, 1e-10)[1] for projected in (True, False))
    assert len(projected.time) > 2 * len(held.time)
    assert projected.rejected > 3 * held.rejected


def test_the_car_stands_on_its_wheels_and_changes_lanes():
    machine = car.car()
    q, v = car.start(machine)
    report = machine.loops.report(q)
    assert (report.rows, report.rank, report.dof) == (12, 12, 11)
    options = {"torque": car.springs(machine), "external": car.tyres(machine)}
    options |= {"external_in": "world", "method": "svd", "integrator": "abm", "step": 0.01}
    stands = machine.simulate(4.0, q=q, v=v, prescribed={"rack": 0.0}, every=100, **options)
    weight = 9.81 * sum(link.inertia.mass for link in machine.model.description.links)
    lifts = [
        (machine.placement(stands.q[-1], link)[:3, :3] @ wrench[-1, :3])[2]
        for link, wrench in stands.external.items()
    ]
    assert np.isclose(sum(lifts), weight, rtol=1e-4)
    q, v = stands.state()
    prescribed = {"rack": car.lane_change}
    turns = machine.simulate(4.0, q=q, v=v, prescribed=prescribed, start=4.0, every=10, **options)
    assert 3.0 < abs(turns.q[-1, 1]) < 7.0  # m, a lane
    sideways = turns.a[:, 1] + turns.v[:, 0] * turns.v[:, 5]
    assert 2.0 < np.abs(sideways).max() < 5.0
    assert turns.closure.max() < 1e-12


def test_the_printed_acceleration_omits_a_term_where_constraints_depend_on_time():
    """(4.8) takes I_R' = -I_R Phi_q' I_R; its part across the constraints is missing."""
    machine, prescribed = five_bar(), {"crank": lambda t: -1.2 + 2.0 * t}
    q = machine.assemble(FIVE_BAR_NEAR, fixed="crank").q
    first = machine.simulate(0.5, q=q, step=1e-4, every=5000, prescribed=prescribed)
    motions = Trajectory(System(machine.model, prescribed=prescribed)).motions
    errors = {}
    for name, options in {
        "printed": {},
        "complete": {"complete": True},
        "held": {"projected": False},
    }.items():
        for h in (4e-3, 2e-3):
            steps = independent.simulate(
                machine.model,
                (first.q[0], first.v[0]),
                (0.0, 0.5),
                h,
                motions=motions,
                tolerance=1e-3,
                **options,
            )
            errors[name, h] = np.abs(steps.records[-1][2] - first.v[-1]).max()
    assert errors["printed", 2e-3] > 0.7 * errors["printed", 4e-3]  # shorter steps do not help
    assert errors["complete", 2e-3] < 0.6 * errors["complete", 4e-3]
    assert errors["complete", 2e-3] < 0.1 * errors["printed", 2e-3]
    assert errors["held", 2e-3] < 0.01 * errors["printed", 2e-3]
