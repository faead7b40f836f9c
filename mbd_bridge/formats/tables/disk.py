"""A file for libraries that do not survive a full disk, such as HDF5, which then crashes.

Where writing fails, `DiskFile` keeps the error and holds what follows in memory, so that the
library closes its file in peace; `check` then raises the error.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any


class DiskFile(io.RawIOBase):
    """A binary file, open to read and write, that never says that writing failed.

    Attributes
    ----------
    error : what writing failed with
    """

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_RDWR)
        self._place = 0
        self._size = os.fstat(self._handle).st_size
        self._unwritten: list[tuple[int, bytes]] = []
        self.error: OSError | None = None

    def check(self) -> None:
        """Raise the error with which writing failed, if it did."""
        if self.error is not None:
            raise self.error

    def write(self, data: Any) -> int:
        """Write at the place where the file is."""
        view = memoryview(data).cast("B")
        done = 0
        try:
            while self.error is None and done < len(view):
                done += os.pwrite(self._handle, view[done:], self._place + done)
        except OSError as error:
            self.error = error
        if self.error is not None:
            self._unwritten.append((self._place + done, bytes(view[done:])))
        self._place += len(view)
        self._size = max(self._size, self._place)
        return len(view)

    def readinto(self, buffer: Any) -> int:
        """Read from the place where the file is, also what could not be written."""
        view = memoryview(buffer).cast("B")
        count = max(0, min(len(view), self._size - self._place))
        found = os.pread(self._handle, count, self._place)
        data = bytearray(found.ljust(count, b"\0"))
        for place, piece in self._unwritten:
            first, last = max(place, self._place), min(place + len(piece), self._place + count)
            if first < last:
                part = slice(first - self._place, last - self._place)
                data[part] = piece[first - place : last - place]
        view[:count] = data
        self._place += count
        return count

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        self._place = base + place
        return self._place

    def tell(self) -> int:
        """Return the place where the file is."""
        return self._place

    def truncate(self, size: int | None = None) -> int:
        """Give the file a size."""
        self._size = self._place if size is None else size
        try:
            if self.error is None:
                os.ftruncate(self._handle, self._size)
        except OSError as error:
            self.error = error
        return self._size

    def readable(self) -> bool:
        """It is."""
        return True

    def writable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def close(self) -> None:
        """Close it."""
        if not self.closed:
            os.close(self._handle)
        super().close()
