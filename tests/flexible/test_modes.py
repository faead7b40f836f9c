"""Beams and their modes against closed forms."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import ModelError
from mbd_bridge.equations.mass_matrix import mass_matrix_by_bodies
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.model import build_model
from mbd_bridge.model.flexible.basis import basis, matrices
from mbd_bridge.model.flexible.integrals import deformation
from tests.flexible.models import bar, cantilever, natural_frequencies

CLOSED_FORM = 1e-10
"""Sums over 256 Gauss points, relative to the largest term."""

ROOTS = {
    "clamped-free": (1.8751040687119611, 4.6940911329741746, 7.8547574382376126),
    "clamped-clamped": (4.7300407448627040, 7.8532046240958376, 10.995607838001671),
    "clamped-pinned": (3.9266023120479188, 7.0685827456287321, 10.210176122813031),
}
"""λ of f'''' = (λ/L)⁴ f, from any book on vibrations."""


def unit_frequency(beam):
    at = beam.at(np.zeros(1))
    return np.sqrt(at.EIz[0] / (at.mass[0] * beam.length**4))


def in_link(modes, beam=None, stations=()):
    beam = beam or bar(1.0)
    flexible = mbd.flexible.FlexibleLink("arm", beam, modes)
    return basis(flexible, beam, 0.0, [beam.length, *stations]), beam


@pytest.mark.parametrize("kind", ROOTS)
def test_closed_forms_are_natural_modes(kind):
    modes, beam = in_link(mbd.flexible.Modes(kind, 3))
    M, K = matrices(beam, modes)
    found = natural_frequencies(M, K) / unit_frequency(beam)
    assert np.allclose(found, np.square(ROOTS[kind]), rtol=CLOSED_FORM)
    coupling = np.abs(M / np.sqrt(np.outer(np.diag(M), np.diag(M))) - np.eye(3)).max()
    assert coupling < CLOSED_FORM


def test_high_closed_forms_keep_their_digits():
    modes, beam = in_link(mbd.flexible.Modes("clamped-free", 20))
    M, K = matrices(beam, modes)
    assert np.allclose(
        natural_frequencies(M, K)[-1] / unit_frequency(beam), (19.5 * np.pi) ** 2, rtol=1e-9
    )
    assert np.allclose(modes[-1].function.at(np.array([1.0])).f, 1.0, rtol=1e-9)


def test_twist_and_extension_have_the_frequencies_of_rods():
    modes, beam = in_link(
        mbd.flexible.Modes("clamped-free", None, None, 2, 2), bar(1.0, rotary=True)
    )
    M, K = matrices(beam, modes)
    at = beam.at(np.zeros(1))
    quarter = np.pi / 2 * np.array([1, 3])
    twist = quarter * np.sqrt(at.GJ / (at.rotary_y + at.rotary_z))
    extension = quarter * np.sqrt(at.EA / at.mass)
    assert np.allclose(natural_frequencies(M[:2, :2], K[:2, :2]), twist, rtol=CLOSED_FORM)
    assert np.allclose(natural_frequencies(M[2:, 2:], K[2:, 2:]), extension, rtol=CLOSED_FORM)


def test_finite_elements_converge_with_the_fourth_power_of_their_length():
    errors = []
    for count in (8, 16, 32):
        modes, beam = in_link(mbd.flexible.Modes("finite-element", 2, elements=count))
        found = natural_frequencies(*matrices(beam, modes)) / unit_frequency(beam)
        errors.append(found[1] / ROOTS["clamped-free"][1] ** 2 - 1)
    ratios = np.array(errors[:-1]) / errors[1:]
    assert (np.abs(ratios - 16) < 1.0).all()
    assert errors[-1] > 0.0  # from above: Rayleigh


def test_a_hinged_bar_in_a_frame_that_follows_its_end_has_the_sines_frequencies():
    """The frame is tangent to the bar where its joint is; free to turn, it must not matter."""
    builder = mbd.Builder("hinged")
    builder.joint("hinge", "revolute", "base", "arm", axis=(0, 0, 1))
    builder.flexible(
        mbd.flexible.FlexibleLink("arm", bar(1.0), mbd.flexible.Modes("pinned-pinned", 4))
    )
    model = build_model(builder.description(), gravity=(0, 0, 0))
    M = mass_matrix_by_bodies(model, np.zeros(5))
    K = np.zeros((5, 5))
    K[1:, 1:] = model.flexible[0].stiffness
    tip = model.bodies[model.joint("arm").body].type
    row = np.array([1.0, *np.array(tip.displacement)[1]])  # the end stays on the line
    N = np.linalg.svd(row[None])[2][1:].T
    found = natural_frequencies(N.T @ M @ N, N.T @ K @ N) / unit_frequency(bar(1.0))
    assert np.allclose(found, (np.pi * np.arange(1, 5)) ** 2, rtol=CLOSED_FORM)


def with_tip_mass(ratio):
    """Return λ of the first mode of a cantilever with a point mass, ratio of the bar's own."""
    low, high = 0.1, 1.8751
    for _ in range(80):
        x = 0.5 * (low + high)
        c, s, ch, sh = np.cos(x), np.sin(x), np.cosh(x), np.sinh(x)
        low, high = (x, high) if 1 + c * ch + ratio * x * (c * sh - s * ch) > 0 else (low, x)
    return low


def test_frequency_with_a_tip_mass_converges_with_the_third_power_of_the_modes():
    beam, load = bar(1.0), 1.62
    expected = with_tip_mass(load / (0.02 * 0.03 * 2700)) ** 2 * unit_frequency(beam)
    errors = []
    for count in (2, 4, 8):
        model = cantilever(mbd.flexible.Modes("clamped-free", count), tip_mass=load)
        M = mass_matrix_by_bodies(model, np.zeros(count))
        found = natural_frequencies(M, model.flexible[0].stiffness)[0]
        errors.append(found / expected - 1)
    assert errors[-1] > 0.0
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (np.abs(rates - 3.0) < 0.6).all()
    static = cantilever(mbd.flexible.Modes("craig-bampton", 4, elements=16), tip_mass=load)
    M = mass_matrix_by_bodies(static, np.zeros(6))
    found = natural_frequencies(M, static.flexible[0].stiffness)[0]
    assert abs(found / expected - 1) < 1e-6


def test_static_deflection_under_a_tip_load_converges_and_is_exact_with_static_modes():
    load = 1.62 * 9.81
    at = bar(1.0).at(np.zeros(1))
    expected = -load / (3 * at.EIz[0]) - at.mass[0] * 9.81 / (8 * at.EIz[0])
    errors = []
    for modes in (
        mbd.flexible.Modes("clamped-free", 2),
        mbd.flexible.Modes("clamped-free", 4),
        mbd.flexible.Modes("clamped-free", 8),
        mbd.flexible.Modes("craig-bampton", 6, elements=16),
    ):
        model = cantilever(modes, tip_mass=1.62)
        n = model.nv
        force = recursive_loads(model, np.zeros(n), np.zeros(n), np.zeros(n)).forces
        eta = -np.linalg.solve(model.flexible[0].stiffness, force)
        tip = model.bodies[model.joint("arm").body].type
        errors.append(abs((np.array(tip.displacement) @ eta)[1] / expected - 1))
    rates = np.log2(np.array(errors[:2]) / errors[1:3])
    assert (np.abs(rates - 3.0) < 0.6).all()
    assert errors[3] < 1e-8


def test_a_tapered_bar_bends_as_its_table_of_sections_says():
    x = np.linspace(0.0, 1.0, 5)
    sections = tuple(mbd.flexible.Section(1e-4, 1e-9, (2.0 - at) * 1e-9, 1e-9) for at in x)
    beam = mbd.flexible.Beam(
        (0, 0, 0), (0, 0, 1), 7e10, 2.6e10, 2700, mbd.flexible.SectionTable(x, sections)
    )
    flexible = mbd.flexible.FlexibleLink(
        "arm", beam, mbd.flexible.Modes("craig-bampton", 0, elements=64)
    )
    found = deformation(flexible, 0.0, [1.0])
    tip = found.shapes[0].displacement[0]
    flexibility = tip @ np.linalg.solve(found.stiffness, tip)
    s = np.linspace(0.0, 1.0, 100_001)
    expected = np.trapezoid((1 - s) ** 2 / (7e10 * (2.0 - s) * 1e-9), s)
    assert abs(flexibility / expected - 1) < 1e-6


def test_mass_integrals_are_those_of_the_bar_wherever_its_link_is():
    beam = bar(1.2, rotary=True)
    flexible = mbd.flexible.FlexibleLink(
        "arm", beam, mbd.flexible.Modes("clamped-free", 1, 1, 1, 1)
    )
    builder = mbd.Builder("turned", root="arm")
    own = builder.flexible(flexible).description()
    part = build_model(own).flexible[0].integrals
    m = 0.02 * 0.03 * 1.2 * 2700
    assert np.isclose(part.mass, m, rtol=CLOSED_FORM)
    assert np.allclose(part.first[0], (0.6 * m, 0, 0))
    inertia = m / 12 * np.diag([4 * 1.2**2, 0.02**2, 0.03**2])
    assert np.allclose(part.second[0, 0], inertia, rtol=CLOSED_FORM)
    assert np.isclose(part.second[1, 1].trace(), m / 4 + rotary_of_first(m), rtol=1e-8)
    assert np.isclose(part.second[3, 3].trace(), m / 12 * (0.02**2 + 0.03**2) / 2)


def rotary_of_first(m):
    """Return ∫ ρ Iz f'² of the first mode scaled to 1 at its end: λ's integral is 4.6478 / 4."""
    return m * 0.02**2 / 12 / 1.2**2 * 4.6477771 / 4 * 4 / 4


def test_what_bends_is_not_what_the_file_weighs():
    """The beam's mass takes the place of the link's; fixed children keep theirs."""
    builder = mbd.Builder("heavy", root="arm").link("arm", 55.0)
    builder.joint("weld", "fixed", "arm", "tool", xyz=(1, 0, 0)).link("tool", 2.0)
    builder.flexible(mbd.flexible.FlexibleLink("arm", bar(1.0)))
    assert np.isclose(sum(build_model(builder.description()).masses), 2.0 + 1.62)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bar(0.0), "coincide"),
        (lambda: mbd.flexible.Section.tube(0.02, 0.03), "inner diameter"),
        (lambda: mbd.flexible.Section(1e-4, 0.0, 1e-9, 1e-9), "Iy"),
        (lambda: mbd.flexible.Beam((0, 0, 0), (1, 0, 0), 1.0, 1.0, 1.0, None), "section"),
        (lambda: mbd.flexible.Modes("clamped-fred"), "clamped-free"),
        (lambda: mbd.flexible.Modes(bending_y=None), "rigid"),
        (lambda: mbd.flexible.Modes(bending_y=2.0), "expected 0 to"),
        (lambda: mbd.flexible.Damping(-0.1), "0 or more"),
        (
            lambda: mbd.flexible.FlexibleLink("a", bar(1.0), stations={"s": 2.0}),
            "0 to the beam's length",
        ),
        (lambda: mbd.flexible.FlexibleLink("a", mbd.flexible.Modes()), "Beam"),
        (lambda: in_link(mbd.flexible.Modes("polynomial", 24)), "use fewer modes"),
        (lambda: in_link(mbd.flexible.Modes("finite-element", 9, elements=2)), "more elements"),
        (lambda: in_link(mbd.flexible.Modes("clamped-free", torsion=1)), "rotary"),
    ],
)
def test_impossible_beams_and_modes_are_refused(make, message):
    with pytest.raises(ModelError, match=message):
        make()


def test_a_joint_at_the_free_end_of_closed_forms_is_refused():
    builder = mbd.Builder("wrong end")
    builder.joint("a", "revolute", "base", "mount").joint("b", "fixed", "mount", "arm")
    one = mbd.flexible.FlexibleLink(
        "arm",
        mbd.flexible.Beam((-1, 0, 0), (0, 0, 0), 1e9, 1e9, 1e3, mbd.flexible.Section.circle(0.01)),
        mbd.flexible.Modes("clamped-free"),
    )  # fmt: skip
    with pytest.raises(ModelError, match="violate the attachment"):
        build_model(builder.flexible(one).description())
    with pytest.raises(ModelError, match="no link named 'arn'"):
        build_model(
            mbd.Builder("x").flexible(mbd.flexible.FlexibleLink("arn", bar(1.0))).description()
        )
