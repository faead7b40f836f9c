"""All roads of a motion, what each can do, and one motion for each of these cells.

``python -m tests.simulate.roads`` prints the table, which stands in docs/develop/architecture.md.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError
from mbd_bridge.simulation.reference.methods import ReferenceEquations
from mbd_bridge.simulation.steps.schemes import RK4, NullSpace, Scheme, with_method
from mbd_bridge.simulation.steps.stepping import CoupledStep
from mbd_bridge.solve import closed as solve_closed
from tests.fmu.importer import Importer
from tests.forces.relaxing import Filter, Maxwell
from tests.machines import four_bar, turning
from tests.robots import own_urdfs

Case = dict[str, Any]
End = tuple[np.ndarray, np.ndarray]

BAR, AT = turning(four_bar(1, 2, 1.7, 2.5), 4.0)
FLAT = four_bar()
ABOVE = FLAT.assemble({"crank": 0.5}, fixed="crank")
PENDULUM = mbd.load(own_urdfs()["pendulum"])
ROCKER = mbd.load("urdf/crank_rocker.urdf")
LOW = ROCKER.assemble({"crank": 0.5}, fixed="crank")
START = {"machine": BAR, "q": AT.q, "v": AT.v, "h": 1e-3, "steps": 60}


def of_bar(**acts: Any) -> Case:
    """Return the four-bar on which something acts."""
    return START | {"acts": acts}


TABLE = ([0.0, 0.02, 0.0203, 0.0203, 1.0], [0.0, 4.0, 5.0, 9.0, -4.0])
CASES: dict[str, Case] = {
    "jumps and bends of tables": of_bar(torque={"crank": TABLE}),
    "functions called at each step": of_bar(torque=mbd.Sampled(lambda t, q, v: -0.02 * v)),
    "inputs": of_bar(torque={"crank": mbd.Input("motor")}, inputs={"motor": 1.5}),
    "prescribed motions": START | {"acts": {"prescribed": {"crank": "0.5 + 4*t + t^2"}}},
    "states of force elements": of_bar(forces=[Maxwell("crank", 30.0, 2.0)]),
    "effort limits": {
        **{"machine": ROCKER, "q": LOW.q, "v": np.zeros(3), "h": 1e-4, "steps": 60},
        "acts": {"torque": {"crank": 1e4}, "effort_limits": True},
    },
    "loads of joints": of_bar(loads=["elbow"]),
    "singular positions": {
        **{"machine": FLAT, "q": ABOVE.q, "v": np.zeros(3), "h": 1e-3, "steps": 1500},
        "acts": {},
    },
}
"""Capabilities by one motion each."""

STIFF = {"machine": PENDULUM, "q": np.array([0.01]), "v": np.zeros(1), "steps": 400}
PLAYS = {"machine": PENDULUM, "q": np.array([0.2]), "v": np.ones(1), "h": 0.01, "steps": 150}
OPEN = AT.q + np.array([0.0, 0.01, 0.0])
GUARDS: dict[str, tuple[Case, str]] = {
    "step too long, or energy from nowhere": (
        STIFF | {"h": 0.02, "acts": {"torque": lambda t, q, v: -4e4 * q}},
        "too long|energy comes from nowhere",
    ),
    "accelerations lead off the loops": (of_bar(), "lead off the loops"),
    "loops open at the start": (of_bar() | {"q": OPEN}, "not close the loops"),
    "states of force elements diverge": (
        PLAYS | {"acts": {"forces": [Filter("hinge", 0.0034, name="gauge")]}},
        r"too long for the state .*gauge\.seen",
    ),
}
"""Guards, by a motion that each ends, and what is said then."""


@contextlib.contextmanager
def wrong_gamma(factor: float = 0.99, *, compiled: bool = True) -> Iterator[None]:
    """Have the right-hand sides of the loops one per cent off, compiled or not, and in Python."""
    right, terms = solve_closed.constraints, ReferenceEquations.terms
    with pytest.MonkeyPatch.context() as patch:

        def of_machine_code(model: Any, state: Any) -> Any:
            found = right(model, state)
            return found._replace(gamma=factor * found.gamma)

        def in_python(*given: Any) -> Any:
            found = terms(*given)
            return found._replace(gamma=factor * found.gamma)

        if compiled:
            patch.setattr(solve_closed, "constraints", of_machine_code)
        patch.setattr(ReferenceEquations, "terms", in_python)
        patch.setenv("MBD_BRIDGE_CACHE", "off")
        yield


def state(case: Case) -> dict[str, Any]:
    """Return the state at the start; what is prescribed tells it."""
    return {} if "prescribed" in case["acts"] else {"q": case["q"], "v": case["v"]}


def by(case: Case) -> dict[str, Any]:
    """Return the method and the integrator, those of a case or the defaults."""
    return {"method": case.get("method", "multipliers"), "integrator": case.get("integrator", RK4)}


def run(case: Case, **options: Any) -> mbd.simulation.Simulation:
    """Return the motion of a single run."""
    given = state(case) | case["acts"] | by(case) | options
    seconds = case["h"] * case["steps"]
    return case["machine"].simulate(seconds, step=case["h"], **given)


def _batch(case: Case, **more: Any) -> End:
    own = state(case)
    own = {"q": [case["q"]] * 3, "v": [case["v"]] * 3} if own else {"q": [AT.q] * 2}
    given = own | case["acts"] | by(case) | more
    many = case["machine"].simulate(case["h"] * case["steps"], step=case["h"], **given)
    if not many.finished[1]:
        raise mbd.errors.SolveError(many.status[1])
    return many.q[1, -1], many.v[1, -1]


def _system(case: Case) -> mbd.System:
    return mbd.System(case["machine"], **case["acts"])


def _other_loop(case: Case, **more: Any) -> End:
    model, t = case["machine"].model, 0.0
    integrator = with_method(by(case)["integrator"], by(case)["method"])
    core = CoupledStep(_system(case), case["q"], case["v"], integrator=integrator, **more)
    q, v = case["q"], case["v"]
    for _ in range(case["steps"]):
        q, v = core(q, v, np.zeros(model.nv), np.zeros((len(model.bodies), 6)), case["h"], t)
        t += case["h"]
    return q, v


def _paced(case: Case, **more: Any) -> End:
    machine = mbd.RealTime(_system(case), step=case["h"], **state(case), **by(case), **more)
    done = machine.run(case["h"] * case["steps"], rate=1e9)
    if not done.finished:
        raise mbd.errors.SolveError(done.status)
    return done.q[-1], done.v[-1]


def _fmu(case: Case, **more: Any) -> End:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "it.fmu"
        _system(case).export_fmu(path, step=case["h"], **state(case), **by(case), **more)
        with Importer(path) as fmu:
            try:
                fmu.start()
                fmu.step(0.0, case["h"] * case["steps"])
            except Exception as error:  # fmpy raises its own, whose text is the function's name
                raise mbd.errors.SolveError(" ".join(fmu.messages)) from error
            names = case["machine"].model.velocity_names
            q = np.array([fmu.get(f"q.{name}") for name in names]).reshape(-1)
            return q, np.array([fmu.get(f"v.{name}") for name in names]).reshape(-1)


def by_options(**options: Any) -> Callable[..., End]:
    def go(case: Case, **more: Any) -> End:
        done = run(case, **options, **more)
        return done.q[-1], done.v[-1]

    return go


VARIABLE: dict[str, Any] = {"integrator": mbd.integrators.HHT(tolerance=1e-9), "every": 10}

ROADS: dict[str, Callable[..., End]] = {
    "run": by_options(),
    "batch": _batch,
    "other loop": _other_loop,
    "real time": _paced,
    "FMU": _fmu,
    "variable": by_options(**VARIABLE),
    "Python": by_options(method="svd", reference=True),
}
"""Roads, each from a case to the state at its end; it raises what ends the motion before."""

ROUNDED = {"run": 0.0, "batch": 0.0, "real time": 0.0, "FMU": 0.0, "other loop": 1e-9}
"""rad, rad/s: how far the end may be from that of a run; other methods have errors of their own."""

CLOSE = 2e-4
"""The same for other methods and steps."""

RUNS = ("run", "variable", "Python")
"""Roads of `simulate` of one trajectory: they have events, checkpoints and the history of a run."""

NOT_THERE = {
    ("singular positions", "variable"): "",
    ("functions called at each step", "variable"): "do not go with mbd.Sampled",
    ("functions called at each step", "FMU"): "an FMU has no Python",
    ("singular positions", "FMU"): "is not taken .*near a singular position",
}
"""What a road refuses, and what it says; "" where it may come across by chance."""

UNGUARDED = {
    ("step too long, or energy from nowhere", "FMU"): "late",
    ("step too long, or energy from nowhere", "variable"): "none",
    ("accelerations lead off the loops", "FMU"): "unseen",
    ("loops open at the start", "other loop"): "late",
    ("states of force elements diverge", "variable"): "none",
}
"""Guards that a road does not have, and what happens: its importer looks at an FMU's energy, and C
source has no second opinion; whose loop it is checks the start; variable steps are as short as they
must be, and implicit ones take what is stiff."""

NOT_OF_RUNS = {
    "batch": ": of one trajectory, and q, v are given for many",
    "other loop": "unexpected keyword argument",
    "real time": "RealTime: no option named",
    "FMU": "export_fmu: no option named",
}
"""Roads without events and checkpoints, and what they say."""

STEPS: dict[str, Scheme] = {
    "null space": NullSpace("svd"),
    "null space, z' alone": NullSpace("projection", coordinates="independent"),
    "KimYoo97 as printed": NullSpace("projection", coordinates="independent", form="printed"),
    "implicit in the null space": NullSpace("svd", mbd.integrators.HHT()),
    "implicit, z' alone": NullSpace("qr", mbd.integrators.HHT(), coordinates="independent"),
    "a kept matrix": mbd.integrators.KeptMatrix(),
}
"""Kinds of steps beside the default's."""

NO_STEPS = {
    ("KimYoo97 as printed", "variable"): "form='printed' is KimYoo97's",
    ("a kept matrix", "variable"): "unexpected keyword argument 'tolerance'",
    ("implicit in the null space", "Python"): "reference=True goes with integrator=",
    ("implicit, z' alone", "Python"): "reference=True goes with integrator=",
    ("null space, z' alone", "Python"): "goes with compiled steps",
    ("KimYoo97 as printed", "Python"): "goes with compiled steps",
    ("a kept matrix", "Python"): "reference=True goes with integrator=",
}
"""Kinds of steps that a road refuses, and what it says."""


def of_steps(road: str, kind: str) -> End:
    """Return the end of the four-bar's motion by a kind of steps."""
    scheme = STEPS[kind]
    if road == "variable":
        if not isinstance(scheme, NullSpace):
            scheme = replace(scheme, tolerance=1e-9)
        done = run(
            of_bar(), integrator=replace(scheme, integrator=VARIABLE["integrator"]), every=10
        )
    elif road == "Python":
        done = run(of_bar(), integrator=scheme, reference=True)
    else:
        return ROADS[road](of_bar() | {"integrator": scheme})
    return done.q[-1], done.v[-1]


def step_cell(road: str, kind: str) -> str:
    """Return what the table says of a kind of steps."""
    if (kind, road) in NO_STEPS:
        return "no"
    return "=" if ROUNDED.get(road) == 0.0 else "≈"


OF_RUNS = {"events, that end it or act": "events", "checkpoints": "checkpoint"}
"""What runs of one trajectory have, and the option that asks for it."""


def cell(road: str, case: str) -> str:
    """Return what the table says of a capability: "=", "≈" or "no"."""
    if (case, road) in NOT_THERE:
        return "no"
    return "=" if ROUNDED.get(road) == 0.0 else "≈"


def fresh_bar() -> Case:
    """Return a motion whose machine code nobody has: of functions its graph alone tells."""
    return of_bar(torque=lambda t, q, v: 0.0 * v) | {"machine": four_bar(1, 2, 1.7, 2.5)}


def ended(road: str | Callable[..., End], case: Case) -> str:
    """Return what a motion says that does not come to its end; "" if it does."""
    try:
        (ROADS[road] if isinstance(road, str) else road)(case)
    except MbdError as error:
        return str(error)
    return ""


def table() -> str:
    """Return the table."""
    lines = [" | ".join(["", *ROADS]), " | ".join(["---"] * (len(ROADS) + 1))]
    lines += [" | ".join([case, *(cell(road, case) for road in ROADS)]) for case in CASES]
    lines += [
        " | ".join([what, *("yes" if x in RUNS else "no" for x in ROADS)]) for what in OF_RUNS
    ]
    lines += [" | ".join([f"steps: {x}", *(step_cell(road, x) for road in ROADS)]) for x in STEPS]
    for guard in GUARDS:
        seen = [UNGUARDED.get((guard, road), "seen") for road in ROADS]
        lines.append(" | ".join([guard, *seen]))
    return "\n".join(f"| {line} |" for line in lines)


if __name__ == "__main__":
    print(table())
