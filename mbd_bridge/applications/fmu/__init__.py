"""Functional mock-up units: a machine's step with named variables, for other simulation programs.

`export.export_fmu` writes one; the C code of an instance is in the folder ``c``.
"""
