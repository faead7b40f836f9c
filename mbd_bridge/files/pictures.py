"""Files of pictures, by the ending of their names: of plots, and of drawn machines."""

from __future__ import annotations

DOTS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WebP"}
"""Pictures made of dots: ending -> name of the format. All pictures may be these."""

LINES = (".svg", ".pdf")
"""Pictures made of lines: plots only."""

PLOTS = (*DOTS, *LINES)
"""What plots may be."""

PLOT_NAMES = f"{', '.join(PLOTS[:-1])} or {PLOTS[-1]}"
"""The same, for messages."""
