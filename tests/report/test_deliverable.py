"""Claims: the report can be signed: whose it is, what it assumes, and no number of its own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from lxml import html

import mbd_bridge as mbd
from mbd_bridge.base.assumptions import TOPICS
from mbd_bridge.base.errors import StateError
from mbd_bridge.base.readable import banded
from mbd_bridge.engines.crosscheck import Report, Row, crosscheck
from mbd_bridge.loads import assumed
from mbd_bridge.reports.write import FIRST, checked_in_words, kind_of
from tests.report.texts import ARM, BLOCK, FAST, JOINTS, by_heading, rows, si
from tests.robots import OWN


@pytest.fixture(scope="module")
def arm():
    return mbd.load(ARM).with_payload("lbr_iiwa_link_ee", 2000.0)


@pytest.fixture(scope="module")
def page(arm, motion, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "arm.html"
    arm.report(path, motion, JOINTS, **FAST, **BLOCK)
    return path


def test_the_first_page_names_the_joints_with_the_largest_loads(arm, motion, tmp_path):
    path = tmp_path / "arm.html"
    names = [joint.name for joint in arm.model.joints]
    arm.report(path, motion, names, **FAST)
    said = [row["joint"] for row in by_heading(path, "In short")]
    assert len(said) == FIRST < len(names)
    assert "root_joint" in said and "lbr_iiwa_joint_1" in said


def test_one_line_for_each_joint_says_what_the_api_says(arm, motion, page):
    loads = arm.joint_loads(motion, joints=JOINTS)
    found = {row["joint"]: row for row in by_heading(page, "In short")}
    assert list(found) == JOINTS
    heads = [cell.text_content() for cell in html.parse(page).findall(".//section//th")]
    pairs = (
        head.removeprefix("largest ").partition(", ")[::2]
        for head in heads
        if head.startswith("largest ")
    )
    units = dict(pairs)
    assert units["force"] == ("kN" if np.linalg.norm(loads.force, axis=2).max() >= 1e4 else "N")
    for k, joint in enumerate(JOINTS):
        for name, at, vectors in (
            ("force", "at", loads.force[:, k]),
            ("moment", "at2", loads.moment[:, k]),
        ):
            sizes = np.linalg.norm(vectors, axis=1)
            shown = si(f"{found[joint][f'largest {name}']} {units[name]}")
            assert shown == pytest.approx(sizes.max(), rel=1e-4)
            assert float(found[joint][at]) == motion.time[sizes.argmax()]
    actuation = loads.actuation[:, 0]
    peak = actuation[np.abs(actuation).argmax()]
    rms = np.sqrt(np.mean(actuation**2))
    shown = [si(found[JOINTS[0]][name]) for name in ("actuation", "RMS")]
    assert shown == pytest.approx([peak, rms], rel=1e-4)
    assert found[JOINTS[1]]["actuation"] == found[JOINTS[1]]["RMS"] == ""


def test_the_title_block_is_there_and_the_page_is_the_same_every_time(arm, motion, page, tmp_path):
    tree = html.parse(page)
    block = {row[0].text: row[1].text for row in tree.findall(".//dl/div")}
    assert block == {"Project": "Cell <7>", "Author": "A. \\ Engineer", "Revision": "B",
                     "Date": "2026-03-31"}  # fmt: skip
    again = tmp_path / "again.html"
    arm.report(again, motion, JOINTS, **FAST, **BLOCK)
    assert again.read_bytes() == page.read_bytes()
    foot = tree.xpath("//style/text()")[0].rpartition("@bottom-left")[2]
    assert "Joint loads of kuka" in foot and "<7>" not in foot and "\\00003c7" in foot


@pytest.mark.parametrize("date", ["31.3.2026", "2026-13-01", 20260331, "today"])
def test_a_date_is_one(arm, motion, tmp_path, date):
    with pytest.raises(StateError, match="expected YYYY-MM-DD"):
        arm.report(tmp_path / "x.html", motion, date=date, **FAST)


def test_the_report_says_every_assumption(arm, motion, page):
    shown = {row[0]: row[1] for row in rows(page, "Assumptions")}
    loads = arm.joint_loads(motion, joints=JOINTS)
    assert list(shown) == list(TOPICS.values())
    assert {one.heading: one.text for one in loads.assumptions.entries} == shown
    assert "2000 kg on lbr_iiwa_link_ee" in shown["Payload"]


def test_without_an_assumption_there_is_no_report(arm, motion, tmp_path, monkeypatch):
    kept = {name: one for name, one in assumed.PROVIDERS.items() if name != "payload"}
    monkeypatch.setattr(assumed, "PROVIDERS", kept)
    with pytest.raises(StateError, match="nothing is said about payload"):
        arm.report(tmp_path / "x.html", motion, JOINTS, **FAST)
    assert not list(tmp_path.iterdir())


def test_joints_that_carry_nothing_are_folded_away(tmp_path):
    builder = mbd.Builder("tool")
    builder.link("rod", mass=1.0, centre=(0, 0, 0.5), inertia=(0.1, 0.1, 0.1))
    builder.joint("pin", "revolute", "base", "rod", axis=(0, 1, 0))
    builder.link("flange")
    builder.joint("mark", "fixed", "rod", "flange")
    run = mbd.Mechanism.build(builder).simulate(0.05)
    path = tmp_path / "tool.html"
    history = run.report(path, **FAST)["motion"]
    assert history.joints == ("pin", "mark")
    assert [row[0] for row in rows(path, "In short")] == ["pin"]
    (section,) = html.parse(path).xpath("//section[h2='In short']")
    assert section.find("details")[1].text_content() == "mark"
    drawn = html.parse(path).xpath("//section[h2='Joint loads']//img/@alt")
    assert drawn == ["force of pin along time"]  # no moment, nothing of the massless flange


def test_the_verdict_is_in_words():
    row = Row("joint loads", "pinocchio", 3e-13, 1e-11, "elbow")
    good = Report("arm", 20, (row,), ("pinocchio 3.1, its own reading", "pinocchio 3.1, loops"))
    assert checked_in_words(good) == (
        "Checked: an independent program (pinocchio 3.1) computes the same for this machine, to "
        "better than one part in a billion, in 20 random states."
    )
    bad = Report("arm", 20, (Row("joint loads", "pybullet", 1e-3, 1e-6, "elbow", passed=False),),
                 ("pinocchio", "pybullet"))  # fmt: skip
    assert checked_in_words(bad).startswith(
        "NOT CONFIRMED: 2 independent programs (pinocchio and pybullet) found otherwise: joint "
    )
    silent = Report("arm", 20, (Row("joint loads", "x", 0.0, 1e-6, compared=False),), ())
    assert checked_in_words(silent).startswith("Not checked")


def test_a_band_below_a_thousandth_is_not_shown_and_others_have_the_numbers_unit():
    draw = np.random.default_rng(4)
    for _ in range(2000):
        value, share = 10.0 ** draw.uniform(-4.0, 7.0), 10.0 ** draw.uniform(-9.0, 1.0)
        text = banded(value, "N", share * value)
        assert ("±" in text) == (share >= 1e-3), text
        assert text.count("N") == 1
    assert banded(60_000.0, "N", 0.008) == "60 kN"
    assert banded(-60_000.0, "N", 90.0) == "-60 ± 0.09 kN"
    assert banded(1e-9, "N", 1.0, floor=1e-6) == "0 N"


def test_a_machine_of_which_only_the_open_tree_was_compared_is_not_called_checked(tmp_path):
    model = mbd.load(str(OWN / "four_bar.urdf")).model
    found = crosscheck(model, states=3, pybullet=False)
    assert found.passed and found.open_loops == ("coupler_pin",)
    assert found.verdict.startswith("agreement of the open tree")
    words = checked_in_words(found)
    assert words.startswith("Checked in part: ") and "open tree of this machine" in words
    assert "Nobody has checked its closed loops (coupler_pin)" in words
    assert kind_of(found) == "doubt"
    tree = crosscheck(mbd.load(str(OWN / "pendulum.urdf")).model, states=3, pybullet=False)
    assert checked_in_words(tree).startswith("Checked: ") and kind_of(tree) == "good"


@pytest.mark.parametrize(("begin", "rows"), [(100.0, 0), (0.5, 10)])
def test_a_report_says_in_how_many_rows_a_table_acts(begin, rows, tmp_path):
    rod, table, motion = (
        mbd.load(str(OWN / "pendulum.urdf")),
        tmp_path / "f.csv",
        tmp_path / "m.csv",
    )
    ends = "".join(f"{begin + t!r},{f}\n" for t, f in ((0.0, 0), (0.05, 60), (0.1, 60), (0.1, 0)))
    table.write_text(f"# outside: zero\ntime,rod.fx [kN]\n{ends}")
    time = np.arange(201) * 0.01
    lines = [f"{t!r},{0.3 * math.sin(t)!r}" for t in time.tolist()]
    motion.write_text("\n".join(["time,hinge [rad]", *lines]))
    history = rod.report(tmp_path / "r.html", motion, external=table, picture=False, check=False)[
        "motion"
    ]
    said = f"acts in {rows} of 201 rows"
    assert [one for one in history.assumptions["external"] if said in one.text]
    assert said in (tmp_path / "r.html").read_text()
    pieces = [rod.read_motion(motion).part(part) for part in (slice(90), slice(90, 201))]
    forces = rod.read_external(table)
    uses = [forces.use(piece.time, piece.q, piece.v) for piece in pieces]
    assert (uses[0] + uses[1]).assumed == forces.use(time, np.zeros((201, 1))).assumed
