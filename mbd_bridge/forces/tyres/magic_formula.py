"""The Magic Formula of MF-Tyre 5.2 and PAC2002, after Pacejka, Tyre and Vehicle Dynamics.

    y = D sin(C arctan(B x - E (B x - arctan B x))) + S_V,   x = X + S_H        forces
    y = D cos(C arctan(B x - E (B x - arctan B x)))                             trail, weights

X is κ or α. Names are the book's (2nd edition, section 4.3.2); λ are the scale factors L... and
ζ = 1: no turn slip. Signs are those of ISO W-axes: x forward, y left, z up, F_y = K_y α, K_y < 0.

    df_z = (F_z - F_z0)/F_z0,   F_z0 = FNOMIN λ_Fz0,   dp_i = (IP λ_IP - IP_NOM)/IP_NOM

dp_i acts in PAC2002 files that have its coefficients. Stiffnesses are taken over the load where
they divide by it, so that nothing is divided by no load but in K_y, whose load is kept above 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.base.errors import StateError, some
from mbd_bridge.files.document import quote, unknown
from mbd_bridge.files.tir import TirFile
from mbd_bridge.functions import absolute, arctan, cos, exp, minimum, sign, sin, sqrt

LEAST_LOAD = 1e-6
"""By F_z0: load that divides, at least."""

TINY = 1e-24
"""Least square of an equivalent slip, whose root has a derivative."""


class TyreCoefficients:
    """Coefficients as attributes, by the names of the file in capitals.

    Parameters
    ----------
    values : by name; scale factors that are missing are 1, other coefficients 0
    """

    def __init__(self, values: Mapping[str, float]) -> None:
        self._values = dict(values)

    def __getattr__(self, name: str) -> float:
        if not name.isupper():
            raise AttributeError(name)
        return self._values.get(name, 1.0 if name.startswith("L") else 0.0)


class TyreSlip(NamedTuple):
    """κ, α (rad), γ (rad), F_z (N) above 0, and V (m/s) for rolling resistance."""

    kappa: Any
    alpha: Any
    gamma: Any
    load: Any


class Forces(NamedTuple):
    """F_x, F_y (N), M_x, M_z (N m) of a tyre."""

    x: Any
    y: Any
    overturning: Any
    aligning: Any


@dataclass(frozen=True, eq=False)
class MagicFormula:
    """The formula with the coefficients of one tyre.

    Attributes
    ----------
    c : coefficients and scale factors
    radius : R0, m
    nominal : F_z0 = FNOMIN λ_Fz0, N
    pressure : dp_i
    """

    c: TyreCoefficients
    radius: float
    nominal: float
    pressure: float = 0.0

    def forces(self, slip: TyreSlip, *, along: bool, across: bool, combined: bool) -> Forces:
        """Return forces and moments.

        Parameters
        ----------
        along, across : F_x; F_y, M_x and M_z
        combined : each slip weakens the other's force
        """
        c = self.c
        df = slip.load * (1.0 / self.nominal) - 1.0
        long = self._longitudinal(slip, df) if along else None
        x: Any = 0.0 if long is None else long.force
        if long is not None and combined:
            x = x * self._weight_x(slip, df)
        if not across:
            return Forces(x, 0.0, 0.0, 0.0)
        side = self._lateral(slip, df)
        y, induced = side.force, 0.0
        if combined:
            weight, induced = self._weight_y(slip, df, side.friction)
            y = y * weight + induced
        ratio = 0.0 if long is None or not combined else long.stiffness / side.stiffness
        aligning = self._aligning(slip, df, side, y - induced, ratio)
        if combined:
            share = y * (1.0 / self.nominal)
            arm = c.SSZ1 + c.SSZ2 * share + (c.SSZ3 + c.SSZ4 * df) * slip.gamma
            aligning = aligning + (self.radius * c.LS) * arm * x
        tilt = c.QSX1 * c.LVMX + c.LMX * (c.QSX3 / self.nominal * y - c.QSX2 * slip.gamma)
        return Forces(x, y, self.radius * slip.load * tilt, aligning)

    def _longitudinal(self, slip: TyreSlip, df: Any) -> _Pure:
        """Return F_x0 (4.E9 to 4.E18)."""
        c, dp, gamma = self.c, self.pressure, slip.gamma * self.c.LGAX
        C = c.PCX1 * c.LCX
        friction = (c.PDX1 + c.PDX2 * df) * (1.0 - c.PDX3 * (gamma * gamma)) * c.LMUX
        friction = friction * (1.0 + c.PPX3 * dp + c.PPX4 * dp**2)
        x = slip.kappa + (c.PHX1 + c.PHX2 * df) * c.LHX
        E = (c.PEX1 + c.PEX2 * df + c.PEX3 * (df * df)) * (1.0 - c.PEX4 * sign(x)) * c.LEX
        stiffness = (c.PKX1 + c.PKX2 * df) * exp(c.PKX3 * df) * c.LKX
        stiffness = stiffness * (1.0 + c.PPX1 * dp + c.PPX2 * dp**2)
        shift = (c.PVX1 + c.PVX2 * df) * (c.LVX * c.LMUX)
        part = friction * sin(_angle(stiffness / (C * friction) * x, C, minimum(E, 1.0)))
        force = slip.load * (part + shift)
        return _Pure(force, friction, slip.load * stiffness)

    def _lateral(self, slip: TyreSlip, df: Any) -> _Pure:
        """Return F_y0 (4.E19 to 4.E30)."""
        c, dp, gamma = self.c, self.pressure, slip.gamma * self.c.LGAY
        C = c.PCY1 * c.LCY
        friction = (c.PDY1 + c.PDY2 * df) * (1.0 - c.PDY3 * (gamma * gamma)) * c.LMUY
        friction = friction * (1.0 + c.PPY3 * dp + c.PPY4 * dp**2)
        top = c.PKY1 * (1.0 + c.PPY1 * dp) * self.nominal * c.LKY
        at = 1.0 / (c.PKY2 * (1.0 + c.PPY2 * dp) * self.nominal)
        stiffness = top * sin(2.0 * arctan(at * slip.load)) * (1.0 - c.PKY3 * absolute(gamma))
        offset = (c.PHY1 + c.PHY2 * df) * c.LHY + c.PHY3 * c.LKYG * gamma
        x = slip.alpha + offset
        E = (c.PEY1 + c.PEY2 * df) * (1.0 - (c.PEY3 + c.PEY4 * gamma) * sign(x)) * c.LEY
        shift = (c.PVY1 + c.PVY2 * df) * c.LVY + (c.PVY3 + c.PVY4 * df) * c.LKYG * gamma
        shift = shift * c.LMUY
        slope = stiffness / (C * friction * slip.load)
        part = friction * sin(_angle(slope * x, C, minimum(E, 1.0)))
        offset = offset + slip.load * shift / stiffness  # S_Hf, for the residual moment
        return _Pure(slip.load * (part + shift), friction, stiffness, offset, slope * C)

    def _weight_x(self, slip: TyreSlip, df: Any) -> Any:
        """Return G_xα (4.E50 to 4.E57)."""
        c = self.c
        B = c.RBX1 * c.LXAL / sqrt(1.0 + (c.RBX2 * slip.kappa) * (c.RBX2 * slip.kappa))
        E = minimum(c.REX1 + c.REX2 * df, 1.0)
        return _weight(B, c.RCX1, E, slip.alpha, c.RHX1)

    def _weight_y(self, slip: TyreSlip, df: Any, friction: Any) -> tuple[Any, Any]:
        """Return G_yκ and S_Vyκ, N (4.E58 to 4.E67)."""
        c = self.c
        side = c.RBY2 * (slip.alpha - c.RBY3)
        B = c.RBY1 * c.LYKA / sqrt(1.0 + side * side)
        E = minimum(c.REY1 + c.REY2 * df, 1.0)
        weight = _weight(B, c.RCY1, E, slip.kappa, c.RHY1 + c.RHY2 * df)
        side = c.RVY4 * slip.alpha
        D = friction * slip.load * (c.RVY1 + c.RVY2 * df + c.RVY3 * slip.gamma)
        D = D / sqrt(1.0 + side * side)
        return weight, D * sin(c.RVY5 * arctan(c.RVY6 * slip.kappa)) * c.LVYKA

    def _aligning(self, slip: TyreSlip, df: Any, side: _Pure, force: Any, ratio: Any) -> Any:
        """Return -t F_y + M_zr (4.E31 to 4.E49, combined 4.E71 to 4.E78).

        Parameters
        ----------
        force : F_y without what κ induces, N
        ratio : K_x/K_y of combined slip, 0 of pure slip
        """
        c, dp, gamma = self.c, self.pressure, slip.gamma * self.c.LGAZ
        ply = c.QHZ1 + c.QHZ2 * df + (c.QHZ3 + c.QHZ4 * df) * gamma
        driven = ratio * slip.kappa
        at_trail = _equivalent(slip.alpha + ply, driven)
        at_rest = _equivalent(slip.alpha + side.offset, driven)
        C, scale = c.QCZ1, c.LKY / c.LMUY
        B = (c.QBZ1 + c.QBZ2 * df + c.QBZ3 * (df * df)) * scale
        B = B * (1.0 + c.QBZ4 * gamma + c.QBZ5 * absolute(gamma))
        D = (c.QDZ1 + c.QDZ2 * df) * (1.0 + c.QDZ3 * gamma + c.QDZ4 * (gamma * gamma))
        D = D * (slip.load * (self.radius / self.nominal * c.LTR * (1.0 - c.QPZ1 * dp)))
        E = (c.QEZ1 + c.QEZ2 * df + c.QEZ3 * (df * df)) * (
            1.0 + (c.QEZ4 + c.QEZ5 * gamma) * (2.0 / np.pi) * arctan(B * C * (slip.alpha + ply))
        )
        straight = cos(slip.alpha)
        trail = D * cos(_angle(B * at_trail, C, minimum(E, 1.0))) * straight
        B = c.QBZ9 * scale + c.QBZ10 * side.slope
        D = (c.QDZ6 + c.QDZ7 * df) * c.LRES + (c.QDZ8 + c.QDZ9 * df) * (1.0 + c.QPZ2 * dp) * gamma
        residual = (self.radius * c.LMUY) * slip.load * D * straight
        residual = residual / sqrt(1.0 + (B * at_rest) * (B * at_rest))
        return residual - trail * force

    def rolling_moment(self, x: Any, load: Any, speed: Any) -> Any:
        """Return the moment of rolling resistance against the spin at speed V > 0, N m (4.E70)."""
        c = self.c
        way = speed * (1.0 / c.LONGVL)
        part = c.QSY1 + c.QSY2 / self.nominal * x + c.QSY3 * way + c.QSY4 * (way**2) ** 2
        return (self.radius * c.LMY) * load * part

    def relaxation(self, load: Any, gamma: Any) -> tuple[Any, Any]:
        """Return the lengths σ_κ and σ_α of a tyre under a load, m (A3.11, A3.12)."""
        c = self.c
        df = load * (1.0 / self.nominal) - 1.0
        part = (c.PTX1 + c.PTX2 * df) * exp(c.PTX3 * df)
        along = load * part * (self.radius / self.nominal * c.LSGKP)
        across = sin(2.0 * arctan(load * (1.0 / (c.PTY2 * self.nominal))))
        across = across * (1.0 - c.PKY3 * absolute(gamma))
        return along, across * (c.PTY1 * self.radius * c.LFZO * c.LSGAL)


class _Pure(NamedTuple):
    """Force of pure slip, N, μ, K, and of the side force S_Hf and B C."""

    force: Any
    friction: Any
    stiffness: Any
    offset: Any = 0.0
    slope: Any = 0.0


def _angle(x: Any, C: Any, E: Any) -> Any:
    """Return C arctan(x - E (x - arctan x))."""
    return C * arctan(x - E * (x - arctan(x)))


def _weight(B: Any, C: Any, E: Any, x: Any, shift: Any) -> Any:
    """Return cos(... B (x + S)) / cos(... B S), 1 at x = 0."""
    return cos(_angle(B * (x + shift), C, E)) / cos(_angle(B * shift, C, E))


def _equivalent(alpha: Any, driven: Any) -> Any:
    """Return arctan √(tan² α + driven²) with the sign of α."""
    if type(driven) is float and driven == 0.0:
        return alpha
    tangent = sin(alpha) / cos(alpha)
    return arctan(sqrt(tangent * tangent + driven * driven + TINY)) * sign(alpha)


# What a Magic Formula tyre takes from a ``.tir`` file: PAC2002 and MF-Tyre 5.
#
# The version is read from PROPERTY_FILE_FORMAT and FITTYP. Other versions are refused by name,
# since they use the same keys with other meanings.

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
