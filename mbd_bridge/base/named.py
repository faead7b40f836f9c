"""Results with entries by name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from mbd_bridge.base.arguments import known_name

Entry = TypeVar("Entry", covariant=True)


class Named(Mapping[str, Entry]):
    """Entries by name: ``for``, ``len``, ``in`` and the Tab key in a notebook go over the names.

    A class says what messages call an entry: ``class Motors(Named[MotorDuty], entries="motor")``,
    where ``{0.link}`` stands for the result's own `link`.
    """

    __slots__ = ()
    __eq__, __hash__ = object.__eq__, object.__hash__  # entries hold arrays
    _entry_kind: ClassVar[str] = "entry"

    def __init_subclass__(cls, *, entries: str = "", **more: Any) -> None:
        super().__init_subclass__(**more)
        if entries:  # a dataclass with slots makes its class twice, the second time without it
            cls._entry_kind = entries

    @property
    @abstractmethod
    def names(self) -> Collection[str]:
        """Names of the entries."""

    @abstractmethod
    def _entry(self, name: str) -> Entry:
        """Return the entry of a name that is there."""

    def __getitem__(self, name: str) -> Entry:
        """Return the entry of a name."""
        known_name(self._entry_kind.format(self), name, self.names)
        return self._entry(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.names

    def get(self, name: str, default: Any = None) -> Any:
        """Return the entry of a name, or the default if there is none."""
        known = name in self
        return self[name] if known else default

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.names)
