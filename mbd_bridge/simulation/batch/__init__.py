"""Many motions of one mechanism at once."""
