"""Descriptions to files: URDF with sidecar, URDF+, MJCF, SDF, USD, as far as each can say it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, get_args

from mbd_bridge.base.errors import FileError, ModelError, one_of
from mbd_bridge.files.document import LeftOut
from mbd_bridge.files.sidecars import sidecar_path
from mbd_bridge.files.whole_file import whole_file
from mbd_bridge.files.write.mjcf import mjcf_text
from mbd_bridge.files.write.sdf import sdf_text
from mbd_bridge.files.write.urdf import urdf_text
from mbd_bridge.files.write.usd import usd_text
from mbd_bridge.model.description import Description

# Which format is written, and where.

Form = Literal["URDF", "URDF+", "MJCF", "SDF", "USD"]
"""What can be written."""

WRITTEN: tuple[Form, ...] = get_args(Form)

SUFFIXES: dict[str, Form] = {".urdf": "URDF", ".sdf": "SDF", ".world": "SDF"}
SUFFIXES |= {".xml": "MJCF", ".mjcf": "MJCF", ".usda": "USD", ".usd": "USD"}


def form_of(path: str | os.PathLike[str], form: Form | None = None) -> Form:
    """Return the format to write: the given one, or that of the file's suffix."""
    if form is not None:
        return one_of("format", form, WRITTEN, ModelError)
    suffix = Path(os.fsdecode(path)).suffix.lower()
    if suffix not in SUFFIXES:
        raise ModelError(
            f"the suffix {suffix!r} tells no format; write .urdf, .sdf, .xml (MJCF), .usda, or say "
            f"which of {', '.join(WRITTEN)}"
        )
    return SUFFIXES[suffix]


def refuse_stale(place: Path) -> None:
    """Refuse to leave a sidecar that would be read with a file that is written beside it."""
    if place.exists():
        raise FileError(
            "this file would be read with the new one, and does not belong to it; move or remove "
            "it, or write elsewhere",
            str(place),
        )


def write_description(
    description: Description, path: str | os.PathLike[str], form: Form, left_out: LeftOut
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Write a description; return the files written, and what the format cannot say.

    Parameters
    ----------
    description : links, joints, loops, couplings
    path : of the file; a URDF's loops go to ``NAME.loops.yaml`` beside it
    form : one of `WRITTEN`
    left_out : collects what it cannot say; its warning is issued here
    """
    name = os.fsdecode(path)
    texts: dict[str, str] = {}
    if form in ("URDF", "URDF+"):
        texts[name], beside = urdf_text(description, left_out, plus=form == "URDF+")
        sidecar = sidecar_path(Path(name))
        if beside:
            texts[str(sidecar)] = beside
        else:
            refuse_stale(sidecar)
        if description.gravity is not None:
            left_out.add("gravity", " ".join(f"{g:g}" for g in description.gravity))
    elif form == "MJCF":
        texts[name] = mjcf_text(description, left_out)
    elif form == "SDF":
        texts[name] = sdf_text(description, left_out)
    else:
        texts[name] = usd_text(description, left_out)
    if description.planar and form in ("MJCF", "SDF", "USD"):
        left_out.add("that loads out of the plane are zero")
    for configuration in description.configurations:
        left_out.add("named configurations", configuration)
    for file, text in texts.items():
        with whole_file(file) as out:
            out.write(text)
    return tuple(texts), left_out.warn()


__all__ = ["WRITTEN", "Form", "form_of", "refuse_stale", "write_description"]
