"""What bearings add to a `Mechanism` (``entry_points.txt``)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Unpack

from mbd_bridge.api.histories import LoadInputs
from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.applications.bearings.bearing_set import (
    BearingOptions,
    BearingSet,
    BearingsGiven,
    Located,
)
from mbd_bridge.applications.bearings.bearings import Bearings, BearingsCounter, joints_of
from mbd_bridge.base.arguments import name_list
from mbd_bridge.base.options import with_options
from mbd_bridge.loads import LoadRequest, LoadSolver
from mbd_bridge.loads.options import ActingOptions
from mbd_bridge.motion import Motion


@property  # type: ignore[misc]
def stated_bearings(mechanism: Mechanism) -> BearingSet | None:
    """The bearings as a sidecar or `with_bearings` state them, or None."""
    stated: BearingSet | None = mechanism.stated.get("bearings")
    return stated


def with_bearings(
    mechanism: Mechanism,
    bearings: BearingsGiven,
    *,
    located: Located | None = None,
    reliability: int | None = None,
    aiso: float | None = None,
) -> Mechanism:
    """Return the mechanism with these bearings, in place of those it has stated.

    Parameters
    ----------
    bearings : by joint a `Bearing`, or two of them at a distance
    located, reliability, aiso : see `bearings`
    """
    known = _known(mechanism, bearings, located, reliability, aiso)
    return mechanism.stating({"bearings": known})


def _known(
    mechanism: Mechanism,
    given: BearingsGiven | None,
    located: Located | None,
    reliability: int | None,
    aiso: float | None,
) -> BearingSet:
    """Return checked bearings: those given or stated, with the options that are given."""
    known = mechanism.stated_bearings if given is None else given
    base = known.options if isinstance(known, BearingSet) else BearingOptions()
    options = BearingOptions(
        base.located if located is None else located,
        base.reliability if reliability is None else reliability,
        base.aiso if aiso is None else aiso,
    )
    return BearingSet.of(mechanism.model, known, options)


@with_options
def bearings(
    mechanism: Mechanism,
    motion: Motion,
    joints: Iterable[str] | str | None = None,
    bearings: BearingsGiven | None = None,
    *,
    located: Located | None = None,
    reliability: int | None = None,
    aiso: float | None = None,
    threads: int = 1,
    **options: Unpack[ActingOptions],
) -> Bearings:
    """Return radial, axial and tilting loads of joints with one axis, and rating lives.

    Parameters
    ----------
    joints : names, of loop joints too; None for all with one axis
    bearings : by joint a `Bearing`, or two of them at a distance; None: those that the machine
        has stated (`stated_bearings`)
    located : which of two carries the axial force: "first", "second", "each" (opposed)
    reliability, aiso : of the modified life; see `loads.bearings.duty`. None: as stated with
        the machine's bearings, or "first", 90 and 1
    threads : see `joint_loads`
    **options : of what acts. External wrenches of N states are those of the motion's rows

    Examples
    --------
    >>> life = Bearing(C=55.3e3, C0=31.5e3)                                # doctest: +SKIP
    >>> robot.bearings(motion, "elbow", {"elbow": life})["elbow"][0].life  # doctest: +SKIP
    """
    inputs = LoadInputs.of(mechanism, motion, options, threads)
    known = _known(mechanism, bearings, located, reliability, aiso)
    if bearings is None and joints is not None:
        known = known.among(name_list("joints", joints, "joints"))
    counter = mechanism.bearings_counter(inputs, joints, known)
    counter.add(motion)
    return counter.bearings()


def bearings_counter(
    mechanism: Mechanism,
    inputs: LoadInputs,
    joints: Iterable[str] | str | None = None,
    bearings: BearingSet | None = None,
) -> BearingsCounter:
    """Return what counts the duties of bearings along a motion in pieces; see `bearings`."""
    named = None if joints is None else name_list("joints", joints, "joints")
    names = joints_of(mechanism.model, named)
    request = LoadRequest.of(
        mechanism.model,
        names,
        links=() if inputs.external is None else inputs.external.links,
        reaction=True,
        actuated=inputs.actuated,
        minimum_norm=inputs.minimum_norm,
        forces=inputs.forces,
    )
    solver = LoadSolver(mechanism.model, request)
    answer = partial(solver.along, external=inputs.external, threads=inputs.threads)
    known = _known(mechanism, bearings, None, None, None)
    return BearingsCounter(mechanism.prepared, names, known, answer)
