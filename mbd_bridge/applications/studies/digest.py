"""What tells the numbers that a study computes from others: a digest of content, not names.

Of a user's function it covers the code, defaults, what it closes over, the globals that it uses,
and so all functions, classes and objects of the user's own modules that it reaches through them.
What comes from an installed package counts by name and version, mbd_bridge by its source. What
cannot be told from something else (an open file, a lock, a compiled function of the user's) is
refused: a part that was computed by other code must not be believed.
"""

from __future__ import annotations

import builtins
import dis
import functools
import hashlib
import importlib
import importlib.util
import os
import site
import sys
import sysconfig
import types
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

import mbd_bridge
from mbd_bridge.applications.studies.evaluate import Variants
from mbd_bridge.base.errors import StateError
from mbd_bridge.base.lazy import PYTHONS_OWN
from mbd_bridge.model import Model, digest as model_digest
from mbd_bridge.simulation.run.checkpoint import acting_identity, program
from mbd_bridge.simulation.system import System

NEW = object().__reduce_ex__(4)[0]
"""What makes objects that have no rule of their own."""

PLAIN = (str, bytes, int, float, complex, bool, type(None), type(...), type(NotImplemented))

UNTOLD = ("eval", "exec", "compile", "globals", "locals", "open", "input", "__import__")
"""Builtins whose results depend on what no look at the code tells."""
LOOKED_UP = ("getattr", "vars", "dir")
"""Builtins that take any name of a module."""

NOT_CODE = (
    *("__dict__", "__weakref__", "__module__", "__doc__", "__annotations__", "__annotate__"),
    *("__annotate_func__", "__annotations_cache__", "__abstractmethods__", "_abc_impl"),
    *("__dataclass_fields__", "__dataclass_params__", "__match_args__", "__orig_bases__"),
    *("__parameters__", "__type_params__", "__static_attributes__", "__firstlineno__"),
    "__qualname__",
)
"""Of a class, what has no part in what its methods compute, or follows from them."""

MAKERS = ("__init__", "__new__", "__post_init__")


def digest_of(thing: object) -> str:
    """Return what tells the numbers that come of something from all others.

    Raises
    ------
    StateError
        It holds what cannot be told from something else.
    """
    sink = _Sink()
    try:
        sink.add(thing)
        sink.add_modules()
    except _UntoldError as problem:
        raise StateError(
            f"folder: parts computed by other code could not be told from these: "
            f"{' of '.join(reversed(sink.path)) or 'this'} is {problem}. Give functions what they "
            f"need as numbers, arrays and functions of Python, read beforehand, or leave folder out"
        ) from None
    except RecursionError:
        raise StateError(
            "folder: what the study computes with is nested too deeply to be told from other "
            "code; give functions less to hold, or leave folder out"
        ) from None
    return sink.digest.hexdigest()


class _UntoldError(Exception):
    """Something cannot be told from something else."""


class _Sink:
    """Takes in things by their content.

    Attributes
    ----------
    path : where it is, in words for messages
    """

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.path: list[str] = []
        self._known: dict[int, tuple[int, object]] = {}
        """By id what was taken in, with its number; kept alive, so that no id is used again."""
        self._modules: dict[str, types.ModuleType] = {}
        self._attributes: set[str] = set()
        self._looked_up = False
        self._made: dict[type, str] = {}
        """Classes of objects that were made of what cannot be told, which no code makes anew."""

    def put(self, *words: str | bytes) -> None:
        """Take in texts, none of which runs into the next."""
        for word in words:
            content = word if isinstance(word, bytes) else word.encode("utf-8", "surrogatepass")
            self.digest.update(len(content).to_bytes(8, "little"))
            self.digest.update(content)

    def at(self, where: str, thing: object) -> None:
        """Take in something that is reached by a name."""
        self.path.append(where)
        self.add(thing)
        self.path.pop()

    def add(self, thing: Any) -> None:
        """Take in anything."""
        kind = type(thing)
        if kind in PLAIN:
            self.put(kind.__name__, hex(thing) if kind is int else repr(thing))
            return
        if id(thing) in self._known:
            if kind is type and thing in self._made:
                raise _UntoldError(self._made[thing])
            self.put("again", str(self._known[id(thing)][0]))
            return
        self._known[id(thing)] = len(self._known), thing
        if isinstance(thing, types.ModuleType):
            self._module(thing)
        elif kind is np.ndarray or isinstance(thing, np.generic):
            self._array(np.asarray(thing))
        elif kind in (list, tuple):
            self.put(kind.__name__, str(len(thing)))
            for one in thing:
                self.add(one)
        elif kind in (set, frozenset):
            self.put(kind.__name__, *sorted(self._apart(one) for one in thing))
        elif kind in (dict, types.MappingProxyType):
            self.put("dict", str(len(thing)))
            for name, value in thing.items():
                self.add(name)
                self.at(f"[{name!r:.40}]", value)
        elif isinstance(thing, Variants | System | Model):
            self._machine(thing)
        elif not self._by_name(thing):
            self._code_or_object(thing)

    def _code_or_object(self, thing: Any) -> None:
        if isinstance(thing, types.FunctionType):
            self._function(thing)
        elif isinstance(thing, types.CodeType):
            self._code(thing, {})
        elif isinstance(thing, types.MethodType):
            self.put("method")
            self.at("the object of a method", thing.__self__)
            self.add(thing.__func__)
        elif isinstance(thing, types.BuiltinMethodType):
            if thing.__self__ is None or isinstance(thing.__self__, types.ModuleType):
                raise _UntoldError(f"{thing!r:.60}, which is compiled")
            self.put("method", thing.__name__)
            self.add(thing.__self__)
        elif isinstance(thing, types.MethodWrapperType):
            self.put("method", thing.__name__)
            self.add(thing.__self__)
        elif isinstance(thing, functools.partial):
            self.put("partial")
            self.add([thing.func, thing.args, thing.keywords, vars(thing)])
        elif isinstance(thing, staticmethod | classmethod):
            self.put(type(thing).__name__)
            self.add(thing.__func__)
        elif isinstance(thing, property):
            self.put("property")
            self.add([thing.fget, thing.fset, thing.fdel])
        elif isinstance(thing, PYTHONS_OWN):
            self.put("property")
            self.add(thing.func)
        elif isinstance(thing, types.MemberDescriptorType | types.GetSetDescriptorType):
            self.put("slot", thing.__name__)
        elif isinstance(thing, type):
            self._class(thing)
        else:
            self._object(thing)

    def _apart(self, thing: object) -> bytes:
        """Return the digest of a member of a set, which has no order."""
        sink = _Sink()
        sink._known, sink.path = dict(self._known), self.path
        sink.add(thing)
        self._modules |= sink._modules
        self._attributes |= sink._attributes
        self._looked_up |= sink._looked_up
        return sink.digest.digest()

    def _array(self, array: np.ndarray[Any, Any]) -> None:
        self.put("array", str(array.dtype.descr), str(array.shape))
        if array.dtype.hasobject:
            for one in array.ravel().tolist():
                self.add(one)
        else:
            self.put(np.ascontiguousarray(array).tobytes())

    def _machine(self, thing: Variants | System | Model) -> None:
        """Take in a mechanism, or what is computed of one."""
        if isinstance(thing, Model):
            self.put("model", model_digest(thing), program())
            self.add(replace(thing.description, source=None))
            return
        if isinstance(thing, System):
            if thing.outputs is not None:
                raise _UntoldError("a System with loads= or outputs=")
            self.put("system", repr(acting_identity(thing, "folder")))
            return
        self.put("study", type(thing).__qualname__)
        self._machine(thing.system)
        for one in fields(thing):
            if one.name not in ("machine", "given", "threads"):
                self.at(one.name, getattr(thing, one.name))

    def _function(self, function: types.FunctionType) -> None:
        self.path.append(f"{function.__qualname__}()")
        code = function.__code__
        if _is_installed_file(code.co_filename):
            self.put("library", function.__module__, function.__qualname__, _version(function))
        else:
            self._code(code, function.__globals__)
        for one in (function.__defaults__, function.__kwdefaults__, vars(function)):
            self.add(one)
        names = code.co_freevars
        for name, cell in zip(names, function.__closure__ or (), strict=True):
            try:
                content = cell.cell_contents
            except ValueError:
                self.put("no value yet")
            else:
                if name != "__class__" or id(content) not in self._known:
                    self.at(f"{name!r}, which it closes over,", content)
        self.path.pop()

    def _code(self, code: types.CodeType, known: Mapping[str, Any]) -> None:
        """Take in code, and what the globals that it uses are."""
        numbers = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
        names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
        self.put("code", repr((numbers, names)), code.co_code, code.co_exceptiontable)
        self._attributes.update(code.co_names)
        for one in code.co_consts:
            if isinstance(one, types.CodeType):
                self._code(one, known)
            else:
                self.add(one)
        before = list[Any]()
        used = dict[str, None]()
        for step in dis.get_instructions(code):
            if "GLOBAL" in step.opname or step.opname == "LOAD_NAME":
                used[str(step.argval)] = None
            elif step.opname == "IMPORT_NAME":
                self._imported(str(step.argval), before[-2], known)
            before.append(step.argval)
        for name in used:
            if name in known:
                self.at(f"the global {name!r}", known[name])
            elif name in UNTOLD:
                raise _UntoldError(f"code that calls {name}()")
            elif hasattr(builtins, name):
                self.put("builtin", name)
                self._looked_up |= name in LOOKED_UP
            else:
                self.put("no value yet", name)

    def _imported(self, name: str, level: object, known: Mapping[str, Any]) -> None:
        """Take in a module that code imports when it is called."""
        package = known.get("__package__") or ""
        try:
            whole = "." * level + name if isinstance(level, int) else name
            whole = importlib.util.resolve_name(whole, package) if whole.startswith(".") else whole
            self.add(importlib.import_module(whole))
        except ImportError:
            self.put("no module", name)

    def _module(self, module: types.ModuleType) -> None:
        self.put("module", module.__name__, _version(module))
        if not _is_installed(module.__name__):
            self._modules[module.__name__] = module

    def add_modules(self) -> None:
        """Take in those attributes of the user's modules whose names stand in any code."""
        done = set[tuple[str, str]]()
        while True:
            left = sorted(
                (owner, name)
                for owner, module in self._modules.items()
                for name in vars(module)
                if (name in self._attributes or (self._looked_up and not name.startswith("__")))
                and (owner, name) not in done
            )
            if not left:
                return
            for owner, name in left:
                done.add((owner, name))
                self.put(owner, name)
                self.at(f"{owner}.{name}", vars(self._modules[owner])[name])

    def _class(self, kind: type, *, of_object: bool = False) -> None:
        """Take in a class; what an object was made of is in its state."""
        self.put("class", kind.__qualname__)
        self.path.append(f"class {kind.__qualname__}")
        self.add(kind.__bases__)
        self.add(type(kind))
        depth = len(self.path)
        for name in sorted(vars(kind)):
            if name in NOT_CODE:
                continue
            self.put(name)
            try:
                self.at(name, vars(kind)[name])
            except _UntoldError as problem:
                if not (of_object and name in MAKERS):
                    raise
                self._made[kind] = str(problem)
                del self.path[depth:]
        self.path.pop()

    def _object(self, thing: Any) -> None:
        """Take in an object: its class, and its state as it would travel."""
        kind = type(thing)
        if isinstance(thing, np.ufunc):
            raise _UntoldError(f"{thing!r:.60}, made of a function that it does not tell")
        if hasattr(thing, "__wrapped__") and callable(thing):  # functools.lru_cache
            self.put("wrapped", kind.__qualname__)
            self.at("what it wraps", thing.__wrapped__)
            return
        try:
            parts: Any = thing.__reduce_ex__(4)
        except Exception as problem:  # whatever an object answers that cannot travel
            raise _UntoldError(f"{_an(kind)} ({problem})") from None
        if isinstance(parts, str):
            raise _UntoldError(f"{_an(kind)}, known by its name alone")
        make, arguments, state, items, pairs = (*parts, None, None, None)[:5]
        self.put("object", str(len(parts)))
        if make is not NEW:
            self.add(make)
        if id(kind) not in self._known and not self._by_name(kind):
            self._known[id(kind)] = len(self._known), kind
            self._class(kind, of_object=True)
        self.put(str(self._known.get(id(kind), ("",))[0]))
        self.add([one for one in arguments if one is not kind])
        kept = {
            name
            for one in kind.__mro__
            for name, value in vars(one).items()
            if isinstance(value, PYTHONS_OWN)
        }
        states = [*state] if isinstance(state, tuple) and len(state) == 2 else [state]
        states += [vars(thing)] if _travels_by_its_own_rule(kind) else []
        for part in states:
            if isinstance(part, dict):
                part = {name: value for name, value in part.items() if name not in kept}
            self.add(part)
        for content in (items, pairs):
            self.add(None if content is None else list(content))

    def _by_name(self, thing: Any) -> bool:
        """Take in what an installed package has under its name."""
        module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
        if isinstance(thing, np.ufunc):
            module, name = _package_of_ufunc(thing), thing.__name__
        if isinstance(thing, types.WrapperDescriptorType | types.MethodDescriptorType):
            module = thing.__objclass__.__module__
        if not (isinstance(module, str) and isinstance(name, str) and _is_installed(module)):
            return False
        there: Any = sys.modules[module]
        for word in name.split("."):
            there = getattr(there, word, None)
        if there is not thing:
            return False
        self.put("library", module, name, _version(there))
        return True


def _travels_by_its_own_rule(kind: type) -> bool:
    """Return whether a class of the user's says itself what of its state travels."""
    rules = ("__getstate__", "__reduce__", "__reduce_ex__")
    return any(
        name in vars(one)
        for one in kind.__mro__
        if not _is_installed(one.__module__)
        for name in rules
    )


def _an(kind: type) -> str:
    return f"a {kind.__module__}.{kind.__qualname__}".replace("a builtins.", "a ")


def _package_of_ufunc(thing: np.ufunc) -> str | None:
    for name in ("numpy", "scipy.special"):
        if getattr(sys.modules.get(name), thing.__name__, None) is thing:
            return name
    return None


def _version(thing: object) -> str:
    """Return the version of the package that something comes from, of mbd_bridge its source."""
    module = thing.__name__ if isinstance(thing, types.ModuleType) else thing.__module__
    top = module.partition(".")[0]
    if top == "mbd_bridge":
        return program()
    if top in sys.stdlib_module_names:
        return sys.version
    return str(getattr(sys.modules.get(top), "__version__", ""))


@functools.cache
def _installed_folders() -> tuple[str, ...]:
    """Return the folders of Python's own and of installed modules, and of mbd_bridge."""
    paths = sysconfig.get_paths()
    places: list[Iterable[str]] = [
        [paths[one] for one in ("stdlib", "platstdlib", "purelib", "platlib")],
        site.getsitepackages(),
        [site.getusersitepackages()],
        mbd_bridge.__path__,
    ]
    return tuple({os.path.realpath(one) + os.sep for group in places for one in group})


def _is_installed_file(path: str) -> bool:
    return path.startswith("<frozen ") or os.path.realpath(path).startswith(_installed_folders())


@functools.lru_cache(maxsize=1024)
def _is_installed(name: str) -> bool:
    """Return whether a module is Python's own or comes from an installed package."""
    module = sys.modules.get(name)
    if module is None:
        return False
    file = getattr(module, "__file__", None)
    if file is not None:
        return _is_installed_file(file)
    origin = getattr(module.__spec__, "origin", None)
    places = list(getattr(module, "__path__", ()))
    return origin in ("built-in", "frozen") or (
        bool(places) and all(map(_is_installed_file, places))
    )
