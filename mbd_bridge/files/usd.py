"""OpenUSD to a description: rigid bodies and joints of UsdPhysics, with closed loops.

::

    def Xform "arm" (prepend apiSchemas = ["PhysicsArticulationRootAPI"]) {
        def Xform "rod" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) { ... }
        def PhysicsRevoluteJoint "pin" { rel physics:body1 = </arm/rod> ... }
    }

Joints with ``excludeFromArticulation``, and those that close a loop without saying so, are cuts. A
generic ``PhysicsJoint`` (D6) is what its locked axes leave free: a type of ours, or else a mask
that holds a body which floats. Joints without a first body are on the ground.

UsdPhysics has 32 bits a number. Ours write another attribute beside it, ``mbd:physics:mass`` for
``physics:mass``, with all 64, which counts while it is the same but for rounding.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.checks import check_couplings, check_loops, check_mimics, check_tree
from mbd_bridge.files.document import LARGEST, LeftOut
from mbd_bridge.files.elements import UNPHYSICAL, inertia_at, unphysical
from mbd_bridge.files.input_files import regular_file
from mbd_bridge.files.sdf import PLACED, WORLD, spanning_tree
from mbd_bridge.files.table import reading
from mbd_bridge.files.usd_stage import (
    NAME,
    OURS,
    entries_of,
    modules,
    names_of,
    number_of,
    opened,
    own_number,
    remark,
    rotation_of,
    said,
    text_of,
)
from mbd_bridge.model.description import (
    Coupling,
    Description,
    Geometry,
    Joint,
    Limits,
    Link,
    Loop,
    LoopEnd,
    Mimic,
    Vector3,
)
from mbd_bridge.model.spanning_tree import as_cut
from mbd_bridge.model.spatial import Array, Frame, Inertia, lump

SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")
ROOT, FREE, MIMIC, GEARS, ACTUATED = (
    f"{OURS}{x}" for x in ("root", "freeJoint", "mimic", "coupling", "actuated")
)
ACTS = f"{OURS}jointDynamics"
DYNAMICS = ("damping", "friction", "stiffness", "rest")
RATES = ("velocity", "acceleration", "deceleration", "jerk")
AXES = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")
"""Of a generic joint, in the order of a mask's rows."""
KINDS = {"Revolute": "revolute", "Prismatic": "prismatic", "Spherical": "spherical"}
KINDS |= {"Fixed": "fixed"}
SINGLE, SHEARED = 1e-6, 1e-4
"""Rounding of 32 bits in scales, and how far axes of a rotation may be from square."""
SHOWN = ("default", "render")
"""Purposes of meshes that pictures show."""
WATER = 1000.0
"""kg/m³, of shapes that do not say theirs (UsdPhysics)."""
EARTH = 9.81
"""m/s², where a scene does not say it."""


class _Edge(NamedTuple):
    """A joint: as one of the tree, as a cut, and whether the file cuts it."""

    joint: Joint | None
    loop: Loop
    cut: bool


def read_usd(path: str | os.PathLike[str]) -> Description:
    """Return what the machine in a stage says.

    Raises
    ------
    FileError
        The file cannot be read, or says something that no mechanism can be.
    MissingPackageError
        usd-core is not installed.
    """
    file = regular_file(os.fsdecode(path))
    usd, _, _, _ = modules(file)
    # of damaged files pxr raises anything, and values may be of any type
    with reading(file, (Exception,), "a USD stage with UsdPhysics"):
        return _Stage(file, opened(usd, file), LeftOut(file, "USD")).description()


@dataclass
class _Stage:
    """A stage under the reader's eyes."""

    file: str
    stage: Any
    left_out: LeftOut
    names: dict[str, str] = field(default_factory=dict)  # of links, by the path of their body
    edges: dict[str, str] = field(default_factory=dict)  # of joints, by their path

    def __post_init__(self) -> None:
        self.usd, self.geom, self.physics, self.gf = modules(self.file)
        self.metre = float(self.geom.GetStageMetersPerUnit(self.stage))
        self.kilogram = float(self.physics.GetStageKilogramsPerUnit(self.stage))
        self.cache = self.geom.XformCache(self.usd.TimeCode.EarliestTime())
        for name, unit in (("metersPerUnit", self.metre), ("kilogramsPerUnit", self.kilogram)):
            if not 0.0 < unit < np.inf:
                raise FileError(f"{name}: expected a number above 0, got {unit:g}", self.file)

    def description(self) -> Description:
        """Return the machine: a tree from the ground, cuts, gravity."""
        within = self.usd.TraverseInstanceProxies()
        prims = [prim for prim in self.stage.Traverse(within) if prim.IsActive()]
        bodies = [prim for prim in prims if self._moves(prim)]
        if not bodies:
            raise FileError("no prim has PhysicsRigidBodyAPI, so nothing can move", self.file)
        self.names = names_of(bodies, {WORLD})
        links = [Link(self.names[str(p.GetPath())], *self._body(p)) for p in bodies]
        joints = [prim for prim in prims if prim.IsA(self.physics.Joint)]
        self.edges = names_of(joints, set())
        remark(self.stage, prims, [*bodies, *joints], self.left_out)
        edges = [edge for prim in joints if (edge := self._edge(prim)) is not None]
        pairs = Counter(frozenset(_ends(edge)) for edge in edges)
        for edge in edges:
            if pairs[frozenset(_ends(edge))] > 1:
                self.left_out.add(
                    "that other programs may put several joints of two bodies in series (here each "
                    "of them holds both)",
                    edge.loop.name,
                )
        top = next((p for p in prims if p.HasAttribute(ROOT)), None)
        root = None if top is None else text_of(top, ROOT)
        links, tree, loops, base = self._tree(bodies, links, edges, root)
        if base is None and root:
            links, tree, loops = _renamed(links, tree, loops, root)
            links[0] = replace(links[0], visuals=self._on_ground(prims, root))
        notes = self.left_out.warn()
        check_tree(links, tree, self.file)
        check_mimics(tree, self.file)
        check_loops(loops, links, tree, self.file)
        couplings = [self._coupling(prim) for prim in prims if prim.HasAttribute(GEARS)]
        check_couplings(couplings, loops, tree, self.file)
        default = self.stage.GetDefaultPrim()
        told = default if default and default.IsValid() else bodies[0].GetParent()
        actuated = tuple(said(top, ACTUATED) or ()) if top is not None else self._driven(prims)
        known = {joint.name for joint in tree}
        return Description(
            name=text_of(told, NAME) or told.GetName().strip("/") or "stage",
            links=tuple(links),
            joints=tuple(tree),
            loops=tuple(loops),
            couplings=tuple(couplings),
            source=self.file,
            notes=notes,
            actuated=tuple(name for name in actuated if name in known) or None,
            format="USD",
            gravity=self._gravity(prims, base),
            joint_dynamics=bool(top is not None and said(top, ACTS)),
        )

    def _on_ground(self, prims: Sequence[Any], root: str) -> tuple[Geometry, ...]:
        """Return the shapes of the ground that has a name, which only we give it."""
        named = (prim for prim in prims if (text_of(prim, NAME) or prim.GetName()) == root)
        ground = next((prim for prim in named if not self._moves(prim)), None)
        if ground is None:
            return ()
        place, shapes = self._place(ground), self._shapes(ground)
        return tuple(replace(x, origin=place @ x.origin) for x, _, _ in shapes if x is not None)

    def _coupling(self, prim: Any) -> Coupling:
        """Return gears, which only we write."""
        leaders, ratios = (said(prim, f"{GEARS}:{x}") or () for x in ("follows", "ratios"))
        if len(leaders) != len(ratios):
            raise FileError(
                f"{prim.GetPath()}: {len(leaders)} joints that lead, {len(ratios)} ratios",
                self.file,
            )
        offset = float(said(prim, f"{GEARS}:offset") or 0.0)
        self._check_finite(prim, ratios, offset)
        follows = tuple(zip(map(str, leaders), map(float, ratios), strict=True))
        name = text_of(prim, NAME) or prim.GetName()
        return Coupling(name, text_of(prim, GEARS), follows, offset, source=self.file)

    def _moves(self, prim: Any) -> bool:
        """Return whether a prim is a rigid body that is not held in place."""
        if not prim.HasAPI(self.physics.RigidBodyAPI):
            return False
        body = self.physics.RigidBodyAPI(prim)
        held = body.GetKinematicEnabledAttr().Get() or not body.GetRigidBodyEnabledAttr().Get()
        if held:
            self.left_out.add("motions of kinematic bodies, which stand still", prim.GetName())
        return not held

    def _tree(
        self, bodies: Sequence[Any], links: list[Link], edges: Sequence[_Edge], stated: str | None
    ) -> tuple[list[Link], list[Joint], list[Loop], Frame | None]:
        """Return links, tree and cuts; and where the root is where that is not the ground.

        A lone weld to the ground makes its body the root, if the file does not state another one.
        """
        free = [edge.joint for edge in edges if edge.joint is not None and not edge.cut]
        grounded = [joint for joint in free if WORLD in (joint.parent, joint.child)]
        base: Frame | None = None
        if len(grounded) == 1 and grounded[0].type == "fixed":
            held = grounded[0]
            own = held.child if held.parent == WORLD else held.parent
            alone = not any(WORLD in _ends(edge) for edge in edges if edge.joint is not held)
            if alone and stated in (None, own):
                free.remove(held)
                prim = next(p for p in bodies if self.names[str(p.GetPath())] == own)
                base, root = self._place(prim), own
        if base is None:
            links, root = [Link(WORLD), *links], WORLD
        names = [link.name for link in links]
        kept = {joint.name for joint in free if joint.mimic is not None}
        tree, cut, parts = spanning_tree(names, free, kept, root)
        for prim in bodies:
            name = self.names[str(prim.GetPath())]
            if name in parts:
                called = text_of(prim, FREE) or f"{name}.free"
                if base is not None:
                    links.insert(0, Link(WORLD))
                    tree.append(Joint(PLACED, "fixed", WORLD, root, base))
                    base = None
                tree.append(Joint(called, "floating", WORLD, name, self._place(prim)))
        loops = [as_cut(joint) for joint in cut]
        loops += [edge.loop for edge in edges if edge.joint is None or edge.cut]
        order = {edge.loop.name: k for k, edge in enumerate(edges)}
        tree.sort(key=lambda joint: order.get(joint.name, -1))
        return links, tree, sorted(loops, key=lambda loop: order[loop.name]), base

    def _gravity(self, prims: Sequence[Any], base: Frame | None) -> Vector3:
        up = "XYZ".index(str(self.geom.GetStageUpAxis(self.stage)))
        direction, size = -np.eye(3)[up], EARTH
        scene = next((prim for prim in prims if prim.IsA(self.physics.Scene)), None)
        if scene is not None:
            toward = entries_of(number_of(scene, "physics:gravityDirection"))
            direction = toward / np.linalg.norm(toward) if np.any(toward) else direction
            stated = float(number_of(scene, "physics:gravityMagnitude"))
            size = stated * self.metre if np.isfinite(stated) and stated >= 0.0 else EARTH
        turned = direction if base is None else base.rotation.T @ direction
        x, y, z = (size * turned + 0.0).tolist()
        return x, y, z

    def _driven(self, prims: Sequence[Any]) -> tuple[str, ...]:
        """Return the joints with a drive; its gains are not read."""
        driven = [prim for prim in prims if any(True for _ in self._drives(prim))]
        for prim in driven:
            self.left_out.add("gains and targets of drives", prim.GetName())
        return tuple(self.edges[str(prim.GetPath())] for prim in driven)

    def _drives(self, prim: Any) -> Iterator[Any]:
        for kind in ("angular", "linear", *AXES):
            if prim.HasAPI(self.physics.DriveAPI, kind):
                yield self.physics.DriveAPI(prim, kind)

    def _check_finite(self, prim: Any, *values: ArrayLike) -> None:
        for value in map(np.asarray, values):
            if not (np.abs(value) < LARGEST).all():
                raise FileError(
                    f"{prim.GetPath()}: expected numbers below {LARGEST:g}, got {value.tolist()}",
                    self.file,
                )

    # Where a prim is, and its scale.

    def _matrix(self, prim: Any) -> tuple[Frame, Array]:
        """Return the frame of a prim in the world, m, and its scale along its own axes."""
        matrix = np.array(self.cache.GetLocalToWorldTransform(prim)).T
        scale = np.linalg.norm(matrix[:3, :3], axis=0)
        scale = np.where(np.abs(scale - 1.0) < SINGLE, 1.0, scale)
        self._check_finite(prim, matrix)
        if not scale.all():
            raise FileError(f"{prim.GetPath()}: its transform has no inverse", self.file)
        if np.linalg.det(matrix[:3, :3]) < 0.0:
            scale = -scale  # a mirror image
        turn = matrix[:3, :3] / scale
        if np.abs(turn.T @ turn - np.eye(3)).max() > SHEARED:
            raise FileError(
                f"{prim.GetPath()}: its transform is sheared, a scale along other axes than its "
                f"own; scale the shapes instead",
                self.file,
            )
        return Frame(turn, matrix[:3, 3] * self.metre), scale

    def _place(self, prim: Any) -> Frame:
        return self._matrix(prim)[0]

    # Bodies.

    def _body(self, prim: Any) -> tuple[Inertia | None, tuple[Geometry, ...]]:
        """Return a body's inertia and its shapes for pictures."""
        shapes = list(self._shapes(prim))
        visuals = tuple(shape for shape, _, _ in shapes if shape is not None)
        if said(prim, f"{OURS}massless"):
            return None, visuals
        name = prim.GetName()
        mass, density = 0.0, 0.0
        centre = diagonal = None
        turn = np.eye(3)
        if prim.HasAPI(self.physics.MassAPI):
            mass = float(number_of(prim, "physics:mass")) * self.kilogram
            density = float(number_of(prim, "physics:density")) * self.kilogram / self.metre**3
            place = entries_of(number_of(prim, "physics:centerOfMass"))
            centre = (
                place * self._matrix(prim)[1] * self.metre if np.isfinite(place).all() else None
            )
            moments = entries_of(number_of(prim, "physics:diagonalInertia"))
            if moments.any():
                diagonal = moments * self.kilogram * self.metre**2
                turn = rotation_of(number_of(prim, "physics:principalAxes"))
        if not mass or diagonal is None or centre is None:
            solid = [(shape, part) for shape, part, collides in shapes if collides]
            if any(shape is None or shape.kind == "mesh" for shape, _ in solid):
                self.left_out.add("masses of meshes that collide", name)
            whole = lump(part for _, part in solid)
            if whole.is_zero():
                if not mass:
                    raise FileError(
                        f"{prim.GetPath()}: a body without a mass, and without a collider (cube, "
                        f"sphere, cylinder, capsule) to compute it from; write physics:mass",
                        self.file,
                    )
                if diagonal is None:
                    self.left_out.add("moments of inertia of shapes, which are 0 here", name)
            else:
                size = mass or whole.mass * (density / WATER if density else 1.0)
                centre = whole.centre if centre is None else centre
                if diagonal is None:
                    off = centre - whole.centre  # of a stated centre, as pxr has it
                    about = whole.central / whole.mass + off @ off * np.eye(3) - np.outer(off, off)
                    diagonal, turn = np.linalg.eigh(size * about)
                mass = size
        zero = np.zeros(3)
        centre, diagonal = (zero if x is None else x for x in (centre, diagonal))
        self._check_finite(prim, mass, centre, diagonal, turn)
        if mass < 0.0 or density < 0.0:
            raise FileError(
                f"{prim.GetPath()}: expected a mass and a density of 0 or more, got {mass:g} kg "
                f"and {density:g} kg/m³",
                self.file,
            )
        inertia = inertia_at(Frame(turn, centre), mass, np.diag(diagonal))
        if why := unphysical(mass, inertia.central):
            self.left_out.add(f"{UNPHYSICAL}: {why}", name)
        return inertia, visuals

    def _shapes(self, body: Any) -> Iterator[tuple[Geometry | None, Inertia, bool]]:
        """Yield the shapes of a body, what they weigh as water, and whether they collide.

        Of a mesh that only collides None is the shape: pictures do not show it.
        """
        own = self._place(body)
        below = iter(self.usd.PrimRange(body, self.usd.TraverseInstanceProxies()))
        for prim in below:
            if prim != body and self._moves(prim):
                below.PruneChildren()
                continue
            kind = str(prim.GetTypeName())
            if kind == "Mesh":
                place, scale = self._matrix(prim)
                path, size = str(prim.GetPath()), tuple((scale * self.metre).tolist())
                mesh = Geometry("mesh", own.inverse() @ place, (), path, f"{self.file}[{path}]")
                shown = self.geom.Imageable(prim).ComputePurpose() in SHOWN
                collides = prim.HasAPI(self.physics.CollisionAPI)
                yield replace(mesh, scale=size) if shown else None, Inertia.zero(), collides
                continue
            if kind not in ("Cube", "Sphere", "Cylinder", "Capsule"):
                if prim.HasAPI(self.physics.CollisionAPI):
                    self.left_out.add("colliders of other kinds", prim.GetName())
                continue
            place, scale = self._matrix(prim)
            here = own.inverse() @ place
            scale = np.abs(scale) * self.metre
            if prim != body and prim.HasAPI(self.physics.MassAPI):
                self.left_out.add("masses and densities of shapes", body.GetName())
            get = prim.GetAttribute
            if kind == "Cube":
                size = tuple((float(get("size").Get()) * scale).tolist())
                moments = WATER * np.prod(size) / 12 * (sum(x * x for x in size) - np.square(size))
                part = Inertia(WATER * float(np.prod(size)), np.zeros(3), np.diag(moments))
                shape = Geometry("box", here, size)
            else:
                radius = float(get("radius").Get()) * float(scale.min())
                along = 0.0
                if kind != "Sphere":
                    axis = "XYZ".index(get("axis").Get())
                    radius = float(get("radius").Get()) * float(np.delete(scale, axis).mean())
                    along = float(get("height").Get()) * float(scale[axis])
                    turn = np.roll(np.eye(3), axis - 2, axis=0)  # z along the axis
                    here = here @ Frame(turn, np.zeros(3))
                part = _round(kind, radius, along)
                shape = Geometry(kind.lower(), here, (radius, along) if along else (radius,))
            yield shape, part.seen_from(here), prim.HasAPI(self.physics.CollisionAPI)

    # Joints.

    def _edge(self, prim: Any) -> _Edge | None:
        """Return what a joint holds together; None of one that does nothing."""
        joint = self.physics.Joint(prim)
        if joint.GetJointEnabledAttr().Get() is False:
            return None
        name = self.edges[str(prim.GetPath())]
        ends = [self._end(prim, side) for side in (0, 1)]
        (parent, first), (child, second) = ends
        if parent == child:
            self.left_out.add("joints of a body with itself, or of the ground", name)
            return None
        turn = second.rotation
        at, here = Frame(np.eye(3), second.translation), first @ Frame(turn.T, np.zeros(3))
        bare = Joint(name, "fixed", parent, child, here, child_frame=at)
        cut = bool(joint.GetExcludeFromArticulationAttr().Get())
        masked = Loop(name, "mask", LoopEnd(parent, first), LoopEnd(child, second))
        kind = prim.GetTypeName().removeprefix("Physics").removesuffix("Joint")
        if kind in KINDS:
            made = replace(bare, type=KINDS[kind])
            if kind in ("Revolute", "Prismatic"):
                axis = np.eye(3)["XYZ".index(str(prim.GetAttribute("physics:axis").Get()))]
                made = self._limited(prim, replace(made, axis=_vector(turn @ axis)))
        elif kind == "Distance":
            low, high = (
                float(number_of(prim, f"physics:{end}Distance")) * self.metre
                for end in ("min", "max")
            )
            if not 0.0 < low == high:
                self.left_out.add("ranges of distances", name)
                return None
            return _Edge(None, replace(masked, type="distance", length=high), cut)
        else:
            rows = tuple(int(self._locked(prim, axis)) for axis in AXES)
            generic = _generic(bare, rows, turn)
            if generic is None or generic.type == "floating":
                return _Edge(None, replace(masked, rows=rows), cut) if any(rows) else None
            made = generic
        if kind == "Spherical" and any(
            float(number_of(prim, f"physics:coneAngle{k}Limit")) >= 0.0 for k in (0, 1)
        ):
            self.left_out.add("limits of ball joints", name)
        made = self._with_dynamics(prim, made)
        return _Edge(made, as_cut(made), cut)

    def _end(self, prim: Any, side: int) -> tuple[str, Frame]:
        """Return the link on one side of a joint, and the joint's frame in it."""
        place = entries_of(number_of(prim, f"physics:localPos{side}"))
        turn = rotation_of(number_of(prim, f"physics:localRot{side}"))
        self._check_finite(prim, place, turn)
        targets = prim.GetRelationship(f"physics:body{side}").GetTargets()
        target = self.stage.GetPrimAtPath(targets[0]) if targets else None
        if target is None or not target.IsValid():
            if targets:
                raise FileError(f"{prim.GetPath()}: there is no {targets[0]}", self.file)
            return WORLD, Frame(turn, place * self.metre)
        body = target
        while body.IsValid() and str(body.GetPath()) not in self.names:
            body = body.GetParent()
        frame, scale = self._matrix(target)
        local = Frame(turn, place * scale * self.metre)
        if body == target:
            return self.names[str(target.GetPath())], local
        if not body.IsValid():
            return WORLD, frame @ local
        return self.names[str(body.GetPath())], self._place(body).inverse() @ frame @ local

    def _locked(self, prim: Any, axis: str) -> bool:
        """Return whether a generic joint locks an axis: its limits are crossed, or both are 0."""
        if not prim.HasAPI(self.physics.LimitAPI, axis):
            return False
        limit = self.physics.LimitAPI(prim, axis)
        low, high = float(limit.GetLowAttr().Get()), float(limit.GetHighAttr().Get())
        if low == high == 0.0:
            return True
        if low <= high and np.isfinite([low, high]).any():
            self.left_out.add("limits of generic joints", prim.GetName())
        return low > high

    def _limited(self, prim: Any, joint: Joint) -> Joint:
        """Return a hinge or slide with its limits and the largest force of its drive."""
        turns = joint.type == "revolute"
        unit = np.pi / 180.0 if turns else self.metre
        ends = [float(number_of(prim, f"physics:{end}Limit")) for end in ("lower", "upper")]
        lower, upper = (unit * x if np.isfinite(x) else None for x in ends)
        if None not in (lower, upper) and ends[0] > ends[1]:
            self.left_out.add("limits that are reversed, read as they stand", joint.name)
        effort = None
        for drive in self._drives(prim):
            most = float(number_of(prim, drive.GetMaxForceAttr().GetName()))
            factor = self.kilogram * self.metre ** (2 if turns else 1)
            effort = most * factor if np.isfinite(most) else None
        free = turns and lower is None and upper is None
        limits = Limits(lower, upper, effort, *(own_number(prim, name) for name in RATES))
        return replace(joint, type="continuous" if free else joint.type, limits=limits)

    def _with_dynamics(self, prim: Any, joint: Joint) -> Joint:
        """Return a joint with what attributes of ours say."""
        damping, friction, stiffness, rest = (own_number(prim, name) or 0.0 for name in DYNAMICS)
        bare = joint.type == "continuous" and text_of(prim, f"{OURS}type") == "revolute"
        mimic = None
        if leader := text_of(prim, MIMIC):
            numbers = (float(said(prim, f"{MIMIC}:{x}") or 0.0) for x in ("multiplier", "offset"))
            mimic = Mimic(leader, *numbers)
        return replace(
            joint,
            type="revolute" if bare else joint.type,
            damping=damping,
            friction=friction,
            stiffness=stiffness,
            rest=rest,
            mimic=mimic,
        )


def _ends(edge: _Edge) -> tuple[str, str]:
    return edge.loop.predecessor.link, edge.loop.successor.link


def _vector(direction: Array) -> Vector3:
    x, y, z = (direction / np.linalg.norm(direction)).tolist()
    return x, y, z


def _round(kind: str, radius: float, length: float) -> Inertia:
    """Return the inertia of a sphere, cylinder or capsule of water along z."""
    ball = WATER * 4 / 3 * np.pi * radius**3 * (kind != "Cylinder")
    rod = WATER * np.pi * radius**2 * length
    ends = 0.4 * radius**2 + length**2 / 4 + 3 / 8 * length * radius  # of two half balls
    across = rod * (3 * radius**2 + length**2) / 12 + ball * ends
    along = rod * radius**2 / 2 + ball * 0.4 * radius**2
    return Inertia(rod + ball, np.zeros(3), np.diag([across, across, along]))


def _generic(bare: Joint, rows: tuple[int, ...], turn: Array) -> Joint | None:
    """Return a generic joint as one of the joint table, None where it is none of them.

    Two free turns are a universal joint as our masks have it: the axis after the locked one is the
    parent's, the other the child's.
    """
    slides = [k for k in range(3) if not rows[k]]
    turns = [k for k in range(3) if not rows[3 + k]]

    def axis(k: int) -> Vector3:
        return _vector(turn[:, k])

    match len(slides), len(turns):
        case 0, 0:
            return bare
        case 0, 1:
            return replace(bare, type="continuous", axis=axis(turns[0]))
        case 1, 0:
            return replace(bare, type="prismatic", axis=axis(slides[0]))
        case 1, 1 if slides == turns:
            return replace(bare, type="cylindrical", axis=axis(turns[0]))
        case 0, 2:
            locked = 3 - sum(turns)
            first, second = axis((locked + 1) % 3), axis((locked + 2) % 3)
            return replace(bare, type="universal", axis=first, axis2=second)
        case 0, 3:
            return replace(bare, type="spherical")
        case 2, 1 if turns[0] not in slides:
            return replace(bare, type="planar", axis=axis(turns[0]))
        case 3, 3:
            return replace(bare, type="floating")
    return None


def _renamed(
    links: list[Link], joints: list[Joint], loops: list[Loop], name: str
) -> tuple[list[Link], list[Joint], list[Loop]]:
    """Return a machine whose ground has the name that the file gives it."""

    def called(link: str) -> str:
        return name if link == WORLD else link

    def end(one: LoopEnd) -> LoopEnd:
        return replace(one, link=called(one.link))

    return (
        [replace(link, name=called(link.name)) for link in links],
        [replace(x, parent=called(x.parent), child=called(x.child)) for x in joints],
        [replace(x, predecessor=end(x.predecessor), successor=end(x.successor)) for x in loops],
    )
