"""Errors, arguments, names, numbers and units as people read them, tables, plots."""
