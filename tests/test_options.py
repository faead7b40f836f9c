"""Options that several calls have: spelled once, shown and checked everywhere."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import mbd_bridge as mbd
from mbd_bridge.base.options import options_of
from mbd_bridge.cli.parser import make_parser
from mbd_bridge.loads.options import ActuationOptions, ConventionOptions
from mbd_bridge.motion.options import ReadingOptions
from mbd_bridge.motion.reading import Reading
from mbd_bridge.simulation.options import (
    BatchOptions,
    RightHandSideOptions,
    SimulateOptions,
    SystemOptions,
)

ROOT = Path(__file__).parents[1]
DECORATORS = {"with_options", "shows_options", "overload"}

ARM = mbd.load(ROOT / "urdf" / "pendulum.urdf")


def test_a_signature_shows_each_option_of_a_group_with_its_default_and_its_help() -> None:
    parameters = inspect.signature(mbd.Mechanism.read_motion).parameters
    for name, option in options_of(ReadingOptions).items():
        assert parameters[name].default == option.default
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert f"\n{name} : {option.help[:40]}" in (inspect.getdoc(mbd.Mechanism.read_motion) or "")
    assert "options" not in parameters


def test_a_wrong_option_is_refused_with_those_that_are_near() -> None:
    with pytest.raises(
        mbd.errors.StateError, match=r"read_motion: no option named 'smoth'.*'smooth'"
    ):
        ARM.read_motion("motion.csv", smoth="off")  # type: ignore[call-arg]


def test_a_reading_knows_which_of_its_options_were_given() -> None:
    assert Reading.of(ignore=[], smooth="auto", rest=False).given == ()
    assert Reading.of(ignore=["a"], smooth="off", rest=True).given == ("rest", "ignore", "smooth")


def test_each_call_that_takes_options_is_checked_and_shows_them() -> None:
    wrong = [
        f"{file.relative_to(ROOT)}:{node.lineno} {node.name}"
        for file in sorted((ROOT / "mbd_bridge").rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.args.kwarg is not None
        if node.args.kwarg.arg == "options" and "Unpack[" in ast.unparse(node.args.kwarg)
        if not {"with_options", "shows_options", "overload"}
        & {ast.unparse(x) for x in node.decorator_list}
    ]
    assert not wrong


@pytest.mark.parametrize(
    "group", [ReadingOptions, SystemOptions, RightHandSideOptions, BatchOptions, SimulateOptions]
)
def test_each_option_of_a_group_says_what_it_does(group: type) -> None:
    for name, option in options_of(group).items():
        assert option.help, name


WRONG = {
    "simulate": lambda robot: robot.simulate(1.0, torqe={}),
    "System": lambda robot: mbd.System(robot, torqe={}),
    "RealTime": lambda robot: mbd.RealTime(robot, stp=0.1),
    "export_fmu": lambda robot: robot.export_fmu("r.fmu", stp=0.1),
    "load_history": lambda robot: robot.load_history("m.csv", smoth="off"),
    "report": lambda robot: robot.report("r.html", picure=False),
    "render": lambda robot: robot.render(gound=False),
    "show": lambda robot: robot.show(gound=False),
    "web_view": lambda robot: robot.web_view(gound=False),
    "section_loads": lambda robot: robot.section_loads("a", 0.0, 0, 0, 0, forcs=()),
    "joint_loads": lambda robot: robot.joint_loads([0.0], [0.0], [0.0], reacton=True),
    "free_body": lambda robot: robot.free_body("a", [0.0], actuatd="a"),
    "compile": lambda robot: robot.compile("joint_loads", reacton=True),
    "inverse_dynamics": lambda robot: robot.inverse_dynamics([0.0], [0.0], [0.0], forcs=()),
    "forward_dynamics": lambda robot: robot.forward_dynamics([0.0], [0.0], [0.0], forcs=()),
    "bias_forces": lambda robot: robot.bias_forces([0.0], [0.0], forcs=()),
    "motors": lambda robot: robot.motors(None, forcs=()),
    "bearings": lambda robot: robot.bearings(None, forcs=()),
}


@pytest.mark.parametrize("call", WRONG)
def test_each_public_call_refuses_a_wrong_option_with_what_is_near(call: str) -> None:
    with pytest.raises(
        mbd.errors.StateError, match=rf"{call}\w*: no option named .* did you mean "
    ):
        WRONG[call](ARM)


@pytest.mark.parametrize("option", ["torque", "q", "step", "integrator", "every"])
def test_an_option_of_a_run_has_one_default_in_all_calls_that_take_it(option: str) -> None:
    calls = (
        mbd.simulation.simulate,
        mbd.System,
        mbd.simulation.right_hand_side,
        mbd.RealTime,
    )
    shown = [
        inspect.signature(one).parameters for one in (*calls, mbd.studies.study, ARM.export_fmu)
    ]
    defaults = [parameters[option].default for parameters in shown if option in parameters]
    assert len(defaults) > 1
    assert len(set(map(repr, defaults))) == 1


def test_the_command_line_takes_names_choices_and_help_from_the_groups() -> None:
    parser = make_parser(["loads"])
    loads = next(a for a in parser._actions if a.dest == "command").choices["loads"]
    actions = {action.dest: action for action in loads._actions}
    assert actions["smooth"].choices == ("auto", "spline", "savgol", "lowpass", "off")
    assert actions["clock"].choices == ("header", "bag") and actions["cutoff"].type is float
    assert actions["in_"].option_strings == ["--in"] and actions["in_"].default == "child"
    assert actions["rest"].default is False and actions["ignore"].metavar == "COLUMN"
    for group in (ReadingOptions, ConventionOptions, ActuationOptions):
        for name, option in options_of(group).items():
            text = re.sub(r'["`]', "", option.shell or option.help)
            assert actions["frame" if name == "frames" else name].help[:40] == text[:40]
