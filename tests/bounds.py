"""What a test may take: so much time and so much memory more than there is."""

from __future__ import annotations

import contextlib
import resource
import time
from collections.abc import Iterator
from pathlib import Path

MEGABYTE = 2**20


@contextlib.contextmanager
def bounded(seconds: float = 5.0, megabytes: int = 1500) -> Iterator[None]:
    """Let what is done here fail if it takes longer, or asks for more address space.

    More memory than that is a MemoryError where it is asked for. The time is this process's own, so
    that a busy machine fails nobody.
    """
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(
        resource.RLIMIT_AS, (pages * resource.getpagesize() + megabytes * MEGABYTE, hard)
    )
    start = time.process_time()
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    taken = time.process_time() - start
    assert taken < seconds, f"{taken:.1f} s"
