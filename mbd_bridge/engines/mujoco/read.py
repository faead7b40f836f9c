"""MJCF to a description: bodies, joints, loops and couplings of the compiled model.

A body's joints move it one after the other, so a body with several has massless links between
them, named BODY.1, BODY.2, ... Coordinates are MuJoCo's own: a hinge or slide with a `ref` stands
at `ref` in the file's position. Quaternions are (x, y, z, w) here, (w, x, y, z) there; a free
joint's linear velocity is in the body's axes here, in the world's there.

``<equality>`` becomes loop joints and gears, here without softness. Of two bodies at x1, x2 with
rotations R1, R2, points p and the pose between them as stored:

    connect    x1 + R1 p1 = x2 + R2 p2
    weld       the same, and R2 = R1 R(quaternion)
    joint      q1 - ref1 = c0 + c1 (q2 - ref2)
    tendon     L1 - L1_0 = c0 + c1 (L2 - L2_0), of fixed tendons: L = sum of coef q
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mbd_bridge.base.errors import FileError
from mbd_bridge.engines.mujoco.compiled import (
    BALL,
    FREE,
    HINGE,
    SLIDE,
    Compiled,
    Names,
    check_contents,
    compile_mjcf,
    motion,
    place,
)
from mbd_bridge.engines.mujoco.twin import SIZES
from mbd_bridge.files.checks import check_couplings, check_loops, check_tree
from mbd_bridge.files.document import LARGEST, Document, LeftOut
from mbd_bridge.files.elements import UNPHYSICAL, inertia_at, unphysical
from mbd_bridge.files.xml_reader import MAX_BYTES, Element, decode, parse, read_bytes
from mbd_bridge.model.description import (
    Configurations,
    Coupling,
    Description,
    Geometry,
    Joint,
    Limits,
    Link,
    Loop,
    LoopEnd,
    Transmission,
)
from mbd_bridge.model.spatial import Frame, Inertia


def read_equalities(
    compiled: Compiled, names: Names, left_out: LeftOut, file: str
) -> tuple[tuple[Loop, ...], tuple[Coupling, ...]]:
    """Return the loops and gears; what cannot be said here is listed."""
    model, types = compiled.model, compiled.engine.mjtEq
    loops: list[Loop] = []
    couplings: list[Coupling] = []
    for index in range(model.neq):
        kind = int(model.eq_type[index])
        stated = compiled.name("equality", index)
        label = stated or f"equality {index}"
        if not model.eq_active0[index]:
            left_out.add("equality constraints that are not active", label)
        elif kind in (types.mjEQ_CONNECT, types.mjEQ_WELD):
            weld = kind == types.mjEQ_WELD
            name = names.unused(stated or f"{'weld' if weld else 'connect'}{index}")
            loop = _loop(compiled, names, index, name, weld)
            welds = {int(model.body_weldid[names.links.index(e.link)]) for e in ends(loop)}
            if len(welds) == 1:
                left_out.add("equality constraints of bodies that are one", label)
            else:
                loops.append(loop)
        elif kind == types.mjEQ_JOINT:
            couplings += _coupling(compiled, names, index, stated, left_out)
        elif kind == types.mjEQ_TENDON and (equation := linear(compiled, index)) is not None:
            couplings.append(_of_tendons(names, equation, stated or f"tendons{index}"))
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
    first_id, second_id = int(model.eq_obj1id[index]), int(model.eq_obj2id[index])
    if int(model.eq_objtype[index]) == int(compiled.engine.mjtObj.mjOBJ_SITE):
        kind = "fixed" if weld and data[10] else "spherical"
        return Loop(name, kind, _site(model, names, first_id), _site(model, names, second_id))
    second_id = max(second_id, 0)  # a body that is not named is the world
    if not weld:
        first, second = (Frame(np.eye(3), data[k : k + 3]) for k in (0, 3))
        kind = "spherical"
    else:
        first, second = place(data[3:6], data[6:10]), Frame(np.eye(3), data[:3])
        kind = "fixed" if data[10] else "spherical"  # the weight of the rotation
    return Loop(
        name, kind, LoopEnd(names.links[first_id], first), LoopEnd(names.links[second_id], second)
    )


def _site(model: Any, names: Names, site: int) -> LoopEnd:
    body = int(model.site_bodyid[site])
    return LoopEnd(names.links[body], place(model.site_pos[site], model.site_quat[site]))


def _coupling(
    compiled: Compiled,
    names: Names,
    index: int,
    stated: str,
    left_out: LeftOut,
) -> list[Coupling]:
    """Return a coupling, without leaders where the joint has no partner."""
    model = compiled.model
    first, second = int(model.eq_obj1id[index]), int(model.eq_obj2id[index])
    follower = names.joints[first]
    c0, c1, *higher = (float(c) for c in model.eq_data[index][:5])
    ref = float(model.qpos0[model.jnt_qposadr[first]])
    if second < 0 or not (c1 or any(higher)):
        return [Coupling(names.unused(stated or f"{follower}.lock"), follower, (), ref + c0)]
    if any(higher):
        left_out.add("couplings by a polynomial", stated or f"{follower} of {names.joints[second]}")
        return []
    lead = float(model.qpos0[model.jnt_qposadr[second]])
    name = names.unused(stated or f"{follower}.gears")
    offset = ref + c0 - c1 * lead
    return [Coupling(name, follower, ((names.joints[second], c1),), offset)]


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
        start = int(model.tendon_adr[tendon])
        for k in range(start, start + int(model.tendon_num[tendon])):
            if int(model.wrap_type[k]) != compiled.engine.mjtWrap.mjWRAP_JOINT:
                return None
            joint = int(model.wrap_objid[k])
            total[joint] = total.get(joint, 0.0) + factor * float(model.wrap_prm[k])
    total = {joint: coefficient for joint, coefficient in total.items() if coefficient}
    return (total, constant) if total else None


def _of_tendons(names: Names, equation: tuple[dict[int, float], float], name: str) -> Coupling:
    """Return a coupling of the joint with the largest coefficient."""
    total, constant = equation
    largest = max(total, key=lambda joint: abs(total[joint]))
    follower, scale = names.joints[largest], total.pop(largest)
    follows = tuple((names.joints[joint], -value / scale) for joint, value in total.items())
    return Coupling(names.unused(name), follower, follows, constant / scale)


# What an MJCF says of actuators that has a place here: joints, largest forces, rotors.

ON_JOINTS = (0, 1)
"""Transmissions of actuators, by MuJoCo's numbers: joint, and joint in the parent's frame."""


def joint_of(compiled: Compiled, actuator: int) -> int | None:
    """Return the joint that an actuator acts on, None if it is none."""
    model = compiled.model
    if int(model.actuator_trntype[actuator]) not in ON_JOINTS:
        return None
    return int(model.actuator_trnid[actuator][0])


def actuated_joints(compiled: Compiled, names: Names) -> tuple[str, ...] | None:
    """Return the joints that have an actuator; None if the file has no actuators."""
    driven = [joint_of(compiled, k) for k in range(compiled.model.nu)]
    joints = [names.joints[joint] for joint in driven if joint is not None]
    return tuple(dict.fromkeys(joints)) or None


def effort_limits(compiled: Compiled) -> dict[int, float]:
    """Return the largest force or torque of joints that have one, N or N m."""
    model = compiled.model
    limits: dict[int, float] = {}
    for k in range(model.nu):
        joint = joint_of(compiled, k)
        if joint is None or not is_motor(compiled, k):
            continue
        gear = abs(float(model.actuator_gear[k][0]))
        gain = abs(float(model.actuator_gainprm[k][0]))
        if model.actuator_forcelimited[k]:
            limits[joint] = gear * float(max(abs(model.actuator_forcerange[k])))
        elif model.actuator_ctrllimited[k]:
            limits[joint] = gear * gain * float(max(abs(model.actuator_ctrlrange[k])))
    for joint in range(model.njnt):
        if model.jnt_actfrclimited[joint]:
            limits[joint] = float(max(abs(model.jnt_actfrcrange[joint])))
    return limits


def is_motor(compiled: Compiled, actuator: int) -> bool:
    """Return whether an actuator's force is its control times a constant, and no more."""
    model = compiled.model
    kinds = (model.actuator_gaintype, model.actuator_biastype, model.actuator_dyntype)
    return not any(int(kind[actuator]) for kind in kinds)


def rotors(compiled: Compiled, names: Names) -> tuple[Transmission, ...]:
    """Return the armatures of joints, and of actuators on them, as inertias of rotors at the joint.

    MuJoCo adds them to the diagonal of M. That of a free joint is along the world's axes there,
    along the body's here.
    """
    model = compiled.model
    of_actuators = through_gears(compiled, "actuator_armature")
    return tuple(
        Transmission(f"armature of {names.joints[k]}", names.joints[k], None, armature)
        for k in range(model.njnt)
        if int(model.jnt_type[k]) >= BALL
        and (armature := float(model.dof_armature[model.jnt_dofadr[k]]) + of_actuators.get(k, 0.0))
    )


def through_gears(compiled: Compiled, name: str) -> dict[int, float]:
    """Return what actuators have by an array of that name, as hinges and slides feel it."""
    model = compiled.model
    sums: dict[int, float] = {}
    for k, value in enumerate(getattr(model, name, ())):  # MuJoCo has them since 4.0
        joint = joint_of(compiled, k)
        if joint is not None and int(model.jnt_type[joint]) >= SLIDE and value:
            gear = float(model.actuator_gear[k][0])
            sums[joint] = sums.get(joint, 0.0) + gear**2 * float(value)
    return sums


# What an MJCF says that has no counterpart here.

ACTING = {
    "tendon_stiffness": "springs",
    "tendon_damping": "damping",
    "tendon_frictionloss": "friction",
    "tendon_armature": "armature",
    "tendon_limited": "limits",
}
"""What a tendon does beside coupling joints."""

OF_ACTUATORS = {"actuator_armature": "armature", "actuator_damping": "damping"}
"""Arrays of newer versions: what actuators add where they act."""

OF_JOINTS = {"dof_damping": "damping", "dof_frictionloss": "friction"}
"""What hinges and slides have, and joints of several coordinates may have too."""

POLYNOMIALS = {
    "jnt_stiffnesspoly": "springs that are not linear",
    "jnt_springyield": "springs that yield",
    "dof_dampingpoly": "damping that is not linear",
    "actuator_dampingpoly": "damping of actuators that is not linear",
}
"""Arrays that newer versions of MuJoCo have, and what is listed where one is not zero."""


def list_left_out(compiled: Compiled, names: Names, left_out: LeftOut) -> None:
    """List what is not read."""
    model = compiled.model
    coupling = _only_couple(compiled)
    for k in range(model.ntendon):
        name = compiled.name("tendon", k) or f"tendon {k}"
        acting = [what for array, what in ACTING.items() if np.any(getattr(model, array)[k])]
        for what in acting:
            left_out.add(f"{what} of tendons", name)
        if k not in coupling and not acting:
            left_out.add("tendons", name)
    touching = np.count_nonzero((model.geom_contype != 0) | (model.geom_conaffinity != 0))
    if touching > 1 or model.npair:
        left_out.add(f"contacts of {touching} geoms")
    for k in range(model.nu):
        name = compiled.name("actuator", k) or f"actuator {k}"
        if joint_of(compiled, k) is None:
            left_out.add("actuators that act on no joint", name)
        elif not is_motor(compiled, k):
            left_out.add("dynamics and control laws of actuators", name)
        acts_on = joint_of(compiled, k)
        if acts_on is None or int(model.jnt_type[acts_on]) < SLIDE:
            for array, what in OF_ACTUATORS.items():
                if np.any(getattr(model, array, np.zeros(model.nu))[k]):
                    left_out.add(f"{what} of actuators that act on no hinge or slide", name)
    _joints(compiled, names, left_out)
    for body in range(model.nbody):
        if model.body_gravcomp[body]:
            left_out.add("compensation of gravity", names.links[body])
        if model.body_mocapid[body] >= 0:
            left_out.add("bodies moved from outside (mocap), held here", names.links[body])
    for what, number in (
        ("flexible bodies (flex)", model.nflex),
        ("skins", model.nskin),
        ("plugins", model.nplugin),
        ("sensors", model.nsensor),
    ):
        if number:
            left_out.add(f"{number} {what}")
    if any(np.any(getattr(model, name)) for name in ("key_qvel", "key_act", "key_ctrl")):
        left_out.add("velocities and controls of keyframes")
    option = model.opt
    if option.density or option.viscosity:
        left_out.add("the fluid around (density, viscosity, wind)")


def _only_couple(compiled: Compiled) -> set[int]:
    """Return the tendons that are read as couplings, and say nothing else."""
    model, kind = compiled.model, compiled.engine.mjtEq.mjEQ_TENDON
    tendons: set[int] = set()
    for index in np.flatnonzero(model.eq_type == kind):
        if model.eq_active0[index] and linear(compiled, int(index)) is not None:
            tendons |= {int(model.eq_obj1id[index]), int(model.eq_obj2id[index])}
    return {k for k in tendons if k >= 0 and not any(np.any(getattr(model, a)[k]) for a in ACTING)}


def _joints(compiled: Compiled, names: Names, left_out: LeftOut) -> None:
    model = compiled.model
    for joint in range(model.njnt):
        dof, kind = int(model.jnt_dofadr[joint]), int(model.jnt_type[joint])
        if kind < BALL and model.dof_armature[dof]:
            left_out.add("armature of free joints", names.joints[joint])
        for array, what in OF_JOINTS.items() if kind < SLIDE else ():
            if getattr(model, array)[dof]:
                left_out.add(f"{what} of ball and free joints", names.joints[joint])
    for array, what in POLYNOMIALS.items():
        values = np.asarray(getattr(model, array, ()))
        if not values.any():
            continue
        for row in np.flatnonzero(values.reshape(len(values), -1).any(axis=1)):
            if array.startswith("actuator"):
                left_out.add(what, compiled.name("actuator", int(row)) or f"actuator {row}")
                continue
            joint = int(model.dof_jntid[row]) if array.startswith("dof") else int(row)
            left_out.add(what, names.joints[joint])


VISIBLE_GROUPS = 3
"""MuJoCo's viewers show geoms of the groups 0, 1 and 2."""

KINDS = {2: "sphere", 3: "capsule", 5: "cylinder", 6: "box", 7: "mesh"}
"""Geom types that pictures know, by MuJoCo's numbers."""

Shapes = tuple[Geometry, ...]


def read_shapes(compiled: Compiled, body: int) -> tuple[Shapes, Shapes]:
    """Return what of a body is seen, and what touches."""
    model = compiled.model
    seen, touching = list[Geometry](), list[Geometry]()
    first = int(model.body_geomadr[body])
    for geom in range(first, first + int(model.body_geomnum[body])):
        if int(model.geom_type[geom]) not in KINDS:
            continue
        shape = _shape(compiled, geom)
        if int(model.geom_group[geom]) < VISIBLE_GROUPS:
            seen.append(shape)
        if model.geom_contype[geom] or model.geom_conaffinity[geom]:
            touching.append(shape)
    return tuple(seen), tuple(touching)


def _shape(compiled: Compiled, geom: int) -> Geometry:
    model = compiled.model
    kind = KINDS[int(model.geom_type[geom])]
    origin = place(model.geom_pos[geom], model.geom_quat[geom])
    material = int(model.geom_matid[geom])
    rgba = model.geom_rgba[geom] if material < 0 else model.mat_rgba[material]
    red, green, blue, alpha = np.clip(rgba, 0.0, 1.0).tolist()
    colour = red, green, blue, alpha
    a, b, c = model.geom_size[geom].tolist()
    if kind == "mesh":
        mesh = int(model.geom_dataid[geom])
        # MuJoCo moves a mesh's vertices to its centre of volume; the file's are not moved
        origin = origin @ place(model.mesh_pos[mesh], model.mesh_quat[mesh]).inverse()
        uri, path = compiled.meshes.get(compiled.name("mesh", mesh), (None, None))
        x, y, z = model.mesh_scale[mesh].tolist()
        return Geometry(kind, origin, (), uri, path, (x, y, z), colour)
    sizes = {
        "sphere": (a,),
        "box": (2.0 * a, 2.0 * b, 2.0 * c),
    }
    return Geometry(kind, origin, sizes.get(kind, (a, 2.0 * b)), colour=colour)


TYPES = ("floating", "spherical", "prismatic", "revolute")
"""MuJoCo's joint types by number: free, ball, slide, hinge."""

FINITE = (
    *("body_pos", "body_quat", "body_ipos", "body_iquat", "body_mass", "body_inertia"),
    *("jnt_pos", "jnt_axis", "qpos0", "qpos_spring", "eq_data", "key_qpos"),
)
"""Arrays of a compiled model that make the mechanism."""


def read_mjcf(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Description:
    """Return what an MJCF file says, as MuJoCo compiles it.

    Parameters
    ----------
    path : of the file
    max_bytes : largest size that is read

    Raises
    ------
    MissingPackageError
        MuJoCo is not installed.
    FileError
        The file cannot be read, or says something that no mechanism can be.
    """
    file = os.fsdecode(path)
    root, _ = parse(decode(read_bytes(file, max_bytes), file), file, max_bytes)
    check_contents(file, root, max_bytes)
    document, left_out = Document(file), LeftOut(file, "MJCF")
    _refuse_nan(document, root)
    compiled = compile_mjcf(file, document)
    _check_finite(compiled.model, file)
    names = Names(compiled)
    links, joints = _bodies(compiled, names, document, left_out)
    loops, couplings = read_equalities(compiled, names, left_out, file)
    list_left_out(compiled, names, left_out)
    check_tree(links, joints, file)
    check_loops(loops, links, joints, file)
    check_couplings(couplings, loops, joints, file)
    x, y, z = compiled.model.opt.gravity.tolist()
    return Description(
        name=compiled.model.names.split(b"\0", 1)[0].decode() or Path(file).stem,
        links=links,
        joints=joints,
        loops=loops,
        couplings=couplings,
        source=file,
        notes=(*document.warn(), *left_out.warn()),
        actuated=actuated_joints(compiled, names),
        transmissions=rotors(compiled, names),
        format="MJCF",
        gravity=(x, y, z),
        configurations=_keyframes(compiled, names),
        joint_dynamics=True,
    )


def _keyframes(compiled: Compiled, names: Names) -> Configurations:
    """Return coordinates by joint of each keyframe; those without a name are called by number."""
    model = compiled.model
    configurations = {}
    for key in range(model.nkey):
        values: dict[str, tuple[float, ...]] = {}
        for index in range(model.njnt):
            kind, start = int(model.jnt_type[index]), int(model.jnt_qposadr[index])
            q = model.key_qpos[key][start : start + SIZES[kind]].tolist()
            if kind in (FREE, BALL):
                w, *vector = q[-4:]
                q = [*q[:-4], *vector, w]
            values[names.joints[index]] = tuple(q)
        configurations[compiled.name("key", key) or f"keyframe {key}"] = values
    return configurations


def _refuse_nan(document: Document, root: Element) -> None:
    """Refuse nan, which MuJoCo takes for a number and computes with."""
    for element in root.iter():
        for key, value in element.attrib.items():
            if key != "name" and "nan" in str(value).lower().split():
                raise document.error(element, f"{key!s}: expected a finite number, got nan")


def _check_finite(model: Any, file: str) -> None:
    """Refuse numbers whose products overflow (from included files, too)."""
    for name in FINITE:
        values = np.asarray(getattr(model, name), dtype=np.float64)
        if not (np.abs(values) < LARGEST).all():
            message = f"numbers of the compiled model ({name}) are not below {LARGEST:g}"
            raise FileError(f"{message}; check units and digits", file)


def _bodies(
    compiled: Compiled, names: Names, document: Document, left_out: LeftOut
) -> tuple[tuple[Link, ...], tuple[Joint, ...]]:
    """Return the links and joints, each body's joints in MuJoCo's order."""
    model = compiled.model
    efforts = effort_limits(compiled)
    links, joints = [Link(names.links[0], None, *read_shapes(compiled, 0))], list[Joint]()
    for body in range(1, model.nbody):
        name = names.links[body]
        parent = names.links[int(model.body_parentid[body])]
        first, number = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        origin = place(model.body_pos[body], model.body_quat[body])
        if not number:
            joints.append(Joint(names.unused(f"{name}.weld"), "fixed", parent, name, origin))
        for k, index in enumerate(range(first, first + number)):
            child = name if k == number - 1 else names.unused_link(f"{name}.{k + 1}")
            joints.append(
                _joint(compiled, names, index, (parent, child), origin, left_out, efforts)
            )
            if child != name:
                links.append(Link(child))
            parent, origin = child, Frame.identity()
        inertia = _inertia(model, body)
        if inertia is not None and (why := unphysical(inertia.mass, inertia.central)):
            document.remark(UNPHYSICAL, f"{name}: {why}")
        links.append(Link(name, inertia, *read_shapes(compiled, body)))
    return tuple(links), tuple(joints)


def _inertia(model: Any, body: int) -> Inertia | None:
    mass, moments = float(model.body_mass[body]), np.array(model.body_inertia[body])
    if not mass and not moments.any():
        return None
    frame = place(model.body_ipos[body], model.body_iquat[body])
    return inertia_at(frame, mass, np.diag(moments))


def _joint(
    compiled: Compiled,
    names: Names,
    index: int,
    ends: tuple[str, str],
    origin: Frame,
    left_out: LeftOut,
    efforts: dict[int, float],
) -> Joint:
    """Return one joint; `origin` is the body's frame in the parent before it moves.

    The body turns about the anchor p: X = origin T(p) motion(q - ref) T(-p).
    """
    model, name = compiled.model, names.joints[index]
    kind = int(model.jnt_type[index])
    dof, at = int(model.jnt_dofadr[index]), int(model.jnt_qposadr[index])
    stiffness = float(model.jnt_stiffness[index])
    damping, friction = float(model.dof_damping[dof]), float(model.dof_frictionloss[dof])
    damping += through_gears(compiled, "actuator_damping").get(index, 0.0)
    if kind == FREE:
        origin = anchor = Frame.identity()  # its coordinates are the pose in the world
    else:
        anchor = Frame(np.eye(3), np.array(model.jnt_pos[index]))
        origin = origin @ anchor
    axis = np.array(model.jnt_axis[index])
    rest, limits = 0.0, Limits()
    if kind in (SLIDE, HINGE):
        origin = origin @ motion(TYPES[kind], axis, -float(model.qpos0[at]))
        rest = float(model.qpos_spring[at])
        limits = _limits(model, index, efforts)
    elif stiffness:
        left_out.add("springs of ball and free joints", name)
        stiffness = 0.0
    if kind in (FREE, BALL):
        damping = friction = 0.0  # listed as left out
    if kind == BALL and model.jnt_limited[index]:
        left_out.add("limits of ball joints", name)
    x, y, z = axis.tolist() if kind in (SLIDE, HINGE) else (1.0, 0.0, 0.0)
    return Joint(
        name,
        TYPES[kind],
        *ends,
        origin,
        (x, y, z),
        limits=limits,
        damping=damping,
        friction=friction,
        stiffness=stiffness,
        rest=rest if stiffness else 0.0,
        child_frame=anchor,
    )


def _limits(model: Any, index: int, efforts: dict[int, float]) -> Limits:
    effort = efforts.get(index)
    if not model.jnt_limited[index]:
        return Limits(effort=effort)
    lower, upper = (float(x) for x in model.jnt_range[index])
    return Limits(lower, upper, effort)
