"""A system as an FMU: ``robot.export_fmu("robot.fmu")``.

A zip archive whose bytes depend on its contents only.

The shared library of an FMU, compiled by the system's C compiler.
"""

from __future__ import annotations

import hashlib
import math
import os
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
import uuid
import zipfile
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import NamedTuple, Unpack
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from mbd_bridge.applications.fmu.model import FmuModel, Kind
from mbd_bridge.base.arguments import file_path, flag
from mbd_bridge.base.errors import KernelError, StateError, count, real_number, warn, whole_number
from mbd_bridge.base.options import part, with_options
from mbd_bridge.files.whole_file import check_place, whole_path
from mbd_bridge.forces.varying import Input
from mbd_bridge.kernels.c_text import identifier
from mbd_bridge.model import Model
from mbd_bridge.model.model import ROOT_JOINT
from mbd_bridge.simulation.equations import Equations
from mbd_bridge.simulation.options import OwnStepOptions, StateOptions
from mbd_bridge.simulation.steps.schemes import Integrator, compiled_scheme, scheme_name
from mbd_bridge.simulation.system import HasModel, System, model_of
from mbd_bridge.simulation.variables import Variable

# The XML files of an FMU: modelDescription.xml of FMI 2.0 and 3.0, buildDescription.xml.
#
# Units as FMI describes them: powers of base units.

BASE = ("kg", "m", "s", "rad")
"""Base units that occur."""

POWERS: dict[str, tuple[int, ...]] = {
    "1": (0, 0, 0, 0),
    "kg": (1, 0, 0, 0),
    "m": (0, 1, 0, 0),
    "s": (0, 0, 1, 0),
    "rad": (0, 0, 0, 1),
    "N": (1, 1, -2, 0),
    "J": (1, 2, -2, 0),
    "W": (1, 2, -3, 0),
    "Pa": (1, -1, -2, 0),
    "Hz": (0, 0, -1, 0),
}
"""Powers of the base units in units that occur."""

DISPLAY = {"rad": ("deg", 180.0 / math.pi), "rad/s": ("deg/s", 180.0 / math.pi)}
"""Name and factor of a unit in which people read another one."""


class FmuUnit(NamedTuple):
    """A unit: its name in FMI, powers of base units or None where they are not known."""

    name: str
    powers: tuple[int, ...] | None

    @property
    def base(self) -> dict[str, int]:
        """The powers that are not zero, by base unit."""
        return {name: k for name, k in zip(BASE, self.powers or (), strict=False) if k}


def fmi_unit(text: str) -> FmuUnit | None:
    """Return a unit such as "N m/rad" or "m/s^2" as FMI writes it ("N.m/rad", "m/s2")."""
    if not text:
        return None
    name = re.sub(r"[ *]+", ".", text.strip()).replace("^", "").replace("²", "2")
    total = [0] * len(BASE)
    for number, side in enumerate(re.split("/", name)):
        for factor in side.strip("()").split("."):
            found = re.fullmatch(r"([A-Za-z]+|1)(-?\d+)?", factor)
            if found is None or found[1] not in POWERS:
                return FmuUnit(name, None)
            power = int(found[2] or 1) * (1 if number == 0 else -1)
            total = [a + power * b for a, b in zip(total, POWERS[found[1]], strict=True)]
    return FmuUnit(name, tuple(total))


CAUSALITY: dict[Kind, tuple[str, str]] = {
    "time": ("independent", "continuous"),
    "input": ("input", "continuous"),
    "tunable": ("parameter", "tunable"),
    "fixed": ("parameter", "fixed"),
    "state": ("output", "continuous"),
    "output": ("output", "continuous"),
}
"""Causality and variability; states are outputs whose start values can be set."""

CATEGORIES = {
    "logStatusWarning": "Something is unusual, but goes on.",
    "logStatusDiscard": "A step was not taken, or a value not set.",
    "logStatusError": "A call cannot be fulfilled.",
}
"""Of messages."""

STRUCTURED = re.compile(r"[A-Za-z_]\w*(\[\d+\])?(\.[A-Za-z_]\w*(\[\d+\])?)*", re.ASCII)
"""A variable name that FMI takes for a path."""


def model_description(model: FmuModel, fmi: int, token: str, sources: Sequence[str]) -> str:
    """Return modelDescription.xml.

    Parameters
    ----------
    fmi : 2 or 3
    token : GUID of FMI 2, instantiation token of FMI 3
    sources : files to be compiled, which FMI 2 lists here
    """
    from mbd_bridge import __version__

    variables = model.variables
    names = [one.name for _, one in variables]
    paths = all(STRUCTURED.fullmatch(name) for name in names)
    root = Element(
        "fmiModelDescription",
        {
            "fmiVersion": "2.0" if fmi == 2 else "3.0",
            "modelName": model.name,
            ("guid" if fmi == 2 else "instantiationToken"): token,
            "description": f"{model.name}: one step of {model.step!r} s at a time, by mbd_bridge",
            "generationTool": f"mbd_bridge {__version__}",
            "variableNamingConvention": "structured" if paths else "flat",
        },
    )
    _interface(root, model, fmi, sources)
    units = {one.unit: fmi_unit(one.unit) for _, one in variables if one.unit}
    _units(SubElement(root, "UnitDefinitions"), units)
    categories = SubElement(root, "LogCategories")
    for name, text in CATEGORIES.items():
        SubElement(categories, "Category", {"name": name, "description": text})
    SubElement(root, "DefaultExperiment", {"startTime": "0.0", "stepSize": repr(model.step)})
    listed = SubElement(root, "ModelVariables")
    for reference, (kind, one) in enumerate(variables):
        _variable(listed, fmi, reference, kind, one)
    _structure(SubElement(root, "ModelStructure"), model, fmi)
    return _text(root)


def build_description(model: FmuModel, sources: Sequence[str]) -> str:
    """Return buildDescription.xml, which tells how the sources of an FMI 3 FMU are compiled."""
    root = Element("fmiBuildDescription", {"fmiVersion": "3.0"})
    build = SubElement(root, "BuildConfiguration", {"modelIdentifier": model.identifier})
    files = SubElement(build, "SourceFileSet", {"language": "C99"})
    for name in sources:
        SubElement(files, "SourceFile", {"name": name})
    return _text(root)


def _interface(root: Element, model: FmuModel, fmi: int, sources: Sequence[str]) -> None:
    state = "FMUstate" if fmi == 2 else "FMUState"
    interface = SubElement(
        root,
        "CoSimulation",
        {
            "modelIdentifier": model.identifier,
            f"canGetAndSet{state}": "true",
            f"canSerialize{state}": "true",
            "canHandleVariableCommunicationStepSize": "true",
        },
    )
    if fmi == 3:
        interface.set("fixedInternalStepSize", repr(model.step))
        return
    files = SubElement(interface, "SourceFiles")
    for name in sources:
        SubElement(files, "File", {"name": name})


def _units(parent: Element, units: dict[str, FmuUnit | None]) -> None:
    for text, unit in sorted(units.items()):
        if unit is None:
            continue
        one = SubElement(parent, "Unit", {"name": unit.name})
        if unit.powers is not None:
            SubElement(one, "BaseUnit", {name: str(k) for name, k in unit.base.items()})
        if text in DISPLAY:
            name, factor = DISPLAY[text]
            SubElement(one, "DisplayUnit", {"name": name, "factor": repr(factor)})


def _variable(parent: Element, fmi: int, reference: int, kind: Kind, one: Variable) -> None:
    causality, variability = CAUSALITY[kind]
    said = {
        "name": one.name,
        "valueReference": str(reference),
        "description": one.description,
        "causality": causality,
        "variability": variability,
    }
    if kind in ("state", "tunable", "fixed"):
        said["initial"] = "exact"
    elif kind == "output":
        said["initial"] = "calculated"
    real: dict[str, str] = {}
    unit = fmi_unit(one.unit)
    if unit is not None:
        real["unit"] = unit.name
    if kind not in ("time", "output"):
        real["start"] = repr(float(one.start or 0.0))
    if fmi == 3:
        SubElement(parent, "Float64", said | real)
    else:
        SubElement(SubElement(parent, "ScalarVariable", said), "Real", real)


def _structure(parent: Element, model: FmuModel, fmi: int) -> None:
    """List outputs: states depend on nothing at their own time, computed outputs on everything."""
    outputs = [(k, kind) for k, (kind, _) in enumerate(model.variables)]
    outputs = [(k, kind) for k, kind in outputs if kind in ("state", "output")]
    listed = parent if fmi == 3 else SubElement(parent, "Outputs")
    for k, kind in outputs:
        direct = {"dependencies": ""} if kind == "state" else {}
        if fmi == 3:
            SubElement(listed, "Output", {"valueReference": str(k)} | direct)
        else:
            SubElement(listed, "Unknown", {"index": str(k + 1)} | direct)
    listed = parent if fmi == 3 else SubElement(parent, "InitialUnknowns")
    for k, kind in outputs:
        if kind == "state":
            continue
        if fmi == 3:
            SubElement(listed, "InitialUnknown", {"valueReference": str(k)})
        else:
            SubElement(listed, "Unknown", {"index": str(k + 1)})


def _text(root: Element) -> str:
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


DATE = (1980, 1, 1, 0, 0, 0)
"""Of every file: the first that an archive can say."""

LEVEL = 6
"""Of compression."""

PERMISSIONS = 0o644 << 16


def write_archive(path: str | os.PathLike[str], files: Mapping[str, str | bytes]) -> None:
    """Write files by their names in the archive; it appears whole or not at all."""
    with whole_path(path) as place, zipfile.ZipFile(place, "w") as archive:
        for name in sorted(files):
            content = files[name]
            one = zipfile.ZipInfo(name, DATE)
            one.compress_type, one.external_attr = zipfile.ZIP_DEFLATED, PERMISSIONS
            archive.writestr(
                one, content.encode() if isinstance(content, str) else content, compresslevel=LEVEL
            )


FLAGS = ("-std=c99", "-O2", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-w")
"""Without contraction, so that the digits are those of a run."""

LINK = ("-shared", "-s", "-Wl,--build-id=none", "-lm")
"""Without what would differ from one compilation to the next."""

COMPILERS = ("cc", "gcc", "clang")

EQUATIONS = "equations.c"
"""The file that is compiled a second time for fused multiply-adds."""

NAMES = ("step", "outputs", "residuals", "memory")
"""Functions of it, whose second version is called NAME_fma."""


def compiler() -> list[str] | None:
    """Return the command of a C compiler: that of the environment's CC, or one that is there."""
    said = os.environ.get("CC", "")
    try:
        own = shlex.split(said)
    except ValueError as error:
        raise KernelError(
            f"the environment's CC: expected a command such as gcc -m64, got {said!r}: {error}"
        ) from None
    for command in [own] if own else [[one] for one in COMPILERS]:
        if shutil.which(command[0]):
            return command
    return None


def target() -> tuple[str, str] | None:
    """Return the folders of binaries for this machine in FMI 2 and FMI 3; None if not Linux."""
    machine = platform.machine()
    if platform.system() != "Linux":
        return None
    return ("linux64" if machine == "x86_64" else f"linux-{machine}", f"{machine}-linux")


def library(command: list[str], identifier: str, sources: Mapping[str, str]) -> bytes:
    """Return the shared library of C sources.

    Parameters
    ----------
    command : see `compiler`
    identifier : of the model: names of the functions in `EQUATIONS` begin with it
    sources : files by name, headers included

    Raises
    ------
    KernelError
        The compiler refuses them.
    """
    fused = platform.machine() == "x86_64"
    with tempfile.TemporaryDirectory() as folder:
        for name, text in sources.items():
            (Path(folder) / name).write_text(text, encoding="utf-8", newline="\n")
        objects = []
        for name in sources:
            if not name.endswith(".c"):
                continue
            more = ["-DMODEL_WITH_FMA"] if fused else []
            _run([*command, *FLAGS, *more, "-c", name, "-o", f"{name}.o"], folder)
            objects.append(f"{name}.o")
        if fused:
            own = [f"-D{identifier}_{one}={identifier}_{one}_fma" for one in NAMES]
            output = f"{EQUATIONS}.fma.o"
            _run([*command, *FLAGS, "-mfma", *own, "-c", EQUATIONS, "-o", output], folder)
            objects.append(output)
        _run([*command, *objects, *LINK, "-o", "model.so"], folder)
        return (Path(folder) / "model.so").read_bytes()


def _run(command: list[str], folder: str) -> None:
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if found.returncode:
        lines = found.stderr.strip().splitlines() or ["no message"]
        raise KernelError(
            f"the C compiler refuses the sources of the FMU: {lines[0]}; command: "
            f"{' '.join(command[:3])} ...; compile=False writes the sources only"
        )


INTERFACES = {2: ("fmi2.c",), 3: ("fmi3.c", "fmi3_unsupported.c")}
"""C files of each version of FMI, beside those that all have."""

COMMON = ("instance.c", "instance.h")

LONGEST_IDENTIFIER = 100
"""Characters of the name of a model in C; file systems take names of 255 bytes."""

WORD = {"input": "input", "tunable": "parameter", "fixed": "parameter", "state": "state"}
"""What kinds of variables are called in a summary; all others are outputs."""


@dataclass(frozen=True, eq=False)
class Fmu:
    """What was written.

    Attributes
    ----------
    path : of the file
    fmi : version, 2 or 3
    identifier : of the model, in C
    token : GUID, the same for the same contents
    step : s
    binary : folder of the binary in the archive, such as "x86_64-linux"; None: sources only
    variables : kind and variable, in the order of their value references
    """

    path: Path
    fmi: int
    identifier: str
    token: str
    step: float
    binary: str | None
    variables: tuple[tuple[Kind, Variable], ...]

    def names(self, kind: Kind) -> tuple[str, ...]:
        """Return the names of the variables of a kind."""
        return tuple(one.name for own, one in self.variables if own == kind)

    def __repr__(self) -> str:
        numbers = Counter(WORD.get(kind, "output") for kind, _ in self.variables if kind != "time")
        held = ", ".join(count(number, word) for word, number in numbers.items())
        binary = f"binary for {self.binary}" if self.binary else "sources only"
        return f"Fmu({self.path.name!r}: FMI {self.fmi}.0, {held}, {binary})"


@with_options
def export_fmu(
    machine: HasModel | Model | System,
    path: str | os.PathLike[str],
    *,
    fmi: int = 3,
    name: str | None = None,
    compile: bool = True,
    **options: Unpack[OwnStepOptions],
) -> Fmu:
    """Write an FMU for co-simulation: C sources, and a binary for Linux if there is a C compiler.

    Parameters
    ----------
    machine : a `System`, whose `Input`s become inputs; a mechanism gets an input
        ``torque.VELOCITY`` for each velocity of its joints
    path : of the file, .fmu
    fmi : version, 3 or 2
    name : of the model; None: that of the mechanism
    compile : whether to make the binary; its sources are always in the archive
    **options : the step, the state to start from, the integrator

    Notes
    -----
    A communication step takes as many steps as fit, and a shorter one. The importer may set another
    state to start from.

    Raises
    ------
    StateError
        The system calls Python (`Sampled`), or two variables have one name.
    KernelError
        The C compiler refuses the sources.
    """
    step = real_number("step", options["step"], "a time step in s", positive=True)
    compile, by = flag("compile", compile), (options["method"], options["coordinates"])
    scheme = compiled_scheme(options["integrator"], *by)
    if isinstance(scheme, Integrator) and scheme.remembers:
        raise StateError(
            f"integrator: an FMU cannot begin the memory of {scheme_name(scheme)} anew where an "
            f"importer changes inputs; take one without a memory, or a name such as 'rk4'"
        )
    fmi = whole_number("fmi", fmi)
    if fmi not in INTERFACES:
        raise StateError(f"fmi: expected 3 or 2, got {fmi}")
    if name is not None and not (isinstance(name, str) and name.isprintable()):
        raise StateError(f"name: expected a text that can be printed, got {name!r:.60}")
    path = file_path("path", path)
    check_place(path)
    system = machine if isinstance(machine, System) else None
    if system is None:
        torque = torque_inputs(model_of(machine))
        system = System(machine, torque=torque or None)
    title = name or system.model.name
    equations = Equations(system, **part(StateOptions, options))
    model = FmuModel(equations, title, _identifier(title), step, scheme)
    files, headers = _fixed_files(fmi)
    units = sorted(one for one in [*files, *model.sources("")] if one.endswith(".c"))
    token = _token([*files.values(), *model.sources("").values(), _description(model, fmi, units)])
    sources = files | model.sources(token)
    archive: dict[str, str | bytes] = {
        f"sources/{one}": text for one, text in (sources | headers).items()
    }
    archive["modelDescription.xml"] = _description(model, fmi, units, token)
    if fmi == 3:
        archive["sources/buildDescription.xml"] = build_description(model, units)
    binary = _binary(model, fmi, sources | headers) if compile else None
    if binary is not None:
        folder, content = binary
        archive[f"binaries/{folder}/{model.identifier}.so"] = content
    write_archive(path, archive)
    where = None if binary is None else binary[0]
    return Fmu(Path(path), fmi, model.identifier, token, step, where, model.variables)


def torque_inputs(model: Model, but: Container[str] = ()) -> dict[str, Input]:
    """Return an input ``torque.VELOCITY`` for each velocity of the joints, by velocity.

    Parameters
    ----------
    but : velocities that get none
    """
    names = [
        joint.name + suffix
        for joint in model.joints
        if joint.moving and joint.follows is None and joint.name != ROOT_JOINT
        for suffix in joint.type.velocities
    ]
    return {one: Input(f"torque.{one}") for one in names if one not in but}


def _identifier(title: str) -> str:
    """Return the name of a model in C and of its binary; a longer one ends with its digest."""
    name = identifier(title, ())
    if len(name) <= LONGEST_IDENTIFIER:
        return name
    digest = hashlib.sha256(title.encode()).hexdigest()[:16]
    return f"{name[: LONGEST_IDENTIFIER - len(digest) - 1]}_{digest}"


def _description(model: FmuModel, fmi: int, units: list[str], token: str = "") -> str:
    return model_description(model, fmi, token, units)


def _fixed_files(fmi: int) -> tuple[dict[str, str], dict[str, str]]:
    """Return the files that are the same for all machines, and the headers of FMI, by name."""
    folder = resources.files("mbd_bridge.applications.fmu") / "c"
    files = {one: (folder / one).read_text("utf-8") for one in (*COMMON, *INTERFACES[fmi])}
    headers = {
        one.name: one.read_text("utf-8")
        for one in (folder / "fmi").iterdir()
        if one.name.startswith(f"fmi{fmi}")
    }
    return files, headers


def _token(texts: list[str]) -> str:
    """Return a GUID of the contents: the same for the same machine and program."""
    digest = hashlib.sha256("\0".join(texts).encode()).digest()
    return f"{{{uuid.UUID(bytes=digest[:16], version=4)}}}"


def _binary(model: FmuModel, fmi: int, sources: dict[str, str]) -> tuple[str, bytes] | None:
    """Return the folder of the binary and its contents; warn if none can be made here."""
    folders, command = target(), compiler()
    if folders is None or command is None:
        what = "no C compiler (cc, gcc, clang)" if folders else "no Linux"
        warn(f"the FMU has sources only: there is {what} here")
        return None
    return folders[fmi - 2], library(command, model.identifier, sources)
