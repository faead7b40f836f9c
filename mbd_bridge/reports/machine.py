"""What the machine is: sizes, its picture, the tree of joints, and what its loops leave open."""

from __future__ import annotations

from mbd_bridge.base.errors import count
from mbd_bridge.model import Model
from mbd_bridge.reports import outline
from mbd_bridge.reports.page import Cell, paragraph, table
from mbd_bridge.solve import LoopReport


def machine(model: Model, loops: LoopReport | None) -> str:
    """Return the tree and the loops as HTML.

    Parameters
    ----------
    loops : at a position of the motion; None for a tree
    """
    headings, rows = outline.rows(model)
    drawn: list[list[Cell]] = [[(row[0], "tree"), *row[1:]] for row in rows]
    parts = [paragraph(_sizes(model)), table(headings, drawn, outline.legend(model))]
    if loops is not None:
        parts.append(_loops(model, loops))
    return "\n".join(parts)


def _sizes(model: Model) -> str:
    mass = sum(model.masses)
    base = "floating" if model.floating else "fixed"
    gravity = ", ".join(f"{g:.6g}" for g in model.gravity)
    dof = count(model.nv, "degree of freedom") + (" of the tree" if model.loops else "")
    return (
        f"{count(len(model.links), 'link')}, {count(len(model.joints) - 1, 'joint')}, {dof}, "
        f"{base} base, {mass:.6g} kg; gravity ({gravity}) m/s² in the world's axes."
    )


def _loops(model: Model, found: LoopReport) -> str:
    rows: list[list[Cell]] = []
    for cut in model.cuts:
        ends = [model.links[link].name for link in cut.links]
        shared = found.redundant.get(cut.name, 0)
        rows.append([cut.name, cut.type, *ends, str(len(cut.rows)), str(shared)])
    headings = ("loop joint", "type", "predecessor", "successor", ">rows", ">share in redundancy")
    lost = found.rows - found.rank
    said = (
        f"{found.mobility} with the loops closed; {found.rows} constraint "
        f"rows, "
        f"{lost} of them redundant."
    )
    if found.passive:
        said += f" Passive: {', '.join(found.passive)}."
    return table(headings, rows, "Joints that close loops: cut here, exact.") + paragraph(said)
