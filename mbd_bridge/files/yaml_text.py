"""YAML with line numbers, safely: plain tables only, no aliases, bounded size and depth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mbd_bridge.base.errors import FileError, MbdError
from mbd_bridge.files.document import parse_number, quote, unknown
from mbd_bridge.files.xml_reader import decode, read_bytes

if TYPE_CHECKING:
    import yaml  # most machines have no such file

T = TypeVar("T")

MAX_BYTES = 2**18
"""Largest file, bytes: a loop takes about 300, and PyYAML a second for so much."""

MAX_DEPTH = 20
"""Deepest nesting; ours needs 5."""

MAX_VALUES = 30_000
"""Most names, numbers, lists and tables: those of 600 loops, or of 1,000 force elements. PyYAML
reads 20,000 a second."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value in the file and the line (from 1) where it stands: str, list or dict of nodes."""

    value: str | list[Node] | dict[str, Node]
    line: int
    file: str
    name: str

    def error(self, message: str) -> FileError:
        """Return the error that names this value's place."""
        return FileError(message, self.file, self.line, self.name)

    @contextmanager
    def placed(self, kind: type[Exception] = MbdError) -> Iterator[None]:
        """Give errors of a kind that are raised inside this value's place; files' have theirs."""
        try:
            yield
        except FileError:
            raise
        except kind as problem:
            raise self.error(str(problem)) from None

    def named(self, name: str) -> Node:
        """Return the same value under another name, for messages."""
        return Node(self.value, self.line, self.file, name)

    def table(self, known: tuple[str, ...]) -> dict[str, Node]:
        """Return the value as a table whose keys are all known."""
        if not isinstance(self.value, dict):
            raise self.error(f"expected a table with {', '.join(known)}, got {self._kind()}")
        for key, node in self.value.items():
            if key not in known:
                raise node.error(unknown("key", key, known))
        return self.value

    def in_si(self, known: tuple[str, ...], units: str) -> dict[str, Node]:
        """Return the value as a table that says ``units: SI``; `units` names these in messages."""
        table = self.table(known)
        if "units" not in table or table["units"].value != "SI":
            where = table.get("units", self)
            raise where.error(f"expected 'units: SI' ({units}), which is all that is read")
        return table

    def required(self, key: str) -> Node:
        """Return the value under a key of a table."""
        table = self.value if isinstance(self.value, dict) else {}
        if key not in table:
            known = ", ".join(table) or "none"
            raise self.error(f"the key {key!r} is missing (keys here: {known}); add it")
        return table[key]

    def listed(self, key: str) -> list[Node]:
        """Return the list under a key of a table; none where it is absent or blank."""
        table = self.value if isinstance(self.value, dict) else {}
        item = table.get(key)
        return [] if item is None or item.value == "" else item.items()

    def items(self) -> list[Node]:
        """Return the value as a list."""
        if not isinstance(self.value, list):
            raise self.error(f"expected a list ('- ...' or [...]), got {self._kind()}")
        return self.value

    def text(self) -> str:
        """Return the value as a word that is not blank."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.error(f"expected a name, got {self._kind()}; write one word")
        return self.value

    def flag(self) -> bool:
        """Return the value as true or false."""
        if self.value not in ("true", "false"):
            raise self.error(f"expected true or false, got {self._kind()}")
        return self.value == "true"

    def number(self) -> float:
        """Return the value as a finite number."""
        if not isinstance(self.value, str):
            raise self.error(f"expected a number, got {self._kind()}; write it like 0.5")
        with self.placed(ValueError):
            return parse_number(self.value)

    def whole_number(self, least: int | None = None) -> int:
        """Return the value as a whole number, not below the least."""
        number = self.number()
        if number != int(number) or (least is not None and number < least):
            bound = "" if least is None else f" from {least}"
            raise self.error(f"expected a whole number{bound}, got {number:g}")
        return int(number)

    def numbers(self) -> list[float]:
        """Return the value as a list of finite numbers."""
        return [part.number() for part in self.items()]

    def vector(self) -> tuple[float, float, float]:
        """Return the value as three finite numbers."""
        parts = self.items()
        if len(parts) != 3:
            raise self.error(f"expected 3 numbers, got {len(parts)}; write them like [0, 0, 1]")
        x, y, z = self.numbers()
        return x, y, z

    def made(self, make: Callable[..., T], /, **readers: Callable[[Node], Any]) -> T:
        """Return what a class makes of a table whose keys are its parameters.

        Parameters
        ----------
        make : what is called with them; a parameter without a default must stand here
        readers : what reads each parameter that may stand here
        """
        table = self.table(tuple(readers))
        for parameter in signature(make).parameters.values():
            if parameter.default is parameter.empty:
                self.required(parameter.name)
        values = {key: readers[key](node) for key, node in table.items()}
        with self.placed():
            return make(**values)

    def _kind(self) -> str:
        if isinstance(self.value, str):
            return quote(self.value) if self.value else "nothing"
        return "a list" if isinstance(self.value, list) else "a table"


def check_once(entries: Iterable[tuple[str, Node]], found: str, advice: str) -> None:
    """Refuse an entry whose name another one has; the error says what was found, and where."""
    lines: dict[str, int] = {}
    for name, node in entries:
        if name in lines:
            raise node.error(f"{found} (line {lines[name]}); {advice}")
        lines[name] = node.line


def read_yaml(path: str | Path) -> Node:
    """Return the content of a YAML file as nodes that know their lines."""
    import yaml

    file = str(path)
    text = decode(read_bytes(path, MAX_BYTES), file)
    try:
        _check_events(text, file)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        line = mark.line + 1 if mark is not None else None
        raise FileError(f"not YAML: {problem}. Check indentation and colons", file, line) from None
    if root is None:
        raise FileError("the file is empty; write something into it, or delete it", file, 1)
    return _convert(root, file, "the file")


def _check_events(text: str, file: str) -> None:
    """Refuse aliases, which can grow without bound, and deep nesting, before anything is built."""
    import yaml

    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
        mark: Any = event.start_mark
        line = mark.line + 1
        if count > MAX_VALUES:
            raise FileError(f"more than {MAX_VALUES} values; write fewer", file, line)
        if isinstance(event, yaml.AliasEvent):
            raise FileError("aliases (*name) are not read; write it out", file, line, event.anchor)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise FileError(f"nested deeper than {MAX_DEPTH}; flatten it", file, line)


def _convert(node: yaml.Node, file: str, name: str) -> Node:
    import yaml

    line = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        items = [_convert(item, file, f"{name}[{i}]") for i, item in enumerate(node.value)]
        return Node(items, line, file, name)
    if isinstance(node, yaml.MappingNode):
        table: dict[str, Node] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise FileError("expected a plain word as key", file, line, name)
            if key.value in table:
                where = (file, key.start_mark.line + 1, key.value)
                raise FileError("this key stands twice; remove one", *where)
            table[key.value] = _convert(value, file, key.value)
        return Node(table, line, file, name)
    return Node(str(node.value), line, file, name)


# YAML as it is written: what sidecars hold, with all digits of its numbers.


@cache
def _dumper() -> type[yaml.SafeDumper]:
    """Return what writes YAML without aliases, whose numbers keep all digits."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def digits(dumper: yaml.SafeDumper, value: float) -> yaml.Node:
        return dumper.represent_scalar("tag:yaml.org,2002:float", repr(value))

    def block(dumper: yaml.SafeDumper, value: dict[str, Any]) -> yaml.Node:
        return dumper.represent_mapping("tag:yaml.org,2002:map", value, flow_style=False)

    Dumper.add_representer(float, digits)
    Dumper.add_representer(dict, block)
    return Dumper


def yaml_text(content: dict[str, Any]) -> str:
    """Return tables in lines of their own, lists of numbers in one."""
    import yaml

    text: str = yaml.dump(
        content,
        Dumper=_dumper(),
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,
        width=100,
    )
    return text
