"""The public names of `mbd_bridge.files`, each with its module."""

from mbd_bridge.files.urdf import read as read, read_urdf_text as read_urdf_text
