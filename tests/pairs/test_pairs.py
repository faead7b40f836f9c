"""Any two options together: refused with a reason, or right by roads that share little code."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from mbd_bridge.base.errors import StateError
from mbd_bridge.functions import sin
from mbd_bridge.simulation.batch.run import simulate_batch
from mbd_bridge.simulation.rates import right_hand_side
from tests.pairs.cover import all_pairs
from tests.pairs.machines import machine
from tests.pairs.roads import PUSH, table

END, STEP, CROSSING = 0.04, 1e-3, 0.0203
TIMES = np.linspace(0.0, END, 9)

OPTIONS = {
    "kind": ("tree", "loop", "floating tree", "floating loop"),
    "cuts": ("authored", "weighted"),
    "torque": ("none", "number", "formula", "table", "function", "vector"),
    "actuation": ("none", "number", "formula", "table", "function"),
    "external": ("none", "constant", "world", "function"),
    "method": ("multipliers", "svd", "qr", "projection"),
    "integrator": ("rk4", "ab3", "abm", "scipy:DOP853"),
    "events": ("none", "seen", "terminal"),
    "check": ("yes", "no"),
    "every": ("1", "3"),
}

CLOSE = {"rk4": 1e-8, "ab3": 2e-5, "abm": 1e-6, "scipy:DOP853": 1e-6}
"""How far from SciPy's result with tight tolerances a coordinate may be, by integrator."""

EXACT = 1e-8
"""Relative: roads that ask the same states about the same motion."""

ROWS = all_pairs(OPTIONS)


def test_every_pair_of_values_is_in_some_row():
    for (one, first), (two, second) in itertools.combinations(OPTIONS.items(), 2):
        there = {(row[one], row[two]) for row in ROWS}
        assert there == set(itertools.product(first, second))


def given_torque(row, m):
    place = m.model.velocity_names.index("crank")
    vector = np.eye(m.nv)[place]
    return {
        "none": None,
        "number": {"crank": 2.0},
        "formula": {"crank": "3*sin(20*t)"},
        "table": {"crank": (TIMES, np.linspace(1.0, 3.0, len(TIMES)))},
        "function": lambda t, q, v: vector * (2.0 * sin(9.0 * t) - 0.3 * v[place]),
        "vector": 2.0 * vector,
    }[row["torque"]]


def given_motions(row):
    course = {
        "none": None,
        "number": 0.5,
        "formula": "0.5 + t + 3*t^2",
        "table": (TIMES, 0.5 + TIMES - 2.0 * TIMES**3),
        "function": lambda t: 0.5 + sin(2.0 * t),
    }[row["actuation"]]
    return {} if course is None else {"prescribed": {"crank": course}}


def given_external(row):
    return {
        "none": {},
        "constant": {"external": {"coupler": PUSH}},
        "world": {"external": {"coupler": PUSH}, "external_in": "world"},
        "function": {"external": {"coupler": lambda t, q, v: PUSH * sin(30.0 * t)}},
    }[row["external"]]


def given_events(row):
    def passes(t, q, v):
        return t - CROSSING

    passes.terminal = row["events"] == "terminal"
    return {} if row["events"] == "none" else {"events": {"passes": passes}}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(row.values()))
def test_two_options_together_are_refused_or_right(row):
    m = machine(row["kind"], row["cuts"])
    physics = {"torque": given_torque(row, m), **given_motions(row), **given_external(row)}
    if "prescribed" not in physics:
        start = m.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 1.0})
        physics |= {"q": start.q, "v": start.v}
    options = {"method": row["method"], "integrator": row["integrator"], "step": STEP}
    options |= {"check": row["check"] == "yes", "every": int(row["every"]), **given_events(row)}
    if row["integrator"].startswith("scipy") and row["method"] != "multipliers":
        with pytest.raises(StateError, match=r"integrator=.* goes with method='multipliers' only"):
            m.simulate(END, **physics, **options)
        return
    run = m.simulate(END, **physics, **options)
    assert run.finished
    if row["events"] != "none":
        assert run.events["passes"].time == pytest.approx([CROSSING], abs=1e-9)
    assert run.time[-1] == pytest.approx(CROSSING if row["events"] == "terminal" else END)
    assert_agrees_with_scipy(m, run, physics, CLOSE[row["integrator"]])
    if row["external"] == "none":
        assert_agrees_with_a_batch(m, run, physics, CLOSE[row["integrator"]])
    assert_is_its_own_dynamics(m, run)


def assert_agrees_with_scipy(m, run, physics, close):
    f = right_hand_side(m.model, span=(0.0, END), **physics)
    ends = 0.0, float(run.time[-1])
    found = solve_ivp(f, ends, f.start, "DOP853", rtol=1e-11, atol=1e-12, max_step=5e-3).y[:, -1]
    q, v = f.split(found)
    assert np.abs(run.q[-1] - q).max() < close
    assert np.abs(run.v[-1] - v).max() < 100.0 * close


def assert_agrees_with_a_batch(m, run, physics, close):
    batch = simulate_batch(m, END, step=STEP, **physics)
    assert batch.status == ("finished",)
    last = min(int(np.searchsorted(batch.time, run.time[-1] - 1e-9)), len(batch.time) - 1)
    if abs(batch.time[last] - run.time[-1]) < 1e-9:
        assert np.abs(batch.q[0, last] - run.q[-1]).max() < close


def assert_is_its_own_dynamics(m, run):
    """Forward and inverse dynamics, loads and assembly of the records say what the run says."""
    place = m.model.velocity_names.index("crank")
    tau = run.tau.copy()
    if run.prescribed_forces.names:
        tau[:, place] += run.prescribed_forces["crank"]
    pushed = {"external": run.external or None}
    states = run.q, run.v
    size = 1.0 + np.abs(run.a).max()
    assert np.abs(m.forward_dynamics(*states, tau, **pushed) - run.a).max() < EXACT * size
    own = {**pushed}
    if m.model.has_loops:
        own["actuated"] = ["crank", *(["root_joint"] if m.model.floating else [])]
    forces = m.inverse_dynamics(*states, run.a, **own)
    size = 1.0 + np.abs(forces).max()
    assert np.abs(forces - tau).max() < EXACT * size
    joints = ["crank", m.model.cuts[0].name if m.model.has_loops else "elbow"]
    loads, after = run.joint_loads(joints), m.joint_loads(*states, run.a, joints, **own)
    known = loads.unique & after.unique
    apart = np.abs(loads.wrench - after.wrench) * known
    assert apart.max() < EXACT * (1.0 + np.abs(after.wrench).max())
    again = m.assemble(
        run.q[-1], velocity=dict(zip(m.model.velocity_names, run.v[-1], strict=True))
    )
    assert np.abs(again.q - run.q[-1]).max() < EXACT


def test_which_road_takes_which_kind_of_input(tmp_path, monkeypatch):
    """The state of things: a road that takes more changes the table beside this file."""
    import pathlib

    monkeypatch.chdir(tmp_path)
    told = pathlib.Path(__file__).with_name("roads.txt").read_text(encoding="utf-8")
    assert table() == told
