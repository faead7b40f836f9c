"""Compiling among threads and processes: nobody waits for ever, nothing is left behind."""

import contextlib
import ctypes
import gc
import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from llvmlite.binding import ResourceTracker

import mbd_bridge as mbd
from mbd_bridge.base import forking
from mbd_bridge.base.errors import KernelError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.kernels import cache, compile_kernel, machine
from mbd_bridge.solve import prepared
from tests.bounds import ALLOWANCE
from tests.machines import four_bar
from tests.questions import ask, pendulum

FORKS = 8
PATIENCE = 15.0 * ALLOWANCE
"""s, after which a child waits for ever."""

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def compiled(factor, terms=40):
    """Return a kernel that nobody has compiled before, and what it gives for ones."""

    def function(q):
        x = q
        for k in range(terms):
            x = 0.3 * np.sin(x) + 1e-3 * factor * k * q
        return (x,)

    kernel = compile_kernel(function, {"q": 3}, cache=None)
    return np.allclose(kernel(np.ones(3))[0], function(np.ones(3))[0], rtol=1e-12, atol=0.0)


@contextlib.contextmanager
def going_on(*works):
    """Repeat works, each in a thread, in the meantime; they fail as this does."""
    stop, errors = threading.Event(), []

    def repeat(work):
        try:
            while not stop.is_set():
                assert work() is not False
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=repeat, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not errors


def exit_code_of_a_child(work):
    """Return 0 if a forked child does the work, 1 if not, None if it does not come to an end."""
    child = os.fork()
    if child == 0:
        signal.alarm(round(2 * PATIENCE))  # also if its parent is gone by then
        code = 2
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    deadline = time.monotonic() + PATIENCE
    while (found := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.005)
    return os.waitstatus_to_exitcode(found[1])


def llvm_of_others():
    """Use llvmlite beside us, as numba does."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly("define double @f() {\n ret double 1.0\n}\n")
    return str(module) != ""


class Slow:
    """Something that takes its time to be formed."""

    @cached_property
    def answer(self):
        time.sleep(0.05)
        return 42


@pytest.mark.parametrize(
    "works",
    [[lambda: compiled(time.monotonic())] * 2, [llvm_of_others] * 2, [lambda: Slow().answer]],
    ids=["we compile", "others use LLVM", "something is formed"],
)
def test_a_child_that_is_forked_meanwhile_compiles(works):
    rng = np.random.default_rng(0)
    with going_on(*works):
        for k in range(FORKS):
            time.sleep(rng.uniform(0.0, 0.05))
            assert exit_code_of_a_child(lambda k=k: compiled(2.0 + k) and Slow().answer) == 0


def child_of_a_child():
    return exit_code_of_a_child(lambda: compiled(3.0)) == 0


def test_children_of_children_compile():
    with going_on(lambda: compiled(time.monotonic())):
        for _ in range(3):
            assert (
                exit_code_of_a_child(lambda: exit_code_of_a_child(lambda: compiled(3.0)) == 0) == 0
            )


def test_threads_that_compile_and_let_go_at_once_agree():
    right = dict.fromkeys(range(4), 0)

    def compile_and_let_go(k):
        right[k] += compiled(1.0 + 0.01 * k, terms=5 + k)

    deadline = time.monotonic() + PATIENCE
    with going_on(*[lambda k=k: compile_and_let_go(k) for k in right]):
        while min(right.values()) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
            gc.collect()
    assert min(right.values()) >= 2, right


def loads_of(pair):
    bar, q = pair
    at = bar.assemble({"crank": q}, fixed="crank", velocity={"crank": 1.0})
    return bar.forward_dynamics(at.q, at.v, np.zeros(bar.nv))


@pytest.mark.parametrize("way", ["spawn", "fork"])
def test_a_pool_of_processes_gives_what_this_one_does(way):
    bar = four_bar(1, 2, 1.7, 2.5)
    work = [(bar, q) for q in np.linspace(0.3, 2.0, 6)]
    expected = [loads_of(pair) for pair in work]  # so that a fork inherits machine code
    pool = multiprocessing.get_context(way).Pool
    with going_on(lambda: compiled(time.monotonic())), pool(2) as workers:
        found = workers.map_async(loads_of, work).get(timeout=4 * PATIENCE)
    np.testing.assert_array_equal(found, expected)


def maps():
    with open("/proc/self/maps") as file:
        return sum(1 for _ in file)


def test_functions_beyond_what_the_system_takes_are_refused(monkeypatch):
    """At 65,530 memory maps LLVM would end the process."""
    gc.collect()
    compiled(0.1)
    before = len(machine._LIBRARIES)
    monkeypatch.setattr(machine, "MOST_LOADED", before + 3)
    held = [compile_kernel(lambda q: (2.0 * q,), {"q": 1}, cache=None) for _ in range(3)]
    with pytest.raises(KernelError, match=f"{before + 3} compiled functions.*Let go of"):
        compile_kernel(lambda q: (3.0 * q,), {"q": 1}, cache=None)
    held.append(held)  # a cycle, which only the collector finds
    del held
    assert compiled(0.2)
    assert len(machine._LIBRARIES) <= before + 1


FAR_APART = """
import ctypes, mmap, sys
from mbd_bridge.kernels import machine

code = machine.emit('''
@table = private constant [64 x double] zeroinitializer
define double @look_up(i64 %i) {
  %p = getelementptr [64 x double], ptr @table, i64 0, i64 %i
  %x = load double, ptr %p
  ret double %x
}
''')
machine.Loaded(code, "look_up")  # what LLVM itself needs
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
page, reserved = mmap.PAGESIZE, 0x4022  # private, anonymous, no memory behind it
large = libc.mmap(None, 6 << 30, 0, reserved, -1, 0)
hole = libc.mmap(None, page, 0, reserved, -1, 0)
while hole > large:  # the system fills gaps from above
    below = libc.mmap(None, page, 0, reserved, -1, 0)
    if below < large:
        break
    hole = below
libc.munmap(below, page)
libc.munmap(hole, page)  # room for one part, 6 GiB from the room for the next
held = [machine.Loaded(code, "look_up") for _ in range(3)]
function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)
print([function(loaded.address)(1) for loaded in held], hole - held[0].address > 2 << 30)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="how Linux maps memory")
def test_a_function_loads_where_free_memory_is_far_apart():
    """As in a process of 4 GB, where LLVM's older loader ended the process by an assertion."""
    done = subprocess.run([sys.executable, "-c", FAR_APART], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[0.0, 0.0, 0.0] True\n"), done.stderr


def test_code_that_cannot_be_linked_is_refused():
    code = machine.emit(
        "declare void @nobody_has_this()\ndefine void @f() {\n"
        "  call void @nobody_has_this()\n  ret void\n}\n"
    )
    with pytest.raises(KernelError, match="cannot load 'f'"):
        machine.Loaded(code, "f")
    assert compiled(0.3)


def test_machine_code_in_a_garbage_cycle_is_closed_once(monkeypatch):
    """The collector and a thread that had LLVM's lock closed it at once: SIGSEGV on Python 3.12."""
    closed, close = [], ResourceTracker._dispose

    def slow(library):
        closed.append(library.name)
        time.sleep(0.2)
        if closed.count(library.name) == 1:
            close(library)

    monkeypatch.setattr(ResourceTracker, "_dispose", slow)
    code = machine.emit("define void @f() {\n  ret void\n}\n")
    busy = threading.Event()

    def close_what_is_unused():
        with machine._llvm():
            busy.set()
            while not machine._UNUSED:
                time.sleep(0.001)

    gc.collect()
    cycle = [machine.Loaded(code, "f")]
    cycle.append(cycle)
    thread = threading.Thread(target=close_what_is_unused)
    thread.start()
    busy.wait()
    del cycle
    gc.collect()
    thread.join()
    assert closed
    assert len(set(closed)) == len(closed)


def test_sessions_of_the_linker_are_let_go_with_their_functions(monkeypatch):
    monkeypatch.setattr(machine, "LINKED_TOGETHER", 2)
    code = machine.emit("define void @f() {\n  ret void\n}\n")
    held = [machine.Loaded(code, "f") for _ in range(5)]
    first = held[0].address
    del held[1:]
    assert ctypes.CFUNCTYPE(None)(first)() is None
    assert len(machine._SESSION) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_memory_of_machine_code_is_given_back_from_any_thread():
    compiled(0.1)
    gc.collect()
    before = maps(), len(machine._LIBRARIES)
    with going_on(*[lambda: compiled(time.monotonic(), terms=3)] * 3):
        time.sleep(1.0)
    gc.collect()
    compiled(0.1)
    assert len(machine._LIBRARIES) <= before[1] + 1
    assert maps() < before[0] + 60


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("mechanisms", [1, 7])
def test_ever_new_questions_leave_nothing_behind(monkeypatch, mechanisms):
    """`python -m tests.benchmarks questions` asks 30,000, which ended by SIGSEGV."""
    monkeypatch.setattr(prepared, "MOST_KEPT", 5)
    monkeypatch.setattr(cache, "MOST_RECENT", 5)
    loaded, load = [], machine.Loaded.__init__
    monkeypatch.setattr(
        machine.Loaded, "__init__", lambda self, *code: loaded.append(load(self, *code))
    )
    first, *_, last = ask(60, 20, mechanisms)
    assert len(loaded) >= 60  # each has machine code of its own
    assert last.maps <= first.maps + 10
    assert last.MiB < first.MiB + 5.0


def test_a_question_that_was_let_go_is_answered_again(monkeypatch):
    monkeypatch.setattr(prepared, "MOST_KEPT", 2)
    made = []
    one, other = (prepared.Prepared(pendulum().model) for _ in range(2))
    for key in (1, 2, 1, 3, 1):
        one.get(key, lambda key=key: made.append(key))
    assert made == [1, 2, 3]  # what is asked for again and again stays
    other.get(4, lambda: made.append(4))
    one.get(3, lambda: made.append(3))
    assert made == [1, 2, 3, 4, 3]


def test_a_mechanism_that_is_copied_takes_its_model_along():
    import pickle

    bar = four_bar(1, 2, 1.7, 2.5)
    bar.mass_matrix(bar.neutral())
    other = pickle.loads(pickle.dumps(bar))
    np.testing.assert_array_equal(other.mass_matrix(bar.neutral()), bar.mass_matrix(bar.neutral()))
    assert isinstance(other, mbd.Mechanism)


SLOW_MODULE = """\
import logging, time
import mbd_bridge.kernels.machine as machine
MARK.touch()
time.sleep(0.3)
logging.getLogger(__name__)
with machine._LOCK:
    answer = 42
"""


def test_a_child_that_is_forked_while_a_thread_imports_goes_on(tmp_path, monkeypatch):
    mark = tmp_path / "mark"
    text = f"import pathlib\nMARK = pathlib.Path({str(mark)!r})\n" + SLOW_MODULE
    (tmp_path / "slow_module.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    thread = threading.Thread(target=lambda: importlib.import_module("slow_module"))
    thread.start()
    while not mark.exists():
        time.sleep(0.005)

    def work():
        return importlib.import_module("slow_module").answer == 42 and compiled(2.0)

    try:
        assert exit_code_of_a_child(work) == 0
        assert exit_code_of_a_child(lambda: exit_code_of_a_child(work) == 0) == 0
    finally:
        thread.join()
        sys.modules.pop("slow_module", None)
    assert not forking._held and forking._FORKING.acquire(blocking=False)
    forking._FORKING.release()


def test_a_fork_within_an_import_goes_on(tmp_path, monkeypatch):
    (tmp_path / "forking_module.py").write_text(
        "import os\nchild = os.fork()\nif child == 0:\n    import json.tool\n    os._exit(0)\n"
        "code = os.waitpid(child, 0)[1]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    begin = time.monotonic()
    assert importlib.import_module("forking_module").code == 0
    assert time.monotonic() - begin < PATIENCE / 2.0
    sys.modules.pop("forking_module")
