"""``mbd info``: what is in the file, as the model understands it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mbd_bridge.base.errors import count
from mbd_bridge.cli.parser import add_robot

if TYPE_CHECKING:
    from mbd_bridge.base.table import Table
    from mbd_bridge.model import Model

GROUP = "look at a machine"
SUMMARY = "the tree of joints, coordinates, degrees of freedom, masses, loops"
DESCRIPTION = """\
Show what is in a robot's file: the tree of its joints with type, axis, limits and child link; the
coordinates by name, in the order of q; masses, degrees of freedom, loops and where they are cut;
force elements of NAME.forces.yaml; at the end everything that is odd in the file.

  mbd info urdf/kuka_iiwa.urdf
  mbd info humanoid.urdf --floating | less
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)


def run(options: argparse.Namespace) -> int:
    """Print the description of a robot."""
    from mbd_bridge.cli import screen
    from mbd_bridge.cli.assemble import show_loops
    from mbd_bridge.forces.base import element_table
    from mbd_bridge.model import outline

    robot, remarks = screen.robot_and_remarks(options)
    model = robot.model
    console = screen.stdout()

    def show(table: Table) -> None:
        screen.show(console, "", table.title, table)

    screen.show(console, _headline(model), "", outline.joint_table(model))
    if model.nv:
        show(outline.coordinate_table(model))
    if robot.configurations:
        named = ", ".join(robot.configurations)
        screen.show(console, "", f"named configurations (robot.configurations): {named}")
    if model.loops:
        show(outline.loop_table(model))
    if model.description.couplings:
        screen.show(console, "", outline.gear_table(model))
    if model.cuts:
        show_loops(console, robot)
    if model.flexible:
        show(outline.flexible_table(model))
    if robot.forces:
        show(element_table(robot.forces))
    unused = screen.unused_in_file(robot, "loads and dynamics")
    if unused:
        screen.show(console, "", f"note: {unused}")
    for remark in remarks:
        screen.show(console, "", f"warning: {remark}")
    return 0


def _headline(model: Model) -> str:
    fixed = sum(not joint.moving for joint in model.joints[1:])
    coupled = sum(joint.follows is not None and not joint.is_station for joint in model.joints)
    kinds = [f"{fixed} fixed"] if fixed else []
    kinds += [f"{coupled} coupled"] if coupled else []
    inside = f" ({', '.join(kinds)})" if kinds else ""
    loops = f", {count(len(model.loops), 'loop joint')}" if model.loops else ""
    gears = sum(bool(one.follows) for one in model.description.couplings)
    locks = len(model.description.couplings) - gears
    loops += f", {gears} {'pair' if gears == 1 else 'pairs'} of gears" if gears else ""
    loops += f", {count(locks, 'locked coordinate')}" if locks else ""
    base = "floating" if model.floating else "fixed"
    mass = sum(model.masses)
    dof = count(model.nv, "degree of freedom") + (" of the tree" if model.cuts else "")
    kind = model.description.format
    form = "" if kind in ("", "URDF") else f" ({kind})"
    return (
        f"{model.name}{form}: {count(len(model.links), 'link')}, "
        f"{count(len(model.joints) - 1, 'joint')}{inside}{loops}, {dof}, {base} base, "
        f"{mass:.6g} kg"
    )
