"""What one format says and another has no place for: listed in one warning, never dropped."""

from __future__ import annotations

from dataclasses import dataclass, field

from mbd_bridge.base.errors import some, warn

NAMED = 4
"""How many names of a kind the list shows before it says how many more there are."""


@dataclass(slots=True)
class LeftOut:
    """Collects what a reader or a writer leaves out, by kind.

    Parameters
    ----------
    file : for the message
    format : what the file is, such as MJCF
    words : of the message, before the list
    """

    file: str
    format: str
    words: str = "says more than is read here; left out"
    kinds: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, name: str = "") -> None:
        """Note a thing that is not read; `name` says which one."""
        names = self.kinds.setdefault(kind, [])
        if name and name not in names:
            names.append(name)

    def warn(self) -> tuple[str, ...]:
        """Issue the one warning, and return its message as a note; nothing if all was read."""
        if not self.kinds:
            return ()
        parts = [
            f"{kind} ({some(names, NAMED)})" if names else kind
            for kind, names in self.kinds.items()
        ]
        message = f"{self.file}: {self.format} {self.words}: {'; '.join(parts)}"
        warn(message)
        return (message,)
