"""Which road takes which kind of input today: a table that redesigns are steered by."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError
from mbd_bridge.functions import sin
from mbd_bridge.simulation.batch.run import simulate_batch
from mbd_bridge.simulation.rates import right_hand_side
from mbd_bridge.simulation.steps.stepping import CoupledStep
from tests.forces.relaxing import Maxwell
from tests.pairs.machines import machine

SPAN = 0.01
TIMES = np.array([0.0, 0.003, 0.006, SPAN])
PUSH = np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])

KINDS: dict[str, dict[str, Any]] = {
    "torque: numbers by name": {"torque": {"crank": 1.0}},
    "torque: vector": {"torque": np.array([1.0, 0.0, 0.0])},
    "torque: formula by name": {"torque": {"crank": "sin(t)"}},
    "torque: table by name": {"torque": {"crank": (TIMES, TIMES)}},
    "torque: function by name": {"torque": {"crank": lambda t, q, v: sin(t)}},
    "torque: called from Python": {"torque": {"crank": mbd.Sampled(lambda t, q, v: 1.0)}},
    "torque: an input": {"torque": {"crank": mbd.Input("grip")}, "inputs": {"grip": 2.0}},
    "torque: function of t, q, v": {"torque": lambda t, q, v: np.array([sin(t), 0.0, 0.0])},
    "torque: one for each of N": {"torque": {"crank": np.array([1.0, 2.0])}},
    "prescribed motion: number": {"prescribed": {"crank": 0.5}},
    "prescribed motion: formula": {"prescribed": {"crank": "0.5 + t"}},
    "prescribed motion: function of t": {"prescribed": {"crank": lambda t: 0.5 + t}},
    "prescribed motion: table": {"prescribed": {"crank": (TIMES, 0.5 + TIMES)}},
    "prescribed motion: one for each of N": {"prescribed": {"crank": np.array([0.5, 0.6])}},
    "external: constant": {"external": {"coupler": PUSH}},
    "external: world axes": {"external": {"coupler": PUSH}, "external_in": "world"},
    "external: one for each of N": {"external": {"coupler": np.stack([PUSH, PUSH])}},
    "external: function of t, q, v": {"external": {"coupler": lambda t, q, v: PUSH * sin(t)}},
    "external: table": {"external": {"coupler": (TIMES, np.outer(TIMES, PUSH))}},
    "external: called from Python": {"external": {"coupler": mbd.Sampled(lambda t, q, v: PUSH)}},
    "external: an input": {"external": {"coupler": mbd.Input("wind", PUSH)}},
    "forces: a spring": {"forces": [mbd.forces.JointSpring("crank", 5.0)]},
    "forces: a state of its own": {"forces": [Maxwell("crank", 30.0, 2.0)]},
    "forces: numbers for each of N": {
        "forces": [mbd.forces.JointSpring("crank", 5.0, name="coil")],
        "parameters": {"coil.stiffness": np.array([5.0, 9.0])},
    },
    "loads while it runs": {"loads": ["elbow"]},
    "outputs while it runs": {"outputs": {"tip": lambda t, q, v: q[0]}},
    "parameters": {"parameters": {"coupler.mass": 2.0}},
    "parameters: one for each of N": {"parameters": {"coupler.mass": np.array([2.0, 3.0])}},
    "states: N": {"q": "N", "v": "N"},
    "events": {"events": {"top": lambda t, q, v: v[0]}},
    "method": {"method": "svd"},
    "integrator": {"integrator": "abm"},
    "integrator: implicit": {"integrator": "hht"},
    "integrator: null space": {"integrator": mbd.integrators.NullSpace("svd")},
    "integrator: kept matrix": {"integrator": mbd.integrators.KeptMatrix()},
    "check=False": {"check": False},
    "threads": {"threads": 2},
    "checkpoint": {"checkpoint": "run.npz"},
    "history": {"history": True},
    "reaction": {"reaction": True},
    "actuated": {"actuated": ["crank"]},
}


def roads() -> dict[str, Callable[..., Any]]:
    """Return calls that take the options above, of a machine with a loop."""
    m = machine("loop")
    start = m.assemble({"crank": 0.5}, fixed="crank")
    states = {"q": start.q, "v": start.v}
    run, batch = m.simulate(SPAN, **states), simulate_batch(m, SPAN, **states)

    def states_of(given: dict[str, Any]) -> dict[str, Any]:
        own = dict(given)
        free = "prescribed" in own
        for name, value in states.items():
            if own.get(name) is not None:
                own[name] = np.stack([value, value])
            elif not free:
                own[name] = value
        return own

    def dynamics(name: str, *last: str) -> Callable[..., Any]:
        def call(**given: Any) -> Any:
            own = states_of(given)
            own.setdefault("q", start.q)
            own.setdefault("v", start.v)
            own |= {key: np.zeros(3) for key in last}
            if name in ("joint_loads", "inverse_dynamics"):
                own["a"], own["actuated"] = start.a * 0.0, own.get("actuated", ["crank"])
            return getattr(m, name)(**own)

        return call

    def prepared(**given: Any) -> Any:
        own = states_of(given)
        q, v = own.pop("q", start.q), own.pop("v", start.v)
        return m.constrained_dynamics().forward(q, v, np.zeros(3), **own)

    return {
        "simulate": lambda **given: m.simulate(SPAN, **states_of(given)),
        "simulate_batch": lambda **given: _sound(simulate_batch(m, SPAN, **states_of(given))),
        "step by step": lambda **given: _steps(m, start, given),
        "right_hand_side": lambda **given: right_hand_side(
            m.model, span=(0.0, SPAN), **states_of(given)
        ),
        "equations": lambda **given: _equations(m, start, given),
        "a step in C": lambda **given: _in_c(m, start, given),
        "real time": lambda **given: _in_real_time(m, start, given),
        "FMU": lambda **given: _fmu(m, start, given),
        "joint_loads": dynamics("joint_loads"),
        "inverse_dynamics": dynamics("inverse_dynamics"),
        "forward_dynamics": dynamics("forward_dynamics", "tau"),
        "constrained_dynamics": prepared,
        "assemble": lambda **given: m.assemble(**given),
        "assemble_batch": lambda **given: m.assemble_batch(**given),
        "run.joint_loads": run.joint_loads,
        "batch.joint_loads": batch.joint_loads,
    }


def _steps(m: mbd.Mechanism, start: Any, given: dict[str, Any]) -> None:
    own = _integrator(given)
    core = CoupledStep(mbd.System(m, **given), start.q, start.v, **own)
    core(start.q, start.v, np.zeros(3), np.zeros((len(m.model.bodies), 6)), SPAN / 4)


def _equations(m: mbd.Mechanism, start: Any, given: dict[str, Any]) -> mbd.Equations:
    state = {} if "prescribed" in given else {"q": start.q, "v": start.v}
    return mbd.Equations(mbd.System(m, **given), **state)


def _integrator(given: dict[str, Any]) -> dict[str, Any]:
    """Take the integrator and the method out of what is given: options of steps, not systems."""
    return {name: given.pop(name) for name in ("integrator", "method") if name in given}


def _in_c(m: mbd.Mechanism, start: Any, given: dict[str, Any]) -> None:
    own = _integrator(given)
    _equations(m, start, given).step_source(**own)


def _in_real_time(m: mbd.Mechanism, start: Any, given: dict[str, Any]) -> None:
    own = _integrator(given)
    state = {} if "prescribed" in given else {"q": start.q, "v": start.v}
    run = mbd.RealTime(mbd.System(m, **given), **state, **own).run(SPAN, rate=1e6)
    assert run.finished, run.status


def _fmu(m: mbd.Mechanism, start: Any, given: dict[str, Any]) -> None:
    own = _integrator(given)
    state = {} if "prescribed" in given else {"q": start.q, "v": start.v}
    with tempfile.TemporaryDirectory() as folder:
        mbd.System(m, **given).export_fmu(f"{folder}/it.fmu", compile=False, **state, **own)


def _sound(batch: mbd.simulation.SimulationBatch) -> mbd.simulation.SimulationBatch:
    assert batch.finished.all(), batch.status
    return batch


def answer(road: Callable[..., Any], given: dict[str, Any]) -> str:
    """Return "yes", "refused" (by the library, told why) or "-" (there is no such option)."""
    try:
        road(**given)
    except MbdError as problem:
        return "-" if "no option" in str(problem) else "refused"
    except TypeError as problem:
        if not re.search("unexpected keyword|multiple values", str(problem)):
            raise
        return "-"
    return "yes"


def table() -> str:
    """Return the table, a line for each kind of input."""
    calls = roads()
    lines = [" | ".join(["kind", *calls])]
    for kind, given in KINDS.items():
        lines.append(" | ".join([kind, *(answer(road, given) for road in calls.values())]))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
