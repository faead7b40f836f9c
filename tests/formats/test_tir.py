"""Tyre property files: what is read, in which units, and what is refused."""

import numpy as np
import pytest

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.tir import read_tir
from tests.bounds import soon
from tests.forces.wheels import CAR_TYRE


@pytest.fixture
def tir(tmp_path):
    def write(text, data=None):
        path = tmp_path / "tyre.tir"
        path.write_bytes(text.encode() if data is None else data)
        return path

    return write


def test_a_file_has_its_numbers_texts_and_comments():
    file = read_tir(CAR_TYRE)
    assert file.text("PROPERTY_FILE_FORMAT") == "PAC2002" and file.number("FNOMIN") == 4850.0
    assert file.number("PKY1") == -17.5 and file.text("TYRESIDE") == "LEFT"
    assert file.find("NONSENSE") is None and file.number("NONSENSE", 3.0) == 3.0
    assert file.digest == read_tir(CAR_TYRE).digest


def test_numbers_are_converted_from_the_units_of_the_file(tir):
    file = read_tir(
        tir(
            "[UNITS]\nLENGTH='mm'\nFORCE = 'kN'\nTIME=\"ms\" $ quick\nANGLE='degree'\n"
            "[VERTICAL]\r\nvertical_stiffness = 0.21 ! kN/mm\nALPMAX = 1.8D+1\nVXLOW = 1\n"
        )
    )
    assert abs(file.number("VERTICAL_STIFFNESS", FORCE=1, LENGTH=-1) - 210e3) < 1e-6
    assert abs(file.number("ALPMAX", ANGLE=1) - np.radians(18)) < 1e-15
    assert abs(file.number("VXLOW", LENGTH=1, TIME=-1) - 1.0) < 1e-15


def test_the_same_key_may_be_in_several_sections_if_it_says_the_same(tir):
    file = read_tir(tir("[UNITS]\nMASS='kg'\n[A]\nMASS=9\nX = 1\n[B]\nMASS = 9\nX = 2\n"))
    assert file.number("MASS") == 9.0
    with pytest.raises(FileError, match="X: expected one value, got several, in lines 5 and 8"):
        file.number("X")


BAD = {
    "no section": ("PCX1 = 3\n", r"tyre.tir:1: expected a \[SECTION\] before 'PCX1'"),
    "prose": ("Dear Sir,\n", r":1: expected \[SECTION\], got 'Dear Sir,'"),
    "heading": ("[A\nX = 3\n", r":1: expected \[SECTION\], got '\[A'"),
    "twice": ("[A]\nX = 3\nX = 4\n", ":3: X: given twice, first in line 2"),
    "empty": ("", "expected a tyre property file"),
    "headings only": ("[A]\n[B]\n", "expected a tyre property file"),
    "too many": ("[A]\n" + "".join(f"K{k} = 1\n" for k in range(5001)), "more than 5000 keys"),
    "too long": ("[A]\n" + "$" * 2**20, "more than 1048576 bytes"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_tyre_property_file_is_refused(what, tir):
    text, said = BAD[what]
    with pytest.raises(FileError, match=said):
        read_tir(tir(text))


NUMBERS = {
    "nan": ("X = nan", "finite"),
    "inf": ("X = -inf", "finite"),
    "text": ("X = 'soft'", "expected a number, got 'soft'"),
    "none": ("X =", "it is empty"),
    "two": ("X = 1, 2", "expected a number"),
    "unit": ("X = 1\n[UNITS]\nLENGTH = 'furlong'", "no unit of LENGTH named 'furlong'"),
}


@pytest.mark.parametrize("what", NUMBERS)
def test_what_is_no_number_is_refused_with_its_line(what, tir):
    line, said = NUMBERS[what]
    file = read_tir(tir(f"[A]\n{line}\n"))
    with pytest.raises(FileError, match=said) as problem:
        file.number("X", LENGTH=1)
    assert "tyre.tir:" in str(problem.value)


def test_hostile_bytes_are_refused_or_read_as_text_in_bounded_time(tir):
    rng = np.random.default_rng(1)
    with soon(5.0):  # 12 files of 0.1 MB at most
        for size in (10, 1000, 100_000):
            for data in (rng.bytes(size), b"[" * size, b"=" * size):
                with pytest.raises(FileError, match=r"expected \[SECTION\]"):
                    read_tir(tir("", data))
            read_tir(tir("", b"[A]\nX='" + b"'" * size))


def test_a_path_that_is_none_is_refused(tmp_path):
    for path, said in (
        (3, "path of a .tir file, got int"),
        (tmp_path / "no.tir", "no such file"),
        (tmp_path, "got a directory"),
    ):
        with pytest.raises(FileError, match=said):
            read_tir(path)
