"""``mbd sections``: loads and stress in cross sections of a link that bends, along a motion."""

from __future__ import annotations

import argparse

import numpy as np

from mbd_bridge.cli import along, shared
from mbd_bridge.cli.parser import add_output, add_robot

GROUP = "loads"
SUMMARY = "axial force, shear, torsion, bending and stress inside a flexible link"
DESCRIPTION = f"""\
Compute the loads in cross sections of a link that bends (NAME.flex.yaml), along a motion.

  mbd sections urdf/ralf.urdf run.csv --link upper --x 0 1.5 3 -o sections.csv
  mbd sections urdf/flexible_pendulum.urdf --q hinge=90deg --link strip

{along.TEXT}
The motion has the modal coordinates among its columns, as what mbd simulate writes. Out comes a
table, CSV or what the suffix of -o says, with time and for each place
<x>.axial [N], .fy, .fz, .torsion [N m], .my, .mz, .stress [Pa], ...: what the side of the root
exerts on the part beyond, in the section's axes (x along the beam); axial is positive in tension,
stress is the largest normal stress, by size. With -o a summary is printed.
"""

EVENLY = 5
"""Places along the beam where none are given."""

ROUNDING = 1e-12
"""Peaks below this part of the largest with their unit are shown as 0."""

COMPONENTS = ("axial", "fy", "fz", "torsion", "my", "mz")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    along.add_pose(parser)
    parser.add_argument("--link", required=True, metavar="LINK", help="that bends")
    parser.add_argument(
        "--x",
        nargs="+",
        type=float,
        metavar="X",
        help=f"places, m from the beam's start ({EVENLY} from one end to the other)",
    )
    add_output(parser)
    along.add_arguments(parser, threads=False)


def run(options: argparse.Namespace) -> int:
    """Compute and write the loads."""
    from mbd_bridge.base.table import Series, Table
    from mbd_bridge.cli import screen
    from mbd_bridge.files.tables import Column, TableWriter
    from mbd_bridge.loads.sections import SectionSolver, has_fibres
    from mbd_bridge.model.flexible import Beam
    from mbd_bridge.motion.table import TIME, attributes

    along.check_given(options)
    shared.check_table(options)
    robot = along.load_robot(options)
    beams = {one.link: one.beam for one in robot.model.description.flexible}
    beam = beams.get(options.link)
    length = beam.length if isinstance(beam, Beam) else 1.0  # others are refused by the solver
    x = np.linspace(0.0, length, EVENLY) if options.x is None else np.array(options.x)
    forces = along.read_external(options, robot, tell=False)
    with screen.waiting("preparing the kernel"):
        solver = SectionSolver(robot.model, options.link, x)
        joints = robot.compile(
            "joint_loads",
            list(solver.stations),
            links=() if forces is None else forces.links,
            actuated=options.actuated,
            minimum_norm=options.minimum_norm,
        )
    stress = has_fibres(solver.beam)
    units = dict.fromkeys(COMPONENTS[:3], "N") | dict.fromkeys(COMPONENTS[3:], "N m")
    units |= {"stress": "Pa"} if stress else {}
    columns = [Column(f"{p:g}.{name}", unit) for p in x for name, unit in units.items()]
    said = {"sections": f"of {options.link}, m from its beam's start; root on the part beyond"}
    largest, rows = np.zeros((len(x), len(units))), 0
    with along.pieces(options, robot.model) as pieces:
        about = attributes(f"section loads of {robot.model.name}", pieces.notes) | said
        target = options.output or screen.data_stdout()
        with TableWriter(target, [TIME, *columns], about) as out:
            for motion in pieces:
                wrench = joints.at_states(motion, forces).wrench
                found = solver(motion.q, motion.v, motion.a, wrench)
                parts = [found.axial[..., None], found.force[..., 1:], found.moment]
                if stress:
                    parts.append(found.largest_stress[..., None])
                table = np.concatenate(parts, axis=-1)
                out.append(np.column_stack([motion.time, table.reshape(len(table), -1)]))
                largest = np.maximum(largest, np.abs(table).max(axis=0))
                rows += len(table)
        notes = pieces.notes
    screen.say_all(notes)
    if not stress:
        screen.say(f"no stress: the section of {options.link!r} has no half_y and half_z")
    if options.output is not None:
        floors: dict[str, float] = {}
        for unit, sizes in zip(units.values(), largest.T, strict=True):
            floors[unit] = max(floors.get(unit, 0.0), ROUNDING * float(sizes.max()))
        pairs = zip(units.items(), largest.T, strict=True)
        shown = [Series(name, unit, sizes) for (name, unit), sizes in pairs]
        peaks = Table("largest, by size", Series("x", "m", x), shown, floors=floors)
        screen.show(screen.stderr(), peaks.title, peaks, "")
        screen.rows_written(rows, options.output)
    return 0
