"""One kernel's view of what was compiled before: in this process, or in the cache on disk."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Final, TypeVar

from mbd_bridge.kernels.native import identity
from mbd_bridge.kernels.native.artifact import Artifact
from mbd_bridge.kernels.native.cache import Cache

Code = TypeVar("Code")

DEFAULT_CACHE: Final = Cache()
"""The user's own cache (see `cache.default_directory`)."""

MOST_RECENT = 64
"""Loaded kernels that a process remembers."""

_RECENT: dict[str, Any] = {}
"""Those kernels by key, oldest first; also where nothing can be kept on disk."""


class Store:
    """The cache as seen by one kernel, for its several forms (batch, single state)."""

    def __init__(self, cache: Cache | None, address: str | None, host: str) -> None:
        self._cache, self._address, self._host = cache, address, host

    def get(self, form: str, make: Callable[[], Artifact]) -> tuple[Artifact, bool]:
        """Return a form from the cache, or made now and kept; and whether it was there."""
        if self._cache is None or self._address is None:
            return make(), False
        key = identity.of_code(self._address, self._host, form)
        content = self._cache.load(key)
        if content is not None:
            return Artifact.unpack(content), True
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
        key = identity.of_code(self._address, self._host, form)
        known: Code | None = _RECENT.get(key)
        if known is None:
            known = _RECENT[key] = make()
            with contextlib.suppress(RuntimeError, KeyError):  # another thread does the same
                while len(_RECENT) > MOST_RECENT:
                    del _RECENT[next(iter(_RECENT))]
        return known
