"""What all tests share."""

import os
import sys

import pytest
from hypothesis import settings

from tests.quick_code import code_for

# On a server a change is judged, not the luck of the draw: the same examples every time.
settings.register_profile("server", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("server")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Compile what a test and its fixtures need as quickly as its claim allows."""
    with code_for(item.path, item.config.rootpath):
        return (yield)


@pytest.fixture(autouse=True)
def _figures():
    """Close the figures of a test: pyplot keeps them, and warns of the twenty-first."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
