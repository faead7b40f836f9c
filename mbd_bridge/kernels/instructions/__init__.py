"""From a graph to the list of machine operations, in the order in which they are emitted."""
