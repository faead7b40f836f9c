"""Load cards of CalculiX, Abaqus and Code_Aster: the sums of a free body, fields on its mass.

`tests.durability.calculix` has CalculiX solve such a file.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import StateError
from tests.durability.calculix import wrenches
from tests.robots import own_urdfs

SUM = 1e-11
"""Relative: numbers have 13 digits."""


def arm():
    b = mbd.Builder("arm").link("one", 20.0, (0.5, 0.1, 0), (0.02, 1.6, 1.7))
    b.link("two", 10.0, (0.5, 0, 0), (0.01, 0.8, 0.8))
    b.joint("a", "universal", "base", "one", axis=(0, 0, 1), axis2=(0, 1, 0))
    b.joint("c", "revolute", "one", "two", (1, 0, 0.2), axis=(0, 1, 0))
    return mbd.Mechanism.build(b)


STATES = {
    "any": np.array([[0.3, 0.4, 0.2], [2.0, 1.0, -3.0], [5.0, -7.0, 3.0]]),
    "steady": np.array([[0.3, 0.0, 0.2], [4.0, 0.0, -3.0], [0.0, 0.0, 3.0]]),  # α of one is 0
}


def written(tmp_path, name, which="any", **options):
    body = arm().free_body("one", *STATES[which])
    body.write(tmp_path / name, **options)
    return body, (tmp_path / name).read_text()


@pytest.mark.parametrize("suffix", [".inp", ".comm"])
@pytest.mark.parametrize("length", ["m", "mm"])
def test_all_that_acts_on_a_link_sums_to_zero_in_the_cards(tmp_path, suffix, length):
    body, text = written(tmp_path, f"one{suffix}", length=length, first=5)
    places, loads = wrenches(text, suffix)
    assert sorted(places) == [5, 6, 7] and sorted(loads) == [5, 6, 7]
    force = sum(load[:3] for load in loads.values())
    moment = sum(load[3:] + np.cross(places[k], load[:3]) for k, load in loads.items())
    size = max(np.abs(load).max() for load in loads.values())
    assert np.abs([*force, *moment]).max() < SUM * size
    scale = 1000.0 if length == "mm" else 1.0
    assert np.allclose(loads[5][3:], scale * body["a"].wrench[0, 3:], rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("suffix", [".inp", ".comm"])
def test_fields_on_the_mass_are_gravity_and_inertia(tmp_path, suffix):
    """Of a link with m, J: the field of g - a gives m (g - a), the rotation -ω × J ω about c."""
    body, text = written(tmp_path, f"one{suffix}", "steady", mass="distributed")
    _, loads = wrenches(text, suffix)
    assert sorted(loads) == [1, 2]
    if suffix == ".inp":
        size, *way = map(float, re.search(r"EALL, GRAV, (.*)", text)[1].split(", "))
        square, *rest = map(float, re.search(r"EALL, CENTRIF, (.*)", text)[1].split(", "))
        speed, centre, axis = np.sqrt(square), rest[:3], np.array(rest[3:])
    else:
        size = float(re.search(r"GRAVITE=([^,]*)", text)[1])
        way, axis, centre = (
            [float(x) for x in re.search(rf"{name}=\((.*?)\)", text)[1].split(", ")]
            for name in ("DIRECTION", "AXE", "CENTRE")
        )
        speed = float(re.search(r"VITESSE=([^,]*)", text)[1])
    mass, J, omega = 20.0, np.diag([0.02, 1.6, 1.7]), speed * np.array(axis)
    expected = body["gravity"].wrench[0] + body["inertia"].wrench[0]
    found = [*(mass * size * np.array(way)), *(-np.cross(omega, J @ omega))]
    assert np.allclose(found, expected, atol=1e-11 * np.abs(expected).max())
    assert centre == [0.5, 0.1, 0.0]


def test_a_field_has_no_angular_acceleration_and_bulk_data_have_sets_for_it(tmp_path):
    with pytest.raises(StateError, match=r"instant 1: an angular acceleration of .* mass='points'"):
        written(tmp_path, "one.inp", mass="distributed")
    with pytest.raises(StateError, match=r"mass='distributed' is for .inp and .comm"):
        written(tmp_path, "one.bdf", mass="distributed")
    with pytest.raises(StateError, match="use one of points, distributed"):
        written(tmp_path, "one.inp", mass="lumped")
    with pytest.raises(StateError, match="system is for bulk data"):
        written(tmp_path, "one.comm", system=3)
    assert not list(tmp_path.iterdir())


def test_numbers_have_at_most_the_20_characters_that_calculix_reads(tmp_path):
    motion = mbd.load(own_urdfs()["kuka_iiwa"]).simulate(0.05, q=np.linspace(-0.5, 0.7, 7))
    motion.free_body("lbr_iiwa_link_3").write(tmp_path / "link.inp")
    lines = (tmp_path / "link.inp").read_text().splitlines()
    fields = [x for line in lines if line[0] not in "*" for x in line.split(", ")]
    assert len(fields) > 100 and max(map(len, fields)) <= 20
