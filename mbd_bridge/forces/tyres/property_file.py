"""What a Magic Formula tyre takes from a ``.tir`` file: PAC2002 and MF-Tyre 5.

The version is read from PROPERTY_FILE_FORMAT and FITTYP. Other versions are refused by name, since
they use the same keys with other meanings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mbd_bridge.base.errors import StateError, some
from mbd_bridge.files.document import quote, unknown
from mbd_bridge.files.tir import TirFile
from mbd_bridge.forces.tyres.magic_formula import MagicFormula, TyreCoefficients

KNOWN = "read are PAC2002 and MF-Tyre 5 (FITTYP 5, 52 or 6)"

FORMATS = ("", "MF-TYRE", "MF_TYRE", "MF_05")
"""What PROPERTY_FILE_FORMAT is in files that give their version by FITTYP."""

OTHERS = {
    "21": "MF-MCTyre, for motorcycles",
    "60": "MF-Tyre 6.0",
    "61": "MF-Tyre 6.1",
    "62": "MF-Tyre 6.2",
    "70": "MF-Tyre 7",
}
"""Versions by FITTYP that are something else."""


def _keys(*lines: str) -> tuple[str, ...]:
    return tuple(" ".join(lines).split())


LONGITUDINAL = _keys("PCX1 PDX1 PDX2 PEX1 PEX2 PEX3 PEX4 PKX1 PKX2 PKX3 PHX1 PHX2 PVX1 PVX2")
LATERAL = _keys(
    "PCY1 PDY1 PDY2 PDY3 PEY1 PEY2 PEY3 PEY4 PKY1 PKY2 PKY3 PHY1 PHY2 PHY3 PVY1 PVY2 PVY3 PVY4",
    "QBZ1 QBZ2 QBZ3 QBZ4 QBZ5 QBZ9 QBZ10 QCZ1 QDZ1 QDZ2 QDZ3 QDZ4 QDZ6 QDZ7 QDZ8 QDZ9",
    "QEZ1 QEZ2 QEZ3 QEZ4 QEZ5 QHZ1 QHZ2 QHZ3 QHZ4",
)
COMBINED = _keys(
    "RBX1 RBX2 RCX1 RHX1 RBY1 RBY2 RBY3 RCY1 RHY1 RVY1 RVY2 RVY3 RVY4 RVY5 RVY6",
    "SSZ1 SSZ2 SSZ3 SSZ4",
)
RELAXATION = _keys("PTX1 PTX2 PTX3 PTY1 PTY2")
OPTIONAL = _keys(
    "PDX3 REX1 REX2 REY1 REY2 RHY2 QSX1 QSX2 QSX3 QSY1 QSY2 QSY3 QSY4",
    "PPX1 PPX2 PPX3 PPX4 PPY1 PPY2 PPY3 PPY4 QPZ1 QPZ2",
)
"""Coefficients that older files lack; then 0."""

SCALES = _keys(
    "LFZO LCX LMUX LEX LKX LHX LVX LGAX LCY LMUY LEY LKY LHY LVY LGAY LKYG LTR LRES LGAZ",
    "LXAL LYKA LVYKA LS LSGKP LSGAL LMX LVMX LMY LCZ LIP",
)
"""Scale factors; 1 where they are missing."""

SPELLINGS = {"LFZO": ("LFZO", "LFZ0"), "LKYG": ("LKYG", "LKG"), "LKY": ("LKY", "LKYA")}
"""Other names of scale factors in files."""

VERTICAL = ("QFZ1", "QFZ2")
RADIUS = ("BREFF", "DREFF", "FREFF")


@dataclass(frozen=True, eq=False)
class TyreLimits:
    """Ranges in which the formula is used; slips and loads beyond are held at their ends."""

    kappa: tuple[float, float]
    alpha: tuple[float, float]
    gamma: tuple[float, float]
    load: float


@dataclass(frozen=True, eq=False)
class MagicTyre:
    """A tyre of a file, in SI units.

    Attributes
    ----------
    formula : its Magic Formula
    stiffness : vertical, N/m: (k1,) or (k1, k2) of F = k1 δ + k2 δ²
    damping : vertical, N s/m
    rolling : BREFF, DREFF, FREFF of the effective rolling radius, or None
    low_speed : VXLOW, m/s
    limits : ranges
    use_mode : USE_MODE of the file, or 4
    side : "left" or "right", on which it was measured
    """

    formula: MagicFormula
    stiffness: tuple[float, ...]
    damping: float
    rolling: tuple[float, float, float] | None
    low_speed: float
    limits: TyreLimits
    use_mode: int
    side: str


def magic_tyre(
    file: TirFile, use_mode: int | None = None, changes: Mapping[str, float] | None = None
) -> MagicTyre:
    """Return the tyre of a file.

    Parameters
    ----------
    use_mode : instead of the file's
    changes : coefficients and scale factors instead of the file's

    Raises
    ------
    FileError
        Another version, missing keys, or numbers that no tyre has.
    """
    _check_version(file)
    mode = _use_mode(file) if use_mode is None else use_mode
    known = [*LONGITUDINAL, *LATERAL, *COMBINED, *RELAXATION, *OPTIONAL, *SCALES]
    for name in changes or {}:
        if name not in known:
            raise StateError(unknown("coefficient of the Magic Formula", name, known))
    needed = [name for name in _needed(mode) if name not in (changes or {})]
    missing = [name for name in needed if file.find(name) is None]
    basic = ("UNLOADED_RADIUS", "FNOMIN", "VERTICAL_STIFFNESS", "LONGVL")
    missing += [
        name
        for name in basic
        if file.find(name) is None and not (name == "VERTICAL_STIFFNESS" and file.find("QFZ1"))
    ]
    if missing:
        raise file.error(
            f"{len(missing)} keys are missing for USE_MODE {mode}: {some(missing, 12)}"
        )
    values = {name: file.number(name, 0.0) for name in known if name not in SCALES}
    for name in SCALES:
        for spelling in reversed(SPELLINGS.get(name, (name,))):
            values[name] = file.number(spelling, values.get(name, 1.0))
    values |= changes or {}
    values["LONGVL"] = _positive(file, "LONGVL", LENGTH=1, TIME=-1)
    radius = _positive(file, "UNLOADED_RADIUS", LENGTH=1)
    nominal = _positive(file, "FNOMIN", FORCE=1) * values["LFZO"]
    for name in ("LFZO", "LCZ", "PCX1", "PDX1", "PKX1", "PCY1", "PDY1", "PKY2", "PTY2"):
        if not values[name] > 0.0 and name in (*needed, "LFZO", "LCZ"):
            raise file.error(f"expected a number above 0, got {values[name]:g}", name)
    return MagicTyre(
        formula=MagicFormula(
            TyreCoefficients(values), radius, nominal, _pressure(file, values["LIP"])
        ),
        stiffness=_stiffness(file, radius, nominal / values["LFZO"], values["LCZ"]),
        damping=_least(file, "VERTICAL_DAMPING", 0.0, FORCE=1, TIME=1, LENGTH=-1),
        rolling=_rolling(file),
        low_speed=_positive(file, "VXLOW", 1.0, LENGTH=1, TIME=-1),
        limits=TyreLimits(
            _range(file, "KPUMIN", "KPUMAX", 1.5),
            _range(file, "ALPMIN", "ALPMAX", 0.5 * np.pi, ANGLE=1),
            _range(file, "CAMMIN", "CAMMAX", 0.5 * np.pi, ANGLE=1),
            _positive(file, "FZMAX", np.inf, FORCE=1),
        ),
        use_mode=mode,
        side=_side(file),
    )


def _check_version(file: TirFile) -> None:
    form, fit = file.text("PROPERTY_FILE_FORMAT").upper(), file.text("FITTYP")
    version = fit.split(".", 1)[0]
    if form == "PAC2002" or (form in FORMATS and version in ("5", "52", "6")):
        return
    if version in OTHERS:
        what = f"FITTYP = {version}, {OTHERS[version]}"
    elif form:
        what = f"PROPERTY_FILE_FORMAT = {quote(form)}" + (f", FITTYP = {quote(fit)}" if fit else "")
    else:
        what = f"FITTYP = {quote(fit)}" if fit else "neither PROPERTY_FILE_FORMAT nor FITTYP"
    raise file.error(f"this tyre model is not known: {what}; {KNOWN}")


def _use_mode(file: TirFile) -> int:
    number = file.number("USE_MODE", 4.0)
    mode = int(number)
    if mode != number or abs(mode) not in (0, 1, 2, 3, 4, 10, 11, 12, 13, 14):
        raise file.error(
            f"expected 0 to 4, and 10 more with relaxation, got {number:g}; or give use_mode=",
            "USE_MODE",
        )
    return mode


def _needed(mode: int) -> list[str]:
    """Return the keys that a mode needs."""
    kind = abs(mode) % 10
    names = [*LONGITUDINAL] if kind in (1, 3, 4) else []
    names += LATERAL if kind in (2, 3, 4) else ()
    names += COMBINED if kind == 4 else ()
    names += RELAXATION if abs(mode) >= 10 else ()
    return names


def _positive(file: TirFile, key: str, default: float | None = None, **powers: int) -> float:
    number = file.number(key, default, **powers)
    if not number > 0.0:
        raise file.error(f"expected a number above 0, got {number:g}", key)
    return number


def _least(file: TirFile, key: str, default: float, **powers: int) -> float:
    number = file.number(key, default, **powers)
    if number < 0.0:
        raise file.error(f"expected a number, at least 0, got {number:g}", key)
    return number


def _range(file: TirFile, low: str, high: str, most: float, **powers: int) -> tuple[float, float]:
    least, greatest = file.number(low, -most, **powers), file.number(high, most, **powers)
    if not least < 0.0 < greatest:
        raise file.error(f"expected {low} < 0 < {high}, got {least:g} and {greatest:g}", high)
    return max(least, -most), min(greatest, most)


def _pressure(file: TirFile, scale: float) -> float:
    """Return dp_i; 0 where the file has no pressures."""
    if file.find("IP") is None or file.find("IP_NOM") is None:
        return 0.0
    nominal = _positive(file, "IP_NOM", PRESSURE=1)
    return _positive(file, "IP", PRESSURE=1) * scale / nominal - 1.0


def _stiffness(file: TirFile, radius: float, nominal: float, scale: float) -> tuple[float, ...]:
    """Return k1, and k2 of PAC2002 files with QFZ1."""
    if file.find("QFZ1") is not None and file.number("QFZ1") > 0.0:
        if file.number("QFZ3", 0.0):
            raise file.error("camber in the vertical force is not known: expected 0", "QFZ3")
        first, second = (file.number(key, 0.0) for key in VERTICAL)
        return scale * first * nominal / radius, scale * second * nominal / radius**2
    return (scale * _positive(file, "VERTICAL_STIFFNESS", FORCE=1, LENGTH=-1),)


def _rolling(file: TirFile) -> tuple[float, float, float] | None:
    found = [key for key in RADIUS if file.find(key) is not None]
    if not found:
        return None
    if len(found) < len(RADIUS):
        missing = " and ".join(key for key in RADIUS if key not in found)
        raise file.error(f"{missing} missing: expected all of {', '.join(RADIUS)} or none")
    low, peak, high = (file.number(key) for key in RADIUS)
    return low, peak, high


def _side(file: TirFile) -> str:
    side = file.text("TYRESIDE", "left").lower()
    if side in ("left", "right"):
        return side
    if side in ("symmetric", "unknown", ""):
        return "left"
    raise file.error(f"expected LEFT or RIGHT, got {quote(side)}", "TYRESIDE")
