"""constraintDynamics and its derivatives with another import: contacts, correctors, batches."""

import itertools

import numpy as np
import pinocchio as pin
import pytest

from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.engines import pinocchio as bridge
from tests.robots import robot

AGREE = 1e-9
"""Of the largest number: a hand that is held leaves an arm one degree of freedom."""

STEPS = 1e-5
"""Of the largest number: what central differences leave."""

POINT, WELD = pin.ContactType.CONTACT_3D, pin.ContactType.CONTACT_6D
FRAMES = (pin.LOCAL, pin.LOCAL_WORLD_ALIGNED)
EXACT = pin.ProximalSettings(1e-14, 1e-12, 200)


class Contacts:
    """An iiwa with contacts at a state, as a script of pinocchio's has them."""

    def __init__(self, kinds, frame, second=0, gains=(0.0, 0.0), seed=0, *, copies=1):
        pin.seed(seed)
        rng = np.random.default_rng(seed)
        model = self.model = pin.buildModelFromUrdf(str(robot("pb/kuka_iiwa/model")))
        self.data, self.models = model.createData(), pin.StdVec_RigidConstraintModel()
        self.datas = pin.StdVec_RigidConstraintData()
        for kind in kinds:
            ends = model, 7, pin.SE3.Random(), second, pin.SE3.Random()
            contact = pin.RigidConstraintModel(kind, *ends, frame)
            contact.m_baumgarte_parameters.Kp, contact.m_baumgarte_parameters.Kd = gains
            for _ in range(copies):
                self.models.append(contact)
                self.datas.append(contact.createData())
        q = pin.integrate(model, pin.neutral(model), rng.uniform(-1, 1, model.nv))
        self.state = q, *rng.normal(size=(2, model.nv))

    def motion(self, module, state):
        """Accelerations and multipliers."""
        more = self.models, self.datas, EXACT
        a = module.constraintDynamics(self.model, self.data, *state, *more).copy()
        return np.concatenate([a, self.data.lambda_c])

    def both(self, module):
        """The motion, and its derivatives by q, v and tau."""
        module.initConstraintDynamics(self.model, self.data, self.models, self.datas)
        motion = self.motion(module, self.state)
        parts = module.computeConstraintDynamicsDerivatives(
            self.model, self.data, self.models, self.datas
        )
        parts = [part.copy() for part in parts]
        return [motion, *(np.vstack([parts[k], parts[k + 3]]) for k in range(3))]

    def differences(self):
        """Derivatives of pinocchio's own motion by steps, by q, v and tau."""
        h, found = 1e-6, []
        for k in range(3):
            columns = []
            for unit in np.eye(self.model.nv):
                ends = []
                for step in (h * unit, -h * unit):
                    state = list(self.state)
                    moved = pin.integrate(self.model, state[0], step)
                    state[k] = moved if k == 0 else state[k] + step
                    ends.append(self.motion(pin, state))
                columns.append((ends[0] - ends[1]) / (2 * h))
            found.append(np.array(columns).T)
        return found


def apart(x, y):
    return np.abs(x - y).max() / max(1.0, np.abs(y).max())


@pytest.mark.parametrize("kind", [POINT, WELD], ids=["3D", "6D"])
@pytest.mark.parametrize("frame", FRAMES, ids=["local", "aligned"])
@pytest.mark.parametrize("gains", [(0.0, 0.0), (0.0, 2.0)], ids=["", "damped"])
def test_contacts_with_the_ground_have_pinocchios_derivatives_open_as_they_are(kind, frame, gains):
    contacts = Contacts([kind], frame, gains=gains)
    for ours, expected in zip(contacts.both(bridge), contacts.both(pin), strict=True):
        assert apart(ours, expected) < AGREE


@pytest.mark.parametrize(
    ("kind", "second"),
    [(POINT, 0), (POINT, 3), (WELD, 0), (WELD, 1)],
    ids=["3D", "3D of two links", "6D", "6D of two links"],
)
@pytest.mark.parametrize("frame", FRAMES, ids=["local", "aligned"])
def test_derivatives_are_those_of_the_motion_with_correctors(kind, second, frame):
    """Between two links of one branch, and for 6-D ones with Kp, pinocchio's by q are not."""
    contacts = Contacts([kind], frame, second, (3.0, 2.0))
    motion, *ours = contacts.both(bridge)
    contacts.both(pin)
    assert apart(motion, contacts.motion(pin, contacts.state)) < AGREE
    for derivative, expected in zip(ours, contacts.differences(), strict=True):
        assert apart(derivative, expected) < STEPS


def test_correctors_of_small_partings_are_their_series():
    """log6 near a closed place: the quotients 0/0 are not taken."""
    parts = []
    for angle in (1e-4, 1e-6, 0.0):
        contacts = Contacts([WELD], pin.LOCAL, gains=(3.0, 0.0))
        pin.forwardKinematics(contacts.model, contacts.data, contacts.state[0])
        near = pin.SE3(pin.exp3(np.array([angle, 0, 0])), np.array([0.0, angle, 0.0]))
        contacts.models[0].joint2_placement = (
            contacts.data.oMi[7] * contacts.models[0].joint1_placement * near
        )
        parts.append(contacts.both(bridge))
        assert apart(parts[-1][0], contacts.motion(pin, contacts.state)) < 1e-8
    assert all(np.isfinite(x).all() for part in parts for x in part)
    assert apart(parts[1][1], parts[2][1]) < 1e-4


def test_rows_are_the_single_states_by_machine_code_and_by_lapack(monkeypatch):
    contacts = Contacts([POINT], pin.LOCAL)
    others = [contacts.state, Contacts([POINT], pin.LOCAL, seed=1).state]
    rows = [np.array(part) for part in zip(*others, strict=True)]
    singles = []
    for state in others:
        contacts.state = state
        singles.append(contacts.both(bridge))
    for _ in range(2):
        ready = bridge.prepare(contacts.model)
        more = None, contacts.models
        many = bridge.computeConstraintDynamicsDerivatives(ready, *more, state=rows)
        a = bridge.constraintDynamics(ready, None, *rows, contacts.models)
        for k, (motion, *single) in enumerate(singles):
            assert apart(a[k], motion[: len(a[k])]) < AGREE
            for j, derivative in enumerate(single):
                both = np.vstack([many[j][k], many[j + 3][k]])
                assert apart(both, derivative) < AGREE
        for name in ("STRAIGHT", "LARGEST"):
            monkeypatch.setattr(f"mbd_bridge.solve.held.{name}", 0)


def test_the_same_contact_twice_shares_its_force():
    once, twice = (Contacts([POINT], pin.LOCAL, copies=k) for k in (1, 2))
    (motion, by_q, *_), (both, both_by_q, *_) = once.both(bridge), twice.both(bridge)
    for one, two in ((motion, both), (by_q, both_by_q)):
        assert apart(two[:7], one[:7]) < AGREE
        for part in (two[7:10], two[10:]):
            assert apart(part, one[7:] / 2) < AGREE


def test_joint_forces_are_those_of_rnea_with_the_contacts_forces():
    for kind, frame, second in itertools.product((POINT, WELD), FRAMES, (0, 1)):
        contacts = Contacts([kind], frame, second)
        model, (q, v, tau) = contacts.model, contacts.state
        data = model.createData()
        a = bridge.constraintDynamics(model, data, q, v, tau, contacts.models, contacts.datas)
        np.testing.assert_array_equal(a, data.ddq)
        about_axes = np.array([data.f[j].vector[5] for j in range(1, model.njoints)])
        assert apart(about_axes, tau) < AGREE  # all its joints turn about their z


def test_what_is_not_known_is_refused():
    contacts = Contacts([POINT], pin.LOCAL)
    with pytest.raises(StateError, match=r"call constraintDynamics\(model, data"):
        bridge.computeConstraintDynamicsDerivatives(
            contacts.model, contacts.model.createData(), contacts.models
        )
    contacts.datas[0].contact_acceleration_desired = pin.Motion(np.ones(6))
    with pytest.raises(ModelError, match="contact_acceleration_desired"):
        contacts.motion(bridge, contacts.state)
