"""Claims about studies: the same numbers as runs of each variant, wherever they are computed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from scipy import stats

import mbd_bridge as mbd
from mbd_bridge.applications import studies
from mbd_bridge.applications.studies.result import KindOfEnding
from mbd_bridge.applications.studies.run import Parts, StudyPart
from mbd_bridge.files.tables import open_table

ROCKER: dict[str, Any] = {"duration": 0.02, "near": {"crank": 0.5}, "every": 4}
FACTORS = {"coupler.mass": (0.5, 2.0), "crank.vel": (0.0, 5.0)}
OUTPUTS = {
    "pin": "peak coupler_pin.force",
    "moment": "rms crank.force.x",
    "end": "rocker",
    "speed": "maximum rocker.vel",
    "energy": "range energy",
    "open": "peak closure",
}


@pytest.fixture(scope="module")
def rocker() -> mbd.Mechanism:
    return mbd.load(mbd.models()["crank_rocker"])


@pytest.fixture(scope="module")
def design() -> studies.Design:
    return studies.sobol(FACTORS, 48, seed=2)


@pytest.fixture(scope="module")
def serial(rocker: mbd.Mechanism, design: studies.Design) -> studies.StudyResult:
    return rocker.study(design, outputs=OUTPUTS, batch=20, **ROCKER)


def same(one: studies.StudyResult, other: studies.StudyResult) -> bool:
    """Return whether two studies have the same bits."""
    return one.outputs.keys() == other.outputs.keys() and all(
        values.tobytes() == other.outputs[name].tobytes() for name, values in one.outputs.items()
    )


def test_a_variant_has_the_numbers_of_its_own_run(
    rocker: mbd.Mechanism, design: studies.Design, serial: studies.StudyResult
) -> None:
    assert serial.statuses == {"finished": 48}
    for k in (0, 19, 47):
        mass, speed = design.values[k]
        variant = rocker.simulate(
            1e-3, parameters={"coupler.mass": [mass]}, q=rocker.assemble(ROCKER["near"]).q
        )
        own = mbd.Mechanism(variant.model)
        start = own.assemble(ROCKER["near"], velocity={"crank": speed}, fixed=["crank"])
        run = own.simulate(0.02, q=start.q, v=start.v, every=4)
        pin = run.joint_loads("coupler_pin")
        expected = {
            "pin": np.linalg.norm(pin.force[:, 0], axis=1).max(),
            "moment": np.sqrt(np.mean(run.joint_loads("crank").force[:, 0, 0] ** 2)),
            "end": run.q[-1, rocker.coordinate_names.index("rocker")],
            "speed": run.v[:, rocker.coordinate_names.index("rocker")].max(),
            "energy": np.ptp(run.energy),
            "open": run.closure.max(),
        }
        for name, value in expected.items():
            assert serial[name][k] == pytest.approx(value, rel=1e-9, abs=1e-11), name


def test_components_that_are_not_determined_are_nan_and_do_not_count_in_sizes(
    rocker: mbd.Mechanism,
) -> None:
    outputs = ["peak coupler_pin.moment.z", "peak coupler_pin.force"]
    found = rocker.study(studies.grid({"coupler.mass": 1.0}), outputs=outputs, **ROCKER)
    assert np.isnan(found[outputs[0]]).all()
    assert np.isfinite(found[outputs[1]]).all()


def test_threads_and_parts_of_another_size_give_the_same_bits(
    rocker: mbd.Mechanism, design: studies.Design, serial: studies.StudyResult
) -> None:
    with ThreadPoolExecutor(2) as pool:
        threads = rocker.study(design, outputs=OUTPUTS, batch=7, ahead=3, executor=pool, **ROCKER)
    assert same(serial, threads)


def test_processes_a_dask_cluster_and_this_process_give_the_same_bits(
    rocker: mbd.Mechanism, design: studies.Design, serial: studies.StudyResult
) -> None:
    from distributed import Client, LocalCluster

    options = {"outputs": OUTPUTS, "batch": 20, **ROCKER}
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        assert same(serial, rocker.study(design, executor=pool, **options))
    with (
        LocalCluster(1, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        assert same(serial, rocker.study(design, executor=client, **options))


class LargeCluster:
    """Stands for a Dask client with many threads: counts the parts that wait for them."""

    def __init__(self, threads: int) -> None:
        self.threads, self.waiting, self.most = threads, 0, 0

    def ncores(self) -> dict[str, int]:
        return {"tcp://one": self.threads - 1, "tcp://other": 1}

    def get_executor(self) -> LargeCluster:
        return self

    def submit(self, work: Any, /, *given: Any) -> Future[Any]:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        future = LateFuture(self)
        future.set_result(work(*given))
        return future


class LateFuture(Future[Any]):
    """A future whose part waits until somebody asks for it."""

    def __init__(self, cluster: LargeCluster) -> None:
        super().__init__()
        self.cluster = cluster

    def result(self, timeout: float | None = None) -> Any:
        self.cluster.waiting -= 1
        return super().result(timeout)


def double(factors: dict[str, Any]) -> dict[str, Any]:
    return {"y": 2.0 * factors["x"]}


@pytest.mark.parametrize(("threads", "parts"), [(100, 200), (4, 64)])
def test_every_thread_of_a_large_cluster_has_a_part_and_one_that_waits(
    threads: int, parts: int
) -> None:
    cluster = LargeCluster(threads)
    values = np.arange(300.0)
    found = studies.study(double, studies.table({"x": values}), executor=cluster, batch=1)
    assert cluster.most == parts
    assert np.array_equal(found["y"], 2.0 * values)


def test_a_study_that_was_killed_goes_on_to_the_same_bits(
    tmp_path: Path, rocker: mbd.Mechanism, design: studies.Design, serial: studies.StudyResult
) -> None:
    folder = tmp_path / "parts"
    script = tmp_path / "killed.py"
    script.write_text(
        "import time, mbd_bridge as mbd\n"
        f"design = mbd.studies.sobol({FACTORS!r}, 48, seed=2)\n"
        "rocker = mbd.load(mbd.models()['crank_rocker'])\n"
        f"rocker.study(design, outputs={OUTPUTS!r}, batch=8, folder={str(folder)!r},\n"
        f"    progress=lambda number: time.sleep(0.3), **{ROCKER!r})\n"
    )
    running = subprocess.Popen([sys.executable, script], env={**os.environ})
    deadline = time.monotonic() + 60.0
    while len(list(folder.glob("*.parquet"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    running.wait()
    done = len(list(folder.glob("*.parquet")))
    assert 2 <= done < 6
    resumed = rocker.study(design, outputs=OUTPUTS, batch=8, folder=folder, **ROCKER)
    assert resumed.reused == 8 * done
    assert same(serial, resumed)
    again = rocker.study(design, outputs=OUTPUTS, batch=8, folder=folder, **ROCKER)
    assert again.reused == 48
    assert same(serial, again)
    assert again.statuses == serial.statuses


def test_parts_are_read_for_the_same_question_only(tmp_path: Path) -> None:
    robot = mbd.load(mbd.models()["pendulum"])
    few = studies.grid({robot.coordinate_names[0]: [0.1, 0.2]})
    joint = robot.model.joints[0].name

    def asked(machine: mbd.Mechanism = robot, folder: Path = tmp_path, **more: Any) -> int:
        outputs = more.pop("outputs", [f"peak {joint}.force"])
        options = {"duration": 0.01, "outputs": outputs, "folder": folder, **more}
        return machine.study(few, **options).reused

    assert asked() == 0
    assert asked() == 2
    assert asked(duration=0.02) == 0
    assert asked(step=5e-4) == 0
    assert asked(torque={robot.model.velocity_names[0]: 0.1}) == 0
    assert asked(torque={robot.model.velocity_names[0]: 0.2}) == 0
    assert asked(torque={robot.model.velocity_names[0]: "0.1*t"}) == 0
    assert asked(outputs=["energy"]) == 0
    assert asked(machine=robot.with_payload(robot.model.links[-1].name, 1.0)) == 0
    for largest in (1.0, 2.0):
        assert asked(outputs={"above": lambda b, m=largest: b.energy.max(axis=1) > m}) == 0
    assert asked(torque={robot.model.velocity_names[0]: 0.2}) == 2


def test_a_damaged_part_is_computed_again(tmp_path: Path, rocker: mbd.Mechanism) -> None:
    few = studies.sobol(FACTORS, 4, seed=0)
    options = {"outputs": ["final rocker"], "folder": tmp_path, **ROCKER}
    first = rocker.study(few, **options)
    (part,) = tmp_path.glob("*.parquet")
    whole = part.read_bytes()
    for damaged in (b"", whole[:100], whole[: len(whole) // 2] + b"\0" * 40):
        part.write_bytes(damaged)
        with pytest.warns(mbd.MbdWarning, match="1 part of the study in .* computed again"):
            again = rocker.study(few, **options)
        assert again.reused == 0
        assert same(first, again)
    assert part.read_bytes() == whole


def test_no_bit_of_a_part_that_has_changed_is_believed(tmp_path: Path) -> None:
    part = StudyPart(
        {"a": np.array([1.0, 2.0]), "b": np.array([3.0, np.nan]), "status": np.array([0.0, 1.0])},
        (KindOfEnding("finished", 0, "finished"), KindOfEnding("stopped", 1, "stopped")),
    )
    parts = Parts(tmp_path).made()
    parts.store("key", part)
    whole = parts.path("key").read_bytes()
    assert parts.load("key", 2) is not None
    rng = np.random.default_rng(0)
    for place in rng.choice(8 * len(whole), 2000, replace=False).tolist():
        changed = bytearray(whole)
        changed[place // 8] ^= 1 << place % 8
        parts.path("key").write_bytes(changed)
        assert parts.load("key", 2) is None, place
    parts.path("key").write_bytes(whole)
    found = parts.load("key", 2)
    assert found is not None and found.endings == part.endings
    assert all(np.array_equal(found.outputs[k], x, equal_nan=True) for k, x in part.outputs.items())
    assert parts.load("other", 2) is None and parts.load("key", 3) is None
    frame = pandas.read_parquet(parts.path("key"))  # it is a plain Parquet file
    assert frame["a"].tolist() == [1.0, 2.0]


def test_loads_of_states_are_those_of_the_mechanism() -> None:
    robot = mbd.load(mbd.models()["kuka_iiwa"])
    joint, link = robot.coordinate_names[1], robot.model.links[-2].name
    design = studies.latin_hypercube(
        {joint: (-1.0, 1.0), f"{joint}.vel": (0.0, 1.0), f"{joint}.acc": stats.norm(0.0, 2.0)}, 16
    )
    outputs = [f"{joint}.force", f"{joint}.moment.x", f"{joint}.actuation"]
    found = robot.study(design, outputs=outputs)
    q, v, a = (np.zeros((16, robot.nv)) for _ in range(3))
    q[:, 1], v[:, 1], a[:, 1] = design.values.T
    own = robot.joint_loads(q, v, a, joints=[joint])
    assert np.allclose(found[outputs[0]], np.linalg.norm(own.force[:, 0], axis=1), rtol=1e-12)
    assert np.array_equal(found[outputs[1]], own.moment[:, 0, 0])
    assert np.array_equal(found[outputs[2]], own.actuation[:, 0])
    masses = studies.grid({f"{link}.mass": [1.0, 3.0]})
    heavy = robot.study(masses, outputs=outputs[:1])[outputs[0]]
    assert heavy[1] - heavy[0] == pytest.approx(2.0 * 9.81, rel=1e-9)


@pytest.mark.parametrize("near", [None, {"crank": 0.9, "elbow": 0.3}])
def test_prescribed_motions_begin_where_they_are_prescribed(
    rocker: mbd.Mechanism, near: dict[str, float] | None
) -> None:
    pendulum = mbd.load(mbd.models()["pendulum"])
    for machine, link in ((rocker, "coupler"), (pendulum, pendulum.model.links[-1].name)):
        name = machine.coordinate_names[0]
        found = machine.study(
            studies.grid({f"{link}.mass": [1.0, 2.0]}),
            duration=0.02,
            outputs={"first": f"initial {name}", "rate": f"final {name}.vel"},
            prescribed={name: "0.2 + 3*t"},
            near=near if machine is rocker else None,
        )
        assert found["finished"].all()
        assert found["first"] == pytest.approx([0.2, 0.2])
        assert found["rate"] == pytest.approx([3.0, 3.0])


def test_one_factor_may_change_several_things(rocker: mbd.Mechanism) -> None:
    design = studies.grid({"size": [1.0, 2.0]})
    found = rocker.study(
        design,
        variables=lambda f: {"coupler.mass": f["size"], "crank.vel": 3.0 * f["size"]},
        outputs=["initial crank.vel"],
        **ROCKER,
    )
    assert found["initial crank.vel"] == pytest.approx([3.0, 6.0])


def test_a_variant_in_trouble_leaves_the_others_alone(rocker: mbd.Mechanism) -> None:
    design = studies.grid({"coupler_pin.predecessor.xyz.x": [0.48, 9.0]})
    found = rocker.study(
        design,
        variables=lambda f: {
            "coupler_pin.predecessor.xyz": np.stack(
                [f["coupler_pin.predecessor.xyz.x"], 0 * f["size"], 0 * f["size"]], axis=1
            )
            if "size" in f
            else np.pad(f["coupler_pin.predecessor.xyz.x"][:, None], ((0, 0), (0, 2)))
        },
        outputs=["peak coupler_pin.force"],
        **ROCKER,
    )
    assert found["finished"].tolist() == [1.0, 0.0]
    assert np.isfinite(found["peak coupler_pin.force"]).tolist() == [True, False]
    assert sum(found.statuses.values()) == 2
    assert any("close" in status for status in found.statuses)


def far(values: Any) -> dict[str, Any]:
    """Return the options of a study of crank-rockers, whose loops close for 0.48 m and not for
    several metres.
    """
    return {
        "design": studies.table({"x": values}),
        "variables": lambda f: {
            "coupler_pin.predecessor.xyz": np.pad(f["x"][:, None], ((0, 0), (0, 2)))
        },
        "outputs": ["peak coupler_pin.force"],
        **ROCKER,
    }


def test_variants_in_trouble_are_grouped_with_an_example(rocker: mbd.Mechanism) -> None:
    values = [0.48, *np.linspace(5.0, 9.0, 40), 0.47]
    for batch in (7, 4096):
        found = rocker.study(**far(values), batch=batch)
        assert list(found.statuses.values()) == [2, 40]
        assert found["status"].tolist() == [0.0, *[1.0] * 40, 0.0]
        (sentence,) = found.trouble()
        assert "40 of 42 variants, such as that of x = 5: not started: " in sentence
        assert "by 4.2 m" in sentence and "by 4.2 m" not in list(found.statuses)[1]
        assert "'coupler_pin' by ... m" in list(found.statuses)[1]


def test_variants_in_trouble_share_their_machine_code(
    rocker: mbd.Mechanism, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MBD_BRIDGE_CACHE", str(tmp_path))
    off = {
        "variables": lambda f: {
            "crank": f["x"],
            "coupler.mass": 1.0 + f["x"],
            "crank.vel": 0.0 * f["x"] + 2.0,
        },
        "prescribed": {"crank": "2*t"},
    }
    stuck = {
        "variables": lambda f: {
            "coupler_pin.predecessor.xyz": np.pad(0.02 * f["x"][:, None], ((0, 0), (0, 2))),
            "crank.vel": 0.0 * f["x"] + 8.0,
        },
        "prescribed": {"crank": "0.5 + 8*t"},
        "duration": 0.5,
    }
    for more, first in (({}, 0.47), (off, 0.0), (stuck, 12.0)):
        numbers, before = [], len(list(tmp_path.glob("*.kernel")))
        machine = rocker.with_payload("coupler", 0.1 + len(more))  # nobody has its machine code
        for values in ([first, 0.48, 5.0, 6.0], [first, 0.48, *np.linspace(7.0, 9.0, 9)]):
            found = machine.study(**{**far(values), **more})
            assert found["finished"].tolist()[0] == 1.0 and min(found["finished"]) == 0.0
            numbers.append(len(list(tmp_path.glob("*.kernel"))))
        assert numbers[0] > before
        assert numbers[0] == numbers[1]


def test_variants_that_stop_in_their_first_step_leave_the_others_alone(
    rocker: mbd.Mechanism,
) -> None:
    design = studies.table({"crank.vel": [1e5, 1e100, 2.0, 1e4]})
    found = rocker.study(design, outputs=["peak coupler_pin.force", "peak crank.acc"], **ROCKER)
    assert found["finished"].tolist() == [0.0, 0.0, 1.0, 0.0]
    assert np.isfinite(found["peak coupler_pin.force"]).tolist() == [False, False, True, False]
    assert "errs by more than a turn" in str(found.trouble())
    assert "nan" not in str(found.trouble())


def test_numbers_that_no_mechanism_has_are_refused_before_anything_is_computed(
    rocker: mbd.Mechanism,
) -> None:
    told: list[int] = []
    spring = mbd.forces.JointSpring("rocker", stiffness=3.0, damping=0.2, name="spring")
    for factor in ("coupler.mass", "coupler.inertia.yy", "spring.damping"):
        with pytest.raises(mbd.MbdError, match="-1"):
            rocker.study(
                studies.table({factor: [*[1.0] * 8, -1.0]}),
                outputs=["rocker"],
                forces=[spring],
                batch=2,
                progress=told.append,
                **ROCKER,
            )
    assert told == []


def test_a_study_with_gaps_is_saved_with_their_reasons(
    rocker: mbd.Mechanism, tmp_path: Path
) -> None:
    found = rocker.study(**far([0.48, 7.0]))
    for suffix in (".csv", ".parquet", ".npz", ".h5"):
        file = tmp_path / f"study{suffix}"
        found.save(file)
        assert "does not close the loops" in open_table(file).attributes["status 1"]
    frame = pandas.read_csv(tmp_path / "study.csv", comment="#")
    assert frame["status"].tolist() == [0.0, 1.0]
    assert frame["peak coupler_pin.force [N]"].isna().tolist() == [False, True]


def test_a_study_that_fails_from_the_first_variant_on_stops(rocker: mbd.Mechanism) -> None:
    with pytest.raises(
        mbd.MbdError,
        match=r"none of the 17 variants tried first, .* That of x = 5: not started: .*coupler_pin",
    ):
        rocker.study(**far(np.linspace(5.0, 9.0, 100_000)))
    found = rocker.study(**far([7.0, 8.0, 9.0, 0.48]))
    assert found["finished"].tolist() == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ([1.0, 2.0], "expected a mapping by name"),
        ({}, "expected numbers by name, got none"),
        ({"y": ["a", "b"]}, r"output 'y': expected \(1,\) numbers"),
        ({"y": [[1.0], [2.0, 3.0]]}, r"output 'y': expected \(1,\) numbers"),
        ({"y": 1.0}, r"got the shape \(\)"),
        (None, "expected numbers by name, got none"),
    ],
)
def test_functions_that_return_something_else_are_told_what_is_expected(
    rocker: mbd.Mechanism, returned: Any, words: str
) -> None:
    with pytest.raises(mbd.MbdError, match=words):
        mbd.studies.study(lambda columns: returned, studies.table({"x": [1.0, 2.0]}))
    words = words.replace("output", "variables:").replace("numbers by name", "values by name .*")
    with pytest.raises(mbd.MbdError, match=words):
        rocker.study(**{**far([0.48]), "variables": lambda columns: returned})


def test_progress_is_told_within_a_part(
    rocker: mbd.Mechanism, design: studies.Design, serial: studies.StudyResult
) -> None:
    told: list[int] = []
    found = rocker.study(design, outputs=OUTPUTS, progress=told.append, **ROCKER)
    assert sum(told) == 48 and len(told) > 1 and min(told) >= 0
    assert same(serial, found)


def test_names_of_outputs_stay_the_same_over_the_parts() -> None:
    def evaluate(columns: dict[str, Any]) -> dict[str, Any]:
        return {"y" if columns["x"][0] < 2.0 else "z": columns["x"]}

    with pytest.raises(mbd.MbdError, match="the same names of all variants, got z from variant 2"):
        studies.study(evaluate, studies.table({"x": np.arange(4.0)}), batch=1)


def test_a_system_and_its_inputs_can_be_varied() -> None:
    robot = mbd.load(mbd.models()["pendulum"])
    name = robot.model.velocity_names[0]
    system = mbd.System(robot, torque={name: mbd.Input("motor")})
    design = studies.grid({"motor": [0.0, 1.0]})
    found = system.study(design, outputs=[f"final {name}.vel"], duration=0.01)
    still, pushed = found[f"final {name}.vel"]
    alone = robot.simulate(0.01, torque={name: 1.0})
    assert still == 0.0
    assert pushed == pytest.approx(alone.v[-1, 0], rel=1e-12)


class Broken:
    """An executor whose worker dies."""

    def submit(self, fn: Any, /, *args: Any) -> Future[Any]:
        from concurrent.futures.process import BrokenProcessPool

        future: Future[Any] = Future()
        future.set_exception(BrokenProcessPool("a process was killed"))
        return future


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"outputs": []}, "expected one or more"),
        ({"outputs": ["peak nothing.force"]}, "no quantity named"),
        ({"outputs": ["worst rocker"]}, "no statistic named 'worst'"),
        ({"outputs": {"status": "rocker"}}, "'status' is there anyway"),
        ({"outputs": ["a b c"]}, "a statistic and a quantity"),
        ({"outputs": {"x": lambda batch: 1.0}}, "one for each variant"),
        ({"duration": -1.0}, "more than 0"),
        ({"near": {"crnk": 0.5}}, "crnk"),
        ({"batch": 0}, "whole number from 1"),
        ({"executor": Broken()}, "a worker died"),
        ({"executor": object()}, "submit"),
    ],
)
def test_what_cannot_be_studied_is_refused(
    rocker: mbd.Mechanism, options: dict[str, Any], words: str
) -> None:
    few = studies.sobol(FACTORS, 2, seed=0)
    given = {"outputs": ["final rocker"], **ROCKER, **options}
    with pytest.raises(mbd.MbdError, match=words):
        rocker.study(few, **given)


def test_unknown_factors_are_named(rocker: mbd.Mechanism) -> None:
    with pytest.raises(mbd.MbdError, match=r"copler\.mass"):
        rocker.study(studies.grid({"copler.mass": [1.0]}), outputs=["rocker"], **ROCKER)


def test_results_become_tables(serial: studies.StudyResult, tmp_path: Path) -> None:
    frame = serial.to_dataframe()
    assert list(frame.columns) == [*FACTORS, *OUTPUTS, "finished", "status"]
    assert np.array_equal(frame["pin"], serial["pin"]) and list(serial) == list(frame.columns)
    units = frame.attrs["units"]
    known = {"coupler.mass": "kg", "crank.vel": "rad/s", "pin": "N", "moment": "N", "end": "rad"}
    known |= {"speed": "rad/s", "energy": "J"}
    known |= dict.fromkeys(("open", "finished", "status", "variant"), "")
    assert units == known and "48 variants" in serial._repr_html_()
    robot = mbd.load(mbd.models()["pendulum"])
    name = robot.coordinate_names[0]
    square = studies.grid({name: [0.1, 0.2, 0.3], f"{name}.vel": [0.0, 1.0]})
    found = robot.study(square, outputs={"end": f"final {name}"}, duration=0.01)
    data = found.to_xarray()
    assert data["end"].dims == (name, f"{name}.vel")
    assert [data[one].attrs["units"] for one in (name, f"{name}.vel", "end")] == [
        "rad",
        "rad/s",
        "rad",
    ]
    assert float(data["end"].sel({name: 0.3, f"{name}.vel": 1.0})) == found["end"][-1]
    found.save(tmp_path / "study.csv")
    lines = (tmp_path / "study.csv").read_text().splitlines()
    assert lines[1].startswith(f"{name} [rad],{name}.vel [rad/s],end [rad]")
    assert len(lines) == 8
