"""An importer of FMUs of both versions, over fmpy, that keeps what it is told."""

from __future__ import annotations

import shutil
from types import TracebackType

import fmpy
import numpy as np
from fmpy.fmi1 import FMICallException


class Importer:
    """One instance of an FMU, driven call by call."""

    def __init__(self, path):
        self._folder = fmpy.extract(str(path))
        self._description = fmpy.read_model_description(str(path))
        self.fmi = 2 if self._description.fmiVersion == "2.0" else 3
        self.messages = []
        self._fmu = fmpy.instantiate_fmu(
            self._folder, self._description, "CoSimulation", logger=self._logged
        )
        self._references = {
            one.name: one.valueReference for one in self._description.modelVariables
        }

    def _logged(self, *said):
        self.messages.append(said[-1].decode())

    def __enter__(self):
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._fmu.freeInstance()
        shutil.rmtree(self._folder)

    def start(self):
        if self.fmi == 2:
            self._fmu.setupExperiment(startTime=0.0)
            self._fmu.enterInitializationMode()
        else:
            self._fmu.enterInitializationMode(startTime=0.0)
        self._fmu.exitInitializationMode()

    def step(self, time, size):
        self._fmu.doStep(currentCommunicationPoint=time, communicationStepSize=size)

    def reset(self):
        self._fmu.reset()

    def set(self, values):
        references = [self._references[name] for name in values]
        put = self._fmu.setReal if self.fmi == 2 else self._fmu.setFloat64
        put(references, [float(x) for x in values.values()])

    def get(self, prefix):
        """Return the values of all variables whose names begin so."""
        references = [k for name, k in self._references.items() if name.startswith(prefix)]
        return list((self._fmu.getReal if self.fmi == 2 else self._fmu.getFloat64)(references))

    def save(self):
        return self._fmu.getFMUState()

    def restore(self, state):
        self._fmu.setFMUState(state)

    def packed(self):
        return self._fmu.serializeFMUState(self._fmu.getFMUState())

    def unpack(self, text):
        self._fmu.setFMUState(self._fmu.deserializeFMUState(text))

    def fails(self, call):
        """Return what the FMU says, and its status, when a call fails."""
        self.messages.clear()
        try:
            call()
        except FMICallException as error:
            words = {2: "discard", 3: "error"}
            return f"{words[error.status]}: {' '.join(self.messages)}"
        raise AssertionError("the call succeeds")


STRICT = ["-std=c99", "-O1", "-Wall", "-Wextra", "-pedantic", "-Werror"]

JUMP = (np.array([0.0, 0.0213, 0.0213001, 0.2]), np.array([1.0, 3.0, -2.0, 0.5]))
"""s and N m: a table that jumps and bends between steps."""
