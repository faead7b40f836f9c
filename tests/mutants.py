"""Changes of meaning, one at a time, and how many tests notice each: ``python -m tests.mutants``.

    python -m tests.mutants studies friction     those whose file or sentence has one of the words

Each is made in a copy of the tree, and the files of tests that should notice are run there. Whoever
merges or shortens tests runs those of the room before and after: no change may go unnoticed, and
one that a single function notices is to be kept in mind. Not part of the suite: they take an hour.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
NEEDED = ("mbd_bridge", "tests", "urdf", "examples", "docs", "pyproject.toml", "README.md")
LONGEST = 900
"""s of one mutant."""


class Mutant(NamedTuple):
    """A change of meaning.

    Attributes
    ----------
    meaning : what is wrong then
    file : below `mbd_bridge`
    old, new : text that stands there once, and what takes its place
    tests : files or folders below `tests`, with blanks between
    """

    meaning: str
    file: str
    old: str
    new: str
    tests: str


MUTANTS = (
    Mutant(
        "a band of a hundredth of a number is not shown",
        *("base/readable.py", "band < BAND * abs(value)", "band < 10.0 * BAND * abs(value)"),
        "report/test_deliverable.py noise/test_verdicts.py",
    ),
    Mutant(
        "a power of a unit below the line is lost",
        *("base/units.py", 'int(match["power"] or 1)', 'min(int(match["power"] or 1), 1)'),
        "test_units.py external/test_names_and_units.py formats/test_dialects.py",
    ),
    Mutant(
        "a product of quaternions turns the other way",
        *("model/quaternions.py", "+ _cross(s[..., :3], t", "- _cross(s[..., :3], t"),
        "spatial/test_quaternions.py kinematics/test_inverse_kinematics.py",
    ),
    Mutant(
        "an inertia about an origin loses its products",
        "model/spatial.py",
        "np.dot(c, c) * np.eye(3) - np.outer(c, c)",
        "np.dot(c, c) * np.eye(3) - np.diag(c * c)",
        "spatial/test_spatial.py mechanism/test_model.py mechanism/test_recut.py",
    ),
    Mutant(
        "a payload goes to all links but the chosen one",
        *("model/builder.py", "if entry.name == link", "if entry.name != link"),
        "test_placement.py mechanism/test_model.py loads/test_assumptions.py",
    ),
    Mutant(
        "a joint that is turned round keeps its axis",
        *("model/spanning_tree.py", "axis = _opposite(axis)", "axis = tuple(axis)"),
        "mechanism/test_recut.py formats/test_loops.py loads/test_joint_frames.py",
    ),
    Mutant(
        "a rolling wheel's contact does not move with its pitch",
        "equations/cuts.py",
        "radius * (cross(k1, x) + cross(k, x1))",
        "radius * cross(k1, x)",
        "equations/test_rolling.py simulate/test_rolling.py simulate/test_whipple_bicycle.py",
    ),
    Mutant(
        "the spin of a carrier counts once in Coriolis",
        *("equations/newton_euler.py", "cross(2.0 * carried + w, u)", "cross(carried + w, u)"),
        "equations/test_two_roads.py loads/test_joint_loads.py bridges/test_pinocchio.py",
    ),
    Mutant(
        "rotors do not take part in the kinetic energy",
        *("equations/energy.py", "0.5 * (model.rotors @ (v * v))", "0.0 * (model.rotors @ v)"),
        "formats/test_mjcf_dynamics.py simulate/test_methods.py",
    ),
    Mutant(
        "angular momentum is about the origin",
        "equations/centroid.py",
        "arm = part.position - c\n",
        "arm = part.position - 0.0 * c\n",
        "kinematics/test_frames.py bridges/test_pinocchio.py",
    ),
    Mutant(
        "a section of a beam does not feel the arm of its stations",
        "equations/section_loads.py",
        "np.concatenate([force, moment + cross(place, force)])",
        "np.concatenate([force, moment])",
        "flexible/test_sections.py",
    ),
    Mutant(
        "entries of one colour are not of one output, but may be of two",
        *("kernels/derive.py", "meets[k] |= row", "meets[k] = row"),
        "kernels/test_derive.py kernels/test_random_functions.py",
    ),
    Mutant(
        "code of a writable file is loaded from the cache",
        *("base/systems.py", "and not facts.st_mode & 0o022", "and not facts.st_mode & 0o020"),
        "kernels/test_cache.py",
    ),
    Mutant(
        "a number is not less than or equal to itself",
        *("functions.py", 'operate("le", a, b)', 'operate("lt", a, b)'),
        "test_functions.py kernels/test_operations.py kernels/test_conditional.py",
    ),
    Mutant(
        "Stribeck's peak fades with the speed, not with its square",
        *("forces/friction.py", "exp(-(part * part))", "exp(-part)"),
        "forces/test_closed_forms.py forces/test_effects.py",
    ),
    Mutant(
        "damping does not fade in smoothly",
        *("forces/stops.py", "(part * part * (3.0 - 2.0 * part))", "part"),
        "forces/test_closed_forms.py forces/test_effects.py",
    ),
    Mutant(
        "energy of a progressive spring as of a linear one",
        *("forces/law.py", "k / (i + 2.0)", "k / 2.0 / (i + 1.0)"),
        "forces/test_closed_forms.py forces/test_effects.py simulate/test_energy_guard.py",
    ),
    Mutant(
        "the aligning moment of a tyre falls with the square of what sticks",
        *("forces/tyres/fiala.py", "push * (H * H * H)", "push * (H * H)"),
        "forces/test_fiala.py",
    ),
    Mutant(
        "heights of a road are not interpolated across",
        *("forces/roads/grid.py", "near + f * (far - near),", "near,"),
        "forces/test_roads.py",
    ),
    Mutant(
        "pivots of M that fill in are left out",
        "solve/factor.py",
        "scaled * L[k, j]\n                filled[i, j] = True",
        "scaled * L[k, j]",
        "solve/test_dynamics.py equations/test_masks_and_gears.py",
    ),
    Mutant(
        "a singular value counts below a thousand times the tolerance",
        *("solve/rank.py", "singular > SINGULAR *", "singular > 1e-3 * SINGULAR *"),
        "solve/test_loop_report.py solve/test_rank_tolerance.py",
    ),
    Mutant(
        "angles jump at a third of a turn",
        *("motion/named_source.py", "> 0.5 * self.turn", "> 0.35 * self.turn"),
        "cli/test_angles.py",
    ),
    Mutant(
        "a floating base's acceleration forgets that its axes turn",
        *(
            "motion/derivatives.py",
            "in_child(q[:, 3:], along_rate) - np.cross(turn, v)",
            "in_child(q[:, 3:], along_rate)",
        ),
        "loads/test_motion.py kinematics/test_partial_motions.py noise/test_smoothing.py",
    ),
    Mutant(
        "the deviation of rounding is half of step/sqrt(12)",
        *("motion/smoothing/noise.py", "UNIFORM = 12.0**-0.5", "UNIFORM = 0.5 * 12.0**-0.5"),
        "noise/test_smoothing.py noise/test_uncertainty.py noise/test_recordings.py",
    ),
    Mutant(
        "a change of loads by noise counts twice",
        *("motion/deviations.py", "is None else 0.5", "is None else 1.0"),
        "noise/test_uncertainty.py",
    ),
    Mutant(
        "loads on the parent at its own origin are at the child's",
        *("loads/convention.py", 'if self.at == "parent" and joint.moving:', "if False:"),
        "loads/test_conventions.py loads/test_joint_frames.py",
    ),
    Mutant(
        "rounding errors of moments are judged without the machine's size",
        "loads/round_off.py",
        "[self.moment, largest * self.arm, ROUND_OFF * moment]",
        "[self.moment, ROUND_OFF * moment]",
        "loads/test_round_off.py loads/test_peaks.py",
    ),
    Mutant(
        "of equal peaks the last counts",
        *("motion/peak.py", "size > (1.0 + SAME) * before", "size >= (1.0 - SAME) * before"),
        "loads/test_peaks.py cli/test_loads.py",
    ),
    Mutant(
        "a planar machine's axes may be off by a degree",
        *("loads/planar.py", "ALIGNED = 1e-5", "ALIGNED = 2e-2"),
        "loads/test_planar.py",
    ),
    Mutant(
        "the mean square of a signal counts the last piece only",
        "loads/streaming/statistics.py",
        "self._squares += np",
        "self._squares = np",
        "durability/test_streaming.py durability/test_cases.py cli/test_durability.py",
    ),
    Mutant(
        "the work of a step is taken at its start",
        "simulation/steps/runge_kutta.py",
        "sixth * (first + 2.0 * (second + third) + fourth)",
        "whole * first",
        "simulate/test_energy_guard.py simulate/test_simulate.py forces/test_closed_forms.py",
    ),
    Mutant(
        "schemes that damp have another β",
        *("simulation/steps/schemes.py", "0.25 * (gamma + 0.5) ** 2", "0.25 * (gamma + 0.5)"),
        "simulate/test_implicit.py simulate/test_implicit_runs.py simulate/test_orders.py",
    ),
    Mutant(
        "an event at which a function falls counts as growing",
        *("simulation/run/events.py", "rising.append(signs[b] > 0.0)", "rising.append(True)"),
        "simulate/test_events.py simulate/test_event_edges.py",
    ),
    Mutant(
        "steps do not end where a table bends",
        "simulation/signals/tables.py",
        "STRAIGHT * largest).any(axis=0)\n            phase",
        "STRAIGHT * largest).any(axis=0) & False\n            phase",
        "simulate/test_jumps.py simulate/test_prescribed.py forces/test_varying.py",
    ),
    Mutant(
        "what a step leaves open of the loops weighs nothing",
        *("simulation/steps/runge_kutta.py", "+ left * UNCLOSED_RISK", "+ left"),
        "simulate/test_passages.py simulate/test_coupled_step.py",
    ),
    Mutant(
        "gears that brake lose as gears that drive",
        "applications/motors/duty.py",
        "gears.braking)\n",
        "1.0 / gears.motoring)\n",
        "actuators/test_motor_side.py",
    ),
    Mutant(
        "the life of a bearing is that of its mean load, not of its damage",
        *("applications/bearings/life.py", "(C / mean) ** p if mean", "(C / mean) if mean"),
        "loads/test_bearings.py cli/test_loads.py",
    ),
    Mutant(
        "equal ranges side by side are closed both",
        *("applications/durability/cycles.py", "places[in_row % 2 == 0]", "places[in_row >= 0]"),
        "durability/test_cycles.py",
    ),
    Mutant(
        "a free body's moment is not carried to the link's origin",
        "applications/free_body/free_body.py",
        "self.moment + np.cross(self.point, self.force)], axis=1)",
        "self.moment], axis=1)",
        "durability/test_free_body.py flexible/test_free_body.py",
    ),
    Mutant(
        "the frequency of a mode is its natural one",
        *("applications/linear/model.py", "abs(self.eigenvalue.imag) /", "abs(self.eigenvalue) /"),
        "linear/test_closed_forms.py linear/test_bicycle.py cli/test_modes.py",
    ),
    Mutant(
        "the key of a study's part ignores the last of several factors",
        "applications/studies/run.py",
        "digest_of((FORM, digest, columns))",
        "digest_of((FORM, digest, dict(list(columns.items())[: max(len(columns) - 1, 1)])))",
        "studies/test_digest.py studies/test_study.py",
    ),
    Mutant(
        "a study's digest ignores what a function closes over",
        "applications/studies/digest.py",
        "function.__closure__ or (), strict=True",
        "(), strict=False",
        "studies/test_digest.py studies/test_study.py",
    ),
    Mutant(
        "a second term of a product of symbols is lost",
        *("applications/formulas/form.py", "sign * value)", "abs(sign) * value)"),
        "symbolic/test_symbolic.py",
    ),
    Mutant(
        "an FMU's unit has the powers of the first side only",
        *("applications/fmu/export.py", "(1 if number == 0 else -1)", "1"),
        "fmu/test_fmu.py",
    ),
    Mutant(
        "real time goes on with the numbers of the last restart",
        *("simulation/steps/stepping.py", "if sampled else self.held", "if sampled else code.held"),
        "real_time/test_real_time.py",
    ),
    Mutant(
        "pybullet brakes what moves by its air",
        *("engines/pybullet/referee.py", "    body.take_away_air()\n", ""),
        "crosscheck/test_pybullet_asked.py crosscheck/test_crosscheck.py",
    ),
    Mutant(
        "an arc of a negative torque turns the other way",
        "view/arrows.py",
        "axes = homogeneous(centre, along(axis if share > 0.0 else -axis))",
        "axes = homogeneous(centre, along(axis))",
        "view/test_arrows.py",
    ),
    Mutant(
        "a checked open tree is shown as good as a checked machine",
        "reports/write.py",
        "or (found.passed and found.open_loops)",
        "or (found.passed and False)",
        "report",
    ),
    Mutant(
        "a mesh of one scale is scaled along x only",
        *("files/urdf.py", "return scale, scale, scale", "return scale, 1.0, 1.0"),
        "formats/test_meshes.py",
    ),
    Mutant(
        "what is drawn of a plot's curve loses its last piece",
        *("base/plot_style.py", "if whole < rows:", "if False:"),
        "plots/test_plots.py",
    ),
    Mutant(
        "the rotors of a machine count twice in its motors",
        *("applications/motors/motors.py", "tau = tau - model.rotors", "tau = tau + model.rotors"),
        "actuators/test_motor_side.py",
    ),
    Mutant(
        "a grid in a study file needs no levels",
        *("applications/studies/study_file.py", "if len(table) < 3:", "if len(table) < 2:"),
        "studies/test_study_file.py",
    ),
    Mutant(
        "a bag's rows have the time of their first column",
        *("files/tables/bag.py", "row[names.index(TIME)] * SECOND)", "row[0] * SECOND)"),
        "formats/test_bags.py",
    ),
    Mutant(
        "geoms of MuJoCo's fourth group are seen",
        *("engines/mujoco/read.py", "< VISIBLE_GROUPS", "<= VISIBLE_GROUPS"),
        "formats/test_mjcf.py",
    ),
    Mutant(
        "a joint with two motors is actuated twice",
        *("files/urdf.py", "in dict.fromkeys(named) if name in free", "in named if name in free"),
        "formats/test_urdf.py",
    ),
    Mutant(
        "floors of forces grow with moments",
        *("loads/peaks.py", "for row in rows if row.unit == unit)", "for row in rows)"),
        "loads/test_peaks.py",
    ),
    Mutant(
        "stations a thousandth of a beam apart are one",
        *("model/flexible/beam.py", "SAME = 1e-9", "SAME = 1e-3"),
        "flexible/test_equations.py",
    ),
    Mutant(
        "an instant beyond the end of a motion is in it",
        *(
            "applications/free_body/free_body.py",
            "within = 0.5 * self._step",
            "within = 1.5 * self._step",
        ),
        "durability/test_free_body.py",
    ),
    Mutant(
        "a jerk is a change of acceleration, whatever time it took",
        *("motion/warnings.py", "/ np.diff(time)[:, np.newaxis]", ""),
        "formats/test_urdf_limits.py",
    ),
    Mutant(
        "the guard of loops looks back along a straight line",
        *("simulation/guards/loops.py", "bend - tau * v]", "-bend - tau * v]"),
        "simulate/test_guard_on_every_road.py",
    ),
    Mutant(
        "a motion of two records stands still",
        *("view/source.py", "if len(self.time) < 2:", "if len(self.time) < 3:"),
        "view/test_player.py",
    ),
)


def chosen(words: list[str]) -> list[Mutant]:
    """Return the mutants whose file or meaning has one of the words; without words, all."""
    return [
        one
        for one in MUTANTS
        if not words or any(word in f"{one.file} {one.meaning}" for word in words)
    ]


def copy(place: Path) -> Path:
    """Return a copy of the tree in a folder."""
    for name in NEEDED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, place / name)
    return place


def noticed(tree: Path, mutant: Mutant) -> str:
    """Return how many test functions fail with a mutant, and which, as a line."""
    path = tree / "mbd_bridge" / mutant.file
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if text.count(mutant.old) != 1:
        return f"stands there {text.count(mutant.old)} times: mend `old` or `file`"
    tests = [f"tests/{name}" for name in mutant.tests.split()]
    if gone := [name for name in tests if not (tree / name).exists()]:
        return f"no such tests: {', '.join(gone)}"
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", "-rfE"]
    try:
        run = subprocess.run(
            [*command, *tests],
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no answer in {LONGEST} s"
    finally:
        path.write_text(text, encoding="utf-8")
    names = re.findall(r"^(?:FAILED|ERROR) [^ :]+(?:::(\w+))?", run.stdout, re.M)
    functions = dict.fromkeys(name or "a module" for name in names)
    return f"{len(functions)} functions: {', '.join(list(functions)[:3]) or 'NOT NOTICED'}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        tree = copy(Path(folder))
        for number, mutant in enumerate(chosen(sys.argv[1:]), 1):
            print(
                f"{number:2} {mutant.file}: {mutant.meaning}: {noticed(tree, mutant)}", flush=True
            )
