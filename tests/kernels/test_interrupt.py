"""Claims about large modules: Ctrl-C ends LLVM's work at once; what comes out is the same code."""

from __future__ import annotations

import _thread
import os
import sys
import threading
import time

import pytest

from mbd_bridge.kernels import machine, object_code

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="signals of POSIX")


def text_of(functions: int) -> str:
    """Return a module of so many functions, four lines each."""
    triple = machine.host().triple
    parts = [
        f"define double @f{k}(double %x) {{\n  %y = fmul double %x, {k + 1}.0\n"
        f"  %z = fdiv double %y, %x\n  ret double %z\n}}\n"
        for k in range(functions)
    ]
    return f'target triple = "{triple}"\n' + "".join(parts)


def children() -> bool:
    """Return whether this process has children."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def test_an_interrupt_is_answered_at_once_and_leaves_nothing_behind():
    text = text_of(60_000)  # some 15 s
    had = children()
    timer = threading.Timer(1.0, _thread.interrupt_main)
    begin = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        machine.emit(text)
    assert time.monotonic() - begin < 3.0
    assert had or not children()
    assert machine.emit(text_of(3))  # the next call works


def test_a_process_of_its_own_makes_the_same_code(monkeypatch):
    text = text_of(500)
    here = machine.emit(text)
    told = []
    monkeypatch.setattr(machine, "LARGE", 100)
    monkeypatch.setattr(machine, "listener", lambda lines, seconds: told.append(lines))
    assert machine.emit(text) == here
    assert told == [text.count("\n")]


def test_a_busy_machine_on_which_the_process_starts_late_is_waited_for(monkeypatch):
    """It had read nothing when the first look came: what remained of the text was not sent."""
    text = text_of(2_000)  # more than a pipe holds
    monkeypatch.setattr(machine, "LARGE", 100)
    monkeypatch.setattr(object_code, "LOOK", 1e-4)
    assert len(machine.emit(text)) > 10_000


@pytest.mark.parametrize("python", ["", "/usr/bin/false", "/nowhere/python3", "/bin/python-none"])
def test_without_another_python_the_code_is_made_here(monkeypatch, tmp_path, python):
    text = text_of(50)
    here = machine.emit(text)
    fails = tmp_path / "python"
    fails.write_text("#!/bin/sh\nexit 3\n")
    fails.chmod(0o755)
    monkeypatch.setattr(machine, "LARGE", 10)
    for name in (python, str(fails)):
        monkeypatch.setattr(sys, "executable", name)
        assert machine.emit(text) == here
