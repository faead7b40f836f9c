"""Pages in a browser: what it draws, asks for and complains of."""

import numpy as np
from PIL import Image

WIDE, PHONE = {"width": 900, "height": 700}, {"width": 390, "height": 740}


class Page:
    """A page of the browser, what it asked for and what it complained of."""

    def __init__(self, browser, address, size):
        self.page = browser.new_page(viewport=size)
        self.asked, self.errors = [], []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.page.goto(address)
        self.page.wait_for_selector(".mbd-view canvas")

    def pixels(self, path):
        self.page.wait_for_timeout(150)
        self.page.locator(".mbd-view .stage").screenshot(path=path)
        with Image.open(path) as image:
            return np.asarray(image.convert("RGB")).astype(int)

    def labels(self):
        return self.page.evaluate(
            "[...document.querySelectorAll('.mbd-view .label')].filter(l => !l.hidden)"
            ".map(l => l.textContent)"
        )

    def box(self, text):
        return self.page.locator(".controls > label", has_text=text).locator("input")


def seen_at(scene, points, size):
    """Where the page's camera sees points (K, 3): pixels from the left and the top."""
    low, high = np.reshape(scene["box"], (2, 3))
    up, way = np.array(scene["up"]), np.array(scene["view"])
    reach, angle = 0.5 * np.linalg.norm(high - low), 0.6
    width, height = size
    distance = 1.02 * reach / np.sin(angle / 2) / min(1.0, width / height)
    right = np.cross(up, way) / np.linalg.norm(np.cross(up, way))
    eye = 0.5 * (low + high) + distance * way
    away = points - eye
    focus = 0.5 * height / np.tan(angle / 2) / -(away @ way)
    return np.column_stack(
        [0.5 * width + focus * (away @ right), 0.5 * height - focus * (away @ np.cross(way, right))]
    )
