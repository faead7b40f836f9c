"""What is asked of a machine addresses its machine code, field by field."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, replace
from typing import Any

import pytest

import mbd_bridge as mbd
from mbd_bridge.loads import LoadRequest
from mbd_bridge.loads.convention import Convention
from mbd_bridge.model import address
from mbd_bridge.solve.applied import AppliedForces
from tests.bounds import WAIT
from tests.robots import own_urdfs

SPRING = mbd.forces.JointSpring("hinge", stiffness=2.0, name="coil")
STIFFER = mbd.forces.JointSpring("hinge", stiffness=2.0 + 1e-15, name="coil")

OTHERS: dict[type, dict[str, list[Any]]] = {
    LoadRequest: {
        "joints": [("tip_joint",), ("hinge", "tip_joint"), ()],
        "convention": [Convention("parent")],
        "links": [("rod",)],
        "external_in": ["world"],
        "reaction": [True],
        "open_tree": [True],
        "actuated": [(), ("hinge",)],
        "minimum_norm": [True],
        "forces": [(SPRING,), (STIFFER,)],
        "known": [(SPRING,)],
    },
    Convention: {"on": ["parent"], "at": ["parent", (0.0, 0.0, 0.1)], "in_": ["world", "parent"]},
    AppliedForces: {
        "links": [(1,), (1, 2)],
        "axes": ["world"],
        "forces": [(SPRING,), (STIFFER,)],
        "known": [(SPRING,)],
    },
}
"""Other values of every field; a field without one fails the test."""

PLAIN = {
    LoadRequest: LoadRequest(("hinge",)),
    Convention: Convention(),
    AppliedForces: AppliedForces(),
}

SCRIPT = """
import mbd_bridge as mbd
from mbd_bridge.model import address
robot = mbd.load("urdf/pendulum.urdf")
spring = mbd.forces.JointSpring("hinge", stiffness=2.0, name="coil")
request = mbd.loads.LoadRequest.of(robot.model, forces=[spring], at=(0.1, 0.2, 0.3))
system = mbd.System(robot, forces=[spring], torque={"hinge": "sin(t)"})
print(address(robot.model, request), system.identity)
"""


@pytest.mark.parametrize("kind", OTHERS)
def test_requests_that_differ_in_one_field_have_different_addresses(kind: type) -> None:
    plain = PLAIN[kind]
    others = [plain]
    for field in fields(kind):
        others += [replace(plain, **{field.name: value}) for value in OTHERS[kind][field.name]]
    assert len({address(other) for other in others}) == len(others)


def test_the_same_request_has_one_address_in_two_processes() -> None:
    told = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            check=True,
            timeout=WAIT,
        ).stdout
        for seed in ("1", "2")
    ]
    assert told[0] == told[1] and len(set(told[0].split())) == 2


def test_what_a_callers_function_does_only_its_graph_tells() -> None:
    assert address(1.0, ("a", None)) is not None
    assert address(1.0, ("a", lambda t: t)) is None


def test_models_of_other_numbers_have_other_addresses() -> None:
    robot = mbd.load(own_urdfs()["pendulum"])
    heavier = robot.with_payload(robot.model.links[-1].name, 1e-9)
    assert address(robot.model, "x") != address(heavier.model, "x")
