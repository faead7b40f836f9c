"""pinocchio's rigid constraints: accelerations, multipliers, and the joint forces it lacks."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import assume, given, strategies as st

import mbd_bridge as mbd
from mbd_bridge.base.errors import ModelError
from mbd_bridge.engines import pinocchio as bridge
from mbd_bridge.model import build_model
from tests.machines import four_bar
from tests.sample import sample
from tests.tolerances import LOOPS
from tests.trees import random_tree

SEEDS = st.integers(0, 2**32 - 1)
KINDS = ("revolute", "prismatic", "continuous", "spherical", "universal", "cylindrical", "helical")
FRAMES = (pin.LOCAL, pin.LOCAL_WORLD_ALIGNED)
POINT, WELD = pin.ContactType.CONTACT_3D, pin.ContactType.CONTACT_6D


def ours_says(model, q, v, tau, constraints):
    """Accelerations and multipliers by the same call here, and forces on joints."""
    data = model.createData()
    a = bridge.constraintDynamics(model, data, q, v, tau, constraints)
    return a, data.lambda_c, np.array([force.vector for force in data.f])


def closed_at(model, q, kind, first, second, frame, rng):
    """A constraint between two joints that is closed at q."""
    data = model.createData()
    pin.forwardKinematics(model, data, q)
    end = pin.SE3.Random()
    end.translation = rng.uniform(-0.5, 0.5, 3)
    there = data.oMi[first].actInv(data.oMi[second] * end)
    return pin.RigidConstraintModel(kind, model, first, there, second, end, frame)


def pinocchio_says(model, q, v, tau, constraints):
    """Accelerations, multipliers and the Jacobian of the constraints."""
    models = pin.StdVec_RigidConstraintModel()
    datas = pin.StdVec_RigidConstraintData()
    for constraint in constraints:
        models.append(constraint)
        datas.append(constraint.createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, models, datas)
    proximal = pin.ProximalSettings(1e-14, 1e-12, 200)
    a = pin.constraintDynamics(model, data, q, v, tau, models, datas, proximal).copy()
    lam = data.lambda_c.copy()
    return a, lam, pin.getConstraintsJacobian(model, data, models, datas)


def allowed(model, q, constraints, rng):
    """A velocity that the constraints allow, and the Jacobian's singular values."""
    none = np.zeros(model.nv)
    _, _, J = pinocchio_says(model, q, none, none, constraints)
    _, s, Vt = np.linalg.svd(J)
    rank = int(np.sum(s > 1e-9 * s.max()))
    return Vt[rank:].T @ rng.normal(size=model.nv - rank), s


@sample(5)
@given(SEEDS)
def test_random_machines_move_as_with_constraint_dynamics(seed):
    rng = np.random.default_rng(seed)
    pin.seed(seed % 2**31)
    floating = bool(rng.uniform() < 0.5)
    ours = build_model(random_tree(rng, 7, KINDS).description(), floating=floating)
    model = bridge.to_pinocchio(ours).model
    q = pin.integrate(model, pin.neutral(model), rng.uniform(-1, 1, model.nv))
    constraints = []
    for _ in range(int(rng.integers(1, 3))):
        first, second = rng.choice(model.njoints, 2, replace=False)
        kind = (POINT, WELD)[int(rng.integers(2))]
        frame = FRAMES[int(rng.integers(2))]
        constraints.append(closed_at(model, q, kind, int(first), int(second), frame, rng))
    v, s = allowed(model, q, constraints, rng)
    tau = rng.normal(size=model.nv)
    a, lam, _ = pinocchio_says(model, q, v, tau, constraints)
    ddq, lambda_c, _ = ours_says(model, q, v, tau, constraints)
    independent = s[s > 1e-9 * s.max()]
    assume(independent.min() > 1e-3 * s.max())  # near a singular position both lose digits
    assert np.abs(ddq - a).max() <= LOOPS * (10 + np.abs(a).max())
    if len(independent) == len(lam):  # no redundancy: one answer
        assert np.abs(lambda_c - lam).max() <= LOOPS * (10 + np.abs(lam).max())


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("kind", [POINT, WELD])
def test_an_arm_held_at_its_hand(kind, frame):
    """Multipliers satisfy pinocchio's equation; joint forces are rnea's with the grip's wrench."""
    rng = np.random.default_rng(1)
    pin.seed(1)
    ours = mbd.load(Path(mbd.__file__).parents[1] / "urdf" / "kuka_iiwa.urdf").model
    model = bridge.to_pinocchio(ours).model
    q = pin.integrate(model, pin.neutral(model), rng.uniform(-1, 1, model.nv))
    constraint = closed_at(model, q, kind, 0, 7, frame, rng)
    v, _ = allowed(model, q, [constraint], rng)
    tau = rng.normal(size=model.nv)
    a, lam, _ = pinocchio_says(model, q, v, tau, [constraint])
    ddq, lambda_c, forces_here = ours_says(model, q, v, tau, [constraint])
    assert np.abs(ddq - a).max() <= LOOPS * (1 + np.abs(a).max())
    assert np.abs(lambda_c - lam).max() <= LOOPS * (1 + np.abs(lam).max())
    # what holds the hand, in its joint's frame: the opposite of λ_c, which acts on the universe
    data = model.createData()
    pin.forwardKinematics(model, data, q)
    place = constraint.joint1_placement
    axes = place.rotation if frame == pin.LOCAL else np.eye(3)
    moment = lam[3:] if len(lam) == 6 else np.zeros(3)
    world = pin.SE3(axes, place.translation).act(pin.Force(lam[:3], moment))
    forces = pin.StdVec_Force()
    for j in range(model.njoints):
        forces.append(data.oMi[j].actInv(-world) if j == 7 else pin.Force.Zero())
    back = pin.rnea(model, data, q, v, a, forces)
    assert np.allclose(back, tau, atol=1e-8)
    wanted = np.array([data.f[j].vector for j in range(1, model.njoints)])
    assert np.abs(forces_here[1:] - wanted).max() <= LOOPS * np.abs(wanted).max()


def test_a_closed_mechanism_assembles_and_moves_as_in_pinocchio():
    """The four-bar with a ball in the place of its pin: assembled here, judged there."""
    bar = four_bar(1, 2, 1.5, 2.5, wrist="universal", cut="spherical")
    model = bridge.to_pinocchio(build_model(bar.model.description)).model
    third = model.getJointId("wrist")
    ends = pin.SE3(np.eye(3), np.array([0, 0, -1.5])), pin.SE3(np.eye(3), np.array([2.5, 0, 0]))
    constraint = pin.RigidConstraintModel(POINT, model, third, ends[0], 0, ends[1])
    constraint.name = "pin"
    machine = mbd.Mechanism.from_pinocchio(model, [constraint])
    at = machine.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 2.0})
    prepared = bridge.prepare(model)
    q, v = prepared.twin.q(at.q), at.v[prepared.order]
    a, lam, _ = pinocchio_says(model, q, v, np.zeros(model.nv), [constraint])
    ddq, lambda_c, _ = ours_says(model, q, v, np.zeros(model.nv), [constraint])
    assert np.abs(ddq - a).max() <= LOOPS * np.abs(a).max()
    assert np.abs(lambda_c - lam).max() <= LOOPS * np.abs(lam).max()
    ours, _ = bar.constrained_dynamics().forward(at.q, at.v, np.zeros(bar.nv))
    assert np.allclose(ours[prepared.order], a, atol=LOOPS)
    assert [loop.name for loop in machine.model.loops] == ["pin"]


def test_what_constraints_cannot_say_is_refused():
    model = bridge.to_pinocchio(four_bar().model).model
    q, none = pin.neutral(model), np.zeros(model.nv)
    constraint = closed_at(model, q, POINT, 0, 3, pin.LOCAL, np.random.default_rng(0))
    constraint.desired_contact_acceleration = pin.Motion(np.ones(6))
    for ask in (
        lambda: mbd.Mechanism.from_pinocchio(model, [constraint]),
        lambda: bridge.constraintDynamics(model, None, q, none, none, [constraint]),
    ):
        with pytest.raises(ModelError, match="desired acceleration"):
            ask()
