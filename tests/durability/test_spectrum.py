"""Spectra and damage-equivalent loads: by hand, by invariance, in pieces; bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.applications.durability import (
    SpectraObserver,
    SpectrumCounter,
    load_spectra,
    rainflow,
    spectrum,
)
from mbd_bridge.base.errors import MbdWarning, StateError
from tests.machines import four_bar
from tests.oracles.astm import FIGURE_6

RNG = np.random.default_rng(0)


def test_damage_equivalent_load_of_the_standards_example_by_hand():
    # 0.5 3^m + 1.5 4^m + 0.5 6^m + 1 8^m + 0.5 9^m, m = 3: 13.5 + 96 + 108 + 512 + 364.5 = 1094
    found = spectrum(FIGURE_6, 8.0, exponents=[3, 1])
    assert np.isclose(found.damage_equivalent(3, cycles=1), 1094 ** (1 / 3), rtol=1e-13)
    assert np.isclose(found.damage_equivalent(3), (1094 / 8) ** (1 / 3), rtol=1e-13)
    assert np.isclose(found.damage_equivalent(3, frequency=2), (1094 / 16) ** (1 / 3), rtol=1e-13)
    assert np.isclose(found.damage_equivalent(1, cycles=1), 1.5 + 6 + 3 + 8 + 4.5, rtol=1e-13)
    assert found.cycles == 4.0 and found.largest == 9.0


def test_a_sine_of_1_hz_is_its_own_equivalent_whatever_the_exponent():
    time = np.arange(20_001) / 1000.0
    found = spectrum(7.0 + 2.5 * np.cos(2 * np.pi * time), 20.0)
    for m in found.exponents:
        assert np.isclose(found.damage_equivalent(m), 5.0, rtol=1e-12)
    assert np.isclose(found.damage_equivalent(3.0, frequency=2.0), 5.0 / 2 ** (1 / 3))


@pytest.mark.parametrize("factor", [1e-300, 1e-9, 40.0, 1e200])
def test_equivalents_grow_with_the_load_and_do_not_overflow(factor):
    samples = RNG.normal(size=2000)
    one, other = spectrum(samples, 10.0), spectrum(samples * factor, 10.0)
    for m in one.exponents:
        ratio = other.damage_equivalent(m) / one.damage_equivalent(m)
        assert np.isclose(ratio, factor, rtol=1e-12)
    assert np.array_equal(one.counts.sum(), other.counts.sum())


def test_mean_and_sign_do_not_change_ranges_and_twice_as_long_is_the_same_at_1_hz():
    samples = RNG.normal(size=2000)
    one = spectrum(samples, 10.0)
    there_and_back = np.concatenate([samples, samples[-2::-1]])
    for m in one.exponents:
        wanted = one.damage_equivalent(m)
        assert np.isclose(spectrum(5.0 - samples, 10.0).damage_equivalent(m), wanted, rtol=1e-12)
        back = spectrum(there_and_back, 20.0).damage_equivalent(m)
        assert np.isclose(back, wanted, rtol=0.02)  # but for the cycle over the whole


@pytest.mark.parametrize("pieces", [2, 7, 400])
def test_a_spectrum_in_pieces_is_that_of_the_whole(pieces):
    samples = np.cumsum(RNG.normal(size=8000)) - 3.0
    counter, whole = SpectrumCounter(), spectrum(samples, 8.0)
    for part in np.array_split(samples, pieces):
        counter.add(part)
    found = counter.spectrum("signal", "1", 8.0)
    assert np.array_equal(found.matrix, whole.matrix)
    assert np.array_equal(found.ranges, whole.ranges)
    assert np.array_equal(found.means, whole.means)
    assert np.allclose(found.powers, whole.powers, rtol=1e-13)
    assert found.cycles == whole.cycles


def test_the_bins_hold_the_cycles():
    samples = np.cumsum(RNG.normal(size=3000))
    found, cycles = spectrum(samples, 1.0), rainflow(samples)
    wanted, _, _ = np.histogram2d(
        cycles.ranges, cycles.means, (found.ranges, found.means), weights=cycles.counts
    )
    assert np.array_equal(found.matrix, wanted)
    assert found.matrix.sum() == found.cycles
    used = np.flatnonzero(found.counts)
    assert 64 <= used[-1] < 128  # half of the bins at least are in use
    above = found.exceedance
    for size, number in zip(above.range, above.cycles, strict=True):
        assert number == cycles.counts[cycles.ranges >= size].sum()


def test_asking_in_between_changes_nothing():
    samples = RNG.normal(size=500)
    counter = SpectrumCounter()
    counter.add(samples[:200])
    counter.spectrum("signal", "1", 1.0)
    counter.add(samples[200:])
    assert np.array_equal(
        counter.spectrum("signal", "1", 1.0).matrix, spectrum(samples, 1.0).matrix
    )


@pytest.mark.parametrize("samples", [[4.0], np.full(50, 4.0), np.zeros(9)])
def test_what_is_constant_does_no_damage(samples):
    found = spectrum(samples, 1.0)
    assert found.cycles == 0.0 and found.largest == 0.0
    assert all(found.damage_equivalent(m) == 0.0 for m in found.exponents)
    assert not len(found.exceedance.range)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: spectrum([], 1.0), "no samples"),
        (lambda: spectrum([0.0, np.nan], 1.0), "finite samples"),
        (lambda: spectrum([0, 1], 1.0, exponents=[0]), "exponents: expected a positive"),
        (lambda: spectrum([0, 1], 1.0, exponents=[3, -2]), "got -2.0"),
        (lambda: spectrum([0, 1], 1.0, exponents=[np.inf]), "got inf"),
        (lambda: spectrum([0, 1], 1.0, exponents=[]), "none given"),
        (lambda: spectrum([0, 1], 1.0, exponents="many"), "expected real numbers"),
        (lambda: spectrum([0, 1], 1.0).damage_equivalent(4), "for the exponents 3, 5, 10"),
        (lambda: spectrum([0, 1], 0.0).damage_equivalent(3), "has no duration"),
        (lambda: spectrum([0, 1], 1.0).damage_equivalent(3, frequency=0), "frequency"),
        (lambda: spectrum([0, 1], 1.0).damage_equivalent(3, cycles=-1), "cycles"),
    ],
)
def test_bad_questions_are_refused(call, words):
    with pytest.raises(StateError, match=words):
        call()


def arm_loads(joints="elbow", rows=400):
    """A double pendulum along a smooth motion."""
    b = mbd.Builder("arm", root="base")
    b.link("upper", 2.0, (0, 0, -0.2), (0.02, 0.02, 0.001))
    b.link("lower", 1.0, (0.01, 0, -0.2), (0.01, 0.01, 0.001))
    b.joint("shoulder", "revolute", "base", "upper", axis=(0, 1, 0))
    b.joint("elbow", "revolute", "upper", "lower", (0, 0, -0.4), axis=(0, 1, 0))
    arm = mbd.Mechanism.build(b)
    time = np.linspace(0.0, 2.0, rows)
    q = np.stack([np.sin(5 * time), np.cos(7 * time)], axis=1)
    v = np.stack([5 * np.cos(5 * time), -7 * np.sin(7 * time)], axis=1)
    a = np.stack([-25 * np.sin(5 * time), -49 * np.cos(7 * time)], axis=1)
    return time, arm.joint_loads(q, v, a, joints).along(time, v)


def test_load_spectra_name_every_component_and_warn_of_resultants():
    _, loads = arm_loads(["elbow", "shoulder"])
    found = load_spectra(loads)
    assert [s.name for s in found.signals[:9]] == [
        f"elbow.{name}"
        for name in ["fx", "fy", "fz", "mx", "my", "mz", "force", "moment", "actuation"]
    ]
    own = spectrum(loads["elbow"].force[:, 0], 2.0).damage_equivalent(5.0)
    assert np.isclose(found["elbow.fx"].damage_equivalent(5.0), own, rtol=1e-13)
    with pytest.warns(MbdWarning, match="Use components for fatigue"):
        found["elbow.force"]
    with pytest.raises(StateError, match=r"did you mean 'elbow.f"):
        found["elbow.f"]


def test_a_reversed_force_has_no_cycle_in_its_length():
    """Why components are preferred: a component that swings fully, its length that does not."""
    time, loads = arm_loads()
    swing = np.where(np.arange(len(time)) % 2, 1.0, -1.0)
    force = np.zeros_like(loads.force)
    force[:, 0, 0] = 10.0 * swing
    found = load_spectra(replace(loads, force=force))
    assert found["elbow.fx"].largest == 20.0
    with pytest.warns(MbdWarning):
        assert found["elbow.force"].largest == 0.0


def test_the_worst_direction_is_that_of_the_swing():
    time, loads = arm_loads()
    turn = np.deg2rad(40.0)
    force = np.zeros_like(loads.force)
    size = np.cos(np.pi * np.arange(len(time)))
    force[:, 0, 0], force[:, 0, 2] = np.sin(turn) * size, np.cos(turn) * size
    found = load_spectra(replace(loads, force=force), plane="zx", directions=36)
    worst = found.worst_direction("elbow.force", 5.0)
    assert np.isclose(worst.angle, turn)
    along_z = found["elbow.fz"].damage_equivalent(5.0)
    assert np.isclose(worst.equivalents[0], along_z, rtol=1e-12)
    assert np.allclose(worst.equivalents, worst.equivalent * np.abs(np.cos(worst.along - turn)))
    with pytest.raises(StateError, match="plane="):
        load_spectra(loads).worst_direction("elbow.force", 5.0)
    with pytest.raises(StateError, match="xy, yz, zx"):
        load_spectra(loads, plane="xz")


def test_turning_the_axes_turns_the_worst_direction():
    _, loads = arm_loads(rows=2000)
    turn = np.pi / 6
    c, s = np.cos(turn), np.sin(turn)
    turned = loads.force @ np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    one, other = (
        load_spectra(replace(loads, force=f), plane="zx", directions=36)
        for f in (loads.force, turned)
    )
    first, second = (x.worst_direction("elbow.force", 3.0) for x in (one, other))
    assert np.isclose(first.equivalent, second.equivalent, rtol=1e-9)
    assert np.isclose((second.angle - first.angle) % np.pi, turn % np.pi) or np.isclose(
        (first.angle - second.angle) % np.pi, turn % np.pi
    )


def test_undetermined_components_are_marked():
    bar = four_bar()
    q0 = bar.assemble(near={"crank": 0.5}, fixed="crank").q
    run = bar.simulate(0.05, step=1e-3, q=q0)
    found = load_spectra(run.joint_loads(["pin"]))
    unique = run.joint_loads(["pin"]).determined[0]
    assert not unique.all() and unique.any()
    names = ["fx", "fy", "fz", "mx", "my", "mz"]
    for name, known in zip(names, unique, strict=True):
        assert found[f"pin.{name}"].determined == known
        assert ("undetermined" in repr(found[f"pin.{name}"])) != known
    with pytest.warns(MbdWarning):
        assert not found["pin.force"].determined


def test_a_actuator_that_is_not_determined_is_marked():
    _, loads = arm_loads()
    assert load_spectra(loads)["elbow.actuation"].determined
    unsure = load_spectra(replace(loads, actuation_unique=np.zeros_like(loads.actuation_unique)))
    assert not unsure["elbow.actuation"].determined and unsure["elbow.fx"].determined


def test_times_go_on_and_one_state_is_no_history():
    time, loads = arm_loads()
    counter, timed = SpectraObserver(), replace(loads, time=time)
    with pytest.raises(StateError, match="no loads were counted"):
        counter.result()
    counter.add(None, timed)
    found = counter.result()
    with pytest.raises(StateError, match="expected times after 2 s"):
        counter.add(None, timed)
    with pytest.raises(StateError, match="one state"):
        load_spectra(replace(loads, force=loads.force[0]))
    with pytest.raises(StateError, match="times of these loads are not known"):
        load_spectra(replace(loads, time=None))
    with pytest.raises(StateError, match="400 times, one a state"):
        load_spectra(loads, time=[0.0, 1.0])
    none = replace(loads, force=loads.force[:0], time=loads.time[:0])
    with pytest.raises(StateError, match="at least one"):
        load_spectra(none)
    assert load_spectra(loads, time=2.0 * time).duration == 2.0 * found.duration


def test_the_picture_draws_every_determined_component_and_marks_the_others():
    import matplotlib

    matplotlib.use("Agg")

    _, loads = arm_loads(["elbow", "shoulder"])
    found = load_spectra(loads)
    axes = found.plot()
    assert [ax.get_title(loc="left") for ax in axes[:2]] == ["elbow: force", "elbow: moment"]
    assert len(axes) == 4 and axes[0].get_ylabel() == "range [N]"
    drawn = {line.get_label(): line for line in axes[0].lines}
    one = found["elbow.fx"]
    assert drawn["fx"].get_ydata().max() == one.largest
    assert drawn["fx"].get_xdata().max() == one.cycles
    assert len(found.plot("elbow")) == 2
    with pytest.raises(StateError, match="no joint in these spectra named 'wrist'"):
        found.plot("wrist")
    bar = four_bar()
    run = bar.simulate(0.5, step=1e-3, q=bar.assemble(near={"crank": 0.5}, fixed="crank").q)
    pin = run.joint_loads(["pin"])
    shaken = pin.force + np.sin(40 * run.time)[:, None, None]
    force, _ = load_spectra(replace(pin, force=shaken)).plot()
    labels = [text.get_text() for text in force.get_legend().get_texts()]
    assert labels == ["fx", "fy (undetermined)", "fz"]
    still = load_spectra(replace(loads, force=0 * loads.force, moment=0 * loads.moment))
    assert any("no cycles" in text.get_text() for text in still.plot()[0].texts)
