"""The page that shows a described scene: styles, data and script in one piece of HTML.

Nothing is fetched: the script is ours and draws with WebGL. Texts from files are shown as texts.
"""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files

from mbd_bridge.view.web.description import Description


def viewer_part(scene: Description) -> str:
    """Return a scene as part of a page: it takes the width that it is given."""
    return (
        f"<style>\n{_file('viewer.css')}</style>\n"
        f'<div class="mbd-view" role="group" aria-label="{escape(scene["title"])}, in 3-D">\n'
        f'<script type="application/json">{_json(scene)}</script>\n'
        f"<script>\n{_script(scene)}</script>\n</div>"
    )


def viewer_page(scene: Description) -> str:
    """Return a page of its own."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(scene['title'])}</title>\n"
        "<style>html, body { margin: 0; height: 100%; color-scheme: light dark; }\n"
        "body > .mbd-view { height: 100vh; height: 100dvh; margin: 0; padding: 0 .5em; }\n"
        "body > .mbd-view .stage { flex: 1; min-height: 40vh; aspect-ratio: auto; "
        "max-height: none; }</style>\n"
        f"</head>\n<body>\n{viewer_part(scene)}\n</body>\n</html>\n"
    )


def _script(scene: Description) -> str:
    """Return the script: its files share one scope; what asks a server is in served pages only."""
    names = ["viewer.js", "marks.js", "controls.js"]
    names += ["live.js"] if scene.get("served") else []
    text = "".join(_file(name) for name in names)
    return f'(function () {{\n"use strict";\n{text}}})();\n'


def _json(scene: Description) -> str:
    """Return JSON that ends no script, whatever names are in it."""
    text = json.dumps(scene, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _file(name: str) -> str:
    return files("mbd_bridge.view.web").joinpath(name).read_text(encoding="utf-8")
