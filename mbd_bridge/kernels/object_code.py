"""LLVM text to object code; run as a program, in a process of its own, which can be ended.

LLVM cannot be interrupted, and large texts keep it busy for a minute. The program imports nothing
of this package: it starts in the time that LLVM takes to load.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

LOOK = 0.2
"""s, after which an interrupt is looked for."""


def object_code(llvm: Any, text: str, target: Mapping[str, Any]) -> bytes:
    """Return the object code of a module.

    Parameters
    ----------
    llvm : ``llvmlite.binding``, initialised
    target : triple, cpu, features and opt (level of optimisation)
    """
    with (
        llvm.create_context() as context,  # a shared one keeps every constant that it ever met
        llvm.parse_assembly(text, context) as module,
        target_machine(llvm, **target) as machine,
    ):
        return bytes(machine.emit_object(module))


def target_machine(llvm: Any, triple: str, cpu: str, features: str, opt: int) -> Any:
    """Return LLVM's generator of code for a processor."""
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=opt, reloc="pic", codemodel="small"
    )


def from_a_process(text: str, target: Mapping[str, Any], compiler: str, path: str) -> bytes | None:
    """Return the same, made by another process; None if there is no Python to make it.

    An interrupt ends that process, and is answered at once.

    Parameters
    ----------
    compiler : versions of llvmlite and LLVM, which that process must have
    path : its ``PYTHONPATH``
    """
    name = os.path.basename(sys.executable or "").lower()
    if getattr(sys, "frozen", False) or not name.startswith("python"):
        return None  # a program that holds Python would start itself again
    head = json.dumps({"target": dict(target), "compiler": compiler})
    try:
        with tempfile.TemporaryFile() as request:  # a pipe would have to be filled while we look
            request.write(f"{head}\n{text}".encode())
            request.seek(0)
            process = subprocess.Popen(
                [sys.executable, "-P", __file__],
                stdin=request,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,  # Ctrl-C is ours to answer
            )
    except OSError:  # no such program, or no room for a file or another process
        return None
    try:
        code = _answer(process)
    except BaseException:
        process.kill()
        process.wait()
        raise
    return code if process.returncode == 0 and code else None


def _answer(process: subprocess.Popen[bytes]) -> bytes:
    """Return what a process answers; an interrupt is seen soon, whatever thread receives it."""
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=LOOK)[0]


def versions(llvm: Any) -> str:
    """Return the versions of llvmlite and LLVM."""
    from llvmlite import __version__

    return f"{__version__} {'.'.join(map(str, llvm.llvm_version_info))}"


def main() -> int:
    """Compile what comes on stdin; return 1 where another LLVM is installed than the caller's."""
    import llvmlite.binding as llvm

    head, _, text = sys.stdin.buffer.read().decode().partition("\n")
    request = json.loads(head)
    if versions(llvm) != request["compiler"]:
        return 1
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    sys.stdout.buffer.write(object_code(llvm, text, request["target"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
