"""Where modules are looked for: never in the folder that a command happens to stand in.

``python -m mbd_bridge`` puts the current folder first, and a ``numpy.py`` that happens to lie there
would be executed. Importing this module takes it out again, so it comes before all others and
imports nothing that such a folder could hold.
"""

import os
import sys


def for_a_child() -> str:
    """Return the ``PYTHONPATH`` of a process that shall import what this one imports.

    Entries that mean "wherever I stand" are left out. The package's own folder comes last, where
    nothing beside it can hide anything.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    home = os.path.dirname(package)
    entries = [entry for entry in sys.path if entry]
    return os.pathsep.join(entries if home in entries else [*entries, home])


def _is_module_run() -> bool:
    """Return whether this is ``python -m mbd_bridge...``, just before its first line."""
    if sys.argv[:1] != ["-m"] or len(sys.orig_argv) < len(sys.argv):
        return False
    word = sys.orig_argv[-len(sys.argv)]  # the name, or glued to its option as in -mNAME
    if word.startswith("-"):
        word = word.partition("m")[2]
    return word.partition(".")[0] == "mbd_bridge"


def _here() -> str:
    """Return the current folder, nothing if it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return ""


if _is_module_run() and not sys.flags.safe_path and sys.path[:1] in ([""], [_here()]):
    del sys.path[0]
