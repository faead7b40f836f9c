"""Methods and integrators in Python, for comparison: one readable step at a time."""
