"""Whatever happens to a motion's file, the answer is a motion or a FileError."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError
from mbd_bridge.files.tables import read_table
from mbd_bridge.motion.motion import motion_from_table

URDF = Path(__file__).parents[2] / "urdf"
PIECES = [b",", b"\n", b"nan", b"1e400", b"-", b'"', b"#", b"\xff", b"\0", b"[deg]", b" ", b".vel"]
MUTANTS = 1500


def mutant(text: bytes, rng: np.random.Generator) -> bytes:
    """Return the text with one to three pieces put in, doubled, or cut out."""
    for _ in range(rng.integers(1, 4)):
        place = int(rng.integers(0, len(text)) if rng.random() < 0.5 else rng.integers(0, 400))
        length = int(rng.integers(0, 30))
        kind = rng.integers(0, 3)
        if kind == 0:
            text = text[:place] + PIECES[rng.integers(len(PIECES))] + text[place:]
        elif kind == 1:
            text = text[: place + length] + text[place:]
        else:
            text = text[:place] + text[place + length :]
    return text


def test_mutants_of_a_motion_are_motions_or_file_errors(tmp_path):
    model = mbd.load(URDF / "kuka_iiwa.urdf").model
    text = (URDF / "kuka_iiwa_motion.csv").read_bytes()
    text = text[: text.rindex(b"\n", 0, 6000)]
    path, rng = tmp_path / "m.csv", np.random.default_rng(0)
    read = refused = 0
    for _ in range(MUTANTS):
        path.write_bytes(mutant(text, rng))
        try:
            motion = motion_from_table(read_table(path), model, rest=True)
        except FileError as error:
            refused += error.file == str(path)
        else:
            read += bool(np.all(np.isfinite(motion.a)))
    assert read + refused == MUTANTS
    assert min(read, refused) > MUTANTS / 10


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(
    ("factor", "wrong"), [(1.0, False), (180.0 / np.pi, True), (np.pi / 180.0, True), (-1.0, True)]
)
def test_velocities_that_lead_elsewhere_than_the_positions_are_said(
    factor, wrong, wrapped, tmp_path
):
    """In degrees, of the other sense; with an encoder's noise, and where an angle is wrapped."""
    rod = mbd.load(URDF / "pendulum.urdf")
    time = np.arange(4000) / 1000
    angle = 3.0 * np.sin(2.0 * time) + 1.0
    rate = 6.0 * np.cos(2.0 * time)
    noise = np.random.default_rng(0).normal(size=(2, len(time)))
    angle, rate = angle + 1e-4 * noise[0], rate + 0.1 * noise[1]
    time[2000:] += 5.0  # there the recording paused
    if wrapped:
        angle = (angle + np.pi) % (2.0 * np.pi) - np.pi
    path = tmp_path / "motion.npz"
    np.savez(path, time=time, hinge=angle, **{"hinge.vel": factor * rate})
    said = "hinge.vel is not the rate of hinge: it leads over"
    for notes in (
        rod.read_motion(path).notes,
        rod.load_history(path, ["hinge"]).notes,
    ):
        assert any(said in note for note in notes) == wrong, notes
