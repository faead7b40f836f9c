"""Claims about ``mbd bench``: it compares equal results, and writes each number as it comes."""

from __future__ import annotations

import json

import pytest

import mbd_bridge as mbd
from tests.robots import OWN

ARM = str(OWN / "kuka_iiwa.urdf")
HUMANOID = str(OWN / "humanoid.urdf")


def test_bench_compares_equal_results_and_writes_its_numbers(run, tmp_path, monkeypatch):
    from mbd_bridge.engines.crosscheck import bench as timing

    monkeypatch.setattr(timing, "SECONDS", 0.0)
    monkeypatch.setattr(timing, "REPETITIONS", 1)
    code, out, _ = run("bench", ARM, "--states", 50, "--json", tmp_path / "b.json")
    assert code == 0
    numbers = json.loads((tmp_path / "b.json").read_text())
    titles = [row["what"] for row in numbers["rows"]]
    assert len(titles) == 6
    for row in numbers["rows"]:
        assert row["what"] in out
        assert row["ours"] > 0
        assert row["ratio"] == pytest.approx(row["theirs"] / row["ours"])
    apart = {row["what"]: row["difference"] for row in numbers["rows"]}
    assert apart["inverse dynamics"] < 1e-11
    assert apart["forward dynamics"] < 1e-9
    assert apart["mass matrix"] < 1e-11
    assert len(numbers["compilations"]) == 4
    assert numbers["facts"]["threads"] == "1 each"


def test_bench_gives_numbers_for_a_floating_tree_in_another_order_too(run, monkeypatch, tmp_path):
    from mbd_bridge.engines.crosscheck import bench as timing

    monkeypatch.setattr(timing, "SECONDS", 0.0)
    monkeypatch.setattr(timing, "REPETITIONS", 1)
    code, _, _ = run(
        "bench", HUMANOID, "--floating", "--states", 20, "--joints", "left_knee",
        "--json", tmp_path / "b.json",
    )  # fmt: skip
    assert code == 0
    rows = json.loads((tmp_path / "b.json").read_text())["rows"]
    assert max(row["difference"] or 0.0 for row in rows) < 1e-8
    assert any("left_knee" in row["what"] for row in rows)


def test_bench_prints_rows_as_they_come_and_says_why_one_is_blank(run, tmp_path, monkeypatch):
    from mbd_bridge.engines.crosscheck import bench as timing

    monkeypatch.setattr(timing, "SECONDS", 0.0)
    monkeypatch.setattr(timing, "REPETITIONS", 1)
    (tmp_path / "two.urdf").write_text(
        '<robot name="two"><link name="a"/>'
        + "".join(
            f'<link name="{link}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" '
            f'ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="{joint}" type="continuous">'
            f'<parent link="a"/><child link="{link}"/>{more}</joint>'
            for link, joint, more in (("b", "j", ""), ("c", "k", '<mimic joint="j"/>'))
        )
        + "</robot>"
    )
    code, out, _ = run("bench", tmp_path / "two.urdf", "--states", "20", "--json",
                       tmp_path / "b.json")  # fmt: skip
    assert code == 0
    assert "ns/state" in out
    assert "no difference is given: joints that <mimic>" in out
    facts = json.loads((tmp_path / "b.json").read_text())["facts"]
    lines = [" ".join(line.split()) for line in out.splitlines()]
    for name, value in facts.items():
        assert f"{name} {value}" in lines
    heard: list[str] = []
    from mbd_bridge.engines.crosscheck.bench import bench

    result = bench(mbd.load(ARM).model, states=50, heard=lambda row: heard.append(row.what))
    assert heard == [row.what for row in result.rows]
