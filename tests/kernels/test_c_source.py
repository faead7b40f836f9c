"""The exported C file compiles without a warning and gives the kernel's digits."""

import ctypes
import re
import subprocess

import numpy as np
import pytest

from mbd_bridge.kernels import Cache, c_source, cache as identity, compile_kernel, trace
from tests.kernels.c_library import COMPILER, FLAGS, build, pointers
from tests.kernels.functions import ARM_INPUTS, arm, states

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")


@pytest.mark.parametrize("target", [[], ["-march=native"]], ids=["portable", "native"])
@pytest.mark.parametrize("scale", [1.0, 1e-7, 1e6, 1e15])
def test_same_digits(tmp_path, scale, target):
    kernel = compile_kernel(arm, ARM_INPUTS, name="arm", outputs=["x", "w"], cache=None)
    library = build(c_source(kernel, notes="q in rad, v in rad/s"), tmp_path, *target)
    q, v = states(101, seed=1, scale=scale)
    expected = kernel(q, v)
    got = [np.empty_like(a) for a in expected]
    library.arm_batch(ctypes.c_size_t(101), *pointers([q, v, *got]))
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_array_equal(a, b)
    library.arm(*pointers([q[3], v[3], got[0][0], got[1][0]]))
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_array_equal(a[0], b[3])


def test_a_function_with_every_operation_has_the_kernels_digits(tmp_path):
    def function(q, v):
        d = q @ q + 2.0
        u = np.array([q[0] * v[0] + q[1] * v[1], q[2] * v[2] - q[1], q[1] - q[0] * v[2]])
        w = -(u / d) + np.sin(u) * np.cos(v) - 0.1 * np.sqrt(d)
        return (w, -np.sqrt(d), np.cross(u, w), np.cos(3e9 * q))

    kernel = compile_kernel(function, ARM_INPUTS, name="all", cache=None)
    kinds = {i.op for i in kernel.program.instructions}
    assert kinds >= {"fma", "fms", "fnma", "add", "sub", "mul", "div", "neg", "sqrt", "sin", "cos"}
    library = build(c_source(kernel), tmp_path)
    q, v = states(203, seed=4)
    expected = kernel(q, v)
    got = [np.empty_like(a) for a in expected]
    library.all_batch(ctypes.c_size_t(203), *pointers([q, v, *got]))
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_contraction_left_to_the_compiler_changes_last_digits_only(tmp_path):
    kernel = compile_kernel(arm, ARM_INPUTS, name="arm", cache=None)
    library = build(c_source(kernel), tmp_path, "-march=native", "-ffp-contract=fast")
    q, v = states(50, seed=2)
    expected = kernel(q, v)
    got = [np.empty_like(a) for a in expected]
    library.arm_batch(ctypes.c_size_t(50), *pointers([q, v, *got]))
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)


def test_awkward_names_notes_and_functions_compile(tmp_path):
    def function(a, b, unused):
        return (a * b, np.zeros(0), np.array([np.inf, -np.inf, np.nan, -0.5]), b)

    graph = trace(function, {"double": 2, "q-1": 2, "3*/": 2})
    notes = 'N m, */ evil /* comment \\\nnext ??/\n"quoted" µ'
    text = c_source(graph, "left hand", outputs=["double", "double", "sin", "_x"], notes=notes)
    library = build(text, tmp_path)
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    out = [np.empty(2), np.empty(1), np.empty(4), np.empty(2)]
    library.left_hand(*pointers([a, b, a, *out]))
    np.testing.assert_array_equal(out[0], [3.0, 8.0])
    np.testing.assert_array_equal(out[2], [np.inf, -np.inf, np.nan, -0.5])
    assert build(c_source(trace(lambda: (), {}), "nothing"), tmp_path)


def test_the_head_says_what_goes_in_and_out():
    text = c_source(trace(arm, ARM_INPUTS), "arm", outputs=["x", "w"], notes="q in rad")
    for line in (" * in   q[3]", " * out  x[5]", " * out  w[2][3], rows", " * q in rad"):
        assert line in text
    assert "-O2 -march=native -ffp-contract=off" in text


def test_the_head_counts_operations_as_the_kernel_does():
    kernel = compile_kernel(arm, ARM_INPUTS, name="arm", cache=None)
    assert f" * {sum(kernel.counts.values())} operations for one state" in c_source(kernel)
    assert c_source(kernel.graph, "arm").split("in   q")[1][:900].count("operations") == 1


def test_a_kernel_from_the_cache_can_be_exported(tmp_path, monkeypatch):
    monkeypatch.setattr(identity, "source_fingerprint", lambda: b"these equations")
    cache = Cache(tmp_path / "cache")
    made = [compile_kernel(arm, ARM_INPUTS, identity="arm", cache=cache) for _ in range(2)]
    assert made[1].from_cache
    assert c_source(made[0]) == c_source(made[1])


HEADERS = ("math", "string", "stdint", "stddef")


def names_of_the_compiler():
    """Macros and functions that this compiler's own headers define, and words of the language."""
    include = "".join(f"#include <{name}.h>\n" for name in HEADERS)
    found = set()
    for option in (["-dM"], []):
        command = [COMPILER, "-std=gnu11", "-E", *option, "-"]
        text = subprocess.run(command, input=include, check=True, capture_output=True, text=True)
        found |= set(re.findall(r"#define (\w+)" if option else r"(\w+) \(", text.stdout))
    known = "log exp j1 yn lgamma NULL printf malloc for int class template INT64_MAX M_PI linux I"
    return sorted({name for name in found if not name.startswith("_")} | set(known.split()))


def test_functions_and_arguments_called_like_anything_of_c_compile(tmp_path):
    names = names_of_the_compiler()
    assert len(names) > 300
    own = trace(lambda *given: given, dict.fromkeys(names[::8], 1))
    texts = [c_source(trace(lambda q: (2.0 * q,), {"q": 1}), name) for name in names]
    texts.append(c_source(own, "all", outputs=[f"{name}f" for name in names[::8]]))
    (tmp_path / "k.c").write_text("\n".join(texts))
    for standard in ("-std=c99", "-std=gnu17"):
        command = [COMPILER, standard, *FLAGS[1:], "-fsyntax-only", tmp_path / "k.c"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:3000]
