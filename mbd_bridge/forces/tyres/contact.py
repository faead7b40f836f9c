"""Where a wheel touches a road, and how it moves there.

A wheel is a disc of radius R about an axis a (unit, to the left of its way). In its plane u is
steepest up; f is level and forward, l to the left of it. Everything is in components along f, l
and ẑ, in which a = (0, ρ, a_z), ρ = √(1 - a_z²):

    u = (ẑ - a_z a)/ρ,  f = a × u,  l = ẑ × f
    C = c - R u = c + (0, R a_z, -R ρ)            lowest point of the disc around its centre c
    δ = road(C) - C_z                             deflection, measured vertically
    N = (-σ_f, -σ_l, 1),   n = N/|N|              at C; σ are the road's slopes along f and l
    r = (0, R a_z, δ - R ρ)                       from c to the contact point, on the road
    t_x = a × n / |a × n|,   t_y = n × t_x        forward and to the left, along the road
    s = ċ + ω × r - w                             velocity of the wheel's material there

w is the velocity of a `MovingRoad`. C is a point of geometry: it tilts and turns with the wheel
but does not spin, which leaves Ω = ω - (ω_l/ρ) a:

    way = ċ + Ω × (C - c) - w,   δ̇ = -N·way

A force Φ N at a point that moves so, with Φ = U'(δ), is the exact slope of the energy U(δ): an
uneven road that stays does no work. What it takes from a wheel that climbs it gives back behind.
As Ω lacks the spin, this force does not turn the wheel about its axis, like the normal force on
a slope, which goes through the centre. About the centre it has the moment

    (C - c) × Φ N + (R/ρ) (Φ N)_f l  =  Φ R (a_z - ρ σ_l, -σ_f a_z²/ρ, a_z σ_f)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.forces.base import Bodies
from mbd_bridge.forces.points import Placed, placed
from mbd_bridge.forces.roads import Road
from mbd_bridge.functions import absolute, less, maximum, sqrt, where
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, cross, zeros

LYING = 1e-12
"""Least ρ²: a wheel that lies flat has no lowest point; its numbers stay finite."""


@dataclass(frozen=True)
class Wheel:
    """A wheel and its road, checked.

    Attributes
    ----------
    link : name of the link that touches the road
    centre : (3,) m, in its frame
    axis : (3,), unit, in its frame, to the left
    radius : R, m
    road : under it
    steps_over : whether forces see the road's height alone, as in simple vehicle models: N, t_x and
        t_y are those of a level road, whatever its slopes
    """

    link: str
    centre: ArrayLike
    axis: ArrayLike
    radius: float
    road: Road
    steps_over: bool = False


class Contact(NamedTuple):
    """A wheel on a road at one state; vectors (3,) are components along f, l and ẑ.

    Attributes
    ----------
    centre : of the wheel, in the root frame
    axes : (3, 3), rows f, l, ẑ in the root frame
    deflection, rate : δ, m, negative above the road, and δ̇, m/s
    normal : N
    length : |N|
    forward, left : t_x, t_y
    arm : r, m
    normal_moment : m, moment about the centre of a force N at C
    slip_x, slip_y : s along t_x and t_y, m/s
    rolling : velocity of the centre over the road along t_x, m/s
    axis : a
    spin : ω·a, rad/s
    sin_camber : a·n, positive if the wheel's top leans to the right
    way : m/s, velocity of C over the road
    belt : w, m/s, velocity of the road
    """

    centre: Placed
    axes: Array
    deflection: Any
    rate: Any
    normal: Array
    length: Any
    forward: Array
    left: Array
    arm: Array
    normal_moment: Array
    slip_x: Any
    slip_y: Any
    rolling: Any
    axis: Array
    spin: Any
    sin_camber: Any
    way: Array
    belt: Array

    def wrench(self, force: Array, moment: Array) -> Array:
        """Return the wrench (6,) on the link of a force and a moment about the wheel's centre.

        It is about the root frame's origin, in its axes.
        """
        turn = self.axes.T
        push = turn @ force
        return np.concatenate([push, cross(self.centre.position, push) + turn @ moment])


def contact(model: Model, t: Any, bodies: Bodies, wheel: Wheel) -> Contact:
    """Return how a wheel touches its road."""
    base = bodies.root
    centre = placed(model, bodies.relative, wheel.link, np.array(wheel.centre))
    up, axis = base.rotation[2], centre.rotation @ np.array(wheel.axis)
    a_z = axis @ up
    square = maximum(1.0 - a_z * a_z, LYING)
    rho = sqrt(square)
    f = cross(axis, up) * (1.0 / rho)
    axes = np.stack([f, cross(up, f), up])
    R, level = wheel.radius, wheel.road.is_level
    belt = np.zeros(3)
    x: Any = 0.0
    y: Any = 0.0
    f_x: Any = 0.0
    f_y: Any = 0.0
    if not (level and not wheel.road.varies_across) or any(wheel.road.motion):
        f_x, f_y = base.rotation[0] @ f, base.rotation[1] @ f
        at = base.position + base.rotation @ centre.position
        out = R * a_z
        x, y = at[0] - out * f_y, at[1] + out * f_x  # l is (-f_y, f_x) in the world
        w_x, w_y = wheel.road.motion
        belt = vector(f_x * w_x + f_y * w_y, f_x * w_y - f_y * w_x, 0.0)
    height, slope_x, slope_y = wheel.road.surface(x, y, t)
    sigma_f, sigma_l = slope_x * f_x + slope_y * f_y, slope_y * f_x - slope_x * f_y
    if level:
        sigma_f, sigma_l = 0.0, 0.0
    deflection = height + R * rho - (base.position[2] + up @ centre.position)
    speed, omega = axes @ centre.velocity - belt, axes @ centre.omega
    turned = omega[2] - omega[1] * a_z * (1.0 / rho)
    way = speed + R * vector(-a_z * turned, rho * omega[0], a_z * omega[0])
    normal = vector(-sigma_f, -sigma_l, 1.0)
    arm = vector(0.0, R * a_z, deflection - R * rho)
    rate = -(normal @ way)
    if wheel.steps_over:
        level, sigma_f, sigma_l, normal = True, 0.0, 0.0, vector(0.0, 0.0, 1.0)
    forward, left, length = _tangents(normal, rho, a_z, level)
    slip = speed + cross(omega, arm)
    moment = vector(a_z - rho * sigma_l, -sigma_f * (a_z * a_z) * (1.0 / rho), a_z * sigma_f)
    return Contact(
        centre=centre,
        axes=axes,
        deflection=deflection,
        rate=rate,
        normal=normal,
        length=length,
        forward=forward,
        left=left,
        arm=arm,
        normal_moment=R * moment,
        slip_x=forward @ slip,
        slip_y=left @ slip,
        rolling=forward @ speed,
        axis=vector(0.0, rho, a_z),
        spin=rho * omega[1] + a_z * omega[2],
        sin_camber=(a_z - rho * sigma_l) * (1.0 / length),
        way=way,
        belt=belt,
    )


def _tangents(normal: Array, rho: Any, a_z: Any, level: bool) -> tuple[Array, Array, Any]:
    """Return t_x, t_y and |N|."""
    if level:
        return np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]), 1.0
    length = sqrt(normal @ normal)
    forward = cross(vector(0.0, rho, a_z), normal)
    forward = forward * (1.0 / sqrt(maximum(forward @ forward, LYING)))
    return forward, cross(normal * (1.0 / length), forward), length


def vector(*parts: Any) -> Array:
    """Return the vector of three numbers or symbols."""
    out = zeros(3, *(np.asarray(part) for part in parts))
    for k, part in enumerate(parts):
        out[k] = part
    return out


# Slips of a tyre: how far its material slides for each metre that it rolls, at once or with delay.
#
#     κ = -s_x/V,   tan α = s_y/V                        at once
#     u̇ = -s_x - V u/σ_x,   ẇ = s_y - V w/σ_y           relaxation, lengths σ; s = 0 in the air
#     κ = u/σ_x,   tan α = w/σ_y
#
# V is the rolling speed, bounded from below (`slip_speed`). The deflections u and w of the carcass
# are states of the tyre. Nothing is divided by a speed then, and at rest the tyre is a spring of
# stiffness/σ that slowly lets go.

STATES = {"longitudinal_deflection": "m", "lateral_deflection": "m"}
"""Names and units of the states of a tyre with relaxation."""


class Slips(NamedTuple):
    """κ and tan α, and the rates of the deflections if there are some."""

    kappa: Any
    tan_alpha: Any
    rates: tuple[Any, ...] = ()


def slips(touch: Contact, low_speed: float, z: Array, lengths: tuple[Any, Any] | None) -> Slips:
    """Return the slips of a tyre.

    Parameters
    ----------
    low_speed : m/s
    z : u and w if there are relaxation lengths
    lengths : σ_x, σ_y, m, above 0; None for slips at once
    """
    speed = slip_speed(touch.rolling, low_speed)
    if lengths is None:
        over = 1.0 / speed
        return Slips(-touch.slip_x * over, touch.slip_y * over)
    kappa, tan_alpha = z[0] * (1.0 / lengths[0]), z[1] * (1.0 / lengths[1])
    touches = less(0.0, touch.deflection)  # nothing deflects a carcass in the air
    slip_x, slip_y = (where(touches, s, 0.0) for s in (touch.slip_x, touch.slip_y))
    return Slips(kappa, tan_alpha, (-slip_x - speed * kappa, slip_y - speed * tan_alpha))


def slip_speed(rolling: Any, low_speed: float) -> Any:
    """Return the speed over which slips are taken, |V| above a low speed v0 (m/s).

        |V| >= v0: |V|,      else (V²/v0 + v0)/2

    It is smooth but for a jump of curvature at v0, and never below v0/2: at rest a tyre is a damper
    between wheel and road.
    """
    speed = absolute(rolling)
    slow = (0.5 / low_speed) * (rolling * rolling) + 0.5 * low_speed
    return where(less(speed, low_speed), slow, speed)
