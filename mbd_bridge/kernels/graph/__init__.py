"""From a function of arrays to a graph: symbols, operations, their derivatives."""
