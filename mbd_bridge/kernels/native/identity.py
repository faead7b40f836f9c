"""The content addresses under which kernels are kept."""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import mbd_bridge
from mbd_bridge.kernels.graph.graph import Graph

IMPORTED_AT = time.time()
"""s; source that is newer than this may not be what this process runs."""


@functools.cache
def source_fingerprint() -> bytes | None:
    """Return a digest of the source that decides what a kernel computes, None if that is unknown.

    A kernel that was made by other equations or by another code generator must not be found. The
    whole package counts, without a list of exceptions that somebody would have to keep: functions
    are traced in rooms that one would not think of (the pybullet stepper writes one). It is unknown
    where no source is installed, and where a file was changed after it was imported: then nothing
    is cached.
    """
    digest = hashlib.sha256(np.__version__.encode())
    number = 0
    for root in sorted(mbd_bridge.__path__):
        base = Path(root)
        for path in sorted(base.rglob("*.py")):
            place = path.relative_to(base)
            try:
                content = path.read_bytes()
                if path.stat().st_mtime > IMPORTED_AT:
                    return None
            except OSError:
                return None
            digest.update(f"{place.as_posix()}\0{len(content)}\0".encode())
            digest.update(content)
            number += 1
    return digest.digest() if number else None


def of_request(identity: bytes | str, name: str, inputs: Mapping[str, int]) -> str | None:
    """Return the address of what the caller describes, without tracing it."""
    fingerprint = source_fingerprint()
    if fingerprint is None:
        return None
    request = identity if isinstance(identity, bytes) else identity.encode()
    return _digest(b"request", request, repr((name, list(inputs.items()))).encode(), fingerprint)


def of_graph(graph: Graph, name: str) -> str | None:
    """Return the address of what a graph computes."""
    fingerprint = source_fingerprint()
    if fingerprint is None:
        return None
    content = repr((name, list(graph.inputs.items()), graph.nodes, graph.outputs, graph.shapes))
    return _digest(b"graph", content.encode(), fingerprint)


def of_code(address: str, host: str, variant: str) -> str:
    """Return the key of the machine code for one host and one form (lanes, single)."""
    return _digest(address.encode(), host.encode(), variant.encode())


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()
