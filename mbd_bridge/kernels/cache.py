"""Machine code kept on disk between runs, for its maker only.

An entry is ``magic | HMAC-SHA256 | payload``. The code is made with a secret that lives beside the
entries and covers the entry's key as well, so that whatever was damaged, cut short, renamed or
brought from elsewhere is told from what this user wrote: it is removed and compiled anew, and
never executed. Entries are written aside and renamed into place, so that an interrupted or a
second process never leaves half of one.

Everything that goes wrong with the disk means "not in the cache" and is no error.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import hmac
import json
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

import mbd_bridge
from mbd_bridge.base.errors import KernelError
from mbd_bridge.base.systems import PLAIN, cache_folder, is_private
from mbd_bridge.kernels.tracing import Graph

MAGIC = b"MBDKERN1"
DIGEST_BYTES = 32
SECRET_BYTES = 32
SECRET_NAME = "secret"
SUFFIX = ".kernel"
ASIDE = "aside-"
"""Prefix of files that are being written."""

LIMIT_BYTES = 256 * 2**20
"""Beyond this the entries that were unused for longest are removed (a kernel of 16,000 operations
takes 0.2 MB)."""

SELDOM = 16
"""The folder is looked through for entries to remove at one store of so many (by the chance of the
seal), since that takes as long as compiling once there are thousands; large entries do it at
once."""

ABANDONED_SECONDS = 3600.0
"""A file that has been written for so long belongs to a process that was killed."""

VARIABLE = "MBD_BRIDGE_CACHE"
"""Environment variable with the directory to use; ``off`` for none."""


def default_directory() -> Path | None:
    """Return where this user's machine code is kept by default, None if nowhere."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        with contextlib.suppress(RuntimeError):  # ~nobody/cache
            return None if chosen.lower() == "off" else Path(chosen).expanduser()
        raise KernelError(
            f"{VARIABLE}={chosen}: there is no such user; give a folder, or off for none"
        )
    base = cache_folder()
    return None if base is None else Path(base) / "mbd_bridge"


@dataclass(frozen=True, slots=True)
class Cache:
    """A directory of entries; usable by several processes at once.

    Attributes
    ----------
    directory : None for the user's own (see `default_directory`), asked for at each use
    limit : bytes that all entries may take together, give or take a few of them
    """

    directory: Path | None = None
    limit: int = LIMIT_BYTES

    def load(self, key: str) -> bytes | None:
        """Return the payload stored under `key`, None if there is none that can be trusted."""
        place = self._open_directory()
        if place is None:
            return None
        path = place / (key + SUFFIX)
        found = _read_private(path, self.limit)
        if found is None:
            if os.path.lexists(path):
                _remove(path)
            return None
        secret = _read_secret(place)
        start = len(MAGIC) + DIGEST_BYTES
        if secret is None or found[: len(MAGIC)] != MAGIC:
            _remove(path)
            return None
        payload = found[start:]
        if not hmac.compare_digest(found[len(MAGIC) : start], _seal(secret, key, payload)):
            _remove(path)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return payload

    def store(self, key: str, payload: bytes) -> None:
        """Keep `payload` under `key`; does nothing if that is not possible."""
        place = self._open_directory()
        if place is None or len(payload) > self.limit:
            return
        secret = _read_secret(place) or _make_secret(place)
        if secret is None:
            return
        seal = _seal(secret, key, payload)
        with contextlib.suppress(OSError):
            _write_aside(place, MAGIC + seal + payload, place / (key + SUFFIX))
            if seal[0] % SELDOM == 0 or len(payload) * SELDOM**2 > self.limit:
                self._trim(place)

    def clear(self) -> None:
        """Remove all entries."""
        place = self._open_directory()
        if place is not None:
            for path in (*place.glob(f"*{SUFFIX}"), *place.glob(f"{ASIDE}*")):
                _remove(path)

    def _open_directory(self) -> Path | None:
        """Return the directory if it exists or can be made and nobody else may write to it."""
        place = self.directory if self.directory is not None else default_directory()
        if place is None:
            return None
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            facts = os.lstat(place)
        except (OSError, ValueError):
            return None
        if not stat.S_ISDIR(facts.st_mode) or not is_private(facts):
            return None
        return place

    def _trim(self, place: Path) -> None:
        """Remove the longest unused entries beyond the limit, and what killed writers left."""
        entries = []
        for item in os.scandir(place):
            with contextlib.suppress(OSError):
                facts = item.stat(follow_symlinks=False)
                if item.name.startswith(ASIDE):
                    if time.time() - facts.st_mtime > ABANDONED_SECONDS:
                        _remove(Path(item.path))
                elif item.name.endswith(SUFFIX):
                    entries.append((facts.st_mtime, facts.st_size, item.path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self.limit:
                break
            _remove(Path(path))
            total -= size


def _read_private(path: Path, limit: int) -> bytes | None:
    """Return the content of a plain file of ours, None if it is anything else."""
    try:
        handle = os.open(path, os.O_RDONLY | PLAIN)
    except (OSError, ValueError):
        return None
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode) or not is_private(facts):
            return None
        if facts.st_size > limit + len(MAGIC) + DIGEST_BYTES:
            return None
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read()
    except OSError:
        return None
    finally:
        os.close(handle)


def _seal(secret: bytes, key: str, payload: bytes) -> bytes:
    return hmac.digest(secret, key.encode() + b"\0" + payload, hashlib.sha256)


def _read_secret(place: Path) -> bytes | None:
    path = place / SECRET_NAME
    secret = _read_private(path, SECRET_BYTES)
    if secret is None or len(secret) != SECRET_BYTES:
        return None
    try:
        readable = os.lstat(path).st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    except OSError:
        return None
    return None if readable else secret


def _make_secret(place: Path) -> bytes | None:
    """Make the secret; of several processes that do so at once the first one wins."""
    path = place / SECRET_NAME
    try:
        if os.path.lexists(path):  # unusable, or it would have been read
            _remove(path)
        _write_aside(place, secrets.token_bytes(SECRET_BYTES), path, replace=False)
    except FileExistsError:
        pass
    except OSError:
        return None
    return _read_secret(place)


def _write_aside(place: Path, content: bytes, path: Path, replace: bool = True) -> None:
    """Write a file under another name, then give it its own in one step."""
    handle, aside = tempfile.mkstemp(prefix=ASIDE, dir=place)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        if replace:
            os.replace(aside, path)
        else:
            os.link(aside, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(aside)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


# What is kept of a compiled kernel: its machine code and what is known of it.

_LENGTH_BYTES = 8


@dataclass(frozen=True, slots=True)
class Artifact:
    """Machine code with the facts that would else need the graph.

    Attributes
    ----------
    code : object code for this host
    name : of the kernel
    inputs : sizes of the inputs by name
    outputs, shapes : names and shapes of the outputs
    counts : operations by kind
    lanes : states in a vector
    stage_bytes : memory that the code wants for the values of one group of states
    compile_seconds : what making it took, tracing included
    ways : operations that each of several ways would add, where the fewest were taken
    """

    code: bytes
    name: str
    inputs: Mapping[str, int]
    outputs: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    counts: Mapping[str, int]
    lanes: int
    stage_bytes: int
    compile_seconds: float
    ways: Mapping[str, int] = field(default_factory=dict)

    @property
    def signature(self) -> str:
        """What goes in and comes out, in a line."""
        takes = ", ".join(f"{name}[{size}]" for name, size in self.inputs.items())
        gives = ", ".join(
            f"{name}{list(shape)}" for name, shape in zip(self.outputs, self.shapes, strict=True)
        )
        return f"{self.name}({takes}) -> {gives}"

    def pack(self) -> bytes:
        """Return the artifact as bytes."""
        facts = asdict(self)
        del facts["code"]
        facts["inputs"] = list(self.inputs.items())
        head = json.dumps(facts).encode()
        return len(head).to_bytes(_LENGTH_BYTES, "little") + head + self.code

    @classmethod
    def unpack(cls, content: bytes) -> Artifact:
        """Return the artifact that `pack` made these bytes of."""
        end = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
        facts = json.loads(content[_LENGTH_BYTES:end])
        facts["inputs"] = dict(facts["inputs"])
        facts["outputs"] = tuple(facts["outputs"])
        facts["shapes"] = tuple(tuple(shape) for shape in facts["shapes"])
        return cls(code=content[end:], **facts)


# The content addresses under which kernels are kept.

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


# One kernel's view of what was compiled before: in this process, or in the cache on disk.

Code = TypeVar("Code")

DEFAULT_CACHE: Final = Cache()
"""The user's own cache (see `cache.default_directory`)."""

MOST_RECENT = 64
"""Loaded kernels that a process remembers."""

_RECENT: dict[str, Any] = {}
"""Those kernels by key, oldest first; also where nothing can be kept on disk."""


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Have Python look for no garbage cycles: tracing makes millions of objects, and none.

    The search takes a third of the time of tracing and ordering.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Store:
    """The cache as seen by one kernel, for its several forms (batch, single state)."""

    def __init__(self, cache: Cache | None, address: str | None, host: str) -> None:
        self._cache, self._address, self._host = cache, address, host

    def get(self, form: str, make: Callable[[], Artifact]) -> tuple[Artifact, bool]:
        """Return a form from the cache, or made now and kept; and whether it was there."""
        if self._cache is None or self._address is None:
            with without_collection():
                return make(), False
        key = of_code(self._address, self._host, form)
        content = self._cache.load(key)
        if content is not None:
            return Artifact.unpack(content), True
        with without_collection():
            artifact = make()
        self._cache.store(key, artifact.pack())
        return artifact, False

    def loaded(self, form: str, make: Callable[[], Code]) -> Code:
        """Return what this process has loaded as a form, or what is made now and remembered.

        Only what is kept in the user's own cache is remembered: whoever brings another, or none,
        wants to see what it does.
        """
        if self._address is None or self._cache is not DEFAULT_CACHE:
            return make()
        key = of_code(self._address, self._host, form)
        known: Code | None = _RECENT.get(key)
        if known is None:
            known = _RECENT[key] = make()
            with contextlib.suppress(RuntimeError, KeyError):  # another thread does the same
                while len(_RECENT) > MOST_RECENT:
                    del _RECENT[next(iter(_RECENT))]
        return known
