"""Claims about formulas: equal to the equations, and to those that sympy derives by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy
from sympy.physics import mechanics

import mbd_bridge as mbd
from mbd_bridge.applications.formulas import structure
from mbd_bridge.cli import main
from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.state_vectors import state_vectors

EXACT = [
    *("pendulum", "four_bar", "slider_crank", "crank_rocker", "geared_five_bar", "bricard"),
    *("knee_linkage_leg", "rssr", "spatial_slider_crank"),
]


def equations_of(robot: Any, **options: Any) -> Callable[..., Any]:
    """Return the function of a mechanism's generated Python."""
    names: dict[str, Any] = {}
    exec(robot.symbolic(**options).python(), names)
    function: Callable[..., Any] = names["equations"]
    return function


def differences(robot: Any, function: Callable[..., Any], q: Any, v: Any) -> list[float]:
    """Return how far the formulas are from the equations, relative to the largest entry."""
    M, C, G, K, phi, phi_q = function(q)
    own = constraints(robot.model, state_vectors(robot.model, q, v))
    bias = C @ v @ v + K @ q + G
    pairs = [
        (M, robot.mass_matrix(q)),
        (bias, robot.bias_forces(q, v)),
        (phi, own.phi),
        (phi_q, own.phi_q),
    ]
    return [
        float(np.abs(a - b).max(initial=0.0) / max(np.abs(b).max(initial=0.0), 1e-3))
        for a, b in pairs
    ]


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("parameters", [(), None], ids=["numbers", "symbols"])
def test_formulas_are_the_equations(name: str, parameters: Any) -> None:
    robot = mbd.load(mbd.models()[name])
    function, rng = equations_of(robot, parameters=parameters), np.random.default_rng(1)
    for _ in range(3):
        q, v = rng.uniform(-1.0, 1.0, (2, robot.nv))
        assert max(differences(robot, function, q, v)) < 1e-12


def test_a_symbol_takes_another_value() -> None:
    robot = mbd.load(mbd.models()["four_bar"])
    function = equations_of(robot)
    q = np.array([0.3, -0.4, 0.7])
    heavy = robot.with_payload("coupler", 2.0, (0.5, 0.0, 0.0))  # at its centre: mass alone
    M = function(q, m_coupler=3.0)[0]
    assert np.allclose(M, heavy.mass_matrix(q), rtol=1e-13)


def double_pendulum() -> mbd.Mechanism:
    parts = mbd.Builder("double")
    parts.joint("a", "revolute", "base", "upper", axis=(0, -1, 0))
    parts.joint("b", "revolute", "upper", "lower", axis=(0, -1, 0), xyz=(0, 0, -0.8))
    parts.link("upper", mass=1.5, centre=(0, 0, -0.3), inertia=(0.1, 0.2, 0.05))
    parts.link("lower", mass=0.7, centre=(0, 0, -0.2), inertia=(0.03, 0.04, 0.01))
    return mbd.Mechanism.build(parts)


def test_sympy_derives_the_same_from_its_own_lagrangian() -> None:
    """An arm of two links, by `sympy.physics.mechanics`, from positions that we write here."""
    found = double_pendulum().symbolic()
    m1, c1, J1, m2, c2, J2, length, g = sympy.symbols(
        "m_upper cz_upper Iyy_upper m_lower cz_lower Iyy_lower z_b g_z", real=True
    )
    a, b = mechanics.dynamicsymbols("a b")
    time = mechanics.dynamicsymbols._t
    first = sympy.Matrix([c1 * -sympy.sin(a), c1 * sympy.cos(a)])
    elbow = sympy.Matrix([-length * sympy.sin(a), length * sympy.cos(a)])
    second = elbow + c2 * sympy.Matrix([-sympy.sin(a + b), sympy.cos(a + b)])
    speeds = [sum(x**2 for x in point.diff(time)) for point in (first, second)]
    T = (m1 * speeds[0] + m2 * speeds[1] + J1 * a.diff(time) ** 2) / 2
    T += J2 * (a.diff(time) + b.diff(time)) ** 2 / 2
    U = -g * (m1 * first[1] + m2 * second[1])
    method = mechanics.LagrangesMethod(T - U, [a, b])
    method.form_lagranges_equations()
    qa, qb, va, vb = sympy.symbols("q_a q_b v_a v_b", real=True)
    plain = [(a.diff(time), va), (b.diff(time), vb), (a, qa), (b, qb)]
    M = method.mass_matrix.subs(plain)
    assert sympy.simplify(M - found.sympy("M")) == sympy.zeros(2, 2)
    bias = -method.forcing.subs(plain)
    v = sympy.Matrix([va, vb])
    ours = found.sympy("G") + sympy.Matrix([(v.T * C * v)[0] for C in found.sympy("C")])
    assert sympy.simplify(sympy.expand_trig(bias - ours)) == sympy.zeros(2, 1)


def test_a_four_bar_moves_by_sympys_equations_with_its_closing_force() -> None:
    """q̈ and λ of the closed loop: sympy's Lagrangian in absolute coordinates, and ours."""
    robot = mbd.load(mbd.models()["four_bar"])
    state = robot.assemble({"crank": 0.4}, velocity={"crank": 1.3}, fixed=["crank"])
    M, C, G, _, _, phi_q = equations_of(robot)(state.q)
    v = state.v
    run = robot.simulate(1e-4, q=state.q, v=v, step=1e-4)
    rows = phi_q[np.abs(phi_q).max(axis=1) > 0]
    # sympy: three bars of one length by their absolute angles from the vertical
    x, y, w = (sympy.Function(name) for name in "xyw")
    t = sympy.Symbol("t")
    angles = [f(t) for f in (x, y, w)]
    up = lambda f: sympy.Matrix([sympy.sin(f), sympy.cos(f)])  # noqa: E731
    level = lambda f: sympy.Matrix([sympy.cos(f), -sympy.sin(f)])  # noqa: E731
    centres = [up(angles[0]) / 2, up(angles[0]) + level(angles[1]) / 2, up(angles[2]) / 2]
    J = [sympy.Rational(1, 12)] * 3
    T = sum(
        (sum(c.diff(t).applyfunc(lambda u: u**2)) + j * f.diff(t) ** 2) / 2
        for c, j, f in zip(centres, J, angles, strict=True)
    )
    U = sympy.Float(9.81) * sum(c[1] for c in centres)
    loop = up(angles[0]) + level(angles[1]) - up(angles[2])  # less the base: a constant
    L = T - U
    accelerations = [f.diff(t, 2) for f in angles]
    equations = [L.diff(f.diff(t)).diff(t) - L.diff(f) for f in angles]
    crank, elbow, rocker = state.q
    now = dict(zip(angles, (crank, crank + elbow, rocker), strict=True))
    rates = dict(zip([f.diff(t) for f in angles], (v[0], v[0] + v[1], v[2]), strict=True))
    unknown = sympy.symbols("a1:4 l1:3")
    plain = dict(zip(accelerations, unknown, strict=False))
    jacobian = loop.jacobian(angles)
    closing = loop.diff(t, 2)
    system = [
        (e + (jacobian.T * sympy.Matrix(unknown[3:]))[k]) for k, e in enumerate(equations)
    ] + list(closing)
    solved = sympy.solve([e.subs(plain).subs(rates).subs(now) for e in system], unknown)
    theirs = np.array([float(solved[one]) for one in unknown])
    ours = run.a[0]
    assert ours[0] == pytest.approx(theirs[0], rel=1e-9)
    assert ours[0] + ours[1] == pytest.approx(theirs[1], rel=1e-9)
    assert ours[2] == pytest.approx(theirs[2], rel=1e-9)
    residual = M @ ours + C @ v @ v + G
    lam = np.linalg.lstsq(rows.T, -residual, rcond=None)[0]
    assert np.abs(rows.T @ lam + residual).max() < 1e-10
    assert np.linalg.norm(lam) == pytest.approx(np.linalg.norm(theirs[3:]), rel=1e-9)
    pin = run.joint_loads("coupler_pin").force[0, 0]
    assert np.linalg.norm(pin) == pytest.approx(np.linalg.norm(theirs[3:]), rel=1e-9)


def flexible_arm() -> mbd.Mechanism:
    parts = mbd.Builder("arm")
    tube = mbd.flexible.Section.tube(0.05, 0.045)
    modes = mbd.flexible.Modes("clamped-free", bending_y=2)
    for name, before, at in (("lower", "base", (0, 0, 0)), ("upper", "lower", (2, 0, 0))):
        beam = mbd.flexible.Beam((0, 0, 0), (2, 0, 0), E=70e9, G=26e9, density=2700, section=tube)
        parts.joint(f"{name}_hinge", "revolute", before, name, axis=(0, 0, 1), xyz=at)
        parts.flexible(mbd.flexible.FlexibleLink(name, beam, modes))
    parts.link("tool", mass=1.0)
    parts.joint("flange", "fixed", "upper", "tool", xyz=(2, 0, 0))
    return mbd.Mechanism.build(parts, gravity=(0, -9.81, 0))


def test_formulas_of_flexible_links_are_right_to_their_order() -> None:
    robot = flexible_arm()
    rng = np.random.default_rng(0)
    q = rng.uniform(-1.0, 1.0, robot.nv)
    elastic = list(robot.symbolic(()).elastic)
    for order, rate in ((1, 2), (2, 3)):
        function = equations_of(robot, parameters=(), order=order)
        errors = []
        for size in (1e-2, 1e-3):
            small = q.copy()
            small[elastic] *= size
            M = function(small)[0]
            errors.append(np.abs(M - robot.mass_matrix(small)).max())
        assert np.log10(errors[0] / errors[1]) == pytest.approx(rate, abs=0.15)


def test_the_structure_is_that_of_the_paper() -> None:
    rigid = structure(double_pendulum().symbolic())
    assert (rigid.entries, rigid.by_symmetry, rigid.nonzero, rigid.different) == (8, 6, 3, 1)
    assert rigid.zero_34 == rigid.of_34
    assert rigid.holds_35 == rigid.of_35
    flexible = flexible_arm().symbolic(())
    found = structure(flexible)
    assert found.of_35 > found.holds_35  # "not always valid for flexible arms"
    C = flexible.C
    assert all(C[i, j, k].terms == C[i, k, j].terms for i, j, k in np.ndindex(C.shape))
    modes = list(flexible.elastic)
    last = modes[-2:]  # the modal mass of the last link depends on no deflection
    assert not any(C[i, j, k] for i in last for j in last for k in modes)
    assert "|" in str(found)


def test_what_cancels_is_zero_and_not_rounding() -> None:
    robot = mbd.load(mbd.models()["kuka_iiwa"])
    found = robot.symbolic(())
    assert not found.M[5, 6]  # the wrist's roll axis meets the pitch axis at a right angle
    assert not found.G[0]  # the first axis is vertical
    tiny = [abs(c) for one in found.M.flat for c in one.terms.values()]
    assert min(tiny) > 1e-12


@pytest.mark.parametrize(
    ("robot", "options", "words"),
    [
        ("stewart", {}, "quaternions"),
        ("humanoid", {}, "nobody reads"),
        ("four_bar", {"parameters": ["copler.mass"]}, "no number of this mechanism named"),
        ("whipple_bicycle", {}, "velocity rows|quaternions"),
    ],
)
def test_mechanisms_without_readable_equations_are_refused(
    robot: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(mbd.MbdError, match=words):
        mbd.load(mbd.models()[robot]).symbolic(**options)


def test_the_shell_prints_text_latex_python_and_structure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = str(mbd.models()["four_bar"])
    found = mbd.load(path).symbolic()
    assert main(["symbolic", path]) == 0
    assert capsys.readouterr().out.strip() == found.text().strip()
    assert main(["symbolic", path, "--format", "latex", "--what", "M"]) == 0
    assert capsys.readouterr().out.startswith(r"\[ M = \left[\begin{matrix}")
    assert main(["symbolic", path, "--format", "python"]) == 0
    assert compile(capsys.readouterr().out, "four_bar.py", "exec")
    assert main(["symbolic", path, "--structure"]) == 0
    assert "symmetry (33) leaves 18" in capsys.readouterr().out
    assert main(["symbolic", path, "--what", "Q"]) == 2
    assert "no matrix named 'Q'" in capsys.readouterr().err
