"""A checkpoint is taken for its own problem only, and harms no file beside it."""

import os
import shutil
import zipfile
from io import BytesIO

import numpy as np
import pytest

from mbd_bridge.base.errors import FileError, StateError
from mbd_bridge.files.whole_file import BLANK, is_sealed, seal, whole_path
from mbd_bridge.simulation.run.checkpoint import lock_of
from tests.bounds import bounded
from tests.machines import four_bar

SECONDS = 0.3
TIMES = np.linspace(0.0, SECONDS, 7)
HAND = {"method": "svd", "integrator": "rk4", "reference": True}


def push(size):
    """Return a torque that differs from others of its kind between 0.12 and 0.14 s only."""

    def torque(t, q, v):
        out = np.zeros(3, dtype=np.asarray(q).dtype)
        x = (t - 0.13) / 0.01
        out[0] = size * 0.5 * (1.0 - x * x + np.sqrt((1.0 - x * x) * (1.0 - x * x)))
        return out

    return torque


def course(kink):
    values = 0.5 + 4.0 * TIMES
    values[4] += kink
    return {"prescribed": {"crank": (TIMES, values)}}


def wrench(size):
    return {"external": {"coupler": lambda t, q, v: size * np.array([t, 0, 0, 0, 0, 0]) * q[0]}}


PAIRS = {
    "formula": [{"torque": {"crank": f"step(t,0.1,0,{end},5)"}} for end in (0.2, 0.25)],
    "table": [
        {"torque": {"crank": (TIMES, TIMES**2 + kink * (TIMES[2] == TIMES))}} for kink in (0, 1)
    ],
    "function": [{"torque": push(1.0)}, {"torque": push(2.0)}],
    "external": [wrench(1.0), wrench(1.0 + 1e-12)],
    "actuation": [course(0.0), course(0.02)],
}
"""Two problems of each kind that agree at the start and halfway."""


def run(checkpoint, **options):
    bar = four_bar(1, 2, 1.7, 2.5)
    start = (
        {"q": bar.assemble({"crank": 0.5}, fixed="crank").q} if "prescribed" not in options else {}
    )
    wanted = {"step": 1e-3, "every": 10, "checkpoint": checkpoint, "checkpoint_every": 50}
    return bar.simulate(SECONDS, **wanted | start | options)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A checkpoint, and its content."""
    file = tmp_path_factory.mktemp("kept") / "run.npz"
    run(file)
    return file, file.read_bytes()


@pytest.mark.parametrize("way", [{}, HAND], ids=["compiled", "by hand"])
@pytest.mark.parametrize("kind", PAIRS)
def test_a_problem_that_differs_anywhere_is_another_one(tmp_path, kind, way):
    file, (one, other) = tmp_path / "run.npz", PAIRS[kind]
    first = run(file, **way, **one)
    np.testing.assert_array_equal(run(file, **way, **one).q, first.q)
    part = "(start; )?prescribed motions" if kind == "actuation" else "torque, external or forces"
    with pytest.raises(FileError, match=f"another simulation: {part} must be the same"):
        run(file, **way, **other)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"q": np.zeros(3), "check": False}, "start"),
        ({"step": 2e-3}, "duration, step or every"),
        ({"torque": {"crank": 1e-300}}, "torque, external or forces"),
        (HAND, "method or integrator"),
    ],
)
def test_what_differs_is_said(kept, tmp_path, change, told):
    file = tmp_path / "run.npz"
    shutil.copy(kept[0], file)
    if "q" in change:
        bar = four_bar(1, 2, 1.7, 2.5)
        change = {"q": bar.assemble({"crank": 0.5 + 1e-12}, fixed="crank").q}
    with pytest.raises(FileError, match=told):
        run(file, **change)
    assert file.read_bytes() == kept[1]


def test_by_hand_the_distance_of_checkpoints_counts(tmp_path):
    run(tmp_path / "a", **HAND)
    with pytest.raises(FileError, match="method or integrator"):
        run(tmp_path / "a", **HAND, checkpoint_every=60)
    run(tmp_path / "b")
    run(tmp_path / "b", checkpoint_every=60)


def test_a_function_that_cannot_be_traced_is_refused_before_it_runs(tmp_path):
    def torque(t, q, v):
        return np.array([float(q[0]), 0.0, 0.0])

    assert run(None, **HAND, torque=torque, checkpoint_every=None).finished
    with pytest.raises(StateError, match="checkpoint: what cannot be traced"):
        run(tmp_path / "run.npz", **HAND, torque=torque)
    assert not list(tmp_path.iterdir())


def test_files_of_others_stay_as_they_are(tmp_path):
    names = ("poetry.lock", ".poetry.lock", "poetry.part", ".poetry.part", ".poetry.old.part")
    for name in names:
        (tmp_path / name).write_text("precious")
    run(tmp_path / "poetry")
    for name in names:
        assert (tmp_path / name).read_text() == "precious"
    assert {path.name for path in tmp_path.iterdir()} == {*names, "poetry"}


@pytest.mark.parametrize("kind", ["symbolic", "hard", "dangling", "pipe", "folder", "text"])
def test_what_is_no_lock_in_the_place_of_the_lock_is_refused(tmp_path, kind):
    precious, file = tmp_path / "precious", tmp_path / "run.npz"
    precious.write_text("precious")
    lock = lock_of(file)
    make = {
        "symbolic": lambda: lock.symlink_to(precious),
        "hard": lambda: lock.hardlink_to(precious),
        "dangling": lambda: lock.symlink_to(tmp_path / "nowhere"),
        "pipe": lambda: os.mkfifo(lock),
        "folder": lock.mkdir,
        "text": lambda: lock.write_text("precious"),
    }
    make[kind]()
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(FileError, match=r"lock"):
        run(file)
    assert precious.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_pipe_in_the_place_of_the_checkpoint_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "run.npz")
    with pytest.raises(FileError, match="no plain file"):
        run(tmp_path / "run.npz")


def test_two_names_of_one_file_have_one_lock(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "run.npz")

    def second(steps):
        with pytest.raises(FileError, match="another run"):
            run(tmp_path / "link")

    assert run(tmp_path / "run.npz", progress=second).finished
    assert run(tmp_path / "link").finished
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("other", ["study.1", "study.npz", "study.abcdefgh", ".study"])
def test_a_run_leaves_the_part_that_another_one_is_writing(tmp_path, other):
    with whole_path(tmp_path / other) as part:
        part.write_text("half")
        run(tmp_path / "study")
        assert part.exists()
    assert (tmp_path / other).read_text() == "half"


def refused(file, content):
    """Fail if a checkpoint with that content is read."""
    file.write_bytes(content)
    with bounded(5.0), pytest.raises(FileError, match="no checkpoint of a simulation"):
        run(file)


def test_a_damaged_checkpoint_is_refused_soon(kept, tmp_path):
    """Every kind of damage at many places: bytes changed, left out, doubled, cut off, added."""
    file, content = tmp_path / "run.npz", kept[1]
    rng, size = np.random.default_rng(0), len(kept[1])
    for k in range(60):
        at, length = int(rng.integers(size)), int(rng.integers(1, 9))
        bad = [
            content[:at] + bytes([content[at] ^ (1 << int(rng.integers(8)))]) + content[at + 1 :],
            content[:at] + content[at + length :],
            content[:at] + content[at : at + length] + content[at:],
            content[:at],
            content + rng.bytes(length),
        ][k % 5]
        if bad != content:
            refused(file, bad)


def test_no_bit_of_a_checkpoint_that_has_changed_is_believed(kept):
    content = kept[1]
    assert is_sealed(BytesIO(content))
    for place in np.random.default_rng(1).choice(8 * len(content), 2000, replace=False).tolist():
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        assert not is_sealed(BytesIO(changed)), place


def test_runs_with_other_parameters_are_others(tmp_path):
    run(tmp_path / "a", parameters={"coupler.mass": 1.5})
    run(tmp_path / "a", parameters={"coupler.mass": 1.5})
    with pytest.raises(FileError, match=r"another simulation: (start; )?parameters must be"):
        run(tmp_path / "a", parameters={"coupler.mass": np.nextafter(1.5, 2.0)})


def test_flags_of_a_zip_file_that_are_forged_are_refused(kept, tmp_path):
    """With a seal of their own: encrypted, compressed in ways that nobody knows, of any size."""
    file, inside = tmp_path / "run.npz", bytearray(kept[1][: -len(BLANK)])
    first = inside.index(b"PK\x01\x02")
    for place, value in ((8, 0x01), (8, 0x20), (8, 0x40), (10, 0x63), (10, 0x0E), (10, 0x08)):
        for k, head in ((0, 2), (first, 0)):
            bad = bytearray(inside)
            bad[k + place - head] = value
            bad[first + place] = value
            whole = BytesIO(bytes(bad) + BLANK)
            seal(whole)
            refused(file, whole.getvalue())


def test_a_checkpoint_is_still_an_npz_file(kept):
    assert zipfile.is_zipfile(kept[0])
    with np.load(kept[0]) as arrays:
        assert len(arrays["time"]) == len(arrays["q"]) == 31
