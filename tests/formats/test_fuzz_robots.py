"""However a robot's file is damaged, it is read, or refused with an error that explains."""

import time
import warnings

import numpy as np
import pytest

from mbd_bridge.api.sources import describe
from mbd_bridge.errors import FileError, MbdWarning
from mbd_bridge.formats import Description
from tests.formats.mutation import mutate
from tests.formats.test_mjcf import ARM
from tests.formats.test_sdf import MACHINE
from tests.sample import TIMES

MUTANTS = 150 * TIMES
"""Of each text."""

PATIENCE = 3.0
"""No file of this size may take longer, s; they take some milliseconds."""

TEXTS = {"MJCF": ARM, "SDF": MACHINE}


def outcome(path) -> str:
    start = time.perf_counter()
    refusal: FileError | None = None
    try:
        found = describe(path)
    except FileError as error:
        refusal = error
    assert time.perf_counter() - start < PATIENCE
    if refusal is not None:
        assert refusal.file is not None
        assert len(refusal.message) > 20
        return "error"
    assert isinstance(found, Description)
    for link in found.links:
        assert link.inertia is None or np.isfinite(link.inertia.central).all()
    return "description"


@pytest.mark.parametrize("kind", TEXTS)
def test_mutants_are_read_or_refused(kind, tmp_path):
    path = tmp_path / "mutant.xml"
    path.write_text(TEXTS[kind])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", MbdWarning)
        assert outcome(path) == "description"
        rng = np.random.default_rng(23)
        seen = []
        for _ in range(MUTANTS):
            path.write_bytes(mutate(TEXTS[kind], rng))
            seen.append(outcome(path))
    assert 0.05 < seen.count("description") / MUTANTS < 0.95  # both roads were taken
