"""Claims: no result goes without its assumptions, and each says what really was assumed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.assumptions import NONE, TOPICS, Assumption, Assumptions
from mbd_bridge.base.errors import StateError
from mbd_bridge.loads.assumed import PROVIDERS
from tests.robots import own_urdfs

ARM = own_urdfs()["kuka_iiwa"]
MOTION = ARM.with_name("kuka_iiwa_motion.csv")
JOINT = "lbr_iiwa_joint_ee"


def text(assumptions, topic):
    return "; ".join(one.text for one in assumptions[topic])


def test_every_topic_has_somebody_who_says_something() -> None:
    assert set(PROVIDERS) == set(TOPICS)


@pytest.mark.parametrize("topic", TOPICS)
def test_assumptions_without_a_topic_cannot_be_made(topic):
    entries = tuple(Assumption(other, "so") for other in TOPICS if other != topic)
    with pytest.raises(StateError, match=f"nothing is said about {topic}"):
        Assumptions(entries)
    whole = Assumptions((Assumption(topic, "late"), *entries))
    assert [one.topic for one in whole.entries] == list(TOPICS)
    assert text(whole.stating(Assumption(topic, "new")), topic) == "new"


def test_a_topic_that_nobody_shows_is_refused():
    with pytest.raises(StateError, match="no topic of an assumption named 'frcition'"):
        Assumption("frcition", "counted")


def test_they_say_what_was_set(arm):
    motion = arm.read_motion(MOTION)
    plain = arm.joint_loads(motion, joints=JOINT).assumptions
    assert text(plain, "payload") == text(plain, "external") == text(plain, "loops") == NONE
    assert "damping that the file gives for 7 joints left out" in text(plain, "friction")
    assert {one.topic for one in plain.neglected} == {
        "friction", "rotors", "rigid", "uncertainty",
    }  # fmt: skip
    assert text(plain, "rates") == motion.notes[0]  # derived by a spline
    loaded = arm.with_payload(JOINT.replace("joint", "link"), 2.0, (0, 0, 0.1))
    push = {JOINT.replace("joint", "link"): [0, 0, -5.0, 0, 0, 0]}
    other = loaded.joint_loads(
        motion, joints=JOINT, in_="world", external=push, external_in="world"
    )
    changed = other.assumptions
    differ = {t for t in TOPICS if text(plain, t) != text(changed, t)}
    assert differ == {"convention", "masses", "payload", "external", "round_off"}
    assert [n.value for n in changed["payload"][0].numbers] == [2.0]
    assert changed["masses"][0].numbers[0].value == pytest.approx(
        plain["masses"][0].numbers[0].value + 2.0
    )
    moon = mbd.load(ARM, gravity=(0, 0, -1.62), floating=True)
    at_rest = np.zeros(moon.nv)
    there = moon.joint_loads(moon.neutral(), at_rest, at_rest, joints=JOINT).assumptions
    assert [n.value for n in there["gravity"][0].numbers] == [0, 0, -1.62]
    assert "free" in text(there, "base") and "as given" in text(there, "rates")


def test_a_history_keeps_those_of_its_motion(arm, tmp_path):
    table = MOTION.read_text().splitlines()
    short = tmp_path / "short.csv"
    short.write_text("\n".join(",".join(row.split(",")[:-1]) for row in table if row[0] != "#"))
    history = arm.load_history(short, JOINT, rest=True)
    assert text(history.assumptions, "completed") == (
        "held in the neutral position, at rest: lbr_iiwa_joint_7"
    )
    assert "derived" in text(history.assumptions, "rates")


def test_loops_say_where_they_are_cut_and_what_is_not_determined():
    bar = mbd.load(own_urdfs()["four_bar"])
    start = bar.assemble(near={"crank": 0.5}, fixed="crank")
    run = bar.simulate(0.02, q=start.q, v=start.v, torque={"crank": 0.1})
    loads = run.joint_loads(["crank"])
    found = loads.assumptions
    assert bar.model.cuts[0].name in text(found, "loops")
    unsure = [name for name, sure in zip(COMPONENTS, loads.determined[0], strict=True) if not sure]
    assert unsure and text(found, "undetermined").startswith(f"crank.{unsure[0]}")
    assert found["undetermined"][0].numbers[0].value == len(unsure)
    assert "simulated" in text(found, "rates") and text(found, "elements") == NONE
    spring = mbd.forces.JointSpring("crank", stiffness=1.0)
    sprung = bar.simulate(0.02, q=start.q, v=start.v, forces=[spring])
    assert "act" in text(sprung.joint_loads(["crank"]).assumptions, "elements")


COMPONENTS = ("fx", "fy", "fz", "mx", "my", "mz")


def test_loads_from_a_file_say_that_it_does_not_tell(arm, tmp_path):
    motion = arm.read_motion(MOTION)
    loads = arm.joint_loads(motion, joints=JOINT)
    loads.save(tmp_path / "loads.csv")
    found = arm.read_loads(tmp_path / "loads.csv").assumptions
    for topic in ("external", "elements", "friction"):
        assert "not known" in text(found, topic)
    assert text(replace(loads, assumed=()).assumptions, "external") == NONE
