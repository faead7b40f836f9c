"""KimYou97 (30), (31), (36) in the bodies' axes, from terms of M and h, beside the recursion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import StateError
from mbd_bridge.equations.mass_matrix import BodyComposites
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.equations.sections import section_loads, sections
from mbd_bridge.kernels import trace
from mbd_bridge.kernels.tracing import fewest_operations
from mbd_bridge.model import Model
from mbd_bridge.solve.factor import factorise, mass_pattern, substitute
from tests.benchmarks import reported
from tests.robots import own_urdfs

LOADS = 1e-13
"""Difference of both roads, of the largest load of the machine: rounding."""

FOUR_BAR = "urdf/four_bar.urdf"
PUSH = (3.0, -5.0, 7.0, 0.2, 0.1, -0.3)

PUBLISHED = {"kuka_iiwa": (364, 351, 258, 157), "rrc_arm": (274, 261, 201, 141)}
"""Operations that the recursion adds to forward dynamics for joints 1, 2, 4 and 7."""


def accelerations(
    model: Model, joints: list[int], q: Any, v: Any, tau: Any
) -> tuple[Any, BodyComposites, list[Any]]:
    """q̈, and what M and h say of joints."""
    still = np.zeros(model.nv)
    bias = recursive_loads(model, q, v, still, joints, along_with_forces=True)
    composites = BodyComposites.of(model, q, joints)
    M = composites.mass_matrix()
    factor = factorise(M, mass_pattern(model), model.velocity_names)
    return substitute(factor, tau - bias.forces), composites, bias.wrench


def without_recursion(model: Model, joints: list[int]) -> Callable[..., tuple[Any, ...]]:
    def function(q: Any, v: Any, tau: Any) -> tuple[Any, ...]:
        a, composites, bias = accelerations(model, joints, q, v, tau)
        parts = sections(composites, joints, bias)
        return (a, *section_loads(model, q, v, a, joints, parts, {})[0])

    return function


def by_recursion(model: Model, joints: list[int]) -> Callable[..., tuple[Any, ...]]:
    def function(q: Any, v: Any, tau: Any) -> tuple[Any, ...]:
        a = accelerations(model, [], q, v, tau)[0]
        return (a, *recursive_loads(model, q, v, a, joints).wrench)

    return function


def operations(model: Model, function: Callable[..., tuple[Any, ...]]) -> int:
    inputs = {"q": model.nq, "v": model.nv, "tau": model.nv}
    return sum(trace(function, inputs).counts().values())


@pytest.mark.parametrize("name", sorted(own_urdfs()))
def test_every_joint_has_the_loads_of_the_recursion(name: str) -> None:
    model = mbd.load(own_urdfs()[name]).model
    rng = np.random.default_rng(7)
    q = model.integrate(model.neutral(), 0.3 * rng.normal(size=model.nv))
    v, a = rng.normal(size=(2, model.nv))
    links = rng.choice(len(model.links), 2, replace=False)
    external = {int(link): rng.normal(size=6) for link in links}
    joints = [j for j, joint in enumerate(model.joints) if joint.child >= 0]
    bias = recursive_loads(model, q, v, np.zeros(model.nv), joints, along_with_forces=True)
    parts = sections(BodyComposites.of(model, q, joints), joints, bias.wrench)
    wrenches, actuations = section_loads(model, q, v, a, joints, parts, external)
    expected = recursive_loads(model, q, v, a, joints, external)
    size = max(np.abs(expected.wrench).max(), 1.0)
    assert np.abs(np.array(wrenches) - expected.wrench).max() <= LOADS * size
    for found, right in zip(actuations, expected.actuation, strict=True):
        np.testing.assert_allclose(found, right, atol=LOADS * size)


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_beside_forward_dynamics_the_recursion_needs_more_operations(name: str) -> None:
    model = mbd.load(own_urdfs()[name]).model
    alone = operations(model, lambda q, v, tau: (accelerations(model, [], q, v, tau)[0],))
    for joint, recursion in zip((1, 2, 4, 7), PUBLISHED[name], strict=True):
        ours = operations(model, without_recursion(model, [joint])) - alone
        assert operations(model, by_recursion(model, [joint])) - alone == recursion
        assert ours < recursion
        assert ours < 0.66 * recursion or joint > 2  # near the base


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_for_inverse_dynamics_alone_the_recursion_needs_fewer_operations(name: str) -> None:
    """There M is not formed: (30) would have to make its columns first."""
    model = mbd.load(own_urdfs()[name]).model

    def sums(joint: int) -> Callable[..., tuple[Any, ...]]:
        def function(q: Any, v: Any, a: Any) -> tuple[Any, ...]:
            bias = recursive_loads(model, q, v, np.zeros(model.nv), [joint]).wrench
            parts = sections(BodyComposites.of(model, q, [joint]), [joint], bias)
            return tuple(section_loads(model, q, v, a, [joint], parts, {})[0])

        return function

    for joint in range(1, 8):
        by_recursion = operations(
            model,
            lambda q, v, a, j=joint: tuple(recursive_loads(model, q, v, a, [j]).wrench),
        )
        assert by_recursion < 0.75 * operations(model, sums(joint))


NEAR_THE_TIP = {(FOUR_BAR, "elbow"), ("urdf/stewart.urdf", "swivel_1")}
"""The swivel's stages are a routine, which forms what (30) takes at all four of a step."""


def test_a_step_takes_what_needs_fewer_operations_and_hardly_ever_the_recursion() -> None:
    recursive, sums, auto = (reported.WAYS.index(way) for way in reported.WAYS)
    for path, rows in reported.table().items():
        for joint, *counts in rows:
            assert counts[auto] == min(counts), (path, joint)
            assert counts[sums] <= counts[recursive] or (path, joint) in NEAR_THE_TIP


@pytest.mark.parametrize("name", ["four_bar", "stewart", "ralf", "macpherson_car"])
def test_loads_in_loops_are_the_same_by_both_formulations(name: str) -> None:
    machine = mbd.load(own_urdfs()[name])
    joints = [joint.name for joint in machine.model.joints if joint.moving]
    loads = []
    for formulation in ("recursive", "non-recursive"):
        push = {machine.model.links[-1].name: PUSH}
        system = mbd.System(machine, loads=joints, external=push, formulation=formulation)
        equations = mbd.Equations(system)
        nq, nv = machine.model.nq, machine.model.nv
        x = equations.start.copy()
        x[nq : nq + nv] = np.random.default_rng(3).normal(size=nv)
        loads.append(equations.outputs(0.0, x))
    expected, found = loads
    keys = ("force", "moment", "actuation")
    size = max(np.abs(expected[key]).max() for key in keys)
    for key in keys:
        np.testing.assert_allclose(found[key], expected[key], rtol=0, atol=LOADS * size)


def test_the_result_says_which_formulation_was_taken_and_what_each_adds() -> None:
    """Also where the machine code comes from the cache, without a trace."""
    bar = mbd.load(FOUR_BAR)
    start = bar.assemble({"crank": 0.5}, fixed="crank")
    texts = {"non-recursive": "Kim and You 1997", "recursive": "by recursion"}
    for joint, taken in (("crank", "non-recursive"), ("elbow", "recursive")):
        added = {way: reported.operations(bar, [joint], way) for way in texts}
        added = {way: number - reported.operations(bar, None) for way, number in added.items()}
        for options in ({}, {}, {"integrator": "hht"}):
            run = bar.simulate(0.01, q=start.q, loads=[joint], **options)
            assert run.facts["formulations"] == added
            (said,) = run.loads.assumptions["convention"]
            assert texts[taken] in said.text and "in child link axes" in said.text
            assert all(f"{number} {way}" in said.text for way, number in added.items())
        for way, text in texts.items():
            run = bar.simulate(0.01, q=start.q, loads=[joint], formulation=way)
            assert text in run.loads.assumptions["convention"][0].text


def test_a_formulation_that_is_not_known_is_refused() -> None:
    with pytest.raises(StateError, match="use one of auto, non-recursive, recursive"):
        mbd.System(mbd.load(FOUR_BAR), loads="all", formulation="iterative")  # type: ignore[arg-type]


def test_of_two_ways_the_one_with_fewer_operations_more_is_taken() -> None:
    """Work that is known in any case does not count; floats take the first way."""

    def function(x: Any, y: Any) -> tuple[Any, ...]:
        square = x * x
        ways = {"cube": lambda: x * x * x, "sum": lambda: 1.0 + y}
        (first,) = fewest_operations((square,), lambda way: (way(),), ways)
        (second,) = fewest_operations((), lambda way: (way(),), ways)
        return square, first, second

    graph = trace(function, {"x": 1, "y": 1})
    assert graph.counts() == {"mul": 2, "add": 1}
    assert graph.ways == {"cube": 2, "sum": 1}
    (square,), (first,), (second,) = function(np.array([2.0]), np.array([5.0]))
    assert (square, first, second) == (4.0, 8.0, 8.0)
