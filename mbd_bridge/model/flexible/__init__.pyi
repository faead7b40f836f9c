"""The public names of `mbd_bridge.model.flexible`, each with its module."""

from mbd_bridge.model.flexible.beam import (
    Beam as Beam,
    Section as Section,
    SectionTable as SectionTable,
)
from mbd_bridge.model.flexible.link import (
    Damping as Damping,
    FlexibleLink as FlexibleLink,
    Modes as Modes,
)
from mbd_bridge.model.flexible.modal_basis import ModalBasis as ModalBasis
