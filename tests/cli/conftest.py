"""What all tests of commands share: a command that is run in here."""

from __future__ import annotations

import pytest

from mbd_bridge.cli import main


@pytest.fixture
def run(capsys):
    """Return a function that runs a command: exit code, stdout, stderr."""

    def command(*words):
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command
