"""Tyres, tracks and roads in ``NAME.forces.yaml``: written, read back, refused."""

import shutil

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError
from mbd_bridge.forces import SimpleTyre
from mbd_bridge.forces.roads import Grid, Profile
from tests.forces.elements import bound
from tests.forces.roads import ROADS
from tests.forces.tracked import track, vehicle
from tests.forces.wheels import CAR_TYRE, cart, free_wheel, tyres

HEAD = "units: SI\nforces:\n"


def written_and_read(tmp_path, robot, elements):
    path = tmp_path / "machine.forces.yaml"
    shutil.copy(CAR_TYRE, tmp_path)
    mbd.forces.save_forces(path, elements)
    return mbd.forces.load_forces(path, robot)


def test_tyres_on_all_roads_are_written_and_read_back_to_the_last_digit(tmp_path):
    few = {k: road for k, road in ROADS.items() if k not in ("random", "enveloped")}
    elements = [
        bound(free_wheel(), SimpleTyre("wheel", 0.3, 1e5, road=road, name=name))
        for name, road in few.items()
    ]
    again = written_and_read(tmp_path, free_wheel(), elements)
    assert [one.identity for one in again] == [one.identity for one in elements]


def test_tyres_of_all_kinds_and_a_track_are_written_and_read_back(tmp_path):
    elements = mbd.System(
        cart(), forces=[tyres(ROADS["random"], wheel)[kind] for kind, wheel in KINDS.items()]
    ).forces
    again = written_and_read(tmp_path, cart(), elements)
    assert [one.identity for one in again] == [one.identity for one in elements]
    (band,) = written_and_read(tmp_path, vehicle(), [bound(vehicle(), track())])
    assert band.identity == bound(vehicle(), track()).identity


KINDS = {"table": "fl", "fiala delayed": "fr", "pacejka delayed": "rl", "vertical": "rr"}


def load(tmp_path, entry):
    path = tmp_path / "wheel.forces.yaml"
    path.write_text(HEAD + entry)
    return mbd.forces.load_forces(path, free_wheel())


ENTRY = "  - {name: t, type: SimpleTyre, wheel: wheel, radius: 0.3, stiffness: 1e5, road: %s}\n"


def test_a_profile_stands_in_a_file_beside(tmp_path):
    (tmp_path / "road.csv").write_text("way [m],height [m]\n0,0\n1,0.1\n3,0\n")
    road = "{type: Profile, file: road.csv, x: way, z: height, kind: cubic}"
    (tyre,) = load(tmp_path, ENTRY % road)
    assert tyre.road == Profile([0, 1, 3], [0, 0.1, 0], "cubic")
    (tyre,) = load(tmp_path, ENTRY % "{type: Grid, x: [0, 1], y: [0, 1], z: [[0, 1], [2, 3]]}")
    assert tyre.road == Grid([0, 1], [0, 1], np.arange(4.0).reshape(2, 2))


BAD = {
    "a number": ("3", r":3: road: expected a road, {type: Bump \| Flat"),
    "no type": ("{height: 3}", "expected a road"),
    "no road": ("{type: Flatt}", "no road named 'Flatt'; did you mean 'Flat'"),
    "no key": ("{type: Flat, hight: 3}", "no key named 'hight'; did you mean 'height'"),
    "missing": ("{type: Bump, at: 3}", "a Bump needs more: its keys are at, length, height, shape"),
    "a word": ("{type: Flat, height: low}", "Flat: height: expected a number, m, got 'low'"),
    "inside": ("{type: MovingRoad, road: {type: Ramp}, velocity: [1, 0]}", "a Ramp needs more"),
    "seed": ("{type: RandomRoad, seed: 1.5}", "expected a whole number, got 1.5"),
    "elsewhere": ("{type: Profile, file: ../a.csv, x: a, z: b}", "expected a file beside this one"),
    "no column": ("{type: Profile, x: [1, 2]}", "a Profile needs more: its keys are x, z, kind"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_road_is_refused_with_its_place(what, tmp_path):
    road, said = BAD[what]
    with pytest.raises(MbdError, match=said) as problem:
        load(tmp_path, ENTRY % road)
    assert "wheel.forces.yaml:3" in str(problem.value)
