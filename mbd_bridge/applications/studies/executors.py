"""Where the parts of a study are computed: here, by processes of this machine, by a cluster."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from mbd_bridge.applications.studies.run import Executor
from mbd_bridge.base.errors import SolveError
from mbd_bridge.base.extras import needed

SECONDS = 10.0
"""How long a cluster may take to answer, s."""


@contextlib.contextmanager
def executor_of(workers: int = 1, scheduler: str | None = None) -> Iterator[Executor | None]:
    """Give an executor, and end it afterwards.

    Parameters
    ----------
    workers : processes of this machine; 1: None, everything in this one
    scheduler : address of a Dask cluster, "tcp://host:8786", instead
    """
    if scheduler is not None:
        with _client(scheduler) as client:
            yield client
        return
    if workers == 1:
        yield None
        return
    # a fork of a process with threads may hang
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextlib.contextmanager
def _client(scheduler: str) -> Iterator[Executor]:
    dask = needed("distributed", "a cluster needs Dask", "mbd_bridge[studies]")
    try:
        client = dask.Client(scheduler, timeout=SECONDS)
    except (OSError, ValueError) as problem:
        raise SolveError(
            f"no Dask cluster answers at {scheduler!r} ({problem}); start one, such as "
            f"'dask scheduler' and 'dask worker {scheduler}'"
        ) from problem
    with client:
        yield client
