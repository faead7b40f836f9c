"""NumPy's scalars in formulas are the numbers that they are: in every operation, in any order."""

import operator
from itertools import product

import numpy as np
import pytest

from mbd_bridge import functions as fn
from mbd_bridge.base.errors import KernelError, MbdError, StateError
from mbd_bridge.forces.formula import Jet, Truth
from mbd_bridge.kernels import trace
from tests.machines import four_bar

SCALARS = {
    "float64": np.float64(2.0),
    "float32": np.float32(0.1),  # no float32 may come of it: it has no digits to lose
    "int64": np.int64(3),
    "int8": np.int8(-128),  # whose negative is no int8
    "uint8": np.uint8(2),  # whose negative is 254
    "longdouble": np.longdouble(2.0),
    "0-d array": np.array(0.1, dtype=np.float32),
    "zero": np.float64(0.0),
    "true": np.bool_(True),
}
ORDERED = ("lt", "le", "gt", "ge", "eq", "ne")
OPERATORS = {name: getattr(operator, name) for name in ("add", "sub", "mul", "truediv", *ORDERED)}
CALLS = ("arctan2", "maximum", "minimum", "less", "less_equal", "greater", "greater_equal")
OPERATIONS = OPERATORS | {f"fn.{name}": getattr(fn, name) for name in (*CALLS, "equal")}
PAIRS = [
    pytest.param(OPERATIONS[name], SCALARS[key], id=f"{name} {key}")
    for name, key in product(OPERATIONS, SCALARS)
    if not (key == "0-d array" and name in ORDERED)  # arrays compare by fn.less and the like
]


def made(operation, *operands):
    """What comes of it: parts of a jet or a truth, or the kind of error."""
    try:
        found = operation(*operands)
    except (MbdError, ZeroDivisionError) as problem:
        return type(problem)
    if isinstance(found, Truth):
        return bool(found.holds)
    return tuple(float(x) for x in (found.value, found.first, found.second))


def nodes(operation, scalar, turned):
    def function(q):
        operands = (scalar, q[0]) if turned else (q[0], scalar)
        found = operation(*operands)
        return (
            np.array([fn.where(found, 1.0, 2.0) if _is_condition(found) else found + 0.0 * q[0]]),
        )

    try:
        graph = trace(function, {"q": 1})
    except KernelError as problem:
        return type(problem)
    return graph.nodes, graph.outputs


def _is_condition(x):
    return getattr(x, "conditional", False)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("operation", "scalar"), PAIRS)
def test_a_jet_takes_them_as_floats(operation, scalar):
    jet, number = Jet(1.3, 0.7, -0.4), float(scalar)
    assert made(operation, jet, scalar) == made(operation, jet, number)
    assert made(operation, scalar, jet) == made(operation, number, jet)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("operation", "scalar"), PAIRS)
def test_a_symbol_takes_them_as_floats(operation, scalar):
    for turned in (False, True):
        assert nodes(operation, scalar, turned) == nodes(operation, float(scalar), turned)


@pytest.mark.parametrize("power", [2, np.float64(2), np.int32(2), np.uint8(2), np.array(2.0)])
def test_powers_may_be_numpy_scalars(power):
    jet = Jet(1.3, 0.7, -0.4)
    assert made(operator.pow, jet, power) == made(operator.mul, jet, jet)
    assert nodes(operator.pow, power, False) == nodes(operator.pow, 2, False)


@pytest.mark.parametrize("base", [2.0, np.float64(2.0), np.array(2.0)])
def test_a_power_with_a_variable_exponent_says_what_to_write(base):
    with pytest.raises(StateError, match=r"exp\(p \* log\(x\)\)"):
        base ** Jet(1.0)
    with pytest.raises(KernelError, match=r"exp\(p \* log\(x\)\)"):
        trace(lambda q: (np.array([base ** q[0]]),), {"q": 1})


@pytest.mark.parametrize("truth", [True, np.bool_(True)])
def test_truths_combine_with_conditions_in_any_order(truth):
    late = Jet(1.0) > 2.0
    assert not (truth & late).holds and not (late & truth).holds
    assert (truth | late).holds and (late | truth).holds


def bar():
    return four_bar(1, 2, 1.7, 2.5)


def run(number, **options):
    """A motion with this kind of number in every input that takes a formula or a number."""
    machine = bar()
    at = machine.assemble({"crank": 0.5}, fixed="crank")
    two = number(2)
    return machine.simulate(
        0.05,
        q=at.q,
        v=at.v,
        outputs={"told": lambda t, q, v: two * q[0] + t / two - two},
        **options,
    )


ROADS = {
    "torque": lambda n: {"torque": lambda t, q, v: [n(2) * t - v[0] / n(2), n(0), n(1) * q[1]]},
    "torque by name": lambda n: {"torque": {"crank": lambda t, q, v: n(2) - n(2) * v[0]}},
    "number": lambda n: {"torque": {"crank": n(2)}},
    "wrench": lambda n: {
        "external": {"coupler": lambda t, q, v: [n(2) * t, n(0), 1 / n(2), n(0), n(1) - t, n(0)]}
    },
    "motion": lambda n: {
        "prescribed": {"crank": lambda t: 0.5 + n(2) * t ** n(2) - t**2 * n(2) + t / n(2) * n(0)}
    },
}


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("number", [np.float32, np.int64, np.uint8, np.float64])
def test_every_input_of_a_run_takes_them(road, number):
    one, two = run(number, **ROADS[road](number)), run(float, **ROADS[road](float))
    assert np.array_equal(one.q, two.q) and np.array_equal(one.v, two.v)
    assert np.array_equal(one.outputs["told"], two.outputs["told"])


@pytest.mark.parametrize("number", [np.float32, np.float64, np.int64])
def test_parameters_may_be_numpy_scalars(number):
    machine = bar()
    at = machine.assemble({"crank": 0.5}, fixed="crank")
    one, two = (
        machine.simulate(0.05, q=at.q, parameters={"coupler.mass": n(3)}).q for n in (number, float)
    )
    assert np.array_equal(one, two)
