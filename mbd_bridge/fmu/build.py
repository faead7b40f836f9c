"""The shared library of an FMU, compiled by the system's C compiler."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from mbd_bridge.errors import KernelError

FLAGS = ("-std=c99", "-O2", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-w")
"""Without contraction, so that the digits are those of a run."""

LINK = ("-shared", "-s", "-Wl,--build-id=none", "-lm")
"""Without what would differ from one compilation to the next."""

COMPILERS = ("cc", "gcc", "clang")

EQUATIONS = "equations.c"
"""The file that is compiled a second time for fused multiply-adds."""

NAMES = ("step", "outputs", "residuals", "memory")
"""Functions of it, whose second version is called NAME_fma."""


def compiler() -> list[str] | None:
    """Return the command of a C compiler: that of the environment's CC, or one that is there."""
    said = os.environ.get("CC", "")
    try:
        own = shlex.split(said)
    except ValueError as error:
        raise KernelError(
            f"the environment's CC: expected a command such as gcc -m64, got {said!r}: {error}"
        ) from None
    for command in [own] if own else [[one] for one in COMPILERS]:
        if shutil.which(command[0]):
            return command
    return None


def target() -> tuple[str, str] | None:
    """Return the folders of binaries for this machine in FMI 2 and FMI 3; None if not Linux."""
    machine = platform.machine()
    if platform.system() != "Linux":
        return None
    return ("linux64" if machine == "x86_64" else f"linux-{machine}", f"{machine}-linux")


def library(command: list[str], identifier: str, sources: Mapping[str, str]) -> bytes:
    """Return the shared library of C sources.

    Parameters
    ----------
    command : see `compiler`
    identifier : of the model: names of the functions in `EQUATIONS` begin with it
    sources : files by name, headers included

    Raises
    ------
    KernelError
        The compiler refuses them.
    """
    fused = platform.machine() == "x86_64"
    with tempfile.TemporaryDirectory() as folder:
        for name, text in sources.items():
            (Path(folder) / name).write_text(text, encoding="utf-8", newline="\n")
        objects = []
        for name in sources:
            if not name.endswith(".c"):
                continue
            more = ["-DMODEL_WITH_FMA"] if fused else []
            _run([*command, *FLAGS, *more, "-c", name, "-o", f"{name}.o"], folder)
            objects.append(f"{name}.o")
        if fused:
            own = [f"-D{identifier}_{one}={identifier}_{one}_fma" for one in NAMES]
            output = f"{EQUATIONS}.fma.o"
            _run([*command, *FLAGS, "-mfma", *own, "-c", EQUATIONS, "-o", output], folder)
            objects.append(output)
        _run([*command, *objects, *LINK, "-o", "model.so"], folder)
        return (Path(folder) / "model.so").read_bytes()


def _run(command: list[str], folder: str) -> None:
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if found.returncode:
        lines = found.stderr.strip().splitlines() or ["no message"]
        raise KernelError(
            f"the C compiler refuses the sources of the FMU: {lines[0]}; command: "
            f"{' '.join(command[:3])} ...; compile=False writes the sources only"
        )
