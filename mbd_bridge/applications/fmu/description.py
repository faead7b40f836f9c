"""The XML files of an FMU: modelDescription.xml of FMI 2.0 and 3.0, buildDescription.xml.

Units as FMI describes them: powers of base units.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from mbd_bridge.applications.fmu.model import FmuModel, Kind
from mbd_bridge.simulation.variables import Variable

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
