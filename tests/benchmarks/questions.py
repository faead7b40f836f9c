"""30,000 different questions in one process: memory and maps stay what they are."""

from __future__ import annotations

from tests.questions import Left, ask

NUMBER, EVERY = 30_000, 3_000


def run() -> list[Left]:
    """Ask, and print what is held on the way."""
    found = []
    for left in ask(NUMBER, EVERY):
        print(f"{left.questions:6d} questions: {left.maps} maps, {left.MiB:.0f} MiB", flush=True)
        found.append(left)
    return found
