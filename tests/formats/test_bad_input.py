"""Every bad input has a clear error: file, line, element, what came and what to try."""

import os
import warnings
from itertools import pairwise

import pytest

from mbd_bridge.base.errors import FileError, MbdWarning
from mbd_bridge.files import read, read_urdf_text
from mbd_bridge.files.xml_reader import MAX_ELEMENTS
from tests.bounds import soon

GOOD = """<?xml version="1.0"?>
<robot name="two">
  <link name="base"/>
  <link name="arm">
    <inertial>
      <origin xyz="0 0 0.5" rpy="0 0 0"/>
      <mass value="2"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="elbow" type="revolute">
    <parent link="base"/>
    <child link="arm"/>
    <origin xyz="0 0 1"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/>
  </joint>
</robot>
"""
"""Line numbers below count in this text."""

LINK = '<link name="arm">'
JOINT = '<joint name="elbow" type="revolute">'
AXIS = '<axis xyz="0 1 0"/>'
END = "</robot>"


def complaint(text: str) -> FileError:
    with pytest.raises(FileError) as caught:
        read_urdf_text(text, source="two.urdf")
    return caught.value


def changed(old: str, new: str) -> FileError:
    assert old in GOOD
    return complaint(GOOD.replace(old, new, 1))


def test_the_good_text_is_good():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(read_urdf_text(GOOD).joints) == 1


def joint(name, parent, child):
    links = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="fixed">{links}</joint>'


CASES = {
    "no number": ('value="2"', 'value="two"', 7, "<mass> of <link name='arm'>", "write it like"),
    "empty number": ('value="2"', 'value=""', 7, "<mass>", "is empty"),
    "missing number": ('value="2"', "", 7, "<mass>", "add it"),
    "missing moment": (' ixy="0"', "", 8, "<inertia>", "'ixy' is missing"),
    "nan": ('value="2"', 'value="nan"', 7, "<mass>", "finite"),
    "infinite": ('value="2"', 'value="1e999"', 7, "<mass>", "finite"),
    "as if infinite": ('ixx="1"', 'ixx="1e308"', 8, "<inertia>", "check units"),
    "far away": ('xyz="0 0 1"', 'xyz="0 0 -1e41"', 14, "<origin>", "check units"),
    "infinite limit": ('upper="1"', 'upper="inf"', 16, "<limit>", "leave it out"),
    "python number": ('value="2"', 'value="1_0"', 7, "<mass>", "expected a number"),
    "foreign digits": ('value="2"', 'value="２"', 7, "<mass>", "expected a number"),
    "two numbers": ('xyz="0 0 1"', 'xyz="0 1"', 14, "<origin> of <joint name='elbow'>", "got 2"),
    "commas": ('xyz="0 0 1"', 'xyz="0, 0, 1"', 14, "<origin>", "not by commas"),
    "xacro left": ('xyz="0 0 1"', 'xyz="${a} 0 0"', 14, "<origin>", "expand the file"),
    "negative mass": ('value="2"', 'value="-2"', 7, "<mass>", "at least 0 kg"),
    "no mass": ('<mass value="2"/>', "", 5, "<inertial>", '<mass value="1.0"/>'),
    "zero axis": ("0 1 0", "0 0 0", 15, "<axis> of <joint name='elbow'>", "'0 0 1'"),
    "unknown type": ("revolute", "revolut", 11, "<joint name='elbow'>", "did you mean 'revolute'"),
    "no type": (' type="revolute"', "", 11, "<joint name='elbow'>", "'type' is missing"),
    "unknown link": ('<child link="arm"/>', '<child link="arn"/>', 11, "'elbow'", "mean 'arm'"),
    "no parent": ('<parent link="base"/>', "", 11, "elbow", '<parent link="..."/>'),
    "nameless parent": ('<parent link="base"/>', "<parent/>", 12, "<parent>", "'link' is missing"),
    "two children": (
        '<child link="arm"/>', '<child link="arm"/><child link="base"/>', 11, "elbow", "got 2",
    ),
    "nameless link": (LINK, "<link>", 4, "<link>", "'name' is missing"),
    "nameless joint": (' name="elbow"', "", 11, "<joint>", "'name' is missing"),
    "link twice": (LINK, '<link name="arm"/>' + LINK, 4, "<link name='arm'>", "rename"),
    "joint twice": (END, joint("elbow", "arm", "base") + END, 18, "'elbow'", "first is on line 11"),
    "two parents": (
        END, '<link name="x"/>' + joint("j", "base", "x") + joint("k", "x", "arm") + END,
        18, "<joint name='k'>", "has two parents",
    ),
    "cycle": (END, joint("back", "arm", "base") + END, 18, "'back'", "<loop_joint"),
    "cycle apart": (
        END,
        '<link name="x"/><link name="y"/>' + joint("xy", "x", "y") + joint("yx", "y", "x") + END,
        18, "<joint name='yx'>", "so there is no root",
    ),
    "own parent": ('<parent link="base"/>', '<parent link="arm"/>', 11, "'elbow'", "two links"),
    "two roots": (END, '<link name="lost"/>' + END, 18, "<link name='lost'>", 'type="fixed"'),
    "mimic circle": (
        AXIS, AXIS + '<mimic joint="elbow"/>', 11, "<joint name='elbow'>", "let one be free",
    ),
    "mimic of a fixed joint": (
        AXIS,
        AXIS + '<mimic joint="weld"/></joint><link name="x"/>' + joint("weld", "arm", "x")[:-8],
        11, "<joint name='elbow'>", "which is fixed",
    ),
    "spherical mimic": (
        'type="revolute">', 'type="spherical"><mimic joint="elbow"/>', 11, "elbow", "cannot mimic",
    ),
    "parallel universal axes": (
        'revolute">', 'universal"><axis2 xyz="0 -2 0"/>', 11, "elbow", "must differ",
    ),
    "other format": ('<robot name="two">', "<sdf>", 0, "", "SDF"),
    "broken tag": ('<link name="base"/>', '<link name="base">', 18, "", "not well-formed"),
    "attribute twice": ('name="base"', 'name="base" name="x"', 3, "", "not well-formed"),
    "entity": ('name="base"', 'name="&base;"', 3, "", "not well-formed"),
    "control character": ('name="base"', 'name="b\x01"', 3, "", "not well-formed"),
    "text behind": (END, END + "junk", 18, "", "not well-formed"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_bad_input_says_where_and_what_to_do(case):
    old, new, line, element, advice = CASES[case]
    if case == "other format":
        error = complaint("<sdf><model/></sdf>")
        line = 1
    else:
        error = changed(old, new)
    message = str(error)
    assert message.startswith(f"two.urdf:{line}: ")
    assert error.line == line
    assert element in message
    assert advice in message


@pytest.mark.parametrize("text", ["", " \n", "hello", "{}", "\0\0", "<", "<robot", "<!-- -->"])
def test_what_is_not_xml_is_said_so(text):
    error = complaint(text)
    assert "not well-formed XML" in str(error)
    assert "xmllint" in str(error)


@pytest.mark.parametrize("text", ["<robot/>", '<robot name="x"><limk name="a"/></robot>'])
def test_a_robot_needs_a_link(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MbdWarning)
        assert "at least one <link" in str(complaint(text))


BOMB = '<!DOCTYPE r [<!ENTITY a "{}">{}]>\n<robot name="&z;"><link name="a"/></robot>'


def test_entity_bombs_are_refused_before_they_grow():
    names = "abcdefghijklmnopqrstuvwxyz"
    steps = "".join(f'<!ENTITY {b} "{10 * f"&{a};"}">' for a, b in pairwise(names))
    with soon(1.0):
        error = complaint(BOMB.format("lol", steps))
    assert "entities are not read" in str(error)
    assert error.line == 1
    assert "write its values out" in str(error)


def test_external_entities_are_not_fetched(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    text = f'<!DOCTYPE r [<!ENTITY x SYSTEM "{secret.as_uri()}">]><robot name="&x;"/>'
    assert "entities" in str(complaint(text))


def test_the_word_doctype_in_a_comment_is_harmless():
    plain = read_urdf_text(GOOD)
    found = read_urdf_text(GOOD.replace("<link", "<!-- no <!DOCTYPE here --><link", 1))
    assert [link.name for link in found.links] == ["base", "arm"]
    assert found.links[1].inertia.mass == 2.0
    assert repr(found) == repr(plain)


def test_entity_bombs_in_utf_16_are_refused(tmp_path):
    path = tmp_path / "bomb.urdf"
    path.write_bytes(BOMB.format("x", "").encode("utf-16"))
    with pytest.raises(FileError, match="entities"):
        read(path)


def test_deep_nesting_is_refused():
    deep = 100_000
    assert "depth" in str(complaint("<robot>" + "<a>" * deep + "</a>" * deep + "</robot>")).lower()


def test_too_many_elements_are_refused_quickly():
    with soon(1.0):
        error = complaint("<robot>" + "<a/>" * (MAX_ELEMENTS + 1) + "</robot>")
    assert str(MAX_ELEMENTS) in str(error)


def links(count: int, length: int) -> str:
    return "".join(f'<link name="{i:0{length}}"/>' for i in range(count))


TEXTS_MADE_TO_HURT = {
    "comments never closed": "<!DOCTYPE" + "<!--" * 400_000,
    "hidden types": "<robot>" + "<!--<!DOCTYPE-->" * 100_000,
    "namespaces": "<robot>" + "<a:b/>" * 100_000 + "</robot>",
    "declaration never closed": "<?xml " * 400_000,
    "digits": GOOD.replace('value="2"', f'value="{"9" * 1_000_000}"'),
    "numbers": GOOD.replace('xyz="0 1 0"', f'xyz="{"1 " * 1_000_000}"'),
    "many names": GOOD.replace("</robot>", links(15_000, 70) + joint("x", "0" * 69, "b") + END),
    "long names": GOOD.replace("</robot>", links(200, 20_000) + joint("x", "0" * 9999, "b") + END),
    "long name twice": GOOD.replace(LINK, f'<link name="{"n" * 1_000_000}"/>' * 2 + LINK),
    "many roots": GOOD.replace("</robot>", links(15_000, 10) + END),
    "many attributes": "<robot " + "".join(f'a{i}="" ' for i in range(50_000)) + "/>",
}


@pytest.mark.parametrize("case", TEXTS_MADE_TO_HURT)
def test_texts_made_to_hurt_are_refused_soon_and_shortly(case):
    with soon(2.0), warnings.catch_warnings():
        warnings.simplefilter("ignore", MbdWarning)
        error = complaint(TEXTS_MADE_TO_HURT[case])
    assert len(str(error)) < 3000


def test_enormous_files_are_refused_and_the_bound_can_be_raised(tmp_path):
    path = tmp_path / "big.urdf"
    path.write_text(GOOD + " " * 10_000)
    with pytest.raises(FileError, match="pass a larger max_bytes") as caught:
        read(path, max_bytes=5_000)
    assert caught.value.file == str(path)
    assert len(read(path, max_bytes=50_000).links) == 2


def test_what_is_not_a_file_is_said_so(tmp_path):
    (tmp_path / "near.urdf").write_text(GOOD)
    for path, advice in (
        (tmp_path, "got a directory"),
        (tmp_path / "far.urdf", "did you mean 'near.urdf'"),
        (tmp_path / "none" / "far.urdf", "no such file"),
        ("a\0b.urdf", "no such file"),
        ("x" * 5000, "name"),
    ):
        with pytest.raises(FileError, match=advice):
            read(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe.urdf")
    with pytest.raises(FileError, match="regular file"):
        read(tmp_path / "pipe.urdf")


@pytest.mark.parametrize(
    ("data", "advice"),
    [
        (b"<robot name='\xff'/>", "UTF-8"),
        (b"<?xml version='1.0' encoding='klingon'?><robot/>", "'klingon' is not known"),
        (b"<?xml version='1.0' encoding='zlib'?><robot/>", "'zlib' is not known"),
        (b"\xff\xfe<\x00", "well-formed"),
        (b"\xff\xfe<", "UTF-8"),
        (bytes(range(256)) * 10, "UTF-8"),
        (b"\x7fELF\x02\x01\x01\x00", "well-formed"),
    ],
)
def test_unreadable_encodings_are_said_so(tmp_path, data, advice):
    path = tmp_path / "odd.urdf"
    path.write_bytes(data)
    with pytest.raises(FileError, match=advice) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('ixx="1"', 'ixx="3"', "the largest exceeds the sum"),
        ('ixx="1"', 'ixx="-1"', "one is negative"),
        ('value="2"', 'value="0"', "the mass is 0 but the moments are not"),
        ('lower="-1"', 'lower="2"', "lower 2 > upper 1"),
    ],
)
def test_what_is_odd_is_read_as_it_stands_with_a_warning_that_says_why(old, new, why):
    text = GOOD.replace(old, new, 1)
    with pytest.warns(MbdWarning, match=why) as caught:
        description = read_urdf_text(text, source="two.urdf")
    assert str(caught[0].message).startswith("two.urdf: ")
    assert "line " in str(caught[0].message)
    assert description.notes == (str(caught[0].message),)
    assert caught[0].filename == __file__
