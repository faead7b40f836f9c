"""Formulas of time as texts: what they mean, that nothing else is read, and what they prescribed
motion.
"""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from mbd_bridge.base.errors import MbdError, StateError
from mbd_bridge.forces.formula import DEEPEST, LONGEST, Formula, Jet
from tests.machines import four_bar

TEXTS = {
    "2*pi*t": lambda t: 2 * np.pi * t,
    "2 pi t": lambda t: 2 * np.pi * t,
    "30deg": lambda t: np.pi / 6,
    "-t^2 + 3*t**3 - 1": lambda t: -(t**2) + 3 * t**3 - 1,
    "(1 + t)/(2 - cos(t))": lambda t: (1 + t) / (2 - np.cos(t)),
    "1.5e-1 * sin(2Hz t) * sqrt(1 + t)": lambda t: 0.15 * np.sin(4 * np.pi * t) * np.sqrt(1 + t),
    "--t - -2": lambda t: t + 2,
    "tan(t/3)": lambda t: np.tan(t / 3),
    "60 rpm t": lambda t: 2 * np.pi * t,
    "2 - 3 - 4": lambda t: -5.0,
    "8/4/2 t": lambda t: t,
    "exp(-t) + log(2 + t) tanh(3t)": lambda t: np.exp(-t) + np.log(2 + t) * np.tanh(3 * t),
    "asin(t/3) acos(t/4) + atan(2t)": lambda t: (
        np.arcsin(t / 3) * np.arccos(t / 4) + np.arctan(2 * t)
    ),
    "atan2(t - 2, t^2 + 1)": lambda t: np.arctan2(t - 2, t**2 + 1),
    "abs(t - 1)^3 + sign(t - 1)": lambda t: abs(t - 1) ** 3 + np.sign(t - 1),
    "max(min(t, 0.5), sin(t))": lambda t: np.maximum(np.minimum(t, 0.5), np.sin(t)),
    "step(t, 0.2, 1, 0.2 + 1, -3)": lambda t: 1 - 4 * _rise(t - 0.2),
    "step(t^2, 0, 0, 1, 1)": lambda t: _rise(t * t),
}


def _rise(u):
    u = np.clip(u, 0, 1)
    return u**3 * (10 - 15 * u + 6 * u**2)


@pytest.mark.parametrize("text", TEXTS)
def test_a_formula_means_what_it_says_with_both_derivatives(text):
    f, expected, d = Formula(text), TEXTS[text], 1e-4
    for t in (-0.5, 0.1, 0.3, 0.9, 1.7):
        jet = f(Jet(t, 1.0, 0.0))
        if not isinstance(jet, Jet):
            jet = Jet(jet)
        assert np.isclose(f(t), expected(t), rtol=1e-14, atol=1e-15)
        assert np.isclose(jet.value, expected(t), rtol=1e-14, atol=1e-15)
        first = (expected(t + d) - expected(t - d)) / (2 * d)
        second = (expected(t + d) - 2 * expected(t) + expected(t - d)) / d**2
        assert np.isclose(jet.first, first, atol=1e-5)
        assert np.isclose(jet.second, second, atol=1e-4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2*pit", r"character 3: no name named 'pit'; did you mean 'pi'"),
        ("", "got 'the end'"),
        ("2*", "got 'the end'"),
        ("(1", r"expected '\)'"),
        ("1)", "expected an operation"),
        ("sin t", r"expected '\('"),
        ("sin(1, 2)", "takes 1 arguments, got 2"),
        ("t^t", "whole power"),
        ("t^1000", "whole power"),
        ("t^-1", "whole power"),
        ("step(t, 1, 0, 0, 1)", "x1 > x0"),
        ("step(t, t, 0, 1, 1)", "are numbers"),
        ("sinh(t)", "no name named 'sinh'; did you mean 'sin'.*\\? A formula is made of t"),
        ("__import__('os')", "no name|no meaning"),
        ("t.real", "no meaning here"),
        ("t if t else 1", "no name named 'if'"),
        ("[t]", "no meaning here"),
        ("t;t", "no meaning here"),
        ("9" * (LONGEST + 1), "at most"),
        ("(" * (DEEPEST + 1) + "t" + ")" * (DEEPEST + 1), "nested deeper"),
    ],
)
def test_what_is_no_formula_is_explained(text, message):
    with pytest.raises(StateError, match=message):
        Formula(text)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="t()+-*/^,. 0123456789eEsincoqrtpdg_[]'\"=:;\n", max_size=60))
def test_any_text_is_a_formula_or_an_error_of_ours(text):
    try:
        value = Formula(text)(0.5)
    except MbdError:
        return
    assert isinstance(value, float | int | np.floating)


def test_formulas_prescribed_motion_and_push_as_functions_do():
    bar = four_bar(1, 2, 1.7, 2.5)
    texts = {"prescribed": {"crank": "0.5 + 2*t"}, "torque": {"wrist": "5*sin(3*t)"}}

    def push(t, q, v):
        out = np.zeros(3, dtype=np.asarray(t).dtype)
        out[2] = 5 * np.sin(3 * t)
        return out

    a = bar.simulate(0.5, **texts, every=50)
    b = bar.simulate(0.5, prescribed={"crank": lambda t: 0.5 + 2 * t}, torque=push, every=50)
    assert np.abs(a.q - b.q).max() < 1e-14
    assert np.abs(a.prescribed_forces["crank"] - b.prescribed_forces["crank"]).max() < 1e-11
    assert np.allclose(a.tau[:, 2], 5 * np.sin(3 * a.time), atol=1e-15)
    times = np.linspace(0, 0.5, 101)
    table = {"crank": 1.0, "wrist": (times, 5 * np.sin(3 * times))}
    c = bar.simulate(0.5, prescribed=texts["prescribed"], torque=table, every=50)
    assert np.abs(c.tau - b.tau - [1.0, 0, 0]).max() < 1e-6


def test_formulas_push_in_a_batch():
    bar = four_bar(1, 2, 1.7, 2.5)
    q = bar.assemble({"crank": 0.5}, fixed="crank").q
    push = {"crank": "20*cos(t)"}
    batch = bar.simulate(0.2, q=[q, q], torque=push, every=50)
    one = bar.simulate(0.2, q=q, torque=push, every=50)
    assert np.abs(batch.q[1] - one.q).max() < 1e-12


@pytest.mark.parametrize("torque", [{"crank": "fast"}, {"crank": ([0, 1],)}, {"crank": np.nan}])
def test_forces_that_mean_nothing_are_explained(torque):
    with pytest.raises(StateError, match="torque"):
        four_bar().simulate(0.1, torque=torque)
