"""Reads published files of modes: python -m tests.flexible.published PYNASTRAN PYUFF

The arguments are checkouts of github.com/SteveDoyle2/pyNastran and github.com/ladisk/pyuff, whose
sample files (BSD 3-clause and MIT) are not stored here. Of pyNastran's `models/`:

    beam_modes/beam_modes_m2.op2 with .dat: a cantilever of bars with a mass at its end (Simcenter
        Nastran), inches; its .f06 lists 456.6603 Hz twice (bending), 2674.588 Hz twice, 3554.923 Hz
    sol_101_elements/mode_solid_shell_bar.op2 with .bdf: solids, shells and bars (MSC Nastran);
        its .f06 lists 71.26832, 75.95746 and 125.7872 Hz and modal masses of 1

of pyuff's `data/`: "2411 and 2414.uff", a plate of 1 x 1 m held along an edge (Permas), without
masses: frequencies are as written, and orthogonality with even masses (half at edges) tells
whether shapes and nodes fit.

The bar is also computed by this package: a `Beam` of the deck's numbers with its tip mass.
"""

import sys
from pathlib import Path

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.model import build_model

TITLE = "{:28} {:>6} {:>9} {:>12}  {}"


def hertz(basis: mbd.flexible.ModalBasis) -> np.ndarray:
    return np.sqrt(np.diag(basis.stiffness) / np.diag(basis.mass_matrix())) / (2 * np.pi)


def coupling(basis: mbd.flexible.ModalBasis) -> float:
    """Return the largest cosine between two modes by the nodal masses."""
    M = basis.mass_matrix()
    size = np.sqrt(np.diag(M))
    return float(np.abs(M / np.outer(size, size) - np.eye(len(M))).max())


def show(name: str, basis: mbd.flexible.ModalBasis) -> None:
    frequencies = ", ".join(f"{f:.6g}" for f in hertz(basis)[:6])
    print(TITLE.format(name, len(basis.nodes), f"{basis.mass:.4g}", f"{coupling(basis):.1e}", ""))
    print(f"    {frequencies} Hz")


def machine(shape: mbd.flexible.ModalBasis | mbd.flexible.Beam, tip: bool) -> mbd.Mechanism:
    parts = mbd.Builder("bar").joint("hinge", "revolute", "base", "bar", axis=(0, 0, 1))
    modes = {} if isinstance(shape, mbd.flexible.ModalBasis) else {
        "modes": mbd.flexible.Modes("craig-bampton", 2, 2, 0, elements=10)
    }  # fmt: skip
    parts.flexible(mbd.flexible.FlexibleLink("bar", shape, **modes))
    if tip:
        inertia = 0.00259 * POUND_MASS * INCH**2
        parts.link("load", 0.00259 * POUND_MASS, (0, 0, 0), (inertia,) * 3)
        parts.joint("screw", "fixed", "bar", "load", xyz=(10 * INCH, 0, 0))
    return mbd.Mechanism(build_model(parts.description(), gravity=(0, -9.81, 0)))


INCH, POUND_MASS = 0.0254, 4.4482216152605 / 0.0254


def main(nastran: Path, uff: Path) -> None:
    print(TITLE.format("file", "nodes", "kg", "coupling", ""))
    models = nastran / "models"
    bar = mbd.flexible.load_modal_basis(
        models / "beam_modes/beam_modes_m2.op2",
        model=models / "beam_modes/beam_modes.dat",
        unit="in-lbf",
    )
    show("beam_modes_m2.op2", bar)
    mixed = mbd.flexible.load_modal_basis(models / "sol_101_elements/mode_solid_shell_bar.op2")
    show("mode_solid_shell_bar.op2", mixed)
    plain = mbd.flexible.load_modal_basis(uff / "data/2411 and 2414.uff", masses=10.0)
    edges = [np.isclose(plain.nodes[:, k], end) for k in (0, 1) for end in (0, 1)]
    weights = 0.5 ** np.sum(edges, axis=0)
    masses = 10.0 * weights / weights.sum()
    show(
        "2411 and 2414.uff",
        mbd.flexible.load_modal_basis(uff / "data/2411 and 2414.uff", masses=masses),
    )

    E, density = 3e7 * 4.4482216152605 / INCH**2, 7.4851e-4 * POUND_MASS / INCH**3
    section = mbd.flexible.Section.circle(2 * INCH)
    beam = mbd.flexible.Beam((0, 0, 0), (10 * INCH, 0, 0), E, E / 2.58, density, section)
    ours, theirs = machine(beam, True), machine(bar, False)
    print(f"{'':12}{'from OP2':>14}{'own beam':>14}")
    print(f"{'mass, kg':12}{bar.mass:14.5f}{beam_mass(ours):14.5f}")
    for name in ("static tip, m", "holding, N m"):
        print(f"{name:12}", *(f"{values(one)[name]:14.6g}" for one in (theirs, ours)))


def beam_mass(robot: mbd.Mechanism) -> float:
    return float(robot.model.flexible[0].integrals.mass + 0.00259 * POUND_MASS)


def values(robot: mbd.Mechanism) -> dict[str, float]:
    """Return what the bar does under its weight, held at its hinge."""
    part, zero = robot.model.flexible[0], np.zeros(robot.model.nv)
    load = -robot.bias_forces(np.zeros(robot.model.nq), zero)[part.v]
    eta = np.linalg.solve(part.stiffness, load)
    q = np.zeros(robot.model.nq)
    q[part.q] = eta
    shape = np.array(robot.model.joint("bar").type.displacement)
    return {
        "static tip, m": float((shape @ eta)[1]),
        "holding, N m": float(robot.bias_forces(q, zero)[0]),
    }


if __name__ == "__main__":
    main(*(Path(one) for one in sys.argv[1:3]))
