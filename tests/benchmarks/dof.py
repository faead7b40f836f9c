"""Cost against the number of degrees of freedom: chains of 5 to 60 joints, a plot for the docs.

``--json`` apart, it writes docs/reference/cost_of_dof.png (needs matplotlib).
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.engines.crosscheck.bench import in_turns
from mbd_bridge.engines.crosscheck.compare import random_states
from mbd_bridge.engines.pinocchio import referee, to_pinocchio
from mbd_bridge.kernels import compile_kernel
from mbd_bridge.solve.dynamics import traceable

PLOT = Path(__file__).parents[2] / "docs" / "reference" / "cost_of_dof.png"
SIZES = (5, 10, 15, 20, 30, 40, 50, 60)
STATES = 2000
WORKS = ("inverse_dynamics", "mass_matrix", "forward_dynamics")


def chain(n: int) -> Any:
    """A serial chain: skew axes, full inertias, nothing that could be dropped."""
    rng = np.random.default_rng(n)
    builder = mbd.Builder("chain")
    for k in range(n):
        points = rng.normal(size=(4, 3)) * 0.1
        J = sum(np.dot(p, p) * np.eye(3) - np.outer(p, p) for p in points)
        builder.link(f"link{k + 1}", 1.0, rng.uniform(-0.1, 0.1, 3), (J + J.T) / 2)
        before = "base" if k == 0 else f"link{k}"
        builder.joint(
            f"joint{k + 1}",
            "revolute",
            before,
            f"link{k + 1}",
            rng.uniform(-0.2, 0.2, 3),
            rng.uniform(-1, 1, 3),
            rng.normal(size=3),
        )
    return mbd.Mechanism.build(builder).model


def run() -> list[dict[str, Any]]:
    rows = []
    print("dof       work               operations  compile s  ns a state  peer, ns a state  ratio")
    for n in SIZES:
        model = chain(n)
        q, v, a = random_states(model, STATES, np.random.default_rng(0))
        twin = to_pinocchio(model)
        peer = [np.asfortranarray(x.T) for x in (twin.q(q), twin.v(q, v), twin.a(q, v, a))]
        result = np.empty_like(peer[1])
        for what in WORKS:
            wanted = traceable(model, what)
            start = time.perf_counter()
            kernel = compile_kernel(
                wanted.function, wanted.inputs, outputs=wanted.outputs, name=what, cache=None
            )
            compiled = time.perf_counter() - start
            arrays = (q, v, a)[: len(wanted.inputs)]
            out = tuple(np.empty((STATES, *shape)) for shape in kernel.shapes)
            if what == "mass_matrix":
                theirs = referee.crba_each(twin, list(peer[0].T))
            elif what == "inverse_dynamics":
                theirs = referee.rnea_in_parallel(twin, *peer, result)
            else:
                theirs = referee.aba_in_parallel(twin, *peer, result)
            best = in_turns([partial(kernel, *arrays, out=out), theirs])
            row = {
                "dof": n,
                "work": what,
                "operations": sum(kernel.counts.values()),
                "compile": compiled,
                "ours": best[0] / STATES,
                "pinocchio": best[1] / STATES,
            }
            rows.append(row)
            print(
                f"{n:8}  {what:<17}  {row['operations']:10}  {compiled:9.2f}  "
                f"{row['ours'] * 1e9:10.0f}  {row['pinocchio'] * 1e9:16.0f}  "
                f"{best[1] / best[0]:5.1f}"
            )
    plot(rows)
    return rows


def plot(rows: list[dict[str, Any]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    peers = {"inverse_dynamics": "rneaInParallel", "forward_dynamics": "abaInParallel"}
    colours = dict(zip(WORKS, ("tab:blue", "tab:green", "tab:red"), strict=True))
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), constrained_layout=True)
    for what in WORKS:
        own = [row for row in rows if row["work"] == what]
        n = [row["dof"] for row in own]
        name = what.replace("_", " ")
        left.loglog(n, [1e9 * r["ours"] for r in own], "o-", color=colours[what], label=name)
        if what in peers:
            label = f"pinocchio {peers[what]}"
            values = [1e9 * r["pinocchio"] for r in own]
            left.loglog(n, values, "s--", color=colours[what], alpha=0.6, label=label)
        right.loglog(n, [r["compile"] for r in own], "o-", color=colours[what], label=name)
    left.set(xlabel="degrees of freedom of the chain", ylabel="time a state, ns (one thread)")
    right.set(xlabel="degrees of freedom of the chain", ylabel="time to compile, s")
    for axes in (left, right):
        axes.grid(True, which="both", alpha=0.3)
        axes.set_xticks(SIZES, [str(n) for n in SIZES])
        axes.minorticks_off()
        axes.legend(fontsize=8)
    figure.savefig(PLOT, dpi=130)
    print(f"plot: {PLOT}")
