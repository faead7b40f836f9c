"""What bearings add to a `Mechanism`, a `LoadHistory` and load cases (``entry_points.txt``)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Unpack

from mbd_bridge.api.histories import LoadInputs
from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.applications.bearings.bearing_set import (
    BearingOptions,
    BearingSet,
    BearingsGiven,
    Located,
)
from mbd_bridge.applications.bearings.bearings import Bearings, BearingsObserver
from mbd_bridge.base.arguments import name_list
from mbd_bridge.base.options import with_options
from mbd_bridge.base.readable import life_in_words
from mbd_bridge.base.table import Series, Table
from mbd_bridge.loads.options import ActingOptions
from mbd_bridge.loads.streaming import LoadCases, LoadHistory
from mbd_bridge.loads.streaming.cases import OfCases
from mbd_bridge.loads.watch import watch
from mbd_bridge.motion import Motion

if TYPE_CHECKING:
    from mbd_bridge.api.histories import HistoryRequest
    from mbd_bridge.simulation import Simulation


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
    known = known_bearings(mechanism, bearings, located, reliability, aiso)
    return mechanism.stating({"bearings": known})


def known_bearings(
    mechanism: Mechanism,
    given: BearingsGiven | None,
    located: Located | None = None,
    reliability: int | None = None,
    aiso: float | None = None,
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
    known = known_bearings(mechanism, bearings, located, reliability, aiso)
    if bearings is None and joints is not None:
        known = known.among(name_list("joints", joints, "joints"))
    named = None if joints is None else name_list("joints", joints, "joints")
    return bearings_along([motion], inputs, named, known)


def bearings_along(
    pieces: Iterable[Motion], inputs: LoadInputs, joints: Sequence[str] | None, known: BearingSet
) -> Bearings:
    """Return what bearings carry along a motion in pieces; see `bearings`."""
    observer = BearingsObserver(inputs.mechanism.prepared, joints, known)
    found: Bearings = watch(pieces, inputs, {"bearings": observer})["bearings"]
    return found


def observe(
    mechanism: Mechanism, request: HistoryRequest, run: Simulation | None = None
) -> BearingsObserver | None:
    """Return what sees the bearings of a request, or those that a machine states; None of none."""
    stated = mechanism.stated_bearings if request.bearings is None else request.bearings
    known = BearingSet.of(mechanism.model, stated)
    return (
        BearingsObserver(mechanism.prepared, tuple(known.by_joint), known) if len(known) else None
    )


def _bearings(history: LoadHistory) -> Bearings | None:
    """What bearings carry, and their lives, where that was computed, or None."""
    return history.results.get("bearings")


bearings_of_history = property(_bearings)


def bearing_hours(cases: LoadCases, joint: str, name: str = "") -> float | None:
    """Return L10h of a bearing under all cases, as often as they happen; None: not known.

    With L_c million turns in the case c, of N_c turns: 1/h = Σ w_c N_c / (L_c 10⁶) / Σ w_c T_c.
    """
    damage, hours = 0.0, 0.0
    for case in cases.cases:
        carried = case.history.bearings
        if carried is None:
            return None
        duty = next((x for x in carried.duties if (x.joint, x.name) == (joint, name)), None)
        if duty is None or duty.life is None:
            return None
        damage += case.weight * duty.life.revolutions / (duty.life.million_revolutions * 1e6)
        hours += case.weight * (duty.end - duty.begin) / 3600.0
    return hours / damage if damage else math.inf


def of_cases(cases: LoadCases) -> OfCases:
    """Return the rating lives under all cases, where there are some."""
    found = cases.cases[0].history.bearings
    duties = found.duties if found else ()
    lives = {duty.title: bearing_hours(cases, duty.joint, duty.name) for duty in duties}
    if not any(hours is not None for hours in lives.values()):
        return OfCases()
    column = Series("L10h", "h", [*lives.values()], shown=life_in_words)
    said = "All cases as often as they happen, by Miner's rule."
    table = Table(repr(cases), Series("bearing of", "", [*lives]), [column], caption=said)
    return OfCases(tables=(table,))
