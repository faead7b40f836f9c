"""SDF (sdformat.org) to a description: links and joints are a graph, so loops are ordinary."""

from mbd_bridge.files.sdf.read import read_sdf

__all__ = ["read_sdf"]
