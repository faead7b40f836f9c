"""A zip archive whose bytes depend on its contents only."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping

from mbd_bridge.formats.whole_file import whole_path

DATE = (1980, 1, 1, 0, 0, 0)
"""Of every file: the first that an archive can say."""

LEVEL = 6
"""Of compression."""

PERMISSIONS = 0o644 << 16


def write_archive(path: str | os.PathLike[str], files: Mapping[str, str | bytes]) -> None:
    """Write files by their names in the archive; it appears whole or not at all."""
    with whole_path(path) as place, zipfile.ZipFile(place, "w") as archive:
        for name in sorted(files):
            content = files[name]
            one = zipfile.ZipInfo(name, DATE)
            one.compress_type, one.external_attr = zipfile.ZIP_DEFLATED, PERMISSIONS
            archive.writestr(
                one, content.encode() if isinstance(content, str) else content, compresslevel=LEVEL
            )
