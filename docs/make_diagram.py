"""Draw what goes into mbd_bridge and what comes out, for the README and docs/index.md.

python docs/make_diagram.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")  # no window: the picture goes into a file

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

HERE = Path(__file__).parent

INPUTS = [
    ("The machine", "URDF, MJCF, SDF, USD or Python;\nclosed loops in NAME.loops.yaml"),
    ("The motion", "CSV, Parquet, HDF5, npz, ROS bag;\nor simulated here"),
    ("What acts on it", "forces, torques, payloads,\ngravity, prescribed motion"),
]
OUTPUTS = [
    ("Joint loads", "force and moment in any joint"),
    ("Motor torques", "along the motion, beside limits"),
    ("Simulated motion", "also with closed loops"),
    ("Fatigue and FE load cases", "rainflow spectra, Nastran cards"),
    ("Plots, films, a report", "a single file, HTML or PDF"),
    ("C99 code", "same digits, needs only math.h"),
]

SIZE = (10.0, 4.4)  # inches, and the axes' units
DPI = 160
INK = "#1d2733"
ARROW = {"arrowstyle": "-|>", "color": "#5b6b7c", "lw": 1.6, "shrinkA": 0, "shrinkB": 0}


def box(
    ax: Axes, left: float, low: float, width: float, height: float, fill: str, edge: str
) -> None:
    """Draw a box with round corners."""
    style = "round,pad=0,rounding_size=0.08"
    patch = FancyBboxPatch((left, low), width, height, style, facecolor=fill, edgecolor=edge)
    ax.add_patch(patch)


def column(
    ax: Axes, entries: list[tuple[str, str]], left: float, width: float, fill: str, edge: str
) -> list[float]:
    """Draw a column of boxes with a title and a text each; return the heights of their middles."""
    pitch = 4.0 / len(entries)
    middles = []
    for k, (title, text) in enumerate(entries):
        middle = 4.2 - (k + 0.5) * pitch
        half = 0.5 * pitch - 0.06
        box(ax, left, middle - half, width, 2 * half, fill, edge)
        lines = 1 + text.count("\n")
        ax.text(
            left + 0.14,
            middle + 0.09 * lines,
            title,
            size=12,
            weight="bold",
            color=INK,
            va="center",
        )
        ax.text(left + 0.14, middle - 0.13, text, size=10.5, color=INK, va="center")
        middles.append(middle)
    return middles


def main(folder: Path) -> None:
    """Draw the diagram."""
    figure = plt.figure(figsize=SIZE, dpi=DPI, facecolor="white")
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set_xlim(0.0, SIZE[0])
    ax.set_ylim(0.0, SIZE[1])
    ax.axis("off")

    into = column(ax, INPUTS, 0.12, 3.1, "#eaf1fb", "#7fa3d1")
    out = column(ax, OUTPUTS, 6.78, 3.1, "#eaf6ec", "#7fb68a")

    box(ax, 4.15, 1.35, 1.7, 1.7, "#1f3f66", "#1f3f66")
    ax.text(5.0, 2.66, "mbd_bridge", size=14, weight="bold", color="white", ha="center")
    text = "equations of this\none machine,\ncompiled"
    ax.text(5.0, 2.02, text, size=10.5, color="white", ha="center", va="center")

    for height in into:
        ax.annotate("", (4.15, 2.2 + 0.3 * (height - 2.2)), (3.22, height), arrowprops=ARROW)
    for height in out:
        ax.annotate("", (6.78, height), (5.85, 2.2 + 0.3 * (height - 2.2)), arrowprops=ARROW)
    figure.savefig(folder / "diagram.png")
    plt.close(figure)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
