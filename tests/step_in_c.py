"""Compiled steps in C, run from Python."""

import ctypes
import re
import subprocess

import numpy as np

FLAGS = ["-std=c99", "-O1", "-ffp-contract=off", "-Wall", "-Wextra", "-pedantic", "-Werror"]


class InC:
    """The compiled step of some equations, run from here."""

    def __init__(self, equations, folder, **options):
        text = equations.step_source("step", **options)
        (folder / "s.c").write_text(text)
        command = ["cc", *FLAGS, "-shared", "-fPIC", "-o", folder / "s.so", folder / "s.c", "-lm"]
        subprocess.run(command, check=True, capture_output=True)
        self._step = ctypes.CDLL(str(folder / "s.so")).step
        head = text[: text.index("*/")]
        self.inputs = {name: int(n) for name, n in re.findall(r"in   (\w+)\[(\d+)\]", head)}
        shapes = re.findall(r"out  (\w+)((?:\[\d+\])+)", head)
        self.outputs = {
            name: np.zeros([int(n) for n in re.findall(r"\d+", shape)]) for name, shape in shapes
        }
        self.head = head

    def __call__(self, **given):
        arrays = [np.ascontiguousarray(given[name], dtype=np.float64) for name in self.inputs]
        for array, size in zip(arrays, self.inputs.values(), strict=True):
            assert array.shape == (size,)
        places = [*arrays, *self.outputs.values()]
        self._step(*(ctypes.c_void_p(a.ctypes.data) for a in places))
        return self.outputs

    def march(self, equations, steps, h=1e-3):
        nq = equations.system.model.nq
        q, v, z = np.split(equations.start, [nq, nq + equations.system.model.nv])
        t, told = np.zeros(2), []
        given = {"h": np.array([h]), "u": equations.held}
        if equations.system.parameters is not None:
            given["p"] = equations.system.parameters.inputs[0]
        for _ in range(steps):
            found = self(q=q, v=v, t=t, z=z, **given)
            assert found["risk"][0] < 1e6
            q, v, t = (found[name].copy() for name in ("q_next", "v_next", "t_next"))
            z = found["z_next"].copy() if len(z) else z
            told.append({name: array.copy() for name, array in found.items()})
        return q, v, told
