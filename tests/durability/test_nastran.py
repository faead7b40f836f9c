"""Nastran bulk data: fields keep their digits, pyNastran reads the same, sets sum to zero."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import mbd_bridge as mbd
from mbd_bridge.applications.free_body.files import (
    WIDTH,
    Combination,
    LoadSet,
    Point,
    bulk_data,
    field,
    nastran_text,
)
from mbd_bridge.base.errors import StateError
from tests.machines import four_bar

FIELD = 5.1e-11
"""Relative rounding of a field: ten decimals of -1.2345678901-10, the longest exponent of use."""
SUM = 1e-9
"""Relative to the largest force: what an exported set may lack of zero."""

numbers = st.floats(1e-99, 1e99) | st.floats(-1e99, -1e-99) | st.floats(-1e4, 1e4)


@given(numbers)
def test_a_field_holds_a_number(value):
    from pyNastran.bdf.bdf_interface.assign_type import double
    from pyNastran.bdf.bdf_interface.bdf_card import BDFCard

    text = field(value)
    assert len(text) <= WIDTH
    assert "." in text  # an integer is another type in Nastran
    read = double(BDFCard(["GRID", text]), 1, "x")
    assert abs(read - value) <= FIELD * abs(value) + 1e-99


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "0.0"),
        (1.0, "1.0"),
        (-12.5, "-12.5"),
        (1.0 / 3.0, "0.33333333333333"),
        (-1e-10 / 3, "-3.3333333333-11"),
        (12345678901234567.0, "1.23456789012+16"),
    ],
)
def test_fields_look_as_nastran_has_them(value, text):
    assert field(value) == text


def bodies():
    """Free bodies of a link in a tree, at several instants, and of one in a loop."""
    arm = mbd.load("urdf/kuka_iiwa.urdf")
    motion = arm.read_motion("urdf/kuka_iiwa_motion.csv")
    tree = arm.free_body("lbr_iiwa_link_3", motion).at()
    bar = four_bar()
    run = bar.simulate(0.2, step=1e-3, q=bar.assemble(near={"crank": 0.5}).q)
    return {"tree": tree, "loop": run.free_body("rocker")}


BODIES = bodies()


def read(body, path, **options):
    from pyNastran.bdf import bdf

    body.write(path, **options)
    return bdf.read_bdf(str(path), punch=True, debug=False)


@pytest.mark.parametrize("which", BODIES)
@pytest.mark.parametrize("options", [{}, {"length": "mm"}, {"system": 7}, {"first": 9001}])
def test_pynastran_reads_the_same_numbers_and_they_sum_to_zero(which, options, tmp_path):
    from pyNastran.bdf.mesh_utils.loads import sum_forces_moments as sums

    body = BODIES[which]
    found = read(body, tmp_path / "body.bdf", **options)
    factor, first = 1000.0 if "length" in options else 1.0, options.get("first", 1)
    scale = np.array([1, 1, 1, factor, factor, factor])
    own = np.array([one.wrench for one in body.acting]) * scale  # (acting, instants, 6)
    outside, centre = body.acting[:-2], first + len(body.acting) - 2
    for k, one in enumerate(outside):
        assert np.allclose(found.nodes[first + k].get_position(), one.point * factor, atol=1e-9)
        assert found.nodes[first + k].Cp() == options.get("system", 0)
    for k in range(len(body.time)):
        base = first - 1 + 10 * (k + 1)
        given = {number: np.zeros(6) for number in found.nodes}
        for load in found.loads[base + 1] + found.loads[base + 2]:
            part = slice(0, 3) if load.type == "FORCE" else slice(3, 6)
            given[load.node_id][part] += load.mag * load.xyz
        wanted = {first + j: own[j, k] for j in range(len(outside))}
        wanted[centre] = own[-2, k] + own[-1, k]
        largest = np.abs(own[:, k]).max()
        for number, wrench in wanted.items():
            assert np.allclose(given[number], wrench, rtol=FIELD, atol=FIELD * largest)
        force, moment = sums(found, np.zeros(3), base)
        size = np.abs(own[:, k, :3]).max()
        arm = factor * max(np.linalg.norm(one.point) for one in body.acting)
        assert np.abs(force).max() < SUM * size
        assert np.abs(moment).max() < SUM * max(np.abs(own[:, k, 3:]).max(), size * arm)
        some, _ = sums(found, np.zeros(3), base + 1)
        assert np.abs(some).max() > 1e-3 * size  # joints alone are not in equilibrium


def test_what_a_reader_must_know_stands_in_the_file():
    text = bulk_data(BODIES["loop"], length="mm")
    flat = " ".join(line.removeprefix("$ ") for line in text.splitlines())
    for words in (
        "free body of the link rocker of four-bar",
        "in the axes of the link's frame",
        "units: mm, N, N mm",
        "undetermined by rigid-body mechanics",
        "pin (fy mx mz)",
        "peak of",
        "gravity (",
    ):
        assert words in flat
    assert max(map(len, text.splitlines())) <= 72
    system = bulk_data(BODIES["loop"], system=7)
    assert "CORD2R*" in system and "coordinate system 7 is the frame of the link" in system


A = Point(1, "a", (0, 0, 0), np.zeros(6))


def test_vectors_of_zeros_are_not_written_and_an_unloaded_link_has_no_sum():
    text = nastran_text(
        [], [Point(1, "a", (0, 0, 0), np.zeros(6))], [LoadSet(1, "none", {1: np.zeros(6)})]
    )
    assert "FORCE" not in text and "MOMENT" not in text
    only = nastran_text([], [], [LoadSet(1, "some", {1: (0, 0, 0, 0, 2.0, 0)})])
    assert "MOMENT*" in only and "FORCE" not in only
    still = mbd.load("urdf/kuka_iiwa.urdf", gravity=(0, 0, 0))
    body = still.free_body("lbr_iiwa_link_3", *np.zeros((3, 7)))
    assert "LOAD*" not in bulk_data(body)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: field(np.nan), "finite number"),
        (lambda: field(np.inf), "finite number"),
        (
            lambda: nastran_text([], [A._replace(number=10**8)], []),
            "up to 99999999",
        ),
        (lambda: nastran_text([], [], [Combination(-1, "a", [1])]), "up to 99999999"),
        (lambda: bulk_data(BODIES["tree"], length="inch"), "use one of m, mm"),
        (lambda: bulk_data(BODIES["tree"], first=0), "from 1"),
    ],
)
def test_what_cannot_be_written_is_refused(call, words):
    with pytest.raises(StateError, match=words):
        call()
