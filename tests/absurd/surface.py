"""Every public call with right arguments, found by looking: what is new is swept, too."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.applications.bearings import Bearing
from mbd_bridge.applications.durability import load_spectra
from mbd_bridge.engines.crosscheck import crosscheck
from mbd_bridge.solve.assembly import assemble, assemble_batch
from tests.absurd.stage import BUILDING, Stage, builder, stages

BEHIND: dict[str, Callable[..., Any]] = {
    "Mechanism.assemble_batch": assemble_batch,
    "Mechanism.assemble": assemble,
    "Mechanism.crosscheck": crosscheck,
    "Mechanism.free_body": mbd.Mechanism.joint_loads,
    "Mechanism.compile": mbd.loads.LoadSolver,
    "JointLoads.spectra": load_spectra,
    "Simulation.joint_loads": mbd.simulation.SimulationBatch.joint_loads,
}
"""Whose options a call takes that says ``**options``."""

OURS = ("model", "prepared", "self", "loads")
"""Parameters behind a door that its caller does not see."""

INNER = (
    *("ClosedInverse.exact", "ClosedInverse.function_of", "ClosedInverse.refuse"),  # of symbols
    *("LoadSolver.with_inputs", "LoadSolver.determined", "LoadSolver.inputs"),
    *("LoadSolver.flags", "LoadSolver.result", "LoadSolver.at_states", "JointLoads.among"),
    *("LoadSolver.with_spins", "ClosedInverse.spins_in"),
    *("Simulation.part", "Simulation.answer"),
    *(
        "JointLoads.along_motion",
        "JointLoads.get",
    ),
    *("Mechanism.moved_by", "Mechanism.stating", "Motion.part"),
)
"""Steps of the library's own, which take what it has made."""

MODULES = (mbd, mbd.flexible, mbd.linear)
"""Where public functions are."""

LATE = (
    *("mbd_bridge.api.flexible", "mbd_bridge.api.kinematics", "mbd_bridge.api.motions"),
    *("mbd_bridge.simulation.batch.run", "mbd_bridge.simulation.rates"),
)
"""Where methods are that are imported when they are used; those of other modules are not tried."""

SHOWN = ("show", "render", "web_view", "report")

ELSEWHERE = {
    *(f"{owner}.{name}" for owner in ("Mechanism", "Simulation") for name in SHOWN),
    "Mechanism.load_history",
    "Mechanism.read_loads",
    "Mechanism.read_motion",
    "load",
}
"""Calls whose argument is a file or a picture: their own fuzzers feed them; here their options."""


@dataclasses.dataclass(frozen=True)
class Call:
    """A public call.

    Attributes
    ----------
    name : as a user writes it, after the stage
    make : returns the function, bound to what it is called on
    given : right arguments for every parameter, by name
    needed : those that the call is made with when another one is tried
    """

    name: str
    make: Callable[[], Callable[..., Any]]
    given: dict[str, Any]
    needed: tuple[str, ...]


def calls(folder: Path) -> list[Call]:
    """Return all public calls."""
    found = []
    for kind, stage in stages(folder).items():
        found += list(_functions(kind, stage, folder))
        for owner, make in _receivers(stage).items():
            found += list(
                _methods(f"{kind}: {owner}", type(make()), make, stage.given, stage.always)
            )
    found += list(_methods("Builder", mbd.Builder, builder, BUILDING, {}))
    return found


def _functions(kind: str, stage: Stage, folder: Path) -> Iterator[Call]:
    public = {name: module for module in MODULES for name in module.__all__}
    public |= {"load_forces": mbd.forces, "save_forces": mbd.forces}
    for name, module in public.items():
        function = getattr(module, name)
        if not inspect.isfunction(function) or name in ELSEWHERE:
            continue
        yield _call(
            f"{kind}: {name}", name, lambda f=function: f, function, stage.given, stage.always
        )
    solver = mbd.loads.LoadSolver
    yield _call(
        f"{kind}: LoadSolver", "LoadSolver", lambda: solver, solver, stage.given, stage.always
    )


def _receivers(stage: Stage) -> dict[str, Callable[[], Any]]:
    machine = stage.machine
    found = {
        "Mechanism": lambda: machine,
        "Loops": lambda: machine.loops,
        "LoadSolver": lambda: stage.solver,
        "JointLoads": lambda: stage.loads,
        "Motion": lambda: stage.motion,
        "Simulation": lambda: stage.run,
        "SimulationBatch": lambda: stage.batch,
        "Equations": lambda: stage.equations,
    }
    if machine.model.has_loops:
        dynamics = machine.constrained_dynamics(actuated=["crank"])
        found["forward"], found["inverse"] = lambda: dynamics.forward, lambda: dynamics.inverse
    return found


def _methods(
    name: str, kind: type, make: Callable[[], Any], given: dict[str, Any], always: dict[str, Any]
) -> Iterator[Call]:
    for method in (
        m for m in dir(kind) if not m.startswith("_") or m in ("__call__", "__getitem__")
    ):
        function = getattr(kind, method)  # imports it, where it is of another module
        if getattr(function, "__module__", kind.__module__) not in (kind.__module__, *LATE):
            continue
        static = inspect.getattr_static(kind, method, None)
        if not (inspect.isfunction(static) or isinstance(static, staticmethod)):
            continue
        short = f"{kind.__name__}.{method}"
        if short in INNER or short in ELSEWHERE:
            continue
        bound = not isinstance(static, staticmethod)
        made = functools.partial(lambda method: getattr(make(), method), method)
        yield _call(f"{name}.{method}", short, made, function, given, always, skipped=int(bound))


def _call(
    name: str,
    short: str,
    make: Callable[[], Callable[..., Any]],
    function: Callable[..., Any],
    given: dict[str, Any],
    always: dict[str, Any],
    skipped: int = 0,
) -> Call:
    """Return the call; `skipped` parameters, its object's, are given by then."""
    own: dict[str, Any] = {}
    needed: list[str] = []
    parameters = dict([*inspect.signature(function).parameters.items()][skipped:])
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        behind = inspect.signature(BEHIND[short]).parameters
        parameters |= {k: p for k, p in behind.items() if k not in (*parameters, *OURS)}
    for parameter in parameters.values():
        if parameter.name == "self" or parameter.kind in (
            parameter.VAR_KEYWORD,
            parameter.VAR_POSITIONAL,
        ):
            continue
        key = parameter.name
        special = SPECIAL.get((short, key))
        if special is not None:
            own[key] = special(given)
        elif key in given:
            own[key] = given[key]
        elif parameter.default is not parameter.empty:
            own[key] = parameter.default
        else:
            raise LookupError(f"{name}: tell the sweep what a right {key!r} is (tests/absurd)")
        if parameter.default is parameter.empty or key in always:
            needed.append(key)
    needed += [k for k in NEEDED.get(short, ()) if k not in needed]
    return Call(name, make, own, tuple(needed))


def forces_file(given: dict[str, Any]) -> str:
    """Write force elements to a file and return its path."""
    path = f"{given['path']}.given.forces.yaml"
    mbd.forces.save_forces(path, given["elements"])
    return path


def wrenches_file(given: dict[str, Any]) -> str:
    """Write a table of forces on a link and return its path."""
    path = Path(f"{given['path']}.{given['link']}.csv")
    path.write_text(f"time [s],{given['link']}.fz [N]\n0,0.5\n1,0.25\n")
    return str(path)


def two_states(given: dict[str, Any]) -> mbd.Motion:
    """Return a motion that stays where it is."""
    states = (np.stack([given[name]] * 2) for name in "qva")
    model = given["mechanism"].model
    names = model.coordinate_names, model.velocity_names
    return mbd.Motion(np.array([0.0, 1.0]), *states, *names, (), model)


def recorded(given: dict[str, Any]) -> dict[str, Any]:
    """Return columns that determine a motion."""
    names = given["mechanism"].coordinate_names
    if given["mechanism"].model.has_loops:
        return {names[0]: np.linspace(0.5, 0.6, 6)}
    return {name: np.full(6, value) for name, value in zip(names, given["q"], strict=True)}


def modal_basis() -> mbd.flexible.ModalBasis:
    """Return a bar with one mode."""
    return mbd.flexible.ModalBasis(
        [[0, 0, 0], [1, 0, 0]],
        [1.0, 1.0],
        [[[0, 0, 0], [0, 1, 0]]],
        [[[0, 0, 0], [0, 0, 1]]],
        [12.0],
    )


def modal_file(path: object) -> str:
    """Write a modal basis."""
    mbd.flexible.save_modal_basis(modal_basis(), f"{path}.modes.npz")
    return f"{path}.modes.npz"


SPECIAL: dict[tuple[str, str], Callable[[dict[str, Any]], Any]] = {
    ("JointLoads.along", "time"): lambda g: np.linspace(0.0, 0.01, 11),
    ("JointLoads.along", "v"): lambda g: np.zeros((11, len(g["v"]))),
    ("JointLoads.save", "time"): lambda g: np.linspace(0.0, 0.01, 11),
    ("JointLoads.spectra", "time"): lambda g: np.linspace(0.0, 0.01, 11),
    ("JointLoads.plot", "quantities"): lambda g: ["force"],
    ("JointLoads.plot_torque_speed", "actuations"): lambda g: None,
    ("JointLoads.__getitem__", "name"): lambda g: g["joints"][0],
    ("Mechanism.build", "source"): lambda g: builder(),
    ("Mechanism.from_pinocchio", "model"): lambda g: g["mechanism"].to_pinocchio(),
    ("Mechanism.from_pinocchio", "constraints"): lambda g: (),
    ("Mechanism.compile_derivatives_of", "what"): lambda g: "bias_forces",
    ("Mechanism.compile_derivatives_of", "by"): lambda g: "q",
    ("Mechanism.kernel", "at"): lambda g: g["q"],
    ("Mechanism.kernel", "what"): lambda g: "forward_dynamics",
    ("LoadSolver.__call__", "external"): lambda g: None,
    ("LoadSolver.__call__", "lam"): lambda g: None,
    ("LoadSolver", "parameters"): lambda g: None,
    ("LoadSolver.pushes", "motion"): lambda g: two_states(g),
    ("LoadSolver.pushes", "external"): lambda g: None,
    ("LoadSolver.along", "motion"): lambda g: mbd.Motion(
        np.array([0.0, 1.0]),
        *(np.stack([g[name]] * 2) for name in "qva"),
        g["mechanism"].model.coordinate_names,
        g["mechanism"].model.velocity_names,
    ),
    ("convert", "source"): lambda g: g["mechanism"],
    ("convert", "output"): lambda g: f"{g['path']}.sdf",
    ("convert", "form"): lambda g: "SDF",
    ("compensate_sensors", "readings"): lambda g: mbd.ExternalForces(g["mechanism"].model),
    ("compensate_sensors", "motion"): lambda g: two_states(g),
    ("compensate_sensors", "bias"): lambda g: np.zeros(6),
    ("compensate_sensors", "untouched"): lambda g: None,
    ("Mechanism.bearings", "motion"): lambda g: two_states(g),
    ("Mechanism.motors", "motion"): lambda g: two_states(g),
    ("Mechanism.with_bearings", "bearings"): lambda g: {g["joints"][0]: Bearing(1e4, 1e4)},
    ("Mechanism.frame_kinematics", "frame"): lambda g: g["link"],
    ("Mechanism.inverse_kinematics", "frame"): lambda g: g["link"],
    ("Mechanism.inverse_kinematics", "position"): lambda g: g["mechanism"].placement(
        g["q"], g["link"]
    )[:3, 3][None],
    ("Mechanism.inverse_kinematics", "time"): lambda g: None,
    ("Mechanism.with_actuators", "actuators"): lambda g: [
        mbd.actuators.Actuator(g["mechanism"].coordinate_names[0])
    ],
    ("Mechanism.external_force", "force"): lambda g: np.array([0.5, 0.25, 1.0]),
    ("Mechanism.external_force", "time"): lambda g: None,
    ("Mechanism.motion", "time"): lambda g: np.linspace(0.0, 0.5, 6),
    ("Mechanism.motion", "q"): lambda g: np.repeat(g["q"][None], 6, axis=0),
    ("Mechanism.motion", "v"): lambda g: None,
    ("Mechanism.motion", "a"): lambda g: None,
    ("Simulation.resampled", "times"): lambda g: np.array([0.0, 0.0025]),
    ("Mechanism.complete", "recorded"): lambda g: recorded(g),
    ("Mechanism.complete", "time"): lambda g: np.linspace(0.0, 0.5, 6),
    ("Mechanism.complete", "given"): lambda g: None,
    ("Builder.flexible", "link"): lambda g: mbd.flexible.FlexibleLink(
        "second",
        mbd.flexible.Beam(
            (0, 0, 0), (1, 0, 0), 70e9, 26e9, 2700.0, mbd.flexible.Section.circle(0.01)
        ),
    ),
    ("Mechanism.worst_pose", "samples"): lambda g: 64,
    ("Mechanism.sample_poses", "samples"): lambda g: 64,
    ("study", "design"): lambda g: mbd.studies.grid({g["link"] + ".mass": [1.0, 2.0]}),
    ("study", "outputs"): lambda g: ["energy"],
    ("LoadSolver.flags", "basis"): lambda g: np.ones((5, 1)),
    ("LoadSolver.result", "outputs"): lambda g: (np.ones((2, 3)), np.ones((2, 3)), np.ones(1)),
    ("Simulation.save", "loads"): lambda g: None,
    ("Simulation.free_body", "at"): lambda g: np.array([0.0, 0.005]),
    ("Simulation.joint_loads", "at"): lambda g: g["at"],
    ("Mechanism.simulate", "checkpoint"): lambda g: None,
    ("load_forces", "path"): forces_file,
    ("Mechanism.read_external", "path"): wrenches_file,
    ("load_modal_basis", "path"): lambda g: modal_file(g["path"]),
    ("load_modal_basis", "model"): lambda g: None,
    ("load_modal_basis", "unit"): lambda g: "SI",
    ("load_modal_basis", "modes"): lambda g: 1,
    ("load_modal_basis", "masses"): lambda g: 2.0,
    ("load_modal_basis", "xyz"): lambda g: (0.0, 0.0, 0.1),
    ("load_modal_basis", "rpy"): lambda g: (0.0, 0.1, 0.0),
    ("save_modal_basis", "basis"): lambda g: modal_basis(),
    ("save_modal_basis", "path"): lambda g: f"{g['path']}.npz",
    ("save_forces", "path"): lambda g: f"{g['path']}.forces.yaml",
    ("export_fmu", "path"): lambda g: f"{g['path']}.fmu",
    ("export_fmu", "compile"): lambda g: False,
    ("ClosedForward.__call__", "method"): lambda g: "svd",
}

NEEDED = {
    "study": ("duration", "outputs"),
    "Mechanism.worst_pose": ("samples",),
    "Mechanism.sample_poses": ("samples",),
    "Mechanism.inverse_kinematics": ("position",),
    "Mechanism.joint_loads": ("v", "a"),
    "Mechanism.free_body": ("v", "a"),
    "export_fmu": ("q", "compile"),
}
