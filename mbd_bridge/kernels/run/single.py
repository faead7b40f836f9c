"""One state at a time, with as little between the caller and the machine code as Python allows."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from math import prod
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import KernelError, StateError
from mbd_bridge.kernels.native import machine
from mbd_bridge.kernels.native.artifact import Artifact
from mbd_bridge.kernels.run import layout
from mbd_bridge.kernels.run.layout import Floats

_FASTCALL = 0x0080
"""``METH_FASTCALL``."""


class _MethodDef(ctypes.Structure):
    """``PyMethodDef``: how the interpreter describes a function of machine code."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_new_function = ctypes.pythonapi.PyCFunction_NewEx
_new_function.restype = ctypes.py_object
_new_function.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)


class Single:
    """A kernel for one state at a time, made by `Kernel.single`.

    ``run(q, v, a)`` copies its arguments to `inputs`, computes, and returns `outputs`: always the
    same arrays, overwritten by the next call. ``run()`` takes `inputs` as they stand. One thread
    at a time; it keeps the interpreter lock.

    Attributes
    ----------
    run : the function to call; one (n,) array an input, or none at all
    inputs : writable buffers, one an input
    outputs : buffers that hold the results, one an output
    """

    __slots__ = ("_signature", "_sizes", "inputs", "outputs", "run")

    inputs: tuple[Floats, ...]
    outputs: tuple[Floats, ...]
    run: Callable[..., tuple[Floats, ...]]

    def __reduce__(self) -> NoReturn:
        raise KernelError(
            "machine code does not travel to another process; send the mechanism, or a solver, and "
            "ask there: it is found in the cache"
        )

    def __init__(self, code: machine.Loaded, artifact: Artifact, *, strict: bool = False) -> None:
        self._signature = artifact.signature
        self._sizes = MappingProxyType(dict(artifact.inputs))
        shapes = [(size,) for size in artifact.inputs.values()] + list(artifact.shapes)
        stage = np.zeros(artifact.stage_bytes // 8 + 1)
        views: list[Floats] = []
        start = 0
        for shape in shapes:
            stop = start + prod(shape)
            views.append(stage[start:stop].reshape(shape))
            start = stop
        self.inputs = tuple(views[: len(artifact.inputs)])
        self.outputs = tuple(views[len(artifact.inputs) :])
        fallback: Callable[..., Any] = _none if strict else self._take
        numbers = stage.ctypes.data, id(self.outputs), id(fallback), int(strict)
        context = (ctypes.c_void_p * 4)(*numbers)
        name = artifact.name.encode()
        method = _MethodDef(name, code.address, _FASTCALL, None)
        # What the machine code reads by address lives as long as the function: in its `self`.
        capsule = _new_capsule(ctypes.addressof(context), None, None)
        owner: tuple[Any, ...] = (
            capsule, context, method, name, code, stage, self.outputs, fallback,
        )  # fmt: skip
        self.run = _new_function(ctypes.addressof(method), owner, None)

    def __call__(self, *values: ArrayLike) -> tuple[Floats, ...]:
        """Call `run`."""
        return self.run(*values)

    def __repr__(self) -> str:
        return f"<Single {self._signature}>"

    def _take(self, *values: ArrayLike) -> tuple[Floats, ...]:
        """Take what the machine code does not: other types and strides, and what is wrong."""
        arrays, number = layout.check_inputs(values, self._sizes)
        if number is not None:
            raise StateError("expected one state, arrays of shape (n,); for N states call Kernel")
        for buffer, array in zip(self.inputs, arrays, strict=True):
            buffer[...] = array
        return self.run()


def _none(*values: object) -> None:
    """Take nothing."""
