"""The time of a motion that is played, without any window."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.view.source import Source
from mbd_bridge.view.window import Player
from tests.robots import own_urdfs


def test_time_goes_on_at_its_speed_and_begins_again_behind_the_end():
    player = Player(1.0, 3.0, speed=0.5)
    assert player.advance(1.0) == pytest.approx(1.5)
    assert player.advance(3.5) == pytest.approx(1.25)
    player.set_speed(2.0)
    assert player.advance(0.25) == pytest.approx(1.75)


def test_pause_holds_the_time_and_seeking_pauses():
    player = Player(0.0, 2.0)
    player.toggle()
    assert player.advance(1.0) == 0.0
    player.toggle()
    player.seek(5.0)
    assert (player.time, player.playing) == (2.0, False)
    player.seek(-1.0)
    assert player.advance(1.0) == 0.0


def test_keys():
    player = Player(0.0, 2.0)
    assert player.key(" ")
    assert not player.playing
    assert player.key("right")
    assert player.time == pytest.approx(0.02)
    player.key("left")
    player.key("left")
    assert player.time == 0.0
    player.key("+")
    player.key("=")
    assert player.speed == pytest.approx(2.0)
    for _ in range(50):
        player.key("-")
    assert player.speed == pytest.approx(0.01)
    player.seek(1.0)
    player.key(" ")
    player.key("r")
    assert (player.time, player.playing) == (0.0, True)
    assert not player.key("x")


def test_a_motion_of_one_moment_stands_still():
    player = Player(1.0, 1.0)
    assert not player.playing
    player.toggle()
    assert player.advance(5.0) == 1.0


@pytest.mark.parametrize(("number", "there"), [(1, 0.0), (2, 0.5), (3, 0.5)])
def test_between_records_a_machine_goes_straight_and_one_record_stays(number, there):
    rod = mbd.load(own_urdfs()["pendulum"]).model
    turns = np.arange(float(number))
    source = Source(rod, turns, turns[:, None])
    assert source.at(np.array([0.5])).q.tolist() == [[there]]
