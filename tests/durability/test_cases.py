"""Load cases: envelopes, combined spectra, variants side by side."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import StateError
from tests.external.tables import arm, press, write


def history(robot, tmp_path, amplitude, cycles, name="m.csv"):
    """Return the loads of a press whose ram swings, with its rates."""
    time = np.linspace(0.0, 1.0, 401)
    w = 2 * np.pi * cycles
    x = amplitude * np.sin(w * time)
    rows = np.column_stack([time, x, amplitude * w * np.cos(w * time), -(w**2) * x])
    columns = ["time", "stroke", "stroke.vel", "stroke.acc"]
    return robot.load_history(write(tmp_path / name, columns, rows), exponents=[3, 5])


def test_envelopes_name_the_case_and_keep_its_extreme(tmp_path):
    slow, fast = (history(press(), tmp_path, 0.01, cycles) for cycles in (2, 4))
    cases = mbd.loads.LoadCases(
        [mbd.loads.LoadCase("slow", slow, 9), mbd.loads.LoadCase("fast", fast)]
    )
    for one in cases.signals:
        values = [h[one.name].largest.value for h in (slow, fast)]
        assert cases.largest(one.name).extreme.value == max(values)
        assert cases.smallest(one.name).extreme.value == min(
            h[one.name].smallest.value for h in (slow, fast)
        )
    assert cases.peak("stroke.fz").case == "fast"
    assert cases.duration == pytest.approx(10.0)


def test_repetitions_of_cases_add_their_damage(tmp_path):
    """By hand: 2 + 9 times 4 cycles of two ranges; and one case of weight 2 is itself twice."""
    slow, fast = (history(press(), tmp_path, 0.01, cycles) for cycles in (2, 4))
    cases = mbd.loads.LoadCases(
        [mbd.loads.LoadCase("slow", slow, 9), mbd.loads.LoadCase("fast", fast)]
    )
    for m in (3, 5):
        single = [h.spectra["stroke.fz"].damage_equivalent(m, cycles=1) for h in (slow, fast)]
        by_hand = ((9 * single[0] ** m + single[1] ** m) / 100.0) ** (1 / m)
        assert cases.damage_equivalent("stroke.fz", m, cycles=100) == pytest.approx(by_hand)
        assert cases.damage_equivalent("stroke.fz", m, frequency=10.0) == pytest.approx(by_hand)
        twice = mbd.loads.LoadCases([mbd.loads.LoadCase("slow", slow, 2)])
        once = slow.spectra["stroke.fz"].damage_equivalent(m)
        assert twice.damage_equivalent("stroke.fz", m) == pytest.approx(once)


def test_a_payload_beside_none_is_compared_signal_by_signal(tmp_path):
    machine = press()
    bare, loaded = (
        mbd.loads.LoadCases([mbd.loads.LoadCase("swing", history(robot, tmp_path, 0.01, 2))])
        for robot in (machine, machine.with_payload("ram", 3.0, (0, 0, 0.1)))
    )
    (guide,) = [one for one in bare.compare(loaded) if one.signal.name == "stroke.fz"]
    assert guide.ratio == pytest.approx(2.0)
    assert guide.second.extreme.value == pytest.approx(2 * guide.first.extreme.value)


def test_cases_that_do_not_fit_are_refused(tmp_path):
    one = history(press(), tmp_path, 0.01, 2)
    case = mbd.loads.LoadCase("a", one)
    time = np.linspace(0.0, 1.0, 9)
    path = write(
        tmp_path / "a.csv",
        ["time", "shoulder", "elbow", "slide"],
        np.column_stack([time, np.outer(time, np.ones(3))]),
    )
    other = mbd.loads.LoadCase("b", arm().load_history(path))
    for cases, said in (
        ([], "got none"),
        ([case, case], "'a' is there twice"),
        ([case, other], "compute all in the same way"),
        ([one], "expected a LoadCase"),
    ):
        with pytest.raises(StateError, match=said):
            mbd.loads.LoadCases(cases)
    with pytest.raises(StateError, match="repetitions above 0"):
        mbd.loads.LoadCase("a", one, 0)
    with pytest.raises(StateError, match="the joints differ"):
        mbd.loads.LoadCases([case]).compare(mbd.loads.LoadCases([other]))
    with pytest.raises(StateError, match="no signal"):
        mbd.loads.LoadCases([case]).damage_equivalent("stroke.xx", 3)
