"""Descriptions to files: URDF with sidecar, URDF+, MJCF, SDF, as far as each can say it."""

from mbd_bridge.files.write.files import WRITTEN, Form, form_of, refuse_stale, write_description

__all__ = ["WRITTEN", "Form", "form_of", "refuse_stale", "write_description"]
