"""A motion as it is played: which time is shown, how fast, and whether it goes on."""

from __future__ import annotations

from dataclasses import dataclass, field

SPEEDS = (0.01, 10.0)
"""Slowest and fastest, seconds of motion in a second."""

FASTER = 2.0**0.5
"""What one key does to the speed."""

STEP = 1.0 / 100.0
"""What an arrow key moves, of the whole motion."""


@dataclass
class Player:
    """The time of a motion from `start` to `end`, s.

    Attributes
    ----------
    time : that is shown, s
    speed : seconds of motion in a second
    playing : whether time goes on
    """

    start: float
    end: float
    speed: float = 1.0
    playing: bool = True
    time: float = field(init=False)

    def __post_init__(self) -> None:
        self.time = self.start
        self.playing = self.playing and self.end > self.start

    def advance(self, seconds: float) -> float:
        """Let real time pass; return the time that is shown. Behind the end it begins again."""
        if self.playing:
            length = self.end - self.start
            self.time += seconds * self.speed
            if self.time > self.end:
                self.time = self.start + (self.time - self.end) % length
        return self.time

    def toggle(self) -> None:
        """Play, or pause."""
        self.playing = not self.playing and self.end > self.start

    def seek(self, time: float) -> None:
        """Show another time, and stay there."""
        self.time = min(max(time, self.start), self.end)
        self.playing = False

    def set_speed(self, speed: float) -> None:
        """Play at another speed, within bounds."""
        self.speed = min(max(speed, SPEEDS[0]), SPEEDS[1])

    def key(self, key: str) -> bool:
        """Obey a key; return whether it has a meaning here."""
        step = STEP * (self.end - self.start)
        match key:
            case " ":
                self.toggle()
            case "left":
                self.seek(self.time - step)
            case "right":
                self.seek(self.time + step)
            case "+" | "=":
                self.set_speed(self.speed * FASTER)
            case "-":
                self.set_speed(self.speed / FASTER)
            case "r":
                playing, self.time = self.playing, self.start
                self.playing = playing
            case _:
                return False
        return True
