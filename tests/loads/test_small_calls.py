"""One state after the other: the quick road gives what the ordinary one gives, errors too."""

import threading

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError
from mbd_bridge.solve import prepared
from tests.machines import boom
from tests.robots import own_urdfs
from tests.trees import random_state

NAMES = ["lbr_iiwa_joint_3", "lbr_iiwa_joint_ee"]
KINDS = "strided", "masked", "list", "float32", "short", "text", "many", "integers", "none"
WARM = prepared.REPEATED + 2


def arm():
    return mbd.load(own_urdfs()["kuka_iiwa"])


def questions(robot):
    """What is asked of one state, by name."""
    return {
        "joint_loads": lambda q, v, a, **more: robot.joint_loads(q, v, a, NAMES, **more).wrench,
        "inverse_dynamics": lambda *state, **more: robot.inverse_dynamics(*state, **more),
        "forward_dynamics": lambda *state, **more: robot.forward_dynamics(*state, **more),
        "bias_forces": lambda q, v, a, **more: robot.bias_forces(q, v, **more),
        "mass_matrix": lambda q, v, a, **more: robot.mass_matrix(q, **more),
    }


@pytest.fixture
def quick(monkeypatch):
    """Count the answers of the quick road."""
    answers = []
    plain = prepared.one_state

    def counted(*given):
        ask = plain(*given)

        def answer(*values):
            found = ask(*values)
            answers.append(found is not None)
            return found

        return answer

    monkeypatch.setattr("mbd_bridge.solve.prepared.one_state", counted)
    monkeypatch.setattr("mbd_bridge.loads.solver.one_state", counted)
    return answers


@pytest.mark.parametrize("what", questions(None))
def test_one_state_after_the_other_has_the_digits_of_many(what, quick):
    robot = arm()
    states = np.random.default_rng(0).normal(size=(3, 9, robot.nv))
    many = questions(robot)[what](*states)
    found = [questions(robot)[what](*(x.copy() for x in states[:, k])) for k in range(9)]
    assert sum(quick) > 9 - WARM
    assert np.array_equal(found, many)  # and what came first is not overwritten by what came later


def outcome(call):
    """Return what a call gives: numbers, or its complaint."""
    try:
        return np.asarray(call()).tolist()
    except MbdError as problem:
        return type(problem), str(problem)


def oddly(x, kind):
    """Return a vector as callers give it too."""
    if kind == "strided":
        return np.repeat(x, 2)[::2]
    if kind == "masked":
        return np.ma.masked_array(x, mask=[True, *[False] * (len(x) - 1)])
    if kind in (np.nan, np.inf, 1e200):
        return np.r_[x[:-1], kind]
    given = {"list": x.tolist(), "float32": x.astype(np.float32), "short": x[:-1], "text": "abc"}
    given |= {"many": np.tile(x, (2, 1)), "integers": np.arange(len(x)), "none": np.zeros((0, 7))}
    return given[kind]


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("what", questions(None))
@pytest.mark.parametrize(
    "kind",
    [*KINDS, np.nan, np.inf, 1e200],
)
def test_what_is_given_oddly_is_answered_as_at_the_first_time(what, kind):
    fresh, warm = questions(arm())[what], questions(arm())[what]
    state = np.random.default_rng(1).normal(size=(3, 7))
    for _ in range(WARM):
        warm(*state)
    for place in range(3):
        given = [oddly(x, kind) if k == place else x for k, x in enumerate(state)]
        assert outcome(lambda given=given: warm(*given)) == outcome(
            lambda given=given: fresh(*given)
        )
    assert np.isfinite(warm(*state)).all()  # and what was wrong leaves nothing behind


@pytest.mark.parametrize("what", questions(None))
@pytest.mark.parametrize(
    "options", [{"threads": "2"}, {"threads": True}, {"threads": 2}, {"check": 1}, {"check": False}]
)
def test_options_are_read_after_the_first_time_too(what, options):
    fresh, warm = questions(arm())[what], questions(arm())[what]
    state = np.random.default_rng(1).normal(size=(3, 7))
    for _ in range(WARM):
        warm(*state)
    expected = outcome(lambda: fresh(*state, **options))
    assert outcome(lambda: warm(*state, **options)) == expected


@pytest.mark.parametrize(
    "options",
    [
        {"on": "childx"},
        {"at": "centre"},
        {"at": (0, 0, 1)},
        {"in_": ["child"]},
        {"external_in": "moon"},
        {"reaction": 1},
        {"reaction": 0},
        {"minimum_norm": 0},
        {"joints": ("pin",)},
        {"joints": [1]},
        {"joints": [True]},
        {"joints": [1.0]},
        {"joints": "pin"},
        {"joints": ["pim"]},
        {"joints": [["pin"]]},
        {"joints": None},
        {"joints": [None]},
        {"external": {}},
        {"external": {"plate": np.ones(6)}},
    ],
)
def test_requests_are_read_after_the_first_time_too(options):
    state = [np.array([x]) for x in (0.3, 1.0, -2.0)]
    fresh, warm = boom(), boom()
    for joints in (["pin"], None, [1], "pin"):
        for _ in range(WARM):
            warm.joint_loads(*state, joints)
    given = {"joints": ["pin"], **options}
    expected = outcome(lambda: fresh.joint_loads(*state, **given).wrench)
    assert outcome(lambda: warm.joint_loads(*state, **given).wrench) == expected
    if isinstance(expected, list):
        loads = warm.joint_loads(*state, **given)
        assert repr(loads) == repr(fresh.joint_loads(*state, **given))


def test_quaternions_of_one_state_after_the_other_are_read(quick):
    robot = mbd.load(own_urdfs()["humanoid"], floating=True)
    q, v, a = random_state(robot.model, np.random.default_rng(0))
    exact = [robot.joint_loads(q, v, a, ["neck_yaw"]).wrench for _ in range(WARM)][-1]
    assert any(quick)
    rounded = q.copy()
    rounded[3:7] *= 1.0 + 1e-6
    near = robot.joint_loads(rounded, v, a, ["neck_yaw"]).wrench
    assert np.allclose(near, exact, rtol=1e-11)
    rounded[3:7] *= 2.0
    with pytest.raises(MbdError, match="the quaternion"):
        robot.joint_loads(rounded, v, a, ["neck_yaw"])
    with pytest.raises(MbdError, match=r"q\[4\].* is nan"):
        robot.joint_loads(np.r_[q[:4], np.nan, q[5:]], v, a, ["neck_yaw"])


def test_several_threads_ask_one_mechanism():
    robot = arm()
    states = np.random.default_rng(2).normal(size=(3, 400, robot.nv))
    many = robot.joint_loads(*states, joints=NAMES).force
    wrong = []

    def ask(first):
        for k in range(first, 400, 4):
            found = robot.joint_loads(*states[:, k].copy(), joints=NAMES).force
            if not np.array_equal(found, many[k]):
                wrong.append(k)

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
