"""Axes and lengths off by 1e-12 to 1e-3: do all roads say the same? ``python -m tests.misaligned``.

Overconstrained machines whose first loop joint is off about (rad) or along (m) an axis. Every road
answers whether the machine moves and with which accelerations, or that its loop is open:

- one state, a batch, four methods, many threads that ask a new machine at the same time;
- `loops.report`, its degrees of freedom and its words;
- a step of a run: compiled, in a batch, run from Python, of the stepper of pybullet;
- the mechanism of a pinocchio model and its constraints.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError
from mbd_bridge.model import RANK_TOLERANCE, build_model
from mbd_bridge.model.spatial import Frame
from mbd_bridge.simulation.steps.stepping import CoupledStep
from mbd_bridge.solve.reduced import METHODS
from mbd_bridge.solve.row_choice import row_choice
from tests.machines import MANY
from tests.robots import own_urdfs

AMOUNTS = (*(10.0**k for k in range(-12, -2)), 4e-6)
CLOSE = 1e-6
"""Roads to the same acceleration, relative: rows that are off by 1e-6 are taken in other ways."""

STEP = 1e-4
"""s: after one step from rest the velocity is the acceleration times this, to 1e-4 of it."""

STEPS = ("run", "batch run", "svd run", "stepper")

THREADS = 8


def three_cranks(ball: str = "revolute") -> mbd.Mechanism:
    """A bar of 2 m on three cranks of 1 m: the one in the middle is redundant in the plane too."""
    y = (0, 1, 0)
    b = mbd.Builder("three cranks", root="ground")
    for k in range(3):
        b.link(f"crank{k}", 1, (0, 0, 0.5), (1 / 12, 1 / 12, 0))
        b.joint(f"crank{k}", "revolute", "ground", f"crank{k}", (k, 0, 0), axis=y)
    b.link("bar", 2, (1, 0, 0), (0, 2 / 3, 2 / 3))
    b.joint("bar", "revolute", "crank0", "bar", (0, 0, 1), axis=y)
    for k in (1, 2):
        ends = ("bar", Frame.from_rpy((k, 0, 0))), (f"crank{k}", Frame.from_rpy((0, 0, 1)))
        b.loop(f"pin{k}", "revolute", *ends, axis=y)
    return mbd.Mechanism.build(b)


def welded() -> mbd.Mechanism:
    """A four-bar of four pins in the tree, whose last link is welded to the ground."""
    y = (0, 1, 0)
    b = mbd.Builder("welded", root="ground")
    b.link("crank", 1, (0, 0, 0.5), np.array([1, 1, 0]) / 12)
    b.link("coupler", 1, (1, 0, 0), np.array([0, 1, 1]) / 3)
    b.link("rocker", 1, (0, 0, -0.75), np.array([1, 1, 0]) * 1.5**2 / 12)
    b.link("foot", 1, (0.1, 0, 0), np.array([1, 1, 1]) / 100)
    b.joint("crank", "revolute", "ground", "crank", axis=y)
    b.joint("elbow", "revolute", "crank", "coupler", (0, 0, 1), axis=y)
    b.joint("wrist", "revolute", "coupler", "rocker", (2, 0, 0), axis=y)
    b.joint("pin", "revolute", "rocker", "foot", (0, 0, -1.5), axis=y)
    ends = ("foot", Frame.identity()), ("ground", Frame.from_rpy((2.5, 0, 0)))
    b.loop("weld", "fixed", *ends)
    return mbd.Mechanism.build(b)


MACHINES: dict[str, tuple[Callable[[], mbd.Mechanism], str, tuple[int, ...]]] = {
    "four_bar": (lambda: mbd.load(own_urdfs()["four_bar"]), "crank", (1, 3, 5)),
    "slider_crank": (lambda: mbd.load(own_urdfs()["slider_crank"]), "crank", (1, 3)),
    "three cranks": (three_cranks, "crank0", (1, 2, 3)),
    "welded": (welded, "crank", (1, 3, 5)),
    "bricard": (lambda: mbd.load(own_urdfs()["bricard"]), "joint_1", (1, 4)),
}
"""How it is made, which joint is put to 0.5 rad and actuated, about and along which axes it is off:
0 to 2 are x, y and z in m, 3 to 5 about these in rad, of the loop joint's second end."""


FOLDED = ("bricard",)
"""Not held to 0.5 rad, only guessed there: off by much it closes nowhere but folded, beside which a
position is nearly closed and nearly singular, and what it does is up to the digits that it lost."""


def off_by(name: str, axis: int, amount: float, **options: float) -> mbd.Mechanism:
    """Return a machine whose first loop joint is off by so much."""
    described = MACHINES[name][0]().model.description
    step = np.zeros(6)
    step[axis] = amount
    loop = described.loops[0]
    frame = loop.successor.frame @ Frame.from_rpy(step[:3], step[3:])
    moved = replace(loop, successor=replace(loop.successor, frame=frame))
    loops = (moved, *described.loops[1:])
    return mbd.Mechanism.build(replace(described, loops=loops, source=None), **options)


def states_by(choice: int) -> tuple[mbd.Mechanism, str, np.ndarray, np.ndarray]:
    """Return a machine of imprecise axes and a state closed by one of its choices of rows."""
    m = off_by("three cranks", 2, 2e-5, rank_tolerance=1e-4)
    model = m.model
    rows = list(row_choice(model).sets[choice])
    q = m.assemble({"crank0": 0.5}, fixed="crank0").q
    constraints, held = m.compile("constraints"), model.velocity_names.index("crank0")
    free = np.delete(np.arange(model.nv), held)
    for _ in range(5):
        phi, phi_q, _ = constraints(q, np.zeros(model.nv))
        q[free] -= np.linalg.lstsq(phi_q[np.ix_(rows, free)], phi[rows])[0]
    v = np.zeros(model.nv)
    v[held] = 1.0
    phi, phi_q, _ = constraints(q, v)
    v[free] = -np.linalg.lstsq(phi_q[np.ix_(rows, free)], phi_q[rows, held])[0]
    assert np.abs(phi[rows]).max() < 1e-14 < 1e-6 < np.abs(phi / model.row_scale).max()
    return m, "crank0", q, v


class Case:
    """One machine, off by so much, at one position at rest, with a torque on its first joint."""

    def __init__(self, name: str, axis: int, amount: float, **options: float) -> None:
        self.name, self.axis, self.amount, self.options = name, axis, amount, options
        self.machine = off_by(name, axis, amount, **options)
        joint = MACHINES[name][1]
        held = () if name in FOLDED else joint
        self.at = self.machine.assemble({joint: 0.5}, fixed=held, check=False)
        self.q, self.v = self.at.q, np.zeros(self.machine.nv)
        self.tau = np.zeros(self.machine.nv)
        self.tau[self.machine.model.velocity_names.index(MACHINES[name][1])] = 7.0

    # -- roads: accelerations (nv,), nan where the road says that the loop is open ----------------

    def state(self) -> np.ndarray:
        return self.machine.forward_dynamics(self.q, self.v, self.tau)

    def batch(self) -> np.ndarray:
        many = self.machine.forward_dynamics(np.tile(self.q, (MANY, 1)), self.v, self.tau)
        assert (many == many[0]).all()
        return many[0]

    def method(self, method: Any) -> np.ndarray:
        dynamics = self.machine.constrained_dynamics()
        return dynamics.forward(self.q, self.v, self.tau, method=method)[0]

    def threads(self) -> np.ndarray:
        """Many threads ask a machine that nobody asked before, at the same time."""
        fresh = off_by(self.name, self.axis, self.amount, **self.options)
        barrier, found, wrong = threading.Barrier(THREADS), [], []

        def ask() -> None:
            barrier.wait()
            try:
                found.append(fresh.forward_dynamics(self.q, self.v, self.tau))
            except MbdError as problem:
                wrong.append(problem)

        every = [threading.Thread(target=ask) for _ in range(THREADS)]
        for thread in every:
            thread.start()
        for thread in every:
            thread.join()
        if wrong:
            assert len(wrong) == THREADS, "some threads are refused, some are not"
            raise wrong[0]
        assert all((a == found[0]).all() for a in found), "threads have other digits"
        return found[0]

    def run(self, **options: Any) -> np.ndarray:
        torque = self.tau
        found = self.machine.simulate(
            STEP, step=STEP, q=self.q, torque=lambda t, q, v: torque, **options
        )
        return found.v[-1] / STEP

    def batch_run(self) -> np.ndarray:
        torque = self.tau
        found = self.machine.simulate(
            STEP, step=STEP, q=[self.q] * 3, torque=lambda t, q, v: torque
        )
        return found.v[1, -1] / STEP

    def stepper(self) -> np.ndarray:
        """The core of pybullet's stepper, which asks nobody whether it starts on its loops."""
        if not self.at.closed:
            raise mbd.errors.StateError("open")
        core = CoupledStep(self.machine.model, self.q, self.v)
        wrenches = np.zeros((len(self.machine.model.bodies), 6))
        return core(self.q, self.v, self.tau, wrenches, STEP)[1] / STEP

    def pinocchio(self) -> np.ndarray:
        """The tree in pinocchio, and the weld as its constraint."""
        import pinocchio as pin

        from mbd_bridge.engines import pinocchio as bridge

        exact = MACHINES[self.name][0]()
        tree = build_model(replace(exact.model.description, loops=(), source=None))
        model = bridge.to_pinocchio(tree).model
        closed = exact.assemble({MACHINES[self.name][1]: 0.5}, fixed=MACHINES[self.name][1]).q
        data = model.createData()
        pin.forwardKinematics(model, data, closed)
        last = model.getJointId("pin")
        step = np.zeros(6)
        step[self.axis] = self.amount
        off = Frame.from_rpy(step[:3], step[3:])
        ground = Frame.from_rpy((2.5, 0, 0)) @ off
        here = data.oMi[last].actInv(pin.SE3(np.eye(3), np.array([2.5, 0.0, 0.0])))
        there = pin.SE3(np.array(ground.rotation), np.array(ground.translation))
        weld = pin.RigidConstraintModel(
            pin.ContactType.CONTACT_6D, model, last, here, 0, there, pin.LOCAL
        )
        machine = mbd.Mechanism.from_pinocchio(model, [weld], **self.options)
        many = machine.forward_dynamics(np.tile(self.q, (MANY, 1)), self.v, self.tau)
        one = machine.forward_dynamics(self.q, self.v, self.tau)
        assert (many == one).all()
        return one

    def roads(self) -> dict[str, Callable[[], np.ndarray]]:
        """Return all roads by name."""
        found: dict[str, Callable[[], np.ndarray]] = {"state": self.state, "batch": self.batch}
        for method in METHODS:
            found[method] = lambda method=method: self.method(method)
        found |= {"threads": self.threads, "run": self.run, "batch run": self.batch_run}
        found |= {"svd run": lambda: self.run(method="svd"), "stepper": self.stepper}
        if self.name == "welded":
            found["pinocchio"] = self.pinocchio
        return found

    def answers(self, roads: tuple[str, ...] | None = None) -> Iterator[tuple[str, np.ndarray]]:
        """Yield accelerations by road."""
        for road, ask in self.roads().items():
            if roads is None or road in roads:
                try:
                    yield road, ask()
                except MbdError:
                    yield road, np.full(self.machine.nv, np.nan)

    def verdict(self, roads: tuple[str, ...] | None = None) -> tuple[str, list[str]]:
        """Return "moves", "locked" or "open", and what is wrong."""
        every, wrong = dict(self.answers(roads)), []
        a = every.pop("state")
        size = np.abs(a).max()
        what = "open" if np.isnan(size) else "moves" if size > 1e-3 else "locked"
        for road, other in every.items():
            close = 1e-3 if road in STEPS else CLOSE
            if np.isnan(other).any() != np.isnan(size):
                wrong.append(f"{road}: {'refused' if np.isnan(other).any() else 'taken'}")
            elif what != "open" and not np.abs(other - a).max() <= close * (1.0 + size):
                wrong.append(f"{road}: {other}, one state: {a}")
        report = self.machine.loops.report(self.q)
        if what != "open" and (report.dof > 0) != (what == "moves"):
            wrong.append(f"report: {report.dof} degrees of freedom")
        if (what == "open") == bool(self.at.closed):
            wrong.append(f"assembly: closed {self.at.closed}")
        if what == "moves" and self.amount > 1e-11 and not report.imprecise:
            wrong.append("the report says nothing of rows taken for redundant")
        return what, wrong


def sweep(name: str, axis: int, roads: tuple[str, ...] | None = None, amounts=AMOUNTS):
    """Return verdicts by amount, and what is wrong with one machine."""
    found, wrong = {}, []
    for amount in sorted(amounts):
        found[amount], own = Case(name, axis, amount).verdict(roads)
        wrong += [f"{name}, axis {axis} off by {amount:.0e} ({found[amount]}): {w}" for w in own]
    moving = [amount for amount, what in found.items() if what == "moves"]
    other = [amount for amount, what in found.items() if what != "moves"]
    if moving and other and max(moving) > min(other):
        wrong.append(f"{name}, axis {axis}: passes more than once: {found}")
    if any(amount <= 0.1 * RANK_TOLERANCE for amount in other):
        wrong.append(f"{name}, axis {axis}: locked below the tolerance: {found}")
    return found, wrong


def main() -> int:
    """Print where each machine passes from moving to locked, and what is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.misaligned", description=__doc__)
    parser.add_argument("--machines", nargs="*", choices=list(MACHINES), default=list(MACHINES))
    options = parser.parse_args()
    faults = 0
    for name in options.machines:
        for axis in MACHINES[name][2]:
            found, wrong = sweep(name, axis)
            faults += len(wrong)
            moves = max((x for x, what in found.items() if what == "moves"), default=0.0)
            beyond = sorted({what for what in found.values() if what != "moves"})
            print(f"{name} axis {axis}: moves up to {moves:.0e}, then {beyond}; {len(wrong)} wrong")
            print(*(f"    {text}" for text in wrong), sep="\n", flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
