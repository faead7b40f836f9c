"""What all tests of commands share: kernels of their own, and a command that is run in here."""

from __future__ import annotations

import pytest

from mbd_bridge.cli import main


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    """Keep kernels in one folder for this run of the tests: each is compiled once, none is old."""
    monkeypatch.setenv("MBD_BRIDGE_CACHE", str(tmp_path_factory.getbasetemp() / "kernels"))


@pytest.fixture
def run(capsys):
    """Return a function that runs a command: exit code, stdout, stderr."""

    def command(*words):
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command
