"""``mbd models``: the sample models that come with the package."""

from __future__ import annotations

import argparse
import sys

GROUP = "look at a machine"
SUMMARY = "list the sample models, or print the path of one"
DESCRIPTION = """\
The models that come with mbd_bridge, to try things with. With NAME, the path of that one:

  mbd models
  mbd info $(mbd models four_bar)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="of a model; without it, all")


def run(options: argparse.Namespace) -> int:
    """Print names and paths, or one path."""
    from mbd_bridge.api.load import models
    from mbd_bridge.base.arguments import known_name
    from mbd_bridge.base.errors import FileError

    found = models()
    if options.name is None:
        width = max(map(len, found))
        for name, path in found.items():
            sys.stdout.write(f"{name:{width}s}  {path}\n")
        return 0
    known_name("sample model", options.name, found, error=FileError)
    sys.stdout.write(f"{found[options.name]}\n")
    return 0
