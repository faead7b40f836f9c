"""SDF: a model in another file is what it is written out, in whichever way it is named."""

import itertools
import warnings

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError, MbdWarning
from tests.formats.sdf_random import difference
from tests.formats.texts import CONFIG, FOREARM, HINGE, include, joint, link, sdf

MOUNT = link("upper") + '<frame name="elbow" attached_to="upper"><pose>0 0 1 0.2 0 0</pose></frame>'
"""What it is mounted on."""


def mounted(forearm: str) -> str:
    """Return the elbow's joint and a forearm in a model."""
    return MOUNT + forearm + joint("turn", "revolute", "elbow", "{}lower", HINGE)


@pytest.fixture
def place(tmp_path):
    """Write files below a folder and return that folder."""

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


def load(path, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MbdWarning)
        robot = mbd.load(path, **options)
    return robot, " ".join(str(one.message) for one in caught)


CIRCLE = (
    "".join(link(name) for name in "abc")
    + joint("ab", "revolute", "a", "b", HINGE)
    + joint("bc", "revolute", "b", "c", HINGE)
)
"""An open chain; the joint ca closes it, on the third line of the file."""


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        (joint("ca", "universal", "c", "a", HINGE), "write <axis2>"),
        (joint("ca", "revolute", "c", "c", HINGE), "parent and child are both"),
        ("<axis><xyz>0 1 0</xyz><mimic joint='x'/></axis>", "no joint named 'inner::x'"),
        ("<axis><xyz>0 1 0</xyz><mimic joint='ca'/></axis>", "it closes a loop|circle"),
    ],
)
def test_errors_of_loops_name_the_file_that_holds_them(place, inside, said):
    closing = inside if "<joint" in inside else joint("ca", "revolute", "c", "a", inside)
    folder = place(
        {
            "machine.sdf": sdf(
                link("stand") + "<include><uri>ring.sdf</uri><name>inner</name></include>"
            ),
            "ring.sdf": sdf(f"\n{CIRCLE}\n{closing}"),
        }
    )
    with pytest.raises(FileError, match=rf"ring\.sdf:3: .*({said})"):
        load(folder / "machine.sdf")


def test_loops_know_the_file_that_holds_them(place):
    closing = joint("ca", "ball", "c", "a")
    folder = place(
        {
            "machine.sdf": sdf(
                link("stand") + "<include><uri>ring.sdf</uri><name>inner</name></include>"
            ),
            "ring.sdf": sdf(f"\n{CIRCLE}\n{closing}"),
        }
    )
    (loop,) = load(folder / "machine.sdf")[0].model.loops
    assert (loop.name, loop.source, loop.line) == ("inner::ca", str(folder / "ring.sdf"), 3)


def same(one: mbd.Mechanism, other: mbd.Mechanism) -> bool:
    """Return whether two machines have the same mass matrix, forces and places."""
    q, v = np.random.default_rng(0).normal(0, 1, (2, one.nq))
    pairs = [(one.mass_matrix(q), other.mass_matrix(q))]
    pairs += [(one.bias_forces(q, v), other.bias_forces(q, v))]
    links = [[link.name for link in robot.model.description.links] for robot in (one, other)]
    pairs += [(one.placement(q, a), other.placement(q, b)) for a, b in zip(*links, strict=True)]
    return all(np.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in pairs)


PLACED = '<pose relative_to="elbow">0 0 0.1 0 0.2 0</pose>'


@pytest.mark.parametrize(
    ("more", "attributes"),
    [
        (PLACED, ""),
        (f"<name>hand</name>{PLACED}", ""),
        (f"{PLACED}<placement_frame>grip</placement_frame>", ' placement_frame="grip"'),
        ("", ""),
    ],
)
def test_an_included_model_is_as_it_is_written_out(place, more, attributes):
    """Its own pose counts where the <include> gives none."""
    own = "<pose>1 2 3 0 0 0</pose>"
    name = "hand" if "hand" in more else "m"
    inner = f'<model name="{name}"{attributes}>{PLACED if more else own}{FOREARM}</model>'
    folder = place(
        {
            "whole.sdf": sdf(mounted(inner).format(f"{name}::")),
            "part.sdf": sdf(own + FOREARM),
            "robot.sdf": sdf(mounted(include(more=more)).format(f"{name}::")),
        }
    )
    one, said = load(folder / "robot.sdf")
    other, _ = load(folder / "whole.sdf")
    assert one.joint_names == other.joint_names == ("turn", f"{name}::wrist")
    assert same(one, other)
    assert not said


def test_a_merged_model_lends_its_names_to_the_including_one(place):
    """Its links stay where its own frame is put, and that frame has a name."""
    inner = f'<model name="m">{PLACED}{FOREARM}</model>'
    flag = '<frame name="flag"><pose relative_to="_merged__m__model__">0 0 7 0 0 0</pose></frame>'
    hook = link("hook", '<pose relative_to="flag"/>') + joint("j", "fixed", "tool", "hook")
    nested = (flag + hook).replace("_merged__m__model__", "m").replace("tool", "m::tool")
    folder = place(
        {
            "whole.sdf": sdf(mounted(inner).format("m::") + nested),
            "part.sdf": sdf(FOREARM),
            "robot.sdf": sdf(mounted(include(more=PLACED, merge="true")).format("") + flag + hook),
        }
    )
    one, other = load(folder / "robot.sdf")[0], load(folder / "whole.sdf")[0]
    assert set(one.joint_names) == {"turn", "j", "wrist"}
    q = np.array([0.3, -0.4])
    for name in ("lower", "tool"):
        assert one.placement(q, name) == pytest.approx(other.placement(q, f"m::{name}"), abs=1e-12)
    assert one.placement(q, "hook") == pytest.approx(other.placement(q, "hook"), abs=1e-12)
    assert one.mass_matrix(q) == pytest.approx(other.mass_matrix(q), abs=1e-12)


def test_the_frame_of_a_merged_model_has_the_name_that_is_given(place):
    """So that one file can be merged twice."""
    flag = '<frame name="flag"><pose relative_to="_merged__arm__model__">0 0 7 0 0 0</pose></frame>'
    files = {
        "part.sdf": sdf(FOREARM),
        "robot.sdf": sdf(
            mounted(include(more=f"{PLACED}<name>arm</name>", merge="true")).format("")
            + flag
            + link("hook", '<pose relative_to="flag"/>')
            + joint("j", "fixed", "tool", "hook")
        ),
    }
    assert "hook" in load(place(files) / "robot.sdf")[0].model.link_index


@pytest.mark.parametrize("seed", range(3))
def test_random_models_in_models_stand_where_they_were_put(seed):
    """The oracle knows the poses in the world and the product of exponentials."""
    assert difference(seed) < 1e-11


def test_a_merged_model_brings_the_models_in_it(place):
    folder = place(
        {
            "part.sdf": sdf(FOREARM),
            "middle.sdf": sdf(include(more="<name>arm</name>")),
            "outer.sdf": sdf(include("middle.sdf", merge="true")),
            "robot.sdf": sdf(
                MOUNT
                + include("outer.sdf", PLACED, merge="true")
                + joint("turn", "revolute", "elbow", "arm::lower", HINGE)
            ),
        }
    )
    robot = load(folder / "robot.sdf")[0]
    assert robot.joint_names == ("turn", "arm::wrist")
    whole = sdf(mounted(f'<model name="m">{PLACED}{FOREARM}</model>').format("m::"))
    (folder / "whole.sdf").write_text(whole)
    assert same(robot, load(folder / "whole.sdf")[0])


def test_a_folder_says_which_of_its_files_is_the_newest(place, monkeypatch):
    files = {"forearm/model.config": CONFIG, "forearm/new.sdf": sdf(FOREARM)}
    files = {f"away/{name}": text for name, text in files.items()} | {
        "robot.sdf": sdf(mounted(include("model://forearm")).format("m::")),
        "by_path.sdf": sdf(mounted(include("away/forearm")).format("m::")),
        "by_file.sdf": sdf(mounted(include("file://away/forearm/new.sdf")).format("m::")),
        "by_name.sdf": sdf(mounted(include("model://forearm/new.sdf")).format("m::")),
    }
    folder = place(files)
    away = str(folder / "away")
    with pytest.raises(FileError, match=r"no 'model://forearm'; .*package_path"):
        load(folder / "robot.sdf")
    whole = load(folder / "robot.sdf", package_path=[away])[0]
    assert whole.joint_names == ("turn", "m::wrist")
    assert same(whole, load(folder / "by_name.sdf", package_path=[away])[0])
    for name in ("by_path.sdf", "by_file.sdf"):
        assert same(whole, load(folder / name)[0])
    for variable in ("SDF_PATH", "GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH"):
        with monkeypatch.context() as patch:
            patch.setenv(variable, f"/nowhere:{away}")
            assert same(whole, load(folder / "robot.sdf")[0])


def test_a_file_keeps_the_meaning_of_its_own_version(place):
    """Axes are along the model before 1.5, along the joint from 1.5 on."""
    turned = link("b", "<pose>0 0 0 1.5707963267948966 0 0</pose>")
    part = link("a") + turned + joint("j", "revolute", "a", "b", HINGE)
    axes = []
    for version in ("1.4", "1.6"):
        whole = place({"part.sdf": sdf(part, version), "robot.sdf": sdf(include())})
        (found,) = load(whole / "robot.sdf")[0].model.description.joints
        axes.append(found.axis)
    assert axes[0] == pytest.approx((0, 0, -1), abs=1e-15)
    assert axes[1] == pytest.approx((0, 1, 0))


def test_meshes_are_looked_for_beside_the_file_that_names_them(place):
    mesh = "<geometry><mesh><uri>shape.stl</uri></mesh></geometry>"
    part = link("a", more=f'<visual name="v">{mesh}</visual>')
    folder = place({"parts/part.sdf": sdf(part), "parts/shape.stl": ""})
    (folder / "robot.sdf").write_text(sdf(include("parts/part.sdf")))
    (shape,) = load(folder / "robot.sdf")[0].model.description.links[-1].visuals
    assert shape.path == str(folder / "parts" / "shape.stl")


@pytest.mark.parametrize(
    ("own", "given"),
    itertools.product(("", "true"), ("", "<static>true</static>", "<static>0</static>")),
)
def test_a_static_part_stands_and_another_floats(place, own, given):
    """The <include> has the last word."""
    flag = f"<static>{own}</static>" if own else ""
    folder = place(
        {
            "part.sdf": sdf(flag + link("block")),
            "robot.sdf": sdf(link("a") + include(more="<pose>0 0 3 0 0 0</pose>" + given)),
        }
    )
    robot, said = load(folder / "robot.sdf")
    stands = "true" in given or (own and not given)
    assert robot.nq == (0 if stands else 7)
    assert ("float freely" in said) == (not stands)
    assert robot.placement(robot.neutral(), "m::block")[2, 3] == 3.0


WORLD = '<sdf version="1.9"><world name="w"><gravity>0 0 -1.6</gravity>{}</world></sdf>'
GROUND = '<model name="ground"><static>1</static>' + link("floor") + "</model>"


def test_the_one_machine_of_a_world_is_read_among_scenery(place):
    hut = include("hut.sdf", "<name>hut</name><static>1</static>")
    robot = include("part.sdf", "<name>r2</name><pose>0 0 9 0 0 0</pose>")
    missing = include("model://sun") + include("light.sdf")
    folder = place(
        {
            "part.sdf": sdf(FOREARM),
            "hut.sdf": sdf(link("walls")),
            "light.sdf": '<sdf version="1.9"><light name="lamp" type="point"/></sdf>',
            "one.sdf": WORLD.format(missing + GROUND + hut + robot),
            "two.sdf": WORLD.format(GROUND + robot + include("part.sdf")),
            "still.sdf": WORLD.format(GROUND + hut),
            "none.sdf": WORLD.format(include("model://mars")),
        }
    )
    found, said = load(folder / "one.sdf")
    assert (found.name, found.joint_names) == ("r2", ("base_placement", "wrist"))
    assert found.placement([0.0], "lower")[2, 3] == 9.5
    assert found.model.gravity == pytest.approx([0, 0, -1.6])
    assert "model://sun" in said
    assert "scenery: static models without joints (ground, hut)" in said
    with pytest.raises(FileError, match=r"got 2 \(models: 'r2', 'm'\)"):
        load(folder / "two.sdf")
    with pytest.raises(FileError, match=r"got 0 \(models: 'ground', 'hut'\)"):
        load(folder / "still.sdf")
    with pytest.raises(FileError, match=r"got 0 \(models: none\); not found: model://mars"):
        load(folder / "none.sdf")


PART = {"part.sdf": sdf(FOREARM)}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"robot.sdf": sdf(include("robot.sdf"))}, "includes itself"),
        ({"part.sdf": sdf(include("robot.sdf")), "robot.sdf": sdf(include())}, "includes itself"),
        ({"robot.sdf": sdf(include("https://fuel/x"))}, "nothing is fetched"),
        ({"robot.sdf": sdf("<include/>" + link("a"))}, "<uri> is missing"),
        (PART | {"robot.sdf": sdf(include() * 2)}, "'m' too"),
        (PART | {"robot.sdf": sdf(link("tool") + include(merge="1"))}, "merged has 'tool' too"),
        (
            PART | {"robot.sdf": sdf(include(more="<placement_frame>grip</placement_frame>"))},
            "needs a <pose>",
        ),
        (
            PART | {"robot.sdf": sdf(include(more='<pose relative_to="x">0 0 0 0 0 0</pose>'))},
            "unknown frame|no frame",
        ),
        ({"part.sdf": "<robot/>", "robot.sdf": sdf(include())}, "mbd convert"),
        ({"part.sdf": '<sdf version="1.9"/>', "robot.sdf": sdf(include())}, "one <model>"),
        ({"part/model.config": "<model/>", "robot.sdf": sdf(include("part"))}, "names no file"),
    ],
)
def test_what_cannot_be_included_is_explained(place, files, said):
    with pytest.raises(FileError, match=said):
        load(place(files) / "robot.sdf")


def test_files_that_multiply_or_nest_without_end_are_refused(place):
    many = {f"{k}.sdf": sdf("".join(include(f"{k + 1}.sdf", f"<name>m{j}</name>")
                                    for j in range(10))) for k in range(6)}  # fmt: skip
    deep = {f"d{k}.sdf": sdf(include(f"d{k + 1}.sdf")) for k in range(40)}
    folder = place(many | deep | {"6.sdf": sdf(link("a")), "d40.sdf": sdf(link("a"))})
    with pytest.raises(FileError, match="more than 1000 models"):
        load(folder / "0.sdf")
    with pytest.raises(FileError, match="nested too deep"):
        load(folder / "d0.sdf")
