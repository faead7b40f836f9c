"""What a reader of another program's convention returns."""

from __future__ import annotations

from dataclasses import dataclass

from mbd_bridge.model.description import Joint, Loop


@dataclass(frozen=True, slots=True)
class Told:
    """Joints as they are to be, loops, and the actuated joints (None: nothing is said)."""

    joints: tuple[Joint, ...]
    loops: tuple[Loop, ...] = ()
    actuated: tuple[str, ...] | None = None
