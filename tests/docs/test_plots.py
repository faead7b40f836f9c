"""The plots on the pages are those that the script draws."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.bounds import WAIT
from tests.docs.pages import ROOT, pages

GUIDES = ROOT / "docs" / "guides"


def test_the_script_draws_every_plot_of_the_pages(tmp_path: Path) -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in pages())
    subprocess.run(
        [sys.executable, "-W", "error", str(GUIDES / "make_plots.py"), str(tmp_path)],
        check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        timeout=WAIT,
    )
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == set(re.findall(r"\]\((?:\.\./guides/)?(plot_\w+\.png)\)", text))
    assert all((GUIDES / name).is_file() for name in drawn)
