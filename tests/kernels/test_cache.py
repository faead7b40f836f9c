"""A cache entry is either what this user wrote or it is not used."""

import contextlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import mbd_bridge
from mbd_bridge.base.errors import KernelError
from mbd_bridge.kernels import (
    Cache,
    cache as cache_module,
    cache as identity_module,
    cache as store,
    compile_kernel,
)
from tests.bounds import WAIT
from tests.kernels.functions import ARM_INPUTS, arm, states

FINGERPRINT = identity_module.source_fingerprint.__wrapped__
PAYLOAD = bytes(range(256)) * 8


def forbidden(q, v):
    raise AssertionError("traced although the kernel is in the cache")


@pytest.fixture(autouse=True)
def _source_is_as_imported(monkeypatch):
    """Whoever edits the package while the tests run wants them to pass all the same."""
    monkeypatch.setattr(identity_module, "source_fingerprint", lambda: b"these equations")


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "kernels")


def only_entry(cache):
    (path,) = cache.directory.glob("*.kernel")
    return path


def test_what_was_stored_is_found_by_its_key_alone(cache):
    assert cache.load("a") is None
    cache.store("a", PAYLOAD)
    assert cache.load("a") == PAYLOAD
    assert cache.load("b") is None
    cache.clear()
    assert cache.load("a") is None


def test_nobody_else_may_read_or_write(cache):
    cache.store("a", PAYLOAD)
    assert stat.S_IMODE(cache.directory.stat().st_mode) == 0o700
    for path in cache.directory.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_every_flipped_bit_is_noticed(cache):
    cache.store("a", PAYLOAD)
    path = only_entry(cache)
    good = path.read_bytes()
    for place in [*range(0, 48), *range(48, len(good), 97), len(good) - 1]:
        damaged = bytearray(good)
        damaged[place] ^= 1 << (place % 8)
        path.write_bytes(damaged)
        assert cache.load("a") is None, place
        assert not path.exists()
        path.write_bytes(good)
        path.chmod(0o600)
    assert cache.load("a") == PAYLOAD


def test_truncated_lengthened_and_empty_files_are_noticed(cache):
    cache.store("a", PAYLOAD)
    path = only_entry(cache)
    good = path.read_bytes()
    for content in (
        b"",
        good[:1],
        good[:8],
        good[:39],
        good[:40],
        good[:-1],
        good + b"\0",
        good * 2,
    ):
        path.write_bytes(content)
        assert cache.load("a") is None


def test_entries_cannot_be_exchanged_or_brought_from_elsewhere(cache, tmp_path):
    cache.store("a", PAYLOAD)
    entry = only_entry(cache)
    (cache.directory / "b.kernel").write_bytes(entry.read_bytes())
    assert cache.load("b") is None
    other = Cache(tmp_path / "other")
    other.store("a", PAYLOAD)
    entry.write_bytes(only_entry(other).read_bytes())
    assert cache.load("a") is None


def test_another_secret_opens_nothing(cache):
    cache.store("a", PAYLOAD)
    secret = cache.directory / "secret"
    for content in (b"", b"x" * 31, b"x" * 32, b"x" * 33):
        cache.store("a", PAYLOAD)
        assert cache.load("a") == PAYLOAD
        secret.write_bytes(content)
        assert cache.load("a") is None
    secret.unlink()
    assert cache.load("a") is None
    cache.store("a", PAYLOAD)
    secret.chmod(0o644)
    assert cache.load("a") is None
    cache.store("a", PAYLOAD)
    assert cache.load("a") == PAYLOAD
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600


def test_links_pipes_and_folders_in_place_of_entries(cache, tmp_path):
    cache.store("a", PAYLOAD)
    path = only_entry(cache)
    moved = tmp_path / "moved"
    path.rename(moved)
    path.symlink_to(moved)
    assert cache.load("a") is None
    assert moved.exists()
    os.mkfifo(path)
    assert cache.load("a") is None
    path.mkdir()
    assert cache.load("a") is None
    cache.store("a", PAYLOAD)
    assert cache.load("a") is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_entries_that_others_may_write_are_not_trusted(cache, mode):
    cache.store("a", PAYLOAD)
    only_entry(cache).chmod(mode)
    assert cache.load("a") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_files_of_another_owner_are_not_trusted(cache):
    cache.store("a", PAYLOAD)
    os.chown(only_entry(cache), 12345, -1)
    assert cache.load("a") is None
    cache.store("a", PAYLOAD)
    os.chown(cache.directory, 12345, -1)
    assert cache.load("a") is None
    cache.store("b", PAYLOAD)
    assert cache.load("b") is None


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_a_directory_that_others_may_write_is_not_used(cache, mode):
    cache.store("a", PAYLOAD)
    cache.directory.chmod(mode)
    assert cache.load("a") is None
    cache.store("b", PAYLOAD)
    assert not list(cache.directory.glob("b*"))


def test_no_directory_is_no_failure(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path)
    for place in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/none"),
                  tmp_path / "link", tmp_path / "nul\0", Path("/dev/null")):  # fmt: skip
        q, v = states(3, seed=1)
        kernel = compile_kernel(arm, ARM_INPUTS, cache=Cache(place))
        assert not kernel.from_cache
        assert np.all(np.isfinite(kernel(q, v)[0]))


def test_where_the_cache_is(tmp_path, monkeypatch):
    where = cache_module.default_directory
    monkeypatch.setenv("MBD_BRIDGE_CACHE", str(tmp_path / "chosen"))
    assert where() == tmp_path / "chosen"
    monkeypatch.setenv("MBD_BRIDGE_CACHE", "off")
    assert where() is None
    assert Cache().load("a") is None
    monkeypatch.delenv("MBD_BRIDGE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    if sys.platform != "darwin":
        assert where() == tmp_path / "xdg" / "mbd_bridge"
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert where() == tmp_path / ".cache" / "mbd_bridge"


def test_the_longest_unused_entries_go_first(tmp_path):
    cache = Cache(tmp_path / "kernels", limit=10_000)
    for k in range(4):
        cache.store(f"k{k}", bytes(2400))
        os.utime(cache.directory / f"k{k}.kernel", (k + 1.0, k + 1.0))
    assert cache.load("k0") is not None
    cache.store("k4", bytes(2400))
    assert [k for k in range(5) if cache.load(f"k{k}")] == [0, 2, 3, 4]
    cache.store("large", bytes(20_000))
    assert cache.load("large") is None
    assert cache.load("k0") is not None


def test_many_small_entries_stay_near_the_limit(tmp_path):
    cache = Cache(tmp_path / "kernels", limit=100_000)
    for k in range(1000):
        cache.store(f"k{k}", bytes(300))
    total = sum(path.stat().st_size for path in cache.directory.glob("*.kernel"))
    assert 0.8 * cache.limit < total < 2 * cache.limit


def test_what_killed_writers_left_is_removed(cache):
    cache.store("a", PAYLOAD)
    old, new = cache.directory / "aside-old", cache.directory / "aside-new"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (1.0, 1.0))
    for k in range(400):  # one store of sixteen looks: none of 400 would be a chance of 1e-11
        cache.store(f"b{k}", PAYLOAD)
    assert not old.exists()
    assert new.exists()


def test_an_identity_saves_the_trace(cache):
    first = compile_kernel(arm, ARM_INPUTS, identity="arm", cache=cache, outputs=["x", "w"])
    second = compile_kernel(forbidden, ARM_INPUTS, identity="arm", cache=cache, outputs=["x", "w"])
    assert (first.from_cache, second.from_cache) == (False, True)
    q, v = states(20, seed=2)
    for a, b in zip(first(q, v), second(q, v), strict=True):
        np.testing.assert_array_equal(a, b)
    for fact in ("name", "inputs", "outputs", "shapes", "counts", "lanes", "compile_seconds"):
        assert getattr(first, fact) == getattr(second, fact)
    first.single()
    expected = first(q[0], v[0])
    for a, b in zip(second.single().run(q[0], v[0]), expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_without_identity_the_operations_are_the_address(cache):
    first = compile_kernel(arm, ARM_INPUTS, cache=cache)
    assert compile_kernel(lambda q, v: arm(q, v), ARM_INPUTS, cache=cache).from_cache
    assert not first.from_cache
    assert not compile_kernel(lambda q, v: arm(v, q), ARM_INPUTS, cache=cache).from_cache


def test_whatever_changes_the_result_changes_the_address(cache, monkeypatch):
    def again(function=forbidden, **changes):
        request = {"inputs": ARM_INPUTS, "identity": "arm", "name": "arm", "lanes": 4} | changes
        inputs = request.pop("inputs")
        return compile_kernel(function, inputs, cache=cache, **request).from_cache

    assert not again(arm)
    assert again()
    assert not again(arm, identity="leg")
    assert not again(arm, name="leg")
    assert not again(arm, lanes=2)
    assert not again(lambda v, q: arm(q, v), inputs={"v": 3, "q": 3})
    monkeypatch.setattr(identity_module, "source_fingerprint", lambda: b"other equations")
    assert not again(arm)


def test_source_that_changed_while_it_ran_is_not_trusted(cache, monkeypatch):
    fresh = FINGERPRINT
    monkeypatch.setattr(identity_module, "IMPORTED_AT", time.time())
    assert fresh() is not None
    monkeypatch.setattr(identity_module, "IMPORTED_AT", 0.0)
    assert fresh() is None
    monkeypatch.setattr(identity_module, "source_fingerprint", fresh)
    for _ in range(2):
        assert not compile_kernel(arm, ARM_INPUTS, identity="arm", cache=cache).from_cache
        assert not compile_kernel(arm, ARM_INPUTS, cache=cache).from_cache


def test_every_folder_of_the_package_counts(tmp_path, monkeypatch):
    """Functions are traced in the bridges too: no room is left out, not even a future one."""
    package = tmp_path / "mbd_bridge"
    shutil.copytree(
        Path(mbd_bridge.__file__).parent, package, ignore=shutil.ignore_patterns("*.pyc")
    )
    (package / "new_room").mkdir()
    (package / "new_room" / "new.py").write_text("")
    monkeypatch.setattr(mbd_bridge, "__path__", [str(package)])
    monkeypatch.setattr(identity_module, "IMPORTED_AT", np.inf)
    met = {FINGERPRINT()}
    files = {path.parent: path for path in package.rglob("*.py")}.values()
    for path in files:
        path.write_bytes(path.read_bytes() + b"\n")
        met.add(FINGERPRINT())
    assert len(met) == len(files) + 1


def test_a_damaged_kernel_is_compiled_anew(cache):
    q, v = states(9, seed=3)
    expected = compile_kernel(arm, ARM_INPUTS, identity="arm", cache=cache)(q, v)
    path = only_entry(cache)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    kernel = compile_kernel(arm, ARM_INPUTS, identity="arm", cache=cache)
    assert not kernel.from_cache
    np.testing.assert_array_equal(kernel(q, v)[0], expected[0])
    assert compile_kernel(forbidden, ARM_INPUTS, identity="arm", cache=cache).from_cache


WORKER = textwrap.dedent(
    """
    import sys
    import numpy as np
    from mbd_bridge.kernels import Cache, compile_kernel

    cache, first, rounds = Cache(__import__("pathlib").Path(sys.argv[1])), *map(int, sys.argv[2:])
    for k in range(first, first + rounds):
        number = k % 7
        kernel = compile_kernel(
            lambda q: (np.sin(q) * (number + 1.0),), {"q": 3}, identity=str(number), cache=cache
        )
        q = np.arange(30.0).reshape(10, 3)
        assert np.allclose(kernel(q)[0], np.sin(q) * (number + 1.0), rtol=1e-13)
        if k % 3 == 0:
            cache.clear()
    print("done")
    """
)


def start(folder, first, rounds):
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(folder), str(first), str(rounds)],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_several_processes_share_a_cache(tmp_path):
    workers = [start(tmp_path / "kernels", k, 40) for k in range(3)]
    for worker in workers:
        out, err = worker.communicate(timeout=WAIT)
        assert (worker.returncode, out) == (0, "done\n"), err


def test_killed_processes_leave_nothing_bad(tmp_path):
    folder = tmp_path / "kernels"
    rng = np.random.default_rng(0)
    for k in range(6):
        worker = start(folder, k, 100_000)
        deadline = time.monotonic() + 20.0
        while not list(folder.glob("*.kernel")) and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(rng.uniform(0.0, 0.1))
        worker.send_signal(signal.SIGKILL)
        worker.communicate()
        cache = Cache(folder)
        for path in folder.glob("*.kernel"):
            with contextlib.suppress(FileNotFoundError):
                assert cache.load(path.stem) is not None, "an incomplete entry was visible"
    worker = start(folder, 1, 10)
    out, err = worker.communicate(timeout=WAIT)
    assert (worker.returncode, out) == (0, "done\n"), err


def test_a_process_loads_a_kernel_once(monkeypatch):
    monkeypatch.setenv("MBD_BRIDGE_CACHE", "off")
    same = {"identity": "the arm that is remembered"}
    first = compile_kernel(arm, ARM_INPUTS, **same)
    assert compile_kernel(forbidden, ARM_INPUTS, **same) is first
    named = compile_kernel(arm, ARM_INPUTS, **same, outputs=("x", "w"))
    assert named.outputs == ("x", "w") and first.outputs != ("x", "w")
    assert compile_kernel(arm, ARM_INPUTS, **same, cache=None) is not first


def test_a_process_forgets_the_oldest_of_many_kernels(monkeypatch):
    monkeypatch.setenv("MBD_BRIDGE_CACHE", "off")
    monkeypatch.setattr(store, "MOST_RECENT", 3)

    def made(k):
        return compile_kernel(lambda x: (x * k,), {"x": 1}, identity=f"{k} times")

    kernels = [made(k) for k in range(6)]
    assert [made(k) is kernels[k] for k in (5, 4, 3)] == [True] * 3
    assert made(0) is not kernels[0]
    assert len(store._RECENT) <= 3


def test_a_folder_of_a_user_that_does_not_exist_is_refused_with_what_to_give(monkeypatch):
    monkeypatch.setenv("MBD_BRIDGE_CACHE", "~nobody-at-all/x")
    with pytest.raises(KernelError, match="no such user; give a folder, or off"):
        Cache().load("key")
