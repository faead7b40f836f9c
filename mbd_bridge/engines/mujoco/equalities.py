"""MJCF's ``<equality>``: connect, weld and joint, as loop joints and gears, here without softness.

Of two bodies at x1, x2 with rotations R1, R2, points p and the pose between them as stored:

    connect    x1 + R1 p1 = x2 + R2 p2
    weld       the same, and R2 = R1 R(quaternion)
    joint      q1 - ref1 = c0 + c1 (q2 - ref2)
    tendon     L1 - L1_0 = c0 + c1 (L2 - L2_0), of fixed tendons: L = sum of coef q
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mbd_bridge.engines.mujoco.compiled import Compiled
from mbd_bridge.engines.mujoco.places import Names, place
from mbd_bridge.files.document import LeftOut
from mbd_bridge.model.description import Coupling, Loop, LoopEnd
from mbd_bridge.model.spatial import Frame


def read_equalities(
    compiled: Compiled, names: Names, left_out: LeftOut, file: str
) -> tuple[tuple[Loop, ...], tuple[Coupling, ...]]:
    """Return the loops and gears; what cannot be said here is listed."""
    model, types = compiled.model, compiled.engine.mjtEq
    loops: list[Loop] = []
    couplings: list[Coupling] = []
    for index in range(model.neq):
        kind = int(model.eq_type[index])
        given = compiled.name("equality", index)
        label = given or f"equality {index}"
        if not model.eq_active0[index]:
            left_out.add("equality constraints that are not active", label)
        elif kind in (types.mjEQ_CONNECT, types.mjEQ_WELD):
            weld = kind == types.mjEQ_WELD
            name = names.unused(given or f"{'weld' if weld else 'connect'}{index}")
            loop = _loop(compiled, names, index, name, weld)
            welds = {int(model.body_weldid[names.links.index(e.link)]) for e in ends(loop)}
            if len(welds) == 1:
                left_out.add("equality constraints of bodies that are one", label)
            else:
                loops.append(loop)
        elif kind == types.mjEQ_JOINT:
            couplings += _joint(compiled, names, index, given, left_out)
        elif kind == types.mjEQ_TENDON and (found := linear(compiled, index)) is not None:
            couplings.append(_tendons(names, found, given or f"tendons{index}"))
        else:
            what = "equality constraints of spatial tendons, polynomials, flexes and distances"
            left_out.add(what, label)
    if loops or couplings:
        left_out.add("softness of equality constraints, which are exact here (solref, solimp)")
    return tuple(replace(loop, source=file) for loop in loops), tuple(couplings)


def ends(loop: Loop) -> tuple[LoopEnd, LoopEnd]:
    """Return both sides of a loop."""
    return loop.predecessor, loop.successor


def _loop(compiled: Compiled, names: Names, index: int, name: str, weld: bool) -> Loop:
    model = compiled.model
    data = np.array(model.eq_data[index])
    one, two = int(model.eq_obj1id[index]), int(model.eq_obj2id[index])
    if int(model.eq_objtype[index]) == int(compiled.engine.mjtObj.mjOBJ_SITE):
        kind = "fixed" if weld and data[10] else "spherical"
        return Loop(name, kind, _site(model, names, one), _site(model, names, two))
    two = max(two, 0)  # a body that is not named is the world
    if not weld:
        first, second = (Frame(np.eye(3), data[k : k + 3]) for k in (0, 3))
        kind = "spherical"
    else:
        first, second = place(data[3:6], data[6:10]), Frame(np.eye(3), data[:3])
        kind = "fixed" if data[10] else "spherical"  # the weight of the rotation
    return Loop(name, kind, LoopEnd(names.links[one], first), LoopEnd(names.links[two], second))


def _site(model: Any, names: Names, site: int) -> LoopEnd:
    body = int(model.site_bodyid[site])
    return LoopEnd(names.links[body], place(model.site_pos[site], model.site_quat[site]))


def _joint(
    compiled: Compiled,
    names: Names,
    index: int,
    given: str,
    left_out: LeftOut,
) -> list[Coupling]:
    """Return a coupling, without leaders where the joint has no partner."""
    model = compiled.model
    first, second = int(model.eq_obj1id[index]), int(model.eq_obj2id[index])
    own = names.joints[first]
    c0, c1, *higher = (float(c) for c in model.eq_data[index][:5])
    ref = float(model.qpos0[model.jnt_qposadr[first]])
    if second < 0 or not (c1 or any(higher)):
        return [Coupling(names.unused(given or f"{own}.lock"), own, (), ref + c0)]
    if any(higher):
        left_out.add("couplings by a polynomial", given or f"{own} of {names.joints[second]}")
        return []
    lead = float(model.qpos0[model.jnt_qposadr[second]])
    name = names.unused(given or f"{own}.gears")
    offset = ref + c0 - c1 * lead
    return [Coupling(name, own, ((names.joints[second], c1),), offset)]


def linear(compiled: Compiled, index: int) -> tuple[dict[int, float], float] | None:
    """Return coefficients by joint and the constant that their sum is; None if it is not linear."""
    model = compiled.model
    c0, c1, *higher = (float(c) for c in model.eq_data[index][:5])
    first, second = int(model.eq_obj1id[index]), int(model.eq_obj2id[index])
    sides = [(first, 1.0)] + ([(second, -c1)] if second >= 0 else [])
    if second >= 0 and any(higher):
        return None
    total, constant = dict[int, float](), c0
    for tendon, factor in sides:
        constant += factor * float(model.tendon_length0[tendon])
        for k in range(*_wraps(model, tendon)):
            if int(model.wrap_type[k]) != compiled.engine.mjtWrap.mjWRAP_JOINT:
                return None
            joint = int(model.wrap_objid[k])
            total[joint] = total.get(joint, 0.0) + factor * float(model.wrap_prm[k])
    total = {joint: coefficient for joint, coefficient in total.items() if coefficient}
    return (total, constant) if total else None


def _wraps(model: Any, tendon: int) -> tuple[int, int]:
    start = int(model.tendon_adr[tendon])
    return start, start + int(model.tendon_num[tendon])


def _tendons(names: Names, found: tuple[dict[int, float], float], given: str) -> Coupling:
    """Return a coupling of the joint with the largest coefficient."""
    total, constant = found
    largest = max(total, key=lambda joint: abs(total[joint]))
    own, scale = names.joints[largest], total.pop(largest)
    follows = tuple((names.joints[joint], -value / scale) for joint, value in total.items())
    return Coupling(names.unused(given), own, follows, constant / scale)
