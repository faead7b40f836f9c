"""One division for all quotients with the same divisor.

A division takes as long as ten products. x / d and y / d become x r and y r with r = 1 / d, which
costs each of them at most one unit in the last place. (Divisors below 6e-309, whose reciprocal
is not finite, give infinite quotients a little early.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mbd_bridge.kernels.graph.graph import Graph
from mbd_bridge.kernels.graph.ops import moved


def share_reciprocals(graph: Graph) -> Graph:
    """Return the graph with a reciprocal for each divisor that is used several times."""
    uses: dict[int, int] = {}
    for node in graph.nodes:
        if node[0] == "div":
            uses[node[2]] = uses.get(node[2], 0) + 1
    shared = {divisor for divisor, number in uses.items() if number > 1}
    if not shared:
        return graph
    nodes: list[tuple[Any, ...]] = []
    place: list[int] = []
    reciprocal: dict[int, int] = {}

    def put(*node: Any) -> int:
        nodes.append(node)
        return len(nodes) - 1

    one = put("const", 1.0)
    for node in graph.nodes:
        if node[0] == "div" and node[2] in shared:
            x, d = place[node[1]], place[node[2]]
            if d not in reciprocal:
                reciprocal[d] = put("div", one, d)
            place.append(put("mul", x, reciprocal[d]))
        else:
            place.append(put(*moved(node, place)))
    outputs = tuple(tuple(place[k] for k in indices) for indices in graph.outputs)
    return replace(graph, nodes=tuple(nodes), outputs=outputs)
