"""A tyre of a ``.tir`` file: Pacejka's Magic Formula, PAC2002 or MF-Tyre 5 (`magic_formula`).

    Φ = max(k1 δ + k2 δ² + c δ̇, 0),   F_z = Φ |N|
    κ and tan α at the effective rolling radius R_e:
    R_e = R0 - ρ_0 (D arctan(B δ/ρ_0) + F δ/ρ_0),   ρ_0 = F_z0/k     B, D, F of the file: ...REFF
    s_x = ẋ - R_e Ω instead of the velocity at the contact point

Slips, camber and load are held in the file's ranges. As in other programs F_x acts at the contact
point, whose distance from the axle is R_l = R0 - δ, not R_e: D has the part F_x (R_l - R_e) Ω. And
ply steer makes forces without slip. So D may be slightly negative; the energy balance holds.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, Self, final

from mbd_bridge.base.errors import StateError, one_of, whole_number
from mbd_bridge.files.tir import TirFile, read_tir
from mbd_bridge.forces.base import NO_STATES, Bodies, Effect, Units
from mbd_bridge.forces.tyres.contact import STATES, Contact, slip_speed, slips
from mbd_bridge.forces.tyres.magic_formula import LEAST_LOAD, MagicTyre, TyreSlip, magic_tyre
from mbd_bridge.forces.tyres.tyre import UNITS, SlipForce, Tyre, spring_damper, tyre_effect
from mbd_bridge.functions import arcsin, arctan, clip, maximum, minimum
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array

SHORTEST = 0.1
"""By R0: relaxation lengths are no shorter. They tend to 0 with the load, and their rates V/σ would
need ever shorter steps; 1,000/s at 30 m/s with this."""


@final
@dataclass(frozen=True, eq=False)
class PacejkaTyre(Tyre):
    """A tyre with the Magic Formula of a tyre property file.

    Parameters
    ----------
    file : path of the ``.tir`` file, or what `formats.tir.read_tir` returns
    use_mode : instead of the file's USE_MODE: 0 vertical force only, 1 F_x and M_y, 2 F_y, M_x and
        M_z, 3 both, 4 both with combined slip; 10 more with relaxation; negative: mirrored
    side : "left" or "right", where it is mounted; on the other side than the file's TYRESIDE it is
        mirrored
    coefficients : instead of the file's, such as ``{"LMUX": 0.5, "LMUY": 0.5}`` for a wet road
    """

    file: str | os.PathLike[str] | TirFile
    use_mode: int | None = None
    side: Literal["left", "right"] | None = None
    coefficients: Mapping[str, float] | None = None

    def bind(self, model: Model) -> Self:
        """Return the element checked, with the content of its file."""
        mode = self.use_mode
        if mode is not None:
            whole_number(f"{self.label}: use_mode", abs(mode) if type(mode) is int else mode, 0)
            if abs(mode) not in (0, 1, 2, 3, 4, 10, 11, 12, 13, 14):
                raise StateError(
                    f"{self.label}: use_mode: expected 0 to 4, and 10 more with relaxation, got "
                    f"{mode}"
                )
        if self.side is not None:
            one_of(f"{self.label}: side", self.side, ("left", "right"), StateError)
        changes = dict(self.coefficients or {})
        changes = {str(k): self.number(f"coefficients[{k!r}]", x, "") for k, x in changes.items()}
        file = self.file if isinstance(self.file, TirFile) else read_tir(self.file)
        bound = replace(self.checked(model), file=file, coefficients=changes or None)
        return bound if bound.tyre else self  # `tyre` says what is wrong with the file

    @property
    def tyre(self) -> MagicTyre:
        """The tyre of the file."""
        if not isinstance(self.file, TirFile):
            raise StateError(f"{self.label}: bind(model) it first")
        return _tyre(self.file, self.use_mode, tuple((self.coefficients or {}).items()))

    def states(self, model: Model) -> Units:
        """Return the carcass's deflections, if the mode has relaxation."""
        return dict(STATES) if abs(self.tyre.use_mode) >= 10 else {}

    def units(self, model: Model) -> Units:
        """Return the units of the report."""
        return UNITS | {"overturning_moment": "N m", "rolling_moment": "N m"}

    @property
    def rolling_radius(self) -> float:
        """R0 of the file."""
        return self.tyre.formula.radius

    def effect(self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES) -> Effect:
        """Return the wrench on the wheel, the report, and the rates of the deflections."""
        tyre = self.tyre
        formula = tyre.formula
        touch = self.contact(model, t, Bodies(model, q, v), formula.radius)
        spring = spring_damper(touch, tyre.stiffness, tyre.damping)
        load = spring.push * touch.length
        least = LEAST_LOAD * formula.nominal
        used = clip(load, least, tyre.limits.load)  # by the formula
        mirror = -1.0 if self._is_mirrored(tyre) else 1.0
        gamma = mirror * clip(arcsin(touch.sin_camber), *tyre.limits.gamma)
        lengths = None
        if abs(tyre.use_mode) >= 10:
            shortest = SHORTEST * formula.radius
            along, across = formula.relaxation(used, gamma)
            lengths = maximum(along, shortest), maximum(across, shortest)
        slipping = slips(
            self._at_rolling_radius(touch, tyre, maximum(touch.deflection, 0.0)),
            tyre.low_speed,
            z,
            lengths,
        )
        kappa = clip(slipping.kappa, *tyre.limits.kappa)
        alpha = mirror * clip(arctan(slipping.tan_alpha), *tyre.limits.alpha)
        kind = abs(tyre.use_mode) % 10
        forces = formula.forces(
            TyreSlip(kappa, alpha, gamma, used),
            along=kind in (1, 3, 4),
            across=kind in (2, 3, 4),
            combined=kind == 4,
        )
        share = minimum(load, used) / used  # 0 above the road, where the formula has a least load
        rolling: Any = 0.0
        if kind in (1, 3, 4):
            speed = formula.radius * touch.spin
            over = slip_speed(speed, tyre.low_speed)
            rolling = -(share * formula.rolling_moment(forces.x, used, over)) * speed / over
        slip = SlipForce(
            share * forces.x,
            mirror * share * forces.y,
            mirror * share * forces.aligning,
            rolling,
            mirror * share * forces.overturning,
        )
        return tyre_effect(touch, spring, slip, slipping[:2], rates=slipping.rates)

    def _is_mirrored(self, tyre: MagicTyre) -> bool:
        other = self.side is not None and self.side != tyre.side
        return other != (tyre.use_mode < 0)

    @staticmethod
    def _at_rolling_radius(touch: Contact, tyre: MagicTyre, pressed: Any) -> Contact:
        """Return the contact with the longitudinal slip of the effective rolling radius."""
        if tyre.rolling is None:
            return touch
        low, peak, high = tyre.rolling
        at_nominal = tyre.formula.nominal / tyre.stiffness[0]
        part = pressed * (1.0 / at_nominal)
        radius = tyre.formula.radius - at_nominal * (peak * arctan(low * part) + high * part)
        loaded = tyre.formula.radius - pressed
        return touch._replace(slip_x=touch.slip_x + (loaded - radius) * touch.spin)


@lru_cache(maxsize=64)
def _tyre(file: TirFile, mode: int | None, changes: tuple[tuple[str, float], ...]) -> MagicTyre:
    return magic_tyre(file, mode, dict(changes))
