"""Where there is no C compiler, tests that need one are skipped, and said to be."""

import shutil

import pytest

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
