"""Derivatives of loads of all shipped machines, along one direction through every kind of input.

A random direction moves q, v, a, a wrench, numbers of links, joints and force elements and gravity
together; loops are solved anew for it in complex numbers. Options are drawn, too.
"""

import warnings

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.kernels import trace
from mbd_bridge.loads.derivatives.loops import independent_velocities, position_rates
from mbd_bridge.solve.closed_inverse import velocity_choice
from mbd_bridge.solve.loop_terms import loop_terms
from mbd_bridge.solve.row_choice import closed_positions, row_choice
from mbd_bridge.solve.spins import spun
from tests.complex_steps import derivatives, evaluated
from tests.robots import OWN
from tests.sample import TIMES
from tests.trees import random_state

H = 1e-20

EXACT = 1e-12
"""Of the largest load's derivative: rounding of some thousand operations."""

FORMED = 1e-11
"""The same between two ways of forming it."""

LARGE = {"stewart", "macpherson_car"}
"""Machines of which the products alone are compiled here, not the whole Jacobian."""

ROUNDED_FILES = {"bricard": 3e-5, "slider_crank": 1e-9}
"""Machines whose redundant rows are off as much as their files round."""

MACHINES = sorted(path.stem for path in OWN.glob("*.urdf"))


def redundant(model):
    """Whether a change of lengths may open loops."""
    return model.has_loops and row_choice(model).rank < len(model.row_scale)


def numbers_of(robot, forces, rng):
    """Return some numbers of each kind that a machine has and that are no structure."""
    bent = {part.link for part in robot.model.description.flexible}
    links = [x.name for x in robot.model.links if x.name not in bent and x.inertia.mass > 0.0]
    names = []
    for word in ("mass", "centre.x", "inertia.yy", "inertial.mz"):
        names += [f"{rng.choice(links)}.{word}"] if links else []
    owners = {name.rpartition(".")[0] for name in names if "inertial" in name}
    names = [n for n in names if "inertial" in n or n.rsplit(".", 2)[0] not in owners]
    if not (bent or redundant(robot.model)):
        names.append(f"{rng.choice(robot.joint_names)}.xyz.z")
    for element in forces:
        for word in ("stiffness", "damping"):
            if word in vars(element) and isinstance(vars(element)[word], float):
                names.append(f"{element.name}.{word}")
    return [*dict.fromkeys(names), "gravity"]


def solved(A, b):
    """Return the smallest x with A x = b, of dual numbers: LAPACK's complex one conjugates."""
    inverse = np.linalg.pinv(A.real, 1e-5)
    x = inverse @ b.real
    return x + 1j * (inverse @ (b.imag - A.imag @ x))


def loops_moved(robot, solver, state, moving, push):
    """Return q, v, a, lam with the loops solved in complex numbers, for rates of what is given."""
    model, loops = robot.model, solver.loops
    active = solver.loads.inverse.active
    free = [k for k in range(model.nv) if k not in (loops.independent or range(model.nv))]
    q, v, a = (np.array(x, dtype=complex) for x in state)
    p = solver.parameters + 1j * H * moving["p"]
    given = {"external": push + 1j * H * moving["external"]}
    E = position_rates(model, np.array(state[0]), np.eye(model.nv))
    q += E @ (1j * H * moving["q"])
    v += 1j * H * moving["v"]
    a += 1j * H * moving["a"]
    sizes = {"q": model.nq, "v": model.nv, "a": model.nv}
    sizes |= {name: len(x) for name, x in given.items()} | {"p": len(p)}

    def closed(q, v, a, *rest):
        own, _ = solver.variant(rest[-1])
        found = constraints(own, state_vectors(own, q, v))
        return found.phi, found.phi_q, found.phi_q @ v, found.phi_q @ a - found.gamma

    def balanced(q, v, a, *rest):
        own, applied = solver.variant(rest[-1])
        acts = applied.at(own, q, v, *rest[:-1])
        terms = loop_terms(own, q, v, a, acts.external, acts.along)
        spins = solver.loads.inverse.spins_in(own)
        seen = state_vectors(own, q, v)
        return terms.A, terms.b, spun(spins, own, seen, a, terms.b)[0]

    equations, terms = trace(closed, sizes), trace(balanced, sizes)
    scale, rows = model.velocity_scale, 1.0 / model.row_scale

    def at(graph):
        return evaluated(graph, {"q": q, "v": v, "a": a, **given, "p": p})

    for _ in range(3 if free else 0):
        for x, which, (chosen, free) in zip((q, v, a), (0, 2, 3), loops.levels, strict=True):
            found = at(equations)
            if x is not q or not model.velocity_rows.any():  # redundant rows take part
                chosen = range(len(rows))
            J = found[1].reshape(-1, model.nv) * rows[:, None] * scale
            step = np.zeros(model.nv, dtype=complex)
            step[free] = solved(J[chosen][:, free], (found[which] * rows)[chosen])
            step = step * scale
            x -= E @ step if x is q else step
    a[:] = at(terms)[2]
    A, b, _ = at(terms)
    passive = list(velocity_choice(model, active))
    lam = solved(A.reshape(model.nv, -1)[passive], b[passive])
    return {"q": q, "v": v, "a": a, "lam": lam / model.row_scale, **given, "p": p}


def actuated_joints_of(model):
    """Return joints of one degree of freedom that make a mechanism move, as many as it has."""
    choice, positions = row_choice(model), closed_positions(model)
    matrices = [choice.exact(J) for J in positions.phi_q[:2]]
    single = [body for body in model.bodies if body.type.nv == 1]
    passive, names = list(range(model.nv)), []
    for body in single:
        rest = [k for k in passive if k != body.v.start]
        if all(np.linalg.matrix_rank(J[:, rest], 1e-3) == choice.rank for J in matrices):
            passive, names = rest, [*names, model.joints[body.joint].name]
    several = [model.joints[body.joint].name for body in model.bodies if body.type.nv > 1]
    several = [name for name in several if not model.flexible]
    return names if len(names) == model.nv - choice.rank else [*names, *several]


@pytest.mark.parametrize("seed", range(TIMES))
@pytest.mark.parametrize("name", MACHINES)
def test_derivatives_of_shipped_machines_are_those_of_imaginary_motions(name, seed):
    warnings.simplefilter("ignore", mbd.MbdWarning)
    rng = np.random.default_rng([seed, *name.encode()])
    floating = name in ("kuka_iiwa", "pendulum") and bool(rng.integers(2))
    robot = mbd.load(OWN / f"{name}.urdf", floating=floating)
    model, options = robot.model, {}
    state, along, check = random_state(model, rng), None, True
    if model.has_loops:
        odd = bool(model.flexible) or model.velocity_rows.any()
        options["actuated"], options["minimum_norm"] = actuated_joints_of(model), True
        fixed = options["actuated"]
        if odd:  # modes have no actuators, and where a wheel has rolled no coordinate tells
            fixed = [model.velocity_names[k] for k in independent_velocities(model)]
            along = "independent"
        v, a = (dict(zip(fixed, x, strict=True)) for x in rng.uniform(-1, 1, (2, len(fixed))))
        q = closed_positions(model).q[0]
        found = robot.assemble(q, fixed=fixed, velocity=v, acceleration=a)
        state, check = (found.q, found.v, found.a), not odd
    options["on"] = str(rng.choice(["child", "parent"]))
    options["in_"] = str(rng.choice(["child", "parent", "world"]))
    options["at"] = [(0.1, -0.2, 0.3), "joint"][rng.integers(2)]
    options["reaction"] = bool(rng.integers(2))
    options["forces"] = [x for x in robot.forces if not x.states(model)]
    options["links"] = [str(rng.choice([x.name for x in model.links]))]
    by = ["q", "v", "a", "external", *numbers_of(robot, options["forces"], rng)]
    joints = [*rng.choice(robot.joint_names, min(3, len(robot.joint_names)), replace=False)]
    joints += [cut.name for cut in model.cuts[:1]]
    solver = robot.compile_derivatives(joints, by, along=along, **options)
    columns, push = solver.columns, rng.uniform(-1.0, 1.0, (1, 6))
    rates = rng.uniform(-1.0, 1.0, len(columns))
    directions = {c.name: x for c, x in zip(columns, rates, strict=True)}
    found = solver.jvp(*state, directions, push, check=check)
    assert found.trusted.all()

    sizes = {**solver.loads.kernel.inputs, "q": model.nv, "p": len(solver.parameters)}
    moving = {name: solver.seed(name, size) @ rates for name, size in sizes.items()}
    if solver.loops is None:
        arguments = dict(zip("qva", state, strict=True)) | {"external": push[0]}
        arguments |= {"point": solver.loads.point} if solver.loads.more else {}
        arguments["p"] = solver.parameters
        one = {name: x[:, None] for name, x in moving.items() if name in arguments}
        one["q"] = position_rates(model, state[0], one["q"])
        exact = [x[..., 0] for x in derivatives(solver.function, arguments, one)]
    else:
        inputs = loops_moved(robot, solver, state, moving, push[0])
        inputs |= {"point": solver.loads.point} if solver.loads.more else {}
        inputs = {x: inputs[x] for x in [*solver.loads.kernel.inputs, "p"]}
        graph = trace(solver.function, {x: len(part) for x, part in inputs.items()})
        exact = [np.imag(x) / H for x in evaluated(graph, inputs)]
    parts = [found.force, found.moment, found.actuation]
    size = max(np.abs(x).max(initial=0.0) for x in exact)
    for ours, right in zip(parts, exact, strict=False):
        known = np.isfinite(ours)
        error = np.abs(ours - right.reshape(ours.shape))[known].max(initial=0.0)
        assert error < ROUNDED_FILES.get(name, EXACT) * size

    weights = rng.uniform(-1.0, 1.0, (len(joints), 6)) * found.loads.unique
    named = dict(zip(found.names, weights, strict=True))
    backward = solver.vjp(*state, named, push, check=check)
    assert backward.trusted.all()
    forward = (weights * np.nan_to_num(found.wrench[..., 0])).sum()
    assert abs(backward.gradient @ rates - forward) < FORMED * size
    if name in LARGE:
        return
    whole = solver(*state, push, check=check)
    product = np.nan_to_num(whole.wrench) @ rates
    assert np.abs(np.nan_to_num(found.wrench[..., 0]) - product).max() < FORMED * size
    forward = np.einsum("ji,jik->k", weights, np.nan_to_num(whole.wrench))
    assert np.abs(backward.gradient - forward).max() < FORMED * (size + np.abs(forward).max())
    lanes = solver(*(np.tile(x, (9, 1)) for x in state), np.tile(push, (9, 1, 1)), check=check)
    np.testing.assert_array_equal(lanes.wrench[8], whole.wrench)
