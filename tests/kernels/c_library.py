"""C sources, compiled and loaded."""

import ctypes
import shutil
import subprocess

COMPILER = shutil.which("cc") or shutil.which("gcc")

FLAGS = ["-std=c99", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-pedantic", "-Werror"]


def build(source, folder, *more):
    (folder / "k.c").write_text(source)
    command = [COMPILER, *FLAGS, *more, "-shared", "-fPIC", "-o", folder / "k.so", folder / "k.c"]
    subprocess.run([*command, "-lm"], check=True, capture_output=True, text=True)
    return ctypes.CDLL(str(folder / "k.so"))


def pointers(arrays):
    return [ctypes.c_void_p(a.ctypes.data) for a in arrays]
