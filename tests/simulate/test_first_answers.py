"""What a first answer makes: modules of machine code and operations, not seconds."""

import pytest

import mbd_bridge as mbd
from mbd_bridge.kernels.native import machine
from tests.benchmarks.compile import first, simulated
from tests.machines import four_bar, n_four_bar


def test_a_four_bar_takes_few_small_modules(monkeypatch):
    monkeypatch.setenv("MBD_BRIDGE_CACHE", "off")
    work = first(simulated(four_bar))
    assert work.modules <= 3
    assert work.operations < 2_000


class WrittenError(Exception):
    """The text of a step is written: that is all that is asked."""


@pytest.mark.parametrize(
    ("machine_of", "operations"),
    [(lambda: mbd.load("urdf/stewart.urdf"), 25_000), (lambda: n_four_bar(40), 25_000)],
    ids=["stewart", "forty four-bars"],
)
def test_large_steps_are_traced_once_not_four_times(machine_of, operations, monkeypatch):
    """50,000 operations a step each, if the four stages were written out."""
    plain = machine.emit

    def emit(text, opt=2):
        if "@march(" in text:
            raise WrittenError
        return plain(text, opt)

    def answer():
        with pytest.raises(WrittenError):
            simulated(machine_of)()

    monkeypatch.setattr(machine, "emit", emit)
    monkeypatch.setenv("MBD_BRIDGE_CACHE", "off")
    work = first(answer)
    assert 0 < work.operations < operations
