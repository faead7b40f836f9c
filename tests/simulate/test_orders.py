"""Every integrator has the order that it says, on a closed loop and on an open chain."""

import pytest

from tests import orders


@pytest.mark.parametrize("machine", orders.MACHINES)
@pytest.mark.parametrize(("integrator", "method"), orders.FIXED)
def test_fixed_steps_converge_with_their_order(machine, integrator, method):
    expected = orders.FIXED[integrator, method]
    observed = orders.fixed(machine, integrator, method)
    assert abs(observed[-1] - expected) < 0.25, observed


@pytest.mark.parametrize("machine", orders.MACHINES)
@pytest.mark.parametrize("integrator", orders.VARIABLE)
def test_variable_steps_converge_as_their_orders_and_with_the_tolerance(machine, integrator):
    order, power = orders.variable(machine, integrator)
    least, most = orders.VARIABLE[integrator]
    assert least < order < most
    assert 0.7 < power < 1.4
