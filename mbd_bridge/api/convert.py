"""A machine as a robot's file of any format."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.base.arguments import file_path
from mbd_bridge.base.errors import ModelError
from mbd_bridge.base.extensions import extension, of_applications
from mbd_bridge.files.document import LeftOut
from mbd_bridge.files.sidecars import FLEXIBLE, FORCES, LOOPS, existing_sidecar, sidecar_path
from mbd_bridge.files.whole_file import inputs_kept, note_input
from mbd_bridge.files.write import Form, form_of, refuse_stale, write_description
from mbd_bridge.forces.files import file_elements
from mbd_bridge.model import EARTH
from mbd_bridge.model.description import Description, Joint, Link

WORLD = "world"
FREE = "free_base"
"""Name of the joint that lets a floating base go, in formats that have one."""


class Converted(NamedTuple):
    """What `convert` wrote.

    Attributes
    ----------
    files : paths
    notes : what the format has no place for
    """

    files: tuple[str, ...]
    notes: tuple[str, ...]


def convert(
    machine: Mechanism, output: str | PathLike[str], *, form: Form | None = None
) -> Converted:
    """Write a machine as URDF with sidecars, URDF+, MJCF, SDF or USD, as far as each can say it.

    Its links are rigid (``mbd.load(..., flexible=())``) and keep their frames, joints their
    coordinates. What the format has no place for is listed in one warning.

    Parameters
    ----------
    output : the file to write. Beside a URDF stand ``NAME.loops.yaml``, ``NAME.forces.yaml`` and
        ``NAME.actuators.yaml`` with what only they can say
    form : "URDF", "URDF+", "MJCF", "SDF" or "USD"; None: what the suffix of `output` tells (.urdf,
        .sdf, .xml, .usda)

    Examples
    --------
    >>> mbd.load("cassie.sdf").convert("cassie.urdf").notes              # doctest: +SKIP
    """
    path = fspath(file_path("output", output))
    kind = form_of(path, form)
    beside = (LOOPS, FORCES, *_stated_suffixes()) if kind in ("URDF", "URDF+") else ()
    with inputs_kept([path, *(str(sidecar_path(Path(path), suffix)) for suffix in beside)]):
        return _converted(machine, path, kind)


def _converted(robot: Mechanism, path: str, kind: Form) -> Converted:
    """Write a machine, and say what the format has no place for."""
    model, source = robot.model, robot.model.description.source
    if source is not None:
        note_input(source)
        for suffix in (LOOPS, FORCES, *_stated_suffixes(), FLEXIBLE):
            note_input(sidecar_path(Path(source), suffix))
    if model.flexible:
        raise ModelError(
            "links that bend stand in no robot file: convert the rigid machine, "
            "mbd.load(..., flexible=()), and keep NAME.flex.yaml"
        )
    gravity = tuple(np.asarray(model.gravity, dtype=np.float64).tolist())
    described = model.description
    if described.gravity is not None or gravity != EARTH:
        described = replace(described, gravity=(gravity[0], gravity[1], gravity[2]))
    left_out = LeftOut(path, kind, "cannot say all of it")
    is_urdf = kind in ("URDF", "URDF+")
    if is_urdf and model.rotors is not None:
        left_out.add("that rotors act (load it with joint_dynamics=True)")
    if model.floating:
        if is_urdf:
            left_out.add("that the base floats (load it with floating=True)")
        else:
            described = _on_a_free_joint(described)
    if source is not None and existing_sidecar(source, FLEXIBLE):
        left_out.add("links that bend (NAME.flex.yaml)")
    kept = [FORCES] if robot.forces else []
    kept += [f".{name}.yaml" for name, one in robot.stated.items() if one]
    for suffix in (FORCES, *_stated_suffixes(), FLEXIBLE):
        if not is_urdf or suffix not in kept:
            refuse_stale(sidecar_path(Path(path), suffix))
    if not is_urdf:
        in_joints = {(one.kind, one.name) for one in file_elements(model)}
        for element in robot.forces:
            if (element.kind, element.name) not in in_joints:
                left_out.add("force elements", element.name)
        for name in robot.stated:
            left_out.add(f"{name} (NAME.{name}.yaml)")
    written, notes = write_description(described, path, kind, left_out)
    return Converted((*written, *(_sidecars(robot, path) if is_urdf else ())), notes)


def _on_a_free_joint(described: Description) -> Description:
    carried = {joint.child for joint in described.joints}
    base = next(link.name for link in described.links if link.name not in carried)
    if base == WORLD:
        raise ModelError(
            f"the root link is called {WORLD!r}, and the base floats: MJCF and SDF keep that name "
            f"for the ground; rename the link"
        )
    free = Joint(FREE, "floating", WORLD, base)
    return replace(
        described, links=(Link(WORLD), *described.links), joints=(free, *described.joints)
    )


def _stated_suffixes() -> list[str]:
    return [f".{name}.yaml" for name in of_applications("sidecars")]


def _sidecars(robot: Mechanism, path: str) -> list[str]:
    """Write force elements and what is stated of the machine beside a URDF; return the files."""
    files = []
    if robot.forces:
        from mbd_bridge.forces.files import save_forces

        files.append(str(sidecar_path(Path(path), FORCES)))
        save_forces(files[-1], robot.forces)
    for name, parts in robot.stated.items():
        files.append(str(sidecar_path(Path(path), f".{name}.yaml")))
        extension("sidecars", name).write(files[-1], parts)
    return files
