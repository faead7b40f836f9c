"""Every integrator has the order that it says, on a closed loop and on an open chain."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests import orders

PAGE = (Path(__file__).parents[2] / "docs" / "papers" / "verification.md").read_text(
    encoding="utf-8"
)


@pytest.mark.parametrize("machine", orders.MACHINES)
@pytest.mark.parametrize(("integrator", "method"), orders.FIXED)
def test_fixed_steps_converge_with_their_order(machine, integrator, method):
    expected = orders.FIXED[integrator, method]
    observed = orders.fixed(machine, integrator, method)
    assert abs(observed[-1] - expected) < 0.25, observed


@pytest.mark.parametrize("form", orders.FORMS)
def test_forms_in_the_null_space_converge_with_their_order_as_the_page_prints(form):
    scheme, expected = orders.FORMS[form]
    observed = orders.fixed(orders.MACHINES[0], scheme)
    assert abs(observed[-1] - expected) < 0.25, observed
    row = re.search(
        rf"^\| rk4, compiled \| {form} \| {expected} \| (\S+) (\S+) ", PAGE, re.MULTILINE
    )
    assert np.allclose([float(x) for x in row.groups()], observed, atol=0.03)


@pytest.mark.parametrize("machine", orders.MACHINES)
@pytest.mark.parametrize("integrator", orders.VARIABLE)
def test_variable_steps_converge_as_their_orders_and_with_the_tolerance(machine, integrator):
    order, power = orders.variable(machine, integrator)
    least, most = orders.VARIABLE[integrator]
    assert least < order < most
    assert 0.7 < power < 1.4
