"""RALF, the flexible four-bar arm of LeeJoo90, from its file."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import simpson

import mbd_bridge as mbd
from mbd_bridge.applications.formulas import structure
from mbd_bridge.cli import main
from mbd_bridge.files.modal import read_flexible
from mbd_bridge.model.flexible_links import modes_of
from tests.flexible.ralf import COMMAND, GUESS, PAPER, null_space
from tests.robots import OWN


@pytest.mark.parametrize("angles", [(0.0, 0.0), (-0.6, 0.9), (1.1, -0.7)])
def test_the_rigid_parallelogram_has_the_papers_basis_in_every_position(angles):
    rigid = mbd.load(OWN / "ralf.urdf", flexible=())
    near = dict(zip(("theta1", "theta3"), angles, strict=True))
    near |= {"theta2": angles[1], "theta4": -angles[1]}
    N = null_space(rigid, rigid.assemble(near, fixed=("theta1", "theta3")).q)
    assert np.allclose(N.T @ N, PAPER.T @ PAPER, atol=1e-12)


def test_the_flexible_arms_basis_depends_on_deformation_and_then_on_position(ralf):
    """Straight links have one basis everywhere: deflections and theta4 move C in one direction."""

    def space(angle, *deflections):
        names = ("lower.mode1", "actuating.mode1")
        near = {**GUESS, "theta2": angle, "theta3": angle, "theta4": -angle}
        near |= dict(zip(names, deflections, strict=True))
        N = null_space(ralf, ralf.assemble(near, fixed=("theta1", "theta3", *names)).q)
        return N.T @ N

    straight = space(-0.2, 0.0, 0.0)
    assert np.abs(space(0.8, 0.0, 0.0) - straight).max() < 1e-12
    bent = space(-0.2, 0.03, 0.02)
    assert np.abs(bent - straight).max() > 1e-3
    assert np.abs(space(0.8, 0.03, 0.02) - bent).max() > 1e-3


def test_a_commanded_motion_bends_the_arm_and_keeps_the_parallelogram_closed(ralf):
    at = ralf.assemble(GUESS, fixed=("theta1", "theta3"))
    run = ralf.simulate(1.0, step=2e-4, q=at.q, prescribed=COMMAND)
    assert run.finished
    phi = ralf.compile("constraints")(run.q, run.v)[0]
    assert np.abs(phi).max() < 1e-9
    tip = run.q[:, ralf.coordinate_names.index("lower.mode1")]
    assert 0.005 < np.abs(tip).max() < 0.02
    assert run.q[-1][0] == pytest.approx(0.3)


def test_svd_and_projection_give_one_motion(ralf):
    at = ralf.assemble(GUESS, fixed=("theta1", "theta3"))
    options = {"step": 2e-4, "q": at.q, "prescribed": COMMAND}
    runs = [ralf.simulate(0.02, method=name, **options) for name in ("svd", "projection")]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-8


def test_structural_savings_leave_less_than_half_of_the_terms(ralf):
    """LeeJoo90 (33)-(35): n³ symbols, of which symmetry leaves n²(n + 1)/2; (35) fails in some."""
    found = structure(ralf.symbolic(()))
    assert (found.entries, found.by_symmetry) == (1000, 550)
    assert 0 < found.different < found.nonzero < 0.25 * found.by_symmetry
    assert 0 < found.kept < 0.5 * found.terms
    assert found.of_35 > found.holds_35 > 0.9 * found.of_35


SIX = ("theta1", "theta2", "lower.mode1", "lower.mode2", "upper.mode1", "upper.mode2")
"""LeeJoo90 (57)."""


def in_the_papers_angles(**changes):
    """RALF with what is attached to a link in the link's own axes."""
    links = [replace(one, slope=False) for one in read_flexible(OWN / "ralf.flex.yaml")]
    thin = [replace(one, beam=replace(one.beam, **changes)) for one in links]
    return mbd.load(OWN / "ralf.urdf", flexible=thin)


def test_two_links_in_the_papers_angles_have_the_mass_matrix_of_its_positions():
    """LeeJoo90 (51)-(58), written out: r1, r2 at points of the links and their Jacobians.

    In the file theta2 is zero where both links are at right angles.
    """
    arm = in_the_papers_angles(rotary_inertia=False)
    rng = np.random.default_rng(3)
    angles, xi = rng.uniform(-1, 1, 2), rng.uniform(-0.1, 0.1, 4)
    names = arm.coordinate_names
    q = rng.uniform(-0.5, 0.5, arm.nq)
    six = [names.index(name) for name in SIX]
    q[six] = [*angles, *xi]
    c1, s1, c12, s12 = (
        f(x) for x in (angles[0], angles.sum() - np.pi / 2) for f in (np.cos, np.sin)
    )
    x, weight = np.polynomial.legendre.leggauss(6)
    M = np.zeros((6, 6))
    for number, link in enumerate(("lower", "upper")):
        flexible = next(one for one in arm.model.description.flexible if one.link == link)
        modes, beam = modes_of(arm.model.description, flexible), flexible.beam
        nodes = np.linspace(0.0, beam.length, flexible.modes.elements + 1)
        at = (nodes[:-1, None] + np.diff(nodes)[:, None] * (x + 1) / 2).ravel()
        mass = np.tile(weight, len(nodes) - 1) * np.diff(nodes)[0] / 2 * beam.density
        mass *= beam.section.A
        psi = np.array([mode.function.at(at).f for mode in modes])
        u, zero = xi[2 * number : 2 * number + 2] @ psi, 0.0 * at
        if number == 0:
            J = np.array([[-at * s1 - u * c1, zero, *(-psi * s1), zero, zero],
                          [at * c1 - u * s1, zero, *(psi * c1), zero, zero]])  # fmt: skip
            tip = np.array([mode.function.at(np.array([beam.length])).f[0] for mode in modes])
            L, u_tip = beam.length, xi[:2] @ tip
        else:
            along = np.array([-at * s12 - u * c12, at * c12 - u * s12])
            first = along + np.array([[-L * s1 - u_tip * c1], [L * c1 - u_tip * s1]])
            moved = [np.outer([-s1, c1], np.full(len(at), part)) for part in tip]
            bent = [np.array([-s12 * part, c12 * part]) for part in psi]
            J = np.array([first, along, *moved, *bent]).swapaxes(0, 1)
        M += np.einsum("cip,cjp,p->ij", J, J, mass)
    ours = arm.mass_matrix(q)[np.ix_(six, six)]
    ours[0, 0] = M[0, 0]  # the other two links add to M11 alone
    assert np.abs(ours - M).max() < 1e-11 * np.abs(M).max()


def test_the_arm_moves_alike_whichever_angles_describe_it():
    """Let go where it is bent: the paper's theta2 is ours and the slope of the lower link's end."""
    bent, straight = mbd.load(OWN / "ralf.urdf"), in_the_papers_angles()
    k = bent.coordinate_names.index("theta2")

    def in_the_papers(q):
        """Return coordinates with the paper's theta2; the axis of the hinge is -y."""
        slope = bent.deflections(q=q, link="lower").rotation[:, 1]
        found = q.copy()
        found[..., k] -= 2.0 * np.arctan(0.5 * slope)
        return found

    deflected = {"lower.mode1": 0.02, "upper.mode1": -0.02}
    fixed = ("theta1", "theta3", *deflected)
    at = bent.assemble({**GUESS, **deflected}, fixed=fixed).q
    run = bent.simulate(0.2, step=2e-4, every=20, q=at)
    other = straight.simulate(0.2, step=2e-4, every=20, q=in_the_papers(at[None])[0])
    expected = in_the_papers(run.q)
    assert np.abs(expected - run.q).max() > 5e-3
    assert np.abs(other.q - expected).max() < 1e-9


def torque_driven(arm, seconds, step):
    """Torques of the rigid arm on another one, from rest under its weight; the rigid arm's run."""
    joints = ("theta1", "theta3")
    rigid = mbd.load(OWN / "ralf.urdf", flexible=())
    q = rigid.assemble(GUESS, fixed=joints).q
    course = rigid.simulate(seconds, q=q, prescribed=COMMAND)
    torque = {name: (course.time, course.prescribed_forces[name]) for name in joints}
    held = mbd.System(arm, prescribed={name: str(GUESS[name]) for name in joints})
    rest = mbd.linear.equilibrium(held, near=GUESS)
    every = round(1e-3 / step)
    run = arm.simulate(seconds, step=step, every=every, q=rest.q, torque=torque)
    columns = [arm.coordinate_names.index(name) for name in joints]
    off = run.q[:, columns] - course.q[:, [rigid.coordinate_names.index(name) for name in joints]]
    power = sum(run.v[:, k] * torque[name][1] for k, name in zip(columns, joints, strict=True))
    return run, off, power


def test_torques_of_the_rigid_arm_take_a_stiff_one_along_its_course_and_do_the_work(ralf):
    """Off the course by 1/E; whichever angles describe it: no torque acts in theta2."""
    links = read_flexible(OWN / "ralf.flex.yaml")
    stiff = [replace(one, beam=replace(one.beam, E=25 * 70e9)) for one in links]
    run, off, power = torque_driven(ralf, 0.4, 2e-4)
    gained = np.ptp(run.energy[[0, -1]])
    assert abs(simpson(power, x=run.time)) == pytest.approx(gained, rel=1e-3)
    _, less, _ = torque_driven(mbd.load(OWN / "ralf.urdf", flexible=stiff), 0.4, 4e-5)
    assert np.abs(off).max() > 1e-3
    assert np.abs(off).max() / np.abs(less).max() == pytest.approx(25, rel=0.3)
    _, same, _ = torque_driven(in_the_papers_angles(), 0.4, 2e-4)
    assert np.abs(same - off).max() < 1e-9


@pytest.mark.parametrize(
    ("slope", "nonzero", "terms", "all_nonzero", "all_terms"),
    [(False, 39, 64, 78, 82), (True, 85, 734, 124, 752)],
)
def test_the_papers_angles_leave_its_pattern_of_christoffels_symbols(
    slope, nonzero, terms, all_nonzero, all_terms
):
    """LeeJoo90 (61)-(66)."""
    arm = in_the_papers_angles() if not slope else mbd.load(OWN / "ralf.urdf")
    found = arm.symbolic(())
    two, whole = structure(found, SIX), structure(found)
    assert (two.nonzero, two.kept) == (nonzero, terms)
    assert (whole.nonzero, whole.kept) == (all_nonzero, all_terms)
    assert (two.zero_34 == two.of_34, whole.holds_35 == whole.of_35) == (not slope, not slope)


def test_the_file_says_what_python_says(ralf):
    lower, upper, actuating = read_flexible(OWN / "ralf.flex.yaml")
    section = mbd.flexible.Section.tube(0.14, 0.13)
    beam = mbd.flexible.Beam((0, 0, 0), (3.048, 0, 0), 70e9, 26e9, 2700, section, (0, 0, 1))
    assert lower == mbd.flexible.FlexibleLink(
        "lower", beam, mbd.flexible.Modes("finite-element", 2)
    )
    assert (upper.link, actuating.modes.kind) == ("upper", "pinned-pinned")
    urdf = mbd.load(OWN / "ralf.urdf", flexible=())
    assert sum(ralf.model.masses) == pytest.approx(sum(urdf.model.masses), rel=1e-5)


GOOD = """units: SI
links:
  - link: lower
    beam: {start: [0, 0, 0], end: [3.048, 0, 0], E: 7.0e10, G: 2.6e10, density: 2700,
           section: {x: [0, 3.048], A: [1.0e-3, 2.0e-3], Iy: [1.0e-6, 2.0e-6],
                     Iz: [1.0e-6, 2.0e-6], J: [2.0e-6, 3.0e-6]}, rotary_inertia: true}
    modes: {kind: polynomial, bending_z: 2, torsion: 1}
    damping: {ratio: 0.01, beta: 1.0e-5}
    stiffening: true
    slope: false
    stations: {gauge: 1.0}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("SI", "mm", "units: SI"),
        ("link: lower", "lnk: lower", "lnk"),
        ("end: [3.048, 0, 0]", "end: [0, 0, 0]", "no length"),
        ("section: {x", "section: {circle: {diameter: 0.1}, x", "one shape"),
        ("A: [1.0e-3, 2.0e-3]", "A: [1.0e-3]", "one length"),
        ("kind: polynomial", "kind: polynomials", "polynomial"),
        ("bending_z: 2", "bending_z: 2.5", "whole number"),
        ("ratio: 0.01", "ratio: -1", "0 or more"),
        ("gauge: 1.0", "gauge: 9", "0 to the beam's length"),
        ("{gauge: 1.0}", "1.0", "table of names"),
        ("E: 7.0e10, ", "", "'E' is missing"),
    ],
)
def test_mistakes_in_the_file_are_named_with_their_line(tmp_path, old, new, message):
    file = tmp_path / "arm.flex.yaml"
    file.write_text(GOOD)
    (link,) = read_flexible(file)
    assert link.modes.directions == ("bending_z", "torsion")
    assert (link.stiffening, link.slope) == (True, False)
    assert old in GOOD
    file.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(mbd.errors.FileError, match=message) as raised:
        read_flexible(file)
    assert raised.value.line is not None


def test_the_command_line_shows_what_bends_and_leaves_it_rigid(capsys):
    path = str(OWN / "ralf.urdf")
    assert main(["info", path]) == 0
    text = capsys.readouterr().out
    assert "links that bend" in text
    beam = mbd.flexible.Section.tube(0.14, 0.13)
    first = 1.8751040687**2 * np.sqrt(70e9 * beam.Iz / (2700 * beam.A * 3.048**4)) / (2 * np.pi)
    assert f"{first:.3g}" in text
    assert main(["info", path, "--rigid"]) == 0
    text = capsys.readouterr().out
    assert "links that bend" not in text
    assert "4 degrees of freedom" in text


def test_loads_say_what_bends_and_what_it_weighs(ralf):
    at = ralf.assemble(GUESS, fixed=("theta1", "theta3"))
    still = np.zeros(ralf.nv)
    a = ralf.forward_dynamics(at.q, still, still)
    loads = ralf.joint_loads(at.q, still, a)
    (rigid,), (masses,) = loads.assumptions["rigid"], loads.assumptions["masses"]
    assert "lower (2 modes), upper (2 modes), actuating (2 modes)" in rigid.text
    assert f"{sum(ralf.model.masses):.6g} kg" in masses.text
