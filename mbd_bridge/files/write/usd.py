"""A description as an OpenUSD stage: rigid bodies and joints of UsdPhysics, cuts as such."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mbd_bridge.base.errors import FileError
from mbd_bridge.base.extras import needed
from mbd_bridge.files.document import LeftOut
from mbd_bridge.files.mesh import read_mesh
from mbd_bridge.files.sdf import WORLD
from mbd_bridge.files.usd import (
    ACTS,
    ACTUATED,
    AXES,
    DYNAMICS,
    FREE,
    GEARS,
    KINDS,
    MIMIC,
    RATES,
    ROOT,
)
from mbd_bridge.files.usd_stage import NAME, OURS, modules
from mbd_bridge.files.write.values import at_zero, cannot, quaternion, weightless
from mbd_bridge.model import EARTH
from mbd_bridge.model.description import (
    PERPENDICULAR,
    Coupling,
    Description,
    Geometry,
    Joint,
    Limits,
    Link,
    Loop,
    second_axis,
)
from mbd_bridge.model.spatial import Array, Frame, rotation_that_takes_z_to

TYPES = {kind: name for name, kind in KINDS.items()} | {"continuous": "Revolute"}
TYPES |= {"translational": "Prismatic"}
LOCKED = {
    "cylindrical": (1, 1, 0, 1, 1, 0),
    "universal": (1, 1, 1, 0, 1, 0),
    "planar": (0, 0, 1, 1, 1, 0),
}
"""Rows of generic joints whose z is the axis, and of a universal one x the second."""
SHAPES = {"box": "Cube", "sphere": "Sphere", "cylinder": "Cylinder", "capsule": "Capsule"}


def usd_text(description: Description, left_out: LeftOut) -> str:
    """Return a stage as USDA text, in m and kg, z up; every number has its 64 bits somewhere."""
    return _Writer(description, left_out).text()


class _Writer:
    """Writes one machine; each prim under the name that USD allows it."""

    def __init__(self, description: Description, left_out: LeftOut) -> None:
        self.described, self.left_out = description, left_out
        self.usd, self.geom, self.physics, self.gf = modules(left_out.file)
        why = f"{left_out.file}: OpenUSD needs usd-core"
        self.sdf, self.tf = (
            needed(f"pxr.{name}", why, "mbd_bridge[usd]") for name in ("Sdf", "Tf")
        )
        self.stage = self.usd.Stage.CreateInMemory()
        self.taken: dict[str, str] = {}
        self.bodies: dict[str, Any] = {}

    def text(self) -> str:
        """Return the whole stage."""
        described, stage = self.described, self.stage
        self.geom.SetStageUpAxis(stage, self.geom.Tokens.z)
        self.geom.SetStageMetersPerUnit(stage, 1.0)
        self.physics.SetStageKilogramsPerUnit(stage, 1.0)
        called = self.tf.MakeValidIdentifier(described.name)
        top = self.geom.Xform.Define(stage, f"/{called}").GetPrim()
        stage.SetDefaultPrim(top)
        self.physics.ArticulationRootAPI.Apply(top)
        self.path = str(top.GetPath())
        self._own(top, NAME, described.name)
        self._own(top, ROOT, described.root.name)
        if described.actuated is not None:
            self._own(top, ACTUATED, list(described.actuated))
        if described.joint_dynamics:
            self._own(top, ACTS, True)
        self._scene(np.array(described.gravity or EARTH))
        root, free = described.root.name, {}
        for joint in described.joints:
            if joint.type == "floating" and joint.parent == root:
                free[joint.child] = joint.name
        places = at_zero(described)
        for one in described.links:
            self._link(one, places[one.name], one.name == root)
        for link, name in free.items():
            self._own(self.bodies[link], FREE, name)
        for joint in described.joints:
            if free.get(joint.child) != joint.name:
                self._joint(joint)
        for loop in described.loops:
            self._loop(loop)
        for coupling in described.couplings:
            self._coupling(coupling)
        return str(stage.GetRootLayer().ExportToString())

    def _prim_path(self, name: str) -> str:
        """Return a path that no other prim has."""
        path = f"{self.path}/{self.tf.MakeValidIdentifier(name)}"
        while path in self.taken:
            path += "_"
        self.taken[path] = name
        return path

    def _named(self, prim: Any, name: str) -> None:
        if prim.GetName() != name:
            self._own(prim, NAME, name)

    def _own(self, prim: Any, name: str, value: Any) -> None:
        """Write an attribute that UsdPhysics does not have."""
        types = self.sdf.ValueTypeNames
        kinds = {bool: types.Bool, str: types.String, float: types.Double, list: types.StringArray}
        kinds |= {tuple: types.DoubleArray}
        prim.CreateAttribute(name, kinds[type(value)], custom=True).Set(value)

    def _number(self, prim: Any, name: str, value: float | Iterable[float]) -> None:
        """Write a number, vector or quaternion (w, x, y, z) of 32 bits, and all its digits."""
        numbers = np.atleast_1d(np.asarray(value, dtype=np.float64)).tolist()
        types, gf = self.sdf.ValueTypeNames, self.gf
        kinds = {
            1: (types.Double, lambda x: x),
            3: (types.Double3, gf.Vec3d),
            4: (types.Quatd, gf.Quatd),
        }
        kind, made = kinds[len(numbers)]
        attribute = prim.GetAttribute(name)
        short = {1: float, 3: gf.Vec3f, 4: gf.Quatf}[len(numbers)]
        attribute.Set(short(*numbers))
        if np.any(np.float32(numbers) != np.array(numbers)):
            prim.CreateAttribute(OURS + name, kind, custom=True).Set(made(*numbers))

    def _scene(self, gravity: Array) -> None:
        size = float(np.linalg.norm(gravity))
        prim = self.physics.Scene.Define(self.stage, f"{self.path}/physicsScene").GetPrim()
        self.taken[str(prim.GetPath())] = ""
        for name in ("CreateGravityDirectionAttr", "CreateGravityMagnitudeAttr"):
            getattr(self.physics.Scene(prim), name)()
        self._number(prim, "physics:gravityDirection", gravity / size if size else (0, 0, -1))
        self._number(prim, "physics:gravityMagnitude", size)

    def _link(self, link: Link, place: Frame, root: bool) -> None:
        """Write a link where it is with all joints at zero; a root without mass is the ground."""
        prim = self.geom.Xform.Define(self.stage, self._prim_path(link.name)).GetPrim()
        self.bodies[link.name] = prim
        self._posed(prim, place)
        for shape in link.visuals:
            self._shape(prim, shape)
        self._named(prim, link.name)
        inertia = link.inertia
        if root and inertia is None:
            return
        self.physics.RigidBodyAPI.Apply(prim)
        mass = self.physics.MassAPI.Apply(prim)
        if inertia is None or weightless(link):
            self.left_out.add("massless links, which other readers may refuse", link.name)
            self._own(prim, f"{OURS}massless", True)
            return
        moments, turn = np.diag(inertia.central), np.eye(3)
        if np.any(inertia.central != np.diag(moments)):
            moments, turn = np.linalg.eigh(inertia.central)
            turn[:, 2] *= np.sign(np.linalg.det(turn))
        for name in ("Mass", "CenterOfMass", "DiagonalInertia", "PrincipalAxes"):
            getattr(mass, f"Create{name}Attr")()
        self._number(prim, "physics:mass", inertia.mass)
        self._number(prim, "physics:centerOfMass", inertia.centre)
        self._number(prim, "physics:diagonalInertia", moments)
        self._number(prim, "physics:principalAxes", quaternion(turn))
        if root:
            held = self.physics.FixedJoint.Define(self.stage, self._prim_path("root_joint"))
            held.GetBody1Rel().SetTargets([prim.GetPath()])

    def _posed(self, prim: Any, place: Frame) -> Any:
        form = self.geom.Xformable(prim)
        form.AddTranslateOp().Set(self.gf.Vec3d(*place.translation.tolist()))
        precise = self.geom.XformOp.PrecisionDouble
        form.AddOrientOp(precise).Set(self.gf.Quatd(*quaternion(place.rotation)))
        return form

    def _shape(self, link: Any, shape: Geometry) -> None:
        path = f"{link.GetPath()}/shape_{len(link.GetChildren())}"
        if shape.kind == "mesh":
            self._mesh(path, shape)
            return
        if shape.kind not in SHAPES:
            self.left_out.add("shapes of other kinds", link.GetName())
            return
        made = getattr(self.geom, SHAPES[shape.kind]).Define(self.stage, path)
        form = self._posed(made.GetPrim(), shape.origin)
        if shape.kind == "box":
            made.CreateSizeAttr(1.0)
            form.AddScaleOp().Set(self.gf.Vec3f(*shape.size))
        else:
            made.CreateRadiusAttr(shape.size[0])
            if shape.kind != "sphere":
                made.CreateAxisAttr("Z")
                made.CreateHeightAttr(shape.size[1])
        if shape.colour is not None:
            made.CreateDisplayColorAttr([self.gf.Vec3f(*shape.colour[:3])])

    def _mesh(self, path: str, shape: Geometry) -> None:
        """Write the triangles of a mesh's file, a prim for each colour."""
        try:
            surfaces = read_mesh(shape.path or "")
        except FileError as error:
            self.left_out.add("meshes that cannot be read", error.file or shape.uri or "")
            return
        for k, surface in enumerate(surfaces):
            made = self.geom.Mesh.Define(self.stage, f"{path}_{k}")
            self._posed(made.GetPrim(), shape.origin).AddScaleOp().Set(self.gf.Vec3f(*shape.scale))
            made.CreatePointsAttr(surface.vertices.astype(np.float32))
            made.CreateFaceVertexCountsAttr(np.full(len(surface.triangles), 3, dtype=np.int32))
            made.CreateFaceVertexIndicesAttr(surface.triangles.astype(np.int32).ravel())
            made.CreateSubdivisionSchemeAttr("none")
            if (colour := surface.colour or shape.colour) is not None:
                made.CreateDisplayColorAttr([self.gf.Vec3f(*colour[:3])])
            if surface.texture is not None or shape.texture is not None:
                self.left_out.add("textures", shape.uri or "")

    # Joints.

    def _edge(
        self, name: str, kind: str, ends: tuple[tuple[str, Frame], tuple[str, Frame]], cut: bool
    ) -> Any:
        """Write what joints and cuts have in common; return the prim."""
        made = getattr(self.physics, f"{kind}Joint" if kind else "Joint")
        prim = made.Define(self.stage, self._prim_path(name)).GetPrim()
        self._named(prim, name)
        joint = self.physics.Joint(prim)
        for side, (link, frame) in enumerate(ends):
            if link != WORLD or self.bodies[link].HasAPI(self.physics.RigidBodyAPI):
                prim.GetRelationship(f"physics:body{side}").SetTargets(
                    [self.bodies[link].GetPath()]
                )
            getattr(joint, f"CreateLocalPos{side}Attr")()
            getattr(joint, f"CreateLocalRot{side}Attr")()
            self._number(prim, f"physics:localPos{side}", frame.translation)
            self._number(prim, f"physics:localRot{side}", quaternion(frame.rotation))
        if cut:
            joint.CreateExcludeFromArticulationAttr(True)
        return prim

    def _lock(self, prim: Any, rows: Iterable[int]) -> None:
        """Lock axes of a generic joint: a lower limit above the upper one."""
        for axis, locked in zip(AXES, rows, strict=True):
            if locked:
                limit = self.physics.LimitAPI.Apply(prim, axis)
                limit.CreateLowAttr(1.0)
                limit.CreateHighAttr(-1.0)

    def _held(self, one: Joint | Loop, parent: Frame, child: Frame, cut: bool) -> Any:
        """Write a joint of the tree or a cut of a type that both have; return the prim, or None."""
        ends = (
            (one.parent, one.child)
            if isinstance(one, Joint)
            else (one.predecessor.link, one.successor.link)
        )
        axis, kind, turn = np.array(one.axis), TYPES.get(one.type, ""), np.eye(3)
        letter = next((k for k in range(3) if np.array_equal(axis, np.eye(3)[k])), None)
        if one.type == "universal":
            x = np.array(second_axis(one))
            if abs(x @ axis) > PERPENDICULAR:
                self.left_out.add("universal joints with oblique axes", one.name)
                return None
            turn = np.column_stack([x, np.cross(axis, x), axis])
        elif one.type in LOCKED or (kind in ("Revolute", "Prismatic") and letter is None):
            turn, letter = rotation_that_takes_z_to(axis), 2
        place = Frame(turn, np.zeros(3))
        prim = self._edge(
            one.name, kind, ((ends[0], parent @ place), (ends[1], child @ place)), cut
        )
        if kind in ("Revolute", "Prismatic"):
            prim.GetAttribute("physics:axis").Set("XYZ"[letter or 0])
        if one.type in LOCKED:
            self._lock(prim, LOCKED[one.type])
        return prim

    def _joint(self, joint: Joint) -> None:
        if joint.type not in TYPES and joint.type not in LOCKED:
            raise cannot("USD", joint, (*TYPES, *LOCKED))
        prim = self._held(joint, joint.origin, joint.child_frame, False)
        if prim is None:
            raise cannot("USD", joint, (*TYPES, *LOCKED))
        if joint.turned:
            self.left_out.add("the described sense of joints walked backwards", joint.name)
        if joint.type in ("revolute", "continuous", "prismatic"):
            self._limits(prim, joint)
        if joint.type == "revolute" and joint.limits.lower is joint.limits.upper is None:
            self._own(prim, f"{OURS}type", joint.type)
        for name in DYNAMICS:
            if value := getattr(joint, name):
                self._own(prim, f"{OURS}{name}", float(value))
        if joint.mimic is not None:
            self.left_out.add("mimics, which other readers do not see", joint.name)
            self._own(prim, MIMIC, joint.mimic.joint)
            self._own(prim, f"{MIMIC}:multiplier", float(joint.mimic.multiplier))
            self._own(prim, f"{MIMIC}:offset", float(joint.mimic.offset))

    def _coupling(self, coupling: Coupling) -> None:
        """Write gears, which UsdPhysics does not have."""
        self.left_out.add("couplings, which other readers do not see", coupling.name)
        prim = self.stage.DefinePrim(self._prim_path(coupling.name))
        self._named(prim, coupling.name)
        self._own(prim, GEARS, coupling.joint)
        self._own(prim, f"{GEARS}:follows", [name for name, _ in coupling.follows])
        self._own(prim, f"{GEARS}:ratios", tuple(float(ratio) for _, ratio in coupling.follows))
        self._own(prim, f"{GEARS}:offset", float(coupling.offset))

    def _limits(self, prim: Any, joint: Joint) -> None:
        limits: Limits = joint.limits
        kind, unit = ("linear", 1.0) if joint.type == "prismatic" else ("angular", 180.0 / np.pi)
        for name, value in (("lower", limits.lower), ("upper", limits.upper)):
            if value is not None and joint.type != "continuous":
                self._number(prim, f"physics:{name}Limit", value * unit)
        actuated = self.described.actuated
        if joint.name in (actuated or ()) or (actuated is None and limits.effort):
            drive = self.physics.DriveAPI.Apply(prim, kind)
            drive.CreateTypeAttr("force")
            drive.CreateMaxForceAttr()
        if limits.effort is not None:
            self.physics.DriveAPI.Apply(prim, kind).CreateMaxForceAttr()
            self._number(prim, f"drive:{kind}:physics:maxForce", limits.effort)
        for name in RATES:
            if (value := getattr(limits, name)) is not None:
                self._own(prim, f"{OURS}{name}", float(value))

    def _loop(self, loop: Loop) -> None:
        ends = loop.predecessor, loop.successor
        if loop.type in TYPES or loop.type in LOCKED:
            self._held(loop, ends[0].frame, ends[1].frame, True)
        elif loop.type in ("distance", "mask"):
            frames = (ends[0].link, ends[0].frame), (ends[1].link, ends[1].frame)
            kind = "Distance" if loop.type == "distance" else ""
            prim = self._edge(loop.name, kind, frames, True)
            if loop.type == "mask":
                self._lock(prim, loop.rows or ())
                return
            length = loop.length
            if length is None:
                places = at_zero(self.described)
                points = [(places[link] @ frame).translation for link, frame in frames]
                length = float(np.linalg.norm(points[1] - points[0]))
            for name in ("Min", "Max"):
                getattr(self.physics.DistanceJoint(prim), f"Create{name}DistanceAttr")()
                self._number(prim, f"physics:{name.lower()}Distance", length)
        else:
            self.left_out.add(f"{loop.type} loops", loop.name)
