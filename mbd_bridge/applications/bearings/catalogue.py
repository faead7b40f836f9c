"""A bearing as its catalogue gives it: load ratings, and the factors of equivalent loads.

    P = F_r                  where F_a / F_r <= e          (ISO 281)
    P = X F_r + Y F_a        beyond
    P_0 = max(F_r, X_0 F_r + Y_0 F_a)                      (ISO 76)

Factors of single-row bearings: of deep groove ball bearings e and Y follow from f_0 F_a / C_0, of
angular contact ball bearings from the contact angle, of tapered roller bearings
e = 1.5 tan α, Y = 0.4 cot α. Factors that are given replace them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import StateError, one_of, real_number

Kind = Literal["deep groove", "angular contact", "cylindrical roller", "tapered roller", "factors"]

BALL, ROLLER = 3.0, 10.0 / 3.0
"""Exponents of the life equation (ISO 281)."""

DEEP_GROOVE_X = 0.56
DEEP_GROOVE = np.array(
    [
        (0.172, 0.19, 2.30),
        (0.345, 0.22, 1.99),
        (0.689, 0.26, 1.71),
        (1.03, 0.28, 1.55),
        (1.38, 0.30, 1.45),
        (2.07, 0.34, 1.31),
        (3.45, 0.38, 1.15),
        (5.17, 0.42, 1.04),
        (6.89, 0.44, 1.00),
    ]
)
"""f_0 F_a / C_0, e and Y, normal clearance (ISO 281, Table 3); straight lines between."""

ANGULAR_CONTACT = np.array(
    [
        (20.0, 0.57, 0.43, 1.00, 0.42),
        (25.0, 0.68, 0.41, 0.87, 0.38),
        (30.0, 0.80, 0.39, 0.76, 0.33),
        (35.0, 0.95, 0.37, 0.66, 0.29),
        (40.0, 1.14, 0.35, 0.57, 0.26),
        (45.0, 1.34, 0.33, 0.50, 0.22),
    ]
)
"""Contact angle in degrees, e, X, Y (ISO 281, Table 3) and Y_0 (ISO 76); straight lines between."""

STATIC = {"deep groove": (0.6, 0.5), "angular contact": (0.5, 0.0), "tapered roller": (0.5, 0.0)}
"""X_0, and Y_0 where it does not depend on the angle."""

RELIABILITY = {90: 1.0, 95: 0.64, 96: 0.55, 97: 0.47, 98: 0.37, 99: 0.25}
"""a_1 by reliability in percent (ISO 281:2007, Table 12)."""


ABOVE_ZERO = ("C", "C0", "angle", "f0", "exponent")
NUMBERS = (*ABOVE_ZERO, "X", "Y", "e", "X0", "Y0")
"""Numbers of a bearing."""

AXIAL = 1e-9
"""Axial force by the largest radial one that is rounding."""


@dataclass(frozen=True)
class Bearing:
    """A rolling bearing.

    Parameters
    ----------
    C, C0 : dynamic and static load rating, N; C0 None: no static safety (a deep groove bearing
        that carries axial load needs it)
    kind : "deep groove", "angular contact", "cylindrical roller" (radial only), "tapered roller",
        or "factors": X, Y and e are given
    angle : contact angle, degrees
    f0 : of a deep groove bearing, in catalogues 12 to 16
    X, Y, e, X0, Y0 : factors that replace those of the kind
    exponent : of the life equation; None: 3 for balls, 10/3 for rollers
    position : of the bearing on the joint's axis, m from the joint's origin
    """

    C: float
    C0: float | None = None
    kind: Kind = "deep groove"
    angle: float | None = None
    f0: float = 14.0
    X: float | None = None
    Y: float | None = None
    e: float | None = None
    X0: float | None = None
    Y0: float | None = None
    exponent: float | None = None
    position: float = 0.0

    def checked(self, where: str) -> Bearing:
        """Return the bearing with its numbers checked; `where` names it in messages."""
        kind = one_of(f"{where}: kind", self.kind, get_args(Kind), StateError)
        numbers: dict[str, Any] = {}
        for name in NUMBERS:
            value = getattr(self, name)
            above = name in ABOVE_ZERO
            said = f"one number{' above 0' if above else ', at least 0'}"
            if value is None and name != "C":
                continue
            number = real_number(f"{where}: {name}", value, said, positive=above)
            if number < 0.0:
                raise StateError(f"{where}: {name}: expected {said}, got {value!r:.60}")
            numbers[name] = number
        numbers["position"] = real_number(f"{where}: position", self.position, "one number, m")
        one = replace(self, kind=kind, **numbers)
        if kind in ("angular contact", "tapered roller"):
            low, high = (20.0, 45.0) if kind == "angular contact" else (0.0, 60.0)
            given = None not in (one.X, one.Y, one.e)
            if not given and (one.angle is None or not low <= one.angle <= high):
                raise StateError(
                    f"{where}: angle: expected the contact angle, {low:g} to {high:g} degrees, or "
                    f"X, Y and e; got {self.angle!r}"
                )
        if kind == "factors" and None in (one.X, one.Y, one.e):
            raise StateError(f"{where}: kind 'factors' needs X, Y and e from the catalogue")
        return one

    @property
    def p(self) -> float:
        """Exponent of the life equation."""
        if self.exponent is not None:
            return self.exponent
        return ROLLER if self.kind.endswith("roller") else BALL

    def equivalent(self, radial: Floats, axial: Floats) -> Floats:
        """Return P (N,) N of radial and axial forces (N,), by their sizes."""
        fr, fa = np.abs(radial), np.abs(axial)
        if not np.any(fa > AXIAL * fr.max(initial=0.0)):
            return np.asarray(fr)
        if self.kind == "cylindrical roller" and self.e is None:
            raise StateError(
                f"a cylindrical roller bearing carries radial load only, and here an axial load of "
                f"up to {fa.max():.4g} N; locate another bearing, or give X, Y and e"
            )
        e, x, y = self._factors(fa)
        return np.asarray(np.where(fa <= e * fr, fr, x * fr + y * fa))

    def static(self, radial: Floats, axial: Floats) -> Floats:
        """Return P_0 (N,) N."""
        fr, fa = np.abs(radial), np.abs(axial)
        x0, y0 = STATIC.get(self.kind, (1.0, 0.0))
        if self.kind == "angular contact" and self.angle is not None:
            y0 = float(np.interp(self.angle, ANGULAR_CONTACT[:, 0], ANGULAR_CONTACT[:, 4]))
        elif self.kind == "tapered roller" and self.angle is not None:
            y0 = 0.22 / np.tan(np.radians(self.angle))
        x0 = x0 if self.X0 is None else self.X0
        y0 = y0 if self.Y0 is None else self.Y0
        return np.asarray(np.maximum(fr, x0 * fr + y0 * fa))

    def _factors(self, fa: Floats) -> tuple[Floats | float, Floats | float, Floats | float]:
        e: Floats | float = 0.0
        x, y = e, e
        if None in (self.X, self.Y, self.e):
            e, x, y = self._of_kind(fa)
        return (
            e if self.e is None else self.e,
            x if self.X is None else self.X,
            y if self.Y is None else self.Y,
        )

    def _of_kind(self, fa: Floats) -> tuple[Floats | float, Floats | float, Floats | float]:
        if self.kind == "deep groove":
            if self.C0 is None:
                raise StateError(
                    "a deep groove bearing with axial load needs C0, its static rating"
                )
            share = self.f0 * fa / self.C0
            e = np.interp(share, DEEP_GROOVE[:, 0], DEEP_GROOVE[:, 1])
            return e, DEEP_GROOVE_X, np.interp(share, DEEP_GROOVE[:, 0], DEEP_GROOVE[:, 2])
        assert self.angle is not None, "it is checked"
        if self.kind == "angular contact":
            e, x, y = (
                float(np.interp(self.angle, ANGULAR_CONTACT[:, 0], ANGULAR_CONTACT[:, k]))
                for k in (1, 2, 3)
            )
            return e, x, y
        tangent = np.tan(np.radians(self.angle))
        return 1.5 * tangent, 0.4, 0.4 / tangent
