"""Equations of small mechanisms as formulas that can be read."""

from mbd_bridge.applications.formulas.model import SymbolicModel, symbolic
from mbd_bridge.applications.formulas.structure import Structure, structure

__all__ = ["Structure", "SymbolicModel", "structure", "symbolic"]
