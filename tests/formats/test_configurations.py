"""Named configurations: an MJCF's keyframes and an SRDF's group states, as MuJoCo and pinocchio
read them."""

import warnings

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError, MbdWarning
from mbd_bridge.cli import main
from tests.formats import cassie
from tests.formats.mutation import mutate, outcome
from tests.robots import robot
from tests.sample import TIMES


def quietly(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MbdWarning)
        return mbd.load(path, **options)


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("name", ["erd/panda/panda", "erd/solo/solo", "erd/kinova/kinova"])
def test_group_states_are_pinocchios_reference_configurations(name, floating):
    """A gripper with a mimic, a robot with its base's pose, and continuous joints."""
    path = robot(name)
    one = quietly(path, floating=floating)
    root = [pin.JointModelFreeFlyer()] if floating else []
    model = pin.buildModelFromUrdf(str(path), *root)
    srdf = path.parent.parent / "srdf" / f"{path.stem}.srdf"
    pin.loadReferenceConfigurations(model, str(srdf), False)
    assert {entry.key() for entry in model.referenceConfigurations} == {*one.configurations}
    compared = 0
    for key, q in one.configurations.items():
        for body in one.model.bodies:
            known = one.model.joints[body.joint].name
            if body.coupled or not model.existJointName(known):
                continue
            joint = model.joints[model.getJointId(known)]
            theirs = model.referenceConfigurations[key][joint.idx_q : joint.idx_q + joint.nq]
            own = q[body.q]
            if joint.nq == 2:  # a continuous joint has the cosine and the sine there
                own = np.array([np.cos(own[0]), np.sin(own[0])])
            assert own == pytest.approx(theirs, abs=1e-12)
            compared += 1
    assert compared > 5


KEYS = """<mujoco><worldbody>
<body name="a"><freejoint name="f"/><geom size="0.1"/>
<body name="b" pos="0 0 1"><joint name="s" type="ball"/><geom size="0.1" pos="0 0.2 0"/>
<body name="c" pos="0 0 1"><joint name="h" axis="0 1 0" pos="0.1 0 0" ref="30"/>
<geom size="0.1" pos="0.2 0 0"/></body></body></body></worldbody>
<keyframe><key name="home" qpos="1 2 3 0.9 0.1 -0.2 0.3  0.5 0.5 0.5 -0.5  0.7"/>
<key qpos="0 0 0 1 0 0 0  1 0 0 0  0"/></keyframe></mujoco>"""


def test_keyframes_put_links_where_mujoco_puts_them(tmp_path):
    (tmp_path / "keys.xml").write_text(KEYS)
    one = quietly(tmp_path / "keys.xml")
    assert list(one.configurations) == ["home", "keyframe 1"]
    model = mujoco.MjModel.from_xml_string(KEYS)
    data = mujoco.MjData(model)
    for key, q in enumerate(one.configurations.values()):
        mujoco.mj_resetDataKeyframe(model, data, key)
        mujoco.mj_forward(model, data)
        for name in "abc":
            here = one.placement(q, name)
            assert here[:3, 3] == pytest.approx(data.body(name).xpos, abs=1e-12)
            assert here[:3, :3].ravel() == pytest.approx(data.body(name).xmat, abs=1e-12)


def test_cassies_standing_configuration_is_the_files():
    one = cassie.load("v2")
    q = dict(zip(one.coordinate_names, one.configurations["standing"], strict=True))
    assert q == {name: cassie.standing()[name] for name in one.coordinate_names}
    assert cassie.load("simple").configurations == {}


ARM = """<robot name="arm"><link name="a"/><link name="b"/><link name="c"/>
<joint name="turn" type="continuous"><parent link="a"/><child link="b"/></joint>
<joint name="tip" type="fixed"><parent link="b"/><child link="c"/></joint></robot>"""

SRDF = """<robot name="arm"><group name="all"><joint name="turn"/></group>
<group_state name="home" group="all"><joint name="turn" value="0.5"/><joint name="tip" value="0"/>
</group_state><group_state name="far" group="all">{}</group_state></robot>"""


@pytest.fixture
def arm(tmp_path):
    def write(more=""):
        (tmp_path / "arm.urdf").write_text(ARM)
        (tmp_path / "arm.srdf").write_text(SRDF.format(more))
        return tmp_path / "arm.urdf"

    return write


def test_what_a_group_state_does_not_name_is_neutral(arm, capsys):
    assert {name: q.tolist() for name, q in mbd.load(arm()).configurations.items()} == {
        "home": [0.5],
        "far": [0.0],
    }
    assert main(["info", str(arm())]) == 0
    assert "named configurations (robot.configurations): home, far" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('<joint name="elbow" value="1"/>', "the robot has not .elbow"),
        ('<joint name="turn" value="1 0"/>', "another number of coordinates .turn"),
    ],
)
def test_values_that_no_joint_has_are_listed(arm, more, said):
    with pytest.warns(MbdWarning, match=said):
        assert mbd.load(arm(more)).configurations["far"].tolist() == [0.0]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('<joint name="turn" value="fast"/>', "expected a number"),
        ('<joint name="turn"/>', "'value' is missing"),
        ('<joint name="turn" value="1"/><joint name="turn" value="2"/>', "two values"),
    ],
)
def test_faulty_group_states_are_explained(arm, more, said):
    with pytest.raises(FileError, match=said) as caught:
        mbd.load(arm(more))
    assert caught.value.file.endswith("arm.srdf")


def test_mutants_of_an_srdf_are_read_or_refused(arm):
    path = arm('<joint name="turn" value="1"/>')
    text = path.with_suffix(".srdf").read_text()
    rng = np.random.default_rng(25)
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", MbdWarning)
        for _ in range(100 * TIMES):
            path.with_suffix(".srdf").write_bytes(mutate(text, rng))
            seen.append(outcome(path))
    assert {"description", "error"} == set(seen)
