"""What the machine is: sizes, its picture, the tree of joints, and what its loops leave open."""

from __future__ import annotations

from mbd_bridge.base.errors import count
from mbd_bridge.model import Model, outline
from mbd_bridge.reports.page import paragraph, table
from mbd_bridge.solve import LoopReport


def machine(model: Model, loops: LoopReport | None) -> str:
    """Return the tree and the loops as HTML.

    Parameters
    ----------
    loops : at a position of the motion; None for a tree
    """
    parts = [paragraph(_sizes(model)), table(outline.joint_table(model))]
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
    lost = found.rows - found.rank
    said = (
        f"{found.mobility} with the loops closed; {found.rows} constraint rows, {lost} of them "
        f"redundant."
    )
    if found.passive:
        said += f" Passive: {', '.join(found.passive)}."
    shown = outline.loop_table(model, found.redundant)
    return table(shown, "Joints that close loops: cut here, exact.") + paragraph(said)
