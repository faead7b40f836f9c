"""What callers may give by mistake is refused with the name of what is wrong, never computed."""

import numpy as np
import pytest

from mbd_bridge.base.errors import FileError, StateError
from tests.machines import four_bar

BAR = four_bar()

FOR_ALL = [
    ({"torque": lambda t, q, v: 1.0}, "the function returned"),
    ({"torque": lambda t, q, v: np.ones(2)}, "function of .t, q, v. that returns .3,."),
    ({"torque": lambda t, q, v: np.ones((3, 1))}, "the function returned"),
    ({"torque": lambda t, q, v: "abc"}, "the function returned"),
    ({"torque": "sin(t)"}, "torque: expected forces by velocity name"),
    ({"torque": [1, 2, "a"]}, "torque: expected"),
    ({"torque": {"crank": {}}}, "torque 'crank': expected a number"),
    ({"torque": {"crank": 1j}}, "torque 'crank': expected a number"),
    ({"prescribed": {"crank": lambda t: 1.0 / t}}, "prescribed motion 'crank': at t = 0 s"),
    ({"prescribed": "crank=1"}, "prescribed: expected a mapping"),
    ({"step": "a"}, "step: expected"),
    ({"step": None}, "step: expected"),
    ({"step": 1e-300}, "1e.18 steps"),
    ({"duration": "1"}, "duration: expected"),
    ({"start": np.nan}, "start: expected"),
    ({"start": np.inf}, "start: expected"),
    ({"start": 1e17}, "the same number"),
]
OF_ONE = [
    ({"q": "abc"}, "q: expected"),
    ({"q": {"crank": 1.0}}, "q: expected"),
    ({"tolerance": "a"}, "tolerance: expected"),
    ({"events": {"top": lambda t, q, v: None}}, "one finite number"),
    ({"events": {"top": lambda t, q, v: q}}, "one finite number"),
]


@pytest.mark.parametrize(
    ("given", "message"),
    [*FOR_ALL, *OF_ONE, *(({"v": np.zeros((2, 3)), **given}, said) for given, said in FOR_ALL)],
)
def test_what_cannot_be_meant_is_explained(given, message):
    options = dict(given)
    duration = options.pop("duration", 0.01)
    with pytest.raises(StateError, match=message):
        BAR.simulate(duration, **options)


@pytest.mark.parametrize(
    "option",
    [
        {"reference": True},
        {"tolerance": 1e-3},
        {"history": True},
        {"events": {"x": lambda t, q, v: 1}},
    ],
)
def test_what_is_of_one_trajectory_is_refused_for_many(option):
    with pytest.raises(StateError, match=rf"{next(iter(option))}: of one trajectory, and v"):
        BAR.simulate(0.01, v=np.zeros((2, 3)), **option)


def test_numbers_for_many_make_a_batch_of_a_state():
    assert len(BAR.simulate(0.01, torque={"crank": [1.0, 2.0]})) == 2
    assert len(BAR.simulate(0.01, q=BAR.assemble().q[None])) == 1


def test_a_checkpoint_where_no_file_can_be_made_is_explained():
    with pytest.raises(FileError, match=r"cannot be made: .*choose another place"):
        BAR.simulate(0.01, checkpoint="/proc/run.npz")


def test_no_states_are_assembled_to_none():
    assert BAR.assemble_batch({"crank": np.zeros(0)}).q.shape == (0, 3)


@pytest.mark.parametrize("none", [np.zeros(0), ([0.0, 0.1, 0.2, 1.0], np.zeros((0, 4)))])
def test_prescribed_motions_of_no_trajectory_are_explained(none):
    with pytest.raises(StateError, match="at least one trajectory"):
        BAR.simulate(0.01, prescribed={"crank": none})
