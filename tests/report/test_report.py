"""The report says what the API says, in one file that needs nothing else."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lxml import html

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError, MissingPackageError, StateError
from mbd_bridge.cli import main
from mbd_bridge.engines.crosscheck import Report, Row
from mbd_bridge.reports import printing
from mbd_bridge.reports.write import agreement
from tests.report.texts import by_heading, si

ROOT = Path(__file__).parents[2]
ARM, MOTION = ROOT / "urdf" / "kuka_iiwa.urdf", ROOT / "urdf" / "kuka_iiwa_motion.csv"
JOINTS = ["lbr_iiwa_joint_3", "lbr_iiwa_joint_ee"]


@pytest.fixture(scope="module")
def page(arm, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "arm.html"
    arm.report(path, MOTION, JOINTS)
    return path


@pytest.fixture(scope="module")
def linkage_page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "linkage.html"
    bar = mbd.load(ROOT / "urdf" / "four_bar.urdf")
    start = bar.assemble(near={"crank": 0.5}, fixed="crank")
    run = bar.simulate(0.5, q=start.q, v=start.v)
    run.report(path)
    return path


def table(page, heading):
    """Return the rows of the first table of a section as texts, with the headings first."""
    (section,) = [s for s in html.parse(page).iterfind(".//section") if s[0].text == heading]
    rows = section.find(".//table").iterfind(".//tr")
    return [[cell.text_content() for cell in row] for row in rows]


def test_the_loads_are_those_of_the_api(arm, page):
    motion = arm.read_motion(MOTION)
    loads = arm.joint_loads(motion, joints=JOINTS)
    joint, found = "", {}
    for row in table(page, "Joint loads")[1:]:
        joint = row[0] or joint
        found[joint, row[1]] = row[2:]
    for k, name in enumerate(loads.joints):
        signals = dict(zip(("fx", "fy", "fz"), loads.force[:, k].T, strict=True))
        signals |= dict(zip(("mx", "my", "mz"), loads.moment[:, k].T, strict=True))
        signals["force"] = np.linalg.norm(loads.force[:, k], axis=1)
        signals["moment"] = np.linalg.norm(loads.moment[:, k], axis=1)
        if loads.actuation_names[loads.actuation_of[k]]:
            signals["actuation"] = loads.actuation[:, loads.actuation_of[k]][:, 0]
        for quantity, values in signals.items():
            largest, at, smallest, low_at, mean, rms, unit = found.pop((name, quantity))
            numbers = [si(f"{x} {unit}") for x in (largest, smallest, mean, rms)]
            largest, smallest, mean, rms = (f"{x:.5g}" for x in numbers)
            assert [largest, smallest] == [f"{values.max():.5g}", f"{values.min():.5g}"]
            assert float(at) == pytest.approx(motion.time[values.argmax()], rel=1e-5)
            assert float(low_at) == pytest.approx(motion.time[values.argmin()], rel=1e-5)
            assert float(mean) == pytest.approx(values.mean(), rel=1e-4, abs=1e-9)
            assert float(rms) == pytest.approx(np.sqrt(np.mean(values**2)), rel=1e-4)
            assert unit.removeprefix("m") == ("N" if quantity[0] == "f" else "N m")
    assert not found


def test_the_actuators_are_those_of_the_api(arm, page):
    motion = arm.read_motion(MOTION)
    actuation = arm.joint_loads(motion, joints=JOINTS[0]).actuation[:, 0]
    speed = motion.v[:, arm.coordinate_names.index(JOINTS[0])]
    heads, row = table(page, "Actuators")
    peak = actuation[np.abs(actuation).argmax()]
    assert row == [
        JOINTS[0],
        f"{peak:.5g}",
        f"{np.sqrt(np.mean(actuation**2)):.5g}",
        "N m",
        f"{abs(peak) / 200:.0%} of 200 N m",
        f"{np.abs(speed).max():.5g}",
        "rad/s",
        f"{np.abs(speed).max() / 2:.0%} of 2 rad/s",
        f"{(actuation * speed).max():.5g}",
        f"{-(actuation * speed).min():.5g}",
    ]
    assert heads[-2:] == ["motoring, W", "braking, W"]


def test_the_spectra_are_those_of_the_api(arm, page):
    motion = arm.read_motion(MOTION)
    spectra = arm.joint_loads(motion, joints=JOINTS).spectra(exponents=[3, 5, 10])
    rows = by_heading(page, "Durability")
    names = {f"{row['joint']}.{row['']}" for row in rows}
    assert len(rows) == 13 == len(names)  # 12 components and an actuator
    for row in rows:
        one, unit = spectra[f"{row['joint']}.{row['']}"], row["unit"]
        assert row["cycles"] == f"{one.cycles:g}" and unit.removeprefix("m") == one.unit
        ranges = [one.largest, *(one.damage_equivalent(m) for m in (3, 5, 10))]
        heads = "largest range", "m = 3", "m = 5", "m = 10"
        assert [si(f"{row[x]} {unit}") for x in heads] == pytest.approx(ranges, rel=1e-4)


def test_the_verdict_is_that_of_the_cross_check(arm, page):
    found = arm.crosscheck(states=20)
    referees = dict.fromkeys(one.referee for one in found.rows)
    for place, referee in enumerate(referees):
        rows = by_heading(page, "Other engines", place)
        compared = [one for one in found.rows if one.referee == referee]
        assert f"Against {referee}. 20 random states" in page.read_text(encoding="utf-8")
        for row, one in zip(rows, compared, strict=False):
            assert (row["quantity"], row["outcome"]) == (one.quantity, "agrees")
            assert float(row["allowed"]) == one.tolerance > float(row["error"])
        behind = {row["quantity"] for row in rows[len(compared) :]}
        assert behind <= {"joint loads along the motion", "actuators' forces along the motion"}
        assert len(behind) == 2 * ("own reading" in referee and place == 0) or "pybullet" in referee


def test_the_tree_is_that_of_the_model(arm, page):
    rows = table(page, "The machine")[1:]
    assert [row[0].strip("├─└│ ") for row in rows] == ["root_joint", *arm.joint_names]


@pytest.mark.parametrize("which", ["page", "linkage_page"])
def test_the_page_needs_no_other_file(which, request):
    tree = html.parse(request.getfixturevalue(which))
    places = tree.xpath("//@href | //@src")
    assert places and all(place.startswith(("#", "data:")) for place in places)
    style = "".join(tree.xpath("//style/text()"))
    assert "url(" not in style and "@import" not in style
    kinds = [script.get("type") for script in tree.xpath("//script")]
    assert kinds == ["application/json", None]  # the 3-D view: its data, and ours alone
    code = tree.xpath("//script[not(@type)]/text()")[0]
    assert not re.search(r"fetch|XMLHttp|import\(|https?:|WebSocket", code)
    anchors = {place[1:] for place in places if place.startswith("#")}
    assert anchors == set(tree.xpath("//section/@id"))


def test_undetermined_components_are_marked_and_warned_of(linkage_page):
    text = linkage_page.read_text(encoding="utf-8")
    assert "crank: fy, mx, mz; elbow: fy, mx, mz;" in text
    shown = {row[1] for row in table(linkage_page, "Joint loads")[1:]}
    assert {"fx", "fz", "force"} <= shown and "fy" not in shown
    assert "(...) is not determined by rigid-body mechanics" in text
    (section,) = html.parse(linkage_page).xpath("//section[h2='Joint loads']")
    folded = {one[0].text: one[1].text_content() for one in section.findall("details")}
    (unsure,) = (names for title, names in folded.items() if "undetermined" in title)
    assert "crank.fy, crank.mx, crank.mz" in unsure
    first = by_heading(linkage_page, "In short")[0]
    assert first["largest force"].startswith("(") and first["at"].endswith(" without fy")
    assert "3 of them redundant" in text
    assert "1 degree of freedom with the loops closed" in text


def test_rounding_errors_stand_as_zero(linkage_page):
    numbers = [x for row in table(linkage_page, "Joint loads")[1:] for x in row[2:8] if x]
    numbers = [float(x.strip("()")) for x in numbers]
    assert all(x == 0.0 or abs(x) > 1e-7 for x in numbers)
    text = linkage_page.read_text(encoding="utf-8")
    assert ">Actuators<" not in text  # nothing actuates it


def test_a_linkage_has_its_loops_beside_its_tree(linkage_page):
    (section,) = html.parse(linkage_page).xpath("//section[h2='The machine']")
    _, loops = section.findall(".//table")
    (row,) = loops.find("tbody")
    cells = [cell.text_content() for cell in row]
    assert cells == ["coupler_pin", "revolute", "coupler", "rocker", "5", "1.5", "3"]


def test_the_simulation_s_numbers_are_the_report_s(tmp_path):
    bar = mbd.load(ROOT / "urdf" / "crank_rocker.urdf")
    start = bar.assemble(near={"crank": 0.5}, fixed="crank")
    run = bar.simulate(0.2, q=start.q, prescribed={"crank": lambda t: 0.5 + t})
    history = run.report(tmp_path / "run.html", picture=False, check=False)["motion"]
    loads = run.joint_loads()
    assert history["crank.fx"].largest.value == loads["crank"].force[:, 0].max()
    assert history["crank.actuation"].rms == pytest.approx(
        np.sqrt(np.mean(run.prescribed_forces["crank"] ** 2))
    )
    assert table(tmp_path / "run.html", "Actuators")[1][0] == "crank"


def test_too_much_for_a_actuator_is_said(arm, tmp_path):
    motion = arm.read_motion(MOTION)
    heavy = arm.with_payload("lbr_iiwa_link_7", 500.0, (0.0, 0.0, 0.5))
    path = tmp_path / "heavy.html"
    heavy.report(path, motion, ["lbr_iiwa_joint_4"], picture=False, check=False)
    assert "Beyond limits: lbr_iiwa_joint_4 (peak " in path.read_text()


def test_actuators_without_limits_are_not_said_to_keep_them(arm, tmp_path):
    motion, path = arm.read_motion(MOTION), tmp_path / "x.html"
    options = {"picture": False, "check": False}
    arm.report(path, motion, JOINTS, **options)
    said = "All actuators stay within their limits. Not counted: friction and damping; rotors"
    assert said in path.read_text()
    text = ARM.read_text().replace('effort="200" velocity="2"', 'effort="0" velocity="0"', 1)
    assert text != ARM.read_text()
    (tmp_path / "arm.urdf").write_text(text)
    some = [f"lbr_iiwa_joint_{k}" for k in (2, 3, 4)]
    mbd.load(tmp_path / "arm.urdf").report(path, MOTION, some, **options)
    assert "2 of 3 actuators have limits, and stay within them." in path.read_text()


def test_a_disagreement_is_not_overlooked():
    row = Row("joint loads", "referee", 1e-3, 1e-11, "elbow", passed=False)
    found = Report("arm", 3, (row,), ("referee",), ("nobody else",))
    text = agreement(found)
    assert '<span class="bad">DISAGREEMENT' in text and "elbow" in text and "nobody else" in text
    skipped = replace(row, compared=False, note="no such thing")
    assert "not compared" in agreement(replace(found, rows=(skipped,)))


def test_names_cannot_break_the_page(tmp_path):
    builder = mbd.Builder("<b>&co</b>")
    builder.link("rod<script>", mass=1.0, centre=(0, 0, 0.5), inertia=(0.1, 0.1, 0.1))
    builder.joint("pin<i>", "revolute", "base", "rod<script>", axis=(0, 1, 0))
    rod = mbd.Mechanism.build(builder)
    run = rod.simulate(0.05)
    path = tmp_path / "names.html"
    run.report(path, picture=False, check=False)
    tree = html.parse(path)
    assert len(tree.xpath("//script")) == 2 and not tree.xpath("//i")
    assert tree.findtext(".//h1") == "Joint loads of <b>&co</b>"


def test_without_a_renderer_the_page_says_so(arm, tmp_path, monkeypatch):
    def missing(*args, **options):
        raise MissingPackageError("pictures need embreex: pip install embreex")

    monkeypatch.setattr("mbd_bridge.api.pictures.render", missing)
    path = tmp_path / "bare.html"
    arm.report(path, MOTION, JOINTS, check=False)
    assert "No picture: pictures need embreex" in path.read_text()


def test_the_picture_shows_the_loads_that_its_caption_names(arm, tmp_path, monkeypatch):
    from mbd_bridge.view import record

    seen = []

    def still(source, *_):
        seen.append(source)
        return np.zeros((8, 12, 3), dtype=np.uint8)

    monkeypatch.setattr(record, "still", still)
    motion = arm.read_motion(MOTION)
    page = tmp_path / "page.html"
    for some in (JOINTS, None):
        arm.report(page, motion, some, check=False)
        loads = arm.joint_loads(motion, joints=some)
        sizes = np.linalg.norm(loads.force, axis=2)
        row, joint = np.unravel_index(sizes.argmax(), sizes.shape)
        source = seen.pop()
        assert source.time == motion.time[row]
        assert source.loads.joints == (tuple(JOINTS) if some else (loads.joints[joint],))
        drawn = source.loads[loads.joints[joint]]
        assert np.allclose(drawn.force[0], loads.force[row, joint], rtol=1e-12, atol=1e-12)
        assert f"{np.linalg.norm(drawn.force):.5g} N." in page.read_text()
    bar = mbd.load(ROOT / "urdf" / "four_bar.urdf")
    run = bar.simulate(0.2, external={"coupler": [0, 0, -20.0, 0, 0, 0]})
    run.report(page, joints=["elbow"], check=False)
    source, loads = seen.pop(), run.joint_loads(["elbow"])
    row = np.linalg.norm(loads.force[:, 0], axis=1).argmax()
    assert source.time == run.time[row]
    assert np.allclose(source.loads.force[0], loads.force[row], rtol=1e-12, atol=1e-12)


def test_what_cannot_be_written_leaves_what_was_there(arm, tmp_path):
    with pytest.raises(FileError, match=r"no such directory|No such file|cannot be written"):
        arm.report(tmp_path / "none" / "x.html", MOTION, JOINTS, picture=False, check=False)
    kept = tmp_path / "kept.html"
    kept.write_text("before")
    broken = tmp_path / "broken.csv"
    broken.write_text("time,lbr_iiwa_joint_1\n0,0\n1,nan\n")
    with pytest.raises(FileError):
        arm.report(kept, broken, JOINTS, picture=False, check=False)
    assert kept.read_text() == "before"
    assert {p.name for p in tmp_path.iterdir()} == {"kept.html", "broken.csv"}


def test_what_makes_no_sense_is_refused(arm, tmp_path):
    with pytest.raises(StateError, match="needs a motion"):
        arm.report(tmp_path / "x.html")
    run = mbd.load(ROOT / "urdf" / "pendulum.urdf").simulate(0.01)
    with pytest.raises(StateError, match="has its own motion"):
        run.report(tmp_path / "x.html", MOTION)


def test_the_command_writes_the_page_and_says_what_was_derived(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["report", str(ARM), str(MOTION), "-o", "arm.html", "--joints", JOINTS[1]]
    assert main([*words, "--no-picture", "--no-check"]) == 0
    assert "201 states in arm.html" in capsys.readouterr().err
    text = (tmp_path / "arm.html").read_text(encoding="utf-8")
    assert "along kuka_iiwa_motion.csv" in text and "rates derived" in text
    assert main([*words[:-2], "--joints", "elbow"]) == 2
    assert "no joint named 'elbow'" in capsys.readouterr().err


def test_on_a_terminal_the_command_shows_how_far_it_is(tmp_path):
    ours, theirs = os.openpty()
    words = [sys.executable, "-m", "mbd_bridge", "report", str(ARM), str(MOTION)]
    more = ["-o", str(tmp_path / "x.html"), "--joints", JOINTS[1], "--no-picture", "--no-check"]
    width = os.environ | {"COLUMNS": "100", "TERM": "xterm"}
    with subprocess.Popen([*words, *more], cwd=ROOT, stderr=theirs, env=width) as command:
        os.close(theirs)
        shown = bytearray()
        with contextlib.suppress(OSError):  # the other end is closed: no more
            while part := os.read(ours, 100_000):  # a terminal keeps 4 kB until they are read
                shown += part
    os.close(ours)
    seen = shown.decode()
    assert command.returncode == 0
    assert re.search(r"reading and computing .* 100 %", seen), seen


def test_a_page_is_no_text(arm, tmp_path):
    with pytest.raises(FileError, match=r"x\.txt: expected a name that ends with \.html or \.pdf"):
        arm.report(tmp_path / "x.txt", MOTION)
    assert not list(tmp_path.iterdir())


def test_without_a_browser_a_pdf_is_refused_before_the_work(arm, tmp_path, monkeypatch):
    monkeypatch.setattr(printing.shutil, "which", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"none of them is installed.*write \.html"):
        arm.report(tmp_path / "x.pdf", "not looked for")


@pytest.mark.parametrize(("words", "said"), [("exit 3", "boom"), ("exec sleep 9", "timed out")])
def test_a_browser_that_prints_nothing_leaves_no_file(arm, tmp_path, monkeypatch, words, said):
    browser = tmp_path / "browser"
    browser.write_text(f"#!/bin/sh\necho boom >&2\n{words}\n")
    browser.chmod(0o755)
    monkeypatch.setattr(printing, "BROWSERS", (str(browser),))
    monkeypatch.setattr(printing, "SECONDS", 1.0)
    with pytest.raises(mbd.MbdError, match=f"printed no page: .*{said}.*; write .html"):
        printing.print_page("<p>", tmp_path / "x.pdf")
    assert [file.name for file in tmp_path.iterdir()] == ["browser"]
