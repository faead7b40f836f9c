"""One kernel's view of the cache."""

from __future__ import annotations

from collections.abc import Callable

from mbd_bridge.kernels import identity
from mbd_bridge.kernels.artifact import Artifact
from mbd_bridge.kernels.cache import Cache


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
