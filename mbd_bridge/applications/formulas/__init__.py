"""Equations of small mechanisms as formulas that can be read."""

from mbd_bridge.applications.formulas.model import Structure, SymbolicModel, structure, symbolic

__all__ = ["Structure", "SymbolicModel", "structure", "symbolic"]
