"""FMUs: valid for FMI 2 and 3, the digits of a run, states that can be saved, clear refusals."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.applications.fmu.export import fmi_unit
from tests.bounds import WAIT
from tests.c_compiler import needs_compiler
from tests.fmu.importer import JUMP, STRICT, Importer
from tests.forces.relaxing import Filter, Maxwell, bar, slider

pytestmark = needs_compiler

PUSH = np.array([0.3, -0.2, 0.9, 0.1, 0.2, -0.1])


class Exported:
    """A crank rocker with everything that a system may have, and its FMUs."""

    def __init__(self, folder):
        self.robot = mbd.load("urdf/crank_rocker.urdf")
        start = self.robot.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 3.0})
        self.q, self.v = start.q, start.v
        self.paths = {fmi: folder / f"fmi{fmi}.fmu" for fmi in (2, 3)}
        self.fmus = {
            fmi: self.system().export_fmu(path, q=self.q, v=self.v, fmi=fmi)
            for fmi, path in self.paths.items()
        }

    def system(self, **inputs):
        return mbd.System(
            self.robot,
            torque={"crank": mbd.Input("motor", 2.0), "elbow": 0.1, "rocker": JUMP},
            external={"coupler": mbd.Input("push")},
            forces=[mbd.forces.JointSpring("rocker", stiffness=3.0, damping=0.2, name="spring")],
            parameters={"coupler.mass": 2.0, "gravity": [0.0, 0.0, -9.81]},
            loads=["coupler_pin", "crank"],
            outputs={"height": lambda t, q, v: q[0] * v[1], "pair": lambda t, q, v: q[:2] * t},
            inputs=inputs or None,
        )

    def run(self, duration, **options):
        return self.system(push=PUSH).simulate(duration, q=self.q, v=self.v, **options)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    return Exported(tmp_path_factory.mktemp("fmus"))


@pytest.fixture(params=[2, 3])
def fmi(request):
    return request.param


@pytest.fixture
def importer(exported, fmi):
    with Importer(exported.paths[fmi]) as found:
        found.set({f"push.{name}": x for name, x in zip(COMPONENTS, PUSH, strict=True)})
        yield found


COMPONENTS = ("fx", "fy", "fz", "mx", "my", "mz")


def test_fmpy_has_no_complaint(exported, fmi):
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(exported.paths[fmi])) == []


def test_fmpy_simulates_to_the_digits_of_a_run(exported, fmi):
    from fmpy import simulate_fmu

    pushed = {f"push.{name}": x for name, x in zip(COMPONENTS, PUSH, strict=True)}
    found = simulate_fmu(
        str(exported.paths[fmi]), stop_time=0.1, output_interval=0.01, start_values=pushed
    )
    run = exported.run(0.1, every=10)
    for k, name in enumerate(exported.robot.coordinate_names):
        assert np.abs(found[f"q.{name}"] - run.q[:, k]).max() < 1e-13
        assert np.abs(found[f"v.{name}"] - run.v[:, k]).max() < 1e-12
    loads = run.loads["coupler_pin"]
    assert np.abs(found["load.coupler_pin.fz"] - loads.force[:, 2]).max() < 1e-9
    assert np.abs(found["load.coupler_pin.my"] - loads.moment[:, 1]).max() < 1e-9
    assert np.abs(found["height"] - run.outputs["height"]).max() < 1e-12
    assert np.abs(found["pair[2]"] - run.outputs["pair"][:, 1]).max() < 1e-12
    spring = run.force_elements["spring"]
    assert np.abs(found["element.spring.energy"] - spring["energy"]).max() < 1e-12


def test_without_tables_every_digit_is_that_of_a_run(exported, tmp_path):
    """Tables are looked up in C and streamed in a run, which rounds otherwise."""
    system = mbd.System(exported.robot, torque={"crank": mbd.Input("motor", 2.0)})
    path = tmp_path / "plain.fmu"
    system.export_fmu(path, q=exported.q, v=exported.v, step=5e-4)
    run = system.simulate(0.2, step=5e-4, q=exported.q, v=exported.v)
    with Importer(path) as fmu:
        fmu.start()
        for k in range(50):
            fmu.step(0.004 * k, 0.004)
        assert fmu.get("q.") == run.q[-1].tolist()
        assert fmu.get("v.") == run.v[-1].tolist()


def test_a_communication_step_ends_with_a_shorter_step(exported, importer):
    importer.start()
    importer.step(0.0, 0.0104)
    run = exported.run(0.01)
    rest = exported.system(push=PUSH).simulate(
        4e-4, step=4e-4, q=run.q[-1], v=run.v[-1], start=0.01
    )
    assert np.abs(np.subtract(importer.get("q."), rest.q[-1])).max() < 1e-13


def test_a_saved_state_goes_on_with_the_same_digits(importer):
    importer.start()
    importer.step(0.0, 0.02)
    saved, packed = importer.save(), importer.packed()
    importer.step(0.02, 0.05)
    end = importer.get("")
    for restore in (lambda: importer.restore(saved), lambda: importer.unpack(packed)):
        importer.set({"motor": 7.0})
        restore()
        importer.step(0.02, 0.05)
        assert importer.get("") == end


def test_every_damaged_byte_of_a_saved_state_is_told(importer):
    importer.start()
    importer.step(0.0, 0.02)
    packed, end = importer.packed(), importer.get("")
    for place in range(len(packed)):
        damaged = bytearray(packed)
        damaged[place] ^= 1 << place % 8
        said = importer.fails(lambda damaged=damaged: importer.unpack(bytes(damaged)))
        assert "damaged" in said or "no saved state of this machine" in said, place
    assert importer.get("") == end
    importer.step(0.02, 0.01)


def test_forged_states_read_nothing_beyond_arrays_and_end(exported, tmp_path):
    """Each byte is changed and the check sum made anew; the sanitizer looks at what follows."""
    with zipfile.ZipFile(exported.paths[3]) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "sources"
    (folder / "main.c").write_text(FORGING.replace("TOKEN", exported.fmus[3].token))
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"]
    command = ["cc", "-std=c99", "-O1", *sanitizers, *sorted(folder.glob("*.c")), "-lm"]
    subprocess.run([*command, "-o", folder / "main"], check=True)
    found = subprocess.run([folder / "main"], capture_output=True, text=True, timeout=WAIT)
    assert found.returncode == 0, found.stderr[:1000]
    taken, refused = map(int, found.stdout.split())
    assert taken > 100 and refused >= 8, found.stdout


FORGING = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fmi3Functions.h"

static void seal(unsigned char *bytes, size_t size)
{
    const size_t front = sizeof "TOKEN" + 8;
    uint64_t sum = UINT64_C(14695981039346656037);
    size_t k;
    for (k = front; k < size; k++) {
        sum = (sum ^ bytes[k]) * UINT64_C(1099511628211);
    }
    memcpy(bytes + front - 8, &sum, 8);
}

int main(void)
{
    static const unsigned char patterns[] = {0x01, 0x40, 0xff};
    fmi3Boolean event, end, early;
    fmi3Float64 last, value;
    const fmi3ValueReference time = 0, output = 40;
    fmi3FMUState state = NULL, forged = NULL;
    size_t size, k, p;
    int taken = 0, refused = 0;
    unsigned char *bytes, *copy;
    fmi3Instance fmu = fmi3InstantiateCoSimulation("one", "TOKEN", NULL, fmi3False, fmi3False,
                                                   fmi3False, fmi3False, NULL, 0, NULL, NULL, NULL);
    if (fmu == NULL || fmi3EnterInitializationMode(fmu, fmi3False, 0.0, 0.0, fmi3False, 0.0) ||
        fmi3ExitInitializationMode(fmu) ||
        fmi3DoStep(fmu, 0.0, 0.01, fmi3True, &event, &end, &early, &last) ||
        fmi3GetFMUState(fmu, &state) || fmi3SerializedFMUStateSize(fmu, state, &size)) {
        return 1;
    }
    bytes = malloc(size);
    copy = malloc(size);
    if (fmi3SerializeFMUState(fmu, state, bytes, size)) {
        return 2;
    }
    for (k = sizeof "TOKEN" + 8; k < size; k++) {
        for (p = 0; p < sizeof patterns; p++) {
            memcpy(copy, bytes, size);
            copy[k] ^= patterns[p];
            seal(copy, size);
            if (fmi3DeserializeFMUState(fmu, copy, size, &forged)) {
                refused++;
                continue;
            }
            taken++;
            if (fmi3SetFMUState(fmu, forged) || fmi3GetFloat64(fmu, &time, 1, &value, 1)) {
                return 3;
            }
            fmi3GetFloat64(fmu, &output, 1, &last, 1);
            fmi3DoStep(fmu, value, 2e-3, fmi3True, &event, &end, &early, &last);
            fmi3Terminate(fmu);
            fmi3Terminate(fmu);
        }
    }
    fmi3FreeFMUState(fmu, &state);
    fmi3FreeFMUState(fmu, &forged);
    fmi3FreeInstance(fmu);
    free(bytes);
    free(copy);
    printf("%d %d\\n", taken, refused);
    return 0;
}
"""


def test_a_communication_step_without_end_is_refused(tmp_path, fmi):
    mbd.load("urdf/pendulum.urdf").export_fmu(tmp_path / "hanging.fmu", fmi=fmi)
    found = subprocess.run(
        [sys.executable, "-c", LONG_STEPS, tmp_path / "hanging.fmu"],
        capture_output=True, text=True, timeout=WAIT,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    said = "more than 1e+08 steps of 0.001 s; ask for several shorter ones"
    assert found.stdout.count(said) == 3


LONG_STEPS = """
import sys
from tests.fmu.importer import Importer
with Importer(sys.argv[1]) as fmu:
    fmu.start()
    before = fmu.get("")
    for size in (1e300, 1e18, 1e7):
        print(fmu.fails(lambda: fmu.step(0.0, size)))
    assert fmu.get("") == before
    fmu.step(0.0, 0.01)
"""


def test_times_at_which_steps_vanish_are_refused(exported, tmp_path):
    with Importer(exported.paths[2]) as fmu:
        said = fmu.fails(lambda: fmu._fmu.setupExperiment(startTime=1e300))
        assert "begins at" in said


def test_a_name_of_any_length_makes_an_archive_that_can_be_unpacked(tmp_path):
    robot = mbd.load("urdf/pendulum.urdf")
    names = ["long " * 200, "long " * 200 + "other"]
    fmus = [robot.export_fmu(tmp_path / f"{k}.fmu", name=name) for k, name in enumerate(names)]
    assert fmus[0].identifier != fmus[1].identifier
    for fmu, name in zip(fmus, names, strict=True):
        with zipfile.ZipFile(fmu.path) as archive:
            assert max(len(part) for one in archive.namelist() for part in one.split("/")) < 128
            assert name in archive.read("modelDescription.xml").decode()
        with Importer(fmu.path) as importer:
            importer.start()
            importer.step(0.0, 0.01)


def test_reset_leads_back_to_the_start(exported, importer):
    importer.start()
    importer.step(0.0, 0.01)
    importer.reset()
    assert importer.get("q.") == exported.q.tolist()
    assert importer.get("motor") == [2.0]


def test_outputs_follow_inputs_at_once(importer):
    importer.start()
    before = importer.get("a.crank")
    importer.set({"motor": 5.0})
    assert importer.get("a.crank") != before


def test_parameters_may_change_between_steps_and_states_may_not(importer):
    importer.start()
    importer.set({"coupler.mass": 3.0, "gravity.z": -1.62, "torque.elbow": 0.5})
    importer.step(0.0, 0.001)
    assert "before the first step" in importer.fails(lambda: importer.set({"q.crank": 1.0}))
    assert "computed" in importer.fails(lambda: importer.set({"a.crank": 1.0}))
    assert "finite number" in importer.fails(lambda: importer.set({"motor": np.nan}))


def test_a_start_that_opens_the_loop_is_refused_by_name(importer):
    importer.set({"q.crank": 0.8})
    said = importer.fails(importer.start)
    assert "'coupler_pin'" in said and "set the start values of all q and v" in said


def test_a_step_from_another_time_is_refused(importer):
    importer.start()
    assert "the last step ended at 0 s" in importer.fails(lambda: importer.step(0.5, 0.001))


def test_a_step_into_a_singular_position_is_discarded_and_changes_nothing(tmp_path, fmi):
    robot = mbd.load("urdf/four_bar.urdf")  # a parallelogram: it folds flat
    start = robot.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 3.0})
    path = tmp_path / "folding.fmu"
    mbd.System(robot).export_fmu(path, q=start.q, v=start.v, fmi=fmi)
    with Importer(path) as fmu:
        fmu.start()
        said = fmu.fails(lambda: fmu.step(0.0, 5.0))
        assert "discard" in said and "near a singular position" in said
        assert fmu.get("q.") == start.q.tolist()
        fmu.step(0.0, 0.01)


def test_sources_compile_without_a_warning(exported, fmi, tmp_path):
    with zipfile.ZipFile(exported.paths[fmi]) as archive:
        archive.extractall(tmp_path)
    files = sorted((tmp_path / "sources").glob("*.c"))
    for compiler in filter(shutil.which, ("gcc", "clang", "clang-14")):
        for file in files:
            subprocess.run([compiler, *STRICT, "-c", file, "-o", "/dev/null"], check=True)


def test_steps_take_no_memory(exported, tmp_path):
    with zipfile.ZipFile(exported.paths[3]) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "sources"
    (folder / "main.c").write_text(COUNTING.replace("TOKEN", exported.fmus[3].token))
    wrapped = [f"-Wl,--wrap={name}" for name in ("malloc", "calloc", "realloc")]
    command = ["cc", "-std=c99", "-O1", *sorted(folder.glob("*.c")), *wrapped, "-lm"]
    subprocess.run([*command, "-o", folder / "main"], check=True)
    found = subprocess.run([folder / "main"], capture_output=True, text=True, check=True)
    assert found.stdout == "1 before, 0 in 1000 steps\n"


COUNTING = """
#include <stdio.h>
#include "fmi3Functions.h"

static int taken;
void *__real_malloc(size_t size);
void *__real_calloc(size_t number, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size) { taken++; return __real_malloc(size); }
void *__wrap_calloc(size_t number, size_t size) { taken++; return __real_calloc(number, size); }
void *__wrap_realloc(void *old, size_t size) { taken++; return __real_realloc(old, size); }

int main(void)
{
    fmi3Boolean event, end, early;
    fmi3Float64 last, values[3];
    const fmi3ValueReference references[] = {1, 20, 30};
    int k, before;
    fmi3Instance fmu = fmi3InstantiateCoSimulation("one", "TOKEN", NULL, fmi3False, fmi3False,
                                                   fmi3False, fmi3False, NULL, 0, NULL, NULL, NULL);
    if (fmu == NULL || fmi3EnterInitializationMode(fmu, fmi3False, 0.0, 0.0, fmi3False, 0.0) ||
        fmi3ExitInitializationMode(fmu)) {
        return 1;
    }
    before = taken;
    for (k = 0; k < 1000; k++) {
        if (fmi3DoStep(fmu, 2e-4 * k, 2e-4, fmi3True, &event, &end, &early, &last) ||
            fmi3GetFloat64(fmu, references, 3, values, 3)) {
            return 2;
        }
    }
    printf("%d before, %d in 1000 steps\\n", before, taken - before);
    return 0;
}
"""


def test_the_same_machine_gives_the_same_bytes(exported, tmp_path):
    again = tmp_path / "again.fmu"
    exported.system().export_fmu(again, q=exported.q, v=exported.v)
    assert again.read_bytes() == exported.paths[3].read_bytes()
    other = exported.system().export_fmu(
        tmp_path / "other.fmu", q=exported.q, v=exported.v, step=2e-3,
        compile=False,
    )  # fmt: skip
    assert other.token != exported.fmus[3].token


def test_without_a_compiler_there_are_sources_only_and_it_is_said(exported, tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.warns(mbd.MbdWarning, match="no C compiler"):
        found = exported.robot.export_fmu(tmp_path / "a.fmu", q=exported.q)
    assert found.binary is None and "sources only" in repr(found)
    assert found.names("input") == ("torque.crank", "torque.elbow", "torque.rocker")


def test_names_that_stand_for_two_variables_are_refused(exported, tmp_path):
    path = tmp_path / "a.fmu"
    system = mbd.System(exported.robot, torque={"crank": mbd.Input("q.crank")})
    with pytest.raises(mbd.errors.StateError, match=r"two variables are called 'q\.crank'"):
        system.export_fmu(path, q=exported.q)
    called = mbd.System(exported.robot, torque={"crank": mbd.Sampled(lambda t, q, v: 0.0)})
    with pytest.raises(mbd.errors.StateError, match="an FMU has no Python"):
        called.export_fmu(path, q=exported.q)
    with pytest.raises(mbd.errors.StateError, match="expected 3 or 2"):
        exported.robot.export_fmu(path, q=exported.q, fmi=1)
    assert not path.exists()


def test_units_are_powers_of_base_units():
    torque, stiffness = fmi_unit("N m"), fmi_unit("N m/rad")
    assert torque.name == "N.m" and torque.base == {"kg": 1, "m": 2, "s": -2}
    assert stiffness.base == {"kg": 1, "m": 2, "s": -2, "rad": -1}
    assert fmi_unit("m/s^2").base == {"m": 1, "s": -2}
    assert fmi_unit("furlong").powers is None


def test_every_c_file_of_an_fmu_has_names_of_its_own(exported):
    """Several FMUs may be linked into one program."""
    with zipfile.ZipFile(exported.paths[3]) as archive:
        header = archive.read("sources/model.h").decode()
        shared = archive.read("sources/instance.h").decode()
    declared = set(re.findall(r"\b((?:instance|model)_\w+)\(", header + shared))
    renamed = set(re.findall(r"#define (\w+) crank_rocker_\1", header))
    assert declared <= renamed


def test_states_of_force_elements_are_variables_with_the_digits_of_a_run(tmp_path):
    robot, q, v = bar()
    system = mbd.System(robot, forces=[Maxwell("crank", name="creep")])
    path, z = tmp_path / "creeping.fmu", {"creep.stroke": 0.05}
    fmu = system.export_fmu(path, q=q, v=v, z=z)
    assert "z.creep.stroke" in fmu.names("state")
    run = system.simulate(0.05, q=q, v=v, z=z)
    with Importer(path) as found:
        found.start()
        found.step(0.0, 0.05)
        assert found.get("q.") == run.q[-1].tolist()
        assert found.get("z.") == run.z[-1].tolist()
        assert np.isclose(
            found.get("element.creep.force")[0], run.force_elements["creep"]["force"][-1]
        )


def test_a_state_of_a_force_element_that_diverges_is_told_though_it_moves_nothing(tmp_path, fmi):
    system = mbd.System(slider(), forces=[Filter("rail", 0.0034, name="gauge")])
    start = {"q": [0.2], "v": [1.0], "fmi": fmi}
    for step in (0.01, 0.005):
        path = tmp_path / f"{step}.fmu"
        system.export_fmu(path, step=step, **start)
        with Importer(path) as found:
            found.start()
            found.step(0.0, 0.98)
            if step == 0.005:
                found.step(0.98, 0.5)
                continue
            state = found.get("q.") + found.get("z.")
            said = found.fails(lambda: found.step(0.98, 0.5))
            assert "discard" in said and "too long for the state z.gauge.seen" in said
            assert found.get("q.") + found.get("z.") == state  # as it was before the call
