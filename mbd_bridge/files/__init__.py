"""What files say: readers that turn URDF and loop descriptions into frozen descriptions."""

from mbd_bridge.files.urdf import read, read_urdf_text

__all__ = ["read", "read_urdf_text"]
