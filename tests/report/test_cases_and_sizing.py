"""Claims: load cases, motors and bearings in a report are the API's, with all that they assume."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lxml import html

import mbd_bridge as mbd
from mbd_bridge.applications.bearings import Bearing
from mbd_bridge.applications.motors import Actuator, Friction, MotorCurve
from mbd_bridge.base.assumptions import TOPICS
from mbd_bridge.base.errors import FileError, StateError
from mbd_bridge.loads import assumed
from tests.report.texts import ARM, FAST, by_heading, rows, si

JOINT = "lbr_iiwa_joint_3"
PUSH = {"lbr_iiwa_link_7": [0, 0, -200.0, 0, 0, 0]}
WEIGHTS = {"free": 1000.0}
BEARINGS = {JOINT: (Bearing(15.9e3, 11e3, position=-0.05), Bearing(15.9e3, 11e3, position=0.05))}


@pytest.fixture(scope="module")
def arm():
    motor = Actuator(JOINT, 100.0, 1e-5, motor_friction=Friction(0.01),
                     curve=MotorCurve(continuous=0.2, peak=0.5, max_speed=500.0))  # fmt: skip
    return mbd.load(ARM).with_actuators([motor]).with_bearings(BEARINGS, reliability=95)


@pytest.fixture(scope="module")
def page(arm, motion, tmp_path_factory):
    path = tmp_path_factory.mktemp("cases") / "cases.html"
    named = {"free": motion, "pushed": (motion, PUSH)}
    found = arm.report(path, named, [JOINT], weights=WEIGHTS, view=False, **FAST)
    return path, found


@pytest.fixture(scope="module")
def loads(arm, motion):
    return {
        name: arm.joint_loads(motion, joints=[JOINT], external=external)
        for name, external in (("free", None), ("pushed", PUSH))
    }


def test_extremes_over_cases_are_the_apis_with_their_case(page, loads):
    path, found = page
    assert isinstance(found, mbd.loads.LoadCases)
    assert [row[:3] for row in rows(path, "Load cases")] == [["free", "1000", "2"],
                                                            ["pushed", "1", "2"]]  # fmt: skip
    columns = {"fx": 0, "fy": 1, "fz": 2}
    for row in by_heading(path, "Load cases", 1):
        name = row[""]
        if name not in columns:
            continue
        high, where, low, there = row["largest"], row["in"], row["smallest"], row["in2"]
        each = {case: one.force[:, 0, columns[name]] for case, one in loads.items()}
        most, least = max(each, key=lambda k: each[k].max()), min(each, key=lambda k: each[k].min())
        assert (where, there) == (most, least)
        assert si(high) == pytest.approx(each[most].max(), rel=1e-4)
        assert si(low) == pytest.approx(each[least].min(), rel=1e-4)
    (line,) = rows(path, "In short")
    forces = {case: np.linalg.norm(one.force[:, 0], axis=1).max() for case, one in loads.items()}
    assert si(line[1]) == pytest.approx(max(forces.values()), rel=1e-4)
    assert line[2].startswith(max(forces, key=lambda k: forces[k]))


def test_damage_of_all_repetitions_is_the_sum_of_the_cases(page, loads):
    path, found = page
    spectra = {case: one.spectra(exponents=[3, 5, 10]) for case, one in loads.items()}
    seen = 0
    for row in by_heading(path, "Load cases", 2):
        signal, most = f"{row['joint']}.{row['']}", row["most damage"]
        ranges = [row[f"m = {m}"] for m in (3, 5, 10)]
        if not most:
            continue
        scale = si(f"1 {row['unit']}")
        for text, m in zip(ranges, (3.0, 5.0, 10.0), strict=True):
            sums = {
                case: WEIGHTS.get(case, 1.0) * one[signal].damage_equivalent(m, cycles=1.0) ** m
                for case, one in spectra.items()
            }
            whole = (sum(sums.values()) / (2.0 * 1001.0)) ** (1.0 / m)
            assert float(text) * scale == pytest.approx(whole, rel=1e-4)
            shares = found.damage_shares(signal, m)
            for case, part in sums.items():
                assert shares[case] == pytest.approx(part / sum(sums.values()), rel=1e-9)
        top = max(found.damage_shares(signal, 3.0).items(), key=lambda item: item[1])
        assert most == f"{top[0]} ({top[1]:.0%})"
        seen += 1
    assert seen == 7


def test_motors_and_bearings_of_each_case_are_the_apis(arm, motion, page):
    path, found = page
    motors = [
        [row for row in by_heading(path, "Motors", k) if row["motor of"] == JOINT] for k in range(4)
    ]
    carried = [row for k in (0, 2) for row in by_heading(path, "Bearings", k)]
    lives = [row for k in (1, 3) for row in by_heading(path, "Bearings", k)]
    damage = dict.fromkeys(("first", "second"), 0.0)
    for k, external in enumerate((None, PUSH)):
        duty = arm.motors(motion, JOINT, external=external)[JOINT]
        (row,), (said,) = motors[2 * k : 2 * k + 2]
        assert (row["unit"], row["unit2"]) == ("N m", "rad/s")
        names = "peak", "RMS", "top speed", "motoring", "braking"
        numbers = duty.peak, [duty.rms], [abs(duty.fastest.value)], duty.motoring, duty.braking
        for name, number in zip(names, numbers, strict=True):
            assert float(row[name]) == pytest.approx(number[0], rel=1e-4)
        assert said["verdict"] == duty.verdict.text
        for place, one in enumerate(arm.bearings(motion, JOINT, external=external)[JOINT]):
            row, life = carried[2 * k + place], lives[2 * k + place]
            assert row["bearing of"] == life["bearing of"] == one.title
            assert float(row["radial"]) == pytest.approx(one.radial.value, rel=1e-4)
            assert float(row["axial"]) == pytest.approx(one.axial.value, rel=1e-4, abs=1e-6)
            own = one.life
            numbers = own.mean_load, own.revolutions, own.million_revolutions, own.hours
            shown = [float(life[name]) for name in ("mean load P", "turns", "L10", "L10h", "Lnmh")]
            assert shown == pytest.approx([*numbers, own.modified_hours], rel=1e-4)
            assert life["S0"] == f"{own.static_safety:.3g}"
            damage[one.name] += (1000.0, 1.0)[k] / own.hours
    (section,) = html.parse(path).xpath("//section[h2='Load cases']")
    last = section.findall(".//table")[-1].findall(".//tr")[1:]
    for row, name in zip(last, damage, strict=True):
        hours = 1001.0 / damage[name]
        assert float(row[1].text_content().removesuffix(" h")) == pytest.approx(hours, rel=1e-4)
        assert found.bearing_hours(JOINT, name) == pytest.approx(hours, rel=1e-9)


def test_the_page_says_what_each_case_assumes(page):
    path, found = page
    shown = [row[:2] for row in rows(path, "Assumptions")]
    assert shown == [[one.heading, one.text] for one in found.assumptions.entries]
    said = {topic: [one.text for one in found.assumptions[topic]] for topic in TOPICS}
    assert [text.partition(":")[0] for text in said["external"]] == ["free", "pushed"]
    assert len(said["masses"]) == 1 and "Miner" in said["cases"][0]
    assert "free 1000 times" in said["cases"][0] and "reliability 95 %" in said["bearings"][0]
    assert any("rotor inertia counted" in text for text in said["rotors"])


@pytest.mark.parametrize("topic", TOPICS)
def test_no_topic_can_be_left_out(loads, monkeypatch, topic):
    kept = {name: one for name, one in assumed.PROVIDERS.items() if name != topic}
    monkeypatch.setattr(assumed, "PROVIDERS", kept)
    with pytest.raises(StateError, match=f"nothing is said about {topic}"):
        assert loads["free"].assumptions


@pytest.mark.parametrize("topic", ["rotors", "friction", "bearings"])
def test_what_motors_and_bearings_assume_cannot_be_left_out(page, topic):
    history = page[1]["pushed"]
    said = history.assumptions[topic][0]
    hidden = history.assumptions.stating(replace(said, text="nothing to see"))
    with pytest.raises(StateError, match="nothing is said of"):
        replace(history, assumptions=hidden)


def test_weights_cannot_be_left_out_of_what_cases_assume(page, monkeypatch):
    monkeypatch.setattr(mbd.loads.LoadCases, "_weights", property(lambda self: ()))
    with pytest.raises(StateError, match="nothing is said about cases"):
        assert page[1].assumptions


def test_computed_cases_make_a_report_without_a_picture(arm, page, tmp_path):
    path = tmp_path / "again.html"
    again = arm.report(path, page[1], check=False)
    assert list(again) == ["free", "pushed"]
    assert rows(path, "Load cases", 2) == rows(page[0], "Load cases", 2)
    assert "No picture: these load cases were computed before." in path.read_text()
    with pytest.raises(StateError, match="joints: these load cases were computed already"):
        arm.report(path, page[1], JOINT)


@pytest.mark.parametrize("frame", [("child", "child"), ("parent", "world")])
def test_forces_of_a_report_have_the_axes_that_are_stated(arm, motion, tmp_path, frame):
    """Those of one motion and those of all: as in the direct call with their sum."""
    on, in_ = frame
    tip, table = "lbr_iiwa_link_7", ([0.0, 9.0], [[5.0, 0, 0, 0, 0, 1.0], [-60.0, 20, 9, 1, 0, 0]])
    options = {"on": on, "in_": in_, "at": "parent", "external_in": "world"}
    page, named = tmp_path / "x.html", {"one": (motion, PUSH), "two": (motion, {tip: table})}
    found = arm.report(page, named, JOINT, external=PUSH, view=False, **options, **FAST)
    for name, push in (("one", [PUSH, PUSH]), ("two", [PUSH, {tip: table}])):
        direct = arm.joint_loads(motion, joints=[JOINT], external=push, **options)
        for k, component in enumerate(("fx", "fy", "fz")):
            expected = direct.force[:, 0, k]
            assert found[name][f"{JOINT}.{component}"].largest.value == expected.max()
            assert found[name][f"{JOINT}.{component}"].smallest.value == expected.min()


@pytest.mark.parametrize("late", [{"exponents": (4,)}, {"minimum_norm": True}])
def test_options_that_come_too_late_are_refused(arm, page, tmp_path, late):
    with pytest.raises(StateError, match="computed already"):
        arm.report(tmp_path / "x.html", page[1], **late, **FAST)


def test_files_are_read_as_load_motion_reads_them(arm, motion, tmp_path):
    q = np.degrees(motion.q)
    names = ("base", "shoulder", "upper", "elbow", "fore", "wrist", "hand")
    heads = ",".join(["t", *names])
    columns = np.column_stack([motion.time, q])
    for name in ("one", "two"):
        np.savetxt(tmp_path / f"{name}.csv", columns, delimiter=",", header=heads, comments="")
    rename = {name: f"lbr_iiwa_joint_{k}" for k, name in enumerate(names, start=1)}
    options = {"rename": rename, "unit": "deg", "smooth": "off"}
    files, out = [tmp_path / "one.csv", tmp_path / "two.csv"], tmp_path / "x.html"
    found = arm.report(out, files, JOINT, view=False, **FAST, **options)
    read = arm.read_motion(files[0], **options)
    expected = arm.joint_loads(read, joints=JOINT)[JOINT].force[:, 0].max()
    assert found["one"][f"{JOINT}.fx"].largest.value == expected
    with pytest.raises(FileError, match="shoulder"):
        arm.report(out, files[0], JOINT, **FAST)
    with pytest.raises(StateError, match="unit: for files; this motion was read already"):
        arm.report(out, read, JOINT, unit="deg", **FAST)
    with pytest.raises(StateError, match="two files are called 'one'"):
        arm.report(out, [files[0], tmp_path / "sub" / "one.csv"], JOINT, **FAST)
    with pytest.raises(StateError, match="weights: for several motions"):
        arm.report(out, files[0], JOINT, weights={"one": 2}, **FAST)


def test_a_simulation_drives_its_motors_by_its_inputs(tmp_path):
    """The motor gives the torque input alone: a spring in the joint is not its work."""
    builder = mbd.Builder("rod")
    builder.link("rod", mass=1.0, centre=(0, 0, 0.5), inertia=(0.1, 0.1, 0.1))
    builder.joint("pin", "revolute", "base", "rod", axis=(0, 1, 0))
    rod = mbd.Mechanism.build(builder).with_forces(
        [mbd.forces.JointSpring("pin", 20.0, damping=0.5)]
    )
    motor = Actuator("pin", 10.0, 1e-4, motor_friction=Friction(0.0))
    rod = rod.with_actuators([motor]).with_bearings({"pin": Bearing(1e4, 1e4)})
    run = rod.simulate(0.5, torque={"pin": "3*sin(4*t)"}, step=1e-3)
    path = tmp_path / "run.html"
    history = run.report(path, view=False, **FAST)["motion"]
    duty = history.motors["pin"]
    expected = 3.0 * np.sin(4.0 * run.time) / 10.0 + 1e-4 * 10.0 * run.a[:, 0]
    assert duty.states.torque == pytest.approx(expected, abs=1e-9)
    assert si(rows(path, "Motors")[0][1]) == pytest.approx(duty.peak.value, rel=1e-4)
    radial = np.linalg.norm(run.joint_loads(["pin"]).force[:, 0, ::2], axis=1).max()
    assert history.bearings["pin"][0].radial.value == pytest.approx(radial, rel=1e-9)
    moved = rod.simulate(0.5, prescribed={"pin": "sin(t)"}, step=1e-3)
    given = moved.report(path, view=False, **FAST)["motion"].motors["pin"].states
    shaft = moved.prescribed_forces["pin"] / 10.0 + 1e-3 * moved.a[:, 0]
    assert given.torque == pytest.approx(shaft, abs=1e-9)
