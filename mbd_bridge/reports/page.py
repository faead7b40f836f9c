"""A self-contained HTML page: text, tables and pictures, everything inside the one file.

No script, no font and no picture is fetched: the page opens without a network, prints on paper and
is read on a phone.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape

STYLE = """\
:root { color-scheme: light; --ink: #1d2733; --pale: #5b6775; --line: #d5dbe2; --band: #1d4d8a0c;
  --accent: #0b5cad; --good: #1a6b3c; --bad: #b3261e; --doubt: #8a5a00; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 62rem; color: var(--ink);
  background: #fff; font: 16px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; padding-bottom: .25rem;
  border-bottom: 2px solid var(--accent); }
p { margin: .5rem 0; max-width: 48rem; }
.lead, .note, figcaption { color: var(--pale); }
.note, figcaption { font-size: .88rem; }
nav { margin: .8rem 0 0; font-size: .92rem; }
nav a { margin-right: .9rem; white-space: nowrap; }
a { color: var(--accent); }
.wide { overflow-x: auto; margin: .8rem 0; /* a shadow where there is more to the side */
  background: linear-gradient(90deg, #fff 40%, #fff0) 0 0 / 2rem 100% no-repeat local,
    linear-gradient(270deg, #fff 40%, #fff0) 100% 0 / 2rem 100% no-repeat local,
    linear-gradient(90deg, #0003, #0000) 0 0 / .6rem 100% no-repeat scroll,
    linear-gradient(270deg, #0003, #0000) 100% 0 / .6rem 100% no-repeat scroll; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .7rem .28rem 0; text-align: left; vertical-align: top;
  white-space: nowrap; }
thead th { color: var(--pale); font-weight: 600; border-bottom: 1px solid var(--line); }
tbody tr { border-bottom: 1px solid var(--line); }
tbody tr:nth-child(even) { background: var(--band); }
td.number, th.number { text-align: right; }
td.tree { font-family: ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre; }
td.prose { white-space: normal; }
td.prose:not(:empty) { min-width: 11rem; }
.good { color: var(--good); font-weight: 600; }
.bad { color: var(--bad); font-weight: 600; }
.doubt { color: var(--doubt); font-weight: 600; }
.warning { border-left: 4px solid var(--doubt); background: #fdf6e7; padding: .5rem .9rem;
  margin: .8rem 0; }
figure { margin: 1rem 0; }
figure img { max-width: 100%; height: auto; }
.charts { display: grid; gap: .2rem 1rem; margin: 1rem 0;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); }
.charts figure { margin: 0; }
.charts img { width: 100%; }
@media (max-width: 40rem) { body { font-size: 15px; } h1 { font-size: 1.4rem; }
  table { font-size: .82rem; } th, td { padding-right: .5rem; } }
@media print { @page { margin: 15mm; } body { max-width: none; padding: 0; font-size: 10pt; }
  nav { display: none; } h2 { break-after: avoid; } figure, tr { break-inside: avoid; }
  .wide { overflow: visible; background: none; }
  table { font-size: 8pt; } th, td { padding-right: .4rem; } }
"""

Cell = str | tuple[str, str]
"""Text of a table's cell, or text and its class (good, bad, doubt, tree, prose)."""


def table(headings: Sequence[str], rows: Iterable[Sequence[Cell]], caption: str = "") -> str:
    """Return a table; columns whose heading begins with ">" hold numbers."""
    numeric = [heading.startswith(">") for heading in headings]
    head = "".join(
        f'<th scope="col"{_class("number" if right else "")}>{escape(heading.lstrip(">"))}</th>'
        for heading, right in zip(headings, numeric, strict=True)
    )
    body = "\n".join(
        "<tr>" + "".join(_cell(c, n) for c, n in zip(row, numeric, strict=True)) + "</tr>"
        for row in rows
    )
    said = paragraph(caption, "note") if caption else ""
    return (
        f'{said}<div class="wide"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _cell(cell: Cell, numeric: bool) -> str:
    text, kind = (cell, "") if isinstance(cell, str) else cell
    return f"<td{_class('number' if numeric else '', kind)}>{escape(text)}</td>"


def _class(*names: str) -> str:
    given = " ".join(filter(None, names))
    return f' class="{given}"' if given else ""


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph: plain, "lead", "note", or a "warning" in a frame."""
    return f"<p{_class(kind)}>{escape(text)}</p>"


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


def sentence(text: str) -> str:
    """Return words with a capital letter in front and a full stop behind."""
    return f"{text[:1].upper()}{text[1:]}."


def page(title: str, lead: str, sections: Sequence[tuple[str, str]]) -> str:
    """Return the whole page of sections (heading, HTML)."""
    places = [(f"part-{k}", heading, text) for k, (heading, text) in enumerate(sections, start=1)]
    menu = "\n".join(f'<a href="#{place}">{escape(heading)}</a>' for place, heading, _ in places)
    body = "\n".join(
        f'<section id="{place}">\n<h2>{escape(heading)}</h2>\n{text}\n</section>'
        for place, heading, text in places
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
        f"<header>\n<h1>{escape(title)}</h1>\n{paragraph(lead, 'lead')}\n<nav>{menu}</nav>\n"
        f"</header>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )
