"""Flexible links: beams, their modes and mass integrals, as pure functions of plain numbers."""

from mbd_bridge.model.flexible.beam import Beam, Section, SectionTable
from mbd_bridge.model.flexible.link import Damping, FlexibleLink, Modes
from mbd_bridge.model.flexible.modal_basis import ModalBasis

__all__ = ["Beam", "Damping", "FlexibleLink", "ModalBasis", "Modes", "Section", "SectionTable"]
