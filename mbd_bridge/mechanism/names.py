"""Names of a mechanism and its parts: what tables, C files and terminals show as it stands."""

from __future__ import annotations

from mbd_bridge.errors import ModelError, is_plain
from mbd_bridge.formats.description import Description


def check_names(description: Description) -> None:
    """Refuse names with characters that tables, C files and terminals take for something else."""
    kinds = {
        "mechanism": [description.name],
        "link": [link.name for link in description.links],
        "joint": [joint.name for joint in description.joints],
        "loop": [loop.name for loop in description.loops],
        "coupling": [coupling.name for coupling in description.couplings],
    }
    for kind, names in kinds.items():
        for name in names:
            if not is_plain(name):
                raise ModelError(
                    f"the {kind} {name!r:.80} has a line end or a control character in its "
                    f"name; write letters, digits and signs"
                )
