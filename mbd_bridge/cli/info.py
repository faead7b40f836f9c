"""``mbd info``: what is in the file, as the model understands it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mbd_bridge.base.errors import count
from mbd_bridge.cli.parser import add_robot

if TYPE_CHECKING:
    from rich.table import Table

    from mbd_bridge.forces import ForceElement
    from mbd_bridge.model import Model

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
    from mbd_bridge.cli import loop_tables, screen
    from mbd_bridge.reports import outline

    robot, remarks = screen.robot_and_remarks(options)
    model = robot.model
    console = screen.stdout()
    joints = screen.table(*outline.rows(model))
    screen.show(console, _headline(model), "", joints, "", outline.legend(model))
    if model.nv:
        screen.show(console, "", "coordinates", _coordinates(model))
    if robot.configurations:
        named = ", ".join(robot.configurations)
        screen.show(console, "", f"named configurations (robot.configurations): {named}")
    if model.loops:
        screen.show(console, "", "loop joints: cut here, as the file says", _loops(model))
    if model.description.couplings:
        screen.show(console, "", _gears(model))
    if model.cuts:
        loop_tables.info(console, robot)
    if model.flexible:
        screen.show(console, "", "links that bend", _flexible(model))
    if robot.forces:
        screen.show(console, "", "force elements", _forces(robot.forces))
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


def _coordinates(model: Model) -> Table:
    from mbd_bridge.cli import screen
    from mbd_bridge.model.units import model_units

    of_q, of_v = model_units(model)
    names, rates = model.coordinate_names, model.velocity_names
    rows = []
    for k in range(max(len(names), len(rates))):
        q = (str(k), names[k], "" if of_q[k] == "1" else of_q[k]) if k < len(names) else ("",) * 3
        v = (str(k), rates[k], f"{of_v[k]}/s") if k < len(rates) else ("",) * 3
        rows.append((*q, *v))
    return screen.table((">", "q", "unit", ">", "v", "unit"), rows)


def _loops(model: Model) -> Table:
    from mbd_bridge.cli import screen
    from mbd_bridge.model import JOINT_TYPES

    rows = []
    number = {cut.name: len(cut.rows) for cut in model.cuts}
    for loop in model.loops:
        entry = JOINT_TYPES.get("prismatic" if loop.type == "translational" else loop.type)
        held = "".join(map(str, loop.rows or ()))
        rows.append(
            (
                loop.name,
                f"{loop.type} {held}".rstrip(),
                loop.predecessor.link,
                loop.successor.link,
                str(number[loop.name]),
                f"{entry.weight:g}" if entry else "",
            )
        )
    headings = ("loop joint", "type", "predecessor", "successor", ">rows", ">cut rank")
    return screen.table(headings, rows)


def _forces(elements: tuple[ForceElement, ...]) -> Table:
    from mbd_bridge.cli import screen

    rows = [(one.name, type(one).__name__, one.place, one.numbers) for one in elements]
    return screen.table(("name", "type", "acts", "numbers"), rows)


def _flexible(model: Model) -> Table:
    from mbd_bridge.cli import screen

    rows = []
    for part in model.flexible:
        name = model.links[part.link].name
        hertz = ", ".join(f"{f:.4g}" for f in part.frequencies())
        damped = "yes" if part.damping.any() else "no"
        stiffened = "yes" if part.integrals.pairs else "no"
        rows.append((name, f"{part.integrals.mass:.6g}", hertz, damped, stiffened))
    head = ("link", "kg", "natural frequencies, link held at its joint, Hz", "damped", "stiffening")
    return screen.table(head, rows)


def _gears(model: Model) -> Table:
    from mbd_bridge.cli import screen

    rows = []
    for gears in model.description.couplings:
        terms = [(ratio, " " + leader) for leader, ratio in gears.follows]
        if gears.offset or not terms:
            terms.append((gears.offset, ""))
        (first, what), *others = terms
        rest = "".join(f" {'-' if x < 0 else '+'} {abs(x):g}{of}" for x, of in others)
        rows.append((gears.name, f"{gears.joint} = {first:g}{what}{rest}"))
    return screen.table(("gears", "constraint"), rows)
