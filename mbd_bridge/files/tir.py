"""Tyre property files (``.tir``): sections of ``KEY = value``, in units that the file states.

```
[UNITS]
LENGTH = 'meter'
[MODEL]
PROPERTY_FILE_FORMAT = 'PAC2002'   $ what is behind a dollar sign is a comment
[VERTICAL]
FNOMIN = 4850
```

The reader knows the form of the file and the units, not what a tyre model makes of the numbers.
Lines that are no ``KEY = value`` are tables, such as that of [SHAPE]; they are passed over.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.document import parse_number, quote, unknown
from mbd_bridge.files.xml_reader import read_bytes

MOST_BYTES = 2**20
"""Real files have some 20 kB."""

MOST_KEYS = 5000
"""Real files have some 200 keys."""

KEY = re.compile(r"([A-Za-z][A-Za-z0-9_]{0,63})\s*=(.*)", re.DOTALL)

_SPELLED: dict[str, dict[float, str]] = {
    "LENGTH": {
        **{1.0: "meter metre m", 1e-3: "mm millimeter", 1e-2: "cm centimeter"},
        **{1e3: "km kilometer", 0.0254: "inch in", 0.3048: "foot ft"},
    },
    "FORCE": {
        **{1.0: "newton n", 1e3: "kilonewton knewton kn"},
        **{4.4482216152605: "pound_force lbf", 9.80665: "kg_force"},
    },
    "TIME": {
        **{1.0: "second sec s", 1e-3: "millisecond msec ms"},
        **{60.0: "minute min", 3600.0: "hour"},
    },
    "ANGLE": {1.0: "radian radians rad", np.pi / 180.0: "degree degrees deg"},
    "PRESSURE": {1.0: "pascal pa", 1e3: "kpascal kpa", 1e5: "bar", 6894.757: "psi"},
}
UNITS = {
    quantity: {word: size for size, words in sizes.items() for word in words.split()}
    for quantity, sizes in _SPELLED.items()
}
"""What SI has of each unit."""


class TirValue(NamedTuple):
    """A value as it is in the file, and its line."""

    text: str
    line: int


@dataclass(frozen=True, eq=False, repr=False)
class TirFile:
    """A tyre property file.

    Attributes
    ----------
    path : of the file
    sections : values by section and key, both in capitals
    """

    path: str
    sections: dict[str, dict[str, TirValue]]

    def find(self, key: str) -> TirValue | None:
        """Return the value of a key outside [UNITS], or None.

        Raises
        ------
        FileError
            Two sections give it with different values.
        """
        values_of_key = [
            values[key]
            for name, values in self.sections.items()
            if name != "UNITS" and key in values
        ]
        if len({value.text for value in values_of_key}) > 1:
            lines = " and ".join(str(value.line) for value in values_of_key)
            raise self.error(f"expected one value, got several, in lines {lines}", key)
        return values_of_key[0] if values_of_key else None

    def text(self, key: str, default: str = "") -> str:
        """Return a text without its quotes."""
        value = self.find(key)
        return default if value is None else value.text

    def number(self, key: str, default: float | None = None, **powers: int) -> float:
        """Return a finite number in SI units.

        Parameters
        ----------
        default : where the key is missing; None for an error
        powers : of the units in it, such as ``FORCE=1, LENGTH=-1``
        """
        value = self.find(key)
        if value is None:
            if default is None:
                raise self.error("expected a number, but the file has no such key", key)
            return default
        try:
            number = parse_number(value.text.replace("D", "E").replace("d", "e"))
        except ValueError as problem:
            raise FileError(str(problem), self.path, value.line, key) from None
        scale = np.prod([self.unit(name) ** power for name, power in powers.items()])
        return float(number * scale)

    def unit(self, quantity: str) -> float:
        """Return what SI has of the file's unit of a quantity; SI where none is given."""
        value = self.sections.get("UNITS", {}).get(quantity)
        if value is None:
            return 1.0
        known = UNITS[quantity]
        if value.text.lower() not in known:
            problem = unknown(f"unit of {quantity}", value.text, known)
            raise FileError(problem, self.path, value.line, "UNITS")
        return known[value.text.lower()]

    def error(self, message: str, key: str = "") -> FileError:
        """Return an error that names the file, and the line and key if there is one."""
        lines = [values[key].line for values in self.sections.values() if key in values]
        return FileError(message, self.path, lines[0] if lines else None, key or None)

    @property
    def digest(self) -> str:
        """A text that two files share if all their values are equal."""
        values = [
            (name, key, value.text)
            for name, section in sorted(self.sections.items())
            for key, value in sorted(section.items())
        ]
        return hashlib.sha256(repr(values).encode()).hexdigest()

    def __repr__(self) -> str:
        return f"TirFile({self.path})"


def read_tir(path: str | os.PathLike[str]) -> TirFile:
    """Return the values of a tyre property file.

    Raises
    ------
    FileError
        The file cannot be read, is too large, or has lines of no known form.
    """
    if not isinstance(path, str | os.PathLike):
        raise FileError(f"expected the path of a .tir file, got {type(path).__name__}")
    name = os.fspath(path)
    text = read_bytes(name, MOST_BYTES).decode("utf-8", "replace").removeprefix("\ufeff")
    sections: dict[str, dict[str, TirValue]] = {}
    section: dict[str, TirValue] | None = None
    count = 0
    for line, whole in enumerate(text.splitlines(), start=1):
        content = whole.split("$", 1)[0].strip()
        if not content or content.startswith("!"):
            continue
        if content.startswith("["):
            heading = re.fullmatch(r"\[\s*([^\[\]]{1,64}?)\s*\]", content)
            if heading is None:
                raise FileError(f"expected [SECTION], got {quote(content)}", name, line)
            section = sections.setdefault(heading[1].upper(), {})
            continue
        match = KEY.fullmatch(content)
        if match is None:
            if section is None:
                raise FileError(f"expected [SECTION], got {quote(content)}", name, line)
            continue  # a row of a table
        if section is None:
            raise FileError(f"expected a [SECTION] before {quote(match[1])}", name, line)
        key, value = match[1].upper(), _unquoted(match[2])
        if key in section and section[key].text != value:
            raise FileError(f"given twice, first in line {section[key].line}", name, line, key)
        section[key] = TirValue(value, line)
        count += 1
        if count > MOST_KEYS:
            raise FileError(f"more than {MOST_KEYS} keys", name, line)
    if not count:
        raise FileError("expected a tyre property file: sections of KEY = value", name)
    return TirFile(name, sections)


def _unquoted(text: str) -> str:
    """Return a value without quotes and without a comment behind them."""
    text = text.strip()
    quoted = re.match(r"(['\"])(.*?)\1", text)
    if quoted:
        return quoted[2].strip()
    return text.split("!", 1)[0].strip()
