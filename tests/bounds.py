"""What a test may take: so much time and so much memory more than there is.

Times are those of an idle machine that is as fast as today's; all are multiplied by one allowance.
"""

from __future__ import annotations

import contextlib
import resource
import time
from collections.abc import Iterator
from pathlib import Path

MEGABYTE = 2**20
ALLOWANCE = 4.0
"""A machine may be this much slower, or busy: caches and memory are shared with whatever runs."""

WAIT = 60.0 * ALLOWANCE
"""s that another process may take, if it ends at all."""


@contextlib.contextmanager
def soon(seconds: float) -> Iterator[None]:
    """Let what is done here fail if it takes longer than the allowance for this time.

    The time is this process's own: what others take does not count.
    """
    start = time.process_time()
    yield
    taken = time.process_time() - start
    assert taken < ALLOWANCE * seconds, f"{taken:.1f} s, {ALLOWANCE:g} times {seconds:g} s allowed"


@contextlib.contextmanager
def bounded(seconds: float = 5.0, megabytes: int = 1500) -> Iterator[None]:
    """Let what is done here fail if it takes longer, or asks for more address space.

    More memory than that is a MemoryError where it is asked for; no allowance is made for it.
    """
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(
        resource.RLIMIT_AS, (pages * resource.getpagesize() + megabytes * MEGABYTE, hard)
    )
    try:
        with soon(seconds):
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
