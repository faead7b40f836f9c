"""What a first answer makes: modules of machine code and operations, not seconds."""

import pytest

from mbd_bridge.kernels import machine
from tests.benchmarks.compile import ANSWERS, first, simulated
from tests.machines import four_bar


def test_a_four_bar_takes_few_small_modules(monkeypatch):
    monkeypatch.setenv("MBD_BRIDGE_CACHE", "off")
    work = first(simulated(four_bar))
    assert work.modules <= 3
    assert work.operations < 2_900


class WrittenError(Exception):
    """The text of a step is written: that is all that is asked."""


@pytest.mark.parametrize(
    ("name", "operations"),
    [("simulate stewart.urdf", 29_000), ("simulate 40 four-bars", 40_000)],
    ids=["stewart", "forty four-bars"],
)
def test_large_steps_are_traced_once_not_four_times(name, operations, monkeypatch):
    """50,000 operations a step each, if the four stages were written out."""
    plain = machine.emit

    def emit(text):
        if "@march(" in text:
            raise WrittenError
        return plain(text)

    def answer():
        with pytest.raises(WrittenError):
            ANSWERS[name]()

    monkeypatch.setattr(machine, "emit", emit)
    monkeypatch.setenv("MBD_BRIDGE_CACHE", "off")
    work = first(answer)
    assert 0 < work.operations < operations
