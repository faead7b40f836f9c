"""The XML files of an FMU: modelDescription.xml of FMI 2.0 and 3.0, buildDescription.xml."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from mbd_bridge.fmu.model import FmuModel, Kind
from mbd_bridge.fmu.units import DISPLAY, Unit, fmi_unit
from mbd_bridge.simulate.variables import Variable

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


def _units(parent: Element, units: dict[str, Unit | None]) -> None:
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
