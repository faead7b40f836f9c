"""Signatures say everything: a type checker finds a misspelt option of each public call."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

from mbd_bridge.simulation.reference.integrators import INTEGRATORS, SCIPY
from mbd_bridge.simulation.run.problem import IntegratorName
from mbd_bridge.simulation.steps.schemes import METHODS, SCHEMES, MethodName

ROOT = Path(__file__).parents[1]

HEAD = """\
import numpy as np
import mbd_bridge as mbd
from mbd_bridge.engines.pybullet import Stepper
from mbd_bridge.loads import LoadRequest

robot = mbd.load("robot.urdf", cuts="weighted", floating=True)
x = np.zeros(robot.nv)
motion = robot.read_motion("motion.csv", rest=True)
run = robot.simulate(1.0, torque={"a": "sin(t)"}, method="svd", integrator="scipy:RK45")
batch = robot.simulate(1.0, q=[x, x])
assert isinstance(batch, mbd.simulation.SimulationBatch)
loads = robot.joint_loads(x, x, x, ["a"], at=(0.0, 0.0, 0.1), external={"b": np.ones(6)})
body = robot.free_body("b", motion, actuated="a")
solver = robot.compile("joint_loads", ["a"], at=np.zeros(3), links=["b"], actuated=["a"])
step = Stepper(robot, 0, 1)
"""

CALLS = """\
mbd.load("robot.urdf", gravity=(0, 0, -1.6))
mbd.load("robot.urdf", cuts="authored")
robot.read_motion("m.csv", clock="bag")
robot.load_history("m.csv", "a", at="parent", in_="world", threads=2, plane="xy")
robot.simulate(1.0, step=1e-3)
robot.simulate(1.0, method="qr")
robot.simulate(1.0, integrator="abm")
robot.simulate(1.0, correction="velocity", external_in="world")
mbd.System(robot).simulate(1.0, threads=2)
mbd.System(robot, prescribed={"a": 0.0}, external_in="world")
robot.right_hand_side(stabilisation=0.0)
robot.assemble_batch({"a": [1.0, 2.0]}, fixed="a", tolerance=1e-6)
robot.crosscheck(states=3)
robot.render("a.png", labels=False)
run.show(loads="all", playing=False)
robot.report("a.html", motion, on="parent", at=(0, 0, 1), in_="child", actuated="a")
robot.joint_loads(motion, joints="a", on="parent")
robot.joint_loads(x, x, x, [1], at="parent", reaction=True)
robot.joint_loads(x, x, x, in_="world", external_in="world")
robot.compile("joint_loads", on="child", minimum_norm=True)
robot.compile("joint_loads", at="joint", open_tree=True)
robot.free_body("b", x, x, x, threads=2)
robot.assemble({"a": 1.0}, fixed=["a"], weights={"a": 2.0})
robot.inverse_dynamics(x, x, x, check=False, minimum_norm=True)
robot.bias_forces(x, x, external_in="link")
robot.mass_matrix(x, check=False)
robot.forward_dynamics(x, x, x, threads=2)
robot.compile("mass_matrix", q=x)
robot.crosscheck(pybullet=False)
robot.placement(x, "b", threads=2)
LoadRequest.of(robot.model, ["a"], on="parent", actuated=())
solver(x, x, x, lam=x, check=False)
loads.spectra([4.0], plane="zx", directions=4)
loads.save("a.npz", digits=9)
loads.plot("a", resultant=True)
loads.plot_polar(plane="xy")
run.joint_loads(["a"], on="parent", at=(0, 0, 0), reaction=True)
run.save("a.csv", digits=9)
batch.joint_loads("a", in_="world")
step.joint_loads(at=(1, 2, 3))
body.write("a.bdf", length="mm", first=3)
"""

MEANT = {"bag", "qr", "abm", "velocity", "child", "parent", "world", "link", "joint", "xy", "zx"}
"""Words of which a call takes a few: a wrong one is found as well."""


def misspelt(call: str) -> list[str]:
    """Return a call with its last option misspelt, and with each of its few words misspelt."""
    option = list(re.finditer(r"(\w+)=", call))[-1]
    wrong = [call[: option.end(1)] + "x" + call[option.end(1) :]]
    for word in re.finditer(r"=\"(\w+)\"", call):
        if word[1] in MEANT or word[1] in ("authored", "mm"):
            wrong.append(call[: word.end(1)] + "x" + call[word.end(1) :])
    return wrong


def test_a_type_checker_finds_a_misspelt_option_of_each_public_call(tmp_path: Path) -> None:
    right = CALLS.splitlines()
    wrong = [line for call in right for line in misspelt(call)]
    lines = [*HEAD.splitlines(), *right, *wrong]
    script = tmp_path / "script.py"
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    complaints = {
        int(place[1]): place[0]
        for place in re.finditer(r"script\.py:(\d+): error:.*", found.stdout)
    }
    first = len(lines) - len(wrong)
    clean = [told for line, told in complaints.items() if line <= first]
    assert not clean, clean
    missed = [line for k, line in enumerate(wrong, first + 1) if k not in complaints]
    assert not missed, (missed, found.stderr)


def test_no_public_call_takes_options_that_it_does_not_name() -> None:
    wrong = [
        f"{file.relative_to(ROOT)}:{node.lineno}: {node.name}"
        for room in ("api", "loads", "solve", "simulation", "engines/crosscheck", "motion")
        for file in sorted((ROOT / "mbd_bridge" / room).rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.args.kwarg is not None
        if "Unpack[" not in ast.unparse(node.args.kwarg)  # which names them
    ]
    assert not wrong


def test_the_words_of_the_signatures_are_those_that_are_known() -> None:
    assert get_args(MethodName) == METHODS
    assert get_args(IntegratorName) == (
        *dict.fromkeys((*INTEGRATORS, *SCHEMES)),
        *(f"scipy:{name}" for name in SCIPY),
    )
