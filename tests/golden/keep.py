"""What is kept of a command or a call, as text; and how it is compared with what stands there.

On the kind of machine that the text was written on (`machine` says which), it is the same to the
last digit. On another, whose processor and libraries round otherwise, the numbers in it agree to
`ELSEWHERE`, and all words are the same.
"""

from __future__ import annotations

import difflib
import hashlib
import html
import os
import re
import shlex
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import scipy

from mbd_bridge.cli import main

ELSEWHERE = 1e-6
"""Relative difference of numbers on another kind of machine: integrations carry rounding on."""

ROUNDING = 1e-8
"""Numbers below this are rounding errors there, of which each machine has its own."""

ROWS = 12
"""Lines of a longer text file that are kept at its beginning and at its end, beside a digest."""

NUMBERS = 24
"""Numbers of a larger array that are kept at its beginning and at its end, beside a digest."""

VARYING = (
    (re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?Z?)?"), "DATE"),
    (re.compile(r"(?m)^(\w+) \d+(\.\d+)+$|(?<=mbd_bridge )\d+\.\d+\.\d+"), r"\1 VERSION"),
)
"""What another day or release prints otherwise."""

MEASURED = re.compile(r"(?m)^.*( [µm]s\b|deadlines|  max$).*\n?")
"""Lines of `mbd real-time` with measured times: they are not kept."""

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
HERE = Path(__file__).parent


def machine() -> str:
    """Return what decides how numbers are rounded: processor, libraries."""
    features = sorted(name for name, has in llvm.get_host_cpu_features().items() if has)
    digest = hashlib.sha256(",".join(features).encode()).hexdigest()[:8]
    return (
        f"{llvm.get_host_cpu_name()} {digest}, OpenBLAS for {os.environ.get('OPENBLAS_CORETYPE')}, "
        f"numpy {np.__version__}, scipy {scipy.__version__}, "
        f"llvmlite {llvm.llvm_version_info[0]}"
    )


def command_lines() -> dict[str, str]:
    """Return the golden command lines by name."""
    lines = (HERE / "command_lines.txt").read_text(encoding="utf-8").splitlines()
    entries = (line.split(": ", 1) for line in lines if line and not line.startswith("#"))
    return dict(entries)


def run(words: str, folder: Path, captured: Any) -> str:
    """Run a command line in a folder; return all that it prints and writes."""
    before = set(os.listdir(folder))
    code = main(shlex.split(words))
    printed = captured.readouterr()
    parts = [f"$ mbd {words}", f"exit code {code}", "--- stdout", printed.out.rstrip()]
    parts += ["--- stderr", printed.err.rstrip()]
    if words.split()[0] == "real-time":
        parts = [MEASURED.sub("", part) for part in parts]
    for name in sorted(set(os.listdir(folder)) - before):
        parts += [f"--- {name}", *_file(folder / name)]
    return _settled("\n".join(parts) + "\n", folder)


def values(results: Mapping[str, object]) -> str:
    """Return the results of a call as text."""
    lines = []
    for name, value in results.items():
        text = _text(value)
        lines += (
            [f"--- {name}", *_array(np.asarray(value))] if text is None else [f"--- {name}", *text]
        )
    return "\n".join(lines) + "\n"


def difference(kept: str, now: str) -> str:
    """Return how a text differs from the one that is kept; nothing if it does not."""
    written_on, _, kept = kept.partition("\n")
    if kept == now:
        return ""
    if written_on == machine() or not _agree(kept, now):
        lines = difflib.unified_diff(
            kept.split("\n"), now.split("\n"), "kept", "now", n=1, lineterm=""
        )
        return "\n".join(list(lines)[:60])
    return ""


def _agree(kept: str, now: str) -> bool:
    """Return whether two texts are the same but for the rounding of their numbers."""
    digests = re.compile(r"sha256 \w+")
    kept, now = digests.sub("", kept), digests.sub("", now)
    words = [re.sub(r"\s+", " ", _NUMBER.sub("#", text)) for text in (kept, now)]
    if words[0] != words[1]:
        return False
    first, second = (np.array(_NUMBER.findall(text), dtype=float) for text in (kept, now))
    return bool(np.allclose(first, second, rtol=ELSEWHERE, atol=ROUNDING))


def _settled(text: str, folder: Path) -> str:
    text = text.replace(f"{folder}{os.sep}", "").replace(str(folder), "FOLDER")
    text = text.replace(str(HERE.parents[1]), "ROOT")
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return "\n".join(line.rstrip() for line in text.split("\n"))


def _text(value: object) -> list[str] | None:
    if isinstance(value, str):
        return _lines(value)
    if isinstance(value, list | tuple) and all(isinstance(entry, str) for entry in value):
        return [*value]
    return None


def _array(array: np.ndarray) -> Iterator[str]:
    shape = " x ".join(str(size) for size in array.shape)
    flat = array.ravel()
    if flat.size <= 2 * NUMBERS:
        yield shape
    else:
        yield f"{shape}, sha256 {hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()}"
        flat = np.concatenate([flat[:NUMBERS], flat[-NUMBERS:]])
    texts = [str(number) if flat.dtype.kind in "OUS" else repr(number.item()) for number in flat]
    for start in range(0, len(texts), 4):
        yield " ".join(texts[start : start + 4])


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if len(lines) <= 3 * ROWS:
        return lines
    digest = hashlib.sha256(text.encode()).hexdigest()
    return [f"{len(lines)} lines, sha256 {digest}", *lines[:ROWS], "...", *lines[-ROWS:]]


def _file(path: Path) -> Iterator[str]:
    """Yield what is kept of a file: text, arrays, the places of members, the look of a picture."""
    match path.suffix:
        case ".npz":
            with np.load(path) as arrays:
                for name in arrays.files:
                    yield f"{name}:"
                    yield from _array(arrays[name])
        case ".parquet":
            import pyarrow.parquet as parquet

            table = parquet.read_table(path)
            yield str(
                {k: v for k, v in (table.schema.metadata or {}).items() if b"pandas" not in k}
            )
            for name in table.column_names:
                yield f"{name}:"
                yield from _array(table[name].to_numpy())
        case ".h5":
            import h5py

            with h5py.File(path) as file:
                yield from (f"{key}: {file.attrs[key]}" for key in sorted(file.attrs))
                for name in sorted(file):
                    yield f"{name}: {dict(file[name].attrs)}"
                    yield from _array(file[name][()])
        case ".fmu":
            with zipfile.ZipFile(path) as archive:
                yield from sorted(archive.namelist())
                text = archive.read("modelDescription.xml").decode()
                yield from _lines(
                    re.sub(r'(guid|instantiationToken|generationTool)="[^"]*"', "", text)
                )
        case ".png" | ".jpg":
            from PIL import Image

            with Image.open(path) as picture:
                grey = np.asarray(picture.convert("L").resize((8, 8), Image.Resampling.BOX))
                yield f"{picture.width} x {picture.height} pixels; 8 x 8 grey levels, of 16"
                yield from (" ".join(str(level // 16) for level in row) for row in grey)
        case ".html":
            yield from _lines(_visible(path.read_text(encoding="utf-8")))
        case _:
            yield from _lines(path.read_text(encoding="utf-8"))


def _visible(page: str) -> str:
    """Return the text of a page: no styles, scripts, pictures and tags."""
    page = re.sub(r"(?s)<(style|script|svg)\b.*?</\1>", " ", page)
    page = re.sub(r"</?(p|div|tr|li|h\d|table|section|caption|dt|dd)\b[^>]*>", "\n", page)
    page = html.unescape(re.sub(r"<[^>]*>", " ", page))
    lines = (re.sub(r"\s+", " ", line).strip() for line in page.split("\n"))
    return "\n".join(line for line in lines if line)
