"""What files say: readers that turn URDF and loop descriptions into frozen descriptions."""

from mbd_bridge.formats.description import (
    Coupling,
    Description,
    Geometry,
    Joint,
    Limits,
    Link,
    Loop,
    LoopEnd,
    Mimic,
    Payload,
)
from mbd_bridge.formats.urdf import read, read_urdf_text

__all__ = [
    "Coupling",
    "Description",
    "Geometry",
    "Joint",
    "Limits",
    "Link",
    "Loop",
    "LoopEnd",
    "Mimic",
    "Payload",
    "read",
    "read_urdf_text",
]
