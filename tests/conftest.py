"""What all tests share."""

import os

from hypothesis import settings

# On a server a change is judged, not the luck of the draw: the same examples every time.
settings.register_profile("server", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("server")
