"""A self-contained HTML page: text, tables and pictures, everything inside the one file.

No script, no font and no picture is fetched: the page opens without a network, prints on paper with
page numbers and is read on a phone. Its styles are in ``report.css``.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from mbd_bridge.base.errors import count
from mbd_bridge.base.table import Table, css_class


def table(shown: Table, caption: str | None = None, *, fold: str = "") -> str:
    """Return a table of results below its caption and notes.

    Parameters
    ----------
    caption : in place of the table's own
    fold : what a row is; those without a number but zeros are folded away
    """
    said = " ".join(filter(None, (shown.caption if caption is None else caption, *shown.remarks)))
    above = paragraph(said, "note") if said else ""
    if not fold:
        return above + shown.html()
    empty = shown.empty
    there = "" if all(empty) else above + shown.rows([not one for one in empty]).html()
    sure = shown.determined
    zero = [known and one for known, one in zip(sure, empty, strict=True)]
    unsure = [one and not known for known, one in zip(sure, empty, strict=True)]
    return there + folded(shown, zero, fold) + folded(shown, unsure, fold, UNSURE)


ZERO = "zero throughout"
UNSURE = "undetermined, and zero in the smallest solution"


def folded(shown: Table, rows: Sequence[bool], noun: str, what: str = ZERO) -> str:
    """Return the names of what needs no row, folded away; "" if there is none."""
    labels = (one.values for one in shown.rows(rows).index)
    names = [".".join(map(str, row)) for row in zip(*labels, strict=True)]
    if not names:
        return ""
    verb = "is" if len(names) == 1 else "are"
    text = f"{count(len(names), noun)} {verb} {what}"
    return details(text, paragraph(", ".join(names), "note"))


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph: plain, "lead", "note", or a "warning" in a frame."""
    return f"<p{css_class(kind)}>{escape(text)}</p>"


def verdict(text: str, kind: str) -> str:
    """Return a line that is "good", "bad" or in "doubt"."""
    return f'<p><span class="{kind}">{escape(text)}</span></p>'


def figure(picture: bytes, kind: str, alt: str, caption: str = "") -> str:
    """Return a picture inside the page; `kind` is its media type (image/png, image/svg+xml)."""
    data = base64.b64encode(picture).decode("ascii")
    said = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    source = f"data:{kind};base64,{data}"
    return f'<figure><img src="{source}" alt="{escape(alt)}">{said}</figure>'


def charts(figures: Iterable[str], caption: str = "") -> str:
    """Return figures side by side, as many as the page is wide for."""
    said = paragraph(caption, "note") if caption else ""
    return f'{said}<div class="charts">\n' + "\n".join(figures) + "\n</div>"


def subsection(title: str, text: str) -> str:
    """Return HTML under a heading of its own."""
    return f"<h3>{escape(title)}</h3>\n{text}"


def details(title: str, text: str) -> str:
    """Return HTML that is folded away under a title."""
    return f"<details><summary>{escape(title)}</summary>\n{text}\n</details>"


def page(
    title: str,
    lead: str,
    sections: Sequence[tuple[str, str]],
    block: Sequence[tuple[str, str]] = (),
    foot: str = "",
) -> str:
    """Return the whole page of sections (heading, HTML).

    Parameters
    ----------
    block : headings and texts of the title block
    foot : stands at the foot of each sheet of paper, beside the page number
    """
    places = [(f"part-{k}", heading, text) for k, (heading, text) in enumerate(sections, start=1)]
    menu = "\n".join(f'<a href="#{place}">{escape(heading)}</a>' for place, heading, _ in places)
    body = "\n".join(
        f'<section id="{place}">\n<h2>{escape(heading)}</h2>\n{text}\n</section>'
        for place, heading, text in places
    )
    rows = "".join(f"<div><dt>{escape(a)}</dt><dd>{escape(b)}</dd></div>" for a, b in block)
    style = files("mbd_bridge.reports").joinpath("report.css").read_text(encoding="utf-8")
    paper = f"@media print {{ @page {{ @bottom-left {{ content: {_css(foot)}; }} }} }}\n"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}{paper}</style>\n</head>\n<body>\n"
        f"<header>\n<h1>{escape(title)}</h1>\n<dl>{rows}</dl>\n{paragraph(lead, 'lead')}\n"
        f"<nav>{menu}</nav>\n</header>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _css(text: str) -> str:
    """Return a text as CSS writes it, whatever letters are in it."""
    return '"' + "".join(x if x.isalnum() or x == " " else f"\\{ord(x):06x}" for x in text) + '"'
