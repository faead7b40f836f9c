"""Integrators of a user's, one file each: on every road, as ours."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import ExtensionError, StateError
from mbd_bridge.base.extensions import register
from mbd_bridge.integrators import Integrator
from mbd_bridge.simulation.steps.schemes import RK4
from tests.fmu.importer import Importer
from tests.machines import four_bar, turning

BAR, AT = turning(four_bar(1, 2, 2.5, 2.5), 6.0)
START = {"q": AT.q, "v": AT.v}
JUMP = {"torque": {"crank": ([0.0, 0.05, 0.05, 1.0], [0.0, 4.0, 9.0, -4.0])}}


@dataclass(frozen=True)
class Heun(Integrator):
    order = 2

    def step(self, f, x, h, memory):
        first = f(0.0, x)
        return x + h / 2 * (first + f(1.0, x + h * first)), memory


@dataclass(frozen=True)
class Kutta(Integrator):
    """Of the third order."""

    order = 3

    def step(self, f, x, h, memory):
        one = f(0.0, x)
        two = f(0.5, x + h / 2 * one)
        three = f(1.0, x + h * (2 * two - one))
        return x + h / 6 * (one + 4 * two + three), memory


@dataclass(frozen=True)
class AdamsBashforth2(Integrator):
    order: ClassVar[int] = 2
    remembers = True

    def start(self, f, x):
        return f(0.0, x)

    def step(self, f, x, h, memory):
        rate = f(0.0, x)
        return x + h / 2 * (3 * rate - memory), rate


@dataclass(frozen=True)
class Written(Integrator):
    """Runge-Kutta's, as it is written down for methods run from Python."""

    order = 4

    def step(self, f, x, h, memory):
        return RK4.step(f, x, h, memory)


@dataclass(frozen=True)
class Thirds(Integrator):
    """Ralston's, of the second order."""

    order = 2

    def step(self, f, x, h, memory):
        first = f(0.0, x)
        return x + h / 4 * (first + 3 * f(2 / 3, x + h * (2 / 3) * first)), memory


def run(integrator, step=1e-3, **options):
    return BAR.simulate(0.2, step=step, integrator=integrator, **START, **options)


@pytest.mark.parametrize("scheme", [Heun(), Kutta(), AdamsBashforth2()])
def test_it_has_its_order_and_the_same_digits_on_every_compiled_road(tmp_path, scheme):
    exact = run("rk4", 1e-4, **JUMP).q[-1]
    errors = []
    for step in (1e-3, 5e-4):
        alone = run(scheme, step, **JUMP)
        errors.append(np.abs(alone.q[-1] - exact).max())
    assert np.log2(errors[0] / errors[1]) > scheme.order - 0.35, errors
    many = {"q": [AT.q] * 3, "v": [AT.v] * 3}
    batch = BAR.simulate(0.2, step=step, integrator=scheme, **many, **JUMP)
    system = mbd.System(BAR, **JUMP)
    paced = mbd.RealTime(system, step=step, integrator=scheme, **START).run(0.2, rate=1e9)
    for other in (batch.q[1], paced.q):
        assert np.array_equal(other, alone.q)
    if scheme.remembers:
        return
    system.export_fmu(tmp_path / "own.fmu", step=step, integrator=scheme, **START)
    with Importer(tmp_path / "own.fmu") as fmu:
        fmu.start()
        fmu.step(0.0, 0.2)
        assert np.array_equal(fmu.get("q."), alone.q[-1])


@pytest.mark.parametrize("method", ["svd", "qr", "multipliers", "projection"])
def test_methods_in_python_run_it(method):
    """Its rates and its order; what is put back onto the loops differs with the method."""
    differences = [
        np.abs(
            run(Heun(), step).q[-1] - run(Heun(), step, method=method, reference=True).q[-1]
        ).max()
        for step in (1e-3, 5e-4)
    ]
    assert differences[0] < 1e-4 and np.log2(differences[0] / differences[1]) > 1.6, differences


def test_the_history_of_a_run_tells_its_order():
    history = run(Kutta(), history=True).history
    assert len(history) == 200
    assert set(history.order) == {3}


def test_runge_kutta_written_down_has_the_digits_of_ours():
    """Past a singular position, too."""
    bar = four_bar()
    start = bar.assemble({"crank": 0.5}, fixed="crank").q
    one, two = (bar.simulate(2.0, q=start, integrator=x) for x in ("rk4", Written()))
    assert one.detours == two.detours > 0
    assert np.abs(one.q - two.q).max() < 1e-9
    one, two = (run(x, **JUMP) for x in ("rk4", Written()))
    assert np.abs(one.q - two.q).max() < 1e-13
    assert two.facts["balance"] < 1e-9


def test_two_formulas_of_one_name_are_not_taken_for_each_other():
    @dataclass(frozen=True)
    class Heun(Integrator):
        order = 1

        def step(self, f, x, h, memory):
            return x + h * f(0.0, x), memory

    before, euler = run(globals()["Heun"]()), run(Heun(), check=False)
    assert np.abs(before.q[1] - euler.q[1]).max() > 1e-7
    assert np.array_equal(run(globals()["Heun"]()).q, before.q)


def test_it_is_registered_by_name():
    register("integrators", "heun", Heun())
    assert np.array_equal(run("heun").q, run(Heun()).q)
    with pytest.raises(StateError, match=r"heum.* is not known; use one of .*heun"):
        run("heum")
    register("integrators", "class", Heun)
    with pytest.raises(ExtensionError, match=r"expected an integrator, a value such as Heun\(\)"):
        run("class")


def test_tables_are_known_at_three_times_of_a_step():
    assert np.abs(run(Thirds()).q - run(Heun()).q).max() < 1e-4
    with pytest.raises(StateError, match=r"f\(0.666.*tables are known at the start"):
        run(Thirds(), **JUMP)


def test_a_memory_that_cannot_be_begun_anew_is_refused(tmp_path):
    with pytest.raises(StateError, match="an FMU cannot begin the memory of AdamsBashforth2"):
        BAR.export_fmu(tmp_path / "own.fmu", integrator=AdamsBashforth2(), **START)


def test_a_step_of_another_size_is_refused():
    @dataclass(frozen=True)
    class Short(Integrator):
        order = 1

        def step(self, f, x, h, memory):
            return x[:-1] + h * f(0.0, x)[:-1], memory

    with pytest.raises(StateError, match=r"Short\.step: expected x of shape"):
        run(Short())


@pytest.mark.parametrize("method", ["multipliers", "svd"])
def test_a_checkpoint_of_another_formula_is_refused(tmp_path, method):
    @dataclass(frozen=True)
    class Heun(Integrator):
        order = 1

        def step(self, f, x, h, memory):
            return x + h * f(0.0, x), memory

    kept = {"method": method, "checkpoint": tmp_path / "run.npz", "check": False}
    run(globals()["Heun"](), **kept)
    with pytest.raises(mbd.errors.FileError, match="another simulation"):
        run(Heun(), **kept)
