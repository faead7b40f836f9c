"""The words of the command line. What a command needs is imported when it runs."""

from __future__ import annotations

import argparse
import math
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from mbd_bridge.base.extensions import extensions, of_applications, working
from mbd_bridge.base.lazy import import_late

COMMANDS = (
    "info",
    "assemble",
    "complete-motion",
    "inverse-kinematics",
    "loads",
    "load-cases",
    "sections",
    "worst-pose",
    "report",
    "simulate",
    "plot",
    "view",
    "check",
    "bench",
    "export",
    "convert",
    "models",
)
"""Modules of this package, each with GROUP, SUMMARY, DESCRIPTION, `add_arguments` and `run`, as
those of applications and plugins (group ``commands``)."""

XACRO_NAME = re.compile(r"[A-Za-z_][\w.\-]*")

DESCRIPTION = "The load in any joint of any machine, in machine code made for that machine."

GROUPS = (
    "look at a machine",
    "loads",
    "size its parts",
    "close its loops, move it",
    "hand it on",
    "more",
)
"""Kinds of commands, in the order of the help; plugins that name none are under the last."""

MACHINE = "of the machine"

SCREEN = 60
"""Lines from which on --help is brief, and --help-all the whole."""

EPILOG = """\
mbd COMMAND --help has an example and says what comes out. Results go to stdout, notes, warnings
and errors to stderr. Exit code: 0 all well, 1 mbd check found a disagreement, a loop
stays open or a motion cannot go on, 2 the input cannot be used, 130 interrupted, 143 or 129
ended by SIGTERM or SIGHUP, 70 a fault of mbd_bridge.
"""


class Parser(argparse.ArgumentParser):
    """argparse's parser with a word more where newcomers stumble, and a help of one screen."""

    def whole_help(self) -> str:
        """Return the help with every option."""
        return super().format_help()

    def format_help(self) -> str:
        """Return the help: what is in a group of options by its name only, if it is long."""
        whole = self.whole_help()
        if whole.count("\n") <= SCREEN:
            return whole
        first, *others = [group for group in self._action_groups if group._group_actions][1:]
        main = [*self._positionals._group_actions, *first._group_actions]
        needed = " ".join(f"{self._word(one)}" for one in main if one.required)
        paragraphs = (self.description or "").split("\n\n")
        first_example = next((k for k, text in enumerate(paragraphs) if text[:2] == "  "), 0)
        formatter = self._get_formatter()
        formatter.add_usage(f"{self.prog} {needed} [options]", [], [])
        formatter.add_text("\n\n".join(paragraphs[: first_example + 1]))
        formatter.add_arguments(main)
        wrapped = textwrap.TextWrapper(
            shutil.get_terminal_size().columns - 2, subsequent_indent="  ", break_on_hyphens=False
        )
        lines = [wrapped.fill(f"{one.title}: {self._options(one)}") for one in others]
        formatter.add_text("\n".join(lines))
        formatter.add_text(f"{self.prog} --help-all explains these options, too.")
        return formatter.format_help()

    @staticmethod
    def _word(action: argparse.Action) -> str:
        name = action.metavar if isinstance(action.metavar, str) else action.dest
        return f"{action.option_strings[0]} {name} ..." if action.option_strings else name

    @staticmethod
    def _options(group: argparse._ArgumentGroup) -> str:
        named = (one.option_strings for one in group._group_actions)
        return ", ".join(next(name for name in names if name[:2] == "--") for names in named)

    def error(self, message: str) -> NoReturn:
        """Print the usage and what is wrong, and leave."""
        if "required: MOTION" in message:
            message += "; put MOTION before --joints, which takes every word behind it"
        if re.search(r"required: (FILE|\[NAME=\]MOTION)", message):
            message += "; the machine's file, ROBOT, comes before it"
        if "required: --joints" in message:
            message += "; all takes every joint, mbd info ROBOT lists them"
        wrong = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if wrong:
            near = get_close_matches(wrong[1], re.findall(r"[\w-]+", wrong[2]), n=1)
            message += f"; did you mean {near[0]}?" if near else ""
        self.exit(2, f"{self.prog}: error: {message}\n{self.prog} --help explains it\n")


def in_group(parser: argparse.ArgumentParser, title: str) -> argparse._ArgumentGroup:
    """Return the group of a parser's options of this title, a new one if there is none."""
    known = [group for group in parser._action_groups if group.title == title]
    return known[0] if known else parser.add_argument_group(title)


class NamesAction(argparse.Action):
    """Collect names, separated by blanks or commas, from every time that the word is there."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Keep the names."""
        names = [name for word in values for name in word.split(",") if name]
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or []), *names])


def make_parser(words: Sequence[str] = ()) -> Parser:
    """Return the parser of a command line: of the command that it names, or of all commands."""
    from mbd_bridge import __version__

    raw = argparse.RawDescriptionHelpFormatter
    command = next((word for word in words if not word.startswith("-")), "")
    modules = _modules(command)
    text = f"{DESCRIPTION}\n{_listed(modules)}"
    usage = "mbd COMMAND ..."
    parser = Parser("mbd", usage=usage, description=text, epilog=EPILOG, formatter_class=raw)
    parser.add_argument("--version", action="version", version=f"mbd_bridge {__version__}")
    commands = parser.add_subparsers(prog="mbd", dest="command", help=argparse.SUPPRESS)
    for name, module in modules.items():
        entry = commands.add_parser(name, description=module.DESCRIPTION, formatter_class=raw)
        entry.add_argument(
            "--help-all", action=WholeHelpAction, nargs=0, help="show all options, and exit"
        )
        module.add_arguments(entry)
        entry.set_defaults(run=module.run, parser=entry)
    return parser


def _listed(modules: Mapping[str, Any]) -> str:
    """Return the commands with what they do, by kind."""
    lines = []
    for group in GROUPS:
        named = [n for n, module in modules.items() if getattr(module, "GROUP", "more") == group]
        lines += [f"\n{group}:"] if named else []
        lines += [f"  {name:<18}  {modules[name].SUMMARY}" for name in named]
    return "\n".join(lines)


class WholeHelpAction(argparse.Action):
    """Print the help of a command with every option."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Print, and leave."""
        assert isinstance(parser, Parser)
        parser._print_message(parser.whole_help(), sys.stdout)
        parser.exit()


def _modules(command: str) -> dict[str, Any]:
    """Return the module of a command, by name; of all commands if there is no such one."""
    ours = {name: "mbd_bridge.cli." + name.replace("-", "_") for name in COMMANDS}
    if command in ours:
        return {command: import_late(ours[command])}
    for known in (of_applications, extensions):
        if command in known("commands"):
            return {command: known("commands")[command].load()}
    modules = {name: import_late(path) for name, path in ours.items()}
    return modules | dict(working("commands"))


def xacro_arguments(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the words of a command line without ``NAME:=VALUE``, and these, which xacro takes."""
    given = {}
    rest = []
    for word in words:
        name, sign, value = word.partition(":=")
        if sign and XACRO_NAME.fullmatch(name):
            given[name] = value
        else:
            rest.append(word)
    return rest, given


class OutputFile(str):
    """The name of a file that a command writes: it is none that the command reads."""

    __slots__ = ()


def output_files(options: argparse.Namespace) -> list[OutputFile]:
    """Return the files that a command is to write."""
    return [value for value in vars(options).values() if isinstance(value, OutputFile)]


def add_output(
    parser: argparse._ActionsContainer,
    text: str = "file to write: .csv, .parquet, .npz or .h5; default: CSV to stdout",
    metavar: str = "FILE",
    *,
    flag: str = "--output",
    required: bool = False,
) -> None:
    """Add a file that a command writes, as a rule the table -o."""
    flags = ("-o", flag) if flag == "--output" else (flag,)
    parser.add_argument(*flags, type=OutputFile, metavar=metavar, required=required, help=text)


def add_robot(parser: argparse.ArgumentParser) -> None:
    """Add the robot's file and what changes it, which every command has."""
    parser.add_argument(
        "robot",
        metavar="ROBOT",
        help="URDF, xacro, MJCF, SDF or USD file; arguments of a xacro file follow it, payload:=7",
    )
    machine = in_group(parser, MACHINE)
    machine.add_argument(
        "--package-path",
        action="append",
        default=[],
        metavar="FOLDER",
        help="where packages and meshes are (package://, $(find ...)), besides the file's "
        "surroundings and ROS_PACKAGE_PATH; repeatable",
    )
    machine.add_argument(
        "--floating",
        action="store_true",
        help="the root link is free (six degrees of freedom, root_joint.*) and not welded to the "
        "ground",
    )
    machine.add_argument(
        "--gravity",
        type=vector,
        metavar="x,y,z",
        help="m/s² in the world's axes (the file's, or 0,0,-9.81); a negative x needs the sign =: "
        "--gravity=-9.81,0,0",
    )
    machine.add_argument(
        "--rank-tolerance",
        type=float,
        metavar="E",
        help="how far, rad or parts of the machine's size, a redundant row of a loop may be off by "
        "rounded numbers in the file (1e-5); beyond it the row counts",
    )
    machine.add_argument(
        "--payload",
        type=_payload,
        action="append",
        default=[],
        metavar="LINK,kg[,x,y,z]",
        help="a point mass more on a link, at its origin or at x,y,z (m, in its frame); repeatable",
    )

    forces = machine.add_mutually_exclusive_group()
    forces.add_argument(
        "--forces",
        metavar="FILE",
        help="force elements (springs, bushings, friction, ...) of the machine; by default those "
        "of NAME.forces.yaml beside ROBOT, if it is there",
    )
    forces.add_argument(
        "--no-forces", action="store_true", help="without the force elements of that file"
    )
    machine.add_argument(
        "--joint-dynamics",
        action=argparse.BooleanOptionalAction,
        help="whether damping, friction and springs of joints and the inertia of rotors that ROBOT "
        "gives act; by default those of MJCF and SDF, as in MuJoCo and Gazebo",
    )
    flexible = machine.add_mutually_exclusive_group()
    flexible.add_argument(
        "--flexible",
        metavar="FILE",
        help="links that bend; by default those of NAME.flex.yaml beside ROBOT, if it is there",
    )
    flexible.add_argument("--rigid", action="store_true", help="without the links of that file")


def add_stated(parser: argparse.ArgumentParser) -> None:
    """Add the files of what applications state of a machine."""
    for name in of_applications("sidecars"):
        in_group(parser, MACHINE).add_argument(
            f"--{name}",
            metavar="FILE",
            help=f"{name} of the machine; by default those of NAME.{name}.yaml beside ROBOT, if it "
            "is there",
        )


def placed_motion(options: argparse.Namespace, words: list[str]) -> bool:
    """Take the MOTION that stands behind options, which argparse leaves over, and say whether."""
    plain = len(words) == 1 and not words[0].startswith("-")
    if not plain or "motion" not in options or options.motion is not None:
        return False
    if getattr(options, "q", None) is not None:
        return False
    options.motion = words[0]
    return True


def several_motions(options: argparse.Namespace, words: list[str]) -> str:
    """Return advice for those who give several motions to a command that takes one."""
    one = isinstance(getattr(options, "motion", None), str)
    if not one or any(word.startswith("-") for word in words):
        return ""
    return (
        "; one MOTION at a time. Several are load cases: mbd load-cases ROBOT MOTION ... shows the "
        "largest loads of all and adds up their damage, mbd report ROBOT MOTION ... -o FILE.html "
        "writes a page"
    )


def near_option(parser: argparse.ArgumentParser, words: list[str]) -> str:
    """Return which option of a parser was probably meant by one that it does not have."""
    known = re.findall(r"--[\w-]+", parser.format_usage())
    near = get_close_matches(words[0], known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def vector(text: str) -> tuple[float, float, float]:
    """Return three finite numbers separated by commas."""
    try:
        x, y, z = (float(part) for part in text.split(","))
    except ValueError:
        x = y = z = math.nan
    if not all(map(math.isfinite, (x, y, z))):
        raise argparse.ArgumentTypeError(f"expected x,y,z, such as 0,0,0.1; got {text!r}")
    return x, y, z


def _payload(text: str) -> tuple[str, float, tuple[float, float, float]]:
    link, _, rest = text.partition(",")
    mass, _, centre = rest.partition(",")
    try:
        return link, float(mass), vector(centre) if centre else (0.0, 0.0, 0.0)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected LINK,kg or LINK,kg,x,y,z, such as tool0,2.5,0,0,0.1; got {text!r}"
        ) from None


def whole_number(text: str) -> int:
    """Return a whole number from 1."""
    return _at_least(1, text)


def from_zero(text: str) -> int:
    """Return a whole number from 0."""
    return _at_least(0, text)


def _at_least(least: int, text: str) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"expected a whole number from {least}, got {text!r}")
    return int(text)
