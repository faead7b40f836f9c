"""Which joints carry the tree and which are cut: distance matrix, Dijkstra, path matrix (Lee94).

Bodies are nodes, joints are edges; the weight of an edge is its joint's weighting factor
(Lee94 Table 1). The tree of the shortest ways from the base holds one way to each body; an edge
that is not in it closes a loop and is cut.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mbd_bridge.model.spatial import Array


class Edge(NamedTuple):
    """A joint between two nodes, with its weight."""

    name: str
    first: int
    second: int
    weight: float


class TreeEdge(NamedTuple):
    """An edge of the tree, walked from `parent` to `child`."""

    edge: int
    parent: int
    child: int


def distance_matrix(count: int, edges: Sequence[Edge]) -> Array:
    """Return D: the (smallest) weight of the joints between i and j, 0 where there is none."""
    matrix = np.zeros((count, count))
    for edge in edges:
        old = matrix[edge.first, edge.second]
        new = edge.weight if old == 0.0 else min(old, edge.weight)
        matrix[edge.first, edge.second] = matrix[edge.second, edge.first] = new
    return matrix


def spanning_tree(
    count: int, edges: Sequence[Edge], base: int = 0
) -> tuple[list[TreeEdge], list[int]]:
    """Return the edges of the tree of shortest ways from `base`, and the indices of the cut ones.

    Ties are settled by the order of the edges, so that the result is always the same. Bodies
    that no way reaches are absent from the tree.
    """
    at: list[list[int]] = [[] for _ in range(count)]
    for index, edge in enumerate(edges):
        at[edge.first].append(index)
        at[edge.second].append(index)
    reached: set[int] = set()
    tree: list[TreeEdge] = []
    queue: list[tuple[float, int, int, int]] = [(0.0, -1, base, base)]
    while queue:
        distance, via, parent, node = heapq.heappop(queue)
        if node in reached:
            continue
        reached.add(node)
        if via >= 0:
            tree.append(TreeEdge(via, parent, node))
        for index in at[node]:
            edge = edges[index]
            other = edge.second if edge.first == node else edge.first
            if other not in reached:
                heapq.heappush(queue, (distance + edge.weight, index, node, other))
    used = {edge.edge for edge in tree}
    return tree, [index for index in range(len(edges)) if index not in used]


def path_matrix(parents: Sequence[int]) -> Array:
    """Return π: π_ij is true where body j lies between the base and body i, i itself included.

    ``parents[i]`` is the parent of body i, -1 for the base; parents come before children.
    """
    count = len(parents)
    path = np.eye(count, dtype=bool)
    for i, parent in enumerate(parents):
        if parent >= 0:
            path[i] |= path[parent]
    return path
