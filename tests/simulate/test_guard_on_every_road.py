"""What is broken on purpose does not finish, by whatever road the motion goes."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import SolveError
from mbd_bridge.simulation.guards.loops import OPENING, LoopChecker, openings
from mbd_bridge.simulation.guards.step_by_step import StepGuards
from mbd_bridge.simulation.reference.methods import ReferenceEquations
from mbd_bridge.simulation.run import compiled, single
from mbd_bridge.simulation.steps import runge_kutta as simulate_step, stepping, trusted_step
from mbd_bridge.simulation.steps.stepping import CoupledStep
from mbd_bridge.solve.closed import Closed
from mbd_bridge.solve.null_space import OnNullSpace
from tests.machines import four_bar, turning
from tests.robots import own_urdfs
from tests.simulate.roads import ROADS, by_options, ended, wrong_gamma

BAR, AT = turning(four_bar(1, 2, 2.5, 2.5), 6.0)
START = {"machine": BAR, "q": AT.q, "v": AT.v}
PYTHON = {
    "svd": {"method": "svd", "reference": True},
    "multipliers": {"method": "multipliers", "reference": True},
    "ab3": {"method": "svd", "integrator": "ab3"},
    "abm": {"integrator": "abm"},
    "scipy": {"integrator": "scipy:DOP853"},
}
ACTS = {
    "damper": {"torque": lambda t, q, v: -0.5 * v},
    "table": {"torque": {"crank": ([0.0, 0.05, 0.05, 1.0], [0.0, 4.0, 9.0, -4.0])}},
    "actuation": {"prescribed": {"crank": "0.5 + 6*t + t^2"}},
}


@pytest.mark.parametrize("acts", ACTS)
@pytest.mark.parametrize("road", PYTHON)
def test_methods_prescribed_from_python_sum_up_the_work(road, acts):
    run = BAR.simulate(0.2, step=2e-3, q=AT.q, v=AT.v, **ACTS[acts], **PYTHON[road])
    assert np.ptp(run.energy) > 0.05
    assert 0.0 < run.facts["balance"] < 1e-4


def test_energy_from_nowhere_is_seen_in_a_method_prescribed_from_python(monkeypatch):
    right = ReferenceEquations.terms

    def wrong(self, q, v, t, z):
        found = right(self, q, v, t, z)
        return found._replace(Q=1.1 * found.Q)

    monkeypatch.setattr(ReferenceEquations, "terms", wrong)
    options = {"step": 2e-3, "q": AT.q, "v": AT.v, "check": False, **ACTS["damper"]}
    run = BAR.simulate(0.5, **options, **PYTHON["svd"])
    assert "energy comes from nowhere" in run.status


# -- what is broken in the loops' own equations ----------------------------------------------------

IN_STEPS = {
    **{road: ROADS[road] for road in ("run", "batch", "other loop", "real time")},
    "basis": by_options(method="svd"),
}
EVERY = IN_STEPS | {name: by_options(**options) for name, options in PYTHON.items()}
OF_THE_TABLE = ("run", "batch", "other loop", "real time", "svd")
"""Of these `test_every_road.py` sees a gamma that is one per cent wrong."""


def went(road, steps=500):
    """Return what a motion by this road says that does not come to its end."""
    return ended(
        EVERY[road],
        START | {"h": 2e-3, "steps": steps, "acts": {"torque": lambda t, q, v: 0.0 * v}},
    )


def test_right_accelerations_leave_loops_by_a_thousandth_of_what_the_guard_takes():
    values = LoopChecker(BAR.model).values
    q, v, a = (x[None] for x in (AT.q, AT.v, BAR.forward_dynamics(AT.q, AT.v, np.zeros(BAR.nv))))
    open_by = [openings(BAR.model, values, (0, 1), q, v, share * a)[0] for share in (1.0, 0.99)]
    assert open_by[0] < 1e-3 * OPENING < OPENING < open_by[1]
    assert open_by[1] == pytest.approx(0.002, rel=0.01)


@pytest.mark.parametrize("road", EVERY)
def test_a_right_gamma_is_not_suspected(road):
    assert went(road, 100) == ""


FACTORS = [(road, -1.0) for road in EVERY] + [(x, 0.99) for x in EVERY if x not in OF_THE_TABLE]


@pytest.mark.parametrize(("road", "factor"), FACTORS)
def test_a_wrong_gamma_does_not_finish(road, factor):
    """Of one percent; corrections bring the motion back, and its energy is right to a percent."""
    in_python = bool(PYTHON.get(road, {}).get("method"))
    with wrong_gamma(factor, compiled=not in_python):
        assert "lead off the loops" in went(road)


BESIDE = 1e-4
"""m, rad and their rates that a wrong projection leads beside the loops: ten times what is said to
be open of a machine of this size."""

WRONG = {
    "doubles what it should take back": lambda residual: -residual,
    "leads beside the loops": lambda residual: residual + BESIDE,
}


def project_wrongly(monkeypatch, wrong):
    """Break the projections of compiled steps and of methods run from Python."""
    right, residual = Closed.correction, ReferenceEquations.residual

    def wrong_lack(self, q, v, t):
        found = residual(self, q, v, t)
        return found._replace(phi=wrong(found.phi), rate=wrong(found.rate))

    basis = OnNullSpace.correction
    monkeypatch.setattr(Closed, "correction", lambda at, lack: right(at, wrong(lack)))
    monkeypatch.setattr(OnNullSpace, "correction", lambda at, lack: basis(at, wrong(lack)))
    monkeypatch.setattr(ReferenceEquations, "residual", wrong_lack)
    monkeypatch.setenv("MBD_BRIDGE_CACHE", "off")


def trust_all(monkeypatch):
    """Take every step."""
    for module in (compiled, stepping, trusted_step):
        monkeypatch.setattr(module, "STEP_RISK", np.inf)


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("road", [road for road in EVERY if road != "scipy"])
def test_a_wrong_projection_does_not_finish(monkeypatch, road, wrong):
    """SciPy's integrators are not projected."""
    project_wrongly(monkeypatch, WRONG[wrong])
    assert went(road)


@pytest.mark.parametrize("road", ["run", "batch", "other loop", "real time", "abm"])
def test_without_the_guard_a_wrong_projection_finishes(monkeypatch, road):
    """So it is trust in steps and the look at the loops that stop it; either one does."""
    project_wrongly(monkeypatch, WRONG["leads beside the loops"])
    monkeypatch.setattr(single, "first_open", lambda *_: None)
    monkeypatch.setattr(StepGuards, "opened", lambda *_: False)
    if road == "abm":  # its steps are trusted by their accelerations
        assert went(road, 50) == ""
        return
    assert went(road, 50) != ""
    trust_all(monkeypatch)
    assert went(road, 50) == ""
    monkeypatch.undo()
    project_wrongly(monkeypatch, WRONG["leads beside the loops"])
    trust_all(monkeypatch)
    assert "open by" in went(road, 50)


# -- steps in somebody else's loop -----------------------------------------------------------------


def gone(core, q, v, number, h):
    """Return the state after so many steps."""
    tau, none = np.zeros(core.model.nv), np.zeros((len(core.model.bodies), 6))
    for k in range(number):
        q, v = core(q, v, tau, none, h, k * h)
    return q, v


def test_a_spring_that_dies_out_is_told_in_somebody_elses_loop():
    pendulum = mbd.load(own_urdfs()["pendulum"])
    omega = np.sqrt(4e4 / float(pendulum.mass_matrix(np.zeros(1))[0, 0]))
    core = CoupledStep(mbd.System(pendulum, torque=lambda t, q, v: -4e4 * q), np.zeros(1))
    start = np.array([0.01]), np.zeros(1)
    gone(core, *start, 60, 0.05 / omega)
    with pytest.raises(SolveError, match="energy comes from nowhere"):
        gone(core, *start, 60, 1.7 / omega)


def test_a_state_that_somebody_changes_opens_the_account_anew():
    pendulum = mbd.load(own_urdfs()["pendulum"])
    core = CoupledStep(pendulum.model, np.zeros(1))
    q, v = np.zeros(1), np.ones(1)
    for _ in range(12):
        q, v = gone(core, q, v, 10, 1e-3)
        v *= 1.5  # in place
    assert v[0] > 10.0


def test_wrong_accelerations_are_told_in_somebody_elses_loop(monkeypatch):
    """Heavier than its energy says."""
    right = simulate_step.closed_acceleration

    def wrong(model, rows, q, v, tau, *rest, **more):
        found = right(model, rows, q, v, tau, *rest, **more)
        return found._replace(a=0.9 * found.a)

    monkeypatch.setattr(simulate_step, "closed_acceleration", wrong)
    pendulum = mbd.load(own_urdfs()["pendulum"])
    core = CoupledStep(mbd.System(pendulum, torque=lambda t, q, v: -0.0 * v), np.zeros(1))
    with pytest.raises(SolveError, match="energy comes from nowhere"):
        gone(core, np.array([0.5]), np.ones(1), 60, 1e-3)


@pytest.mark.parametrize("displaced", [0.0, 1e-15, 1e-13, 1e-11, 1e-9])
def test_a_wrong_projection_is_told_in_somebody_elses_loop(monkeypatch, displaced):
    """What it leaves open grows until a step is not trusted. Where nothing singular is near, the
    steps that lead out of singular positions do not close the loops behind its back."""
    right = Closed.correction
    monkeypatch.setattr(Closed, "correction", lambda at, residual: -right(at, residual))
    monkeypatch.setenv("MBD_BRIDGE_CACHE", "off")
    core = CoupledStep(mbd.System(BAR, torque=lambda t, q, v: 0.0 * v), AT.q, AT.v)
    start = AT.q + displaced * np.random.default_rng(0).normal(size=AT.q.size)
    with pytest.raises(SolveError):
        gone(core, start, AT.v, 100, 2e-3)
