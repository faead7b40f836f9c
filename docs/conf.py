"""Settings of the documentation site: ``sphinx-build -W docs build/site``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import mbd_bridge

project = "mbd_bridge"
author = "the mbd_bridge maintainers"
copyright = author
version = release = mbd_bridge.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["build", "_build"]
myst_heading_anchors = 4
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"mbd_bridge {version}"
html_theme_options = {"navigation_with_keys": True}


def plain_names(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Keep reStructuredText from reading ``in_`` as a link and a plural behind code as a fault.

    Sphinx's event autodoc-process-docstring: it changes `lines` in place.
    """
    for k, line in enumerate(lines):
        if line.startswith(":ivar "):  # of "q, v, z" Sphinx takes all but the last for a type
            names, colon, rest = line[6:].partition(":")
            line = ":ivar " + names.replace(", ", ",") + colon + rest
        lines[k] = re.sub(
            r"(`+[^`]+`+)(?=(\w)?)", lambda found: found[1] + (r"\ " if found[2] else ""), line
        )
        lines[k] = re.sub(r"(`+[^`]*`+)|(?<=\w)_(?!\w)", lambda found: found[1] or r"\_", lines[k])


def meaning_not_type(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Let numpydoc read "name : what it means" as we write it: types stand in the signature."""
    out: list[str] = []
    inside = False
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if following and set(following) == {"-"}:
            inside = line in ("Parameters", "Attributes")
        entry = re.fullmatch(r"([*\w][*\w, ]*) : (.*)", line) if inside else None
        out += [entry[1], "    " + entry[2]] if entry else [line]
    lines[:] = out


def setup(app: Sphinx) -> None:
    """Tell Pygments of a kind of block that it does not know, and read docstrings as we write."""
    app.add_lexer("csv", TextLexer)
    app.connect("autodoc-process-docstring", meaning_not_type, priority=100)  # before napoleon
    app.connect("autodoc-process-docstring", plain_names, priority=900)
