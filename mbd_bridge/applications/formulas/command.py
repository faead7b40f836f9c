"""``mbd symbolic``: the equations of a small mechanism as formulas."""

from __future__ import annotations

import argparse
import sys

from mbd_bridge.cli.parser import add_robot, from_zero
from mbd_bridge.cli.shared import add_names

GROUP = "hand it on"
SUMMARY = "print the equations of a small mechanism as formulas"
DESCRIPTION = """\
Print mass matrix M, Christoffel symbols C(i), gravity G, stiffness K of flexible links, and the
closing conditions phi of loops as formulas, in the terms of

  M(q) a + C(i)_jk v_j v_k + K q + G(q) + phi_q' lambda = tau

  mbd symbolic urdf/four_bar.urdf
  mbd symbolic urdf/four_bar.urdf --what M phi --numbers
  mbd symbolic urdf/four_bar.urdf --structure
  mbd symbolic urdf/four_bar.urdf --format latex > four_bar.tex
  mbd symbolic urdf/four_bar.urdf --format python > four_bar.py

Masses, lengths and moments are symbols, named after links and joints (m_coupler), unless
--numbers or --parameters say which are. Entries that are zero are left out.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    add_names(parser, "--what", "MATRIX", "of M, C, G, K, phi, phi_q (all but phi_q)")
    parser.add_argument("--format", choices=("text", "latex", "python"), default="text")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--numbers", action="store_true", help="coordinates alone are symbols")
    text = "numbers that are symbols: LINK.mass, LINK.centre, LINK.inertia, JOINT.xyz, gravity"
    add_names(chosen, "--parameters", "NAME", text)
    parser.add_argument(
        "--order",
        type=from_zero,
        metavar="N",
        help="keep terms up to this power of the modal coordinates of flexible links (1)",
    )
    parser.add_argument(
        "--structure", action="store_true", help="which entries are zero, which equal; no formulas"
    )


def run(options: argparse.Namespace) -> int:
    """Print the formulas."""
    from mbd_bridge.applications.formulas import structure, symbolic
    from mbd_bridge.cli import screen

    robot = screen.load_robot(options)
    parameters = () if options.numbers else options.parameters
    with screen.waiting("deriving"):
        model = symbolic(robot, parameters, order=options.order)
        what = options.what or ("M", "C", "G", "K", "phi")
        if options.structure:
            text = str(structure(model))
        elif options.format == "python":
            text = model.python().rstrip()
        else:
            text = getattr(model, options.format)(what)
    sys.stdout.write(text + "\n")
    if model.order is not None:
        screen.say(f"terms up to power {model.order} of the modal coordinates")
    return 0
