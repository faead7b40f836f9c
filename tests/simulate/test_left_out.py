"""What a table or a file does not give is said, where motions are made of them."""

import re
import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdWarning, StateError
from mbd_bridge.simulation.rates import right_hand_side
from tests.robots import own_urdfs

PENDULUM = own_urdfs()["pendulum"]
TABLE = ([0.0, 1.0], [1.0, 2.0])
SMOOTH = ([0.0, 0.3, 0.6, 1.0], [0.0, 0.1, 0.2, 0.3])
SENTENCE = "damping and friction of 1 joint are not part of this motion"


@pytest.mark.parametrize(
    "given", [{"torque": TABLE}, {"prescribed": SMOOTH}], ids=["torque", "actuation"]
)
def test_the_right_hand_side_is_not_asked_beyond_a_table(given):
    bar = mbd.load(PENDULUM)
    (name,) = bar.model.velocity_names
    given = {what: {name: table} for what, table in given.items()}
    f = right_hand_side(bar.model, span=(0.0, 1.0), **given)
    assert solve_ivp(f, (0.0, 1.0), f.start, rtol=1e-8).success
    with pytest.raises(StateError, match=r"goes from 0 to 1 s and is asked for t = 1\.\d+ s"):
        solve_ivp(f, (0.0, 1.5), f.start, rtol=1e-8)
    with pytest.raises(StateError, match=r"is asked for t = -0\.1 s"):
        f(-0.1, f.start)
    with pytest.raises(StateError, match="the table goes from 0 to 1 s, the simulation from 0"):
        right_hand_side(bar.model, span=(0.0, 1.5), **given)


@pytest.fixture
def damped(tmp_path):
    """The pendulum with damping and friction, and limits that it swings through."""
    text = PENDULUM.read_text()
    found = re.search(r'<joint name="(\w+)" type="(revolute|continuous)">.*?</joint>', text, re.S)
    more = '<dynamics damping="0.3" friction="0.2"/>'
    more += '<limit lower="-0.4" upper="0.4" effort="9" velocity="9"/></joint>'
    joint = re.sub(r"<limit[^>]*/>", "", found[0]).replace("</joint>", more)
    joint = joint.replace("continuous", "revolute")
    path = tmp_path / "damped.urdf"
    path.write_text(text.replace(found[0], joint))
    return path


def test_damping_and_friction_of_the_file_are_said_to_be_left_out(damped):
    bar = mbd.load(damped)
    with pytest.warns(MbdWarning, match=SENTENCE) as caught:
        run = bar.simulate(0.2, q=[0.2])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert run.notes == (SENTENCE,)
    assert SENTENCE in repr(run)
    with pytest.warns(MbdWarning, match=SENTENCE) as caught:  # once, however many there are
        batch = bar.simulate(0.2, q=np.linspace(0.0, 0.3, 20)[:, None])
    assert len(caught) == 1
    assert batch.notes == batch[3].notes == (SENTENCE,)
    assert SENTENCE in repr(batch)


def test_limits_that_a_motion_passes_are_said(damped):
    bar = mbd.load(damped)
    with pytest.warns(MbdWarning):
        run = bar.simulate(2.0, q=[0.3], v=[3.0])
    with pytest.warns(MbdWarning):
        batch = bar.simulate(2.0, q=[[0.3]], v=[[3.0]])
    for found in (run, batch):
        assert "beyond the limits of the file" in found.notes[1]
        assert "nothing stops it" in repr(found)


def test_nothing_is_said_where_the_file_has_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bar = mbd.load(PENDULUM)
        run = bar.simulate(0.2, q=[0.2])
        batch = bar.simulate(0.2, q=[[0.2]])
    assert run.notes == batch.notes == ()
