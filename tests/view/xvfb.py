"""A display without a screen, whose picture is a file."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import numpy as np

SIZE = (1280, 800)


class Xvfb:
    """An X server of its own, on the first free display, as long as the block lasts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self):
        read, write = os.pipe()
        screen = f"{SIZE[0]}x{SIZE[1]}x24"
        words = ["Xvfb", "-displayfd", str(write), "-screen", "0", screen]
        self.process = subprocess.Popen(
            [*words, "-fbdir", str(self.folder), "-nolisten", "tcp"],
            pass_fds=(write,),
            stderr=subprocess.DEVNULL,
        )
        os.close(write)
        with os.fdopen(read) as answer:
            self.display = f":{answer.readline().strip()}"
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(10)

    def picture(self):
        """What is on the screen, (height, width, 3): the file is an X window dump."""
        data = (self.folder / "Xvfb_screen0").read_bytes()
        head = np.frombuffer(data, ">u4", count=25)
        size, width, height, line, colours = head[0], head[4], head[5], head[12], head[19]
        start = int(size) + 12 * int(colours)
        rows = np.frombuffer(data, np.uint8, int(height) * int(line), start).reshape(height, line)
        return rows[:, : 4 * width].reshape(height, width, 4)[..., 2::-1]

    def wait(self, seconds, seen, every=0.2):
        """Wait until a picture is as wanted, and return it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            picture = self.picture()
            if seen(picture):
                return picture
            time.sleep(every)
        raise AssertionError("it was not seen in time")
