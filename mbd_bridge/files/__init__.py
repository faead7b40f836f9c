"""What files say: readers that turn URDF and loop descriptions into frozen descriptions."""

from mbd_bridge.files.urdf import read, read_urdf_text
from mbd_bridge.model.description import (
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
