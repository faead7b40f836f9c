"""Steps with one matrix each: accelerations are corrected with it, too (Lee94 (30))."""

import re
from pathlib import Path

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError
from mbd_bridge.integrators import KeptMatrix
from mbd_bridge.model.spatial import Frame
from mbd_bridge.simulation.start import independent_rows
from mbd_bridge.solve.closed import needs_support
from tests.benchmarks import kept_matrix
from tests.machines import rssr
from tests.robots import OWN
from tests.simulate.starts import STARTS

SCHEMES = ("rk4", KeptMatrix())
PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "speed.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["crank_rocker", "bricard", "rssr", "stewart"])
def test_steps_come_to_the_motion_of_those_that_form_each_matrix(name):
    machine = mbd.load(OWN / f"{name}.urdf")
    at = machine.assemble(**STARTS[name])
    start = {"q": at.q, "v": at.v, "every": 50}
    finer = machine.simulate(0.2, step=5e-4, **start)
    whole, kept = (machine.simulate(0.2, step=1e-3, integrator=i, **start) for i in SCHEMES)
    errors = [np.abs(run.q[-1] - finer.q[-1]).max() for run in (whole, kept)]
    assert errors[1] < 5.0 * errors[0] + 1e-11
    assert kept.closure.max() < 1e-15 + 3.0 * whole.closure.max()
    assert kept.facts["factorisations"] == kept.steps == 200


def massless():
    """A rocker-crank whose coupler weighs nothing: M is singular, the rows support it."""
    b, y = mbd.Builder("light", root="ground"), (0, 1, 0)
    before, place = "ground", (0, 0, 0)
    for name, length, mass in (("crank", 1.0, 1.0), ("coupler", 2.0, 0.0), ("rocker", 1.7, 2.0)):
        b.link(name, mass, (length / 2, 0, 0), mass * np.array([0, 1, 1]) * length**2 / 12)
        if name != "rocker":
            b.joint(name, "revolute", before, name, place, axis=y)
            before, place = name, (length, 0, 0)
    b.joint("rocker", "revolute", "ground", "rocker", (2.5, 0, 0), axis=y)
    ends = ("coupler", Frame.from_rpy(place)), ("rocker", Frame.from_rpy((1.7, 0, 0)))
    b.loop("pin", "revolute", *ends, axis=y)
    return mbd.Mechanism.build(b)


def test_links_without_mass_and_prescribed_motions_go_along():
    light = massless()
    assert needs_support(light.model)
    at = light.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 4.0})
    prescribed = {"prescribed": {"crank": "0.5 + 2*t + t^2"}}
    for machine, given in ((light, {"q": at.q, "v": at.v}), (rssr(), prescribed)):
        one, other = (machine.simulate(0.2, step=1e-3, integrator=i, **given) for i in SCHEMES)
        assert np.abs(one.q - other.q).max() < 1e-8
        assert np.abs(one.v - other.v).max() < 1e-6


@pytest.mark.parametrize("name", ["crank_rocker", "rssr", "kuka_iiwa"])
def test_a_step_needs_the_operations_that_the_page_prints(name):
    system, q, v = kept_matrix.system_of(name)
    counts = kept_matrix.operations(system, independent_rows(system.model, q, None, v))
    row = re.search(rf"^\| [^|`]+`{name}` \| (\d+) \| (\d\.\d\d) times ", PAGE, re.MULTILINE)
    assert int(row[1]) == counts[0]
    assert float(row[2]) == round(counts[1] / counts[0], 2)


def test_derivatives_of_a_motion_are_those_of_steps_that_form_each_matrix():
    """Forward and backward: the memory is part of what is derived."""
    machine = mbd.load(OWN / "crank_rocker.urdf")
    at = machine.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 4.0})
    ends = []
    for integrator in SCHEMES:
        solver = machine.compile_simulation_derivatives(0.1, ["v"], integrator=integrator)
        backward = solver.gradient(lambda t, q, v: q[0])(at.q, at.v).gradient
        assert np.allclose(backward, solver(at.q, at.v).d_q[-1, 0], rtol=1e-10)
        ends.append(backward)
    assert np.allclose(*ends, rtol=1e-5)
    assert not np.array_equal(*ends)


def test_what_does_not_go_with_a_kept_matrix_is_refused():
    machine = mbd.load(OWN / "crank_rocker.urdf")
    for given, said in (
        ({"integrator": KeptMatrix(), "method": "svd"}, "goes with method='multipliers' only"),
        ({"integrator": KeptMatrix(), "reference": True}, "reference=True goes with integrator="),
        ({"integrator": KeptMatrix(), "history": True}, "history=True goes with integrator="),
    ):
        with pytest.raises(MbdError, match=said):
            machine.simulate(0.1, **given)
    with pytest.raises(MbdError, match="KeptMatrix: corrections: "):
        KeptMatrix(0)
